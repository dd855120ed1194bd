/*
 * session_cuda.cu - device and pinned memory of a session, allocated when it is made
 *
 * One piece of device memory is cut up as session_cpu.c cuts its mapping, but all of it is
 * allocated: a session of ten million points holds about a gigabyte from its first frame on.
 */
#include "gpu/mono/session_cuda.h"

#include "gpu/base/cuda_try.h"
#include "gpu/base/memory_cuda.h"
#include "gpu/mono/associate_point.h"
#include "gpu/mono/sensor_point.h"

#include <stdlib.h>

#define ALIGN 256

/* Hands out pieces of one allocation; with base NULL it only adds up their sizes. */
struct arena {
    uint8_t *base;
    size_t used;
};

template <class T> static void take(struct arena *a, T **piece, size_t n)
{
    a->used = (a->used + ALIGN - 1) / ALIGN * ALIGN + SESSION_CUDA_GUARD;
    *piece = a->base ? (T *)(a->base + a->used) : NULL;
    a->used += n * sizeof(T);
}

static void lay_out_picture(struct session_dev *s, struct arena *a,
                            const struct gpu_session_config *c)
{
    size_t n = (size_t)c->net_w * c->net_h;
    take(a, &s->picture, (size_t)c->max_image_w * c->max_image_h * 3);
    take(a, &s->rgb, n * 3);
    take(a, &s->level, n);
    take(a, &s->previous, c->motion ? n * 4 : 0);
    if (!c->motion)
        s->previous = NULL;
    take(a, &s->depth, n);
}

static void lay_out_fusion(struct session_dev *s, struct arena *a,
                           const struct gpu_session_config *c)
{
    size_t n = (size_t)c->net_w * c->net_h;
    take(a, &s->mask, n);
    if (c->depth_source != GPU_DEPTH_NETWORK) {
        take(a, &s->sensor_values, GPU_SENSOR_PIXELS);
        take(a, &s->sensor_sure, GPU_SENSOR_PIXELS);
        take(a, &s->sensor_claims, n);
        take(a, &s->sensor_bins, SENSOR_BINS);
        take(a, &s->trust, n);
    }
    take(a, &s->usable, n);
    take(a, &s->world, n);
    take(a, &s->found, n);
    take(a, &s->through, n);
    take(a, &s->distance, n);
    take(a, &s->bins, ASSOCIATE_BINS);
    take(a, &s->cell_claims, c->fuse.cells ? 0 : n * (size_t)c->fuse.n_covisible);
    take(a, &s->entry, c->fuse.cells ? n : 0);
    take(a, &s->wins, n);
    take(a, &s->mark, n);
    take(a, &s->counts, scan_blocks((uint32_t)n));
    take(a, &s->groups, scan_groups((uint32_t)n));
    take(a, &s->chunk_counts, SCAN_CHUNKS);
    take(a, &s->carved, n);
}

static void lay_out_model(struct session_dev *s, struct arena *a,
                          const struct gpu_session_config *c)
{
    size_t n = (size_t)c->net_w * c->net_h, k = (size_t)c->fuse.max_keyframes, m = c->max_points;
    take(a, &s->overlap_now, k);
    take(a, &s->keyframes, k);
    take(a, &s->worlds, k);
    take(a, &s->overlaps, k * k);
    take(a, &s->maps, c->fuse.cells ? 0 : k * n);
    take(a, &s->place, m);
    take(a, &s->stat, m);
    take(a, &s->normal, m);
    take(a, &s->out, m);
    take(a, &s->id, m);
    take(a, &s->claims, m);
    take(a, &s->unstable[0], m);
    take(a, &s->unstable[1], m);
    take(a, &s->free_slots, m);
    s->table = NULL;
    if (c->fuse.cells) {
        uint32_t size = cell_table_size(c->max_points, (uint32_t)n);
        take(a, &s->key, m);
        take(a, &s->table, size);
        s->table_mask = size - 1;
    }
}

static void lay_out_views(struct session_dev *s, struct arena *a, struct views *v,
                          const struct gpu_session_config *c)
{
    uint8_t *maps, *terms;
    take(a, &s->views, 1);
    take(a, &maps, views_lay_out(v, NULL, c->net_w, c->net_h));
    (void)views_lay_out(v, maps, c->net_w, c->net_h);
    gpu_session_params(&v->params, &views_params_stage, c);
    if (c->views != GPU_VIEWS_REFINED)
        return;
    take(a, &terms, refine_cuda_lay_out(v, NULL));
    (void)refine_cuda_lay_out(v, terms);
}

/* t, p: the records, with the device's pointers */
static void lay_out_path(struct session_dev *s, struct arena *a, struct track *t, struct path *p,
                         const struct gpu_session_config *c)
{
    uint8_t *tracks, *path;
    take(a, &s->track, 1);
    take(a, &s->path, 1);
    take(a, &tracks, track_lay_out(t, NULL, c->net_w, c->net_h));
    (void)track_lay_out(t, tracks, c->net_w, c->net_h);
    take(a, &path, path_lay_out(p, NULL, t->n_slots));
    (void)path_lay_out(p, path, t->n_slots);
    gpu_session_params(&t->params, &track_params_stage, c);
    p->params = t->params;
}

/* Sets the pieces of s and the place of its device copy; a line without a map has only the picture
 * and its depth. Returns the bytes of all pieces. */
static size_t session_lay_out(struct session_dev *s, struct session_dev **dev, struct views *v,
                              struct track *t, struct path *p, uint8_t *base,
                              const struct gpu_session_config *c)
{
    struct arena a = {base, 0};
    take(&a, dev, 1);
    lay_out_picture(s, &a, c);
    if (c->line->has_map) {
        lay_out_fusion(s, &a, c);
        lay_out_model(s, &a, c);
        if (c->views)
            lay_out_views(s, &a, v, c);
        if (c->tracks)
            lay_out_path(s, &a, t, p, c);
    }
    return a.used + SESSION_CUDA_GUARD;
}

size_t session_cuda_bytes(const struct gpu_session_config *c)
{
    struct session_dev s, *dev;
    struct views v;
    struct track t;
    struct path p;
    return session_lay_out(&s, &dev, &v, &t, &p, NULL, c);
}

static void set_constants(struct session_dev *s, const struct gpu_session_config *c)
{
    s->fuse = c->fuse;
    if (c->depth) {
        s->depth_scale = depth_scale_make(&c->depth->info, 1.0f);
        s->focal_px = c->depth->info.focal_px;
    }
    s->step_m = c->step_m;
    s->w = c->net_w;
    s->h = c->net_h;
    s->n_pixels = (uint32_t)c->net_w * (uint32_t)c->net_h;
    s->max_points = c->max_points;
    s->next_id = 1;
    s->sensor_fill = c->depth_source == GPU_DEPTH_BOTH;
}

static size_t aligned(size_t n)
{
    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

/* Result, changes and depth, written by the device where the host reads them. */
static int pin(struct session_cuda *s, struct err *err)
{
    size_t n = s->host.n_pixels, changes = aligned(sizeof *s->result);
    size_t n_changes = s->base.config.line->has_map ? 2 * n : 0;
    size_t depth = changes + aligned(n_changes * sizeof *s->changes);
    uint8_t *here;
    int rc;

    rc = memory_cuda_get(s->memory, MEMORY_CUDA_PINNED, &s->pinned,
                         depth + aligned(n * sizeof *s->depth_out), err);
    if (rc)
        return rc;
    here = (uint8_t *)s->pinned;
    s->result = (struct result_cuda *)here;
    memset(s->result, 0, sizeof *s->result); /* holds the counts of valid entries in the others */
    s->changes = (struct gpu_change *)(here + changes);
    s->depth_out = (float *)(here + depth);
    return 0;
}

/* Resets all claims and zeroes the rest. */
static int session_clear(struct session_cuda *s, const struct gpu_session_config *c,
                         cudaStream_t stream, struct err *err)
{
    size_t cells = c->fuse.cells ? 0 : (size_t)s->host.n_pixels * (size_t)c->fuse.n_covisible;
    int rc = 0;
    CU_TRY(cudaMemsetAsync(s->arena, 0, s->arena_bytes, stream));
    if (c->line->has_map) {
        CU_TRY(cudaMemsetAsync(s->host.cell_claims, 0xff, cells * sizeof *s->host.cell_claims,
                               stream));
        CU_TRY(
            cudaMemsetAsync(s->host.claims, 0xff, c->max_points * sizeof *s->host.claims, stream));
    }
    if (s->host.sensor_claims)
        CU_TRY(cudaMemsetAsync(s->host.sensor_claims, 0xff,
                               s->host.n_pixels * sizeof *s->host.sensor_claims, stream));
    if (c->views)
        CU_TRY(cudaMemcpyAsync(s->host.views, &s->views, sizeof s->views, cudaMemcpyHostToDevice,
                               stream));
    if (c->tracks) {
        CU_TRY(cudaMemcpyAsync(s->host.track, &s->track, sizeof s->track, cudaMemcpyHostToDevice,
                               stream));
        CU_TRY(cudaMemcpyAsync(s->host.path, &s->path, sizeof s->path, cudaMemcpyHostToDevice,
                               stream));
    }
    CU_TRY(cudaMemcpyAsync(s->dev, &s->host, sizeof s->host, cudaMemcpyHostToDevice, stream));
    CU_TRY(cudaStreamSynchronize(stream));
out:
    return rc;
}

int session_cuda_new(struct session_cuda **out, struct gpu *g, struct memory_cuda *memory,
                     const struct gpu_session_config *c, cudaStream_t stream, struct err *err)
{
    struct session_cuda *s = (struct session_cuda *)calloc(1, sizeof *s);
    int rc;

    *out = NULL;
    if (!s)
        return err_set(err, ERR_MEMORY, "no memory for a session");
    s->base.gpu = g;
    s->base.config = *c;
    s->memory = memory;
    set_constants(&s->host, c);
    s->arena_bytes = session_cuda_bytes(c);
    rc = memory_cuda_get(memory, MEMORY_CUDA_DEVICE, &s->arena, s->arena_bytes, err);
    if (rc == 0) {
        (void)session_lay_out(&s->host, &s->dev, &s->views, &s->track, &s->path,
                              (uint8_t *)s->arena, c);
        rc = pin(s, err);
    }
    if (rc == 0)
        rc = session_clear(s, c, stream, err);
    if (rc)
        session_cuda_free(&s);
    *out = s;
    return rc;
}

void session_cuda_free(struct session_cuda **session)
{
    struct session_cuda *s = *session;
    if (!s)
        return;
    *session = NULL;
    memory_cuda_put(s->memory, MEMORY_CUDA_PINNED, s->pinned);
    memory_cuda_put(s->memory, MEMORY_CUDA_DEVICE, s->arena);
    free(s);
}

int session_cuda_put_depth(struct session_cuda *s, const float *depth, cudaStream_t stream,
                           struct err *err)
{
    int rc = 0;
    CU_TRY(cudaMemcpyAsync(s->host.depth, depth, s->host.n_pixels * sizeof *depth,
                           cudaMemcpyHostToDevice, stream));
out:
    return rc;
}

int session_cuda_upload(const struct session_cuda *s, const struct gpu_frame *f,
                        cudaStream_t stream, struct err *err)
{
    const struct gpu_sensor *from = &f->sensor;
    size_t n = (size_t)f->width * (size_t)f->height;
    int rc = 0;
    CU_TRY(cudaMemcpyAsync(s->host.picture, f->rgb, 3 * n, cudaMemcpyHostToDevice, stream));
    if (f->mask && s->host.mask)
        CU_TRY(cudaMemcpyAsync(s->host.mask, f->mask, s->host.n_pixels, cudaMemcpyHostToDevice,
                               stream));
    if (!from->values || !s->host.sensor_values)
        goto out;
    n = (size_t)from->width * (size_t)from->height;
    CU_TRY(cudaMemcpyAsync(s->host.sensor_values, from->values, n * sizeof *from->values,
                           cudaMemcpyHostToDevice, stream));
    if (from->sure)
        CU_TRY(cudaMemcpyAsync(s->host.sensor_sure, from->sure, n, cudaMemcpyHostToDevice, stream));
out:
    return rc;
}
