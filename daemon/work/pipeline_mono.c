#include "daemon/work/pipeline_mono.h"

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
    return rc;
}
