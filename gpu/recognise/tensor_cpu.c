#include "gpu/recognise/tensor_point.h"

#include <string.h>

#define ADD(sum, area) (*(sum) += (area))
TENSOR_CLIP_DEFINE(clip, ADD)

/* The partner of a pixel: the first one whose normal differs most; without one, the pixel
 * itself. */
static uint32_t find_partner(const struct surface *s, const struct tensor_params *p, uint32_t at)
{
    struct tensor_search q;
    float widest = TENSOR_BIN_COS_0;
    uint32_t found = at;

    if (at == UINT32_MAX || !tensor_search_open(&q, s, p, at))
        return at;
    for (uint32_t k = 0; k < q.side * q.side; k++) {
        float cosine = tensor_search_cosine(&q, s, k);
        if (cosine < widest) {
            widest = cosine;
            found = tensor_search_pixel(&q, s, k);
        }
    }
    return found;
}

/* (O8) The pair of a square of pixels: the first that the mesh joins among the pairs of `tries`
 * pixels, else the first pair. */
static uint64_t find_pair(const struct surface *s, const struct tensor_params *p, uint32_t cell)
{
    uint64_t apart = TENSOR_NO_PAIR;

    for (uint32_t i = 0; i < (uint32_t)p->tries; i++) {
        uint32_t at = tensor_lot(s, p, cell, i), to = find_partner(s, p, at);
        if (to == at)
            continue;
        if (tensor_joined(s, at, to))
            return (uint64_t)at << 32 | to;
        if (apart == TENSOR_NO_PAIR)
            apart = (uint64_t)at << 32 | TENSOR_APART | to;
    }
    return apart;
}

static void tensor_grow_lists(struct tensor_rows *grown, const struct tensor_grid *g,
                              const struct tensor *t)
{
    struct tensor_rows present = {{0}, {0}};
    int more = 1;

    for (int j = 0; j < TENSOR_WINDOW; j++) {
        uint64_t seed = tensor_seed(g, t, j);
        for (int i = 0; i < TENSOR_WINDOW; i++) {
            int mesh = tensor_present(g, i, j);
            present.near[j] |= (uint64_t)(mesh & SURFACE_NEAR ? 1 : 0) << i;
            present.far[j] |= (uint64_t)(mesh & SURFACE_FAR ? 1 : 0) << i;
        }
        grown->near[j] = present.near[j] & seed;
        grown->far[j] = present.far[j] & seed;
    }
    while (more) {
        more = 0;
        for (int j = 0; j < TENSOR_WINDOW; j++)
            more |= tensor_grow(grown, &present, j);
    }
}

void tensor_cpu_fill(struct tensor *t, const struct surface *s, const struct tensor_params *p)
{
    struct tensor_grid g = tensor_grid(t, s, p);
    struct tensor_rows grown;
    uint32_t sum[TENSOR_VOXELS] = {0};
    struct vec3 v[3];

    t->n = 0;
    memset(t->hidden, 0, sizeof t->hidden);
    tensor_grow_lists(&grown, &g, t);
    for (int j = 0; j < TENSOR_WINDOW; j++)
        for (int i = 0; i < TENSOR_WINDOW; i++)
            for (int far = 0; far < 2; far++) {
                if (!((far ? grown.far[j] : grown.near[j]) >> i & 1))
                    continue;
                tensor_triangle(v, &g, g.x0 + i, g.y0 + j, far);
                clip(sum, v);
            }
    for (uint32_t i = 0; i < TENSOR_VOXELS; i++)
        if (tensor_value(sum[i]))
            t->entry[t->n++] = TENSOR_ENTRY(i, tensor_value(sum[i]));
        else
            t->hidden[i / 32] |= (uint32_t)tensor_hidden(&g, t, i) << i % 32;
    if (t->n < TENSOR_LEAST)
        t->n = 0;
}

/* Takes pairs that are apart, or others, until enough are taken. */
static void tensor_pick_pairs(const struct tensors *t, uint32_t cells, int apart, uint32_t want)
{
    uint32_t m = 0, at = 0, n = 0, *picked = t->picked + *t->n_tensors;

    for (uint32_t i = 0; i < cells; i++)
        m += (uint32_t)tensor_is(t->pair[i], apart);
    for (uint32_t i = 0; i < cells && n < want; i++)
        if (tensor_is(t->pair[i], apart) && tensor_pick(n, want, m) == at++)
            picked[n++] = i;
    *t->n_pairs += m;
    *t->n_tensors += n;
}

void tensor_cpu_run(const struct tensors *t, const struct tensor_params *p)
{
    const struct surface *s = t->surface;
    uint32_t cells = tensor_cells(p, s->w, s->h);

    for (uint32_t i = 0; i < cells; i++)
        t->pair[i] = find_pair(s, p, i);
    *t->n_pairs = *t->n_tensors = 0;
    tensor_pick_pairs(t, cells, 0, (uint32_t)p->n);
    tensor_pick_pairs(t, cells, 1, (uint32_t)p->n - *t->n_tensors);
    for (uint32_t i = 0; i < *t->n_tensors; i++) {
        tensor_basis(&t->tensor[i], s, t->pair[t->picked[i]]);
        tensor_cpu_fill(&t->tensor[i], s, p);
    }
}
