#include "gpu/base/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC 0x54535247u /* "GRST" */
#define VERSION 1u
#define ALIGN 16

_Static_assert(sizeof(struct state_head) == 120, "written as it lies");
_Static_assert(sizeof(struct point_place) == 16 && sizeof(struct point_stat) == 32,
               "so are points");
_Static_assert(sizeof(struct point_out) == 16 && sizeof(struct keyframe) == 748, "and keyframes");

void state_head_make(struct state_head *h, const char *backend, const struct gpu_session_config *c)
{
    memset(h, 0, sizeof *h);
    h->magic = MAGIC;
    h->version = VERSION;
    snprintf(h->backend, sizeof h->backend, "%s", backend);
    h->w = c->net_w;
    h->h = c->net_h;
    h->step_m = c->step_m;
}

/* A piece of n bytes: where it begins. */
static size_t take(size_t *used, size_t n)
{
    size_t at = (*used + ALIGN - 1) / ALIGN * ALIGN;
    *used = at + n;
    return at;
}

void state_layout_make(struct state_layout *l, const struct state_head *h)
{
    size_t used = sizeof *h, n = h->n_slots, k = h->n_keyframes;
    size_t pixels = (size_t)h->w * (size_t)h->h;
    l->place = take(&used, n * sizeof(struct point_place));
    l->stat = take(&used, n * sizeof(struct point_stat));
    l->out = take(&used, n * sizeof(struct point_out));
    l->id = take(&used, n * sizeof(uint64_t));
    l->unstable = take(&used, h->n_unstable * sizeof(uint32_t));
    l->free_slots = take(&used, h->n_free * sizeof(uint32_t));
    l->keyframes = take(&used, k * sizeof(struct keyframe));
    l->overlaps = take(&used, k * k);
    l->maps = take(&used, k * pixels * sizeof(uint32_t));
    l->previous = take(&used, h->has_previous ? 3 * pixels * sizeof(float) : 0);
    l->bytes = used;
}

void state_begin(uint8_t *buf, const struct state_head *h, const struct state_layout *l)
{
    size_t k = h->n_keyframes, pixels = (size_t)h->w * (size_t)h->h;
    const size_t gaps[][2] = {
        {sizeof *h, l->place},
        {l->id + h->n_slots * sizeof(uint64_t), l->unstable},
        {l->unstable + h->n_unstable * sizeof(uint32_t), l->free_slots},
        {l->free_slots + h->n_free * sizeof(uint32_t), l->keyframes},
        {l->keyframes + k * sizeof(struct keyframe), l->overlaps},
        {l->overlaps + k * k, l->maps},
        {l->maps + k * pixels * sizeof(uint32_t), l->previous},
    };
    memcpy(buf, h, sizeof *h);
    for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++)
        memset(buf + gaps[i][0], 0, gaps[i][1] - gaps[i][0]);
}

void state_tidy_keyframes(uint8_t *keyframes, size_t n)
{
    for (size_t i = 0; i < n; i++, keyframes += sizeof(struct keyframe)) {
        struct covisible_grid g;
        uint8_t *grid = keyframes + offsetof(struct keyframe, grid);
        memcpy(&g, grid, sizeof g);
        for (int k = 0; k < COVISIBLE_GRID; k++)
            if (!g.valid[k])
                g.p[k] = vec3_make(0, 0, 0);
        memcpy(grid, &g, sizeof g);
    }
}

/* ------------------------------------------------------------------------- maps */

static uint32_t word_at(const uint8_t *from, size_t i)
{
    uint32_t v;
    memcpy(&v, from + i * sizeof v, sizeof v);
    return v;
}

static uint32_t tag_at(const uint8_t *place, uint32_t slot)
{
    return word_at(place + (size_t)slot * sizeof(struct point_place), 3);
}

static uint32_t zigzag(uint32_t d)
{
    return d << 1 ^ (d >> 31 ? 0xffffffffu : 0u);
}

static uint32_t unzigzag(uint32_t v)
{
    return v >> 1 ^ (v & 1 ? 0xffffffffu : 0u);
}

void state_pack_cells(uint8_t *to, const struct map_cell *cells, size_t n, const uint8_t *place,
                      uint32_t *last)
{
    uint32_t before = *last;
    for (size_t i = 0; i < n; i++) {
        uint32_t v = POINT_NONE;
        if (cells[i].tag && tag_at(place, cells[i].slot) == cells[i].tag) {
            v = zigzag(cells[i].slot - before);
            before = cells[i].slot;
        }
        memcpy(to + i * sizeof v, &v, sizeof v);
    }
    *last = before;
}

void state_unpack_cells(struct map_cell *cells, const uint8_t *from, size_t n, const uint8_t *place,
                        uint32_t *last)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t v = word_at(from, i);
        cells[i].slot = cells[i].tag = 0;
        if (v == POINT_NONE)
            continue;
        *last += unzigzag(v);
        cells[i].slot = *last;
        cells[i].tag = tag_at(place, *last);
    }
}

/* ------------------------------------------------------------------------- checks */

static int all_finite(const uint8_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float f;
        memcpy(&f, from + i * sizeof f, sizeof f);
        if (!isfinite(f))
            return 0;
    }
    return 1;
}

static int check_head(const struct state_head *h, const struct gpu_session_config *c,
                      struct err *err)
{
    if (h->magic != MAGIC || h->version != VERSION)
        return err_set(err, ERR_INPUT, "not a session's state, or of another version");
    if (h->w != c->net_w || h->h != c->net_h || h->step_m != c->step_m)
        return err_set(err, ERR_INPUT, "the state of a session of another shape");
    if (h->n_slots > c->max_points || h->n_keyframes > (uint32_t)c->fuse.max_keyframes)
        return err_set(err, ERR_INPUT, "%u slots and %u keyframes are over the session's limits",
                       h->n_slots, h->n_keyframes);
    if (h->n_free > h->n_slots || h->n_points != h->n_slots - h->n_free ||
        h->n_unstable > h->n_points || h->n_stable != h->n_points - h->n_unstable)
        return err_set(err, ERR_INPUT, "counts of points that do not add up");
    if (h->has_last > 1 || h->has_previous > 1 || (h->has_previous && !c->motion) ||
        (h->has_last && !all_finite((const uint8_t *)&h->T_last, 12)))
        return err_set(err, ERR_INPUT, "a last frame that this session cannot have had");
    if (h->next_id == 0)
        return err_set(err, ERR_INPUT, "an id that no point may have");
    return 0;
}

static int point_right(const struct state_head *h, const struct point_place *place,
                       const struct point_stat *stat, uint64_t id)
{
    if (stat->state == POINT_FREE)
        return place->tag == 0;
    return stat->state <= POINT_STABLE && place->tag != 0 && place->tag == (uint32_t)id &&
           id < h->next_id && stat->last_seen <= h->frame && stat->vote_frame <= h->frame &&
           isfinite(place->x) && isfinite(place->y) && isfinite(place->z) &&
           all_finite((const uint8_t *)stat->rgb, 3) && isfinite(stat->c_c) &&
           isfinite(stat->w_a) && stat->w_a >= 0.0f;
}

/* Each point by itself; what state its slot is in goes to `states`. */
static int check_points(uint8_t *states, const struct state_head *h, const struct state_layout *l,
                        const uint8_t *buf, struct err *err)
{
    for (size_t i = 0; i < h->n_slots; i++) {
        struct point_place place;
        struct point_stat stat;
        struct point_out out;
        uint64_t id;
        memcpy(&place, buf + l->place + i * sizeof place, sizeof place);
        memcpy(&stat, buf + l->stat + i * sizeof stat, sizeof stat);
        memcpy(&out, buf + l->out + i * sizeof out, sizeof out);
        memcpy(&id, buf + l->id + i * sizeof id, sizeof id);
        if (!point_right(h, &place, &stat, id) || out.confidence > 3)
            return err_set(err, ERR_INPUT, "slot %zu holds what cannot be a point", i);
        states[i] = stat.state;
    }
    return 0;
}

/* A list of slots in one state: each once. The slot is struck out. */
static int check_list(uint8_t *states, const uint8_t *list, uint32_t n, uint32_t n_slots,
                      uint8_t state, struct err *err)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t slot = word_at(list, i);
        if (slot >= n_slots || states[slot] != state)
            return err_set(err, ERR_INPUT, "a list names slot %u twice or wrongly", slot);
        states[slot] = 0xff;
    }
    return 0;
}

/* All that is left are stable points: no slot is lost to both lists. */
static int check_rest(const uint8_t *states, const struct state_head *h, struct err *err)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < h->n_slots; i++)
        n += states[i] == POINT_STABLE;
    return n == h->n_stable ? 0 : err_set(err, ERR_INPUT, "a slot is in no list");
}

static int check_keyframes(const struct state_head *h, const struct state_layout *l,
                           const uint8_t *buf, struct err *err)
{
    for (size_t i = 0; i < h->n_keyframes; i++) {
        struct keyframe kf;
        int ok;
        memcpy(&kf, buf + l->keyframes + i * sizeof kf, sizeof kf);
        ok = kf.frame && kf.frame <= h->frame && kf.camera.w == h->w && kf.camera.h == h->h &&
             all_finite((const uint8_t *)&kf.camera, 28);
        for (int k = 0; k < COVISIBLE_GRID && ok; k++)
            ok = kf.grid.valid[k] == 0 ||
                 (kf.grid.valid[k] == 1 && all_finite((const uint8_t *)&kf.grid.p[k], 3));
        if (!ok)
            return err_set(err, ERR_INPUT, "keyframe %zu is none", i);
    }
    for (size_t i = 0; i < (size_t)h->n_keyframes * h->n_keyframes; i++)
        if (buf[l->overlaps + i] > 2 * COVISIBLE_GRID)
            return err_set(err, ERR_INPUT, "an overlap larger than any");
    return 0;
}

/* Each cell is empty or names a living point. */
static int check_maps(const struct state_head *h, const struct state_layout *l, const uint8_t *buf,
                      struct err *err)
{
    size_t pixels = (size_t)h->w * (size_t)h->h;
    for (uint32_t k = 0; k < h->n_keyframes; k++) {
        const uint8_t *map = buf + l->maps + k * pixels * sizeof(uint32_t);
        uint32_t slot = 0;
        for (size_t i = 0; i < pixels; i++) {
            uint32_t v = word_at(map, i);
            if (v == POINT_NONE)
                continue;
            slot += unzigzag(v);
            if (slot >= h->n_slots || tag_at(buf + l->place, slot) == 0)
                return err_set(err, ERR_INPUT, "a map names slot %u, where no point is", slot);
        }
    }
    return 0;
}

static int check_lists(const struct state_head *h, const struct state_layout *l, const uint8_t *buf,
                       struct err *err)
{
    uint8_t *states = malloc((size_t)h->n_slots + 1);
    int rc;
    if (!states)
        return err_set(err, ERR_MEMORY, "no memory to check %u points", h->n_slots);
    rc = check_points(states, h, l, buf, err);
    if (rc == 0)
        rc = check_list(states, buf + l->unstable, h->n_unstable, h->n_slots, POINT_UNSTABLE, err);
    if (rc == 0)
        rc = check_list(states, buf + l->free_slots, h->n_free, h->n_slots, POINT_FREE, err);
    if (rc == 0)
        rc = check_rest(states, h, err);
    free(states);
    return rc;
}

int state_check(struct state_head *h, struct state_layout *l, const uint8_t *buf, size_t len,
                const struct gpu_session_config *c, struct err *err)
{
    int rc;
    if (len < sizeof *h)
        return err_set(err, ERR_INPUT, "a session's state of %zu bytes is cut short", len);
    memcpy(h, buf, sizeof *h);
    rc = check_head(h, c, err);
    if (rc)
        return rc;
    state_layout_make(l, h);
    if (len != l->bytes)
        return err_set(err, ERR_INPUT, "a session's state of %zu bytes has %zu", l->bytes, len);
    if (h->has_previous && !all_finite(buf + l->previous, 3 * (size_t)h->w * (size_t)h->h))
        return err_set(err, ERR_INPUT, "a previous picture that is not finite");
    rc = check_lists(h, l, buf, err);
    if (rc == 0)
        rc = check_keyframes(h, l, buf, err);
    return rc ? rc : check_maps(h, l, buf, err);
}
