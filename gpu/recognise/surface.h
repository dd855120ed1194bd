/*
 * surface.h - a depth picture becomes a surface: filtered depth, points, normals, a mesh
 *
 * The mesh is that of the pixel grid: pixel (x, y) is the corner of two triangles, the near one of
 * the pixels (x, y), (x+1, y), (x, y+1) and the far one of (x+1, y), (x+1, y+1), (x, y+1). Two bits
 * a pixel say which of them exist.
 *
 * Frames:  points and normals are in the camera's frame; normals face the camera.
 * Units:   metres; 0 = nothing was measured there.
 * Order:   sums are of whole numbers, so no order of threads changes a bit.
 * Maths:   MATH.md (O1)-(O6) <- Orts-Escolano et al., "Real-time 3D semi-local surface patch
 *          extraction using GPGPU", equations 2-5
 * Twins:   surface_cpu.c, surface_cuda.cu (tests/twin/gpu_recognise.c)
 */
#pragma once

#include "gpu/recognise/recognise_params.h"
#include "proto/err.h"
#include "proto/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SURFACE_SIDE_MAX 2048
#define SURFACE_REACH_MAX 12 /* radius of filter and normals, pixels */

enum surface_mesh { SURFACE_NEAR = 1, SURFACE_FAR = 2 };

/* The sums of (O4), in units of SURFACE_UNIT. */
struct surface_sums {
    uint64_t n, length, length2, chord, chord2, metres;
};

/* Limits that follow from the sums. */
struct surface_limits {
    float resolution_m; /* the mean distance of neighbours */
    float length;       /* longest edge, as a share of its depth */
    float chord;        /* between the unit normals at an edge's ends */
};

/* A picture and its surface. Arrays but depth are [h][w], with camera K: of each step x step pixels
 * of the picture, filtered at full size, one is kept. */
struct surface {
    int w, h, step;
    struct intrinsics K;
    const float *depth; /* in [depth_h][depth_w]; what is not above 0, or is NaN, counts as 0 */
    int depth_w, depth_h;
    float *filtered;
    struct vec3 *point;  /* z = 0: none */
    struct vec3 *normal; /* all 0: none */
    uint8_t *mesh;
    struct surface_sums *sums;
    struct surface_limits *limits;
};

struct surface_params surface_params_default(void);
/* Returns 0; ERR_INPUT: sides, intrinsics. */
MUST_CHECK int surface_check(int w, int h, const struct intrinsics *K, struct err *err);

/* Memory for all that surface_cpu_run() writes. Pair new with free. Returns 0; ERR_MEMORY. */
MUST_CHECK int surface_new(struct surface *s, int w, int h, struct intrinsics K, int step,
                           struct err *err);
/* Sets a surface's sides and camera for a picture of w x h with camera K; surface_new() calls
 * it. */
void surface_shape(struct surface *s, int w, int h, struct intrinsics K, int step);
/* The step at which a surface has 400 pixels in a row at most. */
int surface_step(int w, int h);
void surface_free(struct surface *s);

/* surface_cpu_run - computes all the rest from s->depth. */
void surface_cpu_run(const struct surface *s, const struct surface_params *p);

#ifdef __cplusplus
}
#endif
