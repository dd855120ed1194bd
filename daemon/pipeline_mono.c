#include "daemon/pipeline_mono.h"

/* What concerns one session's model: which points are seen, what they become, which go, what
 * changed. */
static int model_stages(struct gpu *g, struct gpu_frame *f, struct err *err)
{
    int rc = gpu_covisible(g, f, err);

    if (rc == 0)
        rc = gpu_associate(g, f, err);
    if (rc == 0)
        rc = gpu_keyframe(g, f, err);
    if (rc == 0)
        rc = gpu_fuse(g, f, err);
    if (rc == 0)
        rc = gpu_remove(g, f, err);
    if (rc == 0)
        rc = gpu_change(g, f, err);
    return rc;
}

int pipeline_mono(struct gpu *g, struct gpu_frame *const *frames, int n, struct err *err)
{
    int rc = gpu_upload(g, frames, n, err);

    if (rc == 0)
        rc = gpu_image(g, frames, n, err);
    if (rc == 0)
        rc = gpu_depth(g, frames, n, err);
    if (rc == 0)
        rc = gpu_motion(g, frames, n, err);
    for (int i = 0; i < n && rc == 0; i++)
        rc = model_stages(g, frames[i], err);
    if (rc == 0)
        rc = gpu_download(g, frames, n, err);
    if (rc == 0)
        return gpu_wait(g, err);
    /* the pictures are about to be used again, so nothing may be under way; the first error is the
     * one told */
    if (rc != ERR_DEVICE && gpu_wait(g, NULL) == ERR_DEVICE)
        rc = ERR_DEVICE;
    return rc;
}
