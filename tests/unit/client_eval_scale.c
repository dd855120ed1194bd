/* The online scale: a drawn room whose depth is known, given to it with a wrong factor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/eval/eval_scale.h"
#include "tests/support/scene.h"

#define W 320
#define H 240
#define DW 160
#define DH 120
#define FRAMES 20

static uint8_t rgb[FRAMES][H][W][3];
static float depth[FRAMES][DH * DW];
static struct rigid T_wc[FRAMES];

/* Smooth noise in space: a lattice of 4 cm and one of 12 cm, linear between. */
static float lattice(int x, int y, int z)
{
    uint32_t v = (uint32_t)x * 73856093u ^ (uint32_t)y * 19349663u ^ (uint32_t)z * 83492791u;

    v = (v ^ v >> 15) * 0x2c1b3c6du;
    v = (v ^ v >> 12) * 0x297a2d39u;
    return (float)((v ^ v >> 15) >> 8) / 16777216.0f;
}

static float noise(struct vec3 p, float cell)
{
    const float q[3] = {p.x / cell, p.y / cell, p.z / cell};
    int at[3];
    float f[3], sum = 0;

    for (int k = 0; k < 3; k++) {
        at[k] = (int)floorf(q[k]);
        f[k] = q[k] - (float)at[k];
    }
    for (int i = 0; i < 8; i++)
        sum += lattice(at[0] + (i & 1), at[1] + (i >> 1 & 1), at[2] + (i >> 2)) *
               (i & 1 ? f[0] : 1 - f[0]) * (i & 2 ? f[1] : 1 - f[1]) * (i & 4 ? f[2] : 1 - f[2]);
    return sum;
}

/* A walk sideways and forward of 2 cm a frame, turning a little; or on the spot. */
static void draw(int walks)
{
    struct scene scene = scene_make();
    struct intrinsics K = scene_intrinsics(W, H);
    float *z = malloc(sizeof(float) * W * H);

    assert_non_null(z);
    for (int i = 0; i < FRAMES; i++) {
        float way = walks ? 0.02f * (float)i : 0;

        T_wc[i] = scene_pose(-0.3f + way, 0.1f, -1.2f + 0.3f * way, 0.01f * (float)i);
        scene_draw(&scene, &T_wc[i], K, W, H, z, NULL);
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++) {
                float d = z[y * W + x];
                struct vec3 p = rigid_apply(&T_wc[i], vec3_make(d * ((float)x - K.cx) / K.fx,
                                                                d * ((float)y - K.cy) / K.fy, d));
                float v = 60 + 120 * noise(p, 0.12f) + 60 * noise(p, 0.04f);

                memset(rgb[i][y][x], (int)v, 3);
            }
        for (int k = 0; k < DW * DH; k++)
            depth[i][k] = z[(2 * (k / DW)) * W + 2 * (k % DW)];
    }
    free(z);
}

static struct eval_scale *make(void)
{
    struct eval_scale *s;

    assert_int_equal(eval_scale_new(&s, W, H, scene_intrinsics(W, H), NULL), 0);
    return s;
}

/* The depths times `by` are what the network says. */
static struct eval_scale_answer run(struct eval_scale *s, int frames, float by, double *scales)
{
    static float map[DW * DH];
    struct eval_scale_answer a = {0};

    for (int i = 0; i < frames; i++) {
        for (int k = 0; k < DW * DH; k++)
            map[k] = depth[i][k] * by;
        a = eval_scale_frame(s, &rgb[i][0][0][0], map, DW, DH, &T_wc[i]);
        if (scales)
            scales[i] = a.scale;
    }
    return a;
}

/* 2 %: a step of depth is 2.9 %, and corners are hundreds. */
static void a_wrong_factor_is_found(void **state)
{
    static const float by[] = {1, 1.3f, 0.75f, 2.4f, 0.55f};

    (void)state;
    draw(1);
    for (size_t i = 0; i < sizeof by / sizeof *by; i++) {
        struct eval_scale *s = make();
        struct eval_scale_answer a = run(s, FRAMES, by[i], NULL);

        if (!(fabs(a.scale * (double)by[i] - 1) < 0.02))
            fail_msg("depth times %g: scale %g from %g corners", (double)by[i], a.scale, a.seen);
        assert_true(a.corners >= 20 && a.seen > 20);
        eval_scale_free(&s);
    }
}

/* Two walks with one factor, then one with another: the old corners have faded to a quarter. */
static void a_changed_factor_is_followed(void **state)
{
    struct eval_scale *s = make();
    struct eval_scale_answer a;

    (void)state;
    draw(1);
    run(s, FRAMES, 1.3f, NULL);
    a = run(s, FRAMES, 1.3f, NULL);
    assert_true(fabs(a.scale * 1.3 - 1) < 0.02);
    a = run(s, FRAMES, 0.8f, NULL);
    if (!(fabs(a.scale * 0.8 - 1) < 0.04))
        fail_msg("scale %g", a.scale);
    eval_scale_free(&s);
}

/* 1 until there is something to know; and no frame knows of a later one. */
static void it_is_causal(void **state)
{
    struct eval_scale *s = make();
    double all[FRAMES], some[FRAMES];

    (void)state;
    draw(1);
    run(s, FRAMES, 1.3f, all);
    eval_scale_free(&s);
    assert_true(all[0] == 1 && all[1] == 1);
    s = make();
    memset((uint8_t *)rgb + (FRAMES - 5) * sizeof rgb[0], 0, 5 * sizeof rgb[0]);
    run(s, FRAMES, 1.3f, some);
    assert_memory_equal(all, some, (FRAMES - 5) * sizeof *all);
    eval_scale_free(&s);
}

/* A camera that only turns, one that stands still, pictures without corners, depth without values:
 * nothing is learned from them. */
static void nothing_is_learned_from_nothing(void **state)
{
    struct eval_scale_answer a;
    struct eval_scale *s = make();

    (void)state;
    draw(0);
    a = run(s, FRAMES, 1.3f, NULL);
    assert_true(a.scale == 1 && a.seen == 0 && a.corners == 0);
    eval_scale_free(&s);
    draw(1);
    s = make();
    a = run(s, FRAMES, NAN, NULL);
    assert_true(a.scale == 1 && a.seen == 0);
    a = run(s, FRAMES, 0, NULL);
    assert_true(a.scale == 1 && a.seen == 0);
    a = run(s, FRAMES, 1e30f, NULL);
    assert_true(a.scale == 1 && a.seen == 0);
    memset(rgb, 128, sizeof rgb);
    a = run(s, FRAMES, 1, NULL);
    assert_true(a.scale == 1 && a.seen == 0);
    eval_scale_free(&s);
}

/* Poses of chance: an answer, and a number. */
static void wild_poses_are_survived(void **state)
{
    struct eval_scale *s = make();
    struct eval_scale_answer a;
    uint32_t seed = 5;

    (void)state;
    draw(1);
    for (int i = 0; i < FRAMES; i++) {
        T_wc[i] = scene_pose(2 * scene_random(&seed) - 1, scene_random(&seed), scene_random(&seed),
                             6 * scene_random(&seed));
        if (i % 4 == 3)
            T_wc[i].t[i % 3] = 1e5f;
    }
    a = run(s, FRAMES, 1.3f, NULL);
    assert_true(a.scale >= 0.25 && a.scale <= 4);
    eval_scale_free(&s);
}

static void what_cannot_be_tracked(void **state)
{
    struct intrinsics K = scene_intrinsics(W, H), none = {0, 0, 0, 0}, nan = {NAN, 1, 1, 1};
    struct eval_scale *s;

    (void)state;
    assert_int_equal(eval_scale_new(&s, 31, H, K, NULL), ERR_INPUT);
    assert_int_equal(eval_scale_new(&s, W, EVAL_SCALE_SIDE_MAX + 1, K, NULL), ERR_INPUT);
    assert_int_equal(eval_scale_new(&s, W, H, none, NULL), ERR_INPUT);
    assert_int_equal(eval_scale_new(&s, W, H, nan, NULL), ERR_INPUT);
    assert_null(s);
    eval_scale_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_factor_is_found),
        cmocka_unit_test(a_changed_factor_is_followed),
        cmocka_unit_test(it_is_causal),
        cmocka_unit_test(nothing_is_learned_from_nothing),
        cmocka_unit_test(wild_poses_are_survived),
        cmocka_unit_test(what_cannot_be_tracked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
