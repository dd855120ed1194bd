/* A depth map's message: what goes in comes out within half a step, and what a stranger sends is
 * refused. */
#include "proto/wire/depth.h"
#include "tests/support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define W 37
#define H 21
#define BYTES (DEPTH_HEADER_BYTES + 2 * W * H)

static float z[W * H];

static struct depth_map example(enum depth_unit unit)
{
    struct depth_map map = {.seq = 77,
                            .unit = unit,
                            .w = W,
                            .h = H,
                            .K = {30, 31, 18, 10},
                            .has_pose = true,
                            .T_wc = rigid_identity()};

    map.T_wc.t[1] = 1.5f;
    for (int i = 0; i < W * H; i++)
        z[i] = 0.1f + 0.01f * (float)(i % W) + 0.05f * (float)(i * 7919 % 400);
    z[5] = 0;
    z[6] = NAN;
    z[7] = -1;
    z[8] = INFINITY;
    z[9] = 0.05f; /* nearer than min_m */
    z[10] = 500;  /* farther than max_m */
    return map;
}

TEST(maps_come_out_as_they_went_in)
{
    uint8_t plain[BYTES];
    struct result_scratch *packer;
    struct depth_decoder *decoder;

    assert_int_equal(result_scratch_new(&packer, NULL), 0);
    assert_int_equal(depth_decoder_new(&decoder, NULL), 0);
    for (int unit = 0; unit < DEPTH_UNITS; unit++)
        for (int codec = 0; codec < CODEC_WIRE_KINDS; codec++) {
            struct depth_map map = example((enum depth_unit)unit), got;
            const uint8_t *msg;
            size_t len;

            map.has_pose = codec != 1;
            depth_encode(plain, &map, z, 0.1f, 30);
            assert_int_equal(
                result_pack(packer, (enum codec_kind)codec, plain, BYTES, &msg, &len, NULL), 0);
            assert_true(codec == CODEC_RAW ? len == BYTES : len < BYTES);
            assert_int_equal(depth_decode(decoder, &got, msg, len, NULL), 0);
            assert_true(got.seq == 77 && got.unit == map.unit && got.w == W && got.h == H);
            assert_memory_equal(&got.K, &map.K, sizeof got.K);
            assert_int_equal(got.has_pose, map.has_pose);
            if (map.has_pose)
                assert_memory_equal(&got.T_wc, &map.T_wc, sizeof got.T_wc);
            for (int i = 0; i < W * H; i++) {
                float m = depth_value_m(map.unit, got.values[i]);
                float half = unit ? m * m / 6553.5f * 0.51f : 0.00051f;

                if (i >= 5 && i <= 10)
                    assert_int_equal(got.values[i], 0);
                else if (!(fabsf(m - z[i]) <= half))
                    fail_msg("%g m became %g m", (double)z[i], (double)m);
            }
        }
    result_scratch_free(&packer);
    depth_decoder_free(&decoder);
}

TEST(values_end_where_the_unit_does)
{
    assert_int_equal(depth_quantise(DEPTH_MILLIMETRES, 65.535f), 65535);
    assert_int_equal(depth_quantise(DEPTH_MILLIMETRES, 65.54f), 0);
    assert_int_equal(depth_quantise(DEPTH_MILLIMETRES, 0.0004f), 0);
    assert_int_equal(depth_quantise(DEPTH_INVERSE, 0.1f), 65535);
    assert_int_equal(depth_quantise(DEPTH_INVERSE, 0.0999f), 0);
    assert_int_equal(depth_quantise(DEPTH_INVERSE, 1), 6554);
    assert_int_equal(depth_quantise(DEPTH_INVERSE, 0), 0);
    assert_true(depth_value_m(DEPTH_INVERSE, 0) == 0);
}

/* Offset, byte: each alone makes a good message a bad one. */
static const struct {
    size_t at;
    uint8_t value;
} bad[] = {
    {0, 0x21},  {1, 2},     {2, 3},     {3, 2},     {4, 67},    {16, W + 1},
    {16, 0},    {17, 9},    {18, 0},    {19, 0xff}, {23, 0x7f}, {39, 0x7f},
    {51, 0x40}, {63, 0x7f}, {64, 0xff}, {66, 0xff}, {67, 0xff},
};

TEST(strangers_are_refused)
{
    uint8_t plain[BYTES], msg[BYTES + 1];
    struct depth_map map = example(DEPTH_MILLIMETRES), got;
    struct depth_decoder *decoder;
    struct err err;

    assert_int_equal(depth_decoder_new(&decoder, NULL), 0);
    depth_encode(plain, &map, z, 0.1f, 30);
    memcpy(msg, plain, BYTES);
    msg[BYTES] = 0;
    assert_int_equal(depth_decode(decoder, &got, msg, BYTES, NULL), 0);
    assert_int_equal(depth_decode(decoder, &got, msg, BYTES + 1, NULL), ERR_INPUT);
    for (size_t len = 0; len < BYTES; len += len < 80 ? 1 : 101) {
        uint8_t *cut = malloc(len + 1); /* so that a sanitizer sees what is read behind it */

        cut = realloc(cut, len ? len : 1);
        memcpy(cut, plain, len);
        assert_true(depth_decode(decoder, &got, cut, len, &err) != 0);
        free(cut);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        memcpy(msg, plain, BYTES);
        msg[bad[i].at] = bad[i].value;
        if (bad[i].at == 23 || bad[i].at == 39 || bad[i].at == 63)
            msg[bad[i].at - 1] = 0xc0; /* no number */
        err = (struct err){0};
        if (depth_decode(decoder, &got, msg, BYTES, &err) == 0)
            fail_msg("byte %zu = %u passes", bad[i].at, bad[i].value);
        assert_true(err.text[0] && (err.code == ERR_INPUT || err.code == ERR_LIMIT));
    }
    depth_decoder_free(&decoder);
}
