#include "gpu/mono/session_cpu.h"

#include "gpu/mono/remove_point.h"

static void free_slot(struct session_cpu *s, uint32_t slot)
{
    if (s->stat[slot].state == POINT_STABLE)
        s->n_stable--;
    remove_free(&s->place[slot], &s->stat[slot]);
    s->free_slots[s->n_free++] = slot;
    s->n_points--;
}

/* (V27) The weight of a vote against a point. */
static int weight(const struct session_cpu *s, uint32_t slot)
{
    return s->table ? cell_vote(&s->view, s->usable, point_position(&s->place[slot]),
                                &s->base.config.fuse)
                    : 1;
}

/* (R2) The first pixel that sees through a point votes against it; removal follows their order. */
static void carve(struct session_cpu *s)
{
    s->n_carved = 0;
    for (uint32_t pixel = 0; pixel < s->n_pixels; pixel++) {
        uint32_t slot = s->through[pixel];
        if (slot == POINT_NONE || s->stat[slot].state == POINT_FREE ||
            !remove_vote(&s->stat[slot], s->frame, s->room_short, s->view.settles, weight(s, slot),
                         &s->base.config.fuse))
            continue;
        s->carved[s->n_carved++] = slot;
        free_slot(s, slot);
    }
}

/* (R1) Compacts the list of unstable points in place and in order: carved and stable points leave
 * it, expired ones leave it and the model. */
static void compact(struct session_cpu *s)
{
    uint32_t kept = 0;
    s->n_removed = 0;
    for (uint32_t i = 0; i < s->n_unstable; i++) {
        uint32_t slot = s->unstable[i];
        if (s->stat[slot].state != POINT_UNSTABLE)
            continue;
        if (remove_expired(&s->stat[slot], s->frame, s->base.config.fuse.grace_frames)) {
            free_slot(s, slot);
            s->n_removed++;
        } else {
            s->unstable[kept++] = slot;
        }
    }
    s->n_unstable = kept;
}

int remove_cpu_run(struct gpu_item *item, struct err *err)
{
    struct session_cpu *s = session_cpu_of(item->session);
    struct gpu_frame *f = gpu_frame_of(item);

    (void)err;
    carve(s);
    compact(s);
    if (s->table && cell_table_worn(s->n_entries, s->n_pixels, s->table_mask + 1))
        cell_cpu_rebuild(s);
    f->result.n_carved = s->n_carved;
    f->result.n_removed = s->n_removed;
    f->result.n_points = s->n_points;
    f->result.n_stable = s->n_stable;
    return 0;
}
