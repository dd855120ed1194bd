#include "proto/wire/huffman.h"

#include <string.h>

#define SYMBOL_BITS 9 /* bits of a sorted symbol; its count stands above them */
#define DIGIT_BITS 6
#define DIGITS (1u << DIGIT_BITS)

/* Sorts by rising count, then by symbol, in as many passes as the largest count has digits. Returns
 * the number of used symbols. */
static int sort_used(uint64_t *sorted, const uint32_t *count, int n)
{
    uint64_t other[HUFFMAN_SYMBOLS_MAX];
    uint32_t all = 0;
    int used = 0;

    for (int i = 0; i < n; i++) {
        if (count[i])
            sorted[used++] = (uint64_t)count[i] << SYMBOL_BITS | (uint64_t)i;
        all |= count[i];
    }
    for (int shift = SYMBOL_BITS; all; shift += DIGIT_BITS, all >>= DIGIT_BITS) {
        uint16_t at[DIGITS] = {0}, sum = 0;

        for (int i = 0; i < used; i++)
            at[sorted[i] >> shift & (DIGITS - 1)]++;
        for (unsigned d = 0; d < DIGITS; d++) {
            uint16_t here = at[d];
            at[d] = sum;
            sum = (uint16_t)(sum + here);
        }
        for (int i = 0; i < used; i++)
            other[at[sorted[i] >> shift & (DIGITS - 1)]++] = sorted[i];
        memcpy(sorted, other, (size_t)used * sizeof *sorted);
    }
    return used;
}

/* Builds the tree of least weight over sorted leaves. Inner nodes are made in the order of their
 * weights, so the two lightest items are always at the front of the leaves and of the nodes. Counts
 * the leaves of each length; longer ones count at length_max. */
static void count_lengths(int *of_length, const uint64_t *sorted, int used, int length_max)
{
    uint32_t weight[HUFFMAN_SYMBOLS_MAX];
    uint16_t node_parent[HUFFMAN_SYMBOLS_MAX], leaf_parent[HUFFMAN_SYMBOLS_MAX];
    uint16_t depth[HUFFMAN_SYMBOLS_MAX];
    int leaf = 0, node = 0;

    for (int made = 0; made < used - 1; made++) {
        weight[made] = 0;
        for (int k = 0; k < 2; k++) {
            uint32_t w = leaf < used ? (uint32_t)(sorted[leaf] >> SYMBOL_BITS) : 0;
            if (leaf < used && (node == made || w <= weight[node])) {
                leaf_parent[leaf++] = (uint16_t)made;
                weight[made] += w;
            } else {
                weight[made] += weight[node];
                node_parent[node++] = (uint16_t)made;
            }
        }
    }
    depth[used - 2] = 0;
    for (int i = used - 3; i >= 0; i--)
        depth[i] = (uint16_t)(depth[node_parent[i]] + 1);
    for (int i = 0; i < used; i++) {
        int length = depth[leaf_parent[i]] + 1;
        of_length[length < length_max ? length : length_max]++;
    }
}

/* Leaves that were cut off at length_max overfill the code. Each step takes one leaf from there and
 * hangs it beside a higher one; both then lie one level deeper. */
static void huffman_fit(int *of_length, int length_max)
{
    uint32_t filled = 0;
    int length;

    for (int i = 1; i <= length_max; i++)
        filled += (uint32_t)of_length[i] << (length_max - i);
    for (; filled > 1u << length_max; filled--) {
        for (length = length_max - 1; of_length[length] == 0; length--)
            ;
        of_length[length]--;
        of_length[length + 1] += 2;
        of_length[length_max]--;
    }
}

static uint16_t mirrored(uint32_t bits, int length)
{
    bits = (bits & 0x5555) << 1 | (bits >> 1 & 0x5555);
    bits = (bits & 0x3333) << 2 | (bits >> 2 & 0x3333);
    bits = (bits & 0x0f0f) << 4 | (bits >> 4 & 0x0f0f);
    bits = (bits & 0x00ff) << 8 | (bits >> 8 & 0x00ff);
    return (uint16_t)(bits >> (16 - length));
}

void huffman_make(struct huffman_code *code, const uint32_t *count, int n, int length_max)
{
    int of_length[HUFFMAN_LENGTH_MAX + 1] = {0}, used, at = 0;
    uint32_t first[HUFFMAN_LENGTH_MAX + 1] = {0};
    uint64_t sorted[HUFFMAN_SYMBOLS_MAX];

    memset(code, 0, (size_t)n * sizeof *code);
    used = sort_used(sorted, count, n);
    if (used == 1)
        of_length[1] = 1;
    if (used > 1) {
        count_lengths(of_length, sorted, used, length_max);
        huffman_fit(of_length, length_max);
    }
    for (int length = length_max; length > 0; length--)
        for (int k = 0; k < of_length[length]; k++)
            code[sorted[at++] & ((1u << SYMBOL_BITS) - 1)].length = (uint16_t)length;
    for (int length = 1; length < length_max; length++)
        first[length + 1] = (first[length] + (uint32_t)of_length[length]) << 1;
    for (int i = 0; i < n; i++)
        if (code[i].length)
            code[i].bits = mirrored(first[code[i].length]++, code[i].length);
}
