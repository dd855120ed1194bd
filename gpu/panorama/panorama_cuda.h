/*
 * panorama_cuda.h - a panorama session on CUDA, and the arguments of its kernels (internal to gpu/)
 *
 * Passes: pictures (packed colours of both), range (of consistency `patch`: both upon a cylinder,
 *         costs, four paths, the best labels), carve (of `paper`: GPU_VOXELS_ITERATIONS times
 *         visibility, then voxels with occupancy; kernels behind the last iteration that is needed
 *         leave at once), blend (of `patch`: distances into the volume), publish (counts, places,
 *         changes in the order of voxels, straight into pinned memory).
 */
#pragma once

#include "gpu/base/device_cuda.h"
#include "gpu/base/line_cuda.h"
#include "gpu/panorama/panorama.h"
#include "gpu/panorama/range_point.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PANORAMA_CUDA_BLOCKS 1056 /* of a pass: 8 for each of 132 multiprocessors */
#define PANORAMA_CUDA_BLOCK 256
enum {
    PANORAMA_CUDA_PICTURES,
    PANORAMA_CUDA_RANGE,
    PANORAMA_CUDA_CARVE,
    PANORAMA_CUDA_BLEND,
    PANORAMA_CUDA_PUBLISH,
    PANORAMA_CUDA_PASSES
};

/* A session's data on its device. */
struct panorama_dev {
    uint32_t *voxels, *dirty, *told;
    uint32_t *opaque; /* words of opaque voxels, so that publishing need not read the voxels */
    uint8_t *occupied;
    int16_t *visible[2]; /* visibility in iterations in turn */
    uint8_t *picture[2]; /* as uploaded; only one with baseline_m */
    uint32_t *rgb[2];    /* in a struct pair_cuda those of eye[] */
    /* [GPU_VOXELS_ITERATIONS + 1] iteration i is needed; the last one: occupancy did not settle */
    uint32_t *needed;
    uint32_t *n_opaque; /* opaque voxels of the volume: a sum of differences */
    uint32_t *counts;   /* [PANORAMA_CUDA_BLOCKS] changes of each block, then their places */
    unsigned long long *stamp_ns;
    /* consistency `patch` alone, as panorama_cpu.h has them */
    uint32_t *field, *look[2], *front;
    uint8_t *costs;
    uint16_t *sums, *at4;
    struct range_pixel *range;
};

struct panorama_cuda_result {
    struct gpu_pair_result result;
    unsigned long long stamp_ns[PANORAMA_CUDA_PASSES + 1];
};

/* A pair, as the kernels get it; `on` is 0 for an empty place of a batch. */
struct pair_cuda {
    int on;
    uint32_t max_changes;
    struct voxel_view view;
    struct panorama_dev s;
    struct gpu_voxel_change *changes;    /* pinned */
    struct panorama_cuda_result *result; /* pinned */
};

struct panorama_cuda {
    struct gpu_session base;
    struct panorama_dev dev;
    void *arena, *pinned;
    size_t arena_bytes;
    struct gpu_voxel_change *changes;
    struct panorama_cuda_result *result;
    struct panorama_kept kept;
};

pass_cuda_fn pictures_cuda, range_cuda, carve_cuda, blend_cuda, publish_cuda;
/* Sets `occupied` and n_opaque from the voxels. */
MUST_CHECK int carve_cuda_occupy(const struct panorama_dev *s, const struct gpu_volume *v,
                                 cudaStream_t stream, struct err *err);

#ifdef __cplusplus
}
#endif
