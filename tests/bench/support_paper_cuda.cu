#include "tests/bench/support_paper_cuda.h"

#include "gpu/base/cuda_try.h"
#include "gpu/mono/fuse_point.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NO_PIXEL (-2) /* u_k of a pixel that does not take part; -1 is a removed entry */
#define EVENTS (2 * (2 * GPU_COVISIBLE_MAX + 1))

/* P and M: entry i of each is the same point. */
struct paper_model {
    struct vec3 *p;
    float *c_c, *w_a;
    int *state; /* 1 stable, 0 unstable, -1 removed */
    uint32_t *born;
    int *Mx, *My;
};

/* What a frame brings, by pixel. */
struct paper_pixels {
    struct vec3 *p_i;
    float *z, *weight;
    int *ux, *uy; /* of one keyframe */
    int *index;   /* point IDs that kernel 1 found, or -1 */
};

struct paper_counts {
    uint32_t length, updated, inserted, removed, left_out;
};

struct support_paper_cuda {
    enum support_paper_cuda_mode mode;
    struct fuse_params params;
    uint32_t capacity, n_pixels, frame, length;
    int w, h;
    struct paper_model host, dev;
    struct paper_pixels hpix, dpix;
    int *all_ux, *all_uy; /* pinned, [GPU_COVISIBLE_MAX][n_pixels] */
    struct paper_counts *hcounts, *dcounts;
    cudaStream_t stream;
    cudaEvent_t event[EVENTS];
    int n_events;
};

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* ------------------------------------------------------------------------------ the kernels */

/* Algorithm 4, lines 5-8. */
GPU_HD static inline void update_point(struct paper_model m, int j, struct vec3 p_i, float z,
                                       const struct fuse_params *q)
{
    struct vec3 p = m.p[j];
    float w = m.w_a[j], sum = w + q->w0, d = sqrtf(vec3_norm2(vec3_sub(p_i, p)));
    float c_c = (w * m.c_c[j] + q->w0 * d) / sum;
    m.p[j] = vec3_make((w * p.x + q->w0 * p_i.x) / sum, (w * p.y + q->w0 * p_i.y) / sum,
                       (w * p.z + q->w0 * p_i.z) / sum);
    m.c_c[j] = c_c;
    m.w_a[j] = sum < q->w_max ? sum : q->w_max;
    m.state[j] = c_c < q->stable_rel * z;
}

/* Algorithm 4, lines 10-13. */
GPU_HD static inline void insert_point(struct paper_model m, uint32_t j, int x, int y,
                                       struct vec3 p_i, float z, float weight, uint32_t frame,
                                       const struct fuse_params *q)
{
    m.p[j] = p_i;
    m.c_c[j] = q->initial_rel * z;
    m.w_a[j] = weight;
    m.state[j] = 0;
    m.born[j] = frame;
    m.Mx[j] = x;
    m.My[j] = y;
}

/* Algorithm 5, lines 4-6. */
GPU_HD static inline int remove_point(struct paper_model m, uint32_t j, uint32_t frame)
{
    if (m.state[j] != 0 || m.born[j] >= frame)
        return 0;
    m.p[j] = vec3_make(-1, -1, -1);
    m.c_c[j] = -1;
    m.w_a[j] = -1;
    m.state[j] = -1;
    m.Mx[j] = -1;
    m.My[j] = -1;
    return 1;
}

/* Kernel 1. A thread a pixel: reads M from its beginning, writes its index. */
__global__ static void linear_search(const int *Mx, const int *My, const int *ux, const int *uy,
                                     int *index, uint32_t n_pixels, uint32_t capacity,
                                     const struct paper_counts *counts)
{
    uint32_t tid = blockDim.x * blockIdx.x + threadIdx.x;
    uint32_t s = counts->length < capacity ? counts->length : capacity;
    int x, y, found = -1;
    if (tid >= n_pixels)
        return;
    x = ux[tid];
    y = uy[tid];
    if (x == NO_PIXEL)
        return;
    for (uint32_t i = 0; i < s; i++)
        if (x == Mx[i] && y == My[i]) {
            found = (int)i;
            break;
        }
    index[tid] = found;
}

/* Kernel 2. A thread a pixel: updates the point that it found or takes the next entry. */
__global__ static void add_update(struct paper_model m, struct paper_pixels in, uint32_t n_pixels,
                                  uint32_t capacity, uint32_t frame, struct fuse_params q,
                                  struct paper_counts *counts)
{
    uint32_t tid = blockDim.x * blockIdx.x + threadIdx.x, j;
    if (tid >= n_pixels || in.ux[tid] == NO_PIXEL)
        return;
    if (in.index[tid] != -1) {
        update_point(m, in.index[tid], in.p_i[tid], in.z[tid], &q);
        atomicAdd(&counts->updated, 1u);
        return;
    }
    j = atomicAdd(&counts->length, 1u);
    if (j >= capacity) {
        atomicAdd(&counts->left_out, 1u);
        return;
    }
    insert_point(m, j, in.ux[tid], in.uy[tid], in.p_i[tid], in.z[tid], in.weight[tid], frame, &q);
    atomicAdd(&counts->inserted, 1u);
}

/* Kernel 3. A thread an entry. */
__global__ static void remove_unstable(struct paper_model m, uint32_t capacity, uint32_t frame,
                                       struct paper_counts *counts)
{
    uint32_t tid = blockDim.x * blockIdx.x + threadIdx.x;
    uint32_t s = counts->length < capacity ? counts->length : capacity;
    if (tid < s && remove_point(m, tid, frame))
        atomicAdd(&counts->removed, 1u);
}

/* --------------------------------------------------------------------------------- memory */

static int take(void **p, size_t bytes, int on_device, struct err *err)
{
    int rc = 0;
    if (on_device)
        CU_TRY(cudaMalloc(p, bytes));
    else
        CU_TRY(cudaMallocHost(p, bytes));
out:
    return rc;
}

static void give(void *p, int on_device)
{
    if (on_device)
        cudaFree(p);
    else
        cudaFreeHost(p);
}

/* One allocation, cut up; its first piece is where it begins. */
static int model_new(struct paper_model *m, size_t n, int on_device, struct err *err)
{
    int rc = take((void **)&m->p, n * (sizeof *m->p + 6 * 4), on_device, err);
    m->c_c = (float *)(m->p + n);
    m->w_a = m->c_c + n;
    m->state = (int *)(m->w_a + n);
    m->born = (uint32_t *)(m->state + n);
    m->Mx = (int *)(m->born + n);
    m->My = m->Mx + n;
    return rc;
}

static int pixels_new(struct paper_pixels *x, size_t n, int on_device, struct err *err)
{
    int rc = take((void **)&x->p_i, n * (sizeof *x->p_i + 5 * 4), on_device, err);
    x->z = (float *)(x->p_i + n);
    x->weight = x->z + n;
    x->ux = (int *)(x->weight + n);
    x->uy = x->ux + n;
    x->index = x->uy + n;
    return rc;
}

static int allocate(struct support_paper_cuda *p, struct err *err)
{
    size_t keyframes = (size_t)GPU_COVISIBLE_MAX * p->n_pixels * sizeof(int);
    int rc = model_new(&p->host, p->capacity, 0, err);
    if (rc == 0)
        rc = model_new(&p->dev, p->capacity, 1, err);
    if (rc == 0)
        rc = pixels_new(&p->hpix, p->n_pixels, 0, err);
    if (rc == 0)
        rc = pixels_new(&p->dpix, p->n_pixels, 1, err);
    if (rc == 0)
        rc = take((void **)&p->all_ux, keyframes, 0, err);
    if (rc == 0)
        rc = take((void **)&p->all_uy, keyframes, 0, err);
    if (rc == 0)
        rc = take((void **)&p->hcounts, sizeof *p->hcounts, 0, err);
    if (rc == 0)
        rc = take((void **)&p->dcounts, sizeof *p->dcounts, 1, err);
    return rc;
}

int support_paper_cuda_new(struct support_paper_cuda **out, enum support_paper_cuda_mode mode,
                           uint32_t capacity, int w, int h, const struct fuse_params *params,
                           struct err *err)
{
    struct support_paper_cuda *p;
    int n = 0, rc = 0;

    *out = NULL;
    if (cudaGetDeviceCount(&n) != cudaSuccess || n == 0)
        return err_set(err, ERR_UNSUPPORTED, "no CUDA device here");
    p = (struct support_paper_cuda *)calloc(1, sizeof *p);
    if (!p)
        return err_set(err, ERR_MEMORY, "no memory");
    p->mode = mode;
    p->params = *params;
    p->capacity = capacity;
    p->w = w;
    p->h = h;
    p->n_pixels = (uint32_t)w * (uint32_t)h;
    rc = allocate(p, err);
    if (rc)
        goto out;
    CU_TRY(cudaStreamCreateWithFlags(&p->stream, cudaStreamNonBlocking));
    for (int i = 0; i < EVENTS; i++)
        CU_TRY(cudaEventCreate(&p->event[i]));
    *out = p;
    p = NULL;
out:
    support_paper_cuda_free(&p);
    return rc;
}

void support_paper_cuda_free(struct support_paper_cuda **out)
{
    struct support_paper_cuda *p = *out;
    if (p) {
        give(p->host.p, 0);
        give(p->dev.p, 1);
        give(p->hpix.p_i, 0);
        give(p->dpix.p_i, 1);
        give(p->all_ux, 0);
        give(p->all_uy, 0);
        give(p->hcounts, 0);
        give(p->dcounts, 1);
        for (int i = 0; i < EVENTS; i++)
            if (p->event[i])
                cudaEventDestroy(p->event[i]);
        if (p->stream)
            cudaStreamDestroy(p->stream);
        free(p);
    }
    *out = NULL;
}

/* -------------------------------------------------------------------------------- a frame */

/* Lines 3-7: p_i and u_k, on the host. */
static void project(struct support_paper_cuda *p, const float *depth, const struct camera *c,
                    const struct camera *keyframes, int n)
{
    float radius_max = fuse_radius_max(c->K, c->w, c->h);
    for (uint32_t i = 0; i < p->n_pixels; i++) {
        int x = (int)i % c->w, y = (int)i / c->w;
        float z = depth[i], z_k;
        int usable = z >= p->params.min_depth_m && z <= p->params.max_depth_m;
        p->hpix.p_i[i] = point_back_project(c, x, y, z);
        p->hpix.z[i] = z;
        p->hpix.weight[i] = fuse_first_weight(x, y, c->K, radius_max, p->params.sigma);
        for (int k = 0; k < n; k++) {
            size_t at = (size_t)k * p->n_pixels + i;
            uint32_t u_k = 0;
            int seen = usable && point_project(&keyframes[k], p->hpix.p_i[i], &u_k, &z_k);
            p->all_ux[at] = seen ? (int)u_k % c->w : NO_PIXEL;
            p->all_uy[at] = seen ? (int)u_k / c->w : NO_PIXEL;
        }
    }
}

static int copy(struct support_paper_cuda *p, void *to, const void *from, size_t bytes,
                cudaMemcpyKind kind, struct err *err)
{
    int rc = 0;
    CU_TRY(cudaMemcpyAsync(to, from, bytes, kind, p->stream));
out:
    return rc;
}

/* M alone, or M and P: the first n entries. */
static int copy_model(struct support_paper_cuda *p, struct paper_model to, struct paper_model from,
                      uint32_t n, int with_points, cudaMemcpyKind kind, struct err *err)
{
    int rc = copy(p, to.Mx, from.Mx, n * sizeof *to.Mx, kind, err);
    if (rc == 0)
        rc = copy(p, to.My, from.My, n * sizeof *to.My, kind, err);
    if (rc == 0 && with_points)
        rc = copy(p, to.p, from.p, n * sizeof *to.p, kind, err);
    if (rc == 0 && with_points)
        rc = copy(p, to.c_c, from.c_c, n * sizeof *to.c_c, kind, err);
    if (rc == 0 && with_points)
        rc = copy(p, to.w_a, from.w_a, n * sizeof *to.w_a, kind, err);
    if (rc == 0 && with_points)
        rc = copy(p, to.state, from.state, n * sizeof *to.state, kind, err);
    if (rc == 0 && with_points)
        rc = copy(p, to.born, from.born, n * sizeof *to.born, kind, err);
    return rc;
}

static int copy_pixels(struct support_paper_cuda *p, struct err *err)
{
    int rc = copy(p, p->dpix.p_i, p->hpix.p_i, p->n_pixels * sizeof *p->dpix.p_i,
                  cudaMemcpyHostToDevice, err);
    if (rc == 0)
        rc = copy(p, p->dpix.z, p->hpix.z, p->n_pixels * sizeof *p->dpix.z, cudaMemcpyHostToDevice,
                  err);
    if (rc == 0)
        rc = copy(p, p->dpix.weight, p->hpix.weight, p->n_pixels * sizeof *p->dpix.weight,
                  cudaMemcpyHostToDevice, err);
    return rc;
}

static int copy_u(struct support_paper_cuda *p, int k, struct err *err)
{
    size_t at = (size_t)k * p->n_pixels, bytes = p->n_pixels * sizeof(int);
    int rc = copy(p, p->dpix.ux, p->all_ux + at, bytes, cudaMemcpyHostToDevice, err);
    if (rc == 0)
        rc = copy(p, p->dpix.uy, p->all_uy + at, bytes, cudaMemcpyHostToDevice, err);
    return rc;
}

static int wait(struct support_paper_cuda *p, struct err *err)
{
    int rc = 0;
    CU_TRY(cudaStreamSynchronize(p->stream));
out:
    return rc;
}

static int mark(struct support_paper_cuda *p, struct err *err)
{
    int rc = 0;
    CU_TRY(cudaEventRecord(p->event[p->n_events++], p->stream));
out:
    return rc;
}

/* (10) blocks of `threads` for n. */
static unsigned blocks(uint32_t n, int threads)
{
    return (n + (unsigned)threads - 1) / (unsigned)threads;
}

static int search(struct support_paper_cuda *p, int threads, struct err *err)
{
    int rc = mark(p, err);
    if (rc)
        return rc;
    linear_search<<<blocks(p->n_pixels, threads), threads, 0, p->stream>>>(
        p->dev.Mx, p->dev.My, p->dpix.ux, p->dpix.uy, p->dpix.index, p->n_pixels, p->capacity,
        p->dcounts);
    CU_TRY(cuda_try_launch());
    rc = mark(p, err);
out:
    return rc;
}

static int update(struct support_paper_cuda *p, int threads, struct err *err)
{
    int rc = mark(p, err);
    if (rc)
        return rc;
    add_update<<<blocks(p->n_pixels, threads), threads, 0, p->stream>>>(
        p->dev, p->dpix, p->n_pixels, p->capacity, p->frame, p->params, p->dcounts);
    CU_TRY(cuda_try_launch());
    rc = mark(p, err);
out:
    return rc;
}

static int remove_all(struct support_paper_cuda *p, int threads, uint32_t longest, struct err *err)
{
    int rc = mark(p, err);
    if (rc)
        return rc;
    remove_unstable<<<blocks(longest, threads), threads, 0, p->stream>>>(p->dev, p->capacity,
                                                                         p->frame, p->dcounts);
    CU_TRY(cuda_try_launch());
    rc = mark(p, err);
out:
    return rc;
}

static int elapsed_us(struct support_paper_cuda *p, int first, double *us, struct err *err)
{
    float ms;
    int rc = 0;
    CU_TRY(cudaEventElapsedTime(&ms, p->event[first], p->event[first + 1]));
    *us += 1e3 * (double)ms;
out:
    return rc;
}

/* Kernel 2 of one keyframe as the host does it. */
static void update_on_host(struct support_paper_cuda *p, int k)
{
    struct paper_counts *n = p->hcounts;
    for (uint32_t i = 0; i < p->n_pixels; i++) {
        int x = p->all_ux[(size_t)k * p->n_pixels + i], y = p->all_uy[(size_t)k * p->n_pixels + i];
        if (x == NO_PIXEL)
            continue;
        if (p->hpix.index[i] != -1) {
            update_point(p->host, p->hpix.index[i], p->hpix.p_i[i], p->hpix.z[i], &p->params);
            n->updated++;
        } else if (n->length < p->capacity) {
            insert_point(p->host, n->length++, x, y, p->hpix.p_i[i], p->hpix.z[i],
                         p->hpix.weight[i], p->frame, &p->params);
            n->inserted++;
        } else {
            n->left_out++;
        }
    }
}

static void remove_on_host(struct support_paper_cuda *p)
{
    for (uint32_t i = 0; i < p->length; i++)
        p->hcounts->removed += (uint32_t)remove_point(p->host, i, p->frame);
}

static int start_counts(struct support_paper_cuda *p, struct err *err)
{
    memset(p->hcounts, 0, sizeof *p->hcounts);
    p->hcounts->length = p->length;
    return copy(p, p->dcounts, p->hcounts, sizeof *p->hcounts, cudaMemcpyHostToDevice, err);
}

/* Its "apply kernel 1": M and u_k go there and IDs come back for each keyframe. */
static int frame_search(struct support_paper_cuda *p, int threads, int n,
                        struct support_paper_cuda_result *r, struct err *err)
{
    double t0 = now_us(), t;
    int rc = 0;
    for (int k = 0; k < n; k++) {
        double kernel_us = 0;
        p->n_events = 0;
        t = now_us();
        if ((rc = copy(p, p->dcounts, p->hcounts, sizeof *p->hcounts, cudaMemcpyHostToDevice,
                       err)) ||
            (rc = copy_model(p, p->dev, p->host, p->length, 0, cudaMemcpyHostToDevice, err)) ||
            (rc = copy_u(p, k, err)) || (rc = search(p, threads, err)) ||
            (rc = copy(p, p->hpix.index, p->dpix.index, p->n_pixels * sizeof(int),
                       cudaMemcpyDeviceToHost, err)) ||
            (rc = wait(p, err)) || (rc = elapsed_us(p, 0, &kernel_us, err)))
            return rc;
        r->search_us += kernel_us;
        r->transfer_us += now_us() - t - kernel_us;
        t = now_us();
        update_on_host(p, k);
        p->length = p->hcounts->length;
        r->update_us += now_us() - t;
    }
    t = now_us();
    remove_on_host(p);
    r->remove_us = now_us() - t;
    r->frame_us = now_us() - t0;
    return 0;
}

/* The three kernels, u_k before each pair; the model is where it has to be. */
static int run_kernels(struct support_paper_cuda *p, int threads, int n, struct err *err)
{
    uint64_t longest = p->length + (uint64_t)n * p->n_pixels;
    int rc = 0;
    p->n_events = 0;
    for (int k = 0; k < n && rc == 0; k++) {
        rc = copy_u(p, k, err);
        if (rc == 0)
            rc = search(p, threads, err);
        if (rc == 0)
            rc = update(p, threads, err);
    }
    if (rc == 0)
        rc = remove_all(p, threads, (uint32_t)(longest < p->capacity ? longest : p->capacity), err);
    if (rc == 0)
        rc = copy(p, p->hcounts, p->dcounts, sizeof *p->hcounts, cudaMemcpyDeviceToHost, err);
    return rc;
}

static int take_kernel_times(struct support_paper_cuda *p, int n,
                             struct support_paper_cuda_result *r, struct err *err)
{
    int rc = 0;
    for (int k = 0; k < n && rc == 0; k++) {
        rc = elapsed_us(p, 4 * k, &r->search_us, err);
        if (rc == 0)
            rc = elapsed_us(p, 4 * k + 2, &r->update_us, err);
    }
    return rc ? rc : elapsed_us(p, 4 * n, &r->remove_us, err);
}

static int frame_kernels(struct support_paper_cuda *p, int threads, int n,
                         struct support_paper_cuda_result *r, struct err *err)
{
    int transfer = p->mode == SUPPORT_PAPER_CUDA_TRANSFER, rc;
    double t0 = now_us(), kernels_us;

    if ((rc = start_counts(p, err)) || (rc = copy_pixels(p, err)) ||
        (transfer &&
         (rc = copy_model(p, p->dev, p->host, p->length, 1, cudaMemcpyHostToDevice, err))) ||
        (rc = run_kernels(p, threads, n, err)) || (rc = wait(p, err)))
        return rc;
    p->length = p->hcounts->length < p->capacity ? p->hcounts->length : p->capacity;
    if (transfer &&
        ((rc = copy_model(p, p->host, p->dev, p->length, 1, cudaMemcpyDeviceToHost, err)) ||
         (rc = wait(p, err))))
        return rc;
    r->frame_us = now_us() - t0;
    rc = take_kernel_times(p, n, r, err);
    kernels_us = r->search_us + r->update_us + r->remove_us;
    if (transfer)
        r->transfer_us = r->frame_us - kernels_us;
    else
        r->frame_us = kernels_us;
    return rc;
}

/* States on the host; those on the device are fetched where they live there. */
static int fetch_model(struct support_paper_cuda *p, struct err *err)
{
    int rc = 0;
    if (p->mode == SUPPORT_PAPER_CUDA_RESIDENT)
        rc = copy_model(p, p->host, p->dev, p->length, 1, cudaMemcpyDeviceToHost, err);
    return rc ? rc : wait(p, err);
}

int support_paper_cuda_frame(struct support_paper_cuda *p, int threads, const float *depth,
                             const struct camera *c, const struct camera *keyframes, int n,
                             struct support_paper_cuda_result *r, struct err *err)
{
    double t = now_us();
    int rc;

    memset(r, 0, sizeof *r);
    p->frame++;
    project(p, depth, c, keyframes, n);
    r->project_us = now_us() - t;
    if (p->mode == SUPPORT_PAPER_CUDA_SEARCH) {
        memset(p->hcounts, 0, sizeof *p->hcounts);
        p->hcounts->length = p->length;
        rc = frame_search(p, threads, n, r, err);
    } else {
        rc = frame_kernels(p, threads, n, r, err);
    }
    if (rc == 0)
        rc = fetch_model(p, err);
    if (rc)
        return rc;
    r->n_updated = p->hcounts->updated;
    r->n_inserted = p->hcounts->inserted;
    r->n_removed = p->hcounts->removed;
    r->n_left_out = p->hcounts->left_out;
    r->length = p->length;
    for (uint32_t i = 0; i < p->length; i++)
        r->n_points += p->host.state[i] >= 0;
    return 0;
}

int support_paper_cuda_points(struct support_paper_cuda *p, struct vec3 *points, uint32_t cap,
                              struct err *err)
{
    uint32_t n = 0;
    int rc = fetch_model(p, err);
    for (uint32_t i = 0; i < p->length && rc == 0; i++)
        if (p->host.state[i] == 1 && n < cap)
            points[n++] = p->host.p[i];
    return rc ? rc : (int)n;
}
