/*
 * corner_cuda.cu - which tracks stay, and where new ones begin
 *
 * respond_kernel, offer_kernel     (blocks of pixels, frames), a thread a pixel
 * bear_kernel                      a block a frame, which lists unused slots and cells with a
 *                                  corner in their order
 */
#include "gpu/track/corner_point.h"
#include "gpu/track/track_cuda.cuh"

#define BEAR_THREADS 1024

static __device__ int32_t gradient_sums(const uint8_t *p, int w, int x, int y, int32_t *xy,
                                        int32_t *yy)
{
    int32_t xx = 0;
    *xy = *yy = 0;
    for (int i = -CORNER_RADIUS; i <= CORNER_RADIUS; i++)
        for (int k = -CORNER_RADIUS; k <= CORNER_RADIUS; k++) {
            const uint8_t *at = p + (size_t)(y + i) * (size_t)w + (size_t)(x + k);
            int32_t gx = at[1] - at[-1], gy = at[w] - at[-w];
            xx += gx * gx;
            *xy += gx * gy;
            *yy += gy * gy;
        }
    return xx;
}

/* It also ends tracks that met an older one (L5) and notes the frame's motion (L2). */
static __global__ void respond_kernel(const struct track_job *first, size_t stride, int)
{
    struct track *t = track_job_of(first, stride)->t;
    uint32_t i = blockIdx.x * TRACK_BLOCK + threadIdx.x;
    int x, y;
    if (!t || i >= (uint32_t)(t->w * t->h))
        return;
    if (i == 0) {
        t->shift_x = klt_shift_px(klt_shift_x(klt_shift_of(t->shift)));
        t->shift_y = klt_shift_px(klt_shift_y(klt_shift_of(t->shift)));
    }
    if (i < (uint32_t)t->n_slots && t->slot[i].id &&
        t->claim[corner_quarter(t, &t->slot[i])] != corner_claim(&t->slot[i], i))
        t->slot[i].id = 0;
    x = (int)(i % (uint32_t)t->w);
    y = (int)(i / (uint32_t)t->w);
    if (corner_is_within(t, x, y, CORNER_BORDER - 1)) {
        int32_t xy, yy, xx = gradient_sums(track_now(t), t->w, x, y, &xy, &yy);
        t->response[i] = corner_response(xx, xy, yy);
    }
}

static __global__ void offer_kernel(const struct track_job *first, size_t stride, int)
{
    const struct track_job *job = track_job_of(first, stride);
    struct track *t = job->t;
    uint32_t i = blockIdx.x * TRACK_BLOCK + threadIdx.x;
    int x, y, cell;
    if (!t || i >= (uint32_t)(t->w * t->h))
        return;
    x = (int)(i % (uint32_t)t->w);
    y = (int)(i / (uint32_t)t->w);
    cell = corner_cell(t, x, y);
    if (corner_is_within(t, x, y, CORNER_BORDER) && corner_is_empty(t, cell) &&
        !(job->frame.mask && job->frame.mask[i]) && corner_is_peak(t, x, y))
        atomicMin((unsigned long long *)&t->best[cell],
                  (unsigned long long)corner_best(t->response[i], i));
}

/* How many earlier threads of the block have 1, too; *all: how many threads of the block. */
static __device__ uint32_t rank_of(int one, uint32_t *all, uint32_t *warp_count)
{
    uint32_t bits = __ballot_sync(0xffffffffu, one), warp = threadIdx.x / 32, rank;
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        warp_count[warp] = (uint32_t)__popc(bits);
    __syncthreads();
    rank = (uint32_t)__popc(bits & ((1u << threadIdx.x % 32) - 1));
    *all = 0;
    for (uint32_t i = 0; i < BEAR_THREADS / 32; i++) {
        rank += i < warp ? warp_count[i] : 0;
        *all += warp_count[i];
    }
    return rank;
}

static __global__ void __launch_bounds__(BEAR_THREADS)
    bear_kernel(const struct track_job *first, size_t stride, int)
{
    __shared__ uint16_t unused[TRACK_MOST];
    __shared__ uint32_t warp_count[BEAR_THREADS / 32];
    struct track *t = track_job_of(first, stride)->t;
    uint32_t n_unused = 0, n_new = 0, n_live = 0, all, f;
    float *seen;
    if (!t)
        return;
    f = t->n_frames;
    for (uint32_t base = 0; base < (uint32_t)t->n_slots; base += BEAR_THREADS) {
        uint32_t i = base + threadIdx.x;
        int is_unused = i < (uint32_t)t->n_slots && t->slot[i].id == 0;
        uint32_t rank = n_unused + rank_of(is_unused, &all, warp_count);
        if (is_unused)
            unused[rank] = (uint16_t)i;
        n_unused += all;
    }
    __syncthreads();
    for (uint32_t base = 0; base < (uint32_t)t->n_cells; base += BEAR_THREADS) {
        uint32_t c = base + threadIdx.x;
        int is_new = c < (uint32_t)t->n_cells && t->best[c] != CORNER_NO_CLAIM;
        uint32_t rank = n_new + rank_of(is_new, &all, warp_count);
        if (is_new && rank < n_unused)
            t->slot[unused[rank]] = corner_born(t, t->next_id + rank, (uint32_t)t->best[c]);
        n_new += all;
    }
    n_new = n_new < n_unused ? n_new : n_unused;
    __syncthreads();
    seen = t->seen + 2 * (size_t)(f % TRACK_KEPT) * (size_t)t->n_slots;
    for (uint32_t i = threadIdx.x; i < (uint32_t)t->n_slots; i += BEAR_THREADS) {
        seen[2 * i] = t->slot[i].x;
        seen[2 * i + 1] = t->slot[i].y;
    }
    n_live = (uint32_t)t->n_slots - n_unused + n_new;
    if (threadIdx.x == 0) {
        t->n_live = n_live;
        t->n_new = n_new;
        t->next_id += n_new;
        t->n_frames = f + 1;
    }
}

int corner_cuda(const struct track_batch *b, struct err *err)
{
    uint32_t blocks = track_blocks((uint32_t)(b->w_max * b->h_max), TRACK_BLOCK);
    int rc = track_launch(respond_kernel, blocks, TRACK_BLOCK, b, 0, err);

    if (rc == 0)
        rc = track_launch(offer_kernel, blocks, TRACK_BLOCK, b, 0, err);
    return rc ? rc : track_launch(bear_kernel, 1, BEAR_THREADS, b, 0, err);
}
