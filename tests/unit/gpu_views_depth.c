/*
 * gpu_views_depth - what many views make of single-view depth that errs by a fifth and more: with
 * right poses the truth, with wrong ones nothing worse
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "gpu/views/views_point.h"
#include "tests/support/views_case.h"

#define W 96
#define H 72
#define FRAMES 32

enum wrong { RIGHT, FROZEN, MIRRORED, ODOMETRY };

#define WINDOW 8 /* frames whose odometry errs alike */

/* Mean relative errors over final views, and over frames. */
struct score {
    double single, final, measured, frame_single, frame;
    uint32_t n, n_measured, n_frame, refined;
};

static void add(struct score *s, const struct views *v, const float truth[FRAMES][W * H],
                const float single[FRAMES][W * H], int frame)
{
    const struct views_target *t = &v->target[VIEWS_FRAME];

    for (int i = 0; i < W * H; i++) {
        s->frame += fabs(t->depth[i] / truth[frame][i] - 1.0);
        s->frame_single += fabs(single[frame][i] / truth[frame][i] - 1.0);
        s->n_frame++;
    }
    if (v->plan.final < 0)
        return;
    t = &v->target[VIEWS_FINAL];
    frame = (int)v->kept[v->plan.final].frame - 1;
    for (int i = 0; i < W * H; i++) {
        double e = fabs(t->depth[i] / truth[frame][i] - 1.0);
        s->single += fabs(single[frame][i] / truth[frame][i] - 1.0);
        s->final += e;
        s->n++;
        if (t->trust[i] >= 192) {
            s->measured += e;
            s->n_measured++;
        }
    }
}

/* The next pose as odometry has it: in each window the camera seems to go too far or not far
 * enough, askew, and to turn besides. a, b: true poses, before and now. */
static struct rigid guess(const struct rigid *last, const struct rigid *a, const struct rigid *b,
                          int frame)
{
    static const float length[] = {1.13f, 0.9f, 1.02f, 0.85f};
    struct rigid back = rigid_inverse(a), step = rigid_mul(&back, b), tilt = scene_pose(0, 0, 0, 0);
    float by = length[frame / WINDOW], skew = frame / WINDOW % 2 ? 0.006f : -0.005f, x = step.t[0];

    step.t[0] = by * (x - skew * step.t[2]);
    step.t[1] *= by;
    step.t[2] = by * (step.t[2] + skew * x);
    tilt.r[1] = frame / WINDOW % 2 ? 0.0006f : -0.0006f;
    tilt.r[3] = -tilt.r[1];
    step = rigid_mul(&step, &tilt);
    return rigid_mul(last, &step);
}

static void run(struct score *s, enum wrong wrong)
{
    static float truth[FRAMES][W * H], single[FRAMES][W * H];
    struct views_case c;
    struct views v;
    struct rigid T_wc[FRAMES], guessed = {0};
    void *arena = calloc(1, views_lay_out(&v, NULL, W, H)), *band;

    assert_non_null(arena);
    views_lay_out(&v, arena, W, H);
    band = calloc(1, sweep_cpu_lay_out(&v, NULL));
    assert_non_null(band);
    sweep_cpu_lay_out(&v, band);
    views_case_open(&c, W, H);
    memset(s, 0, sizeof *s);
    for (int i = 0; i < FRAMES; i++) {
        views_case_draw(&c, i, 1.2f);
        memcpy(truth[i], c.truth, sizeof truth[i]);
        memcpy(single[i], c.depth, sizeof single[i]);
        T_wc[i] = c.frame.T_wc;
        guessed = i ? guess(&guessed, &T_wc[i - 1], &T_wc[i], i) : T_wc[i];
        if (wrong == ODOMETRY)
            c.frame.T_wc = guessed;
        if (wrong == FROZEN)
            c.frame.T_wc = scene_pose(0, 0, 0, 0);
        if (wrong == MIRRORED)
            c.frame.T_wc.t[0] *= -1.0f;
        plan_cpu(&v, &c.frame);
        sweep_cpu(&v);
        refine_cpu(&v);
        s->refined += v.plan.again != 0;
        agree_cpu(&v);
        draw_cpu(&v);
        field_cpu(&v, &c.frame);
        add(s, &v, truth, single, i);
    }
    views_case_close(&c);
    free(arena);
    free(band);
    print_message("# final %.4f (single %.4f), measured %.4f of %.2f; frames %.4f (%.4f)\n",
                  s->n ? s->final / s->n : 0, s->n ? s->single / s->n : 0,
                  s->n_measured ? s->measured / s->n_measured : 0,
                  s->n ? (double)s->n_measured / s->n : 0, s->frame / s->n_frame,
                  s->frame_single / s->n_frame);
}

static void test_right(void **state)
{
    struct score s;

    (void)state;
    run(&s, RIGHT);
    assert_true(s.n >= 2 * W * H);
    assert_true(s.final < 0.25 * s.single);
    assert_true(s.frame < 0.7 * s.frame_single);
    assert_true(s.n_measured > s.n / 4);
    assert_true(s.measured < 0.02 * s.n_measured);
}

static void test_wrong(void **state)
{
    struct score s;

    (void)state;
    run(&s, FROZEN);
    assert_int_equal(s.n_measured, 0);
    assert_true(s.frame <= s.frame_single * 1.001);
    run(&s, MIRRORED);
    assert_true(s.n > 0);
    assert_true(s.final < 1.1 * s.single);
    assert_true(s.frame < 1.1 * s.frame_single);
    assert_true(s.n_measured < s.n / 20);
}

/* Poses are refined where odometry errs by 13 % and a third of a degree, and left alone where they
 * are right. */
static void test_odometry(void **state)
{
    struct score right, s;

    (void)state;
    run(&right, RIGHT);
    run(&s, ODOMETRY);
    print_message("# refined %u, with right poses %u\n", s.refined, right.refined);
    assert_true(s.refined > 2);
    assert_true(s.n_measured > s.n / 20);
    assert_true(s.measured < 0.04 * s.n_measured); /* 0.12 by the poses as they are given */
    assert_true(right.measured < 0.01 * right.n_measured);
}

static void test_numbers(void **state)
{
    (void)state;
    for (float z = 0.07f; z < 3900.0f; z *= 1.0173f) {
        assert_true(fabsf(views_log2(z) - log2f(z)) < 1e-6f);
        assert_true(fabsf(views_exp2(log2f(z)) / z - 1.0f) < 2e-6f);
        assert_true(fabsf(views_decode(views_code(z)) / z - 1.0f) < 1.3e-4f);
    }
    assert_int_equal(views_code(0.0f), 0);
    assert_int_equal(views_code(NAN), 0);
    assert_int_equal(views_code(1e9f), 0);
    assert_true(views_decode(0) == 0.0f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers), cmocka_unit_test(test_right),
                                       cmocka_unit_test(test_wrong),
                                       cmocka_unit_test(test_odometry)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
