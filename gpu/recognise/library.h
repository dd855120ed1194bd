/*
 * library.h - the objects that a picture's tensors are matched with
 *
 * Tensors of all objects are sorted by the bin of their angle, so a bin and the two beside it lie
 * together. Objects of a library have the same unit and voxel.
 */
#pragma once

#include "gpu/recognise/object.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LIBRARY_OBJECTS_MAX 1024

struct library_tensor {
    uint32_t first, n; /* entries */
    uint32_t object;
    uint32_t square; /* sum of its values' squares */
};

struct library {
    float unit_m, voxel;
    uint32_t n_objects, n_tensors, n_entries;
    uint32_t n_points, most_points;     /* points of all objects, of the largest */
    const struct object *const *object; /* borrowed while the library lives */
    struct vec3 *middle;                /* [n_objects] the mean of an object's points */
    uint8_t *is_coarse;                 /* [n_objects] */
    struct library_tensor *tensor;      /* [n_tensors] sorted by bin */
    const struct object_tensor **from;  /* [n_tensors] */
    uint32_t *entry;               /* [n_entries] tensors' entries, with roots in place of areas */
    uint32_t bin[TENSOR_BINS + 1]; /* where the tensors of a bin begin; the last one is the end */
};

/* Returns 0; ERR_INPUT: units or voxels differ, no object, too many; ERR_MEMORY. Pair with free. */
MUST_CHECK int library_new(struct library *l, const struct object *const *objects, uint32_t n,
                           struct err *err);
void library_free(struct library *l);

#ifdef __cplusplus
}
#endif
