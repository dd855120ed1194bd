/*
 * fuse_cpu.c - claimed points are updated, pixels without a point insert one, maps record them
 *
 * A claimed slot or cell has exactly one winner, which resets the claim: all are unclaimed between
 * frames, so neither the model nor the maps need clearing.
 */
#include "gpu/mono/session_cpu.h"

#include "gpu/mono/fuse_point.h"
#include "gpu/mono/normal_point.h"

static struct normal_map map_of(const struct session_cpu *s)
{
    return normal_map_make(s->usable, s->world, s->w, s->h, &s->view.camera);
}

static void update(struct session_cpu *s, uint32_t pixel, uint32_t slot)
{
    struct point_stat *stat = &s->stat[slot];
    int was = stat->state, evidence = view_evidence(&s->view, pixel, &s->base.config.fuse);
    struct normal_map map = map_of(s);
    fuse_settle(stat, s->view.settles);
    normal_fuse(&s->normal[slot], normal_at(&map, pixel), stat->w_a,
                s->base.config.fuse.w0 * (float)evidence);
    fuse_update(&s->place[slot], stat, s->world[pixel], s->view.rgb + 3 * (size_t)pixel,
                s->usable[pixel], evidence, s->frame, &s->base.config.fuse);
    stat->provisional = stat->provisional && view_is_guess(&s->view, pixel);
    if (was == POINT_STABLE && stat->state == POINT_UNSTABLE) {
        s->unstable[s->n_unstable++] = slot;
        s->n_stable--;
    } else if (was == POINT_UNSTABLE && stat->state == POINT_STABLE) {
        s->n_stable++;
    }
}

static uint32_t update_claimed(struct session_cpu *s)
{
    uint32_t n = 0;
    for (uint32_t pixel = 0; pixel < s->n_pixels; pixel++) {
        uint32_t slot = s->found[pixel];
        s->won[pixel] = 0;
        if (slot == POINT_NONE || s->claims[slot] != point_claim(s->distance[pixel], pixel))
            continue;
        s->claims[slot] = POINT_UNCLAIMED;
        s->won[pixel] = 1;
        update(s, pixel, slot);
        n++;
    }
    return n;
}

static int wants_point(const struct session_cpu *s, uint32_t pixel)
{
    return s->usable[pixel] > 0.0f && s->found[pixel] == POINT_NONE;
}

/* The cell of co-visible map k that a pixel's point falls into, if no living point is there. */
static int open_cell(const struct session_cpu *s, int k, uint32_t pixel, uint32_t *cell, float *z_k)
{
    uint32_t place = s->covisible[k].place;
    if (!point_project(&s->keyframes[place].camera, s->world[pixel], cell, z_k))
        return 0;
    return !point_cell_live(s->maps[(size_t)place * s->n_pixels + *cell], s->place);
}

/* (F3) Open cells go to the nearest of the points that fall into them, then to the first pixel. */
static void claim_cells(struct session_cpu *s)
{
    for (uint32_t i = 0; i < s->n_pixels; i++) {
        uint32_t pixel = s->visit ? s->visit[i] : i, cell;
        float z_k;
        if (!wants_point(s, pixel))
            continue;
        for (int k = 0; k < s->n_covisible; k++)
            if (open_cell(s, k, pixel, &cell, &z_k)) {
                uint64_t *held = &s->cell_claims[(size_t)k * s->n_pixels + cell];
                uint64_t key = point_claim(z_k, pixel);
                if (key < *held)
                    *held = key;
            }
    }
}

/* (Q5) The pixels that won their cubes. */
static uint32_t count_cubes(struct session_cpu *s)
{
    uint32_t n = 0;
    for (uint32_t pixel = 0; pixel < s->n_pixels; pixel++) {
        s->fresh[pixel] = POINT_NONE;
        s->wins[pixel] = wants_point(s, pixel) && s->entry[pixel] != POINT_NONE &&
                         s->table[s->entry[pixel]].held == cell_claim(pixel);
        n += s->wins[pixel];
    }
    return n;
}

/* Which cells each pixel has won; the number of pixels that may insert. */
static uint32_t count_new(struct session_cpu *s)
{
    uint32_t n = 0, cell;
    float z_k;
    for (uint32_t pixel = 0; pixel < s->n_pixels; pixel++) {
        s->wins[pixel] = 0;
        s->fresh[pixel] = POINT_NONE;
        if (!wants_point(s, pixel))
            continue;
        for (int k = 0; k < s->n_covisible; k++)
            if (open_cell(s, k, pixel, &cell, &z_k) &&
                s->cell_claims[(size_t)k * s->n_pixels + cell] == point_claim(z_k, pixel))
                s->wins[pixel] |= (uint16_t)(1u << k);
        n += s->is_keyframe || s->wins[pixel];
    }
    return n;
}

/* The r-th slot that this frame uses: freed slots in reverse order of freeing, then new ones. */
static uint32_t slot_of_rank(const struct session_cpu *s, uint32_t r)
{
    return r < s->n_free ? s->free_slots[s->n_free - 1 - r] : s->n_slots + (r - s->n_free);
}

static void insert(struct session_cpu *s, uint32_t pixel, uint32_t slot, uint64_t id,
                   float radius_max)
{
    const struct fuse_params *p = &s->base.config.fuse;
    int x = (int)(pixel % (uint32_t)s->w), y = (int)(pixel / (uint32_t)s->w);
    float weight = fuse_first_weight(x, y, s->view.camera.K, radius_max, p->sigma);
    struct normal_map map = map_of(s);
    fuse_create(&s->place[slot], &s->stat[slot], id, s->world[pixel],
                s->view.rgb + 3 * (size_t)pixel, s->usable[pixel], weight,
                view_evidence(&s->view, pixel, p), s->frame, p);
    s->stat[slot].provisional = view_is_guess(&s->view, pixel) != 0;
    s->normal[slot] = (struct point_normal){{0}, 0};
    normal_fuse(&s->normal[slot], normal_at(&map, pixel), 0.0f, 1.0f);
    s->id[slot] = id;
    s->out[slot].confidence = 0;
    s->claims[slot] = POINT_UNCLAIMED;
    s->unstable[s->n_unstable++] = slot;
    s->fresh[pixel] = slot;
}

/* Puts the pixel's point, if any, into the cells that it won, and resets their claims. */
static void enter_cells(struct session_cpu *s, uint32_t pixel, uint32_t slot)
{
    for (int k = 0; k < s->n_covisible; k++) {
        uint32_t place = s->covisible[k].place, cell;
        float z_k;
        if (!(s->wins[pixel] >> k & 1) ||
            !point_project(&s->keyframes[place].camera, s->world[pixel], &cell, &z_k))
            continue;
        s->cell_claims[(size_t)k * s->n_pixels + cell] = POINT_UNCLAIMED;
        if (slot != POINT_NONE) {
            struct map_cell *m = &s->maps[(size_t)place * s->n_pixels + cell];
            m->slot = slot;
            m->tag = s->place[slot].tag;
        }
    }
}

/* Puts the pixel's point, if any, into the cube that it won. */
static void enter_cube(struct session_cpu *s, uint32_t pixel, uint32_t slot)
{
    struct cell_entry *e = &s->table[s->entry[pixel]];
    e->held = slot == POINT_NONE ? 0 : cell_hold(slot, s->place[slot].tag);
    if (slot != POINT_NONE)
        s->key[slot] = e->key;
}

/* Assigns ids and slots in the order of pixels; points without a slot are dropped. Returns how many
 * were inserted. */
static uint32_t insert_new(struct session_cpu *s, uint32_t n_new)
{
    uint32_t room = s->n_free + (s->base.config.max_points - s->n_slots), rank = 0;
    uint32_t n = n_new < room ? n_new : room, recycled = n < s->n_free ? n : s->n_free;
    uint64_t id = point_first_id(s->next_id, n);
    float radius_max = fuse_radius_max(s->view.camera.K, s->w, s->h);

    for (uint32_t pixel = 0; pixel < s->n_pixels && rank < n_new; pixel++) {
        uint32_t slot = POINT_NONE;
        if (!wants_point(s, pixel) || !((s->is_keyframe && !s->table) || s->wins[pixel]))
            continue;
        if (rank < n) {
            slot = slot_of_rank(s, rank);
            insert(s, pixel, slot, id + rank, radius_max);
        }
        rank++;
        if (s->table)
            enter_cube(s, pixel, slot);
        else
            enter_cells(s, pixel, slot);
    }
    s->next_id = id + n;
    s->n_slots += n - recycled;
    s->n_free -= recycled;
    s->n_points += n;
    return n;
}

/* Fills the map of a new keyframe: for each pixel the point that it observed or inserted. */
static void fill_map(struct session_cpu *s)
{
    struct map_cell *map = s->maps + (size_t)s->place_new * s->n_pixels;
    for (uint32_t pixel = 0; pixel < s->n_pixels; pixel++) {
        uint32_t slot = s->found[pixel] != POINT_NONE ? s->found[pixel] : s->fresh[pixel];
        map[pixel].slot = slot == POINT_NONE ? 0 : slot;
        map[pixel].tag = slot == POINT_NONE ? 0 : s->place[slot].tag;
    }
}

int fuse_cpu_run(struct gpu_item *item, struct err *err)
{
    struct session_cpu *s = session_cpu_of(item->session);
    struct gpu_frame *f = gpu_frame_of(item);
    uint32_t n_new;

    (void)err;
    f->result.n_updated = update_claimed(s);
    if (!s->table)
        claim_cells(s);
    n_new = s->table ? count_cubes(s) : count_new(s);
    f->result.n_inserted = insert_new(s, n_new);
    f->result.n_left_out = n_new - f->result.n_inserted;
    if (s->is_keyframe && !s->table)
        fill_map(s);
    return 0;
}
