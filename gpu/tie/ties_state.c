/*
 * ties_state.c - ties as bytes
 *
 * Body:    keyframes u32, pairs u32, claims u32, 0 u32
 *          a keyframe: world u32, T_wc 12 f32, K 4 f32, w h n i32; n corners of 48 bytes (x y depth
 *          sigma f32, descriptor 4 u64); depths [DESCRIBE_GRID_H][DESCRIBE_GRID_W] f32
 *          a pair: keyframes a b u32, n u32, n times corners a b u16; X: 12 f64
 *          a claim: world parent u32, T_wc 12 f32, sigma_m sigma_rad f32, cut u32
 */
#include "gpu/tie/ties_internal.h"

#include "proto/bytes.h"

#include <math.h>
#include <string.h>

#define HEAD_BYTES 16
#define KEYFRAME_BYTES (4 + 12 * 4 + 4 * 4 + 3 * 4)
#define GRID_BYTES (DESCRIBE_GRID_W * DESCRIBE_GRID_H * sizeof(float))
#define PAIR_BYTES (3 * 4 + 12 * 8)
#define CLAIM_BYTES (2 * 4 + 12 * 4 + 3 * 4)
#define FAR_M 1e7f
#define SIDE_MAX 65536

_Static_assert(sizeof(struct describe_corner) == 48 && sizeof(struct confirm_match) == 4,
               "written as they lie, without padding");

size_t ties_state_bytes(uint32_t n)
{
    return HEAD_BYTES +
           n * (KEYFRAME_BYTES + DESCRIBE_CORNERS * sizeof(struct describe_corner) + GRID_BYTES) +
           TIES_PAIRS * (PAIR_BYTES + DESCRIBE_CORNERS * sizeof(struct confirm_match)) +
           TIES_CLAIMS * CLAIM_BYTES;
}

static const struct ties_keyframe *at(const struct ties *t, uint32_t k)
{
    return t->piece[k / TIES_PIECE] + k % TIES_PIECE;
}

/* ------------------------------------------------------------------------- out */

static void put_span(struct bytes_writer *w, const void *from, size_t n)
{
    if (w->bad || w->len - w->at < n) {
        w->bad = 1;
        return;
    }
    memcpy(w->data + w->at, from, n);
    w->at += n;
}

static void put_pose(struct bytes_writer *w, const struct rigid *T)
{
    for (int i = 0; i < 9; i++)
        bytes_put_f32(w, T->r[i]);
    for (int i = 0; i < 3; i++)
        bytes_put_f32(w, T->t[i]);
}

static void put_keyframe(struct bytes_writer *w, const struct ties_keyframe *k)
{
    const struct describe_keyframe *d = &k->seen;

    bytes_put_u32(w, k->world);
    put_pose(w, &k->T_wc);
    bytes_put_f32(w, d->K.fx);
    bytes_put_f32(w, d->K.fy);
    bytes_put_f32(w, d->K.cx);
    bytes_put_f32(w, d->K.cy);
    bytes_put_i32(w, d->w);
    bytes_put_i32(w, d->h);
    bytes_put_i32(w, d->n);
    put_span(w, d->corner, (size_t)d->n * sizeof(*d->corner));
    put_span(w, d->depth, GRID_BYTES);
}

static void put_pair(struct bytes_writer *w, const struct ties_pair *p)
{
    bytes_put_u32(w, p->a);
    bytes_put_u32(w, p->b);
    bytes_put_u32(w, (uint32_t)p->n);
    put_span(w, p->match, (size_t)p->n * sizeof(*p->match));
    put_span(w, p->X.r, sizeof(p->X.r));
    put_span(w, p->X.t, sizeof(p->X.t));
}

static void put_claim(struct bytes_writer *w, const struct ties_claim *c)
{
    bytes_put_u32(w, c->world);
    bytes_put_u32(w, c->parent);
    put_pose(w, &c->T_wc);
    bytes_put_f32(w, (float)c->sigma_m);
    bytes_put_f32(w, (float)c->sigma_rad);
    bytes_put_u32(w, c->cut);
}

static bool is_of(const struct ties_pair *p, uint32_t n)
{
    return p->a < n && p->b < n;
}

int ties_save(struct ties *t, uint32_t n, uint8_t *buf, size_t cap, size_t *len, struct err *err)
{
    struct bytes_writer w = bytes_writer(buf, cap);
    uint32_t n_pairs = 0;

    lock_take(&t->lock);
    for (int i = 0; i < t->n_pairs; i++)
        n_pairs += is_of(&t->pair[i], n);
    bytes_put_u32(&w, n);
    bytes_put_u32(&w, n_pairs);
    bytes_put_u32(&w, (uint32_t)t->n_claims);
    bytes_put_u32(&w, 0);
    for (uint32_t k = 0; k < n; k++)
        put_keyframe(&w, at(t, k));
    for (int i = 0; i < t->n_pairs; i++)
        if (is_of(&t->pair[i], n))
            put_pair(&w, &t->pair[i]);
    for (int i = 0; i < t->n_claims; i++)
        put_claim(&w, &t->claim[i]);
    lock_give(&t->lock);
    *len = w.bad ? 0 : w.at;
    return w.bad ? err_set(err, ERR_LIMIT, "ties do not fit %zu bytes", cap) : 0;
}

/* ------------------------------------------------------------------------- in */

static bool is_in(float v, float least, float most)
{
    return v >= least && v <= most; /* no NaN is */
}

/* Returns false if it is not a pose. */
static bool get_pose(struct rigid *T, struct bytes_reader *r)
{
    bool ok = true;

    for (int i = 0; i < 9; i++)
        T->r[i] = bytes_get_f32(r);
    for (int i = 0; i < 3; i++) {
        T->t[i] = bytes_get_f32(r);
        ok = ok && is_in(T->t[i], -FAR_M, FAR_M);
    }
    for (int i = 0; i < 3; i++)
        for (int k = 0; k <= i; k++) {
            const float *a = T->r + 3 * i, *b = T->r + 3 * k;

            ok = ok && fabsf(a[0] * b[0] + a[1] * b[1] + a[2] * b[2] - (float)(i == k)) < 1e-3f;
        }
    return ok;
}

static bool corner_valid(const struct describe_corner *c, const struct describe_keyframe *d)
{
    return is_in(c->x, 0, (float)d->w) && is_in(c->y, 0, (float)d->h) &&
           is_in(c->depth, 0, FAR_M) && is_in(c->sigma, 1e-3f, 1e3f);
}

static bool get_keyframe(struct ties_keyframe *k, struct bytes_reader *r)
{
    struct describe_keyframe *d = &k->seen;
    const uint8_t *corners, *depth;
    bool ok;

    k->world = bytes_get_u32(r);
    ok = get_pose(&k->T_wc, r) && k->world < TIES_WORLDS;
    d->K.fx = bytes_get_f32(r);
    d->K.fy = bytes_get_f32(r);
    d->K.cx = bytes_get_f32(r);
    d->K.cy = bytes_get_f32(r);
    d->w = bytes_get_i32(r);
    d->h = bytes_get_i32(r);
    d->n = bytes_get_i32(r);
    if (!ok || d->n < 0 || d->n > DESCRIBE_CORNERS || d->w < 1 || d->h < 1 || d->w > SIDE_MAX ||
        d->h > SIDE_MAX || !is_in(d->K.fx, 1e-3f, 1e6f) || !is_in(d->K.fy, 1e-3f, 1e6f) ||
        !is_in(d->K.cx, -1e6f, 1e6f) || !is_in(d->K.cy, -1e6f, 1e6f))
        return false;
    corners = bytes_get_span(r, (size_t)d->n * sizeof(*d->corner));
    depth = bytes_get_span(r, GRID_BYTES);
    if (r->bad)
        return false;
    memcpy(d->corner, corners, (size_t)d->n * sizeof(*d->corner));
    memcpy(d->depth, depth, GRID_BYTES);
    for (int i = 0; i < d->n; i++)
        ok = ok && corner_valid(&d->corner[i], d);
    for (int i = 0; i < DESCRIBE_GRID_W * DESCRIBE_GRID_H; i++)
        ok = ok && is_in(d->depth[i], 0, FAR_M);
    return ok;
}

static bool get_pair(const struct ties *t, struct ties_pair *p, uint32_t n, struct bytes_reader *r)
{
    const uint8_t *match, *rotation, *shift;
    bool ok = true;

    p->a = bytes_get_u32(r);
    p->b = bytes_get_u32(r);
    p->n = bytes_get_i32(r);
    if (!is_of(p, n) || p->n < 0 || p->n > DESCRIBE_CORNERS ||
        at(t, p->a)->world >= at(t, p->b)->world)
        return false;
    match = bytes_get_span(r, (size_t)p->n * sizeof(*p->match));
    rotation = bytes_get_span(r, sizeof(p->X.r));
    shift = bytes_get_span(r, sizeof(p->X.t));
    if (r->bad)
        return false;
    memcpy(p->match, match, (size_t)p->n * sizeof(*p->match));
    memcpy(p->X.r, rotation, sizeof(p->X.r));
    memcpy(p->X.t, shift, sizeof(p->X.t));
    p->X.s = 1;
    for (int i = 0; i < p->n; i++)
        ok = ok && p->match[i].a < at(t, p->a)->seen.n && p->match[i].b < at(t, p->b)->seen.n;
    for (int i = 0; i < 9; i++)
        ok = ok && fabs(p->X.r[i]) <= 1.001;
    for (int i = 0; i < 3; i++)
        ok = ok && fabs(p->X.t[i]) <= (double)FAR_M;
    return ok;
}

static bool get_claim(struct ties_claim *c, struct bytes_reader *r)
{
    bool ok;

    c->world = bytes_get_u32(r);
    c->parent = bytes_get_u32(r);
    ok = get_pose(&c->T_wc, r);
    c->sigma_m = (double)bytes_get_f32(r);
    c->sigma_rad = (double)bytes_get_f32(r);
    c->cut = bytes_get_u32(r) != 0;
    return ok && c->parent < c->world && c->world < TIES_WORLDS && c->sigma_m >= 1e-6 &&
           c->sigma_m <= 1e6 && c->sigma_rad >= 1e-6 && c->sigma_rad <= 1e6;
}

static int ties_state_load(struct ties *t, uint32_t *n, const uint8_t *buf, size_t len,
                           struct err *err)
{
    struct bytes_reader r = bytes_reader(buf, len);
    uint32_t n_keyframes = bytes_get_u32(&r), n_pairs = bytes_get_u32(&r);
    uint32_t n_claims = bytes_get_u32(&r);
    bool ok = n_keyframes <= TIES_KEYFRAMES && n_pairs <= TIES_PAIRS && n_claims <= TIES_CLAIMS;

    bytes_get_u32(&r);
    for (*n = 0; ok && *n < n_keyframes; ++*n) {
        struct ties_keyframe *k = ties_room(t, *n);

        if (!k)
            return err_set(err, ERR_MEMORY, "no memory for the ties of a session");
        ok = get_keyframe(k, &r) && !r.bad;
    }
    for (uint32_t i = 0; ok && i < n_pairs; i++)
        ok = get_pair(t, &t->pair[t->n_pairs++], n_keyframes, &r) && !r.bad;
    for (uint32_t i = 0; ok && i < n_claims; i++)
        ok = get_claim(&t->claim[t->n_claims++], &r) && !r.bad;
    if (!ok || r.bad || bytes_left(&r))
        return err_set(err, ERR_INPUT, "not the ties of a session, or cut short");
    return 0;
}

int ties_load(struct ties *t, uint32_t *n, const uint8_t *buf, size_t len, struct err *err)
{
    int rc = ties_state_load(t, n, buf, len, err);

    if (rc) /* the next use overwrites the keyframes already read */
        *n = 0, t->n_pairs = 0, t->n_claims = 0;
    return rc;
}
