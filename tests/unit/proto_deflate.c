/* proto_deflate.c - streams of ours are inflated by zlib to what they were made of; codes are the
 * best there are */
#include <stdbool.h>
#include <string.h>

#include "proto/wire/codec.h"
#include "proto/wire/deflate.h"
#include "tests/support/unit.h"

#define MANY 200000u
#define PARTS 14
#define GUARD 64

static uint32_t seed = 1;
static uint8_t src[MANY], packed[2 * MANY + GUARD], back[MANY];
static struct codec *codec;

static uint32_t rnd(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)seed * below) >> 32);
}

FIXTURE(open_codec)
{
    return codec_new(&codec, NULL);
}

FIXTURE(close_codec)
{
    codec_free(&codec);
    return 0;
}

/* Packs parts at src within the bound alone, inflates them; returns their size. */
static size_t there_and_back(const size_t *part_len, size_t n_parts)
{
    static struct deflate d; /* as the last stream left it */
    size_t n = 0, cap, len = 0;

    for (size_t i = 0; i < n_parts; i++)
        n += part_len[i];
    cap = deflate_bound(n, n_parts);
    assert_true(cap + GUARD <= sizeof packed);
    memset(packed, 0xa5, cap + GUARD);
    assert_int_equal(deflate_pack(&d, packed, cap, &len, src, part_len, n_parts, NULL), 0);
    assert_true(len <= cap);
    for (size_t i = 0; i < GUARD; i++)
        assert_int_equal(packed[cap + i], 0xa5);
    assert_int_equal(codec_unpack(codec, CODEC_DEFLATE, back, n, packed, len, NULL), 0);
    assert_memory_equal(back, src, n);
    return len;
}

static size_t whole(size_t n)
{
    return there_and_back(&n, 1);
}

TEST(nothing_and_next_to_nothing)
{
    size_t none[PARTS] = {0}, late[PARTS] = {[PARTS - 1] = 1};

    assert_in_range(there_and_back(none, 0), 1, 5);
    assert_in_range(there_and_back(none, PARTS), 1, 5);
    src[0] = 7;
    assert_in_range(there_and_back(late, PARTS), 1, 6);
    for (size_t n = 1; n < 40; n++) {
        memset(src, 200, n);
        assert_true(whole(n) <= n + 5);
    }
}

/* Of each length, at each place of a word, with and without a neighbour that differs. */
TEST(runs_of_every_length)
{
    for (size_t run = 1; run < 1100; run += run < 600 ? 1 : 37) {
        size_t before = rnd(20), after = rnd(20);

        for (size_t i = 0; i < before + run + after; i++)
            src[i] = i < before || i >= before + run ? (uint8_t)rnd(4) : 9;
        whole(before + run + after);
    }
    memset(src, 0, MANY);
    assert_true(whole(MANY) < 400); /* 776 runs of two bits, and one head */
}

TEST(bytes_of_every_kind)
{
    for (int round = 0; round < 400; round++) {
        size_t part_len[PARTS], at = 0;
        uint32_t most = 1u << (4 + rnd(11));

        for (size_t i = 0; i < PARTS; i++) {
            uint32_t symbols = 1 + rnd(256), still = rnd(100), first = rnd(256);

            part_len[i] = rnd(3) ? rnd(most) : 0;
            for (size_t k = 0; k < part_len[i]; k++, at++)
                src[at] = rnd(100) < still && at ? src[at - 1] : (uint8_t)(first + rnd(symbols));
        }
        there_and_back(part_len, PARTS);
    }
}

/* Noise is stored, in pieces: no byte is lost to codes that save nothing. */
TEST(noise_is_stored)
{
    for (size_t i = 0; i < MANY; i++)
        src[i] = (uint8_t)rnd(256);
    assert_int_equal(whole(MANY), MANY + 4 * 5);
    assert_int_equal(whole(65535), 65535 + 5);
    assert_int_equal(whole(65536), 65536 + 2 * 5);
}

/* Symbols whose counts are Fibonacci's need codes as long as there are symbols: they are cut. */
TEST(long_codes_are_cut_off)
{
    size_t n = 0;

    for (uint32_t a = 1, b = 1, symbol = 0; n + a < MANY; symbol++, b += a, a = b - a)
        for (uint32_t k = 0; k < a; k++)
            src[n++] = (uint8_t)symbol;
    for (size_t i = n - 1; i > 0; i--) {
        size_t k = rnd((uint32_t)i + 1);
        uint8_t other = src[k];
        src[k] = src[i];
        src[i] = other;
    }
    assert_true(whole(n) < n / 3);
}

/* Planes that differ have codes of their own, small ones that do not share one: either is smaller
 * than the other way. */
TEST(parts_share_codes_where_that_pays)
{
    size_t apart[2] = {20000, 20000}, alike[PARTS], one, n = 0;

    for (size_t i = 0; i < 40000; i++)
        src[i] = (uint8_t)(i < 20000 ? rnd(16) : 128 + rnd(16));
    one = 40000;
    assert_true(there_and_back(apart, 2) < 20500); /* of 4 bits each */
    assert_true(there_and_back(&one, 1) > 24500);  /* of 5 */
    for (size_t i = 0; i < PARTS; i++)
        n += alike[i] = 100;
    for (size_t i = 0; i < n; i++)
        src[i] = (uint8_t)(rnd(8) + rnd(8));
    assert_true(there_and_back(alike, PARTS) <= whole(n) + 2);
}

TEST(too_little_room_is_refused)
{
    static struct deflate d;
    size_t n = 1000, len;

    assert_int_equal(deflate_pack(&d, packed, deflate_bound(n, 1) - 1, &len, src, &n, 1, NULL),
                     ERR_MEMORY);
}

/* ------------------------------------------------------------------------- codes */

/* The weight of the best tree: joins of the two lightest, whatever their order. */
static uint64_t least_weight(const uint32_t *count, int n)
{
    uint64_t w[HUFFMAN_SYMBOLS_MAX], sum = 0;
    int left = 0;

    for (int i = 0; i < n; i++)
        if (count[i])
            w[left++] = count[i];
    for (; left > 1; left--) {
        for (int k = 0; k < 2; k++) /* the lightest go to the end */
            for (int i = 0; i < left - 1 - k; i++)
                if (w[i] < w[left - 1 - k]) {
                    uint64_t other = w[i];
                    w[i] = w[left - 1 - k];
                    w[left - 1 - k] = other;
                }
        sum += w[left - 2] += w[left - 1];
    }
    return sum;
}

TEST(codes_are_complete_and_the_shortest)
{
    struct huffman_code code[HUFFMAN_SYMBOLS_MAX];
    uint32_t count[HUFFMAN_SYMBOLS_MAX];

    for (int round = 0; round < 3000; round++) {
        int n = 2 + (int)rnd(HUFFMAN_SYMBOLS_MAX - 1), used = 0;
        int length_max = 9 + (int)rnd(7);
        uint64_t filled = 0, sum = 0;
        bool cut = false;

        for (int i = 0; i < n; i++)
            used += (count[i] = rnd(4) ? 0 : rnd(1u << rnd(20))) != 0;
        huffman_make(code, count, n, length_max);
        for (int i = 0; i < n; i++) {
            assert_int_equal(code[i].length > 0, count[i] > 0);
            assert_true(code[i].length <= length_max && code[i].bits >> code[i].length == 0);
            filled += code[i].length ? UINT64_C(1) << (15 - code[i].length) : 0;
            sum += (uint64_t)count[i] * code[i].length;
            cut |= code[i].length == length_max;
        }
        if (used > 1)
            assert_int_equal(filled, 1 << 15);
        if (used > 1 && !cut)
            assert_int_equal(sum, least_weight(count, n));
    }
}

TEST_GROUP(open_codec, close_codec)
