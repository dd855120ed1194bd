/*
 * path_point.h - what one observation of one landmark says about a pose
 *
 * It is in double, since a path adds up all frames' errors.
 * Maths:   MATH.md (P1)-(P11)
 */
#pragma once

#include "gpu/track/path.h"

#include <string.h>

#define PATH_NEAR_M 0.05      /* nearer than this is not in front of a camera */
#define PATH_NO_DEPTH -100.0f /* of a log */
#define PATH_STEPS 12         /* steps to a frame's pose */
#define PATH_ROUNDS 5         /* of a system */
#define PATH_SINGULAR 1e-12
#define PATH_HELD 1e12 /* weight that holds the oldest keyframe */

/* (P2) The scale of errors of a step, pixels: it begins wide. */
GPU_HD static inline double path_kernel(int step)
{
    return step < 2   ? 30.0
           : step < 4 ? 16.0
           : step < 5 ? 8.0
           : step < 7 ? 4.0
           : step < 9 ? 2.0
                      : 1.0;
}

/* ln x, x > 0 and normal, by the same arithmetic everywhere: x = m 2^e, m in 0.7 ... 1.42, and
 * 2 atanh((m - 1)/(m + 1)) by its series. */
GPU_HD static inline double path_log(double x)
{
    uint64_t bits;
    double m, s, s2;
    int e;
    memcpy(&bits, &x, sizeof bits);
    e = (int)(bits >> 52) - 1023;
    bits = (bits & 0x000fffffffffffffull) | 0x3ff0000000000000ull;
    memcpy(&m, &bits, sizeof m);
    if (m > 1.4142135623730951) {
        m *= 0.5;
        e++;
    }
    s = (m - 1.0) / (m + 1.0);
    s2 = s * s;
    return (double)e * 0.69314718055994531 +
           2.0 * s *
               (1.0 +
                s2 * (1.0 / 3.0 +
                      s2 * (1.0 / 5.0 + s2 * (1.0 / 7.0 + s2 * (1.0 / 9.0 + s2 * (1.0 / 11.0))))));
}

/* e^x for |x| below 4: the 64th part's series, squared six times. */
GPU_HD static inline double path_exp(double x)
{
    double y = x / 64.0,
           e = 1.0 + y * (1.0 + y / 2.0 * (1.0 + y / 3.0 * (1.0 + y / 4.0 * (1.0 + y / 5.0))));
    for (int i = 0; i < 6; i++)
        e *= e;
    return e;
}

/* The prior of a scale, as a number of landmarks. */
GPU_HD static inline double path_bias_prior(const struct path *p)
{
    double depth = p->params.path_depth_log, bias = p->params.path_bias_log;
    return depth * depth / (bias * bias);
}

/* (P11) The standard error of a scale from depths of this total weight. Neighbours err alike, so
 * any number counts as path_alone independent ones at most. */
GPU_HD static inline float path_sigma(const struct path *p, double weight)
{
    return (float)(p->params.path_depth_log /
                   sqrt(weight / (1.0 + weight / p->params.path_alone) + path_bias_prior(p)));
}

/* (P11) Corrects a frame's depth by the scale of the last keyframe, perhaps the frame itself. */
GPU_HD static inline void path_tell_scale(struct path_told *told, const struct path *p)
{
    double b = p->keyframe[p->order[p->n_kept - 1]].bias, most = p->params.path_corrected_log;
    told->log_scale = (float)p->bias;
    told->correction = (float)path_exp(-(b < -most ? -most : b > most ? most : b));
}

GPU_HD static inline void path_apply(double to[3], const struct path_pose *T, const double p[3])
{
    for (int i = 0; i < 3; i++)
        to[i] = T->r[3 * i] * p[0] + T->r[3 * i + 1] * p[1] + T->r[3 * i + 2] * p[2] + T->t[i];
}

/* (P3) T <- exp(d) T, d = (move, turn): the turn is the normalised quaternion (1, turn/2). */
GPU_HD static inline void path_move(struct path_pose *T, const double *d)
{
    double x = 0.5 * d[3], y = 0.5 * d[4], z = 0.5 * d[5];
    double w = 1.0 / sqrt(1.0 + x * x + y * y + z * z);
    struct path_pose step, was = *T;
    x *= w;
    y *= w;
    z *= w;
    step.r[0] = 1.0 - 2.0 * (y * y + z * z);
    step.r[1] = 2.0 * (x * y - w * z);
    step.r[2] = 2.0 * (x * z + w * y);
    step.r[3] = 2.0 * (x * y + w * z);
    step.r[4] = 1.0 - 2.0 * (x * x + z * z);
    step.r[5] = 2.0 * (y * z - w * x);
    step.r[6] = 2.0 * (x * z - w * y);
    step.r[7] = 2.0 * (y * z + w * x);
    step.r[8] = 1.0 - 2.0 * (x * x + y * y);
    for (int i = 0; i < 3; i++) {
        step.t[i] = d[i];
        for (int k = 0; k < 3; k++)
            T->r[3 * i + k] = step.r[3 * i] * was.r[k] + step.r[3 * i + 1] * was.r[3 + k] +
                              step.r[3 * i + 2] * was.r[6 + k];
    }
    path_apply(T->t, &step, was.t);
}

/* (P10) to <- a b, rotations. */
GPU_HD static inline void path_compose(double to[9], const double a[9], const double b[9])
{
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            to[3 * i + k] = a[3 * i] * b[k] + a[3 * i + 1] * b[3 + k] + a[3 * i + 2] * b[6 + k];
}

/* (P10) The step of a pose by a frame's inertial samples. */
GPU_HD static inline void path_turn_step(double d[6], const float turn[3])
{
    for (int i = 0; i < 3; i++) {
        d[i] = 0.0;
        d[3 + i] = -(double)turn[i];
    }
}

/* (P10) Adds a frame's turn to the turn since the last keyframe. */
GPU_HD static inline void path_turn_on(const struct path *p, struct path_turn *t,
                                       const float turn[3], float turn_s)
{
    struct path_pose step;
    double d[6], angle2;
    path_turn_step(d, turn);
    angle2 = d[3] * d[3] + d[4] * d[4] + d[5] * d[5];
    for (int i = 0; i < 9; i++)
        step.r[i] = t->r[i];
    for (int i = 0; i < 3; i++)
        step.t[i] = 0.0;
    path_move(&step, d);
    for (int i = 0; i < 9; i++)
        t->r[i] = step.r[i];
    t->variance =
        turn_s > 0.0f && t->variance > 0.0
            ? t->variance + p->params.gyro_share * p->params.gyro_share * angle2 +
                  p->params.gyro_rate * p->params.gyro_rate * (double)turn_s * (double)turn_s
            : 0.0;
}

/* (P10) The rotation between two poses less a measured turn, as a small rotation vector. */
GPU_HD static inline void path_turn_error(double e[3], double between[9], const double now[9],
                                          const double before[9], const double turn[9])
{
    double back[9], off[9];
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            back[3 * i + k] = before[3 * k + i];
    path_compose(between, now, back);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            back[3 * i + k] = turn[3 * k + i];
    path_compose(off, between, back);
    e[0] = 0.5 * (off[7] - off[5]);
    e[1] = 0.5 * (off[2] - off[6]);
    e[2] = 0.5 * (off[3] - off[1]);
}

/* Makes the rows orthonormal again (Gram-Schmidt), since rounding adds up over a session. */
GPU_HD static inline void path_square(struct path_pose *T)
{
    double *r = T->r, n = sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2]), d;
    for (int i = 0; i < 3; i++)
        r[i] /= n;
    d = r[0] * r[3] + r[1] * r[4] + r[2] * r[5];
    for (int i = 0; i < 3; i++)
        r[3 + i] -= d * r[i];
    n = sqrt(r[3] * r[3] + r[4] * r[4] + r[5] * r[5]);
    for (int i = 0; i < 3; i++)
        r[3 + i] /= n;
    r[6] = r[1] * r[5] - r[2] * r[4];
    r[7] = r[2] * r[3] - r[0] * r[5];
    r[8] = r[0] * r[4] - r[1] * r[3];
}

/* The inverse of a rigid transform, either way. */
GPU_HD static inline struct path_pose path_pose_of(const struct rigid *T_wc)
{
    struct path_pose T;
    for (int i = 0; i < 3; i++) {
        T.t[i] = 0.0;
        for (int k = 0; k < 3; k++) {
            T.r[3 * i + k] = (double)T_wc->r[3 * k + i];
            T.t[i] -= (double)T_wc->r[3 * k + i] * (double)T_wc->t[k];
        }
    }
    path_square(&T);
    return T;
}

GPU_HD static inline struct rigid path_T_wc_of(const struct path_pose *T)
{
    struct rigid T_wc;
    for (int i = 0; i < 3; i++) {
        double t = 0.0;
        for (int k = 0; k < 3; k++) {
            T_wc.r[3 * i + k] = (float)T->r[3 * k + i];
            t -= T->r[3 * k + i] * T->t[k];
        }
        T_wc.t[i] = (float)t;
    }
    return T_wc;
}

/* (P1) Where p is seen: c in the camera, u in pixels. Returns 0 behind the camera. */
GPU_HD static inline int path_project(double c[3], double u[2], const struct intrinsics *K,
                                      const struct path_pose *T, const double p[3])
{
    path_apply(c, T, p);
    if (!(c[2] > PATH_NEAR_M && c[2] < 1e6))
        return 0;
    u[0] = (double)K->fx * c[0] / c[2] + (double)K->cx;
    u[1] = (double)K->fy * c[1] / c[2] + (double)K->cy;
    return 1;
}

/* The derivative of u, pixels, by c. */
GPU_HD static inline void path_slope(double s[2][3], const struct intrinsics *K, const double c[3])
{
    double z = 1.0 / c[2], fx = (double)K->fx * z, fy = (double)K->fy * z;
    s[0][0] = fx;
    s[0][1] = 0.0;
    s[0][2] = -fx * c[0] * z;
    s[1][0] = 0.0;
    s[1][1] = fy;
    s[1][2] = -fy * c[1] * z;
}

/* The derivative of c along v by a pose's move and turn: v and c x v. */
GPU_HD static inline void path_twist(double j[6], const double v[3], const double c[3])
{
    j[0] = v[0];
    j[1] = v[1];
    j[2] = v[2];
    j[3] = c[1] * v[2] - c[2] * v[1];
    j[4] = c[2] * v[0] - c[0] * v[2];
    j[5] = c[0] * v[1] - c[1] * v[0];
}

/* (P4) ln of the depth at a pixel; PATH_NO_DEPTH at edges and without depth. */
GPU_HD static inline float path_depth(const struct path *p, const float *depth, int w, int h,
                                      float x, float y)
{
    int u = (int)(x + 0.5f), v = (int)(y + 0.5f);
    float least = INFINITY, most = 0.0f;
    if (u < 1 || v < 1 || u >= w - 1 || v >= h - 1)
        return PATH_NO_DEPTH;
    for (int j = v - 1; j <= v + 1; j++)
        for (int i = u - 1; i <= u + 1; i++) {
            float d = depth[j * w + i];
            if (!(d > 0.0f))
                return PATH_NO_DEPTH;
            least = d < least ? d : least;
            most = d > most ? d : most;
        }
    if (!(least > 1e-3f && most < 1e4f && most < p->params.path_edge * least))
        return PATH_NO_DEPTH;
    return (float)path_log((double)depth[v * w + u]);
}

GPU_HD static inline int path_has_depth(const struct path_seen *o)
{
    return o->log_d > 0.5f * PATH_NO_DEPTH;
}

/* (P5) Puts a landmark where its keyframe saw it, at the network's depth. */
GPU_HD static inline void path_place(double p[3], const struct path_seen *o,
                                     const struct path_keyframe *k, const struct intrinsics *K)
{
    double z = path_exp((double)o->log_d - k->bias), c[3];
    c[0] = ((double)o->x - (double)K->cx) / (double)K->fx * z - k->T.t[0];
    c[1] = ((double)o->y - (double)K->cy) / (double)K->fy * z - k->T.t[1];
    c[2] = z - k->T.t[2];
    for (int i = 0; i < 3; i++)
        p[i] = k->T.r[i] * c[0] + k->T.r[3 + i] * c[1] + k->T.r[6 + i] * c[2];
}

GPU_HD static inline uint32_t path_count(uint32_t bits)
{
    uint32_t n = 0;
    for (; bits; bits &= bits - 1)
        n++;
    return n;
}

/* The landmark of the track in a slot: its own, else a free one, else that of the older track. */
GPU_HD static inline uint32_t path_place_of(const struct path *p, uint32_t slot, uint32_t id)
{
    const struct path_landmark *m = &p->landmark[2 * slot];
    if (m[0].id == id || m[1].id == id)
        return 2 * slot + (m[0].id != id);
    if (!m[0].kept || !m[1].kept)
        return 2 * slot + (m[0].kept != 0);
    return 2 * slot + (m[1].id < m[0].id);
}

/* (P6) Three rows of a keyframe's observation of a landmark: two of its place in the picture, one
 * of its depth, each times the root of its weight; P: their derivatives by the landmark. Returns 0
 * behind the camera. */
GPU_HD static inline int path_rows(const struct track_params *tuned, struct path_row *o,
                                   double P[3][3], const struct path_keyframe *k,
                                   const struct path_seen *seen, const double p[3],
                                   const struct intrinsics *K)
{
    const double robust = 1.0 / (tuned->path_px_robust * tuned->path_px_robust);
    double c[3], u[2], s[3][3], j[6], e[3], weight[3], e2;
    if (!path_project(c, u, K, &k->T, p))
        return 0;
    path_slope(s, K, c);
    s[2][0] = s[2][1] = 0.0;
    s[2][2] = 1.0 / c[2];
    e[0] = u[0] - (double)seen->x;
    e[1] = u[1] - (double)seen->y;
    e2 = e[0] * e[0] + e[1] * e[1];
    weight[0] = weight[1] = 1.0 / (tuned->path_px * sqrt(1.0 + e2 * robust));
    e[2] = 0.0;
    weight[2] = 0.0;
    if (path_has_depth(seen)) {
        e[2] = path_log(c[2]) + k->bias - (double)seen->log_d;
        e2 = e[2] / (2.0 * tuned->path_depth_log);
        weight[2] = 1.0 / (tuned->path_depth_log * sqrt(1.0 + e2 * e2));
    }
    for (int q = 0; q < 3; q++) {
        path_twist(j, s[q], c);
        for (int a = 0; a < 6; a++)
            o->j[a][q] = weight[q] * j[a];
        o->j[6][q] = q == 2 ? weight[q] : 0.0;
        o->r[q] = weight[q] * e[q];
        for (int i = 0; i < 3; i++)
            P[q][i] = weight[q] *
                      (s[q][0] * k->T.r[i] + s[q][1] * k->T.r[3 + i] + s[q][2] * k->T.r[6 + i]);
    }
    return 1;
}

/* The inverse of a symmetric matrix xx xy xz yy yz zz. Returns 0 if it is singular. */
GPU_HD static inline int path_invert(double h[6])
{
    double a = h[0], b = h[1], c = h[2], d = h[3], e = h[4], f = h[5];
    double c0 = d * f - e * e, c1 = c * e - b * f, c2 = b * e - c * d;
    double det = a * c0 + b * c1 + c * c2;
    if (!(det > 1e-30 && det < 1e60))
        return 0;
    h[0] = c0 / det;
    h[1] = c1 / det;
    h[2] = c2 / det;
    h[3] = (a * f - c * c) / det;
    h[4] = (b * c - a * e) / det;
    h[5] = (a * d - b * b) / det;
    return 1;
}

/* h times v, h symmetric. */
GPU_HD static inline void path_times(double to[3], const double h[6], const double v[3])
{
    to[0] = h[0] * v[0] + h[1] * v[1] + h[2] * v[2];
    to[1] = h[1] * v[0] + h[3] * v[1] + h[4] * v[2];
    to[2] = h[2] * v[0] + h[4] * v[1] + h[5] * v[2];
}

/* (P7) A landmark's part of the system: rows[] of the keyframes that have seen it, in their order.
 */
GPU_HD static inline void path_linearise(struct path *p, uint32_t i)
{
    struct path_point *at = &p->point[i];
    const struct path_landmark *m = &p->landmark[at->landmark];
    double P[3][3], damp;
    for (int k = 0; k < 6; k++)
        at->h[k] = 0.0;
    for (int k = 0; k < 3; k++)
        at->g[k] = 0.0;
    for (uint32_t k = 0; k < p->n_kept; k++) {
        uint32_t place = p->order[k];
        struct path_row *o = &p->row[i * PATH_KEPT + k];
        if (!(m->kept >> place & 1u))
            continue;
        if (!path_rows(&p->params, o, P, &p->keyframe[place], &m->seen[place], m->p, &p->K)) {
            memset(o, 0, sizeof *o);
            continue;
        }
        for (int q = 0; q < 3; q++) {
            for (int a = 0; a < 3; a++)
                at->g[a] -= P[q][a] * o->r[q];
            at->h[0] += P[q][0] * P[q][0];
            at->h[1] += P[q][0] * P[q][1];
            at->h[2] += P[q][0] * P[q][2];
            at->h[3] += P[q][1] * P[q][1];
            at->h[4] += P[q][1] * P[q][2];
            at->h[5] += P[q][2] * P[q][2];
        }
        for (int a = 0; a < PATH_POSE; a++)
            for (int c = 0; c < 3; c++)
                o->w[a][c] = o->j[a][0] * P[0][c] + o->j[a][1] * P[1][c] + o->j[a][2] * P[2][c];
    }
    damp = 1e-4 * (at->h[0] + at->h[3] + at->h[5]) / 3.0 + 1e-9;
    at->h[0] += damp;
    at->h[3] += damp;
    at->h[5] += damp;
    if (!path_invert(at->h))
        memset(at->h, 0, sizeof at->h);
    for (uint32_t k = 0; k < p->n_kept; k++) {
        struct path_row *o = &p->row[i * PATH_KEPT + k];
        if (m->kept >> p->order[k] & 1u)
            for (int a = 0; a < PATH_POSE; a++)
                path_times(o->y[a], at->h, o->w[a]);
    }
}

/* Row and column of an element of the system's lower half. */
struct path_at {
    uint32_t k, a, l, c; /* keyframe and unknown of the row, then of the column */
};

GPU_HD static inline struct path_at path_at_of(uint32_t e)
{
    struct path_at at;
    uint32_t row = (uint32_t)((sqrt(8.0 * (double)e + 1.0) - 1.0) / 2.0), column;
    row -= row * (row + 1) / 2 > e;
    row += (row + 1) * (row + 2) / 2 <= e;
    column = e - row * (row + 1) / 2;
    at.k = row / PATH_POSE;
    at.a = row % PATH_POSE;
    at.l = column / PATH_POSE;
    at.c = column % PATH_POSE;
    return at;
}

GPU_HD static inline double path_dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* (P7) What a landmark adds to an element of the system, or of its right side. */
GPU_HD static inline double path_pair(const struct path_row *rows, const struct path_at *at)
{
    const struct path_row *k = &rows[at->k], *l = &rows[at->l];
    double v = -path_dot(k->y[at->a], l->w[at->c]);
    return at->k == at->l ? v + path_dot(k->j[at->a], k->j[at->c]) : v;
}

GPU_HD static inline double path_right(const struct path_row *row, uint32_t a, const double g[3])
{
    return -path_dot(row->j[a], row->r) - path_dot(row->y[a], g);
}

/* (P7) A landmark's step, from the keyframes' steps. */
GPU_HD static inline void path_follow(struct path *p, uint32_t i, const double *x)
{
    struct path_point *at = &p->point[i];
    struct path_landmark *m = &p->landmark[at->landmark];
    double g[3], d[3];
    for (int c = 0; c < 3; c++)
        g[c] = at->g[c];
    for (uint32_t k = 0; k < p->n_kept; k++) {
        const struct path_row *o = &p->row[i * PATH_KEPT + k];
        if (m->kept >> p->order[k] & 1u)
            for (int a = 0; a < PATH_POSE; a++)
                for (int c = 0; c < 3; c++)
                    g[c] -= o->w[a][c] * x[k * PATH_POSE + (uint32_t)a];
    }
    path_times(d, at->h, g);
    for (int c = 0; c < 3; c++)
        m->p[c] += d[c];
}

/* (P8) After the rounds: do keyframes agree about a landmark? One that a single keyframe has seen
 * moves with it. */
GPU_HD static inline void path_judge(struct path *p, uint32_t i)
{
    struct path_landmark *m = &p->landmark[i];
    double worst = 0.0, c[3], u[2];
    if (!m->kept)
        return;
    for (uint32_t k = 0; k < p->n_kept; k++) {
        uint32_t place = p->order[k];
        const struct path_seen *o = &m->seen[place];
        double dx, dy;
        if (!(m->kept >> place & 1u))
            continue;
        if (path_count(m->kept) == 1 && path_has_depth(o))
            path_place(m->p, o, &p->keyframe[place], &p->K);
        if (!path_project(c, u, &p->K, &p->keyframe[place].T, m->p)) {
            worst = 1e9;
            break;
        }
        dx = u[0] - (double)o->x;
        dy = u[1] - (double)o->y;
        worst = dx * dx + dy * dy > worst ? dx * dx + dy * dy : worst;
    }
    if (!(worst < p->params.path_outlier_px * p->params.path_outlier_px)) {
        m->is_bad = 1;
        m->kept = 0;
    }
}

/* The index of a lower-half element, from its row and column in either order. */
GPU_HD static inline double *path_element(struct path_shared *s, uint32_t i, uint32_t k)
{
    return &s->A[i > k ? i * (i + 1) / 2 + k : k * (k + 1) / 2 + i];
}

/* (P10) Adds what inertial samples say about the turn from keyframe k - 1 to keyframe k. */
GPU_HD static inline void path_add_turn(struct path_shared *s, const struct path *p, uint32_t k)
{
    const struct path_keyframe *now = &p->keyframe[p->order[k]];
    const struct path_keyframe *before = &p->keyframe[p->order[k - 1]];
    uint32_t i = k * PATH_POSE + 3, h = i - PATH_POSE;
    double e[3], M[9], weight;
    if (!(now->turn.variance > 0.0))
        return;
    weight = 1.0 / now->turn.variance;
    path_turn_error(e, M, now->T.r, before->T.r, now->turn.r);
    for (uint32_t a = 0; a < 3; a++) {
        *path_element(s, i + a, i + a) += weight;
        *path_element(s, h + a, h + a) += weight;
        s->b[i + a] -= weight * e[a];
        for (uint32_t c = 0; c < 3; c++) {
            *path_element(s, i + a, h + c) -= weight * M[3 * a + c];
            s->b[h + a] += weight * M[3 * c + a] * e[c];
        }
    }
}
