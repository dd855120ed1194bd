/*
 * fuse_cuda.cu - claimed points are updated, pixels without a point insert one, maps learn of them,
 * clients hear of it
 *
 * Two passes, a thread a pixel.
 * update_kernel: (1 + blocks of pixels, frames). Block 0 decides on the keyframe
 *          (keyframe_cuda.cuh). The others update or carve the points whose claims they have, see
 *          which cells they won and count what the lists behind get.
 * insert_kernel: (blocks of pixels + SCAN_CHUNKS, frames). Blocks of pixels write new points, the
 *          maps, the changes, and what becomes unstable or free; a block behind them counts what
 *          stays of its share of the list of unstable points (remove_cuda.cuh).
 * Order:   a claim is taken back by its only winner while losers may still read it: neither value
 *          is theirs. Inserted points go to slots that were free before the frame, so none of them
 *          is in the list, voted against or updated; the carved ones become free behind.
 */
#include "gpu/mono/scan_cuda.cuh"

#include "gpu/mono/change_cuda.cuh"
#include "gpu/base/cuda_try.h"
#include "gpu/mono/fuse_point.h"
#include "gpu/mono/keyframe_cuda.cuh"
#include "gpu/mono/remove_cuda.cuh"

/* (3)-(5) for the pixel that has the point's claim. Returns its marks. */
static __device__ uint32_t update(struct session_dev *s, uint32_t pixel, uint32_t slot)
{
    struct point_place place = scan_load(&s->place[slot]);
    struct point_stat stat = scan_load(&s->stat[slot]);
    struct point_out out = scan_load(&s->out[slot]);
    struct vec3 p_i = s->world[pixel]; /* all loads before the first store */
    float z = s->usable[pixel];
    int was = stat.state, kind;
    uint32_t mark = 1u << SCAN_WON;
    uint8_t rgb[3];

    for (int i = 0; i < 3; i++)
        rgb[i] = s->rgb[3 * (size_t)pixel + i];
    s->claims[slot] = POINT_UNCLAIMED;
    fuse_update(&place, &stat, p_i, rgb, z, s->frame, &s->fuse);
    kind = change_updated(&place, &stat, &out, z, s->step_m, &s->fuse);
    scan_store(&s->place[slot], place);
    scan_store(&s->stat[slot], stat);
    if (kind)
        scan_store(&s->out[slot], out);
    if (was == POINT_STABLE && stat.state == POINT_UNSTABLE)
        mark |= 1u << SCAN_UNSTABLE;
    if (was != POINT_STABLE && stat.state == POINT_STABLE)
        mark |= 1u << SCAN_UP;
    if (kind)
        mark |= 1u << SCAN_CHANGED;
    if (kind == GPU_CHANGE_REMOVE)
        mark |= 1u << SCAN_TAKEN_BACK;
    return mark;
}

/* The open cells that the pixel has won, in bits; their claims are taken back. */
static __device__ uint32_t win_cells(struct session_dev *s, const struct camera *cameras,
                                     uint32_t pixel, uint32_t open)
{
    struct vec3 p = s->world[pixel];
    uint32_t wins = 0;
    for (; open; open &= open - 1) {
        int k = __ffs((int)open) - 1;
        uint32_t cell;
        uint64_t *claim;
        float z_k;
        if (!point_project(&cameras[k], p, &cell, &z_k))
            continue;
        claim = &s->cell_claims[(size_t)k * s->n_pixels + cell];
        if (*claim != point_claim(z_k, pixel))
            continue;
        *claim = POINT_UNCLAIMED;
        wins |= 1u << k;
    }
    return wins;
}

/* What associate_cuda() found out about a pixel; z = 0: it is not fused. */
struct sight {
    uint32_t found, through, open;
    float distance, z;
};

/* All of it is asked for before any is looked at. */
static __device__ inline struct sight load_sight(const struct session_dev *s, uint32_t pixel)
{
    struct sight r = {POINT_NONE, POINT_NONE, 0, 0.0f, 0.0f};
    if (pixel < s->n_pixels) {
        r.found = s->found[pixel];
        r.through = s->through[pixel];
        r.open = s->wins[pixel];
        r.distance = s->distance[pixel];
        r.z = s->usable[pixel];
    }
    return r;
}

/* Returns the pixel's marks. */
static __device__ uint32_t update_pixel(struct session_dev *s, const struct camera *cameras,
                                        const struct sight *r, uint32_t pixel)
{
    uint32_t mark = 0, wins;
    if (!(r->z > 0.0f))
        return 0;
    if (r->through != POINT_NONE && s->claims[r->through] == scan_vote(pixel))
        mark |= remove_vote_of(s, r->through);
    if (r->found != POINT_NONE) {
        if (s->claims[r->found] == point_claim(r->distance, pixel))
            mark |= update(s, pixel, r->found);
        return mark;
    }
    mark |= 1u << SCAN_WANTS;
    if (r->open) {
        wins = win_cells(s, cameras, pixel, r->open);
        s->wins[pixel] = (uint16_t)wins;
        mark |= wins ? 1u << SCAN_WINS : 0u;
    }
    return mark;
}

static __global__ void update_kernel(const struct frame_cuda *frames)
{
    scan_begin();
    __shared__ struct camera cameras[GPU_COVISIBLE_MAX];
    struct session_dev *s = frames[blockIdx.y].s;
    uint32_t block = blockIdx.x - 1, pixel = block * SCAN_BLOCK + threadIdx.x, mark = 0;
    struct sight r;

    if (s == NULL)
        return;
    if (blockIdx.x == 0) {
        keyframe_choose(s);
        return;
    }
    if (scan_idle(s, block))
        return;
    r = load_sight(s, pixel);
    scan_cameras(cameras, s);
    if (pixel < s->n_pixels) {
        mark = update_pixel(s, cameras, &r, pixel);
        s->mark[pixel] = (uint16_t)mark;
    }
    scan_count(s, block, mark);
}

/* What a frame inserts. */
struct room {
    uint32_t n_inserted, n_recycled;
    uint64_t first_id;
};

/* Slots and ids for n_fresh points; what finds no room is left out. */
static __device__ struct room find_room(const struct session_dev *s, uint32_t n_fresh)
{
    uint32_t left = s->was.n_free + (s->max_points - s->was.n_slots);
    struct room r;
    r.n_inserted = n_fresh < left ? n_fresh : left;
    r.n_recycled = r.n_inserted < s->was.n_free ? r.n_inserted : s->was.n_free;
    r.first_id = point_first_id(s->was.next_id, r.n_inserted);
    return r;
}

/* By one thread: what the frame comes to so far. Nobody reads the model's live counts in this
 * pass. */
static __device__ void settle(struct session_dev *s, const struct scan_sums *sums,
                              const struct room *r, uint32_t n_fresh)
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

/* The r-th slot that is handed out in this frame: freed ones first, the last freed first of all. */
static __device__ inline uint32_t slot_of_rank(const struct session_dev *s, uint32_t r)
{
    return r < s->was.n_free ? s->free_slots[s->was.n_free - 1 - r]
                             : s->was.n_slots + (r - s->was.n_free);
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

/* The cells that the pixel won get its point. */
static __device__ void enter_cells(struct session_dev *s, const struct camera *cameras,
                                   uint32_t pixel, uint32_t slot, uint32_t tag)
{
    struct vec3 p = s->world[pixel];
    struct map_cell entry = {slot, tag};
    for (uint32_t wins = s->wins[pixel]; wins; wins &= wins - 1) {
        int k = __ffs((int)wins) - 1;
        uint32_t cell;
        float z_k;
        if (point_project(&cameras[k], p, &cell, &z_k))
            s->maps[(size_t)s->covisible[k].place * s->n_pixels + cell] = entry;
    }
}

/* A new keyframe's map: the point that the pixel observed or inserted, which has the tag
 * `fresh`. */
static __device__ void fill_map(struct session_dev *s, uint32_t pixel, uint32_t found,
                                uint32_t inserted, uint32_t fresh)
{
    struct map_cell cell = {0, 0};
    if (found != POINT_NONE) {
        cell.slot = found;
        cell.tag = s->place[found].tag;
    } else if (inserted != POINT_NONE) {
        cell.slot = inserted;
        cell.tag = fresh;
    }
    s->maps[(size_t)s->place_new * s->n_pixels + pixel] = cell;
}

/* The pixel's new point, if there is room for one. Returns its slot. */
static __device__ uint32_t insert_pixel(struct session_dev *s, const struct camera *cameras,
                                        const struct room *r, uint32_t pixel, uint32_t rank,
                                        uint32_t *appended)
{
    uint64_t id = r->first_id + rank;
    uint32_t slot;
    if (rank >= r->n_inserted)
        return POINT_NONE;
    slot = slot_of_rank(s, rank);
    insert(s, pixel, slot, id);
    enter_cells(s, cameras, pixel, slot, (uint32_t)id);
    appended[rank] = slot;
    return slot;
}

/* A block of pixels. */
static __device__ void insert_block(const struct frame_cuda *f, struct session_dev *s)
{
    __shared__ struct camera cameras[GPU_COVISIBLE_MAX];
    __shared__ struct scan_sums sums;
    uint32_t *appended = s->unstable[s->was.unstable_now] + s->was.n_unstable;
    uint32_t pixel = blockIdx.x * SCAN_BLOCK + threadIdx.x, mark = 0, slot = POINT_NONE;
    uint32_t found = POINT_NONE, through = POINT_NONE, place, n_fresh, first;
    int wanted = s->is_keyframe ? SCAN_WANTS : SCAN_WINS;
    struct room r;
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
    r = find_room(s, n_fresh);
    if (pixel == 0)
        settle(s, &sums, &r, n_fresh);
    if (mark >> SCAN_UNSTABLE & 1)
        appended[sums.before[SCAN_UNSTABLE] + scan_place(rank, SCAN_UNSTABLE)] = found;
    if (mark >> SCAN_CARVED & 1)
        s->carved[sums.before[SCAN_CARVED] + scan_place(rank, SCAN_CARVED)] = through;
    change_tell(s, f->changes, &sums, rank, mark, found, through);
    place = first + scan_place(rank, SCAN_FRESH);
    if (fresh)
        slot = insert_pixel(s, cameras, &r, pixel, place, appended + sums.total[SCAN_UNSTABLE]);
    if (pixel < s->n_pixels && s->is_keyframe)
        fill_map(s, pixel, found, slot, (uint32_t)(r.first_id + place));
}

static __global__ void insert_kernel(const struct frame_cuda *frames, uint32_t pixel_blocks)
{
    scan_begin();
    const struct frame_cuda *f = &frames[blockIdx.y];
    struct session_dev *s = f->s;
    if (s == NULL)
        return;
    if (blockIdx.x >= pixel_blocks)
        remove_count(s, blockIdx.x - pixel_blocks);
    else if (!scan_idle(s, blockIdx.x))
        insert_block(f, s);
    scan_stamp(s, SESSION_CUDA_REMOVE);
}

int fuse_cuda(const struct pass_cuda *p, struct err *err)
{
    const struct frame_cuda *frames = (const struct frame_cuda *)p->args;
    uint32_t blocks = scan_blocks(p->pixels_max);
    dim3 pixels(1 + blocks, (unsigned)p->n), both(blocks + SCAN_CHUNKS, (unsigned)p->n);
    int rc = 0;
    CU_TRY(scan_launch(update_kernel, pixels, SCAN_BLOCK, p->stream, frames));
    CU_TRY(scan_launch(insert_kernel, both, SCAN_BLOCK, p->stream, frames, blocks));
out:
    return rc;
}
