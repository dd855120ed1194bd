#include "gpu/track/klt_point.h"

#include <string.h>

#define WIDE (KLT_SIDE + 2) /* a window with a border for gradients */
#define PITCH 16            /* rows are padded with zeros, which add nothing */
#define PADDED (KLT_SIDE * PITCH)

/* A window of the picture that the track is followed from. */
struct window {
    int16_t v[PADDED], gx[PADDED], gy[PADDED];
    struct klt_window sum;
};

/* Takes side x side samples around (x, y). Beyond the picture its edge is repeated. */
static void sample(int16_t *out, int side, const uint8_t *p, const struct track_level *l, float x,
                   float y)
{
    struct klt_at a = klt_at(x, y);
    uint8_t copy[WIDE + 1][PITCH + 1];
    int x0 = a.x - side / 2, y0 = a.y - side / 2;

    for (int i = 0; i <= side; i++) {
        const uint8_t *row = p + (size_t)pyramid_clamp(y0 + i, l->h) * (size_t)l->w;
        if (x0 >= 0 && x0 + PITCH < l->w)
            memcpy(copy[i], row + x0, PITCH + 1);
        else
            for (int k = 0; k <= PITCH; k++)
                copy[i][k] = row[pyramid_clamp(x0 + k, l->w)];
    }
    for (int i = 0; i < side; i++)
        for (int k = 0; k < PITCH; k++)
            out[i * PITCH + k] = (int16_t)klt_blend(copy[i][k], copy[i][k + 1], copy[i + 1][k],
                                                    copy[i + 1][k + 1], a.fx, a.fy);
}

static int32_t klt_dot(const int16_t *a, const int16_t *b)
{
    int32_t sum = 0;
    for (int i = 0; i < PADDED; i++)
        sum += (int32_t)a[i] * b[i];
    return sum;
}

static int32_t total(const int16_t *a)
{
    int32_t sum = 0;
    for (int i = 0; i < PADDED; i++)
        sum += a[i];
    return sum;
}

static void open_window(struct window *w, const uint8_t *p, const struct track_level *l, float x,
                        float y)
{
    int16_t wide[WIDE * PITCH];

    memset(w, 0, sizeof *w);
    sample(wide, WIDE, p, l, x, y);
    for (int i = 0; i < KLT_SIDE; i++)
        for (int k = 0; k < KLT_SIDE; k++) {
            const int16_t *c = wide + (i + 1) * PITCH + k + 1;
            w->v[i * PITCH + k] = c[0];
            w->gx[i * PITCH + k] = (int16_t)(c[1] - c[-1]);
            w->gy[i * PITCH + k] = (int16_t)(c[PITCH] - c[-PITCH]);
        }
    w->sum.v = total(w->v);
    w->sum.x = total(w->gx);
    w->sum.y = total(w->gy);
    w->sum.vv = klt_dot(w->v, w->v);
    w->sum.xx = klt_dot(w->gx, w->gx);
    w->sum.xy = klt_dot(w->gx, w->gy);
    w->sum.yy = klt_dot(w->gy, w->gy);
    w->sum.xv = klt_dot(w->gx, w->v);
    w->sum.yv = klt_dot(w->gy, w->v);
}

/* Sums over the window and the one at (x, y) of another picture. */
static struct klt_other klt_compare(const struct window *w, const uint8_t *p,
                                    const struct track_level *l, float x, float y)
{
    int16_t there[PADDED];
    struct klt_other s;

    sample(there, KLT_SIDE, p, l, x, y);
    for (int i = 0; i < KLT_SIDE; i++)
        for (int k = 0; k < PITCH; k++)
            there[i * PITCH + k] = k < KLT_SIDE ? there[i * PITCH + k] : 0;
    s.v = total(there);
    s.vv = klt_dot(there, there);
    s.xv = klt_dot(w->gx, there);
    s.yv = klt_dot(w->gy, there);
    return s;
}

/* (L3) Finds in `to` the window that `from` has at (x, y), beginning at (gx, gy). */
static struct klt_place klt_find(const struct track *t, const uint8_t *from, const uint8_t *to,
                                 float x, float y, float gx, float gy)
{
    struct klt_place p = {klt_down(gx, TRACK_LEVELS - 1), klt_down(gy, TRACK_LEVELS - 1), 1};

    for (int i = TRACK_LEVELS - 1; i >= 0 && p.is_found; i--) {
        const struct track_level *l = &t->level[i];
        struct window w;
        struct klt_matrix m;
        struct klt_place start = p;
        int more = 1;
        open_window(&w, from + l->at, l, klt_down(x, i), klt_down(y, i));
        m = klt_matrix_of(&w.sum);
        for (int step = 0; step < KLT_STEPS && more; step++) {
            struct klt_other d = klt_compare(&w, to + l->at, l, p.x, p.y);
            more = klt_step(&p, &m, &w.sum, &d, l);
        }
        klt_finer(t, &p, &start, &m, i);
    }
    return p;
}

static void find_shift(struct track *t, const uint8_t *last, const uint8_t *now)
{
    const struct track_level *l = &t->level[TRACK_LEVELS - 1];

    t->shift = KLT_NO_SHIFT;
    for (int i = 0; i < KLT_SHIFTS; i++) {
        const struct klt_overlap o = klt_overlap(l, i);
        uint32_t claim;
        if (!klt_is_shift(l, &o))
            continue;
        claim = klt_shift_claim(&o, klt_differ(l, last + l->at, now + l->at, &o, i, 0, 1), i);
        t->shift = claim < t->shift ? claim : t->shift;
    }
    t->shift_x = klt_shift_px(klt_shift_x(klt_shift_of(t->shift)));
    t->shift_y = klt_shift_px(klt_shift_y(klt_shift_of(t->shift)));
}

void klt_cpu(struct track *t, const struct track_frame *f)
{
    const uint8_t *now = t->pyramid[t->n_frames % 2], *last = t->pyramid[(t->n_frames + 1) % 2];

    find_shift(t, last, now);
    for (int i = 0; i < t->n_slots; i++) {
        struct track_slot *s = &t->slot[i];
        struct klt_place there, back = {0, 0, 0};
        if (s->id == 0)
            continue;
        there = klt_find(t, last, now, s->x, s->y, s->x + t->shift_x, s->y + t->shift_y);
        if (there.is_found)
            back = klt_find(t, now, last, there.x, there.y, there.x - t->shift_x,
                            there.y - t->shift_y);
        klt_keep(t, s, &there, &back, f->mask);
    }
}
