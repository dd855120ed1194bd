/*
 * klt_point.h - a window of one picture found in another (Lucas and Kanade)
 *
 * Windows are sampled in eighths of a level, so that sums over them are of whole numbers: 11 x 11
 * products of two differences of up to 2040 stay below 2^30.
 * Maths:   MATH.md (L2)-(L4)
 */
#pragma once

#include "gpu/track/pyramid_point.h"

#define KLT_RADIUS 5
#define KLT_SIDE (2 * KLT_RADIUS + 1)
#define KLT_WINDOW (KLT_SIDE * KLT_SIDE)
#define KLT_STEPS 10    /* steps at each level, at most */
#define KLT_STILL 0.02f /* a step shorter than this, in pixels of its level, is the last one */
#define KLT_ONE 8.0f    /* of a level */
#define KLT_SHIFT 8     /* largest shift between frames, pixels of the smallest pictures */
#define KLT_SHIFT_SIDE (2 * KLT_SHIFT + 1)
#define KLT_NO_SHIFT 0xffffffffu
#define KLT_SHIFTS (KLT_SHIFT_SIDE * KLT_SHIFT_SIDE)

/* Sums over a track's window: levels v in eighths, gradients x, y in 1/16 a pixel, and products. */
struct klt_window {
    int32_t v, x, y, vv, xx, xy, yy, xv, yv;
};

/* Sums over the other window: its levels, alone and times the first window's gradients. */
struct klt_other {
    int32_t v, vv, xv, yv;
};

struct klt_matrix {
    double xx, xy, yy, det;
};

struct klt_place {
    float x, y;
    int is_found;
};

/* Where a picture is sampled: the pixel, and the share of the next pixel. */
struct klt_at {
    int x, y;
    float fx, fy;
};

GPU_HD static inline struct klt_at klt_at(float x, float y)
{
    struct klt_at a;
    a.x = (int)floorf(x);
    a.y = (int)floorf(y);
    a.fx = x - (float)a.x;
    a.fy = y - (float)a.y;
    return a;
}

/* (L2) Shift number i of the smallest pictures, as pixels to the right and down. */
GPU_HD static inline int klt_shift_x(int i)
{
    return i % KLT_SHIFT_SIDE - KLT_SHIFT;
}

GPU_HD static inline int klt_shift_y(int i)
{
    return i / KLT_SHIFT_SIDE - KLT_SHIFT;
}

/* (L2) The part of the picture that both cover under a shift. */
struct klt_overlap {
    int x0, y0, w, h;
};

GPU_HD static inline struct klt_overlap klt_overlap(const struct track_level *l, int i)
{
    int dx = klt_shift_x(i), dy = klt_shift_y(i);
    struct klt_overlap o;
    o.x0 = dx < 0 ? -dx : 0;
    o.y0 = dy < 0 ? -dy : 0;
    o.w = l->w - (dx < 0 ? -dx : dx);
    o.h = l->h - (dy < 0 ? -dy : dy);
    return o;
}

/* (L2) The sum of their differences there, over every `step`-th row from the `first`. */
GPU_HD static inline uint32_t klt_differ(const struct track_level *l, const uint8_t *from,
                                         const uint8_t *to, const struct klt_overlap *o, int i,
                                         int first, int step)
{
    uint32_t sum = 0;
    for (int y = o->y0 + first; y < o->y0 + o->h; y += step)
        for (int x = o->x0; x < o->x0 + o->w; x++) {
            int d = from[y * l->w + x] - to[(y + klt_shift_y(i)) * l->w + x + klt_shift_x(i)];
            sum += (uint32_t)(d < 0 ? -d : d);
        }
    return sum;
}

/* (L2) Shifts that leave less than half of the picture do not count. */
GPU_HD static inline int klt_is_shift(const struct track_level *l, const struct klt_overlap *o)
{
    return o->w > 0 && o->h > 0 && 2 * o->w * o->h >= l->w * l->h;
}

/* (L2) The claim of a shift: the mean difference in 64ths of a level, among equals the smaller
 * number.
 */
GPU_HD static inline uint32_t klt_shift_claim(const struct klt_overlap *o, uint32_t sum, int i)
{
    return 64u * sum / (uint32_t)(o->w * o->h) << 16 | (uint32_t)i;
}

/* (L2) The picture's motion in pixels by the best claim. */
GPU_HD static inline int klt_shift_of(uint32_t claim)
{
    return claim == KLT_NO_SHIFT ? KLT_SHIFTS / 2 : (int)(claim & 0xffffu);
}

GPU_HD static inline float klt_shift_px(int at_the_smallest)
{
    return (float)(at_the_smallest * (1 << (TRACK_LEVELS - 1)));
}

/* (L3) Bilinear, to the nearest eighth of a level. */
GPU_HD static inline int klt_blend(float a, float b, float c, float d, float fx, float fy)
{
    float top = a + fx * (b - a), low = c + fx * (d - c);
    return (int)((top + fy * (low - top)) * KLT_ONE + 0.5f);
}

/* A gradient matrix, without the window's mean. */
GPU_HD static inline struct klt_matrix klt_matrix_of(const struct klt_window *s)
{
    struct klt_matrix m;
    m.xx = (double)KLT_WINDOW * s->xx - (double)s->x * s->x;
    m.xy = (double)KLT_WINDOW * s->xy - (double)s->x * s->y;
    m.yy = (double)KLT_WINDOW * s->yy - (double)s->y * s->y;
    m.det = m.xx * m.yy - m.xy * m.xy;
    return m;
}

/* (L3) Has the window structure in both directions? */
GPU_HD static inline int klt_is_corner(const struct track *t, const struct klt_matrix *m)
{
    double half = 0.5 * (m->xx - m->yy), scale = 256.0 * KLT_WINDOW * KLT_WINDOW;
    double least = 0.5 * (m->xx + m->yy) - sqrt(half * half + m->xy * m->xy);
    return m->det > 0.0 && least >= (double)t->params.klt_least * scale;
}

/* (L3) The first window's contrast over the second's, since pictures get brighter and darker. */
GPU_HD static inline double klt_gain(const struct klt_window *s, const struct klt_other *d)
{
    double one = (double)KLT_WINDOW * s->vv - (double)s->v * s->v;
    double other = (double)KLT_WINDOW * d->vv - (double)d->v * d->v;
    return one > 0.25 * other && one < 4.0 * other ? sqrt(one / other) : 1.0;
}

/* (L3) One step at a level. Returns 0 when it was the last one. */
GPU_HD static inline int klt_step(struct klt_place *p, const struct klt_matrix *m,
                                  const struct klt_window *s, const struct klt_other *d,
                                  const struct track_level *l)
{
    double n = KLT_WINDOW, gain = klt_gain(s, d);
    double bx = n * s->xv - (double)s->x * s->v - gain * (n * d->xv - (double)s->x * d->v);
    double by = n * s->yv - (double)s->y * s->v - gain * (n * d->yv - (double)s->y * d->v);
    float dx, dy;
    if (!(m->det > 0.0)) {
        p->is_found = 0;
        return 0;
    }
    dx = (float)(2.0 * (m->yy * bx - m->xy * by) / m->det);
    dy = (float)(2.0 * (m->xx * by - m->xy * bx) / m->det);
    if (!(dx * dx + dy * dy < (float)(KLT_SIDE * KLT_SIDE))) {
        p->is_found = 0;
        return 0;
    }
    p->x += dx;
    p->y += dy;
    p->is_found =
        p->x >= 0.0f && p->y >= 0.0f && p->x <= (float)(l->w - 1) && p->y <= (float)(l->h - 1);
    return p->is_found && dx * dx + dy * dy >= KLT_STILL * KLT_STILL;
}

/* A place of the picture at a level, and back. Pixel centres are at whole numbers; a pixel of a
 * level lies between two of the finer level. */
GPU_HD static inline float klt_down(float x, int level)
{
    return (x + 0.5f) / (float)(1 << level) - 0.5f;
}

GPU_HD static inline float klt_up(float x)
{
    return 2.0f * x + 0.5f;
}

/* (L3) The place that a level passes to the finer level. A level without an answer passes on what
 * it was given; the finest must have one. */
GPU_HD static inline void klt_finer(const struct track *t, struct klt_place *p,
                                    const struct klt_place *start, const struct klt_matrix *m,
                                    int level)
{
    if (level == 0) {
        p->is_found = p->is_found && klt_is_corner(t, m);
        return;
    }
    if (!p->is_found)
        *p = *start;
    p->x = klt_up(p->x);
    p->y = klt_up(p->y);
}

/* (L4) A track's next place, or its end. */
GPU_HD static inline void klt_keep(const struct track *t, struct track_slot *s,
                                   const struct klt_place *there, const struct klt_place *back,
                                   const uint8_t *mask)
{
    float dx = back->x - s->x, dy = back->y - s->y;
    int is_kept = there->is_found && back->is_found &&
                  dx * dx + dy * dy <= t->params.klt_return * t->params.klt_return &&
                  there->x >= t->params.klt_border && there->y >= t->params.klt_border &&
                  there->x <= (float)(t->w - 1) - t->params.klt_border &&
                  there->y <= (float)(t->h - 1) - t->params.klt_border;
    if (!is_kept ||
        (mask &&
         mask[(uint32_t)(there->y + 0.5f) * (uint32_t)t->w + (uint32_t)(there->x + 0.5f)])) {
        s->id = 0;
        return;
    }
    s->x = there->x;
    s->y = there->y;
}
