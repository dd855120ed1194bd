#include "gpu/tie/bundle.h"

#include "gpu/tie/ties_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CANDIDATES 3 /* most similar keyframes that are confirmed, of each keyframe */
#define ROUNDS 16

struct of_keyframe {
    int32_t before; /* the previous keyframe of its path, -1: it begins here */
    uint32_t path;  /* first keyframe of its path */
    double way;     /* metres along its path */
    struct sim3 place;
};

struct bundle {
    struct ties *ties;
    const struct tie_params *p; /* of ties */
    uint32_t n, next;           /* next: keyframe to compare */
    int round;                  /* the graph's; -1: not begun */
    struct graph *graph;
    struct of_keyframe at[TIES_KEYFRAMES];
    struct graph_node node[TIES_KEYFRAMES], was[TIES_KEYFRAMES];
    struct graph_edge edge[BUNDLE_PAIRS + TIES_KEYFRAMES]; /* pairs, then paths */
    double off2[BUNDLE_PAIRS];
    bool supported[BUNDLE_PAIRS], loose[TIES_KEYFRAMES];
    uint32_t n_pairs, n_edges;
    struct confirm_result confirmed;
    struct bundle_result result;
};

static const struct ties_keyframe *keyframe(const struct bundle *b, uint32_t k)
{
    return b->ties->piece[k / TIES_PIECE] + k % TIES_PIECE;
}

/* ------------------------------------------------------------------------- paths */

/* The keyframe before keyframe k on its path: the last one of its submap or, where the submap
 * continues another, of that one. */
static int32_t find_before(const struct bundle *b, uint32_t k)
{
    uint32_t world = keyframe(b, k)->world;
    int64_t parent = -1;

    for (uint32_t i = k; i-- > 0;)
        if (keyframe(b, i)->world == world)
            return (int32_t)i;
    for (int i = 0; i < b->ties->n_claims; i++)
        if (b->ties->claim[i].cut && b->ties->claim[i].world == world)
            parent = b->ties->claim[i].parent;
    for (uint32_t i = k; parent >= 0 && i-- > 0;)
        if (keyframe(b, i)->world == parent)
            return (int32_t)i;
    return -1;
}

static double shift_of(const struct sim3 *T)
{
    return sqrt(T->t[0] * T->t[0] + T->t[1] * T->t[1] + T->t[2] * T->t[2]);
}

static double turn_of(const struct sim3 *T)
{
    double d[6];

    small_log(d, T);
    return sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
}

/* The pose of camera k in camera i, from poses in the same axes. */
static void bundle_between(struct sim3 *T, const struct bundle *b, uint32_t k, uint32_t i)
{
    struct sim3 T_i;

    small_from(T, &keyframe(b, k)->T_wc);
    small_from(&T_i, &keyframe(b, i)->T_wc);
    small_inverse(&T_i, &T_i);
    small_mul(T, &T_i, T);
}

static void lay_path(struct bundle *b, uint32_t k)
{
    struct of_keyframe *at = &b->at[k];
    struct sim3 T;

    at->before = find_before(b, k);
    at->path = k;
    if (at->before < 0)
        return;
    bundle_between(&T, b, k, (uint32_t)at->before);
    at->path = b->at[at->before].path;
    at->way = b->at[at->before].way + shift_of(&T);
}

int bundle_new(struct bundle **out, struct ties *t, uint32_t n, const struct ties_place *place,
               struct err *err)
{
    struct bundle *b = calloc(1, sizeof(*b));

    *out = b;
    if (!b)
        return err_set(err, ERR_MEMORY, "no memory to bundle a session");
    b->ties = t;
    b->p = &t->params;
    b->n = n;
    b->round = -1;
    b->result.n_keyframes = n;
    for (uint32_t k = 0; k < n; k++) {
        const struct ties_keyframe *at = keyframe(b, k);
        struct sim3 T;

        lay_path(b, k);
        small_from(&T, &at->T_wc);
        b->at[k].place = sim3_identity();
        b->loose[k] = !place[at->world].fixed && !place[at->world].known;
        if (!b->loose[k])
            b->at[k].place = place[at->world].T;
        b->node[k].known = true;
        small_mul(&b->node[k].T, &b->at[k].place, &T);
        b->was[k] = b->node[k];
    }
    return 0;
}

void bundle_free(struct bundle **b)
{
    if (*b)
        graph_end(&(*b)->graph);
    free(*b);
    *b = NULL;
}

/* ------------------------------------------------------------------------- pairs */

/* May keyframe k show the place of the earlier keyframe i again? */
static bool may_meet(const struct bundle *b, uint32_t k, uint32_t i)
{
    if (b->at[k].path == b->at[i].path)
        return b->at[k].way - b->at[i].way >= b->p->bundle_loop_m;
    return keyframe(b, k)->world == keyframe(b, i)->world || (!b->loose[k] && !b->loose[i]);
}

/* (W10) */
static void try_pair(struct bundle *b, uint32_t k, uint32_t i)
{
    struct graph_edge *e = &b->edge[b->n_pairs];
    double apart;

    if (b->n_pairs == BUNDLE_PAIRS ||
        !confirm_pair(&b->confirmed, &keyframe(b, k)->seen, &keyframe(b, i)->seen, b->p))
        return;
    apart = b->p->bundle_pair_depth * shift_of(&b->confirmed.T_ba);
    *e = (struct graph_edge){.a = k,
                             .b = i,
                             .T_a = sim3_identity(),
                             .T_b = b->confirmed.T_ba,
                             .sigma_m =
                                 sqrt(b->p->bundle_pair_m * b->p->bundle_pair_m + apart * apart),
                             .sigma_rad = b->p->bundle_pair_rad};
    b->n_pairs++;
}

static void bundle_compare(struct bundle *b, uint32_t k)
{
    struct {
        int alike;
        uint32_t i;
    } best[CANDIDATES];
    int n = 0;

    for (uint32_t i = 0; i < k; i++) {
        int alike = may_meet(b, k, i)
                        ? confirm_alike(&keyframe(b, k)->seen, &keyframe(b, i)->seen, b->p)
                        : 0;
        int j = n < CANDIDATES ? n : CANDIDATES - 1;

        if (alike < b->p->alike_least || (n == CANDIDATES && alike <= best[j].alike))
            continue;
        for (; j > 0 && alike > best[j - 1].alike; j--)
            best[j] = best[j - 1];
        best[j].alike = alike;
        best[j].i = i;
        n += n < CANDIDATES;
    }
    for (int j = 0; j < n; j++)
        try_pair(b, k, best[j].i);
}

static bool is_near(const struct bundle *b, uint32_t k, uint32_t i)
{
    return k != i && b->at[k].path == b->at[i].path &&
           fabs(b->at[k].way - b->at[i].way) <= b->p->bundle_near_m;
}

/* Where a pair puts the first camera of p. */
static void says(struct sim3 *at, const struct bundle *b, const struct graph_edge *pair,
                 const struct graph_edge *p)
{
    struct sim3 back;

    small_inverse(&back, &b->was[pair->a].T);
    small_mul(at, &back, &b->was[p->a].T);
    small_mul(at, &pair->T_b, at);
    small_mul(at, &b->was[pair->b].T, at);
}

/* (W11) Do two pairs of different keyframes agree? */
static bool agree(const struct bundle *b, const struct graph_edge *p, const struct graph_edge *q)
{
    struct sim3 by_p, by_q;

    if (!is_near(b, p->a, q->a) || !is_near(b, p->b, q->b))
        return false;
    says(&by_p, b, p, p);
    says(&by_q, b, q, p);
    for (int i = 0; i < 3; i++)
        if (!(fabs(by_p.t[i] - by_q.t[i]) <= b->p->bundle_same_m))
            return false;
    return sim3_angle_deg(&by_p, &by_q) < b->p->bundle_same_deg;
}

/* Drops pairs that no other pair supports. */
static void keep_supported(struct bundle *b)
{
    uint32_t n = 0;

    memset(b->supported, 0, sizeof(b->supported));
    for (uint32_t i = 0; i < b->n_pairs; i++)
        for (uint32_t k = 0; k < i; k++)
            if ((!b->supported[i] || !b->supported[k]) && agree(b, &b->edge[i], &b->edge[k]))
                b->supported[i] = b->supported[k] = true;
    for (uint32_t i = 0; i < b->n_pairs; i++)
        if (b->supported[i])
            b->edge[n++] = b->edge[i];
    b->n_pairs = b->result.n_pairs = n;
}

/* ------------------------------------------------------------------------- the graph */

static int by_size(const void *a, const void *b)
{
    const double *p = a, *q = b;

    return (*p > *q) - (*p < *q);
}

/* The median of the pairs' errors, and how many pairs hold. */
static double bundle_look(struct bundle *b, uint32_t *n_hold)
{
    *n_hold = 0;
    for (uint32_t i = 0; i < b->n_pairs; i++) {
        b->off2[i] = graph_off(b->node, &b->edge[i]);
        *n_hold += b->off2[i] <= b->p->bundle_holds2;
    }
    qsort(b->off2, b->n_pairs, sizeof(*b->off2), by_size);
    return b->n_pairs ? b->off2[b->n_pairs / 2] : 0;
}

/* (W12) */
static double sigma_of(double least, double path, double rotation, double m, double rad)
{
    return sqrt(least * least + path * path * m + rotation * rotation * rad * rad);
}

static void add_path(struct bundle *b, uint32_t k)
{
    const struct tie_params *p = b->p;
    uint32_t i = (uint32_t)b->at[k].before;
    struct graph_edge *e = &b->edge[b->n_edges++];
    double m, rad;

    *e = (struct graph_edge){.a = k, .b = i, .T_a = sim3_identity(), .sure = true};
    bundle_between(&e->T_b, b, k, i);
    m = shift_of(&e->T_b);
    rad = turn_of(&e->T_b);
    e->sigma_m = sigma_of(p->bundle_least_m, p->bundle_path_m, p->bundle_rotation_m, m, rad);
    e->sigma_rad =
        sigma_of(p->bundle_least_rad, p->bundle_path_rad, p->bundle_rotation_rad, m, rad);
}

/* Fixes the first keyframe of each connected group. */
static void fix_firsts(struct bundle *b)
{
    uint32_t first[TIES_KEYFRAMES];
    bool more = true;

    for (uint32_t k = 0; k < b->n; k++)
        first[k] = k;
    while (more) {
        more = false;
        for (uint32_t i = 0; i < b->n_edges; i++) {
            uint32_t *p = &first[b->edge[i].a], *q = &first[b->edge[i].b];

            more = more || *p != *q;
            *p = *q = *p < *q ? *p : *q;
        }
    }
    for (uint32_t k = 0; k < b->n; k++)
        b->node[k].fixed = first[k] == k;
}

/* Ends the comparisons. Returns whether there is something to solve. */
static bool begin_graph(struct bundle *b)
{
    uint32_t n_hold;
    double off2;

    keep_supported(b);
    off2 = bundle_look(b, &n_hold);
    b->result.off_before = b->result.off_after = (float)sqrt(off2);
    b->result.end = b->n_pairs >= b->p->bundle_pairs ? BUNDLE_RIGHT : BUNDLE_UNSEEN;
    if (b->result.end == BUNDLE_UNSEEN || off2 <= b->p->bundle_right2)
        return false;
    b->n_edges = b->n_pairs;
    for (uint32_t k = 0; k < b->n; k++)
        if (b->at[k].before >= 0)
            add_path(b, k);
    fix_firsts(b);
    b->round = 0;
    if (graph_begin(&b->graph, b->node, b->n, b->edge, b->n_edges, NULL) == 0)
        return true;
    b->result.end = BUNDLE_NO_MEMORY;
    return false;
}

/* (W13) Accepts or rejects the graph's answer. */
static void bundle_judge(struct bundle *b)
{
    uint32_t n_hold;

    graph_end(&b->graph);
    b->result.off_after = (float)sqrt(bundle_look(b, &n_hold));
    if (n_hold < b->p->bundle_holds * b->n_pairs || !(b->result.off_after < b->result.off_before)) {
        b->result.end = BUNDLE_CONTRARY;
        return;
    }
    for (uint32_t k = 0; k < b->n; k++) {
        struct sim3 T;
        double d2 = 0;

        small_inverse(&T, &b->was[k].T);
        small_mul(&T, &T, &b->node[k].T);
        for (int i = 0; i < 3; i++)
            d2 += (b->node[k].T.t[i] - b->was[k].T.t[i]) * (b->node[k].T.t[i] - b->was[k].T.t[i]);
        b->result.moved_m = fmaxf(b->result.moved_m, (float)sqrt(d2));
        b->result.moved_rad = fmaxf(b->result.moved_rad, (float)turn_of(&T));
    }
    if (b->result.moved_m >= (float)b->p->bundle_moved_m ||
        b->result.moved_rad >= (float)b->p->bundle_moved_rad)
        b->result.end = BUNDLE_CORRECTED;
}

bool bundle_step(struct bundle *b)
{
    double wide;
    bool more;

    if (b->next < b->n) {
        bundle_compare(b, b->next++);
        return true;
    }
    if (b->round < 0)
        return begin_graph(b);
    if (!b->graph)
        return false;
    wide = fmax(1, ldexp(b->p->bundle_wide, -b->round));
    more = graph_round(b->graph, b->p->graph_wrong * wide) || wide > 1;
    if (more && ++b->round < ROUNDS)
        return true;
    bundle_judge(b);
    return false;
}

void bundle_tell(const struct bundle *b, struct bundle_result *r)
{
    *r = b->result;
}

void bundle_pose(const struct bundle *b, uint32_t k, struct rigid *T_wc)
{
    struct sim3 T;

    if (b->result.end != BUNDLE_CORRECTED) {
        *T_wc = keyframe(b, k)->T_wc;
        return;
    }
    small_inverse(&T, &b->at[k].place);
    small_mul(&T, &T, &b->node[k].T);
    small_to(T_wc, &T);
}
