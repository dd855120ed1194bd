#include "gpu/mono/session_cpu.h"

#include "gpu/mono/motion_point.h"
#include "gpu/net/net_dnnl.h"

/* Planes 6 and 7 of the network's input: the direction of each pixel's ray. */
static void put_rays(struct session_cpu *s)
{
    float *rx = s->pair + 6 * (size_t)s->n_pixels, *ry = rx + s->n_pixels;
    for (int y = 0; y < s->h; y++)
        for (int x = 0; x < s->w; x++) {
            *rx++ = ((float)x - s->camera.K.cx) / s->camera.K.fx;
            *ry++ = ((float)y - s->camera.K.cy) / s->camera.K.fy;
        }
}

/* (M2) Without a previous picture the last pose stands; the first frame of all is at the origin.
 * (M4) Inertial samples give the camera's turn more exactly. */
static int learned_pose(struct session_cpu *s, const struct gpu_frame *f, struct rigid *T_wc,
                        struct err *err)
{
    struct rigid last = motion_last(s->has_last, &s->T_last, f->has_start, &f->T_wc);
    float m[6];
    int rc = 0;

    *T_wc = last;
    if (s->has_previous && s->base.config.motion->info.rays)
        put_rays(s);
    if (s->has_previous)
        rc = net_dnnl_run(s->base.networks[GPU_MODEL_MOTION]->exec, s->pair, m, err);
    if (s->has_previous && rc == 0)
        *T_wc = motion_compose(&last, m);
    if (s->has_last && !f->restart && f->turn_s > 0.0f)
        motion_turn(T_wc, &last, f->turn);
    return rc;
}

/* (P9) The pose of tracks; where they are lost, *T_wc stays. (P11) The network's depth becomes the
 * path's; a sensor's is metres already. */
static void motion_follow_frame(struct session_cpu *s, struct gpu_frame *f, struct rigid *T_wc)
{
    const struct track_frame pictures = {s->rgb, f->mask, f->restart};
    const struct path_frame now = {
        s->depth, T_wc, s->camera.K, f->restart, {f->turn[0], f->turn[1], f->turn[2]}, f->turn_s};

    track_cpu(s->track, &pictures);
    path_cpu(s->path, s->track, &now);
    motion_follow(T_wc, &f->result.tracks, s->path);
    for (uint32_t i = 0; !s->trust && i < s->n_pixels; i++)
        s->depth[i] *= s->path->told.correction;
}

int motion_cpu_run(struct gpu_item *item, struct err *err)
{
    struct session_cpu *s = session_cpu_of(item->session);
    struct gpu_frame *f = gpu_frame_of(item);
    struct rigid T_wc = f->T_wc;
    size_t picture = 3 * (size_t)s->n_pixels;
    int rc = 0;

    if (f->restart)
        s->has_previous = 0;
    if (!f->has_pose)
        rc = learned_pose(s, f, &T_wc, err);
    if (rc)
        return rc;
    if (!f->has_pose && s->path)
        motion_follow_frame(s, f, &T_wc);
    if (s->base.config.motion) {
        memcpy(s->pair, s->pair + picture, picture * sizeof *s->pair);
        s->has_previous = 1;
    }
    s->T_last = T_wc;
    s->has_last = 1;
    s->camera = camera_make(&T_wc, s->camera.K, s->w, s->h);
    f->result.T_wc = T_wc;
    return 0;
}
