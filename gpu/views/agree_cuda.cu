/*
 * agree_cuda.cu - the swept keyframe against all others, and all others against it
 *
 * own: only the swept keyframe's pixels, which the fine sweep needs first.
 *
 * Grid:    own: (blocks of pixels, frames), a thread a pixel of the swept keyframe. agree: (blocks
 *          of pixels of the swept one and of every OTHERS keyframes, frames)
 */
#include "gpu/views/agree_point.h"
#include "gpu/views/views_cuda.cuh"

#define OTHERS 8 /* keyframes of a block */
#define GROUPS (1 + VIEWS_KEPT / OTHERS)

/* All threads of the block call it. */
static __device__ void add_confirmed(struct views *v, int place, int confirmed)
{
    int n = __syncthreads_count(confirmed);
    if (threadIdx.x == 0 && n > 0)
        atomicAdd(&v->kept[place].n_confirmed, (uint32_t)n);
}

static __device__ void agree_own(struct views *v, uint32_t i)
{
    __shared__ struct rigid there[VIEWS_KEPT];
    __shared__ int is_other[VIEWS_KEPT];
    int swept = v->plan.swept, confirmed = 0;
    uint8_t n = 0;
    if (threadIdx.x < VIEWS_KEPT) {
        int j = (int)threadIdx.x;
        is_other[j] = agree_is_other(v, j);
        if (is_other[j])
            there[j] = rigid_mul(&v->kept[j].camera.T_cw, &v->kept[swept].camera.T_wc);
    }
    __syncthreads();
    if (i < v->n_pixels) {
        for (int j = 0; j < VIEWS_KEPT; j++)
            if (is_other[j])
                confirmed += agree_count(v, &n, agree_pixel(v, swept, j, &there[j], i));
        v->agree[views_at(v, swept) + i] = n;
    }
    add_confirmed(v, swept, confirmed);
}

/* Compares keyframes from number `from` on with the swept one. */
static __device__ void agree_others(struct views *v, int from, uint32_t i)
{
    __shared__ struct rigid back[OTHERS];
    __shared__ int is_other[OTHERS];
    int swept = v->plan.swept, t = (int)threadIdx.x;
    if (t < OTHERS) {
        is_other[t] = agree_is_other(v, from + t);
        if (is_other[t])
            back[t] = rigid_mul(&v->kept[swept].camera.T_cw, &v->kept[from + t].camera.T_wc);
    }
    __syncthreads();
    for (int k = 0; k < OTHERS; k++)
        if (is_other[k]) {
            int j = from + k, confirmed = 0;
            if (i < v->n_pixels)
                confirmed = agree_count(v, &v->agree[views_at(v, j) + i],
                                        agree_pixel(v, j, swept, &back[k], i));
            add_confirmed(v, j, confirmed);
        }
}

static __global__ void own_kernel(const struct views_job *first, size_t stride)
{
    struct views *v = views_job_of(first, stride)->v;
    if (v && v->plan.swept >= 0)
        agree_own(v, views_pixel_of_thread());
}

static __global__ void agree_kernel(const struct views_job *first, size_t stride)
{
    struct views *v = views_job_of(first, stride)->v;
    int group = (int)blockIdx.x % GROUPS;
    uint32_t i = blockIdx.x / GROUPS * VIEWS_BLOCK + threadIdx.x;
    if (!v || v->plan.swept < 0)
        return;
    if (group == 0)
        agree_own(v, i);
    else
        agree_others(v, (group - 1) * OTHERS, i);
}

int agree_cuda_own(const struct views_batch *b, struct err *err)
{
    return views_launch(own_kernel, views_blocks(b), VIEWS_BLOCK, b, err);
}

int agree_cuda(const struct views_batch *b, struct err *err)
{
    return views_launch(agree_kernel, views_blocks(b) * GROUPS, VIEWS_BLOCK, b, err);
}
