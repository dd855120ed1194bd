/*
 * bench_cuda_recognise.c - recognition on a GPU beside the CPU twin and beside Orts-Escolano et al.
 *
 * A drawn scene of 640 x 480 with noise, 200 tensors, each pass timed by events, medians of
 * RUNS=50. Then matching alone against libraries of 2,000 to 64,000 tensors. step 1 is the paper's
 * surface, all of the picture's pixels; step 2 is what recond takes for such a picture.
 */
#include "gpu/recognise/recognise_cuda.h"
#include "tests/support/shape_case.h"
#include "tests/support/shape_random.h"

#include <time.h>

#define W 640
#define H 480
#define RUNS 50

static const char *const pass_name[RECOGNISE_PASSES] = {
    "upload", "filter",      "points", "normals", "resolution", "mesh",
    "pairs",  "200 tensors", "match",  "guesses", "refine",     "keep"};
/* GTX 480, milliseconds; tensors: what is left of 490 for all, which has neither matches nor poses
 */
static const float paper_ms[RECOGNISE_PASSES] = {0, 5, 1, 1, 4, 2, 9, 468, 0, 0, 0, 0};

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int by_size(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static float median(float *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, by_size);
    return v[n / 2];
}

static int die(const struct err *err)
{
    printf("%s\n", err->text);
    return 1;
}

/* Objects with n tensors in all: those of one that was drawn, again and again. */
static int many(struct object *to, const struct object *from, uint32_t n)
{
    *to = *from;
    to->tensor = calloc(n, sizeof *to->tensor);
    if (!to->tensor)
        return 0;
    for (uint32_t i = 0; i < n; i++)
        to->tensor[i] = from->tensor[i % from->n_tensors];
    to->n_tensors = n;
    return 1;
}

/* surface: what the whole is to bring back besides poses. */
static int time_run(struct recognise_cuda *r, const float *depth, float us[RECOGNISE_PASSES],
                    float *whole_us, struct surface *surface, struct err *err)
{
    static float of[RECOGNISE_PASSES][RUNS], whole[RUNS];
    struct hypothesis found[HYPOTHESES_MAX];
    uint32_t n;
    for (int i = -5; i < RUNS; i++) {
        float one[RECOGNISE_PASSES];
        double before;
        if (recognise_cuda_run(r, depth, one, NULL, NULL, NULL, err))
            return err->code;
        for (int k = 0; i >= 0 && k < RECOGNISE_PASSES; k++)
            of[k][i] = one[k];
        before = now_ms();
        if (recognise_cuda_run(r, depth, NULL, found, &n, surface, err))
            return err->code;
        if (i >= 0)
            whole[i] = (float)((now_ms() - before) * 1e3);
    }
    for (int k = 0; k < RECOGNISE_PASSES; k++)
        us[k] = median(of[k], RUNS);
    *whole_us = median(whole, RUNS);
    return 0;
}

static struct recognise_config config_of(const struct shape_case *c, int step)
{
    struct recognise_config d = {W, H, step, shape_camera_of(W, H), c->sp, c->tp, c->mp, c->hp};
    return d;
}

/* Table 3, and the CPU twin's time for the same. */
static int table3(const struct shape_case *c, const struct library *l, int step, struct err *err)
{
    struct recognise_config config = config_of(c, step);
    struct recognise_cuda *r;
    struct surface s;
    struct tensors t;
    float us[RECOGNISE_PASSES], whole;
    double from, surface_ms, tensor_ms, match_ms, pose_ms;
    struct hypotheses q;

    if (recognise_cuda_open(&r, &config, l, err) || surface_new(&s, W, H, config.K, step, err) ||
        tensor_new(&t, &s, &config.tensor, err) ||
        hypothesis_new(&q, &s, (uint32_t)config.tensor.n, l, &config.hypothesis, err))
        return die(err);
    if (time_run(r, c->depth, us, &whole, &s, err))
        return die(err);
    printf("step %d, surface of %d x %d\n", step, W / step, H / step);
    for (int k = 0; k < RECOGNISE_PASSES; k++)
        printf("  %-12s %8.1f us   paper %6.0f us\n", pass_name[k], (double)us[k],
               1e3 * (double)paper_ms[k]);
    printf(
        "  whole chain  %8.1f us by the clock (must 3000; paper 490000 without matches, poses)\n",
        (double)whole);
    printf("@ step%d.chain %.1f us\n", step, (double)whole);
    s.depth = c->depth;
    from = now_ms();
    surface_cpu_run(&s, &config.surface);
    surface_ms = now_ms() - from;
    tensor_cpu_run(&t, &config.tensor);
    tensor_ms = now_ms() - from - surface_ms;
    match_cpu_run(c->best, t.tensor, *t.n_tensors, l, &config.match);
    match_ms = now_ms() - from - surface_ms - tensor_ms;
    hypothesis_cpu_run(&q, &t, c->best, l, &config.hypothesis);
    pose_ms = now_ms() - from - surface_ms - tensor_ms - match_ms;
    printf("  CPU twin, one core: surface %.0f ms, %u tensors %.0f ms, match with %u %.0f ms, %u "
           "poses %.1f ms\n",
           surface_ms, *t.n_tensors, tensor_ms, l->n_tensors, match_ms, *q.n_found, pose_ms);
    hypothesis_free(&q);
    tensor_free(&t);
    surface_free(&s);
    recognise_cuda_close(&r);
    return 0;
}

static int table4(const struct shape_case *c, const struct object *object, struct err *err)
{
    static const uint32_t size[] = {2000, 4000, 16000, 64000};
    static const int paper[] = {75, 140, 534, 2130};

    for (int i = 0; i < 4; i++) {
        struct recognise_config config = config_of(c, 2);
        struct object big;
        const struct object *const one[1] = {&big};
        struct library l;
        struct recognise_cuda *r;
        float us[RECOGNISE_PASSES], whole;
        if (!many(&big, object, size[i]) || library_new(&l, one, 1, err) ||
            recognise_cuda_open(&r, &config, &l, err))
            return die(err);
        if (time_run(r, c->depth, us, &whole, NULL, err))
            return die(err);
        printf("match 200 x %5u tensors %8.1f us   paper %d ms%s\n", size[i],
               (double)us[RECOGNISE_MATCH], paper[i], i == 3 ? " (must 2000 us)" : "");
        printf("@ match_%u %.1f us\n", size[i], (double)us[RECOGNISE_MATCH]);
        recognise_cuda_close(&r);
        library_free(&l);
        free(big.tensor);
    }
    return 0;
}

int main(void)
{
    struct object object;
    const struct object *const objects[1] = {&object};
    struct library library;
    struct shape_case c;
    struct err err = {0};
    int rc;

    if (shape_enrol(&object, SHAPE_TORTOISE, W, H, 400, &err) ||
        library_new(&library, objects, 1, &err) || shape_case_open(&c, W, H, &library, 200, &err))
        return die(&err);
    {
        struct shape_place place[4] = {{SHAPE_TORTOISE, shape_put(40, 0.05f, -0.15f, 0.053f)},
                                       {SHAPE_FIGURE, shape_put(200, 0.05f, 0.15f, 0.121f)},
                                       {SHAPE_SPEAKER, shape_put(15, -0.1f, 0, 0.105f)},
                                       {SHAPE_TABLE, rigid_identity()}};
        struct rigid T_wc = shape_around(vec3_make(0, 0, 0.05f), 8, 35, 0.85f);
        shape_draw(c.depth, NULL, W, H, shape_camera_of(W, H), &T_wc, place, 4);
        shape_noise(c.depth, W * H, 1);
    }
    rc = table3(&c, &library, 1, &err);
    if (rc == 0)
        rc = table3(&c, &library, 2, &err);
    if (rc == 0)
        rc = table4(&c, &object, &err);
    shape_case_close(&c);
    library_free(&library);
    object_free(&object);
    return rc;
}
