/*
 * state_views.c - the section of many views: the keyframes that are kept, with their maps
 *
 * Body:    frame, keyframes taken, swept and final so far, the first one of this world: u32 each |
 *          0 (12 bytes) | n keyframes, n = those taken, at most VIEWS_KEPT | their maps: grey,
 *          colours, single-view depth, measured depth, agreements
 */
#include "gpu/mono/state_internal.h"

#include "gpu/views/views.h"

#define HEAD_BYTES 32
#define NUMBERS (HEAD_BYTES - 12) /* bytes of the numbers in the head */

_Static_assert(sizeof(struct views_kept) == 140 && offsetof(struct views_kept, near_m) == 8 &&
                   offsetof(struct views_kept, n_measured) == 20 &&
                   offsetof(struct views_kept, camera) == 28 && sizeof(struct views_camera) == 112,
               "records without padding, as they are on disk");

void state_views_of(struct state_head *h, const struct views *v)
{
    h->views_frame = v->frame;
    h->views_taken = v->n_taken;
    h->views_swept = v->n_swept;
    h->views_final = v->n_final;
    h->views_first = v->first;
}

void state_views_to(struct views *v, const struct state_head *h)
{
    v->frame = h->views_frame;
    v->n_taken = h->views_taken;
    v->n_swept = h->views_swept;
    v->n_final = h->views_final;
    v->first = h->views_first;
    v->anchor.set = 0;
}

size_t state_views_kept(const struct state_head *h)
{
    return h->views_taken < VIEWS_KEPT ? h->views_taken : VIEWS_KEPT;
}

void state_views_maps(struct state_views_map to[STATE_VIEWS_MAPS], const struct views *v,
                      const struct state_head *h, const struct state_layout *l)
{
    size_t n = state_views_kept(h) * v->n_pixels;

    to[0] = (struct state_views_map){v->grey, l->views_grey, n};
    to[1] = (struct state_views_map){v->rgb, l->views_rgb, 3 * n};
    to[2] = (struct state_views_map){v->single, l->views_single, n * sizeof *v->single};
    to[3] = (struct state_views_map){v->own, l->views_own, n * sizeof *v->own};
    to[4] = (struct state_views_map){v->agree, l->views_agree, n};
}

static int wanted(const struct state_head *h)
{
    return h->views != 0;
}

static size_t lay(struct state_layout *l, const struct state_head *h, size_t at)
{
    size_t n = state_views_kept(h), maps = n * (size_t)h->w * (size_t)h->h;

    at += HEAD_BYTES;
    l->views_kept = state_take(&at, n * sizeof(struct views_kept));
    l->views_grey = state_take(&at, maps);
    l->views_rgb = state_take(&at, 3 * maps);
    l->views_single = state_take(&at, maps * sizeof(uint16_t));
    l->views_own = state_take(&at, maps * sizeof(uint16_t));
    l->views_agree = state_take(&at, maps);
    return at;
}

static void put(uint8_t *buf, struct bytes_writer *head, const struct state_head *h,
                const struct state_layout *l)
{
    state_gap(buf, l->views_grey);
    state_gap(buf, l->views_rgb);
    state_gap(buf, l->views_single);
    state_gap(buf, l->views_own);
    state_gap(buf, l->views_agree);
    bytes_put_u32(head, h->views_frame);
    bytes_put_u32(head, h->views_taken);
    bytes_put_u32(head, h->views_swept);
    bytes_put_u32(head, h->views_final);
    bytes_put_u32(head, h->views_first);
    for (int i = NUMBERS; i < HEAD_BYTES; i += 4)
        bytes_put_u32(head, 0);
}

static void get(struct state_head *h, struct bytes_reader *head)
{
    h->views = 1;
    h->views_frame = bytes_get_u32(head);
    h->views_taken = bytes_get_u32(head);
    h->views_swept = bytes_get_u32(head);
    h->views_final = bytes_get_u32(head);
    h->views_first = bytes_get_u32(head);
}

/* The keyframe at a place: the last one taken that goes there, seen by a camera. */
static int kept_valid(const struct views_kept *k, uint32_t place, const struct state_head *h)
{
    uint32_t n = (uint32_t)h->w * (uint32_t)h->h;

    return k->index % VIEWS_KEPT == place && k->index < h->views_taken &&
           h->views_taken - k->index <= VIEWS_KEPT && k->frame <= h->views_frame &&
           state_finite((const uint8_t *)&k->near_m, 3) && k->near_m > 0.0f && k->median_m > 0.0f &&
           k->far_m > 0.0f && k->n_measured <= n && k->n_confirmed <= n &&
           state_finite((const uint8_t *)&k->camera, sizeof k->camera / sizeof(float)) &&
           k->camera.K.fx >= 1e-3f && k->camera.K.fy >= 1e-3f;
}

static int check(const struct state_head *h, const struct state_layout *l, const uint8_t *buf,
                 struct err *err)
{
    if (h->views_first > h->views_final || h->views_final > h->views_swept ||
        h->views_swept > h->views_taken || h->views_taken > h->views_frame)
        return err_set(err, ERR_INPUT, "counts of keyframes that do not add up");
    for (uint32_t i = 0; i < state_views_kept(h); i++) {
        struct views_kept k;
        memcpy(&k, buf + l->views_kept + i * sizeof k, sizeof k);
        if (!kept_valid(&k, i, h))
            return err_set(err, ERR_INPUT, "keyframe %u of many views is none", i);
    }
    return 0;
}

const struct state_part state_views = {
    SECTION_TAG('G', 'V', 'I', 'E'), 1, wanted, lay, put, get, check};
