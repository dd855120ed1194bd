/*
 * follow_cuda.cu - tracks and the path (gpu/track) as part of line mono's motion pass
 *
 * Grid:    a thread a frame: the pose if tracks are lost (M2); then the grids of track_cuda_run()
 *          and path_cuda_run(); then (blocks of pixels, frames), a thread a pixel: (P11)
 */
#include "gpu/mono/scan_cuda.cuh"

#include "gpu/mono/motion_cuda.cuh"

static __global__ void guess_kernel(const struct frame_cuda *frames)
{
    const struct frame_cuda *f = &frames[blockIdx.y];
    if (f->s && f->path.p && threadIdx.x == 0)
        f->s->T_guess = motion_guess(f, f->s);
}

/* The camera's pose as tracks tell it. */
static __global__ void stand_kernel(const struct frame_cuda *frames)
{
    const struct frame_cuda *f = &frames[blockIdx.y];
    struct session_dev *s = f->s;
    if (!s || !f->path.p || threadIdx.x)
        return;
    s->stand.T_wc = s->T_guess;
    motion_follow(&s->stand.T_wc, &s->tracks, f->path.p);
    s->stand.begins = motion_begins(&s->tracks);
}

/* A sensor's depth is already in metres. */
static __global__ void correct_kernel(const struct frame_cuda *frames)
{
    scan_begin();
    const struct frame_cuda *f = &frames[blockIdx.y];
    struct session_dev *s = f->s;
    uint32_t pixel = blockIdx.x * SCAN_BLOCK + threadIdx.x;
    if (scan_idle(s, blockIdx.x) || !f->path.p || s->trust || pixel >= s->n_pixels)
        return;
    s->depth[pixel] *= f->path.p->told.correction;
    if (f->depth_out)
        f->depth_out[pixel] = s->depth[pixel];
}

int follow_cuda(const struct pass_cuda *p, struct err *err)
{
    const struct frame_cuda *frames = (const struct frame_cuda *)p->args;
    struct track_batch b = {};
    int rc;

    if (!p->tracks)
        return 0;
    b.first = &frames->track;
    b.stride = sizeof *frames;
    b.n = p->n;
    b.w_max = p->w_max;
    b.h_max = p->h_max;
    b.stream = p->stream;
    rc = scan_launch(SCAN_BEHIND_ANY, guess_kernel, 1, 32, p, err);
    if (rc == 0)
        rc = track_cuda_run(&b, err);
    if (rc == 0)
        rc = path_cuda_run(&frames->path, sizeof *frames, p->n, p->stream, err);
    if (rc == 0)
        rc = scan_launch(SCAN_BEHIND_ANY, stand_kernel, 1, 32, p, err);
    return rc ? rc
              : scan_launch(SCAN_BEHIND_ANY, correct_kernel, scan_blocks(p->pixels_max), SCAN_BLOCK,
                            p, err);
}
