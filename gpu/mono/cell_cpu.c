/*
 * cell_cpu.c - which points pixels observe and see through where points lie in cubes of space
 */
#include "gpu/mono/session_cpu.h"

static uint32_t cell_find_entry(const struct session_cpu *s, struct vec3 q, int level)
{
    return cell_find(s->table, s->table_mask,
                     cell_key(q, level, s->view.submap, &s->base.config.fuse), s->place);
}

/* (Q5) Returns the entry of a key and makes a missing one; POINT_NONE for key 0. */
static uint32_t enter(struct session_cpu *s, uint64_t key)
{
    uint32_t i = cell_hash(key) & s->table_mask;
    if (key == 0)
        return POINT_NONE;
    while (s->table[i].key != key && s->table[i].key != 0)
        i = (i + 1) & s->table_mask;
    s->n_entries += s->table[i].key == 0;
    s->table[i].key = key;
    return i;
}

/* (Q2) The first of the pixel's slots whose point the frame sees through. */
static uint32_t patrol(const struct session_cpu *s, uint32_t pixel)
{
    for (uint32_t i = 0; i < CELL_PATROL && s->n_slots > 0; i++) {
        uint32_t slot = cell_patrol(s->frame, pixel, i, s->n_pixels, s->n_slots);
        int here = cell_submap(s->key[slot]) == s->view.submap;
        if (cell_unwanted(&s->place[slot], &s->stat[slot], here, &s->view.camera, s->usable,
                          &s->view, s->frame, s->room_short, &s->base.config.fuse))
            return slot;
    }
    return POINT_NONE;
}

void cell_cpu_look_up(struct session_cpu *s, uint32_t pixel)
{
    const struct fuse_params *p = &s->base.config.fuse;
    struct vec3 p_i = s->world[pixel];
    float z = s->usable[pixel];
    int level = cell_level(z, p);
    uint32_t slot = level > 0 ? cell_find_entry(s, p_i, level - 1) : POINT_NONE, through;

    if (slot == POINT_NONE)
        slot = cell_find_entry(s, p_i, level);
    through = patrol(s, pixel);
    if (through == POINT_NONE)
        through = cell_find_entry(s, p_i, level + 1);
    s->found[pixel] = slot;
    s->through[pixel] = through == slot ? POINT_NONE : through;
    s->entry[pixel] = POINT_NONE;
    if (slot == POINT_NONE) {
        uint32_t i = s->entry[pixel] = enter(s, cell_key(p_i, level, s->view.submap, p));
        if (i != POINT_NONE && (cell_slot(s->table[i].held, s->place) == POINT_NONE) &&
            s->table[i].held < cell_claim(pixel))
            s->table[i].held = cell_claim(pixel);
    } else {
        s->distance[pixel] = sqrtf(vec3_norm2(vec3_sub(p_i, point_position(&s->place[slot]))));
    }
}

void cell_cpu_rebuild(struct session_cpu *s)
{
    memset(s->table, 0, ((size_t)s->table_mask + 1) * sizeof *s->table);
    s->n_entries = 0;
    for (uint32_t slot = 0; slot < s->n_slots; slot++)
        if (s->place[slot].tag) {
            struct cell_entry *e = &s->table[enter(s, s->key[slot])];
            uint64_t held = cell_hold(slot, s->place[slot].tag);
            if (e->held < held)
                e->held = held;
        }
}
