#include "gpu/recognise/hypothesis_point.h"

#include "gpu/tie/small.h"
#include "proto/geom/solve.h"

#include <stdlib.h>
#include <string.h>

#define CLAIMED_SHARE 0.4f /* of its support that others may have: with more it is none */
#define CLAIM_PX 4
#define PAIRS_LEAST 12
#define SHRINK 0.8f /* of the gate, a round */

/* What a match says of an object's pose. */
struct guess {
    struct rigid T_co;
    struct vec3 middle; /* of the object, in the camera */
    float score, votes;
    uint32_t n_votes;
};

/* (O14) */
static struct rigid pose_of(const struct tensor *t, const struct match *m, const struct library *l)
{
    struct rigid T_bc = rigid_identity(), T_bo = rigid_inverse(&l->from[m->tensor]->T_ob);
    if (m->turned)
        T_bc.r[0] = T_bc.r[4] = -1.0f;
    T_bc = rigid_mul(&t->T_cb, &T_bc);
    return rigid_mul(&T_bc, &T_bo);
}

static struct vec3 middle_of(const struct object *o)
{
    struct vec3 sum = {0, 0, 0};
    float k = 1.0f / (float)(o->n_points ? o->n_points : 1);
    for (size_t i = 0; i < o->n_points; i++)
        sum = vec3_make(sum.x + o->point[i].p.x, sum.y + o->point[i].p.y, sum.z + o->point[i].p.z);
    return surface_scale(sum, k);
}

static int agree(const struct guess *a, const struct guess *b, const struct hypothesis_params *p)
{
    float trace = 0.0f;
    if (vec3_norm2(vec3_sub(a->middle, b->middle)) > p->move_m * p->move_m)
        return 0;
    for (int i = 0; i < 9; i++)
        trace += a->T_co.r[i] * b->T_co.r[i];
    return 0.5f * (trace - 1.0f) > p->turn_cos;
}

/* (O14) Guesses of an object; each has the votes of those that agree with it, itself included. */
static uint32_t guesses(struct guess *guess, const struct tensors *t, const uint64_t *best,
                        uint32_t object, const struct library *l, const struct hypothesis_params *p)
{
    struct vec3 middle = middle_of(l->object[object]);
    uint32_t n = 0;

    for (uint32_t i = 0; i < *t->n_tensors; i++) {
        uint64_t key = best[(size_t)i * l->n_objects + object];
        struct match m = match_of(key);
        struct guess *g = &guess[n];
        if (key == 0)
            continue;
        *g = (struct guess){.T_co = pose_of(&t->tensor[i], &m, l), .score = m.score};
        g->middle = rigid_apply(&g->T_co, middle);
        n++;
    }
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < n; k++)
            if (agree(&guess[i], &guess[k], p)) {
                guess[i].votes += guess[k].score;
                guess[i].n_votes++;
            }
    return n;
}

/* (O16) A round: pairs within the gate move the pose. Returns 0: too few pairs, or no solution. */
static int step(struct rigid *T_co, const struct surface *s, const struct object *o, float gate)
{
    double a[36] = {0}, b[6] = {0};
    int pairs = 0;
    struct sim3 T;

    for (size_t i = 0; i < o->n_points; i++) {
        struct hypothesis_point h = hypothesis_place(s, T_co, &o->point[i]);
        int at = h.faces ? hypothesis_partner(s, &h, gate, HYPOTHESIS_ALIKE) : -1;
        struct vec3 n, c;
        double j[6], r;
        if (at < 0)
            continue;
        n = s->normal[at];
        c = surface_cross(h.p, n);
        r = (double)surface_dot(n, vec3_sub(s->point[at], h.p));
        memcpy(j, (double[6]){c.x, c.y, c.z, n.x, n.y, n.z}, sizeof j);
        for (int k = 0; k < 6; k++) {
            for (int m = 0; m <= k; m++)
                a[6 * k + m] += j[k] * j[m];
            b[k] += j[k] * r;
        }
        pairs++;
    }
    for (int k = 0; k < 6; k++)
        a[7 * k] += 1e-6 * (double)pairs; /* what the surface leaves open stays as it is */
    if (pairs < PAIRS_LEAST || !small_solve(a, b, 6))
        return 0;
    small_from(&T, T_co);
    small_move(&T, b);
    small_to(T_co, &T);
    return 1;
}

static float axis(struct vec3 v, int k)
{
    return k == 0 ? v.x : k == 1 ? v.y : v.z;
}

/* (O17) Do the normals that support a pose hold it in all three directions? One flat face fits
 * every table. */
static int holds(const double scatter[9], uint32_t n, const struct hypothesis_params *p)
{
    double a[9], value[3], vector[9];
    memcpy(a, scatter, sizeof a);
    solve_eigen(value, vector, a, 3);
    return value[1] >= (double)p->second * n && value[2] >= (double)p->third * n;
}

/* (O17) What the picture says of all points. pixel, scatter: what supports it, and n n^T of these
 * points added up; or NULL. */
static struct hypothesis_view see_all(uint32_t *pixel, double scatter[9], const struct surface *s,
                                      const struct object *o, const struct rigid *T_co, float close)
{
    struct hypothesis_view v = {0, 0, 0};

    for (size_t i = 0; i < o->n_points; i++) {
        struct hypothesis_point at = hypothesis_place(s, T_co, &o->point[i]);
        int partner = -1;
        enum hypothesis_sight sight = hypothesis_see(&partner, s, &at, close);
        v.facing += sight != HYPOTHESIS_AWAY;
        v.contradicted += sight == HYPOTHESIS_CONTRADICTED;
        if (sight != HYPOTHESIS_SUPPORTED)
            continue;
        if (pixel)
            pixel[v.supported] = (uint32_t)partner;
        v.supported++;
        for (int k = 0; scatter && k < 9; k++)
            scatter[k] += (double)axis(at.normal, k / 3) * (double)axis(at.normal, k % 3);
    }
    return v;
}

struct hypothesis_view hypothesis_cpu_judge(const struct surface *s, const struct object *o,
                                            const struct rigid *T_co, float close_m)
{
    return see_all(NULL, NULL, s, o, T_co, close_m);
}

/* (O16), (O17) Returns 0: the picture does not show the object there. pixel: what supports it. */
static int verify(struct hypothesis *h, uint32_t *pixel, const struct surface *s,
                  const struct object *o, const struct hypothesis_params *p)
{
    double scatter[9] = {0};
    float gate = p->gate_m;
    struct hypothesis_view v;

    for (int i = 0; i < p->rounds; i++) {
        if (!step(&h->T_co, s, o, gate))
            return 0;
        gate = gate * SHRINK > p->close_m ? gate * SHRINK : p->close_m;
    }
    v = see_all(pixel, scatter, s, o, &h->T_co, p->close_m);
    h->points = v.supported;
    if (h->points == 0)
        return 0;
    h->score = (float)h->points / (float)(h->points + v.contradicted);
    h->support = (float)h->points / (float)v.facing;
    return (int)h->points >= p->points && h->score >= p->score && h->support >= p->visible &&
           holds(scatter, h->points, p);
}

/* The guess with the most votes that is not yet over; NULL: there is none. */
static const struct guess *next_guess(const struct guess *guess, uint32_t n, const uint8_t *over)
{
    const struct guess *top = NULL;
    for (uint32_t i = 0; i < n; i++)
        if (!over[i] && (!top || guess[i].votes > top->votes))
            top = &guess[i];
    return top;
}

struct search {
    struct guess *guess;
    uint8_t *over;   /* [tensors] */
    uint32_t *pixel; /* [points of the largest object] */
    uint8_t *claims; /* [pixels] 1: a better hypothesis has it */
};

/* How many of the pixels are not yet of another hypothesis. */
static uint32_t unclaimed(const uint8_t *claims, const uint32_t *pixel, uint32_t n)
{
    uint32_t open = 0;
    for (uint32_t i = 0; i < n; i++)
        open += claims[pixel[i]] == 0;
    return open;
}

/* Points of an object are fewer than pixels, so each stands for those around it. */
static void claim(uint8_t *claims, const struct surface *s, uint32_t pixel)
{
    int x = (int)(pixel % (uint32_t)s->w), y = (int)(pixel / (uint32_t)s->w);
    for (int v = y - CLAIM_PX; v <= y + CLAIM_PX; v++)
        for (int u = x - CLAIM_PX; u <= x + CLAIM_PX; u++)
            if (u >= 0 && v >= 0 && u < s->w && v < s->h)
                claims[v * s->w + u] = 1;
}

static void add(struct hypothesis *found, uint32_t *n, const struct hypothesis *h)
{
    uint32_t at = *n;
    if (at == HYPOTHESES_MAX && !(h->points > found[at - 1].points))
        return;
    if (at < HYPOTHESES_MAX)
        ++*n;
    else
        at--;
    for (;
         at > 0 && (float)h->points * h->score > (float)found[at - 1].points * found[at - 1].score;
         at--)
        found[at] = found[at - 1];
    found[at] = *h;
}

/* All poses of an object that hold. */
static void look_for(struct hypothesis *found, uint32_t *n, struct search *q,
                     const struct tensors *t, const uint64_t *best, uint32_t object,
                     const struct library *l, const struct hypothesis_params *p)
{
    uint32_t m = guesses(q->guess, t, best, object, l, p);

    memset(q->over, 0, m);
    for (int i = 0; i < p->tries; i++) {
        const struct guess *g = next_guess(q->guess, m, q->over);
        struct hypothesis h = {.object = object};
        if (!g)
            break;
        h.T_co = g->T_co;
        h.votes = g->n_votes;
        for (uint32_t k = 0; k < m; k++)
            q->over[k] |= (uint8_t)agree(g, &q->guess[k], p);
        if (verify(&h, q->pixel, t->surface, l->object[object], p))
            add(found, n, &h);
    }
}

/* The best supported first; one whose surface others have already is dropped. */
static uint32_t keep(struct hypothesis *found, uint32_t n, struct search *q,
                     const struct surface *s, const struct library *l,
                     const struct hypothesis_params *p)
{
    struct hypothesis_params judge = *p;
    uint32_t kept = 0;

    judge.rounds = 0;
    memset(q->claims, 0, (size_t)s->w * (size_t)s->h * sizeof *q->claims);
    for (uint32_t i = 0; i < n; i++) {
        struct hypothesis h = found[i];
        if (!verify(&h, q->pixel, s, l->object[h.object], &judge) ||
            (float)unclaimed(q->claims, q->pixel, h.points) < (1 - CLAIMED_SHARE) * (float)h.points)
            continue;
        for (uint32_t k = 0; k < h.points; k++)
            claim(q->claims, s, q->pixel[k]);
        found[kept++] = found[i];
    }
    return kept;
}

int hypothesis_cpu_run(struct hypothesis *found, uint32_t *n, const struct tensors *t,
                       const uint64_t *best, const struct library *l,
                       const struct hypothesis_params *p, struct err *err)
{
    const struct surface *s = t->surface;
    struct search q = {0};
    size_t points = 1, tensors = (size_t)*t->n_tensors + 1;
    int rc = 0;

    for (uint32_t i = 0; i < l->n_objects; i++)
        points = l->object[i]->n_points > points ? l->object[i]->n_points : points;
    q.guess = malloc(tensors * sizeof *q.guess);
    q.over = malloc(tensors);
    q.pixel = malloc(points * sizeof *q.pixel);
    q.claims = malloc((size_t)s->w * (size_t)s->h * sizeof *q.claims);
    *n = 0;
    if (!q.guess || !q.over || !q.pixel || !q.claims) {
        rc = err_set(err, ERR_MEMORY, "no memory to look for objects");
    } else {
        for (uint32_t i = 0; i < l->n_objects; i++)
            look_for(found, n, &q, t, best, i, l, p);
        *n = keep(found, *n, &q, s, l, p);
    }
    free(q.guess);
    free(q.over);
    free(q.pixel);
    free(q.claims);
    return rc;
}
