#include "gpu/mono/session_cpu.h"

#include "gpu/mono/depth_point.h"
#include "gpu/mono/image_point.h"
#include "gpu/net/net_dnnl.h"

void depth_cpu_hide(struct session_cpu *s, const struct gpu_frame *f)
{
    for (uint32_t i = 0; (f->mask || s->map.mapped) && i < s->n_pixels; i++)
        if ((f->mask && f->mask[i]) ||
            !lens_map_shows(&s->map, (int)(i % (uint32_t)s->w), (int)(i / (uint32_t)s->w)))
            s->depth[i] = 0.0f;
}

/* Without a network session_cpu_put_depth() has set the depth. */
int depth_cpu_run(struct gpu_item *item, struct err *err)
{
    struct session_cpu *s = session_cpu_of(item->session);
    const struct network *network =
        item->turn & 1 ? item->session->network_sideways : item->session->networks[GPU_MODEL_DEPTH];
    float *raw = item->turn ? s->raw : s->depth;
    struct depth_scale scale;
    int rc;

    if (!network) {
        depth_cpu_hide(s, gpu_frame_of(item));
        return 0;
    }
    rc = net_dnnl_run(network->exec, s->planes, raw, err);
    if (rc)
        return rc;
    scale = depth_scale_make(&s->base.config.depth->info, depth_focal(s->camera.K));
    for (int y = 0; y < s->h; y++)
        for (int x = 0; x < s->w; x++)
            s->depth[(size_t)y * (size_t)s->w + (size_t)x] =
                depth_metres(&scale, raw[image_turned(x, y, s->w, s->h, item->turn)]);
    depth_cpu_hide(s, gpu_frame_of(item));
    return 0;
}
