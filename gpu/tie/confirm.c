#include "gpu/tie/confirm.h"

#include "gpu/tie/small.h"
#include "proto/geom/robust.h"

#include <math.h>
#include <string.h>

#define STRONG 100 /* corners that candidates are ranked by */
#define ROUNDS 8

/* ------------------------------------------------------------------------- matches */

/* The best partner of each of a's first n corners; -1 where none is clear. */
static void best_of(int16_t *best, const struct describe_keyframe *a, int n,
                    const struct describe_keyframe *b, const struct tie_params *p)
{
    for (int i = 0; i < n; i++) {
        int first = 257, second = 257, at = -1;

        for (int k = 0; k < b->n; k++) {
            int d = describe_differ(a->corner[i].bits, b->corner[k].bits);

            if (d < first)
                second = first, first = d, at = k;
            else if (d < second)
                second = d;
        }
        best[i] =
            (int16_t)(first <= p->match_bits && (float)first < p->match_clear * (float)second ? at
                                                                                              : -1);
    }
}

int confirm_alike(const struct describe_keyframe *a, const struct describe_keyframe *b,
                  const struct tie_params *p)
{
    int16_t best[STRONG];
    int n = a->n < STRONG ? a->n : STRONG, alike = 0;

    best_of(best, a, n, b, p);
    for (int i = 0; i < n; i++)
        alike += best[i] >= 0;
    return alike;
}

/* (W3) Pairs of corners that are each other's best partners. */
static int match(struct confirm_match *m, const struct describe_keyframe *a,
                 const struct describe_keyframe *b, const struct tie_params *p)
{
    int16_t there[DESCRIBE_CORNERS], back[DESCRIBE_CORNERS];
    int n = 0;

    best_of(there, a, a->n, b, p);
    best_of(back, b, b->n, a, p);
    for (int i = 0; i < a->n; i++)
        if (there[i] >= 0 && back[there[i]] == i)
            m[n++] = (struct confirm_match){(uint16_t)i, (uint16_t)there[i]};
    return n;
}

/* ------------------------------------------------------------------------- geometry */

static bool lift(double p[3], const struct intrinsics *K, const struct describe_corner *c,
                 double by)
{
    double z = by * (double)c->depth;

    p[0] = z * (double)((c->x - K->cx) / K->fx);
    p[1] = z * (double)((c->y - K->cy) / K->fy);
    p[2] = z;
    return c->depth > 0;
}

/* A corner seen by the other camera: its error, the inverse of its covariance, and the error's
 * derivatives by a turn and shift behind T. */
struct sight {
    double off[2], precision[3], turn[2][6];
};

/* The derivative by a turn w and shift v of p of a value with gradient g there: g (w x p + v). */
static void confirm_follow(double turn[6], const double g[3], const double p[3])
{
    turn[0] = p[1] * g[2] - p[2] * g[1];
    turn[1] = p[2] * g[0] - p[0] * g[2];
    turn[2] = p[0] * g[1] - p[1] * g[0];
    memcpy(turn + 3, g, 3 * sizeof(*g));
}

/* A view from one camera into another: `there` takes its points to a common world, `into` takes
 * them on to the other camera. */
struct way {
    const struct sim3 *there, *into;
    const struct intrinsics *K_from, *K_to;
    const struct tie_params *p;
};

/* (W4) Turn and shift act on the point in the common world. Returns false where it is unseen. */
static bool confirm_look(struct sight *s, const struct way *way, const struct describe_corner *from,
                         const struct describe_corner *to)
{
    const double fx = (double)way->K_to->fx, fy = (double)way->K_to->fy, *R = way->into->r;
    const double px = way->p->confirm_px,
                 var = px * px * (double)(to->sigma * to->sigma + from->sigma * from->sigma);
    double p[3], world[3], q[3], far[3], u, v, du, dv, det, xx, xy, yy, iz;

    if (!lift(p, way->K_from, from, 1 + way->p->confirm_depth_rel))
        return false;
    sim3_apply(far, way->there, p);
    sim3_apply(far, way->into, far);
    lift(p, way->K_from, from, 1);
    sim3_apply(world, way->there, p);
    sim3_apply(q, way->into, world);
    if (!(q[2] > 0.05) || !(far[2] > 0.05))
        return false;
    iz = 1 / q[2];
    u = fx * q[0] * iz, v = fy * q[1] * iz;
    du = fx * far[0] / far[2] - u, dv = fy * far[1] / far[2] - v;
    s->off[0] = (double)to->x - (double)way->K_to->cx - u;
    s->off[1] = (double)to->y - (double)way->K_to->cy - v;
    xx = var + du * du, xy = du * dv, yy = var + dv * dv;
    det = xx * yy - xy * xy;
    s->precision[0] = yy / det, s->precision[1] = -xy / det, s->precision[2] = xx / det;
    for (int i = 0; i < 2; i++) {
        const double g[3] = {i ? 0 : fx * iz, i ? fy * iz : 0,
                             i ? -fy * q[1] * iz * iz : -fx * q[0] * iz * iz};
        const double g_world[3] = {g[0] * R[0] + g[1] * R[3] + g[2] * R[6],
                                   g[0] * R[1] + g[1] * R[4] + g[2] * R[7],
                                   g[0] * R[2] + g[1] * R[5] + g[2] * R[8]};

        confirm_follow(s->turn[i], g_world, world);
    }
    return true;
}

static double chi2(const struct sight *s)
{
    return s->off[0] * s->off[0] * s->precision[0] + 2 * s->off[0] * s->off[1] * s->precision[1] +
           s->off[1] * s->off[1] * s->precision[2];
}

/* Is a match right? Where a corner has no depth, only the other corner's is judged. */
static bool is_right(const struct way ways[2], const struct describe_corner *a,
                     const struct describe_corner *b)
{
    struct sight s;
    bool any = false;

    for (int back = 0; back < 2; back++) {
        if (!confirm_look(&s, &ways[back], back ? b : a, back ? a : b))
            continue;
        if (chi2(&s) > ways->p->confirm_chi2)
            return false;
        any = true;
    }
    return any;
}

/* A link's transforms, to which `way` points; X takes a's submap to b's. */
struct ways {
    struct sim3 to_b, from_a, from_b, to_a;
    struct way way[2];
};

static void set_out(struct ways *w, const struct confirm_link *l, const struct sim3 *X)
{
    small_mul(&w->from_a, X, &l->T_a);
    small_inverse(&w->to_a, &w->from_a);
    w->from_b = l->T_b;
    small_inverse(&w->to_b, &w->from_b);
    w->way[0] = (struct way){&w->from_a, &w->to_b, &l->a->K, &l->b->K, l->p};
    w->way[1] = (struct way){&w->from_b, &w->to_a, &l->b->K, &l->a->K, l->p};
}

static int confirm_count(struct confirm_match *in, const struct confirm_link *l,
                         const struct sim3 *X)
{
    struct ways w;
    int n_in = 0;

    set_out(&w, l, X);
    for (int i = 0; i < l->n; i++)
        if (is_right(w.way, &l->a->corner[l->match[i].a], &l->b->corner[l->match[i].b])) {
            if (in)
                in[n_in] = l->match[i];
            n_in++;
        }
    return n_in;
}

static double apart(const double p[3], const double q[3])
{
    double x = p[0] - q[0], y = p[1] - q[1], z = p[2] - q[2];

    return sqrt(x * x + y * y + z * z);
}

/* The motion of three matches. Returns false where their edges differ or are too short. */
static bool of_three(struct sim3 *T, const struct confirm_match *const m[3],
                     const struct confirm_link *l)
{
    const struct describe_keyframe *a = l->a, *b = l->b;
    double p[3][3], q[3][3];

    for (int i = 0; i < 3; i++)
        if (!lift(p[i], &a->K, &a->corner[m[i]->a], 1) ||
            !lift(q[i], &b->K, &b->corner[m[i]->b], 1))
            return false;
    for (int i = 0; i < 3; i++) {
        double x = apart(p[i], p[(i + 1) % 3]), y = apart(q[i], q[(i + 1) % 3]);

        if (fmin(x, y) < l->p->confirm_lengths * fmax(x, y) || fmin(x, y) < 0.05 * p[i][2])
            return false;
    }
    return sim3_fit(T, p[0], q[0], NULL, 3, false, NULL) == 0;
}

/* (W5) The motion of three matches that explains most matches. Every run tries the same triples. */
static int search(struct sim3 *best, const struct confirm_link *l)
{
    uint32_t state = 12345;
    int most = 0;

    for (int try = 0; try < l->p->confirm_tries; try++) {
        const struct confirm_match *three[3];
        struct sim3 T;
        int right;

        for (int i = 0; i < 3; i++) {
            state = state * 1664525u + 1013904223u;
            three[i] = &l->match[(uint64_t)state * (uint32_t)l->n >> 32];
        }
        if (three[0] == three[1] || three[1] == three[2] || three[0] == three[2] ||
            !of_three(&T, three, l))
            continue;
        right = confirm_count(NULL, l, &T);
        if (right > most)
            most = right, *best = T;
    }
    return most;
}

static void confirm_add(double *A, double *g, const struct sight *s, double sign, double right)
{
    const double(*J)[6] = s->turn;
    const double share = 1 / (1 + chi2(s) / right), weight = share * share;

    for (int i = 0; i < 6; i++) {
        double u = weight * (s->precision[0] * J[0][i] + s->precision[1] * J[1][i]);
        double v = weight * (s->precision[1] * J[0][i] + s->precision[2] * J[1][i]);

        g[i] += sign * (u * s->off[0] + v * s->off[1]);
        for (int k = 0; k < 6; k++)
            A[6 * i + k] += u * J[0][k] + v * J[1][k];
    }
}

/* (W6) Refines the motion by robust least squares. A turn and shift of a's points moves X by
 * itself, one of b's points by its opposite. */
static void refine(struct sim3 *X, const struct confirm_link *links, int n)
{
    for (int round = 0; round < ROUNDS; round++) {
        double A[36] = {0}, d[6] = {0};

        for (int l = 0; l < n; l++) {
            struct sight s;
            struct ways w;

            set_out(&w, &links[l], X);
            for (int i = 0; i < links[l].n; i++) {
                const struct describe_corner *a = &links[l].a->corner[links[l].match[i].a];
                const struct describe_corner *b = &links[l].b->corner[links[l].match[i].b];

                for (int back = 0; back < 2; back++)
                    if (confirm_look(&s, &w.way[back], back ? b : a, back ? a : b))
                        confirm_add(A, d, &s, back ? -1 : 1, links->p->confirm_chi2);
            }
        }
        if (!small_solve(A, d, 6))
            return;
        small_move(X, d);
    }
}

int confirm_together(struct sim3 *X, const struct confirm_link *links, int n)
{
    int n_in = 0;

    refine(X, links, n);
    for (int i = 0; i < n; i++)
        n_in += confirm_count(NULL, &links[i], X);
    return n_in;
}

/* ------------------------------------------------------------------------- verdict */

static int cells(const struct confirm_match *m, int n, const struct describe_keyframe *k, bool of_b)
{
    uint64_t seen = 0;
    int n_seen = 0;

    for (int i = 0; i < n; i++) {
        const struct describe_corner *c = &k->corner[of_b ? m[i].b : m[i].a];
        int x = (int)(8 * c->x / (float)k->w), y = (int)(6 * c->y / (float)k->h);

        seen |= 1ull << (8 * (y < 0 ? 0 : y > 5 ? 5 : y) + (x < 0 ? 0 : x > 7 ? 7 : x));
    }
    for (; seen; seen &= seen - 1)
        n_seen++;
    return n_seen;
}

/* Where both have depth: log of b's over a's, seen from b. Returns how many cells of a's grid. */
static int ratios(float *log_ratio, const struct sim3 *T, const struct describe_keyframe *a,
                  const struct describe_keyframe *b)
{
    int n = 0;

    for (int i = 0; i < DESCRIBE_GRID_W * DESCRIBE_GRID_H; i++) {
        struct describe_corner c = {.depth = a->depth[i]};
        double p[3], q[3], u, v;
        float there;

        c.x = ((float)(i % DESCRIBE_GRID_W) + 0.5f) * (float)a->w / DESCRIBE_GRID_W - 0.5f;
        c.y = ((float)(i / DESCRIBE_GRID_W) + 0.5f) * (float)a->h / DESCRIBE_GRID_H - 0.5f;
        if (!lift(p, &a->K, &c, 1))
            continue;
        sim3_apply(q, T, p);
        if (!(q[2] > 0.05))
            continue;
        u = (double)b->K.fx * q[0] / q[2] + (double)b->K.cx + 0.5;
        v = (double)b->K.fy * q[1] / q[2] + (double)b->K.cy + 0.5;
        if (!(u >= 0 && v >= 0 && u < b->w && v < b->h))
            continue;
        there = b->depth[(int)(v * DESCRIBE_GRID_H / b->h) * DESCRIBE_GRID_W +
                         (int)(u * DESCRIBE_GRID_W / b->w)];
        if (there > 0)
            log_ratio[n++] = logf(there / (float)q[2]);
    }
    return n;
}

static void confirm_compare(struct confirm_result *r, const struct describe_keyframe *a,
                            const struct describe_keyframe *b, float most)
{
    float v[DESCRIBE_GRID_W * DESCRIBE_GRID_H];
    int n = ratios(v, &r->T_ba, a, b), alike = 0;

    if (n < 20)
        return;
    r->log_ratio = robust_select(v, (size_t)n, (size_t)n / 2);
    for (int i = 0; i < n; i++)
        alike += fabsf(v[i] - r->log_ratio) < most;
    r->agree = (float)alike / (float)n;
}

bool confirm_pair(struct confirm_result *r, const struct describe_keyframe *a,
                  const struct describe_keyframe *b, const struct tie_params *p)
{
    struct confirm_match m[DESCRIBE_CORNERS];
    struct confirm_link all = {a, b, sim3_identity(), sim3_identity(), m, 0, p}, right = all;

    memset(r, 0, sizeof(*r));
    r->T_ba = sim3_identity();
    all.n = r->n_matches = match(m, a, b, p);
    right.match = r->in;
    if (r->n_matches < p->confirm_least || search(&r->T_ba, &all) < p->confirm_least / 3)
        return false;
    for (int i = 0; i < 3; i++) {
        right.n = confirm_count(r->in, &all, &r->T_ba);
        refine(&r->T_ba, &right, 1);
    }
    r->n_in = confirm_count(r->in, &all, &r->T_ba);
    r->n_cells_a = cells(r->in, r->n_in, a, false);
    r->n_cells_b = cells(r->in, r->n_in, b, true);
    confirm_compare(r, a, b, p->confirm_alike);
    return r->n_in >= p->confirm_least &&
           (float)r->n_in >= p->confirm_share * (float)r->n_matches &&
           r->n_cells_a >= p->confirm_cells && r->n_cells_b >= p->confirm_cells &&
           r->agree >= p->confirm_agree && fabsf(r->log_ratio) < p->confirm_ratio;
}
