/*
 * change_cpu.c - the published points that changed: updated points in the order of their pixels,
 * then carved points in the order of removal. A slot is in the list at most once.
 */
#include "gpu/mono/session_cpu.h"

#include "gpu/mono/change_point.h"

static void emit(struct session_cpu *s, uint32_t slot, int kind)
{
    s->changes[s->n_changes++] =
        change_make(s->id[slot], slot, &s->normal[slot], &s->out[slot], kind);
}

int change_cpu_run(struct gpu_item *item, struct err *err)
{
    struct session_cpu *s = session_cpu_of(item->session);
    struct gpu_frame *f = gpu_frame_of(item);
    const struct gpu_session_config *c = &s->base.config;

    (void)err;
    s->n_changes = 0;
    for (uint32_t pixel = 0; pixel < s->n_pixels; pixel++) {
        uint32_t slot = s->found[pixel];
        int kind;
        if (!s->won[pixel])
            continue;
        kind = change_updated(&s->place[slot], &s->stat[slot], &s->normal[slot], &s->out[slot],
                              s->usable[pixel], c->step_m, &c->fuse);
        if (kind)
            emit(s, slot, kind);
    }
    for (uint32_t i = 0; i < s->n_carved; i++) {
        uint32_t slot = s->carved[i];
        if (s->out[slot].confidence) {
            s->out[slot].confidence = 0;
            emit(s, slot, GPU_CHANGE_REMOVE);
        }
    }
    f->result.submap = s->view.submap;
    f->result.n_changes = s->n_changes;
    f->changes = s->changes;
    return 0;
}
