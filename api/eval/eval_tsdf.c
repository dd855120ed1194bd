#include "api/eval/eval_tsdf.h"

#include "api/eval/eval_grid.h"

#include <math.h>
#include <stdlib.h>

#define SIDE 8 /* voxels of a block */
#define VOXELS (SIDE * SIDE * SIDE)
#define FRAMES_MAX UINT16_MAX /* of a voxel's count, not of its mean */

struct block {
    uint32_t last; /* the last frame that came near it */
    float d[VOXELS];
    uint16_t frames[VOXELS];
};

struct eval_tsdf {
    struct eval_grid grid; /* of blocks */
    struct block **block;  /* [grid.cap], of which grid.n are there */
    uint32_t *near;        /* [grid.cap] blocks of the current frame */
    uint32_t n_near, frame;
    double voxel_m, truncation_m;
};

void eval_tsdf_free(struct eval_tsdf **t)
{
    if (*t) {
        for (uint32_t i = 0; i < (*t)->grid.n && (*t)->block; i++)
            free((*t)->block[i]);
        free((*t)->block);
        free((*t)->near);
        eval_grid_free(&(*t)->grid);
    }
    free(*t);
    *t = NULL;
}

/* Gives the lists as much room as the grid has; cubes from `from` on have no block yet. */
static int fit(struct eval_tsdf *t, uint32_t from, struct err *err)
{
    size_t cap = t->grid.cap;
    struct block **block = realloc(t->block, cap * sizeof *block);
    uint32_t *near;

    if (block)
        t->block = block;
    near = realloc(t->near, cap * sizeof *near);
    if (near)
        t->near = near;
    if (!block || !near)
        return err_set(err, ERR_MEMORY, "no memory for %zu blocks", cap);
    for (size_t i = from; i < cap; i++)
        t->block[i] = NULL;
    return 0;
}

int eval_tsdf_new(struct eval_tsdf **out, double voxel_m, double truncation_m, struct err *err)
{
    struct eval_tsdf *t = calloc(1, sizeof *t);
    int rc;

    *out = t;
    if (!t)
        return err_set(err, ERR_MEMORY, "no memory for a grid");
    t->voxel_m = voxel_m;
    t->truncation_m = truncation_m;
    rc = truncation_m > 0 && isfinite(truncation_m)
             ? eval_grid_init(&t->grid, SIDE * voxel_m, EVAL_TSDF_BLOCKS_MAX, err)
             : err_set(err, ERR_INPUT, "a truncation of %g m is none", truncation_m);
    if (rc == 0)
        rc = fit(t, 0, err);
    if (rc)
        eval_tsdf_free(out);
    return rc;
}

/* The block around a point is one of the current frame's. */
static int take_block(struct eval_tsdf *t, struct vec3 p, struct err *err)
{
    uint32_t i, n = t->grid.n, cap = t->grid.cap;
    int at[3], rc;

    if (!eval_grid_place(&t->grid, at, p))
        return 0;
    rc = eval_grid_take(&t->grid, &i, at, err);
    if (rc == 0 && t->grid.cap != cap)
        rc = fit(t, n, err);
    if (rc)
        return rc;
    if (!t->block[i])
        t->block[i] = calloc(1, sizeof **t->block);
    if (!t->block[i])
        return err_set(err, ERR_MEMORY, "no memory for %u blocks", t->grid.n);
    if (t->block[i]->last != t->frame) {
        t->block[i]->last = t->frame;
        t->near[t->n_near++] = i;
    }
    return 0;
}

static struct vec3 centre(const struct eval_tsdf *t, const int at[3], int voxel)
{
    const int in[3] = {voxel % SIDE, voxel / SIDE % SIDE, voxel / (SIDE * SIDE)};
    double p[3];

    for (int k = 0; k < 3; k++)
        p[k] = (at[k] * SIDE + in[k] + 0.5) * t->voxel_m;
    return vec3_make((float)p[0], (float)p[1], (float)p[2]);
}

static void update_block(const struct eval_tsdf *t, uint32_t i, const struct eval_scene_view *v,
                         const struct rigid *T_cw)
{
    struct block *b = t->block[i];
    int at[3];

    eval_grid_where(&t->grid, at, i);
    for (int k = 0; k < VOXELS; k++) {
        struct vec3 p = rigid_apply(T_cw, centre(t, at, k));
        float x = floorf(v->K.fx * p.x / p.z + v->K.cx + 0.5f);
        float y = floorf(v->K.fy * p.y / p.z + v->K.cy + 0.5f);
        double d, away;

        if (!(p.z > 0 && x >= 0 && y >= 0 && x < (float)v->w && y < (float)v->h))
            continue;
        d = (double)v->depth[(size_t)y * (size_t)v->w + (size_t)x] * v->scale;
        away = d - (double)p.z;
        if (!(d > 0 && d <= v->max_m && away >= -t->truncation_m) || b->frames[k] == FRAMES_MAX)
            continue;
        b->frames[k]++;
        b->d[k] += ((float)fmin(away / t->truncation_m, 1) - b->d[k]) / (float)b->frames[k];
    }
}

/* Takes the blocks along one pixel's ray. */
static int take_ray(struct eval_tsdf *t, const struct eval_scene_view *v, const struct rigid *T_wc,
                    int x, int y, double d, struct err *err)
{
    double step = 0.5 * SIDE * t->voxel_m;
    int n = (int)ceil(2 * t->truncation_m / step), rc = 0;

    for (int i = 0; i <= n && rc == 0; i++) {
        float z = (float)(d + t->truncation_m * (2.0 * i / n - 1));
        struct vec3 p =
            vec3_make(z * ((float)x - v->K.cx) / v->K.fx, z * ((float)y - v->K.cy) / v->K.fy, z);

        if (z > 0)
            rc = take_block(t, rigid_apply(T_wc, p), err);
    }
    return rc;
}

int eval_tsdf_add(struct eval_tsdf *t, const struct eval_scene_view *v, const struct rigid *T_wc,
                  struct err *err)
{
    const struct rigid T_cw = rigid_inverse(T_wc);
    int rc = 0;

    t->frame++; /* 1 is the first: a new block's `last` is 0 */
    t->n_near = 0;
    for (int y = 0; y < v->h && rc == 0; y++)
        for (int x = 0; x < v->w && rc == 0; x++) {
            double d = (double)v->depth[(size_t)y * (size_t)v->w + (size_t)x] * v->scale;

            if (d > 0 && d <= v->max_m)
                rc = take_ray(t, v, T_wc, x, y, d, err);
        }
    for (uint32_t i = 0; i < t->n_near && rc == 0; i++)
        update_block(t, t->near[i], v, &T_cw);
    return rc;
}

/* The value of the voxel beside another along an axis; false: not enough frames saw it. */
static int beside(float *d, const struct eval_tsdf *t, const int block_at[3], int voxel, int axis,
                  int least)
{
    static const int stride[3] = {1, SIDE, SIDE * SIDE};
    int at[3] = {block_at[0], block_at[1], block_at[2]};
    int in = voxel / stride[axis] % SIDE;
    uint32_t i;

    if (in == SIDE - 1)
        at[axis]++;
    voxel += in == SIDE - 1 ? -in * stride[axis] : stride[axis];
    i = eval_grid_find(&t->grid, at);
    if (i == EVAL_GRID_NONE || t->block[i]->frames[voxel] < least)
        return 0;
    *d = t->block[i]->d[voxel];
    return 1;
}

/* Puts the surface's points between a block's voxels and their neighbours. */
static size_t block_points(float *xyz, const struct eval_tsdf *t, uint32_t i, int least)
{
    const struct block *b = t->block[i];
    size_t n = 0;
    int at[3];

    eval_grid_where(&t->grid, at, i);
    for (int k = 0; k < VOXELS; k++)
        for (int axis = 0; axis < 3 && b->frames[k] >= least; axis++) {
            struct vec3 p = centre(t, at, k);
            float v[3] = {p.x, p.y, p.z}, a = b->d[k], c;

            if (!beside(&c, t, at, k, axis, least) || (a >= 0) == (c >= 0) || fabsf(a) >= 1 ||
                fabsf(c) >= 1)
                continue;
            v[axis] += (float)t->voxel_m * a / (a - c);
            for (int j = 0; j < 3; j++)
                xyz[3 * n + (size_t)j] = v[j];
            n++;
        }
    return n;
}

int eval_tsdf_cloud(const struct eval_tsdf *t, int least_frames, float **xyz, size_t *n,
                    struct err *err)
{
    float points[3 * 3 * VOXELS];
    int least = least_frames > 1 ? least_frames : 1;
    size_t at = 0;

    *n = 0;
    for (uint32_t i = 0; i < t->grid.n; i++)
        *n += block_points(points, t, i, least);
    *xyz = malloc((*n ? *n : 1) * 3 * sizeof **xyz);
    if (!*xyz)
        return err_set(err, ERR_MEMORY, "no memory for %zu points", *n);
    for (uint32_t i = 0; i < t->grid.n; i++) {
        size_t now = block_points(points, t, i, least);

        for (size_t k = 0; k < 3 * now; k++)
            (*xyz)[3 * at + k] = points[k];
        at += now;
    }
    return 0;
}
