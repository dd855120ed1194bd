/*
 * tensor_cuda.cu - pairs and tensors
 *
 * pairs_kernel     a warp a square of pixels: a lane looks at every 32nd pixel around the one tried
 * pick_kernel      one block; each thread counts, then numbers, the pairs of a run of squares
 * fill_kernel      a block a tensor: threads read pixels of the window, then grow a row each, then
 *                  cut triangles and add their areas in shared sums
 */
#include "gpu/recognise/tensor_cuda.h"

#include "gpu/base/cuda_try.h"
#include "gpu/recognise/tensor_point.h"

#define PAIRS_THREADS 64
#define PICK_THREADS 1024
#define FILL_THREADS 256
#define FILL_WARPS (FILL_THREADS / 32)

#define ADD(sum, area) atomicAdd(sum, area)
#undef GPU_HD
#define GPU_HD __device__
TENSOR_CLIP_DEFINE(clip, ADD)

/* Ascending by the cosine, then by k; that of no partner is above all others. */
static __device__ unsigned long long search_key(float cosine, uint32_t k)
{
    uint32_t bits = __float_as_uint(cosine + 0.0f); /* -0 is 0 */

    bits ^= bits >> 31 ? 0xffffffffu : 0x80000000u;
    return (unsigned long long)bits << 32 | k;
}

/* The partner of pixel `at`, whose normal differs most, or `at` itself; a warp calls it. */
static __device__ uint32_t find_partner(const struct surface *s, const struct tensor_params *p,
                                        uint32_t at)
{
    struct tensor_search q;
    unsigned long long best = search_key(TENSOR_BIN_COS_0, 0);

    if (at == UINT32_MAX || !tensor_search_open(&q, s, p, at))
        return at;
    for (uint32_t k = threadIdx.x % 32; k < q.side * q.side; k += 32) {
        unsigned long long key = search_key(tensor_search_cosine(&q, s, k), k);
        best = key < best ? key : best;
    }
    for (int d = 16; d > 0; d /= 2) {
        unsigned long long other = __shfl_xor_sync(0xffffffffu, best, d);
        best = other < best ? other : best;
    }
    return best >= search_key(TENSOR_BIN_COS_0, 0) ? at
                                                   : tensor_search_pixel(&q, s, (uint32_t)best);
}

/* Is the mesh whole along the line from a to b? A warp calls it, with a lane for each step. */
static __device__ bool joined(const struct surface *s, uint32_t a, uint32_t b)
{
    int lane = (int)threadIdx.x % 32, n = tensor_steps(s, a, b);

    return __ballot_sync(0xffffffffu, lane > n || tensor_whole(s, a, b, lane, n)) == 0xffffffffu;
}

static __global__ void pairs_kernel(struct tensors t, struct surface s, struct tensor_params p,
                                    uint32_t cells)
{
    uint32_t cell = (blockIdx.x * PAIRS_THREADS + threadIdx.x) / 32, at, to;
    uint64_t pair = TENSOR_NO_PAIR;

    for (uint32_t i = 0; cell < cells && i < (uint32_t)p.tries; i++) {
        at = tensor_lot(&s, &p, cell, i);
        to = find_partner(&s, &p, at);
        if (to == at)
            continue;
        if (joined(&s, at, to)) {
            pair = (uint64_t)at << 32 | to;
            break;
        }
        if (pair == TENSOR_NO_PAIR)
            pair = (uint64_t)at << 32 | TENSOR_APART | to;
    }
    if (cell < cells && threadIdx.x % 32 == 0)
        t.pair[cell] = pair;
}

/* Takes at most `want` of the pairs that are apart, or of the others. Returns how many there
 * are. */
static __device__ uint32_t tensor_pick_pairs(uint32_t *picked, const uint64_t *pair, uint32_t cells,
                                             int apart, uint32_t want, uint32_t *count)
{
    uint32_t run = (cells + PICK_THREADS - 1) / PICK_THREADS, first = threadIdx.x * run;
    uint32_t end = first + run < cells ? first + run : cells, own = 0, at, m;

    for (uint32_t i = first; i < end; i++)
        own += (uint32_t)tensor_is(pair[i], apart);
    count[threadIdx.x] = own;
    __syncthreads();
    for (uint32_t d = 1; d < PICK_THREADS; d *= 2) {
        uint32_t left = threadIdx.x >= d ? count[threadIdx.x - d] : 0;
        __syncthreads();
        count[threadIdx.x] += left;
        __syncthreads();
    }
    m = count[PICK_THREADS - 1];
    at = count[threadIdx.x] - own;
    for (uint32_t i = first; i < end && want > 0; i++) {
        /* the only number that may pick the pair `at` is the smallest with number * m / n >= at */
        uint32_t number = m <= want ? at : (uint32_t)(((uint64_t)at * want + m - 1) / m);
        if (!tensor_is(pair[i], apart))
            continue;
        if (number < want && tensor_pick(number, want, m) == at)
            picked[number] = i;
        at++;
    }
    __syncthreads(); /* count is free again */
    return m;
}

static __global__ void __launch_bounds__(PICK_THREADS)
    pick_kernel(struct tensors t, uint32_t cells, uint32_t want)
{
    __shared__ uint32_t count[PICK_THREADS];
    uint32_t joined = tensor_pick_pairs(t.picked, t.pair, cells, 0, want, count);
    uint32_t n = joined < want ? joined : want;
    uint32_t apart = tensor_pick_pairs(t.picked + n, t.pair, cells, 1, want - n, count);

    if (threadIdx.x == 0) {
        *t.n_pairs = joined + apart;
        *t.n_tensors = joined + apart < want ? joined + apart : want;
    }
}

/* Finds the window's triangles; a warp takes 32 pixels of a row at a time. */
static __device__ void tensor_look(struct tensor_rows *present, struct tensor_rows *grown,
                                   const struct tensor_grid *g, const struct tensor *t)
{
    int lane = (int)threadIdx.x % 32;

    for (int part = (int)threadIdx.x / 32; part < TENSOR_WINDOW * 2; part += FILL_WARPS) {
        int j = part / 2, half = part % 2, mesh = tensor_present(g, half * 32 + lane, j);
        uint32_t near = __ballot_sync(0xffffffffu, mesh & SURFACE_NEAR);
        uint32_t far = __ballot_sync(0xffffffffu, mesh & SURFACE_FAR);
        if (lane == 0) { /* little-endian halves of a row */
            ((uint32_t *)&present->near[j])[half] = near;
            ((uint32_t *)&present->far[j])[half] = far;
        }
    }
    __syncthreads();
    if (threadIdx.x < TENSOR_WINDOW) {
        uint64_t seed = tensor_seed(g, t, (int)threadIdx.x);
        grown->near[threadIdx.x] = present->near[threadIdx.x] & seed;
        grown->far[threadIdx.x] = present->far[threadIdx.x] & seed;
    }
    __syncthreads();
}

/* Turns sums into entries, ascending by voxel, and marks hidden voxels without one. A warp's 32
 * voxels are a word of bits. */
static __device__ void compact(struct tensor *t, const struct tensor_grid *g, const uint32_t *sum,
                               uint32_t *warp_count)
{
    uint32_t before = 0, lane = threadIdx.x % 32, warp = threadIdx.x / 32;

    for (uint32_t base = 0; base < TENSOR_VOXELS; base += FILL_THREADS) {
        uint32_t voxel = base + threadIdx.x, all = 0, mine = before;
        uint32_t value = voxel < TENSOR_VOXELS ? tensor_value(sum[voxel]) : 0;
        uint32_t bits = __ballot_sync(0xffffffffu, value != 0);
        int hides = value == 0 && voxel < TENSOR_VOXELS && tensor_hidden(g, t, voxel);
        uint32_t hidden = __ballot_sync(0xffffffffu, hides);
        if (lane == 0) {
            warp_count[warp] = (uint32_t)__popc(bits);
            t->hidden[voxel / 32] = hidden;
        }
        __syncthreads();
        for (uint32_t i = 0; i < FILL_WARPS; i++) {
            mine += i < warp ? warp_count[i] : 0;
            all += warp_count[i];
        }
        if (value)
            t->entry[mine + (uint32_t)__popc(bits & ((1u << lane) - 1))] =
                TENSOR_ENTRY(voxel, value);
        before += all;
        __syncthreads();
    }
    if (threadIdx.x == 0)
        t->n = before < TENSOR_LEAST ? 0 : before;
}

static __global__ void __launch_bounds__(FILL_THREADS)
    fill_kernel(struct tensors all, struct surface s, struct tensor_params p)
{
    __shared__ struct tensor_rows present, grown;
    __shared__ uint32_t sum[TENSOR_VOXELS], warp_count[FILL_WARPS];
    struct tensor *t = &all.tensor[blockIdx.x];
    struct tensor_grid g;
    int more;

    if (blockIdx.x >= *all.n_tensors)
        return;
    if (threadIdx.x == 0)
        tensor_basis(t, &s, all.pair[all.picked[blockIdx.x]]);
    for (uint32_t i = threadIdx.x; i < TENSOR_VOXELS; i += FILL_THREADS)
        sum[i] = 0;
    __syncthreads();
    g = tensor_grid(t, &s, &p);
    tensor_look(&present, &grown, &g, t);
    do { /* rows only gain bits, so their order does not change the end */
        more = threadIdx.x < TENSOR_WINDOW ? tensor_grow(&grown, &present, (int)threadIdx.x) : 0;
    } while (__syncthreads_or(more));
    for (int i = (int)threadIdx.x; i < TENSOR_WINDOW * TENSOR_WINDOW * 2; i += FILL_THREADS) {
        int far = i & 1, x = i / 2 % TENSOR_WINDOW, y = i / 2 / TENSOR_WINDOW;
        struct vec3 v[3];
        if (!((far ? grown.far[y] : grown.near[y]) >> x & 1))
            continue;
        tensor_triangle(v, &g, g.x0 + x, g.y0 + y, far);
        clip(sum, v);
    }
    __syncthreads();
    compact(t, &g, sum, warp_count);
}

int tensor_cuda_pairs(const struct tensors *t, const struct surface *surface,
                      const struct tensor_params *p, cudaStream_t stream, struct err *err)
{
    cudaLaunchConfig_t config = {}, one = {};
    uint32_t cells = tensor_cells(p, surface->w, surface->h);
    int rc = 0;

    config.gridDim = dim3((32 * cells + PAIRS_THREADS - 1) / PAIRS_THREADS);
    config.blockDim = dim3(PAIRS_THREADS);
    config.stream = stream;
    one.gridDim = dim3(1);
    one.blockDim = dim3(PICK_THREADS);
    one.stream = stream;
    CU_TRY(cudaLaunchKernelEx(&config, pairs_kernel, *t, *surface, *p, cells));
    CU_TRY(cudaLaunchKernelEx(&one, pick_kernel, *t, cells, (uint32_t)p->n));
out:
    return rc;
}

int tensor_cuda_fill(const struct tensors *t, const struct surface *surface,
                     const struct tensor_params *p, cudaStream_t stream, struct err *err)
{
    cudaLaunchConfig_t config = {};
    int rc = 0;

    config.gridDim = dim3((unsigned)p->n);
    config.blockDim = dim3(FILL_THREADS);
    config.stream = stream;
    CU_TRY(cudaLaunchKernelEx(&config, fill_kernel, *t, *surface, *p));
out:
    return rc;
}
