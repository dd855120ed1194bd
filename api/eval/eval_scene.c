#include "api/eval/eval_scene.h"

#include "api/eval/eval_depth.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#define FIRST_CELLS 4096u
#define NO_CELL UINT32_MAX

struct cell {
    uint64_t key;
    float mean[3];
    uint32_t n, frames, last; /* points; frames; the last of them */
};

/* Cells stand in the order in which they came; an open hash table of at least twice as many indices
 * finds them. */
struct eval_scene {
    double cell_m;
    struct cell *cell;
    uint32_t *table;
    uint32_t n, cap, mask, frame;
};

static int has_depth(double d, double max_m)
{
    return d > 0 && d <= max_m;
}

static struct vec3 point(const struct intrinsics *K, int x, int y, float d)
{
    return vec3_make(d * ((float)x - K->cx) / K->fx, d * ((float)y - K->cy) / K->fy, d);
}

static void put(float *xyz, size_t n, struct vec3 p)
{
    xyz[3 * n] = p.x;
    xyz[3 * n + 1] = p.y;
    xyz[3 * n + 2] = p.z;
}

size_t eval_scene_points(float *xyz, const struct eval_scene_view *v)
{
    size_t n = 0;

    for (int y = 0; y < v->h; y++)
        for (int x = 0; x < v->w; x++) {
            double d = (double)v->depth[(size_t)y * (size_t)v->w + (size_t)x] * v->scale;

            if (has_depth(d, v->max_m))
                put(xyz, n++, point(&v->K, x, y, (float)d));
        }
    return n;
}

size_t eval_scene_points_at(float *xyz, const struct eval_scene_view *v, const float *mask, int mw,
                            int mh, struct intrinsics K)
{
    float sx = (float)v->w / (float)mw, sy = (float)v->h / (float)mh;
    size_t n = 0;

    for (int y = 0; y < mh; y++)
        for (int x = 0; x < mw; x++) {
            double d;

            if (!has_depth((double)mask[(size_t)y * (size_t)mw + (size_t)x], v->max_m))
                continue;
            d = v->scale * (double)eval_depth_sample(v->depth, v->w, v->h,
                                                     ((float)x + 0.5f) * sx - 0.5f,
                                                     ((float)y + 0.5f) * sy - 0.5f);
            if (has_depth(d, v->max_m))
                put(xyz, n++, point(&K, x, y, (float)d));
        }
    return n;
}

/* ------------------------------------------------------------------------- the grid */

void eval_scene_free(struct eval_scene **s)
{
    if (*s) {
        free((*s)->cell);
        free((*s)->table);
    }
    free(*s);
    *s = NULL;
}

static uint32_t place(const struct eval_scene *s, uint64_t key)
{
    uint64_t v = (key ^ key >> 31) * 0x9e3779b97f4a7c15u;
    uint32_t at = (uint32_t)(v >> 32) & s->mask;

    while (s->table[at] != NO_CELL && s->cell[s->table[at]].key != key)
        at = (at + 1) & s->mask;
    return at;
}

/* Makes room for the first cells, later for twice as many. */
static int grow(struct eval_scene *s, struct err *err)
{
    uint32_t cap = s->cap ? 2 * s->cap : FIRST_CELLS;
    struct cell *cell;
    uint32_t *table;

    if (s->cap >= EVAL_SCENE_CELLS_MAX)
        return err_set(err, ERR_LIMIT, "more than %u cubes of %g m", EVAL_SCENE_CELLS_MAX,
                       s->cell_m);
    cell = realloc(s->cell, (size_t)cap * sizeof *cell);
    if (cell)
        s->cell = cell;
    table = malloc(2 * (size_t)cap * sizeof *table);
    if (!cell || !table) {
        free(table);
        return err_set(err, ERR_MEMORY, "no memory for %u cubes", cap);
    }
    free(s->table);
    s->table = table;
    s->cap = cap;
    s->mask = 2 * cap - 1;
    for (uint32_t i = 0; i <= s->mask; i++)
        s->table[i] = NO_CELL;
    for (uint32_t i = 0; i < s->n; i++)
        s->table[place(s, s->cell[i].key)] = i;
    return 0;
}

int eval_scene_new(struct eval_scene **out, double cell_m, struct err *err)
{
    struct eval_scene *s;
    int rc;

    *out = NULL;
    if (!(cell_m > 0) || !isfinite(cell_m))
        return err_set(err, ERR_INPUT, "a cube of %g m is none", cell_m);
    s = calloc(1, sizeof *s);
    if (!s)
        return err_set(err, ERR_MEMORY, "no memory for a grid");
    s->cell_m = cell_m;
    *out = s;
    rc = grow(s, err);
    if (rc)
        eval_scene_free(out);
    return rc;
}

/* Returns 0 where the point lies too far away to have a cube. */
static int key_of(const struct eval_scene *s, uint64_t *key, struct vec3 p)
{
    const double at[3] = {(double)p.x, (double)p.y, (double)p.z};

    *key = 0;
    for (int k = 0; k < 3; k++) {
        double c = floor(at[k] / s->cell_m);

        if (!(c >= -EVAL_SCENE_SIDE_CELLS && c < EVAL_SCENE_SIDE_CELLS))
            return 0;
        *key = *key << 21 | (uint64_t)(int64_t)(c + EVAL_SCENE_SIDE_CELLS);
    }
    return 1;
}

static int add_point(struct eval_scene *s, struct vec3 p, struct err *err)
{
    const float at[3] = {p.x, p.y, p.z};
    struct cell *c;
    uint32_t i;
    uint64_t key;
    int rc;

    if (!key_of(s, &key, p))
        return 0;
    i = place(s, key);
    if (s->table[i] == NO_CELL) {
        if (s->n == s->cap) {
            rc = grow(s, err);
            if (rc)
                return rc;
            i = place(s, key);
        }
        s->table[i] = s->n;
        s->cell[s->n++] = (struct cell){.key = key};
    }
    c = &s->cell[s->table[i]];
    c->n++;
    for (int k = 0; k < 3; k++)
        c->mean[k] += (at[k] - c->mean[k]) / (float)c->n;
    if (c->last != s->frame) {
        c->last = s->frame;
        c->frames++;
    }
    return 0;
}

int eval_scene_add(struct eval_scene *s, const struct eval_scene_view *v, const struct rigid *T_wc,
                   struct err *err)
{
    int rc = 0;

    s->frame++; /* 1 is the first: a new cell's `last` is 0 */
    for (int y = 0; y < v->h && rc == 0; y++)
        for (int x = 0; x < v->w && rc == 0; x++) {
            double d = (double)v->depth[(size_t)y * (size_t)v->w + (size_t)x] * v->scale;

            if (has_depth(d, v->max_m))
                rc = add_point(s, rigid_apply(T_wc, point(&v->K, x, y, (float)d)), err);
        }
    return rc;
}

int eval_scene_cloud(const struct eval_scene *s, int least_frames, float **xyz, size_t *n,
                     struct err *err)
{
    *n = 0;
    *xyz = malloc((s->n ? (size_t)s->n : 1) * 3 * sizeof **xyz);
    if (!*xyz)
        return err_set(err, ERR_MEMORY, "no memory for %u points", s->n);
    for (uint32_t i = 0; i < s->n; i++)
        if (s->cell[i].frames >= (uint32_t)(least_frames > 1 ? least_frames : 1))
            put(*xyz, (*n)++,
                vec3_make(s->cell[i].mean[0], s->cell[i].mean[1], s->cell[i].mean[2]));
    return 0;
}
