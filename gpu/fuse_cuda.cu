/*
 * fuse_cuda.cu - claimed points are updated, pixels without a point insert one, maps learn of them
 *
 * Grid:    (blocks of pixels, frames), a thread a pixel, three passes: update points and claim open
 *          cells; see who won which cell and number the new points; write these and the cells.
 * Order:   a pass ends where it needs what all pixels did. A claim is taken back by its only winner
 *          while losers may still read it: neither value is theirs.
 * Also:    the last pass claims the points that remove_cuda() lets vote: the first pixel that sees
 *          through a point that was not updated has its vote (claims are free again by then).
 */
#include "gpu/scan_cuda.cuh"

#include "gpu/change_point.h"
#include "gpu/cuda_try.h"
#include "gpu/fuse_point.h"

/* (3)-(5) for the pixel that has the point's claim. Returns its marks. */
static __device__ uint32_t update(struct session_dev *s, uint32_t pixel, uint32_t slot, int *stable)
{
    struct point_place place = scan_load(&s->place[slot]);
    struct point_stat stat = scan_load(&s->stat[slot]);
    struct point_out out = scan_load(&s->out[slot]);
    struct vec3 p_i = s->world[pixel]; /* all loads before the first store */
    float z = s->usable[pixel];
    int was = stat.state, kind;
    uint32_t mark = SCAN_MARK_WON;
    uint8_t rgb[3];

    for (int i = 0; i < 3; i++)
        rgb[i] = s->rgb[3 * (size_t)pixel + i];
    s->claims[slot] = POINT_UNCLAIMED;
    fuse_update(&place, &stat, p_i, rgb, z, s->frame, &s->fuse);
    *stable = (stat.state == POINT_STABLE) - (was == POINT_STABLE);
    kind = change_updated(&place, &stat, &out, z, s->step_m, &s->fuse);
    scan_store(&s->place[slot], place);
    scan_store(&s->stat[slot], stat);
    if (kind)
        scan_store(&s->out[slot], out);
    if (was == POINT_STABLE && stat.state == POINT_UNSTABLE)
        mark |= SCAN_MARK_UNSTABLE;
    return mark | (kind == GPU_CHANGE_PUT ? SCAN_MARK_PUT : 0u) |
           (kind == GPU_CHANGE_REMOVE ? SCAN_MARK_REMOVE : 0u);
}

/* (F3) Open cells go to the nearest of the points that fall into them, then to the first pixel. */
static __device__ void claim_cells(const struct session_dev *s, const struct camera *cameras,
                                   uint32_t pixel, uint32_t open)
{
    struct vec3 p = s->world[pixel];
    for (; open; open &= open - 1) {
        int k = __ffs((int)open) - 1;
        uint32_t cell;
        float z_k;
        if (point_project(&cameras[k], p, &cell, &z_k))
            atomicMin(scan_claim(s->cell_claims, (size_t)k * s->n_pixels + cell),
                      point_claim(z_k, pixel));
    }
}

static __device__ inline bool wants_point(const struct session_dev *s, uint32_t pixel)
{
    return pixel < s->n_pixels && s->usable[pixel] > 0.0f && s->found[pixel] == POINT_NONE;
}

static __global__ void update_kernel(const struct frame_cuda *frames)
{
    scan_begin();
    __shared__ struct camera cameras[GPU_COVISIBLE_MAX];
    struct session_dev *s = frames[blockIdx.y].s;
    uint32_t pixel = scan_pixel(), mark = 0, slot = POINT_NONE, open = 0, blocks;
    bool won = false;
    int stable = 0, n_won, n_up, n_down, n_changed;
    uint64_t total;

    if (scan_idle(s))
        return;
    blocks = scan_blocks_of(s->n_pixels);
    if (pixel < s->n_pixels) {
        slot = s->found[pixel];
        won = slot != POINT_NONE && s->claims[slot] == point_claim(s->distance[pixel], pixel);
        open = slot == POINT_NONE && s->usable[pixel] > 0.0f ? s->wins[pixel] : 0;
    }
    scan_cameras(cameras, s);
    if (won)
        mark = update(s, pixel, slot, &stable);
    else if (open)
        claim_cells(s, cameras, pixel, open);
    if (pixel < s->n_pixels)
        s->mark[pixel] = (uint8_t)mark;
    n_won = __syncthreads_count(mark & SCAN_MARK_WON);
    n_up = __syncthreads_count(stable > 0);
    n_down = __syncthreads_count(mark & SCAN_MARK_UNSTABLE);
    n_changed = __syncthreads_count(mark & (SCAN_MARK_PUT | SCAN_MARK_REMOVE));
    if (threadIdx.x == 0 && n_won) {
        atomicAdd(&s->n_updated, (uint32_t)n_won);
        atomicAdd(&s->n_stable, (uint32_t)(n_up - n_down));
    }
    if (!scan_arrive(s, SCAN_UPDATE, blocks, scan_pair((uint32_t)n_down, (uint32_t)n_changed)))
        return;
    total = scan_offsets(s, SCAN_UPDATE, blocks);
    if (threadIdx.x == 0) {
        s->n_unstable_was = s->n_unstable;
        s->n_unstable += scan_low(total);
        s->n_changed = scan_high(total);
    }
}

/* Slots and ids for the new points of the frame; what finds no room is left out. */
static __device__ void allocate(struct session_dev *s, uint32_t n_fresh)
{
    uint32_t room = s->n_free + (s->max_points - s->n_slots);
    uint32_t n = n_fresh < room ? n_fresh : room, recycled = n < s->n_free ? n : s->n_free;
    s->n_fresh = n_fresh;
    s->n_inserted = n;
    s->n_left_out = n_fresh - n;
    s->first_id = point_first_id(s->next_id, n);
    s->n_free_was = s->n_free;
    s->n_slots_was = s->n_slots;
    s->next_id = s->first_id + n;
    s->n_slots += n - recycled;
    s->n_free -= recycled;
    s->n_points += n;
}

static __global__ void number_kernel(const struct frame_cuda *frames)
{
    scan_begin();
    __shared__ struct camera cameras[GPU_COVISIBLE_MAX];
    struct session_dev *s = frames[blockIdx.y].s;
    uint32_t pixel = scan_pixel(), open, wins = 0, blocks;
    bool wants, fresh;
    uint64_t total;
    int n;

    if (scan_idle(s))
        return;
    blocks = scan_blocks_of(s->n_pixels);
    wants = wants_point(s, pixel);
    open = wants ? s->wins[pixel] : 0;
    scan_cameras(cameras, s);
    if (open) {
        struct vec3 p = s->world[pixel];
        for (; open; open &= open - 1) {
            int k = __ffs((int)open) - 1;
            uint32_t cell;
            float z_k;
            if (point_project(&cameras[k], p, &cell, &z_k) &&
                s->cell_claims[(size_t)k * s->n_pixels + cell] == point_claim(z_k, pixel))
                wins |= 1u << k;
        }
    }
    if (pixel < s->n_pixels)
        s->wins[pixel] = (uint16_t)wins;
    fresh = wants && (s->is_keyframe || wins);
    n = __syncthreads_count(fresh);
    if (!scan_arrive(s, SCAN_INSERT, blocks, scan_pair((uint32_t)n, 0)))
        return;
    total = scan_offsets(s, SCAN_INSERT, blocks);
    if (threadIdx.x == 0)
        allocate(s, scan_low(total));
}

/* The r-th slot that is handed out in this frame: freed ones first, the last freed first of all. */
static __device__ inline uint32_t slot_of_rank(const struct session_dev *s, uint32_t r)
{
    return r < s->n_free_was ? s->free_slots[s->n_free_was - 1 - r]
                             : s->n_slots_was + (r - s->n_free_was);
}

static __device__ void insert(struct session_dev *s, uint32_t pixel, uint32_t slot, uint64_t id)
{
    int x = (int)(pixel % (uint32_t)s->w), y = (int)(pixel / (uint32_t)s->w);
    struct intrinsics K = s->camera.K;
    float weight = fuse_first_weight(x, y, K, fuse_radius_max(K, s->w, s->h), s->fuse.sigma);
    struct point_place place;
    struct point_stat stat;
    uint8_t rgb[3];
    for (int i = 0; i < 3; i++)
        rgb[i] = s->rgb[3 * (size_t)pixel + i];
    fuse_create(&place, &stat, id, s->world[pixel], rgb, s->usable[pixel], weight, s->frame,
                &s->fuse);
    scan_store(&s->place[slot], place);
    scan_store(&s->stat[slot], stat);
    s->id[slot] = id;
    s->out[slot].confidence = 0;
}

/* The cells that the pixel won get its point, if it has one; their claims are taken back. */
static __device__ void enter_cells(struct session_dev *s, const struct camera *cameras,
                                   uint32_t pixel, uint32_t slot, uint32_t tag)
{
    struct vec3 p = s->world[pixel];
    for (uint32_t wins = s->wins[pixel]; wins; wins &= wins - 1) {
        int k = __ffs((int)wins) - 1;
        struct map_cell entry = {slot, tag};
        uint32_t cell;
        float z_k;
        if (!point_project(&cameras[k], p, &cell, &z_k))
            continue;
        s->cell_claims[(size_t)k * s->n_pixels + cell] = POINT_UNCLAIMED;
        if (slot != POINT_NONE)
            s->maps[(size_t)s->covisible[k].place * s->n_pixels + cell] = entry;
    }
}

/* A new keyframe's map: the point that the pixel observed or inserted. */
static __device__ void fill_map(struct session_dev *s, uint32_t pixel, uint32_t fresh)
{
    uint32_t slot = s->found[pixel] != POINT_NONE ? s->found[pixel] : fresh;
    struct map_cell cell = {0, 0};
    if (slot != POINT_NONE) {
        cell.slot = slot;
        cell.tag = s->place[slot].tag;
    }
    s->maps[(size_t)s->place_new * s->n_pixels + pixel] = cell;
}

static __global__ void insert_kernel(const struct frame_cuda *frames)
{
    scan_begin();
    __shared__ struct camera cameras[GPU_COVISIBLE_MAX];
    struct session_dev *s = frames[blockIdx.y].s;
    uint32_t pixel = scan_pixel(), slot = POINT_NONE, *list, through;
    bool fresh, unstable;
    uint64_t at;

    if (scan_idle(s))
        return;
    fresh = wants_point(s, pixel) && (s->is_keyframe || s->wins[pixel]);
    unstable = pixel < s->n_pixels && (s->mark[pixel] & SCAN_MARK_UNSTABLE);
    scan_cameras(cameras, s);
    at = scan_rank(unstable, fresh);
    list = s->unstable[s->unstable_now] + s->n_unstable_was;
    if (unstable)
        list[scan_low(scan_offset(s, SCAN_UPDATE, blockIdx.x)) + scan_low(at)] = s->found[pixel];
    if (fresh) {
        uint32_t rank = scan_low(scan_offset(s, SCAN_INSERT, blockIdx.x)) + scan_high(at);
        uint64_t id = s->first_id + rank;
        if (rank < s->n_inserted) {
            slot = slot_of_rank(s, rank);
            insert(s, pixel, slot, id);
            s->unstable[s->unstable_now][s->n_unstable + rank] = slot;
        }
        enter_cells(s, cameras, pixel, slot, (uint32_t)id);
    }
    if (pixel < s->n_pixels) {
        s->fresh[pixel] = slot;
        if (s->is_keyframe)
            fill_map(s, pixel, slot);
        through = s->through[pixel];
        if (through != POINT_NONE && s->stat[through].last_seen != s->frame)
            atomicMin(scan_claim(s->claims, through), (unsigned long long)pixel);
    }
    scan_stamp(s, GPU_STAGE_REMOVE);
}

int fuse_cuda(const struct frame_cuda *frames, int n, uint32_t pixels_max, cudaStream_t stream,
              struct err *err)
{
    dim3 grid(scan_blocks(pixels_max), (unsigned)n);
    int rc = 0;
    CU_TRY(scan_launch(update_kernel, grid, SCAN_BLOCK, stream, frames));
    CU_TRY(scan_launch(number_kernel, grid, SCAN_BLOCK, stream, frames));
    CU_TRY(scan_launch(insert_kernel, grid, SCAN_BLOCK, stream, frames));
out:
    return rc;
}
