/*
 * deflate.h - writes deflate streams (RFC 1951) of byte planes
 *
 * Planes hold noise and runs of equal bytes, and hardly ever repeat a longer string. So there is no
 * search: a byte is a literal or part of a run, which is a match at distance 1. What is saved is
 * saved by Huffman codes that fit: neighbouring parts share one where a code of its own would cost
 * more than it saves, and what does not shrink is stored.
 */
#ifndef RECOND_PROTO_DEFLATE_H
#define RECOND_PROTO_DEFLATE_H

#include "proto/err.h"
#include "proto/wire/huffman.h"

#include <stddef.h>

#define DEFLATE_LITERALS 286 /* symbols: bytes, the end of a block, lengths of runs */

/* Scratch memory; its contents mean nothing between calls. */
struct deflate {
    uint32_t block[DEFLATE_LITERALS], part[DEFLATE_LITERALS]; /* frequency of each symbol */
    uint32_t block_n, part_n;                                 /* their sums */
    size_t block_more, part_more;                             /* bits that follow a symbol */
    uint16_t used[DEFLATE_LITERALS];                          /* [n_used] symbols of the part */
    int n_used;
    struct huffman_code code[DEFLATE_LITERALS];
};

/* The most bytes that n plain ones in n_parts parts can become. */
size_t deflate_bound(size_t n, size_t n_parts);

/*
 * deflate_pack - one complete stream
 *
 * In:      src, parts in a row, part i part_len[i] bytes long, less than 2^32 in all
 * Out:     dst [cap], *len
 * Returns: 0; ERR_MEMORY: cap is below deflate_bound()
 */
MUST_CHECK int deflate_pack(struct deflate *d, uint8_t *dst, size_t cap, size_t *len,
                            const uint8_t *src, const size_t *part_len, size_t n_parts,
                            struct err *err);

#endif
