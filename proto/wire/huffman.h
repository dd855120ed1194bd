/*
 * huffman.h - prefix codes of bounded length, as deflate (RFC 1951, 3.2.2) numbers them
 */
#ifndef RECOND_PROTO_HUFFMAN_H
#define RECOND_PROTO_HUFFMAN_H

#include <stdint.h>

#define HUFFMAN_SYMBOLS_MAX 288
#define HUFFMAN_LENGTH_MAX 15

struct huffman_code {
    uint16_t bits, length; /* bits of the code, the lowest is written first; length 0 = unused */
};

/*
 * huffman_make - a code for symbols of these frequencies
 *
 * In:      count [n], n <= HUFFMAN_SYMBOLS_MAX, of which at most 2^length_max are not 0; their sum
 *          is below 2^32; length_max <= HUFFMAN_LENGTH_MAX
 * Out:     code [n]: complete where two symbols or more are used, one bit where one is
 */
void huffman_make(struct huffman_code *code, const uint32_t *count, int n, int length_max);

#endif
