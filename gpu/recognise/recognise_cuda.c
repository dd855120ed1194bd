#include "gpu/recognise/recognise_cuda.h"

#include "gpu/base/cuda_try.h"
#include "gpu/recognise/hypothesis_cuda.h"
#include "gpu/recognise/hypothesis_pose.h"
#include "gpu/recognise/match_cuda.h"
#include "gpu/recognise/surface_cuda.h"
#include "gpu/recognise/tensor_cuda.h"

#include <stdlib.h>
#include <string.h>

#define PIECES 27

struct recognise_cuda {
    struct recognise_config config;
    struct surface surface; /* its pointers are device memory */
    struct tensors tensors;
    struct match_library library;
    struct hypothesis_picture hypothesis;
    float *depth;
    uint64_t *best;
    uint32_t n_objects;
    void *piece[PIECES]; /* all device memory */
    int n_pieces;
    cudaStream_t stream;
    cudaEvent_t event[RECOGNISE_PASSES + 1];
};

/* Takes a piece of device memory, and fills it from the host where `from` is given. */
static int recognise_take(struct recognise_cuda *r, void *pointer, const void *from, size_t bytes,
                          struct err *err)
{
    void *p = NULL;
    int rc = 0;

    CU_TRY(cudaMalloc(&p, bytes ? bytes : 1));
    r->piece[r->n_pieces++] = p;
    memcpy(pointer, &p, sizeof p);
    if (from)
        CU_TRY(cudaMemcpyAsync(p, from, bytes, cudaMemcpyHostToDevice, r->stream));
out:
    return rc;
}

static int take_all(struct recognise_cuda *r, const struct library *l, struct err *err)
{
    const struct recognise_config *c = &r->config;
    struct surface *s = &r->surface;
    struct tensors *t = &r->tensors;
    size_t pixels, cells, n = (size_t)c->tensor.n;
    int rc;

    surface_shape(s, c->w, c->h, c->K, c->step);
    pixels = (size_t)s->w * (size_t)s->h;
    cells = tensor_cells(&c->tensor, s->w, s->h);
    if ((rc = recognise_take(r, &r->depth, NULL, (size_t)c->w * (size_t)c->h * 4, err)) ||
        (rc = recognise_take(r, &s->filtered, NULL, pixels * sizeof *s->filtered, err)) ||
        (rc = recognise_take(r, &s->point, NULL, pixels * sizeof *s->point, err)) ||
        (rc = recognise_take(r, &s->normal, NULL, pixels * sizeof *s->normal, err)) ||
        (rc = recognise_take(r, &s->mesh, NULL, pixels, err)) ||
        (rc = recognise_take(r, &s->sums, NULL, sizeof *s->sums, err)) ||
        (rc = recognise_take(r, &s->limits, NULL, sizeof *s->limits, err)) ||
        (rc = recognise_take(r, &t->pair, NULL, cells * sizeof *t->pair, err)) ||
        (rc = recognise_take(r, &t->n_pairs, NULL, sizeof *t->n_pairs, err)) ||
        (rc = recognise_take(r, &t->n_tensors, NULL, sizeof *t->n_tensors, err)) ||
        (rc = recognise_take(r, &t->picked, NULL, n * sizeof *t->picked, err)) ||
        (rc = recognise_take(r, &t->tensor, NULL, n * sizeof *t->tensor, err)) ||
        (rc = recognise_take(r, &r->best, NULL, n * l->n_objects * sizeof *r->best, err)) ||
        (rc = recognise_take(r, &r->library.tensor, l->tensor, l->n_tensors * sizeof *l->tensor,
                             err)) ||
        (rc = recognise_take(r, &r->library.entry, l->entry, l->n_entries * sizeof *l->entry,
                             err)) ||
        (rc = recognise_take(r, &r->library.bin, l->bin, sizeof l->bin, err)))
        return rc;
    s->depth = r->depth;
    r->library.n_objects = r->n_objects = l->n_objects;
    return 0;
}

/* Copies the poses of the library's tensors and the points of its objects. */
static int take_library(struct recognise_cuda *r, const struct library *l, struct err *err)
{
    struct hypothesis_library *to = &r->hypothesis.l;
    struct rigid *T_ob = calloc((size_t)l->n_tensors + 1, sizeof *T_ob);
    uint32_t *first = calloc((size_t)l->n_objects + 1, sizeof *first);
    struct object_point *point;
    int rc = T_ob && first ? 0 : err_set(err, ERR_MEMORY, "no memory for a library");

    for (uint32_t i = 0; i < l->n_objects && rc == 0; i++)
        first[i + 1] = first[i] + (uint32_t)l->object[i]->n_points;
    for (uint32_t i = 0; i < l->n_tensors && rc == 0; i++)
        T_ob[i] = l->from[i]->T_ob;
    if (rc == 0 &&
        (rc = recognise_take(r, &to->T_ob, T_ob, l->n_tensors * sizeof *T_ob, err)) == 0 &&
        (rc = recognise_take(r, &to->middle, l->middle, l->n_objects * sizeof *l->middle, err)) ==
            0 &&
        (rc = recognise_take(r, &to->is_coarse, l->is_coarse, l->n_objects, err)) == 0 &&
        (rc = recognise_take(r, &to->first, first, ((size_t)l->n_objects + 1) * sizeof *first,
                             err)) == 0)
        rc = recognise_take(r, &point, NULL, first[l->n_objects] * sizeof *point, err);
    to->n_objects = l->n_objects;
    for (uint32_t i = 0; i < l->n_objects && rc == 0; i++) {
        to->point = point;
        CU_TRY(cudaMemcpyAsync(point + first[i], l->object[i]->point,
                               l->object[i]->n_points * sizeof *point, cudaMemcpyHostToDevice,
                               r->stream));
    }
    if (rc == 0)
        CU_TRY(cudaStreamSynchronize(r->stream));
out:
    free(T_ob);
    free(first);
    return rc;
}

/* Memory for finding poses. */
static int take_poses(struct recognise_cuda *r, const struct library *l, struct err *err)
{
    const struct recognise_config *c = &r->config;
    struct hypothesis_picture *h = &r->hypothesis;
    struct hypothesis_room room = hypothesis_room(l, (uint32_t)c->tensor.n, &c->hypothesis);
    size_t pixels = (size_t)r->surface.w * (size_t)r->surface.h;
    int rc;

    h->tensor = r->tensors.tensor;
    h->n_tensors = r->tensors.n_tensors;
    h->best = r->best;
    h->q.tensors = (uint32_t)c->tensor.n;
    if ((rc = recognise_take(r, &h->q.guess, NULL, room.guesses * sizeof *h->q.guess, err)) ||
        (rc = recognise_take(r, &h->q.tried, NULL, room.tries * sizeof *h->q.tried, err)) ||
        (rc = recognise_take(r, &h->q.pixel, NULL, room.points * sizeof *h->q.pixel, err)) ||
        (rc = recognise_take(r, &h->q.claims, NULL, pixels, err)) ||
        (rc = recognise_take(r, &h->q.found, NULL, HYPOTHESES_MAX * sizeof *h->q.found, err)) ||
        (rc = recognise_take(r, &h->q.n_found, NULL, sizeof *h->q.n_found, err)))
        return rc;
    return take_library(r, l, err);
}

int recognise_cuda_open(struct recognise_cuda **out, const struct recognise_config *c,
                        const struct library *l, struct err *err)
{
    struct recognise_cuda *r = NULL;
    int rc = 0, devices = 0, least = 0;

    *out = NULL;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
        return err_set(err, ERR_UNSUPPORTED, "no CUDA device");
    r = calloc(1, sizeof *r);
    if (!r)
        return err_set(err, ERR_MEMORY, "no memory");
    r->config = *c;
    /* the lowest priority: frames' kernels come first */
    CU_TRY(cudaDeviceGetStreamPriorityRange(&least, NULL));
    CU_TRY(cudaStreamCreateWithPriority(&r->stream, cudaStreamNonBlocking, least));
    for (int i = 0; i <= RECOGNISE_PASSES; i++)
        CU_TRY(cudaEventCreateWithFlags(&r->event[i], 0));
    rc = take_all(r, l, err);
    if (rc == 0)
        rc = take_poses(r, l, err);
    if (rc == 0)
        CU_TRY(cudaStreamSynchronize(r->stream));
out:
    if (rc)
        recognise_cuda_close(&r);
    *out = r;
    return rc;
}

void recognise_cuda_close(struct recognise_cuda **out)
{
    struct recognise_cuda *r = *out;

    *out = NULL;
    if (!r)
        return;
    if (r->stream)
        (void)cudaStreamSynchronize(r->stream);
    for (int i = 0; i < r->n_pieces; i++)
        (void)cudaFree(r->piece[i]);
    for (int i = 0; i <= RECOGNISE_PASSES; i++)
        if (r->event[i])
            (void)cudaEventDestroy(r->event[i]);
    if (r->stream)
        (void)cudaStreamDestroy(r->stream);
    free(r);
}

void recognise_cuda_camera(struct recognise_cuda *r, struct intrinsics K)
{
    r->surface.K = K;
}

/* Enqueues a pass. */
static int pass(struct recognise_cuda *r, enum recognise_pass which, const float *depth,
                struct err *err)
{
    static surface_cuda_fn *const surface[] = {surface_cuda_filter, surface_cuda_points,
                                               surface_cuda_normals, surface_cuda_resolution,
                                               surface_cuda_mesh};
    static hypothesis_cuda_fn *const poses[] = {hypothesis_cuda_guess, hypothesis_cuda_refine,
                                                hypothesis_cuda_keep};
    const struct recognise_config *c = &r->config;
    int rc = 0;

    switch (which) {
    case RECOGNISE_UPLOAD:
        CU_TRY(cudaMemcpyAsync(r->depth, depth, (size_t)c->w * (size_t)c->h * 4,
                               cudaMemcpyHostToDevice, r->stream));
        break;
    case RECOGNISE_PAIRS:
        return tensor_cuda_pairs(&r->tensors, &r->surface, &c->tensor, r->stream, err);
    case RECOGNISE_TENSORS:
        return tensor_cuda_fill(&r->tensors, &r->surface, &c->tensor, r->stream, err);
    case RECOGNISE_MATCH:
        return match_cuda_run(r->best, r->tensors.tensor, r->tensors.n_tensors,
                              (uint32_t)c->tensor.n, &r->library, &c->match, r->stream, err);
    case RECOGNISE_GUESS:
    case RECOGNISE_REFINE:
    case RECOGNISE_KEEP:
        return poses[which - RECOGNISE_GUESS](&r->hypothesis, &r->surface, &c->hypothesis,
                                              r->stream, err);
    default:
        return surface[which - RECOGNISE_FILTER](&r->surface, &c->surface, r->stream, err);
    }
out:
    return rc;
}

#define BACK(to, from, bytes) \
    CU_TRY(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, r->stream))

int recognise_cuda_run(struct recognise_cuda *r, const float *depth, float *us,
                       struct hypothesis *found, uint32_t *n, struct surface *s, struct err *err)
{
    size_t pixels = (size_t)r->surface.w * (size_t)r->surface.h;
    int rc = 0;

    for (int i = 0; i < RECOGNISE_PASSES; i++) {
        if (us)
            CU_TRY(cudaEventRecord(r->event[i], r->stream));
        rc = pass(r, (enum recognise_pass)i, depth, err);
        if (rc)
            goto out;
    }
    if (us)
        CU_TRY(cudaEventRecord(r->event[RECOGNISE_PASSES], r->stream));
    if (found) {
        BACK(found, r->hypothesis.q.found, HYPOTHESES_MAX * sizeof *found);
        BACK(n, r->hypothesis.q.n_found, sizeof *n);
    }
    if (s) {
        BACK(s->point, r->surface.point, pixels * sizeof *s->point);
        BACK(s->normal, r->surface.normal, pixels * sizeof *s->normal);
    }
    CU_TRY(cudaStreamSynchronize(r->stream));
    for (int i = 0; us && i < RECOGNISE_PASSES; i++) {
        CU_TRY(cudaEventElapsedTime(&us[i], r->event[i], r->event[i + 1]));
        us[i] *= 1e3f;
    }
out:
    return rc;
}

int recognise_cuda_get(struct recognise_cuda *r, struct surface *s, struct tensors *t,
                       uint64_t *best, struct hypothesis *tried, struct err *err)
{
    size_t tries = (size_t)r->n_objects * (size_t)r->config.hypothesis.tries;
    const struct surface *d = &r->surface;
    const struct tensors *e = &r->tensors;
    size_t pixels = (size_t)d->w * (size_t)d->h, n = (size_t)r->config.tensor.n;
    size_t cells = tensor_cells(&r->config.tensor, d->w, d->h);
    int rc = 0;

    BACK(s->filtered, d->filtered, pixels * sizeof *s->filtered);
    BACK(s->point, d->point, pixels * sizeof *s->point);
    BACK(s->normal, d->normal, pixels * sizeof *s->normal);
    BACK(s->mesh, d->mesh, pixels);
    BACK(s->sums, d->sums, sizeof *s->sums);
    BACK(s->limits, d->limits, sizeof *s->limits);
    BACK(t->pair, e->pair, cells * sizeof *t->pair);
    BACK(t->n_pairs, e->n_pairs, sizeof *t->n_pairs);
    BACK(t->n_tensors, e->n_tensors, sizeof *t->n_tensors);
    BACK(t->picked, e->picked, n * sizeof *t->picked);
    BACK(t->tensor, e->tensor, n * sizeof *t->tensor);
    BACK(best, r->best, n * r->n_objects * sizeof *best);
    BACK(tried, r->hypothesis.q.tried, tries * sizeof *tried);
    CU_TRY(cudaStreamSynchronize(r->stream));
out:
    return rc;
}
