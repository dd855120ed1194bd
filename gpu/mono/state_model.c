/*
 * state_model.c - the section of the fusion model
 *
 * Body:    n_slots, n_unstable, n_free, n_points, n_stable u32 | 0 u32 | next_id u64 | places,
 *          stats, outs, ids of all slots | unstable slots | free slots
 * Version 1: no point is provisional.
 */
#include "gpu/mono/change_point.h"
#include "gpu/mono/state_internal.h"

#include <stdlib.h>

#define HEAD_BYTES 32

#define AT(type, field, offset) \
    _Static_assert(offsetof(struct type, field) == (offset), #type "." #field " is on disk")
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "arrays are written as they lie");
_Static_assert(sizeof(struct point_place) == 16 && sizeof(struct point_stat) == 32 &&
                   sizeof(struct point_out) == 16,
               "records without padding");
AT(point_place, x, 0);
AT(point_place, y, 4);
AT(point_place, z, 8);
AT(point_place, tag, 12);
AT(point_stat, rgb, 0);
AT(point_stat, c_c, 12);
AT(point_stat, w_a, 16);
AT(point_stat, last_seen, 20);
AT(point_stat, vote_frame, 24);
AT(point_stat, n_observations, 28);
AT(point_stat, votes, 30); /* the state; the highest bit is set for a provisional point */
AT(point_out, p_q, 0);
AT(point_out, rgb, 12);
AT(point_out, confidence, 15);

static size_t state_model_lay(struct state_layout *l, const struct state_head *h, size_t at)
{
    size_t n = h->n_slots, end = at + HEAD_BYTES;

    l->place = state_take(&end, n * sizeof(struct point_place));
    l->stat = state_take(&end, n * sizeof(struct point_stat));
    l->out = state_take(&end, n * sizeof(struct point_out));
    l->id = state_take(&end, n * sizeof(uint64_t));
    l->unstable = state_take(&end, h->n_unstable * sizeof(uint32_t));
    l->free_slots = state_take(&end, h->n_free * sizeof(uint32_t));
    return end;
}

static void state_model_put(uint8_t *buf, struct bytes_writer *head, const struct state_head *h,
                            const struct state_layout *l)
{
    state_gap(buf, l->unstable);
    state_gap(buf, l->free_slots);
    bytes_put_u32(head, h->n_slots);
    bytes_put_u32(head, h->n_unstable);
    bytes_put_u32(head, h->n_free);
    bytes_put_u32(head, h->n_points);
    bytes_put_u32(head, h->n_stable);
    bytes_put_u32(head, 0);
    bytes_put_u64(head, h->next_id);
}

static void state_model_get(struct state_head *h, struct bytes_reader *head, unsigned version)
{
    (void)version;
    h->n_slots = bytes_get_u32(head);
    h->n_unstable = bytes_get_u32(head);
    h->n_free = bytes_get_u32(head);
    h->n_points = bytes_get_u32(head);
    h->n_stable = bytes_get_u32(head);
    (void)bytes_get_u32(head);
    h->next_id = bytes_get_u64(head);
}

/* ------------------------------------------------------------------------- checks */

static int point_right(const struct state_head *h, const struct point_place *place,
                       const struct point_stat *stat, uint64_t id)
{
    if (stat->state == POINT_FREE)
        return place->tag == 0;
    return stat->state <= POINT_STABLE && place->tag != 0 && place->tag == (uint32_t)id &&
           id < h->next_id && stat->last_seen <= h->frame && stat->vote_frame <= h->frame &&
           isfinite(place->x) && isfinite(place->y) && isfinite(place->z) &&
           state_finite((const uint8_t *)stat->rgb, 3) && isfinite(stat->c_c) &&
           isfinite(stat->w_a) && stat->w_a >= 0.0f;
}

/* Checks each point by itself and writes the state of its slot to `states`. */
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
        if (!point_right(h, &place, &stat, id) || out.confidence > CHANGE_CONFIDENCE_MAX)
            return err_set(err, ERR_INPUT, "slot %zu holds what cannot be a point", i);
        states[i] = stat.state;
    }
    return 0;
}

/* Checks a list of slots in one state, each listed once, and marks them as found. */
static int check_list(uint8_t *states, const uint8_t *list, uint32_t n, uint32_t n_slots,
                      uint8_t state, struct err *err)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t slot = state_word(list, i);
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

static int state_model_check(const struct state_head *h, const struct state_layout *l,
                             const uint8_t *buf, struct err *err)
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

const struct state_part state_model = {SECTION_TAG('G', 'M', 'O', 'D'),
                                       2,
                                       NULL,
                                       state_model_lay,
                                       state_model_put,
                                       state_model_get,
                                       state_model_check};
