/*
 * update_cuda.cu - the pass that updates: claimed points are fused with their pixels, votes against
 * points are counted, won cells are marked, and the frame becomes a keyframe or not
 *
 * Grid:    (1 + blocks of pixels, frames). Block 0 decides on the keyframe (keyframe_cuda.cuh). The
 *          others have a thread a pixel: it updates or carves the points whose claims it has, finds
 *          the cells that it won and counts the entries of later lists.
 */
#include "gpu/mono/scan_cuda.cuh"

#include "gpu/mono/fuse_cuda.cuh"
#include "gpu/mono/keyframe_cuda.cuh"
#include "gpu/mono/remove_cuda.cuh"

/* The results of associate_cuda() for a pixel; z = 0: it is not fused. */
struct sight {
    uint32_t found, through, open;
    float distance, z;
};

/* All loads are issued before the first use. */
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
            mark |= fuse_claimed(s, pixel, r->found);
        return mark;
    }
    mark |= 1u << SCAN_WANTS;
    if (s->table) {
        uint32_t i = s->entry[pixel];
        mark |= i != POINT_NONE && s->table[i].held == cell_claim(pixel) ? 1u << SCAN_WINS : 0u;
    } else if (r->open) {
        wins = fuse_win_cells(s, cameras, pixel, r->open);
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
        scan_stamp(s, SESSION_CUDA_UPDATE);
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

int update_cuda(const struct pass_cuda *p, struct err *err)
{
    return scan_launch(SCAN_BEHIND_OURS, update_kernel, 1 + scan_blocks(p->pixels_max), SCAN_BLOCK,
                       p, err);
}
