#include "gpu/mono/session_cpu.h"

#include "gpu/mono/associate_point.h"

#include <stdlib.h>
#include <sys/mman.h>

#define ALIGN 64

/* Hands out pieces of one mapping; with base NULL it only adds up. */
struct arena {
    uint8_t *base;
    size_t used;
};

static void *take(struct arena *a, size_t n, size_t size)
{
    size_t at = a->used;
    a->used += (n * size + ALIGN - 1) / ALIGN * ALIGN;
    return a->base ? a->base + at : NULL;
}

static void lay_out_frame(struct session_cpu *s, struct arena *a,
                          const struct gpu_session_config *c)
{
    size_t n = (size_t)c->net_w * c->net_h;
    s->row = take(a, (size_t)c->max_image_w * 3, sizeof *s->row);
    s->rgb = take(a, n * 3, sizeof *s->rgb);
    s->planes = take(a, n * 3, sizeof *s->planes);
    s->pair = take(a, c->motion ? n * SESSION_CPU_PAIR_MAX : 0, sizeof *s->pair);
    s->depth = take(a, n, sizeof *s->depth);
    s->usable = take(a, n, sizeof *s->usable);
    s->world = take(a, n, sizeof *s->world);
    s->found = take(a, n, sizeof *s->found);
    s->distance = take(a, n, sizeof *s->distance);
    s->through = take(a, n, sizeof *s->through);
    s->won = take(a, n, sizeof *s->won);
    s->fresh = take(a, n, sizeof *s->fresh);
    s->wins = take(a, n, sizeof *s->wins);
    s->carved = take(a, n, sizeof *s->carved);
    s->changes = take(a, 2 * n, sizeof *s->changes);
    s->cell_claims = take(a, n * (size_t)c->fuse.n_covisible, sizeof *s->cell_claims);
    s->bins = take(a, ASSOCIATE_BINS, sizeof *s->bins);
}

static void lay_out_model(struct session_cpu *s, struct arena *a,
                          const struct gpu_session_config *c)
{
    size_t n = (size_t)c->net_w * c->net_h, k = (size_t)c->fuse.max_keyframes, m = c->max_points;
    s->overlap_now = take(a, k, sizeof *s->overlap_now);
    s->keyframes = take(a, k, sizeof *s->keyframes);
    s->overlaps = take(a, k * k, sizeof *s->overlaps);
    s->maps = take(a, k * n, sizeof *s->maps);
    s->place = take(a, m, sizeof *s->place);
    s->stat = take(a, m, sizeof *s->stat);
    s->out = take(a, m, sizeof *s->out);
    s->id = take(a, m, sizeof *s->id);
    s->claims = take(a, m, sizeof *s->claims);
    s->unstable = take(a, m, sizeof *s->unstable);
    s->free_slots = take(a, m, sizeof *s->free_slots);
}

size_t session_cpu_bytes(const struct gpu_session_config *c)
{
    struct session_cpu s;
    struct arena a = {NULL, 0};
    lay_out_frame(&s, &a, c);
    lay_out_model(&s, &a, c);
    return a.used + sizeof s;
}

/* The ray maps of a motion network follow the two pictures; they change only with K
 * (motion_cpu.c). */
static int get_plans(struct session_cpu *s, const struct gpu_session_config *c, struct err *err)
{
    int rc = 0;
    if (c->depth)
        rc = plan_cpu_get(&s->depth_plan, (struct model_cpu *)c->depth, c->net_w, c->net_h, err);
    if (rc == 0 && c->motion)
        rc = plan_cpu_get(&s->motion_plan, (struct model_cpu *)c->motion, c->net_w, c->net_h, err);
    return rc;
}

int session_cpu_new(struct gpu_session **out, struct gpu *g, const struct gpu_session_config *c,
                    struct err *err)
{
    struct session_cpu *s = calloc(1, sizeof *s);
    struct arena a = {NULL, 0};
    int rc;

    *out = NULL;
    if (!s)
        return err_set(err, ERR_MEMORY, "no memory for a session");
    s->base.gpu = g;
    s->base.config = *c;
    s->w = c->net_w;
    s->h = c->net_h;
    s->n_pixels = (uint32_t)c->net_w * (uint32_t)c->net_h;
    s->next_id = 1;
    rc = get_plans(s, c, err);
    if (rc)
        goto fail;
    s->arena_bytes = session_cpu_bytes(c) - sizeof *s;
    a.base = mmap(NULL, s->arena_bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (a.base == MAP_FAILED) {
        s->arena_bytes = 0;
        rc = err_set(err, ERR_MEMORY, "no memory for a session of %zu bytes", session_cpu_bytes(c));
        goto fail;
    }
    lay_out_frame(s, &a, c);
    lay_out_model(s, &a, c);
    memset(s->cell_claims, 0xff,
           (size_t)s->n_pixels * (size_t)c->fuse.n_covisible * sizeof *s->cell_claims);
    ((struct gpu_cpu *)g)->used_bytes += s->arena_bytes + sizeof *s;
    *out = &s->base;
    return 0;
fail:
    session_cpu_free(&s->base);
    return rc;
}

void session_cpu_free(struct gpu_session *base)
{
    struct session_cpu *s = session_cpu_of(base);
    if (s->depth_plan)
        plan_cpu_put((struct model_cpu *)s->base.config.depth, s->depth_plan);
    if (s->motion_plan)
        plan_cpu_put((struct model_cpu *)s->base.config.motion, s->motion_plan);
    if (s->arena_bytes) {
        ((struct gpu_cpu *)s->base.gpu)->used_bytes -= s->arena_bytes + sizeof *s;
        munmap(s->row, s->arena_bytes); /* the first piece is where the mapping begins */
    }
    free(s);
}

void session_cpu_put_depth(struct gpu_session *base, const float *depth)
{
    struct session_cpu *s = session_cpu_of(base);
    memcpy(s->depth, depth, s->n_pixels * sizeof *depth);
}
