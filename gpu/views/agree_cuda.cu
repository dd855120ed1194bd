/*
 * agree_cuda.cu - the swept keyframe against all others, and all others against it
 *
 * own: the swept keyframe's pixels alone; the fine sweep asks for them before.
 *
 * Grid:    (blocks of pixels, frames), a thread a pixel of every keyframe
 */
#include "gpu/views/agree_point.h"
#include "gpu/views/views_cuda.cuh"

static __device__ void count(struct views *v, int from, int to, const struct rigid *T, uint32_t i)
{
    if (agree_count(&v->agree[views_at(v, from) + i], agree_pixel(v, from, to, T, i)))
        atomicAdd(&v->kept[from].n_confirmed, 1u);
}

static __device__ void agree(struct views *v, int own)
{
    __shared__ struct rigid there[VIEWS_KEPT], back[VIEWS_KEPT];
    __shared__ int is_other[VIEWS_KEPT];
    uint32_t i = views_pixel_of_thread();
    int swept;
    if (v->plan.swept < 0 || blockIdx.x * VIEWS_BLOCK >= v->n_pixels)
        return;
    swept = v->plan.swept;
    if (threadIdx.x < VIEWS_KEPT) {
        int j = (int)threadIdx.x;
        is_other[j] = agree_is_other(v, j);
        if (is_other[j]) {
            there[j] = rigid_mul(&v->kept[j].camera.T_cw, &v->kept[swept].camera.T_wc);
            back[j] = rigid_mul(&v->kept[swept].camera.T_cw, &v->kept[j].camera.T_wc);
        }
    }
    __syncthreads();
    if (i >= v->n_pixels)
        return;
    v->agree[views_at(v, swept) + i] = 0;
    for (int j = 0; j < VIEWS_KEPT; j++)
        if (is_other[j]) {
            count(v, swept, j, &there[j], i);
            if (!own)
                count(v, j, swept, &back[j], i);
        }
}

static __global__ void own_kernel(const struct views_job *first, size_t stride)
{
    struct views *v = views_job_of(first, stride)->v;
    if (v)
        agree(v, 1);
}

static __global__ void agree_kernel(const struct views_job *first, size_t stride)
{
    struct views *v = views_job_of(first, stride)->v;
    if (v)
        agree(v, 0);
}

int agree_cuda_own(const struct views_batch *b, struct err *err)
{
    return views_launch(own_kernel, views_blocks(b), VIEWS_BLOCK, b, err);
}

int agree_cuda(const struct views_batch *b, struct err *err)
{
    return views_launch(agree_kernel, views_blocks(b), VIEWS_BLOCK, b, err);
}
