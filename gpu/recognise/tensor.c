#include "gpu/recognise/tensor.h"

#include <stdlib.h>

struct tensor_params tensor_params_default(void)
{
    struct tensor_params p;

    params_fill(&p, &recognise_params_tensor, NULL, NULL);
    return p;
}

struct tensor_params tensor_params_library(void)
{
    struct tensor_params p = tensor_params_default();

    p.cell_px = 2;
    p.n = TENSORS_MAX;
    return p;
}

int tensor_check(const struct tensor_params *p, struct err *err)
{
    if (!(p->unit_m >= 0 && p->unit_m <= 1))
        return err_set(err, ERR_INPUT, "the unit of tensors is 0 (the picture's) to 1 m");
    if (!(p->least > 0 && p->least < p->most && p->most <= 100))
        return err_set(err, ERR_INPUT, "distances of pairs are above 0, at most 100 units");
    if (!(p->voxel > 0 && p->voxel <= 100))
        return err_set(err, ERR_INPUT, "the side of a voxel is above 0, at most 100 units");
    if (p->cell_px < 1 || p->cell_px > 256 || p->tries < 1 || p->tries > 64)
        return err_set(err, ERR_INPUT, "a square has 1 to 256 pixels a side, and 1 to 64 tries");
    if (p->n < 1 || p->n > TENSORS_MAX)
        return err_set(err, ERR_INPUT, "a picture has 1 to %d tensors", TENSORS_MAX);
    return 0;
}

uint32_t tensor_cells(const struct tensor_params *p, int w, int h)
{
    return (uint32_t)((w + p->cell_px - 1) / p->cell_px) *
           (uint32_t)((h + p->cell_px - 1) / p->cell_px);
}

int tensor_new(struct tensors *t, const struct surface *s, const struct tensor_params *p,
               struct err *err)
{
    size_t cells = tensor_cells(p, s->w, s->h);
    *t = (struct tensors){.surface = s};
    t->pair = calloc(cells, sizeof *t->pair);
    t->n_pairs = calloc(1, sizeof *t->n_pairs);
    t->n_tensors = calloc(1, sizeof *t->n_tensors);
    t->picked = calloc((size_t)p->n, sizeof *t->picked);
    t->tensor = calloc((size_t)p->n, sizeof *t->tensor);
    if (t->pair && t->n_pairs && t->n_tensors && t->picked && t->tensor)
        return 0;
    tensor_free(t);
    return err_set(err, ERR_MEMORY, "no memory for %d tensors", p->n);
}

void tensor_free(struct tensors *t)
{
    free(t->pair);
    free(t->n_pairs);
    free(t->n_tensors);
    free(t->picked);
    free(t->tensor);
    *t = (struct tensors){0};
}
