/*
 * insert_cuda.cu - the pass that inserts: pixels without a point get one, maps record it, changed
 * published points go to the host, and the list of unstable points is counted
 *
 * Grid:    (blocks of pixels + SCAN_CHUNKS, frames). Blocks of pixels write new points, the maps,
 *          the changes, and points and slots that become unstable or free; each block behind them
 *          counts the entries that stay in its share of the list of unstable points
 *          (remove_cuda.cuh).
 * Order:   carved points become free behind the inserted ones, in the next pass.
 */
#include "gpu/mono/scan_cuda.cuh"

#include "gpu/mono/cell_cuda.cuh"
#include "gpu/mono/change_cuda.cuh"
#include "gpu/mono/fuse_cuda.cuh"
#include "gpu/mono/keyframe_cuda.cuh"
#include "gpu/mono/remove_cuda.cuh"

/* Called by one thread: sums the frame's results. No other thread reads the live counts now. */
static __device__ void insert_settle(struct session_dev *s, const struct scan_sums *sums,
                                     const struct fuse_room *r, uint32_t n_fresh)
{
    const uint32_t *n = sums->total;
    s->n_updated = n[SCAN_WON];
    s->n_changed = n[SCAN_CHANGED];
    s->n_withdrawn = n[SCAN_WITHDRAWN];
    s->n_carved = n[SCAN_CARVED];
    s->n_inserted = r->n_inserted;
    s->n_left_out = n_fresh - r->n_inserted;
    s->n_recycled = r->n_recycled;
    s->n_appended = n[SCAN_UNSTABLE] + r->n_inserted;
    s->n_stable = s->was.n_stable + n[SCAN_UP] - n[SCAN_UNSTABLE] - n[SCAN_LOST];
    s->n_slots = s->was.n_slots + (r->n_inserted - r->n_recycled);
    s->next_id = r->first_id + r->n_inserted;
}

/* Makes the pixel's new point if there is room. Returns its slot. */
static __device__ uint32_t insert_pixel(struct session_dev *s, const struct camera *cameras,
                                        const struct fuse_room *r, uint32_t pixel, uint32_t rank,
                                        uint32_t *appended)
{
    uint64_t id = r->first_id + rank;
    uint32_t slot;
    if (rank >= r->n_inserted) {
        if (s->table)
            s->table[s->entry[pixel]].held = 0;
        return POINT_NONE;
    }
    slot = fuse_slot_of_rank(s, rank);
    fuse_insert(s, pixel, slot, id);
    if (s->table)
        cell_enter(s, pixel, slot, (uint32_t)id);
    else
        fuse_enter_cells(s, cameras, pixel, slot, (uint32_t)id);
    appended[rank] = slot;
    return slot;
}

/* The work of a block of pixels. */
static __device__ void insert_block(const struct frame_cuda *f, struct session_dev *s)
{
    __shared__ struct camera cameras[GPU_COVISIBLE_MAX];
    __shared__ struct scan_sums sums;
    uint32_t *appended = s->unstable[s->was.unstable_now] + s->was.n_unstable;
    uint32_t pixel = blockIdx.x * SCAN_BLOCK + threadIdx.x, mark = 0, slot = POINT_NONE;
    uint32_t found = POINT_NONE, through = POINT_NONE, place, n_fresh, first;
    int wanted = s->is_keyframe && !s->table ? SCAN_WANTS : SCAN_WINS;
    struct fuse_room r;
    uint64_t rank;
    bool fresh;

    if (pixel < s->n_pixels) {
        mark = s->mark[pixel];
        found = s->found[pixel];
        through = s->through[pixel];
    }
    fresh = mark >> wanted & 1;
    scan_cameras(cameras, s);
    scan_sum(&sums, s, blockIdx.x);
    rank = scan_rank((mark & ((1u << SCAN_FRESH) - 1)) | (fresh ? 1u << SCAN_FRESH : 0u));
    n_fresh = sums.total[wanted];
    first = sums.before[wanted];
    r = fuse_find_room(s, n_fresh);
    if (pixel == 0)
        insert_settle(s, &sums, &r, n_fresh);
    if (mark >> SCAN_UNSTABLE & 1)
        appended[sums.before[SCAN_UNSTABLE] + scan_place(rank, SCAN_UNSTABLE)] = found;
    if (mark >> SCAN_CARVED & 1)
        s->carved[sums.before[SCAN_CARVED] + scan_place(rank, SCAN_CARVED)] = through;
    change_tell(s, f->changes, &sums, rank, mark, found, through);
    place = first + scan_place(rank, SCAN_FRESH);
    if (fresh)
        slot = insert_pixel(s, cameras, &r, pixel, place, appended + sums.total[SCAN_UNSTABLE]);
    if (pixel < s->n_pixels && s->is_keyframe && !s->table)
        keyframe_fill_map(s, pixel, found, slot, (uint32_t)(r.first_id + place));
}

static __global__ void insert_kernel(const struct frame_cuda *frames, uint32_t pixel_blocks)
{
    scan_begin();
    const struct frame_cuda *f = &frames[blockIdx.y];
    struct session_dev *s = f->s;
    if (s == NULL)
        return;
    if (blockIdx.x == 0)
        scan_stamp(s, SESSION_CUDA_INSERT);
    if (blockIdx.x >= pixel_blocks)
        remove_count(s, blockIdx.x - pixel_blocks);
    else if (!scan_idle(s, blockIdx.x))
        insert_block(f, s);
}

int insert_cuda(const struct pass_cuda *p, struct err *err)
{
    uint32_t blocks = scan_blocks(p->pixels_max);

    return scan_launch(SCAN_BEHIND_OURS, insert_kernel, blocks + SCAN_CHUNKS, SCAN_BLOCK, p, err,
                       blocks);
}
