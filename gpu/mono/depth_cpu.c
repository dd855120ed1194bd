#include "gpu/mono/session_cpu.h"

#include "gpu/mono/depth_point.h"

int depth_cpu_run(struct session_cpu *s, struct err *err)
{
    struct depth_scale scale;
    int rc;
    if (!s->depth_plan)
        return err_set(err, ERR_STATE, "the session has no depth network");
    rc = net_dnnl_run(s->depth_plan->exec, s->planes, s->depth, err);
    if (rc)
        return rc;
    scale = depth_scale_make(&s->base.config.depth->info, s->camera.K.fx);
    for (uint32_t i = 0; i < s->n_pixels; i++)
        s->depth[i] = depth_metres(&scale, s->depth[i]);
    return 0;
}
