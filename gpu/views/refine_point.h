/*
 * refine_point.h - pictures correct the poses of a swept keyframe's sources relative to it,
 * together with the inverse depths of its points
 *
 * A point is the pixel of a cell with the largest step of the picture among those that the first
 * sweep measured. Gauss-Newton runs on levels at three sizes of the pictures, coarse first, with
 * six unknowns a source under the odometry's prior; the points' depths are eliminated. Every sum of
 * the system is added in one fixed order.
 * Maths:   MATH.md (V17)-(V20)
 */
#pragma once

#include "gpu/views/plan_point.h"

#define REFINE_LEVELS VIEWS_LEVELS
#define REFINE_ROUNDS 5 /* rounds at each level */
#define REFINE_LIGHT 2  /* earlier rounds for gain and bias alone */
#define REFINE_SINGULAR 1e-12f

#define REFINE_POSE 6
#define REFINE_UNKNOWNS (REFINE_POSE * VIEWS_SOURCES)
#define REFINE_PAIRS (REFINE_UNKNOWNS * (REFINE_UNKNOWNS + 1) / 2)
#define REFINE_MOMENTS 5 /* sums over a source's levels: of 1, a, b, aa, ab */
#define REFINE_SUMS (REFINE_PAIRS + REFINE_UNKNOWNS + REFINE_MOMENTS * VIEWS_SOURCES)

/* (V17) Pictures of a refinement: the keyframe's is the last. */
#define REFINE_PICTURES (VIEWS_SOURCES + 1)

GPU_HD static inline uint16_t *refine_level(const struct views *v, int picture, int level)
{
    uint16_t *p = v->pyramid + (size_t)picture * views_pyramid_pixels(v->w, v->h);
    for (int l = 0; l < level; l++)
        p += (size_t)(v->w >> l) * (size_t)(v->h >> l);
    return p;
}

GPU_HD static inline const uint8_t *refine_grey(const struct views *v, int picture)
{
    return v->grey +
           views_at(v, picture == VIEWS_SOURCES ? v->plan.swept : v->plan.source[picture]);
}

GPU_HD static inline int refine_is_there(const struct views *v, int picture)
{
    return picture == VIEWS_SOURCES || picture < v->plan.n_sources;
}

/* (V17) A pixel of a picture, blurred: 16 times its level. */
GPU_HD static inline int refine_blur(const uint8_t *g, int w, int h, int x, int y)
{
    int sum = 0;
    for (int j = -1; j <= 1; j++)
        for (int i = -1; i <= 1; i++) {
            int u = x + i, v = y + j;
            u = u < 0 ? 0 : u < w ? u : w - 1;
            v = v < 0 ? 0 : v < h ? v : h - 1;
            sum += (2 - (i & 1)) * (2 - (j & 1)) * g[(size_t)v * (size_t)w + (size_t)u];
        }
    return sum;
}

/* (V17) A pixel of a level: the sum of the blurred pixels in it. */
GPU_HD static inline uint16_t refine_shrink(const uint8_t *g, int w, int h, int level, int x, int y)
{
    int n = 1 << level, sum = 0;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++)
            sum += refine_blur(g, w, h, x * n + i, y * n + j);
    return (uint16_t)sum;
}

/* Squared step of the keyframe's picture at a pixel that is not on its border. */
GPU_HD static inline int refine_step(const uint16_t *p, int w)
{
    int dx = (int)p[1] - (int)p[-1], dy = (int)p[w] - (int)p[-w];
    return dx * dx + dy * dy;
}

/* (V18) The pixel of a cell that becomes a point; ~0: none. */
GPU_HD static inline uint32_t refine_choose(const struct views *v, int cell)
{
    const uint16_t *own = v->own + views_at(v, v->plan.swept);
    const uint16_t *p = refine_level(v, VIEWS_SOURCES, 0);
    int across = v->w / v->cell, x0 = cell % across * v->cell, y0 = cell / across * v->cell;
    uint32_t found = 0xffffffffu;
    int most = v->params.refine_step;
    for (int y = y0; y < y0 + v->cell; y++)
        for (int x = x0; x < x0 + v->cell; x++) {
            size_t at = (size_t)y * (size_t)v->w + (size_t)x;
            int step;
            if (x < 4 || y < 4 || x >= v->w - 4 || y >= v->h - 4 || own[at] == 0)
                continue;
            step = refine_step(p + at, v->w);
            if (step > most) {
                most = step;
                found = (uint32_t)at;
            }
        }
    return found;
}

GPU_HD static inline struct views_point refine_point(const struct views *v, uint32_t at)
{
    const struct intrinsics *K = &v->kept[v->plan.swept].camera.K;
    struct views_point p;
    p.x = (float)(at % (uint32_t)v->w);
    p.y = (float)(at / (uint32_t)v->w);
    p.rx = (p.x - K->cx) / K->fx;
    p.ry = (p.y - K->cy) / K->fy;
    p.inv = 1.0f / views_decode(v->own[views_at(v, v->plan.swept) + at]);
    return p;
}

/* A picture's level between pixels, and its slopes. Returns 0 too near to the border. */
struct refine_sample {
    float level, dx, dy;
};

GPU_HD static inline float refine_blend(const uint16_t *p, int w, float a, float b)
{
    float top = (float)p[0] + a * ((float)p[1] - (float)p[0]);
    float low = (float)p[w] + a * ((float)p[w + 1] - (float)p[w]);
    return top + b * (low - top);
}

GPU_HD static inline int refine_look(const uint16_t *p, int w, int h, int level, float u, float y,
                                     struct refine_sample *s)
{
    float one = 1.0f / (float)(16 << (2 * level)), by = 1.0f / (float)(1 << level), a, b;
    int i, j;
    u = (u + 0.5f) * by - 0.5f;
    y = (y + 0.5f) * by - 0.5f;
    w >>= level;
    h >>= level;
    if (!(u >= 1.0f && y >= 1.0f && u < (float)(w - 3) && y < (float)(h - 3)))
        return 0;
    i = (int)u;
    j = (int)y;
    a = u - (float)i;
    b = y - (float)j;
    p += (size_t)j * (size_t)w + (size_t)i;
    s->level = refine_blend(p, w, a, b) * one;
    s->dx = (refine_blend(p + 1, w, a, b) - refine_blend(p - 1, w, a, b)) * 0.5f * one * by;
    s->dy = (refine_blend(p + w, w, a, b) - refine_blend(p - w, w, a, b)) * 0.5f * one * by;
    return 1;
}

/* (V19) What one source says of one point: weight 0 where it does not see it. */
struct refine_row {
    float j[REFINE_POSE], jd; /* derivatives of the residual by pose and by log inverse depth */
    float r, weight;
    float mine, other; /* levels */
};

GPU_HD static inline struct refine_row refine_look_from(const struct views *v, int source,
                                                        int level, const struct views_pose *s,
                                                        const struct views_point *p)
{
    const struct intrinsics *K = &v->kept[v->plan.source[source]].camera.K;
    const float *R = s->T.r, *t = s->T.t;
    float d = p->inv, inv, X, Y, jx, jy, jz, e;
    float x = R[0] * p->rx + R[1] * p->ry + R[2] + t[0] * d;
    float y = R[3] * p->rx + R[4] * p->ry + R[5] + t[1] * d;
    float z = R[6] * p->rx + R[7] * p->ry + R[8] + t[2] * d;
    struct refine_sample there, here;
    struct refine_row o = {{0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f}, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
    if (!(z > 0.1f))
        return o;
    inv = 1.0f / z;
    X = x * inv;
    Y = y * inv;
    if (!refine_look(refine_level(v, source, level), v->w, v->h, level, K->fx * X + K->cx,
                     K->fy * Y + K->cy, &there) ||
        !refine_look(refine_level(v, VIEWS_SOURCES, level), v->w, v->h, level, p->x, p->y, &here))
        return o;
    jx = there.dx * K->fx * inv;
    jy = there.dy * K->fy * inv;
    jz = -(jx * X + jy * Y);
    o.j[0] = jx * d;
    o.j[1] = jy * d;
    o.j[2] = jz * d;
    o.j[3] = jz * y - jy * z;
    o.j[4] = jx * z - jz * x;
    o.j[5] = jy * x - jx * y;
    o.jd = (jx * t[0] + jy * t[1] + jz * t[2]) * d;
    o.mine = here.level;
    o.other = there.level;
    o.r = o.other - s->gain * o.mine - s->bias;
    e = o.r / v->params.refine_scale;
    o.weight = 1.0f / ((1.0f + e * e) * (1.0f + e * e));
    return o;
}

/* (V19) A row's factors in the sums: g = weight j, u = g jd, v = u / h; h is the point's sum. */
struct refine_term {
    float j[REFINE_POSE], g[REFINE_POSE], u[REFINE_POSE], v[REFINE_POSE];
    float r, weight, mine, other;
};

/* What one source's row adds to the point's h, and to its right side. */
struct refine_say {
    float h, g;
};

/* e: the row's residual. */
GPU_HD static inline struct refine_say refine_say(const struct views *v, const struct refine_row *o,
                                                  float e)
{
    float w = v->params.refine_weight * o->weight;
    struct refine_say s;
    s.h = w * o->jd * o->jd;
    s.g = w * o->jd * e;
    return s;
}

/* Adds what all n sources say, in their order; `said` is the first's, and they lie `apart`. */
GPU_HD static inline struct refine_say refine_hear(const struct views *v,
                                                   const struct refine_say *said, int apart, int n)
{
    struct refine_say sum = {v->params.refine_hold, 0.0f};
    for (int s = 0; s < n; s++) {
        sum.h += said[s * apart].h;
        sum.g += said[s * apart].g;
    }
    return sum;
}

GPU_HD static inline struct refine_term refine_term(const struct views *v,
                                                    const struct refine_row *o, float h)
{
    struct refine_term t;
    for (int a = 0; a < REFINE_POSE; a++) {
        t.j[a] = o->j[a];
        t.g[a] = v->params.refine_weight * o->weight * o->j[a];
        t.u[a] = t.g[a] * o->jd;
        t.v[a] = t.u[a] / h;
    }
    t.r = o->r;
    t.weight = o->weight;
    t.mine = o->mine;
    t.other = o->other;
    return t;
}

/* Parts of a sum over points: part q has the points q, q + 32 ... Parts are added in halves: q and
 * q + 16, then q and q + 8 ... */
#define REFINE_PARTS 32

/* Sum number i: an entry of the triangle (row, column), of the right side (column -1), or a moment
 * of source `row` (column -2 - moment). */
struct refine_sum {
    int row, column;
};

GPU_HD static inline struct refine_sum refine_sum_of(int i)
{
    struct refine_sum s;
    if (i < REFINE_PAIRS) {
        s.row = 0;
        while ((s.row + 1) * (s.row + 2) / 2 <= i)
            s.row++;
        s.column = i - s.row * (s.row + 1) / 2;
    } else if (i < REFINE_PAIRS + REFINE_UNKNOWNS) {
        s.row = i - REFINE_PAIRS;
        s.column = -1;
    } else {
        i -= REFINE_PAIRS + REFINE_UNKNOWNS;
        s.row = i / REFINE_MOMENTS;
        s.column = -2 - i % REFINE_MOMENTS;
    }
    return s;
}

/* What a point adds to an entry of the triangle; is_same: row and column are of one source. */
GPU_HD static inline float refine_add_pair(float sum, int is_same, float g, float j, float u,
                                           float v)
{
    if (is_same)
        sum += g * j;
    return sum - u * v;
}

/* What a point adds to an entry of the right side; gd is the point's. */
GPU_HD static inline float refine_add_right(float sum, float g, float r, float v, float gd)
{
    return sum - g * r + v * gd;
}

/* What a point adds to moment number i of a source. */
GPU_HD static inline float refine_add_moment(float sum, int i, float weight, float mine,
                                             float other)
{
    return i == 0   ? sum + weight
           : i == 1 ? sum + weight * mine
           : i == 2 ? sum + weight * other
           : i == 3 ? sum + weight * mine * mine
                    : sum + weight * mine * other;
}

/* (V19) Gain and bias between a source's levels and the keyframe's. m: its moments. */
GPU_HD static inline void refine_light(struct views_pose *s, const float *m)
{
    float n = m[0], var, both, gain;
    if (!(n > 50.0f))
        return;
    var = m[3] / n - m[1] / n * (m[1] / n);
    both = m[4] / n - m[1] / n * (m[2] / n);
    gain = (both + 20.0f) / (var + 20.0f);
    s->gain = gain < 0.7f ? 0.7f : gain > 1.4f ? 1.4f : gain;
    s->bias = m[2] / n - s->gain * (m[1] / n);
}

/* How a source's pose differs from the odometry's: position, then small turn. */
GPU_HD static inline void refine_apart(const struct views_pose *s, float x[REFINE_POSE])
{
    struct rigid back = rigid_inverse(&s->given), E = rigid_mul(&s->T, &back);
    for (int i = 0; i < 3; i++)
        x[i] = s->T.t[i] - s->given.t[i];
    x[3] = 0.5f * (E.r[7] - E.r[5]);
    x[4] = 0.5f * (E.r[2] - E.r[6]);
    x[5] = 0.5f * (E.r[3] - E.r[1]);
}

/* The derivative of coordinate q of position t by unknown a; turns move it, too. */
GPU_HD static inline float refine_moves(const float *t, int q, int a)
{
    if (a < 3)
        return a == q ? 1.0f : 0.0f;
    a -= 3;
    return a == q ? 0.0f : (a + 1) % 3 == q ? -t[3 - a - q] : t[3 - a - q];
}

/* (V19) What a source's prior adds to entry (a, c) of its part of the system; t: its position. */
GPU_HD static inline float refine_prior_pair(const struct views *v, float sum, const float *t,
                                             int a, int c)
{
    for (int q = 0; q < 3; q++)
        sum += refine_moves(t, q, a) * refine_moves(t, q, c) *
               (1.0f / (v->params.refine_shift_m * v->params.refine_shift_m));
    return a == c && a >= 3
               ? sum + 1.0f / (v->params.refine_rotation_rad * v->params.refine_rotation_rad)
               : sum;
}

/* What it adds to entry a of the right side; x: refine_apart(). */
GPU_HD static inline float refine_prior_right(const struct views *v, float sum, const float *t,
                                              const float *x, int a)
{
    for (int q = 0; q < 3; q++)
        sum -= refine_moves(t, q, a) * x[q] *
               (1.0f / (v->params.refine_shift_m * v->params.refine_shift_m));
    return a >= 3 ? sum - x[a] * (1.0f /
                                  (v->params.refine_rotation_rad * v->params.refine_rotation_rad))
                  : sum;
}

/* A source's pose moves by x: first it turns, then it is shifted. */
GPU_HD static inline void refine_move(struct rigid *T, const float *x)
{
    float n = 1.0f + 0.25f * (x[3] * x[3] + x[4] * x[4] + x[5] * x[5]), k = 1.0f / n;
    float a = 0.5f * x[3], b = 0.5f * x[4], c = 0.5f * x[5];
    struct rigid E;
    E.r[0] = 1.0f - 2.0f * (b * b + c * c) * k;
    E.r[1] = 2.0f * (a * b - c) * k;
    E.r[2] = 2.0f * (a * c + b) * k;
    E.r[3] = 2.0f * (a * b + c) * k;
    E.r[4] = 1.0f - 2.0f * (a * a + c * c) * k;
    E.r[5] = 2.0f * (b * c - a) * k;
    E.r[6] = 2.0f * (a * c - b) * k;
    E.r[7] = 2.0f * (b * c + a) * k;
    E.r[8] = 1.0f - 2.0f * (a * a + b * b) * k;
    for (int i = 0; i < 3; i++)
        E.t[i] = x[i];
    *T = rigid_mul(&E, T);
}

/* A row's residual after its source has moved by x. */
GPU_HD static inline float refine_left(const struct refine_row *o, const float *x)
{
    float e = o->r;
    for (int a = 0; a < REFINE_POSE; a++)
        e += o->j[a] * x[a];
    return e;
}

/* (V19) A point's new inverse depth; s: what all moved sources say. */
GPU_HD static inline float refine_depth(float inv, const struct refine_say *s)
{
    float step = -s->g / s->h;
    step = step < -0.1f ? -0.1f : step > 0.1f ? 0.1f : step;
    return inv * (1.0f + step + 0.5f * step * step);
}

/* (V19) Undoes a correction within the method's noise. Returns 0 where it did, 1 where the pose is
 * refined, -1 where the correction exceeds odometry's error. */
GPU_HD static inline int refine_accept(const struct views *v, struct views_pose *s)
{
    float x[REFINE_POSE], shift = 0.0f, turn = 0.0f, away = 0.0f, most;
    refine_apart(s, x);
    for (int i = 0; i < 3; i++) {
        shift += x[i] * x[i];
        turn += x[3 + i] * x[3 + i];
        away += s->given.t[i] * s->given.t[i];
    }
    most = shift / (3.0f * v->params.refine_shift_m * v->params.refine_shift_m);
    most += turn / (3.0f * v->params.refine_rotation_rad * v->params.refine_rotation_rad);
    if (!(most < v->params.refine_most))
        return -1;
    if (shift < v->params.refine_keep_shift_rel * v->params.refine_keep_shift_rel * away &&
        turn < v->params.refine_keep_rotation_rad * v->params.refine_keep_rotation_rad) {
        s->T = s->given;
        return 0;
    }
    return 1;
}

/* Are there enough matches, and a source far enough away? Few pixels match by chance; a near
 * source's baseline is mostly odometry's error, as where the camera only turns. */
GPU_HD static inline int refine_is_wanted(const struct views *v)
{
    float most = 0.0f;
    if (v->plan.swept < 0 || v->plan.n_sources == 0)
        return 0;
    for (int k = 0; k < v->plan.n_sources; k++) {
        const float *t = v->plan.pose[k].given.t;
        float far2 = t[0] * t[0] + t[1] * t[1] + t[2] * t[2];
        most = far2 > most ? far2 : most;
    }
    return v->kept[v->plan.swept].n_measured * v->params.refine_least_in >= v->n_pixels &&
           most >= v->params.refine_far_m * v->params.refine_far_m;
}

/* (V20) The bin of log2 of another keyframe's depth over the swept one's at the same pixel; -1: no
 * depth. T takes points of the other's camera to the swept one's. */
#define REFINE_BIN_ONE 512.0f /* bins of an octave; VIEWS_SCALES of them around 0 */
#define REFINE_EVERY 5

GPU_HD static inline int refine_scale_bin(const struct views *v, int other, const struct rigid *T,
                                          uint32_t i)
{
    size_t at = views_at(v, other) + i;
    float z = views_decode(v->own[at]), x, y, mine;
    struct vec3 p;
    int bin;
    if (!(z > 0.0f) || v->agree[at] == 0)
        return -1;
    p = rigid_apply(T, views_ray(&v->kept[other].camera.K, (int)(i % (uint32_t)v->w),
                                 (int)(i / (uint32_t)v->w), z));
    if (!views_project(&v->kept[v->plan.swept].camera.K, v->w, v->h, p, &x, &y))
        return -1;
    mine = views_decode(v->own[views_at(v, v->plan.swept) + views_pixel(v->w, x, y)]);
    if (!(mine > 0.0f))
        return -1;
    bin = (int)((power_log2(p.z) - power_log2(mine)) * REFINE_BIN_ONE + (float)(VIEWS_SCALES / 2));
    return bin > 0 && bin < VIEWS_SCALES ? bin : -1;
}

/* (V20) The factor for all baselines, from n ratios; half of them lie in `bin` or below. */
GPU_HD static inline float refine_scale(const struct views *v, int bin, uint32_t n)
{
    float c;
    if (n < 200)
        return 1.0f;
    c = ((float)bin + 0.5f - (float)(VIEWS_SCALES / 2)) / REFINE_BIN_ONE;
    c *= (float)n / (float)(n + v->params.refine_scale_half);
    c = c > v->params.refine_scale_least    ? c - v->params.refine_scale_least
        : c < -v->params.refine_scale_least ? c + v->params.refine_scale_least
                                            : 0.0f;
    return power_exp2(v->params.refine_scale_take * c);
}

/* Does the keyframe at this place count for the scale? */
GPU_HD static inline int refine_is_other(const struct views *v, int place)
{
    return plan_is_swept(v, place) && views_is_sound(v, place);
}

/* Sets the poses for the second sweep, if any differs from the given ones. done: the systems had
 * solutions. If one source is beyond odometry's error all keep their poses. */
GPU_HD static inline void refine_finish(struct views *v, int done, float scale)
{
    int n = v->plan.n_sources, changed = scale != 1.0f;
    for (int k = 0; k < n; k++) {
        int answer = refine_accept(v, &v->plan.pose[k]);
        done = done && answer >= 0;
        changed |= answer > 0;
    }
    for (int k = 0; k < n; k++) {
        struct views_pose *s = &v->plan.pose[k];
        for (int i = 0; i < 3; i++)
            s->T.t[i] *= scale;
        if (!done)
            s->T = s->given;
    }
    v->plan.again = done && changed;
    if (v->plan.again)
        v->kept[v->plan.swept].n_measured = 0;
}
