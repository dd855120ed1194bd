/* (P10), (U2): what samples of a gyroscope say of a turn, what they are not believed, and how a
 * world is put upright. */
#include <math.h>
#include <string.h>

#include "proto/bytes.h"
#include "proto/geom/inertial.h"
#include "proto/geom/pose.h"
#include "proto/wire/frame.h"
#include "tests/support/unit.h"

#define MS 1000000ull
#define FROM (5ull << 40) /* ns */
#define RATE 1.5f         /* rad/s */

struct sample {
    int64_t ms; /* behind FROM */
    float rate[3];
};

static bool turn_of(float turn[3], const struct sample *s, int n, int64_t span_ms)
{
    struct inertial_turn t;
    float seconds;
    bool is_known;

    inertial_begin(&t, FROM, FROM + (uint64_t)span_ms * MS);
    for (int i = 0; i < n; i++)
        inertial_add(&t, FROM + (uint64_t)(s[i].ms * (int64_t)MS), s[i].rate);
    is_known = inertial_end(&t, turn, &seconds);
    assert_true(is_known ? fabsf(seconds - 1e-3f * (float)span_ms) < 1e-6f
                         : seconds == 0 && turn[0] == 0 && turn[1] == 0 && turn[2] == 0);
    return is_known;
}

/* A turn about one axis is the rate's integral, wherever samples lie: here they begin before and
 * end behind, begin late, end early. */
TEST(a_rate_becomes_its_angle)
{
    static const int first_ms[] = {-7, 0, 12}, last_ms[] = {133, 100, 89};

    for (int c = 0; c < 3; c++)
        for (int axis = 0; axis < 3; axis++) {
            struct sample s[40] = {0};
            float turn[3];
            int n = 0;
            for (int ms = first_ms[c]; ms < last_ms[c]; ms += 9, n++) {
                s[n].ms = ms;
                s[n].rate[axis] = RATE;
            }
            assert_true(turn_of(turn, s, n, 100));
            assert_true(fabsf(turn[axis] - 2 * tanf(0.05f * RATE)) < 1e-5f);
            assert_true(turn[(axis + 1) % 3] == 0 && turn[(axis + 2) % 3] == 0);
        }
}

/* A rate that grows evenly; then two turns of which the second is about the axis that the first one
 * has turned: their quaternions, by hand. */
TEST(turns_follow_each_other)
{
    struct sample s[41] = {0};
    float turn[3], c = cosf(0.1f), k = sinf(0.1f);

    for (int i = 0; i <= 10; i++) {
        s[i].ms = 10 * i;
        s[i].rate[1] = 0.2f * (float)i;
    }
    assert_true(turn_of(turn, s, 11, 100));
    assert_true(fabsf(turn[1] - 2 * tanf(0.05f)) < 1e-5f);
    memset(s, 0, sizeof s);
    for (int i = 0; i < 40; i++) {
        s[i].ms = 5 * i + (i > 19);
        s[i].rate[i < 20 ? 0 : 2] = 2;
    }
    assert_true(turn_of(turn, s, 40, 200));
    /* (c, k, 0, 0) (c, 0, 0, k) = (cc, kc, -kk, ck); 5 ms lie between both rates */
    assert_true(fabsf(turn[0] - 2 * k / c) < 0.011f && fabsf(turn[2] - 2 * k / c) < 0.011f);
    assert_true(fabsf(turn[1] + 2 * k * k / (c * c)) < 0.003f);
}

/* What a stranger may send: nothing of it says anything. */
TEST(strange_samples_say_nothing)
{
    static const struct {
        int64_t span_ms;
        struct sample s[4];
        int n;
    } bad[] = {
        {100, {{0}}, 0},
        {100, {{10, {NAN, 0, 0}}, {50, {0}}, {90, {0}}}, 3},
        {100, {{10, {0, INFINITY, 0}}, {50, {0}}, {90, {0}}}, 3},
        {100, {{10, {0, 0, 36}}, {50, {0}}, {90, {0}}}, 3},
        {100, {{10, {1}}, {50, {1}}, {50, {1}}, {90, {1}}}, 4}, /* twice */
        {100, {{10, {1}}, {50, {1}}, {40, {1}}, {90, {1}}}, 4}, /* backwards */
        {100, {{51, {1}}, {90, {1}}}, 2},                       /* late */
        {100, {{10, {1}}, {49, {1}}}, 2},                       /* ends early */
        {100, {{10, {1}}, {61, {1}}}, 2},                       /* a hole */
        {100, {{10, {1}}, {50, {1}}, {90000, {1}}}, 3},         /* the clock jumps */
        {100, {{-90000, {1}}, {50, {1}}, {90, {1}}}, 3},        /* from another clock */
        {100, {{INT64_MIN / (int64_t)MS, {1}}, {50, {1}}, {90, {1}}}, 3},
        {0, {{0, {1}}, {1, {1}}}, 2},  /* frames of one moment */
        {-5, {{0, {1}}, {1, {1}}}, 2}, /* frames go back */
        {1001, {{10, {1}}, {50, {1}}}, 2},
        {100, {{10, {30}}, {50, {30}}, {90, {30}}}, 3}, /* by more than a quarter */
    };
    float turn[3];

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(turn_of(turn, bad[i].s, bad[i].n, bad[i].span_ms));
}

/* Samples on the wire are in the axes of the client's camera. */
TEST(axes_are_the_clients)
{
    uint8_t bytes[3 * FRAME_IMU_BYTES];
    struct frame f = {.t_capture_ns = FROM + 60 * MS, .n_parts = 1};
    float cv[3], gl[3], seconds;

    for (int i = 0; i < 3; i++) {
        struct bytes_writer w = bytes_writer(bytes + i * FRAME_IMU_BYTES, FRAME_IMU_BYTES);
        bytes_put_u64(&w, FROM + 20 * MS * (uint64_t)(i + 1));
        for (int k = 0; k < 3; k++)
            bytes_put_f32(&w, 0.5f * (float)(k + 1));
        for (int k = 0; k < 3; k++)
            bytes_put_f32(&w, 9);
    }
    f.parts[0] = (struct frame_part){
        .type = FRAME_IMU, .codec = FRAME_RAW, .data = bytes, .len = sizeof bytes};
    assert_true(frame_turn(&f, FRAME_POSE_CV, FROM, cv, &seconds));
    assert_true(frame_turn(&f, FRAME_POSE_OPENGL, FROM, gl, &seconds));
    assert_true(fabsf(cv[0] - 0.03f) < 1e-4f && fabsf(cv[2] - 0.09f) < 2e-4f);
    assert_true(gl[0] == cv[0] && gl[1] == -cv[1] && gl[2] == -cv[2]);
    assert_false(frame_turn(&f, FRAME_POSE_CV, FROM - 100 * MS, cv, &seconds));
    f.n_parts = 0;
    assert_false(frame_turn(&f, FRAME_POSE_CV, FROM, cv, &seconds));
}

/* The direction comes where it shall, by the least rotation; that of opposite ones is half a
 * turn. */
TEST(worlds_are_put_upright)
{
    static const struct vec3 ups[] = {{0, -1, 0}, {0, 1, 0},        {1, 0, 0},          {0, 0, 1},
                                      {0, 0, -1}, {0.6f, -0.8f, 0}, {0, -0.28f, -0.96f}};

    for (size_t i = 0; i < sizeof ups / sizeof *ups; i++)
        for (size_t k = 0; k < sizeof ups / sizeof *ups; k++) {
            struct vec3 a = ups[i], b = ups[k];
            struct rigid T = pose_level(a, b);
            const float *r = T.r;
            float dot = a.x * b.x + a.y * b.y + a.z * b.z;
            assert_true(fabsf(r[0] * a.x + r[1] * a.y + r[2] * a.z - b.x) < 1e-5f);
            assert_true(fabsf(r[3] * a.x + r[4] * a.y + r[5] * a.z - b.y) < 1e-5f);
            assert_true(fabsf(r[6] * a.x + r[7] * a.y + r[8] * a.z - b.z) < 1e-5f);
            assert_true(fabsf(r[0] + r[4] + r[8] - 1 - 2 * dot) < 1e-4f); /* its angle */
            assert_true(T.t[0] == 0 && T.t[1] == 0 && T.t[2] == 0);
        }
}
