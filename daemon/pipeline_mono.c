#include "daemon/pipeline_mono.h"

int pipeline_mono(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err)
{
    int rc = gpu_upload(g, frames, n, err);

    if (rc == 0)
        rc = gpu_image(g, frames, n, err);
    if (rc == 0)
        rc = gpu_depth(g, frames, n, err);
    if (rc == 0)
        rc = gpu_motion(g, frames, n, err);
    if (rc == 0)
        rc = gpu_covisible(g, frames, n, err);
    if (rc == 0)
        rc = gpu_associate(g, frames, n, err);
    if (rc == 0)
        rc = gpu_keyframe(g, frames, n, err);
    if (rc == 0)
        rc = gpu_fuse(g, frames, n, err);
    if (rc == 0)
        rc = gpu_remove(g, frames, n, err);
    if (rc == 0)
        rc = gpu_change(g, frames, n, err);
    if (rc == 0)
        rc = gpu_download(g, frames, n, err);
    if (rc == 0)
        return gpu_wait(g, frames, n, err);
    /* the pictures are about to be used again, so nothing may be under way; the first error is the
     * one told */
    if (rc != ERR_DEVICE && gpu_wait(g, frames, n, NULL) == ERR_DEVICE)
        rc = ERR_DEVICE;
    return rc;
}
