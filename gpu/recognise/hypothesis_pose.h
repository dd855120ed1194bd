/*
 * hypothesis_pose.h - one pose of an object: its guess from a match, its refinement, its verdict
 *
 * Order:   sums over points are of whole multiples of 1 / HYPOTHESIS_UNIT, so no order of threads
 *          changes a bit. A point lies within SURFACE_MOST_M and an object has OBJECT_POINTS_MAX of
 *          them, so no sum leaves 2^62.
 */
#pragma once

#include "gpu/recognise/hypothesis_point.h"
#include "gpu/recognise/match_point.h"

#define HYPOTHESIS_UNIT 17179869184.0 /* 2^34 */
#define HYPOTHESIS_PAIRS 12           /* a round with fewer pairs has no solution */
#define HYPOTHESIS_SAMPLE 512         /* points of a large object in the first rounds, at least */
#define HYPOTHESIS_CLAIM_PX 4 /* each point, being sparser than pixels, stands for those around */

/* Sums of a round: the lower half of the system's matrix by rows, its right side, the number of
 * pairs.
 */
#define HYPOTHESIS_SUMS 28
#define HYPOTHESIS_RIGHT 21
#define HYPOTHESIS_N 27

/* Sums of a verdict: the counts of hypothesis_view, and n n^T of the supported points, xx xy xz yy
 * yz zz. */
#define HYPOTHESIS_TALLY 9

/* An object's pose from a match. */
struct hypothesis_guess {
    struct rigid T_co;
    struct vec3 middle; /* the object's middle in the camera */
    float score;        /* the match's; 0: there is no match */
    float votes;
    uint32_t n_votes;
    int over; /* 1: it agrees with a guess that is tried */
};

/* (O14) T_ob: the library tensor's. */
GPU_HD static inline struct hypothesis_guess hypothesis_guess_of(const struct rigid *T_cb,
                                                                 const struct rigid *T_ob,
                                                                 const struct match *m,
                                                                 struct vec3 middle)
{
    struct hypothesis_guess g;
    struct rigid T_bo = rigid_inverse(T_ob), T_bc = rigid_identity();
    if (m->turned)
        T_bc.r[0] = T_bc.r[4] = -1.0f;
    T_bc = rigid_mul(T_cb, &T_bc);
    g.T_co = rigid_mul(&T_bc, &T_bo);
    g.middle = rigid_apply(&g.T_co, middle);
    g.score = m->score;
    g.votes = 0.0f;
    g.n_votes = 0;
    g.over = 0;
    return g;
}

/* The guess of a tensor without a match. */
GPU_HD static inline struct hypothesis_guess hypothesis_no_guess(void)
{
    struct hypothesis_guess g;
    memset(&g, 0, sizeof g);
    g.over = 1;
    return g;
}

/* (O14) */
GPU_HD static inline int hypothesis_agree(const struct hypothesis_guess *a,
                                          const struct hypothesis_guess *b,
                                          const struct hypothesis_params *p)
{
    float trace = 0.0f;
    if (vec3_norm2(vec3_sub(a->middle, b->middle)) > p->move_m * p->move_m)
        return 0;
    for (int i = 0; i < 9; i++)
        trace += a->T_co.r[i] * b->T_co.r[i];
    return 0.5f * (trace - 1.0f) > p->turn_cos;
}

/* (O14) The votes of guess i of an object: all guesses that agree with it, itself included. */
GPU_HD static inline void hypothesis_vote(struct hypothesis_guess *guess, uint32_t n, uint32_t i,
                                          const struct hypothesis_params *p)
{
    float votes = 0.0f;
    uint32_t n_votes = 0;
    for (uint32_t k = 0; k < n; k++)
        if (guess[k].score > 0.0f && hypothesis_agree(&guess[i], &guess[k], p)) {
            votes += guess[k].score;
            n_votes++;
        }
    guess[i].votes = votes;
    guess[i].n_votes = n_votes;
}

/* The largest key wins: the largest worth above 0, then the smallest number. */
GPU_HD static inline uint64_t hypothesis_key(float worth, uint32_t number)
{
    uint32_t bits;
    memcpy(&bits, &worth, sizeof bits);
    return (uint64_t)bits << 32 | (0xffffffffu - number);
}

GPU_HD static inline uint32_t hypothesis_number(uint64_t key)
{
    return 0xffffffffu - (uint32_t)key;
}

GPU_HD static inline struct hypothesis hypothesis_begin(const struct hypothesis_guess *g,
                                                        uint32_t object)
{
    struct hypothesis h;
    h.object = object;
    h.T_co = g->T_co;
    h.score = h.support = 0.0f;
    h.points = 0;
    h.votes = g->n_votes;
    return h;
}

/* A try that is empty, when no guess is left. */
GPU_HD static inline struct hypothesis hypothesis_none(void)
{
    struct hypothesis h;
    memset(&h, 0, sizeof h);
    return h;
}

/* (O16) The stride of an object's points in the first rounds. */
GPU_HD static inline uint32_t hypothesis_stride(uint32_t points)
{
    return points < 2 * HYPOTHESIS_SAMPLE ? 1 : points / HYPOTHESIS_SAMPLE;
}

GPU_HD static inline float hypothesis_shrink(float gate, const struct hypothesis_params *p)
{
    return gate * p->shrink > p->close_m ? gate * p->shrink : p->close_m;
}

/* (O16) Adds a pair to a round's sums: a point at p, its partner at q with normal n. */
GPU_HD static inline void hypothesis_pair(int64_t sum[HYPOTHESIS_SUMS], struct vec3 p,
                                          struct vec3 q, struct vec3 n)
{
    struct vec3 c = surface_cross(p, n);
    double j[6], r = (double)surface_dot(n, vec3_sub(q, p));
    int e = 0;

    j[0] = (double)c.x;
    j[1] = (double)c.y;
    j[2] = (double)c.z;
    j[3] = (double)n.x;
    j[4] = (double)n.y;
    j[5] = (double)n.z;
    for (int k = 0; k < 6; k++) {
        for (int m = 0; m <= k; m++)
            sum[e++] += (int64_t)(j[k] * j[m] * HYPOTHESIS_UNIT);
        sum[HYPOTHESIS_RIGHT + k] += (int64_t)(j[k] * r * HYPOTHESIS_UNIT);
    }
    sum[HYPOTHESIS_N]++;
}

GPU_HD static inline void hypothesis_add(int64_t sum[HYPOTHESIS_SUMS], const struct surface *s,
                                         const struct rigid *T_co, const struct object_point *o,
                                         float gate, const struct hypothesis_params *p)
{
    struct hypothesis_point h = hypothesis_place(s, T_co, o, p);
    int at = hypothesis_own(s, &h, gate, p->alike);

    if (at >= 0)
        hypothesis_pair(sum, h.p, s->point[at], s->normal[at]);
}

/* A x = b by Cholesky: a is the lower half by rows, b becomes x. Returns 0: a is not positive
 * definite. */
GPU_HD static inline int hypothesis_solve(double a[HYPOTHESIS_RIGHT], double b[6])
{
    for (int k = 0; k < 6; k++) {
        double *row = a + k * (k + 1) / 2, d = row[k];
        for (int m = 0; m < k; m++) {
            double *up = a + m * (m + 1) / 2, v = row[m];
            for (int i = 0; i < m; i++)
                v -= row[i] * up[i];
            row[m] = v / up[m];
            d -= row[m] * row[m];
        }
        if (!(d > 0.0 && d < 1e300))
            return 0;
        row[k] = sqrt(d);
        for (int m = 0; m < k; m++)
            b[k] -= row[m] * b[m];
        b[k] /= row[k];
    }
    for (int k = 5; k >= 0; k--) {
        for (int i = k + 1; i < 6; i++)
            b[k] -= a[i * (i + 1) / 2 + k] * b[i];
        b[k] /= a[k * (k + 1) / 2 + k];
    }
    return 1;
}

/* (O16) T becomes exp(d) T, d a turn and then a shift: the turn is that of the quaternion
 * (1, d / 2), which agrees with exp(d) to the second order. */
GPU_HD static inline void hypothesis_move(struct rigid *T, const double d[6])
{
    double x = 0.5 * d[0], y = 0.5 * d[1], z = 0.5 * d[2];
    double w = 1.0 / sqrt(1.0 + x * x + y * y + z * z), r[9];
    struct rigid was = *T;

    x *= w;
    y *= w;
    z *= w;
    r[0] = 1.0 - 2.0 * (y * y + z * z);
    r[1] = 2.0 * (x * y - w * z);
    r[2] = 2.0 * (x * z + w * y);
    r[3] = 2.0 * (x * y + w * z);
    r[4] = 1.0 - 2.0 * (x * x + z * z);
    r[5] = 2.0 * (y * z - w * x);
    r[6] = 2.0 * (x * z - w * y);
    r[7] = 2.0 * (y * z + w * x);
    r[8] = 1.0 - 2.0 * (x * x + y * y);
    for (int i = 0; i < 3; i++) {
        const double *row = r + 3 * i;
        for (int k = 0; k < 3; k++)
            T->r[3 * i + k] = (float)(row[0] * (double)was.r[k] + row[1] * (double)was.r[3 + k] +
                                      row[2] * (double)was.r[6 + k]);
        T->t[i] = (float)(row[0] * (double)was.t[0] + row[1] * (double)was.t[1] +
                          row[2] * (double)was.t[2] + d[3 + i]);
    }
}

/* (O16) Ends a round: its sums move the pose. Returns 0: too few pairs, or no solution. */
GPU_HD static inline int hypothesis_step(struct rigid *T_co, const int64_t sum[HYPOTHESIS_SUMS])
{
    double a[HYPOTHESIS_RIGHT], b[6], pairs = (double)sum[HYPOTHESIS_N];

    for (int e = 0; e < HYPOTHESIS_RIGHT; e++)
        a[e] = (double)sum[e] * (1.0 / HYPOTHESIS_UNIT);
    for (int k = 0; k < 6; k++) {
        a[k * (k + 1) / 2 + k] += 1e-6 * pairs; /* directions left open do not move */
        b[k] = (double)sum[HYPOTHESIS_RIGHT + k] * (1.0 / HYPOTHESIS_UNIT);
    }
    if (sum[HYPOTHESIS_N] < HYPOTHESIS_PAIRS || !hypothesis_solve(a, b))
        return 0;
    hypothesis_move(T_co, b);
    return 1;
}

/* (O17) Adds a point's verdict. Returns the pixel that supports it, or -1. */
GPU_HD static inline int hypothesis_count(int64_t tally[HYPOTHESIS_TALLY], const struct surface *s,
                                          const struct rigid *T_co, const struct object_point *o,
                                          const struct hypothesis_params *p)
{
    struct hypothesis_point h = hypothesis_place(s, T_co, o, p);
    int at = -1;
    enum hypothesis_sight sight = hypothesis_see(&at, s, &h, p);
    double x = (double)h.normal.x, y = (double)h.normal.y, z = (double)h.normal.z;

    tally[0] += sight != HYPOTHESIS_AWAY;
    tally[2] += sight == HYPOTHESIS_CONTRADICTED;
    if (sight != HYPOTHESIS_SUPPORTED)
        return -1;
    tally[1]++;
    tally[3] += (int64_t)(x * x * HYPOTHESIS_UNIT);
    tally[4] += (int64_t)(x * y * HYPOTHESIS_UNIT);
    tally[5] += (int64_t)(x * z * HYPOTHESIS_UNIT);
    tally[6] += (int64_t)(y * y * HYPOTHESIS_UNIT);
    tally[7] += (int64_t)(y * z * HYPOTHESIS_UNIT);
    tally[8] += (int64_t)(z * z * HYPOTHESIS_UNIT);
    return at;
}

GPU_HD static inline struct hypothesis_view
hypothesis_view_of(const int64_t tally[HYPOTHESIS_TALLY])
{
    struct hypothesis_view v;
    v.facing = (uint32_t)tally[0];
    v.supported = (uint32_t)tally[1];
    v.contradicted = (uint32_t)tally[2];
    return v;
}

GPU_HD static inline float hypothesis_score(const struct hypothesis_view *v)
{
    return v->supported ? (float)v->supported / (float)(v->supported + v->contradicted) : 0.0f;
}

/* How many eigenvalues of a symmetric matrix (xx xy xz yy yz zz) are above t. Those of the matrix
 * less t are all real, so as many of them are positive as the coefficients of its characteristic
 * polynomial change their sign (Descartes). */
GPU_HD static inline int hypothesis_above(const double m[6], double t)
{
    double a = m[0] - t, b = m[1], c = m[2], d = m[3] - t, e = m[4], f = m[5] - t;
    double of[3];
    int n = 0, last = 1;

    of[0] = -(a + d + f);
    of[1] = a * d - b * b + a * f - c * c + d * f - e * e;
    of[2] = -(a * (d * f - e * e) - b * (b * f - e * c) + c * (b * e - d * c));
    for (int i = 0; i < 3; i++) {
        int sign = of[i] > 0.0 ? 1 : of[i] < 0.0 ? -1 : 0;
        n += sign * last < 0;
        last = sign ? sign : last;
    }
    return n;
}

/* (O17) Do the supporting normals hold a pose in all three directions? One flat face fits every
 * table. */
GPU_HD static inline int hypothesis_holds(const int64_t tally[HYPOTHESIS_TALLY],
                                          const struct hypothesis_params *p)
{
    double m[6], by = 1.0 / (HYPOTHESIS_UNIT * (double)tally[1]);

    for (int i = 0; i < 6; i++)
        m[i] = (double)tally[3 + i] * by;
    return hypothesis_above(m, (double)p->second) >= 2 &&
           hypothesis_above(m, (double)p->third) == 3;
}

/* (O17) The verdict on a refined pose: fills in its counts. h->points stays 0 where the picture
 * does not show the object. */
GPU_HD static inline void hypothesis_judge(struct hypothesis *h,
                                           const int64_t tally[HYPOTHESIS_TALLY], int is_coarse,
                                           const struct hypothesis_params *p)
{
    struct hypothesis_view v = hypothesis_view_of(tally);
    float least = is_coarse ? p->coarse : p->score;

    if (v.supported == 0)
        return;
    h->score = hypothesis_score(&v);
    h->support = (float)v.supported / (float)v.facing;
    if ((int)v.supported >= p->points && h->score >= least && h->support >= p->visible &&
        hypothesis_holds(tally, p))
        h->points = v.supported;
}

/* (O17) The worth of a pose: of those on one surface the largest stays. */
GPU_HD static inline float hypothesis_worth(const struct hypothesis *h)
{
    return (float)h->points * h->score;
}

/* (O17) Are enough of its supported points on surface that no better one has? */
GPU_HD static inline int hypothesis_open(uint32_t open, const struct hypothesis *h,
                                         const struct hypothesis_params *p)
{
    return (float)open >= (1.0f - p->claimed) * (float)h->points;
}

/* (O17) A pose that stays claims the pixels around a supporting pixel. */
GPU_HD static inline void hypothesis_claim(uint8_t *claims, const struct surface *s, int pixel)
{
    int x = pixel % s->w, y = pixel / s->w;
    for (int v = y - HYPOTHESIS_CLAIM_PX; v <= y + HYPOTHESIS_CLAIM_PX; v++)
        for (int u = x - HYPOTHESIS_CLAIM_PX; u <= x + HYPOTHESIS_CLAIM_PX; u++)
            if (u >= 0 && v >= 0 && u < s->w && v < s->h)
                claims[v * s->w + u] = 1;
}
