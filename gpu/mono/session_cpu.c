#include "gpu/mono/session_cpu.h"

#include "gpu/mono/associate_point.h"
#include "gpu/base/arena.h"

#include <stdlib.h>
#include <sys/mman.h>

#define ALIGN 64

static void lay_out_picture(struct session_cpu *s, struct arena *a,
                            const struct gpu_session_config *c)
{
    size_t n = (size_t)c->net_w * c->net_h;
    size_t side = (size_t)(c->max_image_w > c->max_image_h ? c->max_image_w : c->max_image_h);
    s->row = arena_take(a, side * 3, sizeof *s->row);
    s->rgb = arena_take(a, n * 3, sizeof *s->rgb);
    s->level = arena_take(a, n, sizeof *s->level);
    s->planes = arena_take(a, n * 3, sizeof *s->planes);
    s->pair = arena_take(a, c->motion ? n * SESSION_CPU_PAIR_MAX : 0, sizeof *s->pair);
    s->depth = arena_take(a, n, sizeof *s->depth);
    s->raw = arena_take(a, n, sizeof *s->raw);
}

static void lay_out_fusion(struct session_cpu *s, struct arena *a,
                           const struct gpu_session_config *c)
{
    size_t n = (size_t)c->net_w * c->net_h;
    if (c->depth_source != GPU_DEPTH_NETWORK) {
        s->sensor_claims = arena_take(a, n, sizeof *s->sensor_claims);
        s->trust = arena_take(a, n, sizeof *s->trust);
    }
    s->usable = arena_take(a, n, sizeof *s->usable);
    s->world = arena_take(a, n, sizeof *s->world);
    s->found = arena_take(a, n, sizeof *s->found);
    s->distance = arena_take(a, n, sizeof *s->distance);
    s->through = arena_take(a, n, sizeof *s->through);
    s->won = arena_take(a, n, sizeof *s->won);
    s->fresh = arena_take(a, n, sizeof *s->fresh);
    s->wins = arena_take(a, n, sizeof *s->wins);
    s->carved = arena_take(a, n, sizeof *s->carved);
    s->changes = arena_take(a, 2 * n, sizeof *s->changes);
    s->cell_claims =
        arena_take(a, c->fuse.cells ? 0 : n * (size_t)c->fuse.n_covisible, sizeof *s->cell_claims);
    s->entry = arena_take(a, c->fuse.cells ? n : 0, sizeof *s->entry);
    s->bins = arena_take(a, ASSOCIATE_BINS, sizeof *s->bins);
}

static void lay_out_model(struct session_cpu *s, struct arena *a,
                          const struct gpu_session_config *c)
{
    size_t n = (size_t)c->net_w * c->net_h, k = (size_t)c->fuse.max_keyframes, m = c->max_points;
    s->overlap_now = arena_take(a, k, sizeof *s->overlap_now);
    s->keyframes = arena_take(a, k, sizeof *s->keyframes);
    s->worlds = arena_take(a, k, sizeof *s->worlds);
    s->overlaps = arena_take(a, k * k, sizeof *s->overlaps);
    s->maps = arena_take(a, c->fuse.cells ? 0 : k * n, sizeof *s->maps);
    s->place = arena_take(a, m, sizeof *s->place);
    s->stat = arena_take(a, m, sizeof *s->stat);
    s->normal = arena_take(a, m, sizeof *s->normal);
    s->out = arena_take(a, m, sizeof *s->out);
    s->id = arena_take(a, m, sizeof *s->id);
    s->claims = arena_take(a, m, sizeof *s->claims);
    s->unstable = arena_take(a, m, sizeof *s->unstable);
    s->free_slots = arena_take(a, m, sizeof *s->free_slots);
    if (c->fuse.cells) {
        uint32_t size = cell_table_size(c->max_points, (uint32_t)n);
        s->key = arena_take(a, m, sizeof *s->key);
        s->table = arena_take(a, size, sizeof *s->table);
        s->table_mask = size - 1;
    }
}

/* The keyframes' maps come behind the record, and the sweep's buffers behind those. */
static void lay_out_views(struct session_cpu *s, struct arena *a,
                          const struct gpu_session_config *c)
{
    struct views v;
    uint8_t *maps, *band;
    s->views = arena_take(a, 1, sizeof *s->views);
    maps = arena_take(a, views_lay_out(&v, NULL, c->net_w, c->net_h), 1);
    band = arena_take(a, sweep_cpu_lay_out(&v, NULL), 1);
    if (a->base) {
        views_lay_out(s->views, maps, c->net_w, c->net_h);
        sweep_cpu_lay_out(s->views, band);
        gpu_session_params(&s->views->params, &views_params_stage, c);
    }
}

/* Both records, then the arrays that they point to. */
static void lay_out_path(struct session_cpu *s, struct arena *a, const struct gpu_session_config *c)
{
    struct track t;
    struct path p;
    uint8_t *tracks, *path;
    s->track = arena_take(a, 1, sizeof *s->track);
    s->path = arena_take(a, 1, sizeof *s->path);
    tracks = arena_take(a, track_lay_out(&t, NULL, c->net_w, c->net_h), 1);
    path = arena_take(a, path_lay_out(&p, NULL, t.n_slots), 1);
    if (a->base) {
        track_lay_out(s->track, tracks, c->net_w, c->net_h);
        path_lay_out(s->path, path, t.n_slots);
        gpu_session_params(&s->track->params, &track_params_stage, c);
        s->path->params = s->track->params;
    }
}

/* A line without a map has only the picture and its depth. Returns the bytes of all arrays. */
static size_t session_lay_out(struct session_cpu *s, uint8_t *base,
                              const struct gpu_session_config *c)
{
    struct arena a = {base, ALIGN, 0};

    lay_out_picture(s, &a, c);
    if (c->line->has_map) {
        lay_out_fusion(s, &a, c);
        lay_out_model(s, &a, c);
        if (c->views)
            lay_out_views(s, &a, c);
        if (c->tracks)
            lay_out_path(s, &a, c);
    }
    return a.used;
}

size_t session_cpu_bytes(const struct gpu_session_config *c)
{
    struct session_cpu s;

    return session_lay_out(&s, NULL, c) + sizeof s;
}

int session_cpu_new(struct gpu_session **out, struct gpu *g, const struct gpu_session_config *c,
                    struct err *err)
{
    struct session_cpu *s = calloc(1, sizeof *s);
    size_t bytes = session_cpu_bytes(c) - sizeof *s;
    uint8_t *base;

    *out = NULL;
    if (!s)
        return err_set(err, ERR_MEMORY, "no memory for a session");
    base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                -1, 0);
    if (base == MAP_FAILED) {
        free(s);
        return err_set(err, ERR_MEMORY, "no memory for a session of %zu bytes", bytes);
    }
    s->base.gpu = g;
    s->base.config = *c;
    s->w = c->net_w;
    s->h = c->net_h;
    s->n_pixels = (uint32_t)c->net_w * (uint32_t)c->net_h;
    s->next_id = 1;
    s->arena_bytes = session_lay_out(s, base, c);
    if (s->sensor_claims)
        memset(s->sensor_claims, 0xff, s->n_pixels * sizeof *s->sensor_claims);
    if (c->line->has_map && !c->fuse.cells)
        memset(s->cell_claims, 0xff,
               (size_t)s->n_pixels * (size_t)c->fuse.n_covisible * sizeof *s->cell_claims);
    g->used_bytes += s->arena_bytes + sizeof *s;
    *out = &s->base;
    return 0;
}

void session_cpu_free(struct gpu_session *base)
{
    struct session_cpu *s = session_cpu_of(base);

    base->gpu->used_bytes -= s->arena_bytes + sizeof *s;
    munmap(s->row, s->arena_bytes); /* the first array begins where the mapping does */
    free(s);
}

int session_cpu_put_depth(struct gpu_session *base, const float *depth, struct err *err)
{
    struct session_cpu *s = session_cpu_of(base);

    (void)err;
    memcpy(s->depth, depth, s->n_pixels * sizeof *depth);
    return 0;
}
