/*
 * views_cpu.c - the view that a frame fuses: its own depth as it is, corrected, or a keyframe that
 * becomes final now
 */
#include "gpu/mono/motion_point.h"
#include "gpu/mono/image_point.h"
#include "gpu/mono/session_cpu.h"
#include "gpu/views/contrast_point.h"

_Static_assert(IMAGE_LEVEL == CONTRAST_ONE, "image_level() is what contrasts are made of");

int views_cpu_run(struct gpu_item *item, struct err *err)
{
    struct session_cpu *s = session_cpu_of(item->session);
    struct gpu_frame *f = gpu_frame_of(item);
    const struct views_frame now = {.rgb = s->rgb,
                                    .level = s->level,
                                    .depth = s->depth,
                                    .T_wc = s->camera.T_wc,
                                    .K = s->camera.K,
                                    .source = f->source,
                                    .submap = f->submap,
                                    .breaks = f->breaks,
                                    .goes_on = f->goes_on != 0,
                                    .begins = motion_begins(&f->result.tracks)};

    (void)err;
    if (!s->views || !(f->has_pose || s->path)) {
        s->view = (struct view){s->submap, s->camera, s->depth, s->rgb, s->trust, 0, 0, 0};
        return 0;
    }
    plan_cpu(s->views, &now);
    sweep_cpu(s->views);
    if (item->session->config.views == GPU_VIEWS_REFINED)
        refine_cpu(s->views);
    fine_cpu(s->views);
    agree_cpu(s->views);
    draw_cpu(s->views);
    field_cpu(s->views, &now);
    f->result.views = s->views->told;
    s->view = view_of_views(s->views, s->rgb, s->submap);
    return 0;
}
