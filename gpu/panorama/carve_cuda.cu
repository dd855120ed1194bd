/*
 * carve_cuda.cu - a pair of pictures carves the volume (carve_cpu.c)
 *
 * Grid:    (PANORAMA_CUDA_BLOCKS, pairs). pictures_kernel: a thread a pixel; see_kernel: a thread a
 *          column; carve_kernel and occupy_kernel: a warp a column, 32 of its voxels at a time, so
 *          that a warp reads and writes whole lines and has one visibility.
 */
#include "gpu/panorama/panorama_cuda.cuh"

/* Blocks on a multiprocessor at a time: 64 registers a thread suffice without spilling. */
#define CARVE_AT_ONCE 4

static __global__ void pictures_kernel(const struct pair_cuda *pairs)
{
    const struct pair_cuda *p = &pairs[blockIdx.y];
    uint32_t first = blockIdx.x * PANORAMA_CUDA_BLOCK + threadIdx.x;
    uint32_t stride = gridDim.x * PANORAMA_CUDA_BLOCK;
    if (!p->on)
        return;
    panorama_stamp(p, PANORAMA_CUDA_PICTURES);
    if (first <= GPU_VOXELS_ITERATIONS)
        p->s.needed[first] = first == 0 && p->view.paired == GPU_PAIRED_LAID;
    for (int e = 0; e < p->view.n_pictures; e++) {
        uint32_t n = (uint32_t)p->view.eye[e].w * (uint32_t)p->view.eye[e].h;
        for (uint32_t i = first; i < n; i += stride) {
            const uint8_t *from = p->s.picture[e] + 3 * (size_t)i;
            p->s.rgb[e][i] = (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16;
        }
    }
}

static __global__ void see_kernel(const struct pair_cuda *pairs, int iteration)
{
    const struct pair_cuda *p = &pairs[blockIdx.y];
    const struct gpu_volume *v = &p->view.volume;
    int16_t *now = p->s.visible[iteration & 1];
    uint32_t n;
    if (!p->on)
        return;
    if (iteration == 0)
        panorama_stamp(p, PANORAMA_CUDA_CARVE);
    if (p->view.patch || !p->s.needed[iteration])
        return;
    n = voxel_columns(v);
    for (uint32_t c = blockIdx.x * PANORAMA_CUDA_BLOCK + threadIdx.x; c < n;
         c += gridDim.x * PANORAMA_CUDA_BLOCK)
        now[c] =
            (int16_t)voxel_visibility(v, p->s.occupied, p->view.ground,
                                      (int)(c % (uint32_t)v->n[0]), (int)(c / (uint32_t)v->n[0]));
}

/* A warp updates one column's voxels. Lane 0 returns by how much opaque ones increased. */
static __device__ inline int carve_column(const struct voxel_view *view,
                                          const struct panorama_dev *s, uint32_t column, int before,
                                          int now, uint32_t *any)
{
    const struct gpu_volume *v = &view->volume;
    uint32_t *voxels = s->voxels + (size_t)column * (size_t)v->n[2];
    uint32_t *dirty = s->dirty + (size_t)column * (size_t)panorama_words(v);
    uint32_t *opaque = s->opaque + (size_t)column * (size_t)panorama_words(v);
    int i = (int)(column % (uint32_t)v->n[0]), j = (int)(column / (uint32_t)v->n[0]), more = 0;
    struct voxel_ray ray[2];
    for (int e = 0; e < 2; e++)
        ray[e] = voxel_ray_make(v, &view->eye[e], i, j);
    for (int first = 0; first < v->n[2]; first += 32) {
        int k = first + (int)(threadIdx.x % 32);
        uint32_t old = k < v->n[2] ? voxels[k] : 0, voxel = old, was, is, changed;
        if (k < v->n[2])
            voxel = voxel_update(view, ray, k, old, before, now);
        if (voxel != old)
            voxels[k] = voxel;
        was = __ballot_sync(PANORAMA_ALL, (old & VOXEL_COLOUR) != 0);
        is = __ballot_sync(PANORAMA_ALL, (voxel & VOXEL_COLOUR) != 0);
        changed = __ballot_sync(PANORAMA_ALL, ((old ^ voxel) & VOXEL_COLOUR) != 0);
        if (changed && threadIdx.x % 32 == 0) {
            dirty[first / 32] |= changed;
            opaque[first / 32] = is;
        }
        more += __popc(is) - __popc(was);
        *any |= is;
    }
    return more;
}

/* The compiler reloads the view after each voxel store, as both might be the same memory, so the
 * block keeps a copy in shared memory. */
static __global__ void __launch_bounds__(PANORAMA_CUDA_BLOCK, CARVE_AT_ONCE)
    carve_kernel(const struct pair_cuda *pairs, int iteration)
{
    const struct pair_cuda *p = &pairs[blockIdx.y];
    const int16_t *seen = p->s.visible[iteration & 1], *held = p->s.visible[~iteration & 1];
    __shared__ uint32_t words[(sizeof(struct voxel_view) + 15) / 16 * 4];
    const struct voxel_view *view = (const struct voxel_view *)words;
    uint32_t n, warps = PANORAMA_CUDA_BLOCK / 32;
    int more = 0;
    if (!p->on || p->view.patch || !p->s.needed[iteration])
        return;
    for (uint32_t i = threadIdx.x; i < sizeof(struct voxel_view) / 4; i += PANORAMA_CUDA_BLOCK)
        words[i] = ((const uint32_t *)&p->view)[i];
    __syncthreads();
    n = voxel_columns(&p->view.volume);
    for (uint32_t c = blockIdx.x * warps + threadIdx.x / 32; c < n; c += gridDim.x * warps) {
        int now = seen[c], before = iteration ? held[c] : -1;
        uint32_t any = 0;
        if (now == before)
            continue;
        more += carve_column(view, &p->s, c, before, now, &any);
        if (threadIdx.x % 32 == 0 && (any != 0) != (p->s.occupied[c] != 0)) {
            p->s.occupied[c] = any != 0;
            p->s.needed[iteration + 1] = 1;
        }
    }
    if (threadIdx.x % 32 == 0 && more)
        atomicAdd(p->s.n_opaque, (uint32_t)more);
}

static __global__ void occupy_kernel(struct panorama_dev s, struct gpu_volume v)
{
    uint32_t n = voxel_columns(&v), warps = PANORAMA_CUDA_BLOCK / 32, all = 0;
    for (uint32_t c = blockIdx.x * warps + threadIdx.x / 32; c < n; c += gridDim.x * warps) {
        uint32_t sum = 0, is;
        for (int first = 0; first < v.n[2]; first += 32) {
            int k = first + (int)(threadIdx.x % 32);
            uint32_t voxel = k < v.n[2] ? s.voxels[(size_t)c * (size_t)v.n[2] + (size_t)k] : 0;
            is = __ballot_sync(PANORAMA_ALL, (voxel & VOXEL_COLOUR) != 0);
            if (threadIdx.x % 32 == 0)
                s.opaque[(size_t)c * (size_t)panorama_words(&v) + (size_t)(first / 32)] = is;
            sum += (uint32_t)__popc(is);
        }
        if (threadIdx.x % 32 == 0)
            s.occupied[c] = sum != 0;
        all += sum;
    }
    if (threadIdx.x % 32 == 0 && all)
        atomicAdd(s.n_opaque, all);
}

int pictures_cuda(const struct pass_cuda *p, struct err *err)
{
    return panorama_launch_pass(pictures_kernel, PANORAMA_CUDA_BLOCKS, PANORAMA_CUDA_BLOCK, p, err);
}

int carve_cuda(const struct pass_cuda *p, struct err *err)
{
    const struct pair_cuda *pairs = (const struct pair_cuda *)p->args;
    int rc = 0;
    for (int i = 0; i < GPU_VOXELS_ITERATIONS && rc == 0; i++) {
        rc = panorama_launch(see_kernel, PANORAMA_CUDA_BLOCKS, PANORAMA_CUDA_BLOCK, (unsigned)p->n,
                             p->stream, err, pairs, i);
        if (rc == 0)
            rc = panorama_launch(carve_kernel, PANORAMA_CUDA_BLOCKS, PANORAMA_CUDA_BLOCK,
                                 (unsigned)p->n, p->stream, err, pairs, i);
    }
    return rc;
}

int carve_cuda_occupy(const struct panorama_dev *s, const struct gpu_volume *v, cudaStream_t stream,
                      struct err *err)
{
    int rc = 0;
    CU_TRY(cudaMemsetAsync(s->n_opaque, 0, sizeof *s->n_opaque, stream));
    rc = panorama_launch(occupy_kernel, PANORAMA_CUDA_BLOCKS, PANORAMA_CUDA_BLOCK, 1, stream, err,
                         *s, *v);
out:
    return rc;
}
