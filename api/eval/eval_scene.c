#include "api/eval/eval_scene.h"

#include "api/eval/eval_depth.h"
#include "api/eval/eval_grid.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

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

struct cell {
    float mean[3], rgb[3];
    uint32_t n, frames, last; /* points; frames; the last of them */
};

struct eval_scene {
    struct eval_grid grid;
    struct cell *cell; /* [grid.cap] */
    uint32_t frame;
};

void eval_scene_free(struct eval_scene **s)
{
    if (*s) {
        free((*s)->cell);
        eval_grid_free(&(*s)->grid);
    }
    free(*s);
    *s = NULL;
}

/* Gives the cells as much room as the grid has. */
static int fit(struct eval_scene *s, struct err *err)
{
    struct cell *cell = realloc(s->cell, (size_t)s->grid.cap * sizeof *cell);

    if (!cell)
        return err_set(err, ERR_MEMORY, "no memory for %u cubes", s->grid.cap);
    s->cell = cell;
    return 0;
}

int eval_scene_new(struct eval_scene **out, double cell_m, struct err *err)
{
    struct eval_scene *s = calloc(1, sizeof *s);
    int rc;

    *out = s;
    if (!s)
        return err_set(err, ERR_MEMORY, "no memory for a grid");
    rc = eval_grid_init(&s->grid, cell_m, EVAL_SCENE_CELLS_MAX, err);
    if (rc == 0)
        rc = fit(s, err);
    if (rc)
        eval_scene_free(out);
    return rc;
}

static int add_point(struct eval_scene *s, struct vec3 p, const uint8_t *rgb, struct err *err)
{
    const float v[3] = {p.x, p.y, p.z};
    uint32_t i, n = s->grid.n, cap = s->grid.cap;
    struct cell *c;
    int at[3], rc;

    if (!eval_grid_place(&s->grid, at, p))
        return 0;
    rc = eval_grid_take(&s->grid, &i, at, err);
    if (rc == 0 && s->grid.cap != cap)
        rc = fit(s, err);
    if (rc)
        return rc;
    c = &s->cell[i];
    if (i == n)
        *c = (struct cell){0};
    c->n++;
    for (int k = 0; k < 3; k++) {
        c->mean[k] += (v[k] - c->mean[k]) / (float)c->n;
        c->rgb[k] += ((rgb ? (float)rgb[k] : 128.0f) - c->rgb[k]) / (float)c->n;
    }
    if (c->last != s->frame) {
        c->last = s->frame;
        c->frames++;
    }
    return 0;
}

static const uint8_t *colour(const struct eval_scene_view *v, int x, int y)
{
    return v->rgb ? v->rgb + 3 * ((size_t)(y * v->rgb_h / v->h) * (size_t)v->rgb_w +
                                  (size_t)(x * v->rgb_w / v->w))
                  : NULL;
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
                rc = add_point(s, rigid_apply(T_wc, point(&v->K, x, y, (float)d)), colour(v, x, y),
                               err);
        }
    return rc;
}

int eval_scene_cloud(const struct eval_scene *s, int least_frames, int least_points, float **xyz,
                     uint8_t **rgb, size_t *n, struct err *err)
{
    size_t most = 3 * ((size_t)s->grid.n + 1);

    *n = 0;
    *xyz = malloc(most * sizeof **xyz);
    if (rgb)
        *rgb = malloc(most);
    if (!*xyz || (rgb && !*rgb))
        return err_set(err, ERR_MEMORY, "no memory for %u points", s->grid.n);
    for (uint32_t i = 0; i < s->grid.n; i++) {
        const struct cell *c = &s->cell[i];

        if ((int64_t)c->frames < least_frames || (int64_t)c->n < least_points)
            continue;
        put(*xyz, *n, vec3_make(c->mean[0], c->mean[1], c->mean[2]));
        for (size_t k = 0; rgb && k < 3; k++)
            (*rgb)[3 * *n + k] = (uint8_t)(c->rgb[k] + 0.5f);
        (*n)++;
    }
    return 0;
}
