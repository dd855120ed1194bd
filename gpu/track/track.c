#include "gpu/track/track.h"

#include "gpu/base/arena.h"

#include <string.h>

#define ALIGN 256

static void lay_out_levels(struct track *t)
{
    uint32_t at = 0;

    for (int i = 0; i < TRACK_LEVELS; i++) {
        struct track_level *l = &t->level[i];
        l->w = i ? (t->level[i - 1].w + 1) / 2 : t->w;
        l->h = i ? (t->level[i - 1].h + 1) / 2 : t->h;
        l->at = at;
        at += (uint32_t)l->w * (uint32_t)l->h;
    }
    t->pyramid_bytes = at;
}

size_t track_lay_out(struct track *t, uint8_t *base, int w, int h)
{
    struct arena a = {base, ALIGN, 0};
    size_t n;

    memset(t, 0, sizeof *t);
    params_fill(&t->params, &track_params_stage, NULL, NULL);
    t->w = w;
    t->h = h;
    t->next_id = 1;
    for (t->cell = TRACK_CELL; 2 * (w / t->cell) * (h / t->cell) > TRACK_MOST;)
        t->cell++;
    t->grid_w = w / t->cell;
    t->grid_h = h / t->cell;
    t->n_cells = t->grid_w * t->grid_h;
    t->n_slots = 2 * t->n_cells;
    lay_out_levels(t);
    n = (size_t)t->n_slots;
    for (int i = 0; i < 2; i++)
        t->pyramid[i] = arena_take(&a, t->pyramid_bytes, 1);
    t->slot = arena_take(&a, n, sizeof *t->slot);
    t->seen = arena_take(&a, TRACK_KEPT * n, 2 * sizeof *t->seen);
    t->response = arena_take(&a, (size_t)w * (size_t)h, sizeof *t->response);
    t->column = arena_take(&a, (size_t)w, sizeof *t->column);
    t->claim = arena_take(&a, (size_t)t->n_cells, 4 * sizeof *t->claim);
    t->best = arena_take(&a, (size_t)t->n_cells, sizeof *t->best);
    return a.used;
}
