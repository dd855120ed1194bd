/*
 * line_panorama.c - the line of pairs of pictures that see all around: each pair carves a volume of
 * voxels, and what changed in it is published
 */
#include "gpu/base/arena.h"
#include "gpu/panorama/panorama_cpu.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* MATH.md has the equations that the names in brackets stand for. */
static const struct gpu_stage stages[] = {
    {"pictures", carve_cpu_pictures, "the pair", "colours of both, where the cameras are"},
    {"range", range_cpu_run, "both on a cylinder",
     "how far away surfaces are, of consistency `patch`"}, /* (Y1)-(Y5) */
    /* visibility, voxels, occupancy, until occupancy settles (O1)-(O8) */
    {"carve", carve_cpu_run, "colours, voxels", "voxels"},
    {"blend", blend_cpu_run, "distances, voxels",
     "voxels, of consistency `patch`"}, /* (Y6), (Y7) */
    {"publish", carve_cpu_publish, "voxels, what clients hold",
     "changes in a fixed order"}, /* (O9) */
};

static size_t line_panorama_lay_out(struct panorama_cpu *s, uint8_t *base,
                                    const struct gpu_session_config *c)
{
    struct arena a = {.base = base, .align = 64};
    size_t pixels = (size_t)c->max_image_w * (size_t)c->max_image_h;

    s->voxels = arena_take(&a, panorama_voxels(c), sizeof *s->voxels);
    s->dirty = arena_take(&a, panorama_all_words(c), sizeof *s->dirty);
    s->told = arena_take(&a, panorama_all_words(c), sizeof *s->told);
    s->occupied = arena_take(&a, panorama_columns(c), sizeof *s->occupied);
    s->before = arena_take(&a, panorama_columns(c), sizeof *s->before);
    s->now = arena_take(&a, panorama_columns(c), sizeof *s->now);
    for (int e = 0; e < 2; e++)
        s->rgb[e] = arena_take(&a, pixels, sizeof *s->rgb[e]);
    s->changes = arena_take(&a, c->max_points, sizeof *s->changes);
    if (c->consistency == GPU_CONSISTENCY_PATCH) {
        struct voxel_cylinder y;
        size_t n, labels;

        panorama_cylinder_size(&y, c);
        n = range_pixels(&y);
        labels = n * (size_t)y.stride;
        s->field = arena_take(&a, panorama_voxels(c), sizeof *s->field);
        for (int e = 0; e < 2; e++)
            s->look[e] = arena_take(&a, n, sizeof *s->look[e]);
        s->costs = arena_take(&a, labels, sizeof *s->costs);
        s->sums = arena_take(&a, labels, sizeof *s->sums);
        s->at4 = arena_take(&a, n, sizeof *s->at4);
        s->front = arena_take(&a, n, sizeof *s->front);
        s->range = arena_take(&a, n, sizeof *s->range);
    }
    return a.used;
}

static size_t session_bytes(const struct gpu_session_config *c)
{
    struct panorama_cpu s;

    return line_panorama_lay_out(&s, NULL, c);
}

static void session_free(struct gpu_session *base)
{
    struct panorama_cpu *s = panorama_cpu_of(base);

    if (s->voxels) {
        (void)munmap(s->voxels, s->arena_bytes);
        s->base.gpu->used_bytes -= s->arena_bytes;
    }
    free(s);
}

/* Pages that no voxel has touched cost no memory. */
static int session_make(struct gpu_session **out, struct gpu *g, const struct gpu_session_config *c,
                        struct err *err)
{
    struct panorama_cpu *s = calloc(1, sizeof *s);
    void *map;

    *out = NULL;
    if (!s)
        return err_set(err, ERR_MEMORY, "no memory for a session");
    s->base.gpu = g;
    s->base.config = *c;
    s->kept.at = 1;
    s->arena_bytes = session_bytes(c);
    map = mmap(NULL, s->arena_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) {
        free(s);
        return err_set(err, ERR_MEMORY, "no memory for a volume of %zu bytes", session_bytes(c));
    }
    (void)line_panorama_lay_out(s, map, c);
    g->used_bytes += s->arena_bytes;
    *out = &s->base;
    return 0;
}

static size_t state_bytes(struct gpu_session *s)
{
    return panorama_state_bytes(&s->config, &panorama_cpu_of(s)->kept);
}

static int line_panorama_save(struct gpu_session *base, uint8_t *buf, size_t cap, size_t *len,
                              struct err *err)
{
    struct panorama_cpu *s = panorama_cpu_of(base);
    const struct gpu_session_config *c = &base->config;
    struct panorama_body to;
    int rc = panorama_state_open(buf, cap, c, &s->kept, &to, len, err);

    if (rc)
        return rc;
    memcpy(to.voxels, s->voxels, 4 * panorama_voxels(c));
    memcpy(to.dirty, s->dirty, 4 * panorama_all_words(c));
    memcpy(to.told, s->told, 4 * panorama_all_words(c));
    if (to.field)
        memcpy(to.field, s->field, 4 * panorama_voxels(c));
    if (to.picture)
        memcpy(to.picture, s->rgb[s->kept.at], panorama_kept_bytes(&s->kept));
    return 0;
}

static int line_panorama_load(struct gpu_session *base, const uint8_t *buf, size_t len,
                              struct err *err)
{
    struct panorama_cpu *s = panorama_cpu_of(base);
    const struct gpu_session_config *c = &base->config;
    struct panorama_bytes from;
    int rc = panorama_state_find(buf, len, c, &s->kept, &from, err);

    if (rc)
        return rc;
    memcpy(s->voxels, from.voxels, 4 * panorama_voxels(c));
    memcpy(s->dirty, from.dirty, 4 * panorama_all_words(c));
    memcpy(s->told, from.told, 4 * panorama_all_words(c));
    if (from.field)
        memcpy(s->field, from.field, 4 * panorama_voxels(c));
    if (from.picture)
        memcpy(s->rgb[s->kept.at], from.picture, panorama_kept_bytes(&s->kept));
    carve_cpu_occupy(s);
    s->n_opaque = carve_cpu_count(s);
    return 0;
}

static const struct gpu_session_ops session = {
    .bytes = session_bytes,
    .make = session_make,
    .free = session_free,
    .reads = panorama_state_reads,
    .state_bytes = state_bytes,
    .save = line_panorama_save,
    .load = line_panorama_load,
};

const struct gpu_line gpu_line_panorama = {
    .name = "panorama",
    .stages = stages,
    .n_stages = sizeof stages / sizeof *stages,
    .weight = 1.0f,
    .has_map = 1,
    .check_config = panorama_check_config,
    .check = panorama_check,
    .cpu = &session,
};
