/*
 * associate_cuda.cu - which points the pixels observe and see through, and which map cells they
 * claim
 *
 * Grid:    (blocks of pixels, frames), a thread a pixel: it finds points through the co-visible
 *          maps and claims one to update it, one to vote against it, or open cells for a new one.
 *          It reads usable depth at its pixel and at the points that it may see through, and a map
 *          cell and a point a keyframe. It writes five values.
 * Order:   counts are sums, claims are minima: neither depends on which pixel comes first. A vote's
 *          claim is larger than any update's (scan_vote()), so the smallest claim of a point is of
 *          the nearest pixel that observes it or, without one, of the first that sees through it.
 */
#include "gpu/mono/scan_cuda.cuh"

#include "gpu/mono/associate_point.h"
#include "gpu/mono/cell_cuda.cuh"

/* What a pixel observes and sees through. */
struct sight {
    uint32_t found, through;
    float distance;
    uint32_t open; /* bit k: the pixel's cell in the map of covisible[k] has no living point */
};

/* The cells that a pixel falls into, and the points that they name, one a co-visible map. All loads
 * are issued before the first use, so that they overlap. */
struct candidates {
    struct map_cell cell[GPU_COVISIBLE_MAX];
    float4 place[GPU_COVISIBLE_MAX];
    uint32_t in; /* bit k: the pixel falls into map k */
};

static __device__ inline void find_candidates(struct candidates *c, const struct session_dev *s,
                                              const struct camera *cameras, struct vec3 p_i)
{
    const float4 *places = (const float4 *)s->place;
    const struct map_cell *maps = s->maps;
    size_t n_pixels = s->n_pixels;
    int n = s->n_covisible;
    c->in = 0;
#pragma unroll
    for (int k = 0; k < GPU_COVISIBLE_MAX; k++) {
        uint32_t u_k;
        float z_k;
        c->cell[k].slot = 0;
        c->cell[k].tag = 0;
        if (k < n && point_project(&cameras[k], p_i, &u_k, &z_k)) {
            c->cell[k] = maps[s->covisible[k].place * n_pixels + u_k];
            c->in |= 1u << k;
        }
    }
#pragma unroll
    for (int k = 0; k < GPU_COVISIBLE_MAX; k++)
        c->place[k] = c->cell[k].tag ? places[c->cell[k].slot] : make_float4(0, 0, 0, 0);
}

/* (2), (A1), (A3) over the co-visible keyframes, as look_up() of associate_cpu.c. */
static __device__ inline struct sight look_up(const struct session_dev *s,
                                              const struct camera *cameras,
                                              const struct camera *own, struct vec3 p_i, float z)
{
    const struct fuse_params *p = &s->fuse;
    struct sight r = {POINT_NONE, POINT_NONE, 0.0f, 0};
    float best2 = INFINITY, front = INFINITY, z_k;
    struct candidates c;
    find_candidates(&c, s, cameras, p_i);
#pragma unroll
    for (int k = 0; k < GPU_COVISIBLE_MAX; k++) {
        uint32_t tag = c.cell[k].tag;
        struct vec3 q = vec3_make(c.place[k].x, c.place[k].y, c.place[k].z);
        float d2 = vec3_norm2(vec3_sub(p_i, q));
        if (!(c.in >> k & 1))
            continue;
        if (tag == 0 || __float_as_uint(c.place[k].w) != tag) {
            r.open |= 1u << k;
        } else if (associate_in_gate(d2, z, p->gate_rel)) {
            if (d2 < best2) {
                best2 = d2;
                r.found = c.cell[k].slot;
            }
        } else if (associate_through(own, s->usable, q, p->carve_rel, &z_k) && z_k < front) {
            front = z_k;
            r.through = c.cell[k].slot;
        }
    }
    r.distance = sqrtf(best2);
    return r;
}

/* (F3) Open cells go to the nearest of the points that fall into them, then to the first pixel. */
static __device__ inline void claim_cells(const struct session_dev *s, const struct camera *cameras,
                                          struct vec3 p_i, uint32_t pixel, uint32_t open)
{
    for (; open; open &= open - 1) {
        int k = __ffs((int)open) - 1;
        uint32_t cell;
        float z_k;
        if (point_project(&cameras[k], p_i, &cell, &z_k))
            atomicMin(scan_claim(s->cell_claims, (size_t)k * s->n_pixels + cell),
                      point_claim(z_k, pixel));
    }
}

static __device__ inline void associate_claim(const struct session_dev *s,
                                              const struct camera *cameras, const struct sight *r,
                                              struct vec3 p_i, uint32_t pixel)
{
    if (r->through != POINT_NONE)
        atomicMin(scan_claim(s->claims, r->through), scan_vote(pixel));
    if (r->found != POINT_NONE)
        atomicMin(scan_claim(s->claims, r->found), point_claim(r->distance, pixel));
    else
        claim_cells(s, cameras, p_i, pixel, r->open);
}

static __global__ void associate_kernel(const struct frame_cuda *frames)
{
    scan_begin();
    __shared__ struct camera cameras[GPU_COVISIBLE_MAX];
    __shared__ struct camera own;
    struct session_dev *s = frames[blockIdx.y].s;
    struct sight r = {POINT_NONE, POINT_NONE, 0.0f, 0};
    uint32_t pixel = blockIdx.x * SCAN_BLOCK + threadIdx.x;
    float z;
    int n;

    if (scan_idle(s, blockIdx.x))
        return;
    if (blockIdx.x == 0)
        scan_stamp(s, SESSION_CUDA_ASSOCIATE);
    if (pixel == 0)
        s->table_worn = 0; /* the previous pass has filled it */
    z = pixel < s->n_pixels ? s->usable[pixel] : 0.0f;
    if (threadIdx.x == 0)
        own = s->view.camera;
    scan_cameras(cameras, s);
    if (z > 0.0f) {
        struct vec3 p_i = point_back_project(&own, (int)(pixel % (uint32_t)s->w),
                                             (int)(pixel / (uint32_t)s->w), z);
        s->world[pixel] = p_i;
        if (s->table) {
            struct cell_sight c = cell_look_up(s, &own, p_i, z, pixel);
            r.found = c.found;
            r.through = c.through;
            r.distance = c.distance;
            s->entry[pixel] = c.entry;
        } else {
            r = look_up(s, cameras, &own, p_i, z);
        }
        s->distance[pixel] = r.distance;
        associate_claim(s, cameras, &r, p_i, pixel);
    }
    if (pixel < s->n_pixels) {
        s->found[pixel] = r.found;
        s->through[pixel] = r.through;
        s->wins[pixel] = (uint16_t)r.open;
    }
    n = __syncthreads_count(r.found != POINT_NONE);
    if (threadIdx.x == 0 && n)
        atomicAdd(&s->groups[blockIdx.x / SCAN_GROUP].n[SCAN_FOUND], (uint32_t)n);
}

int associate_cuda(const struct pass_cuda *p, struct err *err)
{
    return scan_launch(SCAN_BEHIND_OURS, associate_kernel, scan_blocks(p->pixels_max), SCAN_BLOCK,
                       p, err);
}
