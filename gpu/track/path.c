#include "gpu/track/path_point.h"

#include "gpu/base/arena.h"

#define ALIGN 256

size_t path_lay_out(struct path *p, uint8_t *base, int n_slots)
{
    struct arena a = {base, ALIGN, 0};
    size_t n = 2 * (size_t)n_slots;

    memset(p, 0, sizeof *p);
    params_fill(&p->params, &track_params_stage, NULL, NULL);
    p->n_slots = n_slots;
    for (int i = 0; i < 9; i += 4)
        p->T.r[i] = 1.0;
    p->landmark = arena_take(&a, n, sizeof *p->landmark);
    p->list = arena_take(&a, n, sizeof *p->list);
    p->point = arena_take(&a, PATH_POINTS, sizeof *p->point);
    p->row = arena_take(&a, (size_t)PATH_POINTS * PATH_KEPT, sizeof *p->row);
    p->term = arena_take(&a, n, PATH_TERMS * sizeof *p->term);
    p->system = arena_take(&a, PATH_PAIRS + PATH_UNKNOWNS, sizeof *p->system);
    return a.used;
}

struct rigid path_T_wc(const struct path *p)
{
    return path_T_wc_of(&p->T);
}
