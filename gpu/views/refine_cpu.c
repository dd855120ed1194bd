#include "gpu/views/refine_point.h"

/* A system, and the terms of the points that are being added. */
struct scratch {
    float A[REFINE_PAIRS], b[REFINE_UNKNOWNS], moments[VIEWS_SOURCES][REFINE_MOMENTS];
};

static void blur(struct views *v)
{
#pragma omp parallel for schedule(dynamic)
    for (int picture = 0; picture < REFINE_PICTURES; picture++)
        for (int l = 0; l < REFINE_LEVELS && refine_is_there(v, picture); l++) {
            uint16_t *to = refine_level(v, picture, l);
            const uint8_t *grey = refine_grey(v, picture);
            int w = v->w >> l, h = v->h >> l;
            for (int y = 0; y < h; y++)
                for (int x = 0; x < w; x++)
                    to[y * w + x] = refine_shrink(grey, v->w, v->h, l, x, y);
        }
}

static void refine_choose_points(struct views *v)
{
    int cells = (v->w / v->cell) * (v->h / v->cell);

    v->n_points = 0;
    for (int i = 0; i < cells; i++) {
        uint32_t at = refine_choose(v, i);
        if (at != 0xffffffffu)
            v->points[v->n_points++] = refine_point(v, at);
    }
}

/* What a source adds to its own rows of the system. */
static void add_rows(struct scratch *s, const struct refine_term *t, int source, float gd)
{
    const struct refine_term *own = &t[source];

    for (int a = 0; a < REFINE_POSE; a++) {
        int row = REFINE_POSE * source + a;
        float *A = s->A + row * (row + 1) / 2;
        for (int q = 0; q < source; q++)
            for (int c = 0; c < REFINE_POSE; c++)
                A[REFINE_POSE * q + c] =
                    refine_add_pair(A[REFINE_POSE * q + c], 0, 0.0f, 0.0f, own->u[a], t[q].v[c]);
        for (int c = 0; c <= a; c++) {
            float *to = &A[REFINE_POSE * source + c];
            *to = refine_add_pair(*to, 1, own->g[a], own->j[c], own->u[a], own->v[c]);
        }
        s->b[row] = refine_add_right(s->b[row], own->g[a], own->r, own->v[a], gd);
    }
}

static void add_moments(float *m, const struct refine_term *t)
{
    for (int i = 0; i < REFINE_MOMENTS; i++)
        m[i] = refine_add_moment(m[i], i, t->weight, t->mine, t->other);
}

static void add_point(struct scratch *s, const struct views *v, int level, uint32_t i)
{
    struct refine_row rows[VIEWS_SOURCES];
    struct refine_term terms[VIEWS_SOURCES];
    struct refine_say said[VIEWS_SOURCES], all;
    int n = v->plan.n_sources;

    for (int k = 0; k < n; k++) {
        rows[k] = refine_look_from(v, k, level, &v->plan.pose[k], &v->points[i]);
        said[k] = refine_say(v, &rows[k], rows[k].r);
    }
    all = refine_hear(v, said, 1, n);
    for (int k = 0; k < n; k++)
        terms[k] = refine_term(v, &rows[k], all.h);
    for (int k = 0; k < n; k++) {
        add_rows(s, terms, k, all.g);
        add_moments(s->moments[k], &terms[k]);
    }
}

static void add_half(struct scratch *to, const struct scratch *from)
{
    for (int i = 0; i < REFINE_PAIRS; i++)
        to->A[i] += from->A[i];
    for (int i = 0; i < REFINE_UNKNOWNS; i++)
        to->b[i] += from->b[i];
    for (int i = 0; i < VIEWS_SOURCES; i++)
        for (int k = 0; k < REFINE_MOMENTS; k++)
            to->moments[i][k] += from->moments[i][k];
}

/* s: [REFINE_PARTS], the sums are the first. */
static void sum(struct scratch *s, const struct views *v, int level)
{
    memset(s, 0, REFINE_PARTS * sizeof *s);
#pragma omp parallel for schedule(static)
    for (uint32_t q = 0; q < REFINE_PARTS; q++)
        for (uint32_t i = q; i < v->n_points; i += REFINE_PARTS)
            add_point(&s[q], v, level, i);
    for (int half = REFINE_PARTS / 2; half > 0; half /= 2)
        for (int q = 0; q < half; q++)
            add_half(&s[q], &s[q + half]);
}

/* Cholesky, column by column; b becomes the solution. Returns 0 if there is none. */
static int refine_solve(float *A, float *b, int n)
{
#define AT(i, k) A[(i) * ((i) + 1) / 2 + (k)]
    for (int k = 0; k < n; k++) {
        if (!(AT(k, k) > REFINE_SINGULAR))
            return 0;
        AT(k, k) = sqrtf(AT(k, k));
        for (int i = k + 1; i < n; i++)
            AT(i, k) /= AT(k, k);
        for (int i = k + 1; i < n; i++)
            for (int j = k + 1; j <= i; j++)
                AT(i, j) -= AT(i, k) * AT(j, k);
    }
    for (int k = 0; k < n; k++) {
        b[k] /= AT(k, k);
        for (int i = k + 1; i < n; i++)
            b[i] -= AT(i, k) * b[k];
    }
    for (int k = n - 1; k >= 0; k--) {
        b[k] /= AT(k, k);
        for (int i = 0; i < k; i++)
            b[i] -= AT(k, i) * b[k];
    }
    return 1;
#undef AT
}

/* The prior of one source, added to the whole system. */
static void add_prior(struct scratch *s, const struct views *v, int source,
                      const struct views_pose *pose)
{
    float x[REFINE_POSE];

    refine_apart(pose, x);
    for (int a = 0; a < REFINE_POSE; a++) {
        int row = REFINE_POSE * source + a;
        float *to = s->A + row * (row + 1) / 2 + REFINE_POSE * source;
        for (int c = 0; c <= a; c++)
            to[c] = refine_prior_pair(v, to[c], pose->T.t, a, c);
        s->b[row] = refine_prior_right(v, s->b[row], pose->T.t, x, a);
    }
}

/* Gain and bias come first: with wrong ones no pixel matches. */
static void light(struct views *v, struct scratch *s)
{
    for (int i = 0; i < REFINE_LIGHT; i++) {
        sum(s, v, REFINE_LEVELS - 1);
        for (int k = 0; k < v->plan.n_sources; k++)
            refine_light(&v->plan.pose[k], s->moments[k]);
    }
}

static int refine_round(struct views *v, struct scratch *s, int level)
{
    int n = v->plan.n_sources;

    sum(s, v, level);
    for (int k = 0; k < n; k++)
        add_prior(s, v, k, &v->plan.pose[k]);
    if (!refine_solve(s->A, s->b, REFINE_POSE * n))
        return 0;
#pragma omp parallel for schedule(static)
    for (uint32_t i = 0; i < v->n_points; i++) {
        struct refine_say said[VIEWS_SOURCES], all;
        for (int k = 0; k < n; k++) {
            struct refine_row o = refine_look_from(v, k, level, &v->plan.pose[k], &v->points[i]);
            said[k] = refine_say(v, &o, refine_left(&o, s->b + REFINE_POSE * k));
        }
        all = refine_hear(v, said, 1, n);
        v->points[i].inv = refine_depth(v->points[i].inv, &all);
    }
    for (int k = 0; k < n; k++) {
        refine_move(&v->plan.pose[k].T, s->b + REFINE_POSE * k);
        refine_light(&v->plan.pose[k], s->moments[k]);
    }
    return 1;
}

static float find_scale(struct views *v)
{
    uint32_t n = 0, sum = 0, *scales = v->scales;
    int half = 0;

    memset(scales, 0, sizeof v->scales);
#pragma omp parallel for schedule(dynamic) reduction(+ : scales[:VIEWS_SCALES])
    for (int j = 0; j < VIEWS_KEPT; j++) {
        struct rigid T;
        if (!refine_is_other(v, j))
            continue;
        T = rigid_mul(&v->kept[v->plan.swept].camera.T_cw, &v->kept[j].camera.T_wc);
        for (uint32_t i = 0; i < v->n_pixels; i += REFINE_EVERY) {
            int bin = refine_scale_bin(v, j, &T, i);
            if (bin >= 0)
                scales[bin]++;
        }
    }
    for (int i = 0; i < VIEWS_SCALES; i++)
        n += scales[i];
    while (n && 2 * (sum + scales[half]) < n)
        sum += scales[half++];
    return refine_scale(v, half, n);
}

void refine_cpu(struct views *v)
{
    struct scratch s[REFINE_PARTS];
    int done = 1;

    if (!refine_is_wanted(v))
        return;
    blur(v);
    refine_choose_points(v);
    if (v->n_points < v->params.refine_least)
        return;
    light(v, s);
    for (int level = REFINE_LEVELS - 1; level >= 0; level--)
        for (int i = 0; i < REFINE_ROUNDS && done; i++)
            done = refine_round(v, s, level);
    refine_finish(v, done, find_scale(v));
    if (v->plan.again)
        sweep_cpu(v);
}
