/*
 * blend_cuda.cu - distances of a pair into the volume (blend_cpu.c)
 *
 * Grid:    (PANORAMA_CUDA_BLOCKS, pairs), a warp a column, 32 of its voxels at a time, so that a
 *          warp reads and writes whole lines.
 */
#include "gpu/panorama/blend_point.h"
#include "gpu/panorama/panorama_cuda.cuh"

/* A warp updates the voxels of column (i, j). Returns by how much opaque ones increased. */
static __device__ inline int blend_column(const struct pair_cuda *p, int i, int j)
{
    const struct gpu_volume *v = &p->view.volume;
    size_t column = (size_t)j * (size_t)v->n[0] + (size_t)i;
    uint32_t *voxels = p->s.voxels + column * (size_t)v->n[2];
    uint32_t *field = p->s.field + column * (size_t)v->n[2];
    size_t words = column * (size_t)panorama_words(v);
    struct voxel_ray ray = voxel_ray_make(v, &p->view.eye[0], i, j);
    int more = 0;
    for (int first = 0; first < v->n[2]; first += 32) {
        int k = first + (int)(threadIdx.x % 32);
        uint32_t old = 0, voxel = 0, held, was, is, changed;
        if (k < v->n[2]) {
            uint32_t mean = held = field[k];
            struct vec3 at = voxel_world(v, (float)i + 0.5f, (float)j + 0.5f, (float)k + 0.5f);
            old = voxels[k];
            voxel = blend_voxel(&p->view, p->s.range, &ray, at, k, old, &mean);
            if (mean != held)
                field[k] = mean;
            if (voxel != old)
                voxels[k] = voxel;
        }
        was = __ballot_sync(PANORAMA_ALL, (old & VOXEL_COLOUR) != 0);
        is = __ballot_sync(PANORAMA_ALL, (voxel & VOXEL_COLOUR) != 0);
        changed = __ballot_sync(PANORAMA_ALL, ((old ^ voxel) & VOXEL_COLOUR) != 0);
        if (changed && threadIdx.x % 32 == 0) {
            p->s.dirty[words + (size_t)(first / 32)] |= changed;
            p->s.opaque[words + (size_t)(first / 32)] = is;
        }
        more += __popc(is) - __popc(was);
    }
    return more;
}

static __global__ void blend_kernel(const struct pair_cuda *pairs)
{
    const struct pair_cuda *p = &pairs[blockIdx.y];
    const struct gpu_volume *v = &p->view.volume;
    uint32_t n, warps = PANORAMA_CUDA_BLOCK / 32;
    int more = 0;
    if (p->on)
        panorama_stamp(p, PANORAMA_CUDA_BLEND);
    if (!p->on || !p->view.patch || p->view.paired != GPU_PAIRED_LAID)
        return;
    n = voxel_columns(v);
    for (uint32_t c = blockIdx.x * warps + threadIdx.x / 32; c < n; c += gridDim.x * warps)
        more += blend_column(p, (int)(c % (uint32_t)v->n[0]), (int)(c / (uint32_t)v->n[0]));
    if (threadIdx.x % 32 == 0 && more)
        atomicAdd(p->s.n_opaque, (uint32_t)more);
}

int blend_cuda(const struct pass_cuda *p, struct err *err)
{
    return panorama_launch_pass(blend_kernel, PANORAMA_CUDA_BLOCKS, PANORAMA_CUDA_BLOCK, p, err);
}
