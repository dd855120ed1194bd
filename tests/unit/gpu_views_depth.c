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

enum wrong { RIGHT, FROZEN, MIRRORED };

/* Mean relative errors over final views, and over frames. */
struct score {
    double single, final, measured, frame_single, frame;
    uint32_t n, n_measured, n_frame;
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

static void run(struct score *s, enum wrong wrong)
{
    static float truth[FRAMES][W * H], single[FRAMES][W * H];
    struct views_case c;
    struct views v;
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
        if (wrong == FROZEN)
            c.frame.T_wc = scene_pose(0, 0, 0, 0);
        if (wrong == MIRRORED)
            c.frame.T_wc.t[0] *= -1.0f;
        plan_cpu(&v, &c.frame);
        sweep_cpu(&v);
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
                                       cmocka_unit_test(test_wrong)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
