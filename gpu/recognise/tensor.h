/*
 * tensor.h - surface-patch tensors: how much surface lies in each cube of a grid that a pair of
 * points defines
 *
 * Two points of a surface whose normals differ define a basis: its origin is the middle between
 * them, z the mean of their normals, x the normals' cross product, y = z x x. The tensor has 10 x
 * 10 x 10 cubes (voxels) around that origin. For each it holds the area of the surface that is
 * joined to the pair within the grid.
 *
 * Frames:  T_cb takes the basis's points to the camera
 * Units:   an area is counted in 1/256 of a voxel's side squared, 1023 at most
 * Maths:   MATH.md (O7)-(O11), (O20) <- Orts-Escolano et al., section 2.3; Mian et al. 2006
 * Twins:   tensor_cpu.c, tensor_cuda.cu (tests/twin/gpu_recognise.c)
 */
#pragma once

#include "gpu/recognise/surface.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENSOR_SIDE 10
#define TENSOR_VOXELS (TENSOR_SIDE * TENSOR_SIDE * TENSOR_SIDE)
#define TENSOR_VALUE_MAX 1023
#define TENSOR_WORDS ((TENSOR_VOXELS + 31) / 32) /* words with a bit a voxel */
#define TENSOR_LEAST 25  /* entries; a tensor with fewer says little and is left empty */
#define TENSOR_WINDOW 64 /* pixels to each side that are searched for a tensor's surface */
#define TENSOR_BINS 32   /* of the angle between the two normals */
#define TENSOR_BIN_COS_0 0.9659258f /* cosine of 15 degrees: nearer normals make no pair */
#define TENSORS_MAX 1024            /* of a picture */

/* Entry of a sparse tensor: index of a voxel (x fastest) << 16 | area. */
#define TENSOR_ENTRY(voxel, area) ((uint32_t)(voxel) << 16 | (uint32_t)(area))
#define TENSOR_VOXEL_OF(entry) ((entry) >> 16)
#define TENSOR_AREA_OF(entry) ((entry)&0xffffu)

struct tensor {
    struct rigid T_cb;
    float cosine; /* between the normals */
    uint32_t bin; /* of it, 0 ... TENSOR_BINS - 1 */
    uint32_t pixel[2];
    uint32_t hidden[TENSOR_WORDS]; /* a bit a voxel: it is hidden from view */
    uint32_t n;                    /* entries, ascending by voxel */
    uint32_t entry[TENSOR_VOXELS];
};

/* The pairs and tensors of a picture. */
struct tensors {
    const struct surface *surface;
    uint64_t *pair;        /* [cells] pixel << 32 | TENSOR_APART or 0 | partner; TENSOR_NO_PAIR */
    uint32_t *n_pairs;     /* cells with a pair */
    uint32_t *n_tensors;   /* those taken */
    uint32_t *picked;      /* [n] cells */
    struct tensor *tensor; /* [n] */
};
#define TENSOR_NO_PAIR 0xffffffffffffffffull
#define TENSOR_APART 0x80000000u /* the mesh does not join the two; taken if others are few */

struct tensor_params tensor_params_default(void);
/* The parameters for an object's views: all pairs, up to TENSORS_MAX a view. */
struct tensor_params tensor_params_library(void);
/* Returns 0; ERR_INPUT: which of them is out of range. */
MUST_CHECK int tensor_check(const struct tensor_params *p, struct err *err);
/* The number of squares of cell_px pixels in a picture. */
uint32_t tensor_cells(const struct tensor_params *p, int w, int h);

/* Pair new with free; the surface is borrowed. Returns 0; ERR_MEMORY. */
MUST_CHECK int tensor_new(struct tensors *t, const struct surface *s, const struct tensor_params *p,
                          struct err *err);
void tensor_free(struct tensors *t);

/* The entries of a tensor whose basis and pixels are known. */
void tensor_cpu_fill(struct tensor *t, const struct surface *s, const struct tensor_params *p);
/* Chooses pairs and makes their tensors. */
void tensor_cpu_run(const struct tensors *t, const struct tensor_params *p);

#ifdef __cplusplus
}
#endif
