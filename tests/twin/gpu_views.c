/*
 * gpu_views - depth from many views on CUDA is what the CPU makes, frame by frame
 *
 * Bound:   equal bits of all that is kept and all that comes out: what pixels share is whole
 *          numbers, the rest is float arithmetic in the same order on both sides. Two sessions of
 *          odd sizes share batches; one leaves its place empty at times and begins another world.
 */
#include <string.h>

#include "tests/support/gpu_case.h"
#include "tests/support/views_case.h"
#include "tests/support/views_rig_cuda.h"
#include "tests/support/unit.h"

/* A tentative definition: in a build with CUDA the linker takes that of views_rig_cuda.cu. */
const struct views_rig_api *views_rig_cuda __attribute__((common));

#define SESSIONS 2
#define FRAMES 20

struct side {
    struct views v;
    void *arena, *band;
    struct views_case scene;
};

static void open_side(struct side *s, int w, int h)
{
    size_t bytes = views_lay_out(&s->v, NULL, w, h);

    s->arena = calloc(1, bytes);
    assert_non_null(s->arena);
    views_lay_out(&s->v, s->arena, w, h);
    s->band = calloc(1, sweep_cpu_lay_out(&s->v, NULL));
    assert_non_null(s->band);
    sweep_cpu_lay_out(&s->v, s->band);
    views_case_open(&s->scene, w, h);
}

static void close_side(struct side *s)
{
    views_case_close(&s->scene);
    free(s->arena);
    free(s->band);
}

static void run_cpu(struct views *v, const struct views_frame *f)
{
    plan_cpu(v, f);
    sweep_cpu(v);
    refine_cpu(v);
    fine_cpu(v);
    agree_cpu(v);
    draw_cpu(v);
    field_cpu(v, f);
}

static void check_plan(const struct views *a, const struct views *b)
{
    assert_int_equal(a->frame, b->frame);
    assert_int_equal(a->n_places, b->n_places);
    assert_memory_equal(a->strand, b->strand, sizeof a->strand);
    assert_memory_equal(a->length, b->length, sizeof a->length);
    assert_true(a->plan.stretch == b->plan.stretch);
    assert_memory_equal(a->anchor, b->anchor, sizeof a->anchor);
    assert_memory_equal(&a->told, &b->told, sizeof a->told);
    assert_memory_equal(a->kept, b->kept, sizeof a->kept);
    assert_true(a->plan.median_m == b->plan.median_m);
    assert_int_equal(a->plan.strand, b->plan.strand);
    assert_int_equal(a->plan.taken, b->plan.taken);
    assert_int_equal(a->plan.swept, b->plan.swept);
    assert_int_equal(a->plan.final, b->plan.final);
    assert_int_equal(a->plan.n_sources, b->plan.n_sources);
    assert_memory_equal(a->plan.source, b->plan.source,
                        (size_t)a->plan.n_sources * sizeof *a->plan.source);
    assert_int_equal(a->plan.again, b->plan.again);
    assert_int_equal(a->plan.fine, b->plan.fine);
    assert_memory_equal(a->plan.pose, b->plan.pose,
                        (size_t)a->plan.n_sources * sizeof *a->plan.pose);
    if (a->plan.again)
        assert_memory_equal(a->scales, b->scales, sizeof a->scales);
    for (int t = 0; t < VIEWS_TARGETS; t++) {
        assert_int_equal(a->plan.n_pool[t], b->plan.n_pool[t]);
        assert_memory_equal(a->plan.pool[t], b->plan.pool[t],
                            (size_t)a->plan.n_pool[t] * sizeof *a->plan.pool[t]);
    }
}

/* Keyframes that were taken, and views that were made. */
static void check_maps(const struct views *a, const struct views *b)
{
    uint32_t n = a->n_pixels;
    size_t all = (size_t)a->n_places * n;

    assert_memory_equal(a->grey, b->grey, all);
    assert_memory_equal(a->rgb, b->rgb, 3 * all);
    assert_memory_equal(a->single, b->single, all * sizeof *a->single);
    assert_memory_equal(a->own, b->own, all * sizeof *a->own);
    assert_memory_equal(a->agree, b->agree, all);
    assert_memory_equal(a->contrast, b->contrast, all);
    for (int t = 0; t < VIEWS_TARGETS; t++) {
        const struct views_target *p = &a->target[t], *q = &b->target[t];
        if (t == VIEWS_FINAL && a->plan.final < 0)
            continue;
        assert_memory_equal(p->front, q->front, n * sizeof *p->front);
        assert_memory_equal(p->weight, q->weight, n * sizeof *p->weight);
        assert_memory_equal(p->sum, q->sum, n * sizeof *p->sum);
        assert_memory_equal(p->share, q->share, n * sizeof *p->share);
        assert_int_equal(p->n_share, q->n_share);
        assert_memory_equal(p->depth, q->depth, n * sizeof *p->depth);
        assert_memory_equal(p->trust, q->trust, n);
    }
}

TEST(test_views)
{
    const int w[SESSIONS] = {61, 83}, h[SESSIONS] = {53, 47};
    struct side s[SESSIONS];
    struct views_rig *rig = NULL;
    struct err err = {0};
    uint32_t measured = 0, refined = 0, compared = 0, fine = 0;
    int rc = views_rig_cuda ? views_rig_cuda->open(&rig, w, h, SESSIONS, &err)
                            : err_set(&err, ERR_UNSUPPORTED, "this build has no CUDA");

    gpu_case_need(rc, &err);
    for (int i = 0; i < SESSIONS; i++)
        open_side(&s[i], w[i], h[i]);
    for (int frame = 0; frame < FRAMES; frame++) {
        struct views_frame f[SESSIONS];
        for (int i = 0; i < SESSIONS; i++) {
            views_case_draw(&s[i].scene, frame, 1.2f);
            f[i] = s[i].scene.frame;
            f[i].submap = i == 1 && frame >= 4; /* another world; and another source now and then */
            f[i].source = i == 0 && frame % 6 == 5;
            f[i].T_wc.t[2] += 0.004f * (float)frame; /* askew: poses to refine */
        }
        if (frame % 5 == 3)
            f[1].rgb = NULL;
        assert_int_equal(views_rig_cuda->run(rig, f, &err), 0);
        for (int i = 0; i < SESSIONS; i++) {
            struct views there;
            if (!f[i].rgb)
                continue;
            run_cpu(&s[i].v, &f[i]);
            assert_int_equal(views_rig_cuda->read(rig, i, &there, &err), 0);
            check_plan(&s[i].v, &there);
            refined += s[i].v.plan.again != 0;
            fine += s[i].v.plan.fine != 0;
            for (int k = 0; s[i].v.plan.again && k < VIEWS_SCALES; k++)
                compared += s[i].v.scales[k];
            check_maps(&s[i].v, &there);
            for (uint32_t k = 0; s[i].v.plan.final >= 0 && k < s[i].v.n_pixels; k++)
                measured += s[i].v.target[VIEWS_FINAL].trust[k] >= 192;
        }
    }
    print_message(
        "# %u measured pixels of final keyframes, %u with refined poses, %u swept in fine "
        "steps; %u pixels say a length\n",
        measured, refined, fine, compared);
    assert_true(measured > 200);
    assert_true(refined > 1);
    assert_true(fine > 1);
    assert_true(compared > 100);
    for (int i = 0; i < SESSIONS; i++)
        close_side(&s[i]);
    views_rig_cuda->close(&rig);
}
