/*
 * keyframe_cpu.c - whether the frame becomes a keyframe, and its place
 *
 * When all places are taken, the keyframe that another one covers best is dropped (the largest
 * overlap with any other kept one, then the oldest): the other's map still reaches its points.
 * Keyframes that the frame is tested against stay.
 */
#include "gpu/mono/session_cpu.h"

#include "gpu/mono/keyframe_point.h"

/* (K2) */
static int is_keyframe(const struct session_cpu *s)
{
    const struct fuse_params *p = &s->base.config.fuse;
    if (s->n_valid == 0)
        return 0;
    if (s->n_covisible == 0 || keyframe_much_new(s->n_valid, s->n_associated, p->kf_new_share))
        return 1;
    for (int k = 0; k < s->n_covisible; k++)
        if (keyframe_near(&s->keyframes[s->covisible[k].place].camera.T_wc, &s->camera.T_wc,
                          s->median_depth_m, p))
            return 0;
    return 1;
}

static int is_covisible(const struct session_cpu *s, uint32_t place)
{
    for (int k = 0; k < s->n_covisible; k++)
        if (s->covisible[k].place == place)
            return 1;
    return 0;
}

/* The largest overlap of a keyframe with another one that is kept. */
static int covered(const struct session_cpu *s, uint32_t place)
{
    uint32_t n = (uint32_t)s->base.config.fuse.max_keyframes;
    int most = -1;
    for (uint32_t j = 0; j < n; j++)
        if (j != place && s->overlaps[(size_t)place * n + j] > most)
            most = s->overlaps[(size_t)place * n + j];
    return most;
}

static uint32_t least_useful(const struct session_cpu *s)
{
    uint32_t n = (uint32_t)s->base.config.fuse.max_keyframes, worst = POINT_NONE;
    int most = -1;
    for (uint32_t i = 0; i < n; i++) {
        int c;
        if (is_covisible(s, i))
            continue;
        c = covered(s, i);
        if (worst == POINT_NONE || c > most ||
            (c == most && s->keyframes[i].frame < s->keyframes[worst].frame)) {
            worst = i;
            most = c;
        }
    }
    return worst;
}

static uint32_t take_place(struct session_cpu *s)
{
    uint32_t n = (uint32_t)s->base.config.fuse.max_keyframes;
    if (s->n_keyframes < n)
        return s->n_keyframes++;
    return least_useful(s);
}

int keyframe_cpu_run(struct gpu_item *item, struct err *err)
{
    struct session_cpu *s = session_cpu_of(item->session);
    struct gpu_frame *f = gpu_frame_of(item);
    uint32_t n = (uint32_t)s->base.config.fuse.max_keyframes;

    (void)err;
    s->is_keyframe = is_keyframe(s);
    if (s->is_keyframe) {
        uint32_t place = take_place(s);
        struct keyframe *kf = &s->keyframes[place];
        kf->camera = s->camera;
        kf->grid = s->grid;
        kf->frame = s->frame;
        s->worlds[place] = s->submap;
        s->overlap_now[place] = 0;
        for (uint32_t j = 0; j < n; j++) {
            s->overlaps[(size_t)place * n + j] = s->overlap_now[j];
            s->overlaps[(size_t)j * n + place] = s->overlap_now[j];
        }
        s->place_new = place;
    }
    f->result.is_keyframe = s->is_keyframe;
    f->result.n_keyframes = s->n_keyframes;
    return 0;
}
