/*
 * klt_cuda.cu - finds each track's window in the next picture
 *
 * shift_kernel     a warp a shift
 * klt_kernel       a warp a track, each lane up to four of the window's pixels; sums are whole
 *                  numbers, so their order does not matter, and every lane knows them
 */
#include "gpu/track/corner_point.h"
#include "gpu/track/track_cuda.cuh"

#define KLT_THREADS 128
#define KLT_WARPS (KLT_THREADS / 32)
#define SHARE ((KLT_WINDOW + 31) / 32) /* of a lane */

static __device__ const uint8_t *track_last(const struct track *t)
{
    return t->pyramid[(t->n_frames + 1) % 2];
}

/* A warp a shift: its lanes share the rows. */
static __global__ void __launch_bounds__(KLT_THREADS)
    shift_kernel(const struct track_job *first, size_t stride, int)
{
    struct track *t = track_job_of(first, stride)->t;
    int i = (int)(blockIdx.x * KLT_WARPS + threadIdx.x / 32), lane = (int)threadIdx.x % 32;
    const struct track_level *l;
    struct klt_overlap o;
    uint32_t sum;
    if (!t || i >= KLT_SHIFTS)
        return;
    l = &t->level[TRACK_LEVELS - 1];
    o = klt_overlap(l, i);
    if (!klt_is_shift(l, &o))
        return;
    sum = klt_differ(l, track_last(t) + l->at, track_now(t) + l->at, &o, i, lane, 32);
    sum = __reduce_add_sync(0xffffffffu, sum);
    if (lane == 0)
        atomicMin(&t->shift, klt_shift_claim(&o, sum, i));
}

/* The lane's share of a window. */
struct lane {
    int gx[SHARE], gy[SHARE];
    struct klt_window sum;
};

static __device__ int sum_of(int v)
{
    return (int)__reduce_add_sync(0xffffffffu, (unsigned)v);
}

static __device__ int sample(const uint8_t *p, const struct track_level *l, struct klt_at a, int dx,
                             int dy)
{
    int x0 = pyramid_clamp(a.x + dx, l->w), x1 = pyramid_clamp(a.x + dx + 1, l->w);
    const uint8_t *top = p + (size_t)pyramid_clamp(a.y + dy, l->h) * (size_t)l->w;
    const uint8_t *low = p + (size_t)pyramid_clamp(a.y + dy + 1, l->h) * (size_t)l->w;
    return klt_blend(top[x0], top[x1], low[x0], low[x1], a.fx, a.fy);
}

static __device__ void open_window(struct lane *w, const uint8_t *p, const struct track_level *l,
                                   float x, float y)
{
    struct klt_at a = klt_at(x, y);
    struct klt_window s = {0, 0, 0, 0, 0, 0, 0, 0, 0};
    for (int i = 0; i < SHARE; i++) {
        int at = i * 32 + (int)threadIdx.x % 32, dx = at % KLT_SIDE - KLT_RADIUS;
        int dy = at / KLT_SIDE - KLT_RADIUS, is_in = at < KLT_WINDOW;
        int v = is_in ? sample(p, l, a, dx, dy) : 0;
        int gx = is_in ? sample(p, l, a, dx + 1, dy) - sample(p, l, a, dx - 1, dy) : 0;
        int gy = is_in ? sample(p, l, a, dx, dy + 1) - sample(p, l, a, dx, dy - 1) : 0;
        w->gx[i] = gx;
        w->gy[i] = gy;
        s.v += v;
        s.x += gx;
        s.y += gy;
        s.vv += v * v;
        s.xx += gx * gx;
        s.xy += gx * gy;
        s.yy += gy * gy;
        s.xv += gx * v;
        s.yv += gy * v;
    }
    w->sum.v = sum_of(s.v);
    w->sum.x = sum_of(s.x);
    w->sum.y = sum_of(s.y);
    w->sum.vv = sum_of(s.vv);
    w->sum.xx = sum_of(s.xx);
    w->sum.xy = sum_of(s.xy);
    w->sum.yy = sum_of(s.yy);
    w->sum.xv = sum_of(s.xv);
    w->sum.yv = sum_of(s.yv);
}

static __device__ struct klt_other klt_compare(const struct lane *w, const uint8_t *p,
                                               const struct track_level *l, float x, float y)
{
    struct klt_at a = klt_at(x, y);
    struct klt_other s = {0, 0, 0, 0};
    for (int i = 0; i < SHARE; i++) {
        int at = i * 32 + (int)threadIdx.x % 32, v;
        if (at >= KLT_WINDOW)
            continue;
        v = sample(p, l, a, at % KLT_SIDE - KLT_RADIUS, at / KLT_SIDE - KLT_RADIUS);
        s.v += v;
        s.vv += v * v;
        s.xv += w->gx[i] * v;
        s.yv += w->gy[i] * v;
    }
    s.v = sum_of(s.v);
    s.vv = sum_of(s.vv);
    s.xv = sum_of(s.xv);
    s.yv = sum_of(s.yv);
    return s;
}

/* (L4) As in klt_cpu.c; all lanes hold the same values. */
static __device__ struct klt_place klt_find(const struct track *t, const uint8_t *from,
                                            const uint8_t *to, float x, float y, float gx, float gy)
{
    struct klt_place p = {klt_down(gx, TRACK_LEVELS - 1), klt_down(gy, TRACK_LEVELS - 1), 1};

    for (int i = TRACK_LEVELS - 1; i >= 0 && p.is_found; i--) {
        const struct track_level *l = &t->level[i];
        struct klt_place start = p;
        struct klt_matrix m;
        struct lane w;
        int more = 1;
        open_window(&w, from + l->at, l, klt_down(x, i), klt_down(y, i));
        m = klt_matrix_of(&w.sum);
        for (int step = 0; step < KLT_STEPS && more; step++) {
            struct klt_other d = klt_compare(&w, to + l->at, l, p.x, p.y);
            more = klt_step(&p, &m, &w.sum, &d, l);
        }
        klt_finer(t, &p, &start, &m, i);
    }
    return p;
}

static __global__ void __launch_bounds__(KLT_THREADS)
    klt_kernel(const struct track_job *first, size_t stride, int)
{
    const struct track_job *job = track_job_of(first, stride);
    struct track *t = job->t;
    uint32_t i = blockIdx.x * KLT_WARPS + threadIdx.x / 32;
    struct klt_place there, back = {0, 0, 0};
    struct track_slot s;
    float dx, dy;
    if (!t || i >= (uint32_t)t->n_slots || t->slot[i].id == 0)
        return;
    s = t->slot[i];
    dx = klt_shift_px(klt_shift_x(klt_shift_of(t->shift)));
    dy = klt_shift_px(klt_shift_y(klt_shift_of(t->shift)));
    there = klt_find(t, track_last(t), track_now(t), s.x, s.y, s.x + dx, s.y + dy);
    if (there.is_found)
        back =
            klt_find(t, track_now(t), track_last(t), there.x, there.y, there.x - dx, there.y - dy);
    if (threadIdx.x % 32)
        return;
    klt_keep(t, &s, &there, &back, job->frame.mask);
    t->slot[i] = s;
    if (s.id)
        atomicMin((unsigned long long *)&t->claim[corner_quarter(t, &s)],
                  (unsigned long long)corner_claim(&s, i));
}

int klt_cuda(const struct track_batch *b, struct err *err)
{
    int rc =
        track_launch(shift_kernel, track_blocks(KLT_SHIFTS, KLT_WARPS), KLT_THREADS, b, 0, err);
    uint32_t slots = 2 * (uint32_t)(b->w_max / TRACK_CELL) * (uint32_t)(b->h_max / TRACK_CELL);

    slots = slots < TRACK_MOST ? slots : TRACK_MOST;
    return rc ? rc
              : track_launch(klt_kernel, track_blocks(slots, KLT_WARPS), KLT_THREADS, b, 0, err);
}
