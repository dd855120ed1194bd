#include "gpu/views/views.h"

#include "gpu/base/arena.h"

#include <string.h>

#define ALIGN 256

static void take_target(struct views_target *t, struct arena *a, size_t n)
{
    t->front = arena_take(a, n, sizeof *t->front);
    t->weight = arena_take(a, n, sizeof *t->weight);
    t->sum = arena_take(a, n, sizeof *t->sum);
    t->ratio = arena_take(a, n, sizeof *t->ratio);
    t->share = arena_take(a, n, sizeof *t->share);
    t->nodes = arena_take(a, VIEWS_NODES, sizeof *t->nodes);
    t->bins = arena_take(a, VIEWS_BINS, sizeof *t->bins);
    t->right = arena_take(a, VIEWS_NODES, sizeof *t->right);
    t->down = arena_take(a, VIEWS_NODES, sizeof *t->down);
    t->load = arena_take(a, VIEWS_NODES, sizeof *t->load);
    t->depth = arena_take(a, n, sizeof *t->depth);
    t->trust = arena_take(a, n, sizeof *t->trust);
}

size_t views_lay_out(struct views *v, uint8_t *base, int w, int h)
{
    struct arena a = {base, ALIGN, 0};
    size_t n = (size_t)w * (size_t)h;

    memset(v, 0, sizeof *v);
    params_fill(&v->params, &views_params_stage, NULL, NULL);
    v->w = w;
    v->h = h;
    v->n_pixels = (uint32_t)n;
    v->step = 8;
    while (((w + v->step - 1) / v->step + 1) * ((h + v->step - 1) / v->step + 1) > VIEWS_NODES)
        v->step++;
    v->nodes_w = (w + v->step - 1) / v->step + 1;
    v->nodes_h = (h + v->step - 1) / v->step + 1;
    v->cell = 4;
    while ((w / v->cell) * (h / v->cell) > VIEWS_POINTS)
        v->cell++;
    v->grey = arena_take(&a, VIEWS_KEPT * n, sizeof *v->grey);
    v->rgb = arena_take(&a, VIEWS_KEPT * n, 3 * sizeof *v->rgb);
    v->single = arena_take(&a, VIEWS_KEPT * n, sizeof *v->single);
    v->own = arena_take(&a, VIEWS_KEPT * n, sizeof *v->own);
    v->contrast = arena_take(&a, VIEWS_KEPT * n, sizeof *v->contrast);
    v->agree = arena_take(&a, VIEWS_KEPT * n, sizeof *v->agree);
    v->grey_now = arena_take(&a, n, sizeof *v->grey_now);
    v->pyramid =
        arena_take(&a, (VIEWS_SOURCES + 1) * views_pyramid_pixels(w, h), sizeof *v->pyramid);
    v->points = arena_take(&a, VIEWS_POINTS, sizeof *v->points);
    for (int i = 0; i < VIEWS_TARGETS; i++)
        take_target(&v->target[i], &a, n);
    return a.used;
}
