#include "tests/support/views_rig_cuda.h"

#include "gpu/base/cuda_try.h"
#include "gpu/views/views_cuda.h"

#include <stdlib.h>
#include <string.h>

struct rig_session {
    struct views host; /* pointers are the device's */
    struct views *dev;
    uint8_t *arena, *terms, *copy, *rgb;
    uint16_t *level; /* as views_frame has it */
    float *depth;
    size_t bytes;
};

struct views_rig {
    int n;
    cudaStream_t stream;
    struct rig_session s[VIEWS_RIG_MAX];
    struct views_job *jobs;
};

static int open_session(struct rig_session *s, int w, int h, cudaStream_t stream, struct err *err)
{
    size_t n = (size_t)w * (size_t)h;
    int rc = 0;
    s->bytes = views_lay_out(&s->host, NULL, w, h);
    s->copy = (uint8_t *)malloc(s->bytes);
    if (!s->copy)
        return err_set(err, ERR_MEMORY, "no memory");
    CU_TRY(cudaMalloc(&s->arena, s->bytes));
    CU_TRY(cudaMalloc(&s->dev, sizeof *s->dev));
    CU_TRY(cudaMalloc(&s->rgb, 3 * n));
    CU_TRY(cudaMalloc(&s->level, n * sizeof *s->level));
    CU_TRY(cudaMalloc(&s->depth, n * sizeof *s->depth));
    (void)views_lay_out(&s->host, s->arena, w, h);
    CU_TRY(cudaMalloc(&s->terms, refine_cuda_lay_out(&s->host, NULL)));
    (void)refine_cuda_lay_out(&s->host, s->terms);
    CU_TRY(cudaMemcpyAsync(s->dev, &s->host, sizeof s->host, cudaMemcpyHostToDevice, stream));
    CU_TRY(cudaStreamSynchronize(stream));
out:
    return rc;
}

static void close_rig(struct views_rig **rig)
{
    struct views_rig *r = *rig;
    if (!r)
        return;
    for (int i = 0; i < r->n; i++) {
        (void)cudaFree(r->s[i].arena);
        (void)cudaFree(r->s[i].terms);
        (void)cudaFree(r->s[i].dev);
        (void)cudaFree(r->s[i].rgb);
        (void)cudaFree(r->s[i].level);
        (void)cudaFree(r->s[i].depth);
        free(r->s[i].copy);
    }
    (void)cudaFree(r->jobs);
    if (r->stream)
        (void)cudaStreamDestroy(r->stream);
    free(r);
    *rig = NULL;
}

static int open_rig(struct views_rig **out, const int *w, const int *h, int n, struct err *err)
{
    struct views_rig *r = NULL;
    int rc = 0, devices = 0;
    cudaError_t e = cudaGetDeviceCount(&devices);

    *out = NULL;
    if (e != cudaSuccess || devices == 0)
        return err_set(err, ERR_UNSUPPORTED, "no CUDA device: %s", cudaGetErrorString(e));
    r = (struct views_rig *)calloc(1, sizeof *r);
    if (!r)
        return err_set(err, ERR_MEMORY, "no memory");
    r->n = n;
    CU_TRY(cudaStreamCreateWithFlags(&r->stream, cudaStreamNonBlocking));
    CU_TRY(cudaMalloc(&r->jobs, (size_t)n * sizeof *r->jobs));
    for (int i = 0; i < n && rc == 0; i++)
        rc = open_session(&r->s[i], w[i], h[i], r->stream, err);
out:
    if (rc)
        close_rig(&r);
    *out = r;
    return rc;
}

/* The frame goes up, and its job says where it lies. */
static int upload(struct rig_session *s, struct views_job *job, const struct views_frame *f,
                  cudaStream_t stream, struct err *err)
{
    size_t n = s->host.n_pixels;
    int rc = 0;
    memset(job, 0, sizeof *job);
    if (!f->rgb)
        return 0;
    CU_TRY(cudaMemcpyAsync(s->rgb, f->rgb, 3 * n, cudaMemcpyHostToDevice, stream));
    CU_TRY(
        cudaMemcpyAsync(s->depth, f->depth, n * sizeof *f->depth, cudaMemcpyHostToDevice, stream));
    CU_TRY(
        cudaMemcpyAsync(s->level, f->level, n * sizeof *f->level, cudaMemcpyHostToDevice, stream));
    job->v = s->dev;
    job->frame = *f;
    job->frame.rgb = s->rgb;
    job->frame.level = s->level;
    job->frame.depth = s->depth;
out:
    return rc;
}

static int run(struct views_rig *r, const struct views_frame *f, struct err *err)
{
    struct views_job jobs[VIEWS_RIG_MAX];
    struct views_batch b = {r->jobs, sizeof *r->jobs, r->n, 0, 0, 0, 1, r->stream};
    int rc = 0;
    for (int i = 0; i < r->n && rc == 0; i++) {
        const struct views *v = &r->s[i].host;
        rc = upload(&r->s[i], &jobs[i], &f[i], r->stream, err);
        b.pixels_max = v->n_pixels > b.pixels_max ? v->n_pixels : b.pixels_max;
        b.w_max = v->w > b.w_max ? v->w : b.w_max;
        b.h_max = v->h > b.h_max ? v->h : b.h_max;
    }
    if (rc)
        goto out;
    CU_TRY(cudaMemcpyAsync(r->jobs, jobs, (size_t)r->n * sizeof *jobs, cudaMemcpyHostToDevice,
                           r->stream));
    rc = views_cuda_run(&b, err);
    if (rc == 0)
        CU_TRY(cudaStreamSynchronize(r->stream));
out:
    return rc;
}

static int read_session(struct views_rig *r, int i, struct views *v, struct err *err)
{
    struct rig_session *s = &r->s[i];
    struct views dev;
    int rc = 0;
    CU_TRY(cudaMemcpyAsync(&dev, s->dev, sizeof dev, cudaMemcpyDeviceToHost, r->stream));
    CU_TRY(cudaMemcpyAsync(s->copy, s->arena, s->bytes, cudaMemcpyDeviceToHost, r->stream));
    CU_TRY(cudaStreamSynchronize(r->stream));
    (void)views_lay_out(v, s->copy, s->host.w, s->host.h);
    v->frame = dev.frame;
    v->n_places = dev.n_places;
    memcpy(v->strand, dev.strand, sizeof v->strand);
    memcpy(v->length, dev.length, sizeof v->length);
    for (int t = 0; t < VIEWS_TARGETS; t++)
        v->target[t].n_share = dev.target[t].n_share;
    v->plan = dev.plan;
    memcpy(v->anchor, dev.anchor, sizeof v->anchor);
    v->told = dev.told;
    memcpy(v->kept, dev.kept, sizeof v->kept);
    memcpy(v->scales, dev.scales, sizeof v->scales);
out:
    return rc;
}

static const struct views_rig_api api = {open_rig, close_rig, run, read_session};
extern "C" const struct views_rig_api *views_rig_cuda = &api;
