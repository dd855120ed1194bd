#include "gpu/tie/ties_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CANDIDATES 6 /* most similar keyframes that are confirmed */

int ties_new(struct ties **out, const struct tie_params *params, struct err *err)
{
    struct ties *t = calloc(1, sizeof(*t));

    *out = t;
    if (!t)
        return err_set(err, ERR_MEMORY, "no memory for the ties of a session");
    t->params = *params;
    lock_init(&t->lock, LOCK_TIES);
    return 0;
}

void ties_free(struct ties **t)
{
    for (int i = 0; *t && i < TIES_PIECES; i++)
        free((*t)->piece[i]);
    if (*t)
        lock_destroy(&(*t)->lock);
    free(*t);
    *t = NULL;
}

const struct tie_params *ties_params(const struct ties *t)
{
    return &t->params;
}

size_t ties_bytes(void)
{
    return sizeof(struct ties) + TIES_KEYFRAMES * sizeof(struct ties_keyframe);
}

struct ties_keyframe *ties_room(struct ties *t, uint32_t n)
{
    struct ties_keyframe **piece;

    if (n >= TIES_KEYFRAMES)
        return NULL;
    piece = &t->piece[n / TIES_PIECE];
    if (!*piece)
        *piece = calloc(TIES_PIECE, sizeof(**piece));
    return *piece ? *piece + n % TIES_PIECE : NULL;
}

static struct ties_keyframe *at(const struct ties *t, uint32_t k)
{
    return t->piece[k / TIES_PIECE] + k % TIES_PIECE;
}

/* ------------------------------------------------------------------------- pairs */

static uint32_t world_of(const struct ties *t, uint32_t k)
{
    return at(t, k)->world;
}

static bool is_between(const struct ties *t, const struct ties_pair *p, uint32_t a, uint32_t b)
{
    return world_of(t, p->a) == a && world_of(t, p->b) == b;
}

/* The place for a pair of so many matches: a free one or, when its two submaps have all they may,
 * their weakest pair's. NULL: it is weaker. */
static struct ties_pair *place_for(struct ties *t, uint32_t a, uint32_t b, int n)
{
    struct ties_pair *weakest = NULL;
    int n_here = 0;

    for (int i = 0; i < t->n_pairs; i++)
        if (is_between(t, &t->pair[i], a, b)) {
            n_here++;
            if (!weakest || t->pair[i].n < weakest->n)
                weakest = &t->pair[i];
        }
    if (n_here < TIES_OF_TWO && t->n_pairs < TIES_PAIRS)
        return &t->pair[t->n_pairs++];
    return weakest && weakest->n < n ? weakest : NULL;
}

/* Confirms two keyframes and keeps the pair. Returns whether it did. */
static bool try_pair(struct ties *t, uint32_t k, uint32_t other)
{
    uint32_t a = world_of(t, k) < world_of(t, other) ? k : other, b = a == k ? other : k;
    const struct ties_keyframe *ka = at(t, a), *kb = at(t, b);
    struct sim3 T_a, T_b, X;
    struct ties_pair *p;

    if (!confirm_pair(&t->result, &ka->seen, &kb->seen, &t->params))
        return false;
    small_from(&T_a, &ka->T_wc);
    small_from(&T_b, &kb->T_wc);
    small_inverse(&X, &T_a);
    small_mul(&X, &t->result.T_ba, &X);
    small_mul(&X, &T_b, &X);
    lock_take(&t->lock);
    p = place_for(t, ka->world, kb->world, t->result.n_in);
    if (p) {
        p->a = a;
        p->b = b;
        p->n = t->result.n_in;
        p->X = X;
        memcpy(p->match, t->result.in, (size_t)p->n * sizeof(*p->match));
    }
    lock_give(&t->lock);
    return p != NULL;
}

/* The path's error in two submaps that meet in a cut, or in one submap. */
static const struct ties_claim *cut_of(const struct ties *t, uint32_t a, uint32_t b)
{
    for (int i = 0; i < t->n_claims; i++) {
        const struct ties_claim *c = &t->claim[i];

        if (c->cut && ((c->world == a && c->parent == b) || (c->world == b && c->parent == a) ||
                       (a == b && (c->world == a || c->parent == a))))
            return c;
    }
    return NULL;
}

bool ties_next(struct ties *t, uint32_t k)
{
    const struct ties_keyframe *now = at(t, k);
    struct {
        int alike;
        uint32_t k;
    } best[CANDIDATES];
    int n = 0;
    bool more = false;

    for (uint32_t i = 0; i < k; i++) {
        uint32_t world = world_of(t, i);
        bool one = world == now->world || cut_of(t, now->world, world);
        int alike = one ? 0 : confirm_alike(&now->seen, &at(t, i)->seen, &t->params);
        int j = n < CANDIDATES ? n : CANDIDATES - 1;

        if (alike < t->params.alike_least || (n == CANDIDATES && alike <= best[j].alike))
            continue;
        for (; j > 0 && alike > best[j - 1].alike; j--)
            best[j] = best[j - 1];
        best[j].alike = alike;
        best[j].k = i;
        n += n < CANDIDATES;
    }
    for (int i = 0; i < n; i++)
        more = try_pair(t, k, best[i].k) || more;
    return more;
}

void ties_claim(struct ties *t, const struct ties_claim *claim)
{
    lock_take(&t->lock);
    if (t->n_claims < TIES_CLAIMS)
        t->claim[t->n_claims++] = *claim;
    lock_give(&t->lock);
}

/* ------------------------------------------------------------------------- ties */

/* Do two pairs agree on where the first one's camera is in submap b? */
static bool agree(const struct ties *t, const struct ties_pair *p, const struct ties_pair *q)
{
    struct sim3 T, by_p, by_q;

    small_from(&T, &at(t, p->a)->T_wc);
    small_mul(&by_p, &p->X, &T);
    small_mul(&by_q, &q->X, &T);
    for (int i = 0; i < 3; i++)
        if (fabs(by_p.t[i] - by_q.t[i]) > t->params.tie_same_m)
            return false;
    return sim3_angle_deg(&by_p, &by_q) < t->params.tie_same_rad * 57.295779513;
}

/* The largest set of pairs of two submaps that agree with one of them, with two keyframes of each
 * submap at least. Returns how many pairs, 0 = the submaps are not tied. */
static int agreeing(const struct ties_pair *set[TIES_OF_TWO], const struct ties *t,
                    const struct ties_pair *const all[TIES_OF_TWO], int n)
{
    int most = 0;

    for (int i = 0; i < n; i++) {
        const struct ties_pair *now[TIES_OF_TWO];
        bool more_a = false, more_b = false;
        int m = 0;

        for (int k = 0; k < n; k++)
            if (agree(t, all[i], all[k])) {
                now[m++] = all[k];
                more_a = more_a || all[k]->a != now[0]->a;
                more_b = more_b || all[k]->b != now[0]->b;
            }
        if (more_a && more_b && m > most) {
            most = m;
            memcpy(set, now, (size_t)m * sizeof(*now));
        }
    }
    return most;
}

/* A tie's deviation: its own, and a share of both paths' errors, as submaps count as rigid. */
static void put_sigma(struct graph_edge *e, const struct ties *t, int n)
{
    const struct ties_claim *cut[2] = {cut_of(t, e->a, e->a), cut_of(t, e->b, e->b)};
    const struct tie_params *p = &t->params;
    double m2 = p->tie_m * p->tie_m * 2 / n, rad2 = p->tie_rad * p->tie_rad * 2 / n;

    for (int i = 0; i < 2; i++)
        if (cut[i]) {
            m2 += p->tie_bent * p->tie_bent * cut[i]->sigma_m * cut[i]->sigma_m;
            rad2 += p->tie_bent * p->tie_bent * cut[i]->sigma_rad * cut[i]->sigma_rad;
        }
    e->sigma_m = sqrt(m2);
    e->sigma_rad = sqrt(rad2);
}

/* The tie of two submaps from all its pairs. Returns false where there is none. */
static bool tie(struct graph_edge *e, const struct ties *t,
                const struct ties_pair *const all[TIES_OF_TWO], int n)
{
    struct confirm_link link[TIES_OF_TWO];
    const struct ties_pair *set[TIES_OF_TWO];
    int n_set = agreeing(set, t, all, n), n_matches = 0;
    struct sim3 X;

    if (!n_set)
        return false;
    X = set[0]->X;
    for (int i = 0; i < n_set; i++) {
        const struct ties_keyframe *a = at(t, set[i]->a), *b = at(t, set[i]->b);

        link[i] = (struct confirm_link){
            .a = &a->seen, .b = &b->seen, .match = set[i]->match, .n = set[i]->n, .p = &t->params};
        small_from(&link[i].T_a, &a->T_wc);
        small_from(&link[i].T_b, &b->T_wc);
        n_matches += set[i]->n;
    }
    if (confirm_together(&X, link, n_set) < t->params.tie_holds * n_matches)
        return false;
    *e = (struct graph_edge){.a = world_of(t, set[0]->a), .b = world_of(t, set[0]->b)};
    put_sigma(e, t, n_set);
    e->T_a = link[0].T_a;
    small_mul(&e->T_b, &X, &link[0].T_a);
    return true;
}

/* Makes the ties of all submaps that have pairs. Returns how many. */
static uint32_t all_ties(struct ties *t)
{
    uint32_t n_edges = 0;

    for (int i = 0; i < t->n_pairs; i++) {
        uint32_t a = world_of(t, t->pair[i].a), b = world_of(t, t->pair[i].b);
        const struct ties_pair *of_two[TIES_OF_TWO];
        bool first = true;
        int n = 0;

        for (int k = 0; k < i; k++)
            first = first && !is_between(t, &t->pair[k], a, b);
        for (int k = i; first && k < t->n_pairs && n < TIES_OF_TWO; k++)
            if (is_between(t, &t->pair[k], a, b))
                of_two[n++] = &t->pair[k];
        if (first && tie(&t->edge[n_edges], t, of_two, n))
            n_edges++;
    }
    return n_edges;
}

int ties_solve(struct ties *t, struct ties_place *place, struct err *err)
{
    uint32_t n_edges = all_ties(t);
    int rc;

    for (int i = 0; i < t->n_claims; i++) {
        const struct ties_claim *c = &t->claim[i];
        struct graph_edge *e = &t->edge[n_edges++];

        *e = (struct graph_edge){.a = c->parent,
                                 .b = c->world,
                                 .sigma_m = c->sigma_m,
                                 .sigma_rad = c->sigma_rad,
                                 .sure = true};
        small_from(&e->T_a, &c->T_wc);
        e->T_b = e->T_a;
    }
    for (uint32_t i = 0; i < TIES_WORLDS; i++)
        t->node[i] = (struct graph_node){.fixed = place[i].fixed, .T = place[i].T};
    rc = graph_solve(t->node, TIES_WORLDS, t->edge, n_edges, t->params.graph_wrong, err);
    for (uint32_t i = 0; rc == 0 && i < TIES_WORLDS; i++)
        if (t->node[i].known) {
            place[i].known = true;
            place[i].T = t->node[i].T;
        }
    return rc;
}
