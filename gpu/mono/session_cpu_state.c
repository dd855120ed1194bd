/*
 * session_cpu_state.c - the CPU back end's session as bytes, and back (state.h)
 *
 * Data that lives only within a frame is not saved; load() resets all claims, as between frames.
 */
#include "gpu/mono/session_cpu.h"

#include "gpu/mono/state.h"
#include "gpu/track/path_record.h"

static void session_state_describe(struct state_head *h, const struct session_cpu *s)
{
    state_head_make(h, s->base.gpu->ops->name, &s->base.config);
    h->has_last = (uint32_t)s->has_last;
    h->has_previous = (uint32_t)s->has_previous;
    h->frame = s->frame;
    h->n_slots = s->n_slots;
    h->n_unstable = s->n_unstable;
    h->n_free = s->n_free;
    h->n_points = s->n_points;
    h->n_stable = s->n_stable;
    h->n_keyframes = s->n_keyframes;
    h->next_id = s->next_id;
    h->T_last = s->T_last;
    if (s->views)
        state_views_of(h, s->views);
}

size_t session_cpu_state_bytes(struct gpu_session *base)
{
    struct state_head h;
    struct state_layout l;
    session_state_describe(&h, session_cpu_of(base));
    state_layout_make(&l, &h);
    return l.bytes;
}

static void session_state_copy(uint8_t *to, const void *from, size_t n)
{
    if (n)
        memcpy(to, from, n);
}

static void save_keyframes(const struct session_cpu *s, uint8_t *buf, const struct state_layout *l)
{
    size_t k = s->n_keyframes, most = (size_t)s->base.config.fuse.max_keyframes;
    session_state_copy(buf + l->worlds, s->worlds, k * sizeof *s->worlds);
    session_state_copy(buf + l->keyframes, s->keyframes, k * sizeof *s->keyframes);
    state_tidy_keyframes(buf + l->keyframes, k);
    for (size_t i = 0; i < k; i++) {
        uint32_t last = 0;
        session_state_copy(buf + l->overlaps + i * k, s->overlaps + i * most, k);
        if (s->table)
            continue;
        state_pack_cells(buf + l->maps + i * s->n_pixels * sizeof(uint32_t),
                         s->maps + i * s->n_pixels, s->n_pixels, (const uint8_t *)s->place, &last);
    }
}

static void save_views(struct views *v, uint8_t *buf, const struct state_head *h,
                       const struct state_layout *l)
{
    struct state_views_map maps[STATE_VIEWS_MAPS];
    state_views_maps(maps, v, h, l);
    session_state_copy(buf + l->views_kept, v->kept, h->views_places * sizeof *v->kept);
    for (int i = 0; i < STATE_VIEWS_MAPS; i++)
        session_state_copy(buf + maps[i].at, maps[i].map, maps[i].bytes);
}

static void save_path(const struct session_cpu *s, uint8_t *buf, const struct state_layout *l)
{
    size_t n = (size_t)s->track->n_slots;
    struct path_record r = path_record_of(s->track, s->path);
    session_state_copy(buf + l->path_record, &r, sizeof r);
    session_state_copy(buf + l->path_slots, s->track->slot, n * sizeof *s->track->slot);
    session_state_copy(buf + l->path_pyramid, path_record_pyramid(s->track),
                       s->track->pyramid_bytes);
    session_state_copy(buf + l->path_landmarks, s->path->landmark,
                       2 * n * sizeof *s->path->landmark);
}

int session_cpu_save(struct gpu_session *base, uint8_t *buf, size_t cap, size_t *len,
                     struct err *err)
{
    const struct session_cpu *s = session_cpu_of(base);
    struct state_head h;
    struct state_layout l;
    size_t n = s->n_slots;

    session_state_describe(&h, s);
    state_layout_make(&l, &h);
    if (l.bytes > cap)
        return err_set(err, ERR_LIMIT, "a state of %zu bytes does not fit %zu", l.bytes, cap);
    state_begin(buf, &h, &l);
    session_state_copy(buf + l.place, s->place, n * sizeof *s->place);
    session_state_copy(buf + l.stat, s->stat, n * sizeof *s->stat);
    session_state_copy(buf + l.normals, s->normal, n * sizeof *s->normal);
    session_state_copy(buf + l.out, s->out, n * sizeof *s->out);
    session_state_copy(buf + l.id, s->id, n * sizeof *s->id);
    session_state_copy(buf + l.unstable, s->unstable, s->n_unstable * sizeof *s->unstable);
    session_state_copy(buf + l.free_slots, s->free_slots, s->n_free * sizeof *s->free_slots);
    save_keyframes(s, buf, &l);
    if (s->table)
        session_state_copy(buf + l.keys, s->key, n * sizeof *s->key);
    if (s->views)
        save_views(s->views, buf, &h, &l);
    if (s->path)
        save_path(s, buf, &l);
    if (h.has_previous)
        session_state_copy(buf + l.previous, s->pair, 3 * (size_t)s->n_pixels * sizeof *s->pair);
    *len = l.bytes;
    return 0;
}

static void load_keyframes(struct session_cpu *s, const uint8_t *buf, const struct state_layout *l)
{
    size_t k = s->n_keyframes, most = (size_t)s->base.config.fuse.max_keyframes;
    if (l->worlds)
        session_state_copy((uint8_t *)s->worlds, buf + l->worlds, k * sizeof *s->worlds);
    session_state_copy((uint8_t *)s->keyframes, buf + l->keyframes, k * sizeof *s->keyframes);
    for (size_t i = 0; i < k; i++) {
        uint32_t last = 0;
        session_state_copy(s->overlaps + i * most, buf + l->overlaps + i * k, k);
        if (s->table)
            continue;
        state_unpack_cells(s->maps + i * s->n_pixels,
                           buf + l->maps + i * s->n_pixels * sizeof(uint32_t), s->n_pixels,
                           buf + l->place, &last);
    }
}

static void load_views(struct views *v, const uint8_t *buf, const struct state_head *h,
                       const struct state_layout *l)
{
    struct state_views_map maps[STATE_VIEWS_MAPS];
    state_views_to(v, h);
    state_views_maps(maps, v, h, l);
    state_views_kept(v->kept, buf, h, l);
    for (int i = 0; i < STATE_VIEWS_MAPS; i++)
        session_state_copy(maps[i].map, buf + maps[i].at, maps[i].bytes);
}

static void load_path(struct session_cpu *s, const uint8_t *buf, const struct state_head *h,
                      const struct state_layout *l)
{
    size_t n = (size_t)s->track->n_slots;
    struct path_record r = path_record_get(buf + l->path_record, h->path);
    path_record_to(s->track, s->path, &r);
    session_state_copy((uint8_t *)s->track->slot, buf + l->path_slots, n * sizeof *s->track->slot);
    session_state_copy(path_record_pyramid(s->track), buf + l->path_pyramid,
                       s->track->pyramid_bytes);
    session_state_copy((uint8_t *)s->path->landmark, buf + l->path_landmarks,
                       2 * n * sizeof *s->path->landmark);
}

static void take_counts(struct session_cpu *s, const struct state_head *h)
{
    s->has_last = (int)h->has_last;
    s->has_previous = (int)h->has_previous;
    s->frame = h->frame;
    s->n_slots = h->n_slots;
    s->n_unstable = h->n_unstable;
    s->n_free = h->n_free;
    s->n_points = h->n_points;
    s->n_stable = h->n_stable;
    s->n_keyframes = h->n_keyframes;
    s->next_id = h->next_id;
    s->T_last = h->T_last;
}

int session_cpu_load(struct gpu_session *base, const uint8_t *buf, size_t len, struct err *err)
{
    struct session_cpu *s = session_cpu_of(base);
    struct state_head h;
    struct state_layout l;
    int rc;

    if (s->frame || s->n_slots)
        return err_set(err, ERR_STATE, "a state is loaded into a new session alone");
    rc = state_check(&h, &l, buf, len, &base->config, err);
    if (rc)
        return rc;
    take_counts(s, &h);
    session_state_copy((uint8_t *)s->place, buf + l.place, s->n_slots * sizeof *s->place);
    session_state_copy((uint8_t *)s->stat, buf + l.stat, s->n_slots * sizeof *s->stat);
    if (l.normals)
        session_state_copy((uint8_t *)s->normal, buf + l.normals, s->n_slots * sizeof *s->normal);
    session_state_copy((uint8_t *)s->out, buf + l.out, s->n_slots * sizeof *s->out);
    session_state_copy((uint8_t *)s->id, buf + l.id, s->n_slots * sizeof *s->id);
    session_state_copy((uint8_t *)s->unstable, buf + l.unstable,
                       s->n_unstable * sizeof *s->unstable);
    session_state_copy((uint8_t *)s->free_slots, buf + l.free_slots,
                       s->n_free * sizeof *s->free_slots);
    memset(s->claims, 0xff, s->n_slots * sizeof *s->claims);
    load_keyframes(s, buf, &l);
    if (s->table) {
        session_state_copy((uint8_t *)s->key, buf + l.keys, s->n_slots * sizeof *s->key);
        cell_cpu_rebuild(s);
    }
    if (s->views)
        load_views(s->views, buf, &h, &l);
    if (h.path)
        load_path(s, buf, &h, &l);
    if (h.has_previous)
        session_state_copy((uint8_t *)s->pair, buf + l.previous,
                           3 * (size_t)s->n_pixels * sizeof *s->pair);
    return 0;
}
