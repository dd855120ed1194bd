/*
 * remove_cuda.cu - compacts the list of unstable points, frees the slots of removed points, writes
 * the frame's result to the host
 *
 * Grid:    (SCAN_CHUNKS, frames): a block has a contiguous share of the list, and every
 *          SCAN_CHUNKS-th part of the plain copies. The last block ends the frame.
 * Order:   carved slots in the order of pixels, then expired ones in the order of the list; the
 *          list keeps its order and goes from one array to the other, followed by the frame's new
 *          entries. Counts are read from session_dev.was; one thread writes the live ones.
 */
#include "gpu/mono/scan_cuda.cuh"

#include "gpu/mono/cell_cuda.cuh"
#include "gpu/mono/change_cuda.cuh"
#include "gpu/mono/remove_cuda.cuh"

/* Kept (low) and expired (high) entries in earlier chunks, and in all of them. */
static __device__ uint64_t sum_chunks(const struct session_dev *s, uint32_t chunk, uint64_t *total)
{
    typedef cub::BlockScan<uint64_t, SCAN_BLOCK> scan;
    __shared__ typename scan::TempStorage temp;
    __shared__ uint64_t own;
    uint64_t count = threadIdx.x < SCAN_CHUNKS ? s->chunk_counts[threadIdx.x] : 0, before;
    static_assert(SCAN_CHUNKS <= SCAN_BLOCK, "a thread a chunk");
    scan(temp).ExclusiveSum(count, before, *total);
    if (threadIdx.x == chunk)
        own = before;
    __syncthreads();
    return own;
}

/* Copies the entries that stay, frees expired points. before: from sum_chunks(). */
static __device__ void write_chunk(struct session_dev *s, uint32_t *to, uint32_t *expired,
                                   uint32_t chunk, uint64_t before)
{
    const uint32_t *from = s->unstable[s->was.unstable_now];
    struct remove_chunk c = remove_chunk_of(s->was.n_unstable, chunk);
    uint32_t n_kept = (uint32_t)before, n_expired = (uint32_t)(before >> 32);
    for (uint32_t round = c.first; round < c.end; round += SCAN_BLOCK) {
        uint32_t i = round + threadIdx.x, slot = i < c.end ? from[i] : 0;
        enum remove_fate fate = i < c.end ? remove_fate_of(s, slot) : REMOVE_GONE;
        uint64_t rank = scan_rank(1u << fate);
        if (fate == REMOVE_KEPT) {
            to[n_kept + scan_place(rank, REMOVE_KEPT)] = slot;
        } else if (fate == REMOVE_EXPIRED) {
            expired[n_expired + scan_place(rank, REMOVE_EXPIRED)] = slot;
            remove_free(&s->place[slot], &s->stat[slot]);
        }
        n_kept += (uint32_t)__syncthreads_count(fate == REMOVE_KEPT);
        n_expired += (uint32_t)__syncthreads_count(fate == REMOVE_EXPIRED);
    }
}

/* Copies the lists that do not change; called by all blocks of a frame. */
static __device__ void remove_copy(uint32_t *to, const uint32_t *from, uint32_t n)
{
    for (uint32_t i = blockIdx.x * SCAN_BLOCK + threadIdx.x; i < n; i += SCAN_CHUNKS * SCAN_BLOCK)
        to[i] = from[i];
}

/* Called by one thread: sets the model's counts. */
static __device__ void remove_settle(struct session_dev *s, uint32_t n_kept, uint32_t n_expired)
{
    s->n_removed = n_expired;
    s->n_unstable = n_kept + s->n_appended;
    s->n_free = s->was.n_free - s->n_recycled + s->n_carved + n_expired;
    s->n_points = s->was.n_points + s->n_inserted - s->n_carved - n_expired;
    s->unstable_now = 1 - s->was.unstable_now;
    s->table_worn =
        s->table && cell_table_worn(s->n_entries, s->n_pixels, s->table_mask + 1) ? 1 : 0;
}

static __global__ void remove_kernel(const struct frame_cuda *frames)
{
    scan_begin();
    const struct frame_cuda *f = &frames[blockIdx.y];
    struct session_dev *s = f->s;
    uint64_t before, total;
    uint32_t *to, *freed, n_kept;

    if (s == NULL)
        return;
    if (blockIdx.x == SCAN_CHUNKS - 1) /* the block that writes the host's result */
        scan_stamp(s, SESSION_CUDA_REMOVE);
    before = sum_chunks(s, blockIdx.x, &total);
    n_kept = (uint32_t)total;
    to = s->unstable[1 - s->was.unstable_now];
    freed = s->free_slots + (s->was.n_free - s->n_recycled);
    write_chunk(s, to, freed + s->n_carved, blockIdx.x, before);
    remove_copy(to + n_kept, s->unstable[s->was.unstable_now] + s->was.n_unstable, s->n_appended);
    remove_copy(freed, s->carved, s->n_carved);
    if (s->table && cell_table_worn(s->n_entries, s->n_pixels, s->table_mask + 1))
        cell_clear(s, blockIdx.x * SCAN_BLOCK + threadIdx.x, SCAN_CHUNKS * SCAN_BLOCK);
    if (blockIdx.x == SCAN_CHUNKS - 1 && threadIdx.x == 0) {
        remove_settle(s, n_kept, (uint32_t)(total >> 32));
        change_result(s, f->result);
        if (f->path.p)
            f->result->result.tracks = s->tracks;
        if (f->views.v)
            f->result->result.views = f->views.v->told;
    }
}

int remove_cuda(const struct pass_cuda *p, struct err *err)
{
    return scan_launch(SCAN_BEHIND_OURS, remove_kernel, SCAN_CHUNKS, SCAN_BLOCK, p, err);
}
