/*
 * Changes are sorted by radix, eleven bits a pass, the least significant first. Passes in which all
 * changes agree are skipped. Most passes are, because block numbers are small and a frame touches
 * few blocks.
 */
#include "proto/cloud/cloud_internal.h"

#include <string.h>

#define DIGIT_BITS 11
#define DIGITS (1u << DIGIT_BITS)
#define KEY_PASSES 6   /* 64 bits */
#define BLOCK_PASSES 3 /* 32 bits */
#define PASSES (KEY_PASSES + BLOCK_PASSES)
#define SMALL 48 /* fewer changes are sorted by insertion, which is faster */

static uint32_t digit(const struct cloud_change *a, int pass)
{
    if (pass < KEY_PASSES)
        return (uint32_t)(a->key >> (pass * DIGIT_BITS)) & (DIGITS - 1);
    return a->block >> ((pass - KEY_PASSES) * DIGIT_BITS) & (DIGITS - 1);
}

static int before(const struct cloud_change *a, const struct cloud_change *b)
{
    return a->block != b->block ? a->block < b->block : a->key < b->key;
}

static void insertion(struct cloud_change *a, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct cloud_change x = a[i];
        size_t j = i;

        for (; j && before(&x, &a[j - 1]); j--)
            a[j] = a[j - 1];
        a[j] = x;
    }
}

/* Sorts a into b by one digit, stably. */
static void radix_pass(const struct cloud_change *a, struct cloud_change *b, size_t n, int pass)
{
    uint32_t count[DIGITS] = {0}, sum = 0;

    for (size_t i = 0; i < n; i++)
        count[digit(&a[i], pass)]++;
    for (uint32_t d = 0; d < DIGITS; d++) {
        uint32_t here = count[d];

        count[d] = sum;
        sum += here;
    }
    for (size_t i = 0; i < n; i++)
        b[count[digit(&a[i], pass)]++] = a[i];
}

/* Tells whether the changes are sorted already, as most patches are: they come from the history of
 * one commit. If not, *differ has the bits in which any two of them differ. */
static int sorted(const struct cloud_change *a, size_t n, struct cloud_change *differ)
{
    size_t i = 1;

    while (i < n && !before(&a[i], &a[i - 1]))
        i++;
    if (i >= n)
        return 1;
    *differ = (struct cloud_change){0};
    for (i = 1; i < n; i++) {
        differ->key |= a[i].key ^ a[0].key;
        differ->block |= a[i].block ^ a[0].block;
    }
    return 0;
}

void cloud_sort(struct cloud_change *changes, struct cloud_change *aux, size_t n)
{
    struct cloud_change *from = changes, *to = aux, *swap, differ;

    if (n < SMALL) {
        insertion(changes, n);
        return;
    }
    if (sorted(changes, n, &differ))
        return;
    for (int pass = 0; pass < PASSES; pass++) {
        if (digit(&differ, pass)) {
            radix_pass(from, to, n, pass);
            swap = from;
            from = to;
            to = swap;
        }
    }
    if (from != changes)
        memcpy(changes, from, n * sizeof *changes);
}

size_t cloud_sort_net(struct cloud_change *changes, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n;) {
        struct cloud_change sum = changes[i++];

        while (i < n && changes[i].key == sum.key && changes[i].block == sum.block)
            sum.count += changes[i++].count;
        if (sum.count)
            changes[kept++] = sum;
    }
    return kept;
}
