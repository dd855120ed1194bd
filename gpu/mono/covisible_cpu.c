#include "gpu/mono/session_cpu.h"

static void make_grid(struct session_cpu *s)
{
    for (int i = 0; i < COVISIBLE_GRID; i++) {
        uint32_t pixel = covisible_pixel(i, s->w, s->h);
        float z = s->depth[pixel];
        s->grid.valid[i] = z > 0.0f;
        s->grid.p[i] = point_back_project(&s->camera, (int)pixel % s->w, (int)pixel / s->w, z);
    }
}

/* Insert into the list of the n best. */
static void keep_best(struct session_cpu *s, uint32_t place, int overlap)
{
    struct covisible_cpu *best = s->covisible;
    int n = s->base.config.fuse.n_covisible, i = s->n_covisible;
    uint32_t frame = s->keyframes[place].frame;
    if (i < n)
        s->n_covisible++;
    else if (!covisible_before(overlap, frame, best[n - 1].overlap,
                               s->keyframes[best[n - 1].place].frame))
        return;
    else
        i = n - 1;
    for (; i > 0 && covisible_before(overlap, frame, best[i - 1].overlap,
                                     s->keyframes[best[i - 1].place].frame);
         i--)
        best[i] = best[i - 1];
    best[i].place = place;
    best[i].overlap = overlap;
}

int covisible_cpu_run(struct gpu_item *item, struct err *err)
{
    struct session_cpu *s = session_cpu_of(item->session);
    struct gpu_frame *f = gpu_frame_of(item);

    (void)err;
    make_grid(s);
    s->n_covisible = 0;
    for (uint32_t k = 0; k < (uint32_t)s->base.config.fuse.max_keyframes; k++) {
        const struct keyframe *kf = &s->keyframes[k];
        int overlap = 0;
        if (kf->frame && s->worlds[k] == s->submap)
            overlap = covisible_overlap(&kf->grid, &kf->camera, &s->grid, &s->camera);
        s->overlap_now[k] = (uint8_t)overlap;
        if (overlap > 0)
            keep_best(s, k, overlap);
    }
    f->result.n_covisible = (uint32_t)s->n_covisible;
    return 0;
}
