/*
 * state_views.c - the section of many views: the keyframes that are kept, with their maps
 *
 * Body:    frame, places in use n, 0, 0: u32 each | VIEWS_STRANDS strands as struct views_strand
 *          has them, u32 each | VIEWS_STRANDS lengths of poses, mean f32 and count u32 each | 0 up
 *          to a multiple of 16 | n keyframes | their maps: grey, colours, single-view depth,
 *          measured depth, agreements, contrasts
 * Version 4: no contrasts; they stay 0, with which a fine sweep measures nothing. Version 3:
 * keyframes of 144 bytes without submap and walk: all get the strand's last. Version 2: the same,
 * and no lengths; they begin anew. Version 1, which had one strand for all sources: frame,
 * keyframes taken, swept and final so far,
 *          the first one of this submap: u32 each | 0 (12 bytes) | min(taken, 32) keyframes of 140
 *          bytes | their maps. Their sources are not known, so they are skipped.
 */
#include "gpu/mono/state_internal.h"

#include "gpu/views/pose_check_point.h"

#define V1_HEAD_BYTES 32
#define V1_KEPT_BYTES 140
#define V1_KEPT 32
#define V3_KEPT_BYTES 144
#define STRAND_WORDS 9
#define HEAD_WORDS (4 + STRAND_WORDS * VIEWS_STRANDS)
#define LENGTH_WORDS (2 * VIEWS_STRANDS)
#define ROUND_UP(words) ((4 * (words) + 15) / 16 * 16)
#define V2_HEAD_BYTES ROUND_UP(HEAD_WORDS)
#define HEAD_BYTES ROUND_UP(HEAD_WORDS + LENGTH_WORDS)
#define LENGTH_MOST 2.0f /* log2: ratios lie within VIEWS_BINS / 2 bins of 1/64 octave */

_Static_assert(sizeof(struct views_strand) == 4 * STRAND_WORDS &&
                   sizeof(struct views_kept) == 152 && offsetof(struct views_kept, strand) == 140 &&
                   offsetof(struct views_kept, submap) == 144 &&
                   offsetof(struct views_kept, near_m) == 8 &&
                   offsetof(struct views_kept, n_measured) == 20 &&
                   offsetof(struct views_kept, camera) == 28 && sizeof(struct views_camera) == 112,
               "records without padding, as they are on disk");

void state_views_of(struct state_head *h, const struct views *v)
{
    h->views_frame = v->frame;
    h->views_places = v->n_places;
    memcpy(h->views_strand, v->strand, sizeof v->strand);
    memcpy(h->views_length, v->length, sizeof v->length);
}

void state_views_to(struct views *v, const struct state_head *h)
{
    v->frame = h->views_frame;
    v->n_places = h->views_places;
    memcpy(v->strand, h->views_strand, sizeof v->strand);
    memcpy(v->length, h->views_length, sizeof v->length);
    memset(v->anchor, 0, sizeof v->anchor);
}

void state_views_maps(struct state_views_map to[STATE_VIEWS_MAPS], const struct views *v,
                      const struct state_head *h, const struct state_layout *l)
{
    size_t n = (size_t)h->views_places * v->n_pixels;

    to[0] = (struct state_views_map){v->grey, l->views_grey, n};
    to[1] = (struct state_views_map){v->rgb, l->views_rgb, 3 * n};
    to[2] = (struct state_views_map){v->single, l->views_single, n * sizeof *v->single};
    to[3] = (struct state_views_map){v->own, l->views_own, n * sizeof *v->own};
    to[4] = (struct state_views_map){v->agree, l->views_agree, n};
    to[5] = (struct state_views_map){v->contrast, l->views_contrast, h->views < 5 ? 0 : n};
}

static size_t kept_bytes(const struct state_head *h)
{
    return h->views < 4 ? V3_KEPT_BYTES : sizeof(struct views_kept);
}

void state_views_kept(struct views_kept *to, const uint8_t *buf, const struct state_head *h,
                      const struct state_layout *l)
{
    for (size_t i = 0; i < h->views_places; i++) {
        const struct views_strand *s;
        memcpy(&to[i], buf + l->views_kept + i * kept_bytes(h), kept_bytes(h));
        if (h->views >= 4)
            continue;
        s = &h->views_strand[to[i].strand >= 0 && to[i].strand < VIEWS_STRANDS ? to[i].strand : 0];
        to[i].submap = s->submap;
        to[i].walk = s->first;
    }
}

static int state_views_wanted(const struct state_head *h)
{
    return h->views != 0;
}

/* The arrays of n keyframes. */
static size_t lay_kept(struct state_layout *l, const struct state_head *h, size_t n, size_t at)
{
    size_t maps = n * (size_t)h->w * (size_t)h->h;

    l->views_grey = state_take(&at, maps);
    l->views_rgb = state_take(&at, 3 * maps);
    l->views_single = state_take(&at, maps * sizeof(uint16_t));
    l->views_own = state_take(&at, maps * sizeof(uint16_t));
    l->views_agree = state_take(&at, maps);
    if (h->views >= 5)
        l->views_contrast = state_take(&at, maps);
    return at;
}

static size_t state_views_lay(struct state_layout *l, const struct state_head *h, size_t at)
{
    size_t n = h->views_places;

    if (h->views == 1) { /* only its number of frames and its length are known */
        at += V1_HEAD_BYTES;
        l->views_kept = state_take(&at, h->views_v1_kept * (size_t)V1_KEPT_BYTES);
        return lay_kept(l, h, h->views_v1_kept, at);
    }
    at += h->views == 2 ? V2_HEAD_BYTES : HEAD_BYTES;
    l->views_kept = state_take(&at, n * kept_bytes(h));
    return lay_kept(l, h, n, at);
}

static void state_views_put(uint8_t *buf, struct bytes_writer *head, const struct state_head *h,
                            const struct state_layout *l)
{
    uint32_t words[STRAND_WORDS];

    state_gap(buf, l->views_grey);
    state_gap(buf, l->views_rgb);
    state_gap(buf, l->views_single);
    state_gap(buf, l->views_own);
    state_gap(buf, l->views_agree);
    state_gap(buf, l->views_contrast);
    bytes_put_u32(head, h->views_frame);
    bytes_put_u32(head, h->views_places);
    bytes_put_u32(head, 0);
    bytes_put_u32(head, 0);
    for (int i = 0; i < VIEWS_STRANDS; i++) {
        memcpy(words, &h->views_strand[i], sizeof words);
        for (int k = 0; k < STRAND_WORDS; k++)
            bytes_put_u32(head, words[k]);
    }
    for (int i = 0; i < VIEWS_STRANDS; i++) {
        bytes_put_f32(head, h->views_length[i].mean);
        bytes_put_u32(head, h->views_length[i].n);
    }
    for (int i = HEAD_WORDS + LENGTH_WORDS; i < HEAD_BYTES / 4; i++)
        bytes_put_u32(head, 0);
}

static void state_views_get(struct state_head *h, struct bytes_reader *head, unsigned version)
{
    uint32_t words[STRAND_WORDS], second;

    h->views = version;
    h->views_frame = bytes_get_u32(head);
    second = bytes_get_u32(head);
    if (version == 1) {
        h->views_v1_kept = second < V1_KEPT ? second : V1_KEPT;
        return;
    }
    h->views_places = second;
    bytes_get_u32(head);
    bytes_get_u32(head);
    for (int i = 0; i < VIEWS_STRANDS; i++) {
        for (int k = 0; k < STRAND_WORDS; k++)
            words[k] = bytes_get_u32(head);
        memcpy(&h->views_strand[i], words, sizeof words);
    }
    for (int i = 0; i < VIEWS_STRANDS && version > 2; i++) {
        h->views_length[i].mean = bytes_get_f32(head);
        h->views_length[i].n = bytes_get_u32(head);
    }
}

static int strand_valid(const struct views_strand *s, const struct state_head *h)
{
    return s->used <= h->views_frame && s->frame <= s->used && s->first <= s->n_taken &&
           s->n_final <= s->n_swept && s->n_swept <= s->n_taken && s->n_taken <= s->frame;
}

static int length_valid(const struct views_length *l)
{
    return l->n <= VIEWS_LENGTH_FRAMES && l->mean >= -LENGTH_MOST && l->mean <= LENGTH_MOST;
}

/* Is the place free or a keyframe with a valid camera that its strand took on a walk? */
static int kept_valid(const struct views_kept *k, const struct state_head *h)
{
    uint32_t n = (uint32_t)h->w * (uint32_t)h->h;
    const struct views_strand *s;

    if (k->strand < -1 || k->strand >= VIEWS_STRANDS)
        return 0;
    s = &h->views_strand[k->strand < 0 ? 0 : k->strand];
    return (k->strand < 0 || (k->walk <= k->index && k->walk <= s->first && k->index < s->n_taken &&
                              k->frame <= s->frame)) &&
           k->submap < GPU_SUBMAPS_MAX && state_finite((const uint8_t *)&k->near_m, 3) &&
           k->near_m > 0.0f && k->median_m > 0.0f && k->far_m > 0.0f && k->n_measured <= n &&
           k->n_confirmed <= n &&
           state_finite((const uint8_t *)&k->camera, sizeof k->camera / sizeof(float)) &&
           k->camera.K.fx >= 1e-3f && k->camera.K.fy >= 1e-3f;
}

static int state_views_check(const struct state_head *h, const struct state_layout *l,
                             const uint8_t *buf, struct err *err)
{
    struct views_kept kept[VIEWS_KEPT];

    if (h->views == 1)
        return 0;
    if (h->views_places > VIEWS_KEPT)
        return err_set(err, ERR_INPUT, "more keyframes of many views than there are places");
    for (int i = 0; i < VIEWS_STRANDS; i++)
        if (!strand_valid(&h->views_strand[i], h))
            return err_set(err, ERR_INPUT, "counts of keyframes that do not add up");
    for (int i = 0; i < VIEWS_STRANDS; i++)
        if (!length_valid(&h->views_length[i]))
            return err_set(err, ERR_INPUT, "a length of poses that no frame measured");
    state_views_kept(kept, buf, h, l);
    for (uint32_t i = 0; i < h->views_places; i++)
        if (!kept_valid(&kept[i], h))
            return err_set(err, ERR_INPUT, "keyframe %u of many views is none", i);
    return 0;
}

const struct state_part state_views = {SECTION_TAG('G', 'V', 'I', 'E'),
                                       5,
                                       state_views_wanted,
                                       state_views_lay,
                                       state_views_put,
                                       state_views_get,
                                       state_views_check};
