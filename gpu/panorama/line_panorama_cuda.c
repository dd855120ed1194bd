/* line_panorama_cuda.c - the line of pairs of pictures on CUDA: its passes, its sessions, and the
 * host's work for a pair */
#include "gpu/base/cuda_try.h"
#include "gpu/base/graph_cuda.h"
#include "gpu/base/wait_cuda.h"
#include "gpu/panorama/panorama_cuda.h"

#include <stdlib.h>
#include <string.h>

#define ALIGN 256

static pass_cuda_fn *const passes[PANORAMA_CUDA_PASSES] = {pictures_cuda, range_cuda, carve_cuda,
                                                           blend_cuda, publish_cuda};
static const char *const names[PANORAMA_CUDA_PASSES] = {"pictures", "range", "carve", "blend",
                                                        "publish"};

/* ------------------------------------------------------------------------- sessions */

static void *line_panorama_take(uint8_t *base, size_t *used, size_t bytes)
{
    size_t at = *used;

    *used += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    return base ? base + at : NULL;
}

/* The additional arrays of consistency `patch`. */
static void lay_out_patch(struct panorama_dev *s, uint8_t *base, size_t *used,
                          const struct gpu_session_config *c)
{
    struct voxel_cylinder y;
    size_t n, labels;

    panorama_cylinder_size(&y, c);
    n = range_pixels(&y);
    labels = n * (size_t)y.stride;
    s->field = line_panorama_take(base, used, 4 * panorama_voxels(c));
    for (int e = 0; e < 2; e++)
        s->look[e] = line_panorama_take(base, used, n * sizeof *s->look[e]);
    s->costs = line_panorama_take(base, used, labels * sizeof *s->costs);
    s->sums = line_panorama_take(base, used, labels * sizeof *s->sums);
    s->at4 = line_panorama_take(base, used, n * sizeof *s->at4);
    s->front = line_panorama_take(base, used, n * sizeof *s->front);
    s->range = line_panorama_take(base, used, n * sizeof *s->range);
}

/* Sets the pieces of s; returns the bytes of all. Voxels come first, then the other pieces that
 * begin as zeros. */
static size_t line_panorama_lay_out(struct panorama_dev *s, uint8_t *base,
                                    const struct gpu_session_config *c)
{
    size_t pixels = (size_t)c->max_image_w * (size_t)c->max_image_h, used = 0;

    s->voxels = line_panorama_take(base, &used, 4 * panorama_voxels(c));
    s->dirty = line_panorama_take(base, &used, 4 * panorama_all_words(c));
    s->told = line_panorama_take(base, &used, 4 * panorama_all_words(c));
    s->opaque = line_panorama_take(base, &used, 4 * panorama_all_words(c));
    s->occupied = line_panorama_take(base, &used, panorama_columns(c));
    for (int i = 0; i < 2; i++) {
        s->visible[i] =
            line_panorama_take(base, &used, panorama_columns(c) * sizeof *s->visible[i]);
        s->picture[i] =
            i == 0 || c->baseline_m == 0.0f ? line_panorama_take(base, &used, 3 * pixels) : NULL;
        s->rgb[i] = line_panorama_take(base, &used, 4 * pixels);
    }
    s->needed = line_panorama_take(base, &used, (GPU_VOXELS_ITERATIONS + 1) * sizeof *s->needed);
    s->n_opaque = line_panorama_take(base, &used, sizeof *s->n_opaque);
    s->counts = line_panorama_take(base, &used, PANORAMA_CUDA_BLOCKS * sizeof *s->counts);
    s->stamp_ns = line_panorama_take(base, &used, PANORAMA_CUDA_PASSES * sizeof *s->stamp_ns);
    if (c->consistency == GPU_CONSISTENCY_PATCH)
        lay_out_patch(s, base, &used, c);
    return used;
}

static size_t session_bytes(const struct gpu_session_config *c)
{
    struct panorama_dev s;

    return line_panorama_lay_out(&s, NULL, c);
}

static void free_session(struct gpu_session *base)
{
    struct panorama_cuda *s = (struct panorama_cuda *)base;
    struct gpu_cuda *g = gpu_cuda_of(base->gpu);

    memory_cuda_put(g->memory, MEMORY_CUDA_PINNED, s->pinned);
    memory_cuda_put(g->memory, MEMORY_CUDA_DEVICE, s->arena);
    free(s);
}

static int line_panorama_make(struct gpu_session **out, struct gpu *base,
                              const struct gpu_session_config *c, struct err *err)
{
    struct gpu_cuda *g = gpu_cuda_of(base);
    struct panorama_cuda *s = calloc(1, sizeof *s);
    int rc;

    *out = NULL;
    if (!s)
        return err_set(err, ERR_MEMORY, "no memory for a session");
    s->base.gpu = base;
    s->base.config = *c;
    s->kept.at = 1;
    s->arena_bytes = session_bytes(c);
    CU_TRY(cudaSetDevice(g->device));
    rc = memory_cuda_get(g->memory, MEMORY_CUDA_DEVICE, &s->arena, s->arena_bytes, err);
    if (rc == 0)
        rc = memory_cuda_get(g->memory, MEMORY_CUDA_PINNED, &s->pinned,
                             ALIGN + (size_t)c->max_points * sizeof *s->changes, err);
    if (rc)
        goto out;
    (void)line_panorama_lay_out(&s->dev, s->arena, c);
    s->result = s->pinned;
    s->changes = (struct gpu_voxel_change *)((uint8_t *)s->pinned + ALIGN);
    memset(s->result, 0, sizeof *s->result);
    CU_TRY(cudaMemsetAsync(s->arena, 0, s->arena_bytes, g->setup));
    CU_TRY(cudaStreamSynchronize(g->setup));
    *out = &s->base;
out:
    if (rc)
        free_session(&s->base);
    return rc;
}

static size_t state_bytes(struct gpu_session *base)
{
    const struct panorama_cuda *s = (const struct panorama_cuda *)base;

    return wait_cuda_lost(gpu_cuda_of(base->gpu)->wait, NULL)
               ? 0
               : panorama_state_bytes(&base->config, &s->kept);
}

static int line_panorama_copy(void *to, const void *from, size_t n, enum cudaMemcpyKind kind,
                              cudaStream_t stream, struct err *err)
{
    int rc;

    CU_TRY(cudaMemcpyAsync(to, from, n, kind, stream));
out:
    return rc;
}

static int line_panorama_save(struct gpu_session *base, uint8_t *buf, size_t cap, size_t *len,
                              struct err *err)
{
    const struct panorama_cuda *s = (const struct panorama_cuda *)base;
    const struct gpu_session_config *c = &base->config;
    struct gpu_cuda *g = gpu_cuda_of(base->gpu);
    struct panorama_body to;
    int rc = wait_cuda_lost(g->wait, err);

    if (rc == 0)
        rc = panorama_state_open(buf, cap, c, &s->kept, &to, len, err);
    if (rc == 0)
        rc = line_panorama_copy(to.voxels, s->dev.voxels, 4 * panorama_voxels(c),
                                cudaMemcpyDeviceToHost, g->copy, err);
    if (rc == 0)
        rc = line_panorama_copy(to.dirty, s->dev.dirty, 4 * panorama_all_words(c),
                                cudaMemcpyDeviceToHost, g->copy, err);
    if (rc == 0)
        rc = line_panorama_copy(to.told, s->dev.told, 4 * panorama_all_words(c),
                                cudaMemcpyDeviceToHost, g->copy, err);
    if (rc == 0 && to.field)
        rc = line_panorama_copy(to.field, s->dev.field, 4 * panorama_voxels(c),
                                cudaMemcpyDeviceToHost, g->copy, err);
    if (rc == 0 && to.picture)
        rc = line_panorama_copy(to.picture, s->dev.rgb[s->kept.at], panorama_kept_bytes(&s->kept),
                                cudaMemcpyDeviceToHost, g->copy, err);
    if (rc)
        return rc;
    CU_TRY(cudaStreamSynchronize(g->copy));
out:
    return rc;
}

static int line_panorama_load(struct gpu_session *base, const uint8_t *buf, size_t len,
                              struct err *err)
{
    struct panorama_cuda *s = (struct panorama_cuda *)base;
    const struct gpu_session_config *c = &base->config;
    struct gpu_cuda *g = gpu_cuda_of(base->gpu);
    struct panorama_bytes from;
    int rc = panorama_state_find(buf, len, c, &s->kept, &from, err);

    if (rc)
        return rc;
    CU_TRY(cudaSetDevice(g->device));
    rc = line_panorama_copy(s->dev.voxels, from.voxels, 4 * panorama_voxels(c),
                            cudaMemcpyHostToDevice, g->setup, err);
    if (rc == 0)
        rc = line_panorama_copy(s->dev.dirty, from.dirty, 4 * panorama_all_words(c),
                                cudaMemcpyHostToDevice, g->setup, err);
    if (rc == 0)
        rc = line_panorama_copy(s->dev.told, from.told, 4 * panorama_all_words(c),
                                cudaMemcpyHostToDevice, g->setup, err);
    if (rc == 0 && from.field)
        rc = line_panorama_copy(s->dev.field, from.field, 4 * panorama_voxels(c),
                                cudaMemcpyHostToDevice, g->setup, err);
    if (rc == 0 && from.picture)
        rc = line_panorama_copy(s->dev.rgb[s->kept.at], from.picture, panorama_kept_bytes(&s->kept),
                                cudaMemcpyHostToDevice, g->setup, err);
    if (rc == 0)
        rc = carve_cuda_occupy(&s->dev, &c->volume, g->setup, err);
    if (rc == 0)
        CU_TRY(cudaStreamSynchronize(g->setup));
out:
    return rc;
}

static const struct gpu_session_ops session = {
    .bytes = session_bytes,
    .make = line_panorama_make,
    .free = free_session,
    .state_bytes = state_bytes,
    .save = line_panorama_save,
    .load = line_panorama_load,
};

/* ------------------------------------------------------------------------- pairs */

static void line_panorama_describe(void *arg, const struct graph_cuda *graph, int at,
                                   const struct gpu_item *item)
{
    const struct panorama_cuda *s = (const struct panorama_cuda *)item->session;
    struct pair_cuda *a = arg;

    (void)graph;
    (void)at;
    a->on = 1;
    a->max_changes = s->base.config.max_points;
    panorama_view(&a->view, &s->kept, (const struct gpu_pair *)item);
    a->s = s->dev;
    for (int e = 0; e < 2; e++)
        a->view.eye[e].rgb = a->s.rgb[e] = s->dev.rgb[e ? s->kept.at : 1 - s->kept.at];
    a->changes = s->changes;
    a->result = s->result;
}

static int upload(struct gpu_item *item, cudaStream_t stream, struct err *err)
{
    const struct panorama_cuda *s = (const struct panorama_cuda *)item->session;
    struct gpu_pair *pair = (struct gpu_pair *)item;
    int rc = 0, n = panorama_pictures(&s->kept, pair);

    memset(&pair->result, 0, sizeof pair->result);
    pair->changes = NULL;
    for (int e = 0; e < n && rc == 0; e++)
        rc = line_panorama_copy(s->dev.picture[e], pair->eye[e].rgb,
                                3 * (size_t)pair->eye[e].width * (size_t)pair->eye[e].height,
                                cudaMemcpyHostToDevice, stream, err);
    return rc;
}

static float us_between(unsigned long long from_ns, unsigned long long to_ns)
{
    return to_ns > from_ns ? (float)(to_ns - from_ns) * 1e-3f : 0.0f;
}

static void take_pair(struct gpu_item *item)
{
    struct panorama_cuda *s = (struct panorama_cuda *)item->session;
    const unsigned long long *at = s->result->stamp_ns;
    struct gpu_pair *pair = (struct gpu_pair *)item;

    for (int i = 0; i < PANORAMA_CUDA_PASSES; i++)
        item->passes[i] = (struct gpu_pass_time){names[i], us_between(at[i], at[i + 1])};
    item->n_passes = PANORAMA_CUDA_PASSES;
    item->device_us = us_between(at[0], at[PANORAMA_CUDA_PASSES]);
    pair->result = s->result->result;
    pair->changes = s->changes;
    panorama_keep(&s->kept, pair);
}

const struct line_cuda line_panorama_cuda = {
    .line = &gpu_line_panorama,
    .session = &session,
    .arg_bytes = sizeof(struct pair_cuda),
    .passes = passes,
    .n_passes = PANORAMA_CUDA_PASSES,
    .describe = line_panorama_describe,
    .upload = upload,
    .take = take_pair,
};
