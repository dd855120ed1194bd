/*
 * motion_cuda.cu - the pose of each frame: given, or the last one moved by what the network says
 *
 * Grid:    (1, frames), one thread: this is a chain of some hundred operations
 * Order:   the picture that image_cuda() has remembered by now is the next frame's previous one, so
 *          has_previous is still that of this frame until it is set here.
 */
#include "gpu/scan_cuda.cuh"

#include "gpu/cuda_try.h"
#include "gpu/motion_point.h"

static __global__ void motion_kernel(const struct frame_cuda *frames)
{
    scan_begin();
    const struct frame_cuda *f = &frames[blockIdx.y];
    struct session_dev *s = f->s;
    struct rigid T;
    if (s == NULL)
        return;
    if (f->restart)
        s->has_previous = 0;
    T = s->has_last ? s->T_last : rigid_identity();
    if (f->has_pose)
        T = f->T_wc;
    else if (s->has_previous && f->motion_raw)
        T = motion_compose(&T, f->motion_raw);
    if (s->previous)
        s->has_previous = 1;
    s->T_last = T;
    s->has_last = 1;
    s->camera = camera_make(&T, s->camera.K, s->w, s->h);
    scan_stamp(s, GPU_STAGE_COVISIBLE);
}

int motion_cuda(const struct frame_cuda *frames, int n, uint32_t pixels_max, cudaStream_t stream,
                struct err *err)
{
    dim3 grid(1, (unsigned)n);
    int rc = 0;
    (void)pixels_max;
    motion_kernel<<<grid, 1, 0, stream>>>(frames);
    CU_TRY(cuda_try_launch());
out:
    return rc;
}
