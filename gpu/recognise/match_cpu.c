#include "gpu/recognise/match_point.h"

#include "gpu/recognise/tensor_point.h"

static void match_compare(uint64_t *best, const uint32_t *dense, uint32_t square,
                          const struct library *l, uint32_t at, const struct match_params *p)
{
    const struct library_tensor *t = &l->tensor[at];
    struct match_sums sums[2] = {{0, 0}, {0, 0}};

    for (uint32_t i = 0; i < t->n; i++) {
        uint32_t e = l->entry[t->first + i], voxel = TENSOR_VOXEL_OF(e);
        match_add(&sums[0], TENSOR_AREA_OF(e), dense[voxel]);
        match_add(&sums[1], TENSOR_AREA_OF(e), dense[match_turn(voxel)]);
    }
    for (int turned = 0; turned < 2; turned++) {
        float score = match_score(sums[turned].both, t->square - sums[turned].hidden, square);
        uint64_t key = match_key(score, at, turned);
        if (score >= p->score && key > best[t->object])
            best[t->object] = key;
    }
}

void match_cpu_run(uint64_t *best, const struct tensor *tensor, uint32_t n, const struct library *l,
                   const struct match_params *p)
{
    memset(best, 0, (size_t)n * l->n_objects * sizeof *best);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t dense[TENSOR_VOXELS], square = 0, first, end;
        for (uint32_t k = 0; k < TENSOR_VOXELS; k++)
            dense[k] = match_empty(&tensor[i], k);
        for (uint32_t k = 0; k < tensor[i].n; k++) {
            uint32_t e = tensor[i].entry[k], root = tensor_root(TENSOR_AREA_OF(e));
            dense[TENSOR_VOXEL_OF(e)] = root;
            square += root * root;
        }
        match_range(&first, &end, l->bin, tensor[i].bin);
        for (uint32_t at = first; at < end; at++)
            match_compare(best + (size_t)i * l->n_objects, dense, square, l, at, p);
    }
}
