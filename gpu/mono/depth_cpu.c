#include "gpu/mono/session_cpu.h"

#include "gpu/mono/depth_point.h"
#include "gpu/net/net_dnnl.h"

/* Without a network the session has its depth already (session_cpu_put_depth()). */
int depth_cpu_run(struct gpu_item *item, struct err *err)
{
    struct session_cpu *s = session_cpu_of(item->session);
    const struct network *network = item->session->networks[GPU_MODEL_DEPTH];
    struct depth_scale scale;
    int rc;

    if (!network)
        return 0;
    rc = net_dnnl_run(network->exec, s->planes, s->depth, err);
    if (rc)
        return rc;
    scale = depth_scale_make(&s->base.config.depth->info, s->camera.K.fx);
    for (uint32_t i = 0; i < s->n_pixels; i++)
        s->depth[i] = depth_metres(&scale, s->depth[i]);
    return 0;
}
