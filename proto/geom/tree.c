#include "proto/geom/tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAF 12 /* so few points are compared one by one */

/* Nodes stand in heap order: the children of i are 2i+1 and 2i+2. The points of a node are a range
 * that is halved at each level, so no node stores where its range begins. Each node has the box
 * around its points. Without boxes, only planes of division would bound the distance to a node, and
 * a query far from a wall would look through most of the wall. */
struct tree {
    size_t n;
    int dim;
    float *points; /* [n][dim] in the order of the leaves */
    uint32_t *id;  /* [n] */
    float *box;    /* [nodes][2][dim]: lowest and highest coordinates */
};

struct item {
    float key;
    uint32_t id;
};

struct build {
    struct tree *tree;
    const float *points;
    struct item *item;
};

/* Puts the k-th smallest item at its place and smaller ones before it. Hoare's selection halves
 * runs of equal values as well. */
static void select_item(struct item *v, size_t n, size_t k)
{
    ptrdiff_t lo = 0, hi = (ptrdiff_t)n - 1, at = (ptrdiff_t)k;

    while (lo < hi) {
        float pivot = v[at].key;
        ptrdiff_t i = lo, j = hi;

        do {
            while (v[i].key < pivot)
                i++;
            while (pivot < v[j].key)
                j--;
            if (i <= j) {
                struct item swap = v[i];

                v[i++] = v[j];
                v[j--] = swap;
            }
        } while (i <= j);
        if (j < at)
            lo = i;
        if (at < i)
            hi = j;
    }
}

/* Out: box [2][dim] of the items' points; returns its widest axis. */
static int enclose(float *box, const struct build *b, size_t lo, size_t hi)
{
    int dim = b->tree->dim, axis = 0;
    float *low = box, *high = box + dim;

    memcpy(low, b->points + (size_t)b->item[lo].id * (size_t)dim, (size_t)dim * sizeof *low);
    memcpy(high, low, (size_t)dim * sizeof *high);
    for (size_t i = lo + 1; i < hi; i++) {
        const float *p = b->points + (size_t)b->item[i].id * (size_t)dim;

        for (int k = 0; k < dim; k++) {
            low[k] = p[k] < low[k] ? p[k] : low[k];
            high[k] = p[k] > high[k] ? p[k] : high[k];
        }
    }
    for (int k = 1; k < dim; k++)
        if (high[k] - low[k] > high[axis] - low[axis])
            axis = k;
    return axis;
}

/* Depth of the recursion: log2(n / LEAF). */
static void divide(struct build *b, size_t node, size_t lo, size_t hi)
{
    size_t mid = lo + (hi - lo) / 2;
    int axis = enclose(b->tree->box + node * 2 * (size_t)b->tree->dim, b, lo, hi);

    if (hi - lo <= LEAF)
        return;
    for (size_t i = lo; i < hi; i++)
        b->item[i].key = b->points[(size_t)b->item[i].id * (size_t)b->tree->dim + (size_t)axis];
    select_item(b->item + lo, hi - lo, mid - lo);
    divide(b, 2 * node + 1, lo, mid);
    divide(b, 2 * node + 2, mid, hi);
}

int tree_new(struct tree **tree, const float *points, size_t n, int dim, struct err *err)
{
    struct build b = {.points = points};
    struct tree *t = NULL;
    size_t nodes = 1;
    int rc = 0;

    *tree = NULL;
    if (n == 0 || dim < 1 || dim > TREE_DIM_MAX)
        return err_set(err, ERR_INPUT, "a search tree of %zu points in %d dimensions", n, dim);
    if (n > TREE_POINTS_MAX)
        return err_set(err, ERR_LIMIT, "%zu points, a search tree takes %u", n, TREE_POINTS_MAX);
    for (size_t most = n; most > LEAF; most -= most / 2) /* the larger half is next in the loop */
        nodes = 2 * nodes + 1;
    t = calloc(1, sizeof *t);
    b.item = malloc(n * sizeof *b.item);
    if (t) {
        *t = (struct tree){.n = n, .dim = dim};
        t->points = malloc(n * (size_t)dim * sizeof *t->points);
        t->id = malloc(n * sizeof *t->id);
        t->box = malloc(nodes * 2 * (size_t)dim * sizeof *t->box);
    }
    if (!b.item || !t || !t->points || !t->id || !t->box) {
        rc = err_set(err, ERR_MEMORY, "no memory for a search tree of %zu points", n);
        goto out;
    }
    b.tree = t;
    for (size_t i = 0; i < n; i++)
        b.item[i].id = (uint32_t)i;
    divide(&b, 0, 0, n);
    for (size_t i = 0; i < n; i++) {
        t->id[i] = b.item[i].id;
        memcpy(t->points + i * (size_t)dim, points + (size_t)t->id[i] * (size_t)dim,
               (size_t)dim * sizeof *points);
    }
    *tree = t;
    t = NULL;
out:
    free(b.item);
    tree_free(&t);
    return rc;
}

void tree_free(struct tree **tree)
{
    struct tree *t = *tree;

    if (t) {
        free(t->points);
        free(t->id);
        free(t->box);
        free(t);
    }
    *tree = NULL;
}

/* ------------------------------------------------------------------------------------ queries */

struct search {
    const struct tree *tree;
    const double *q;
    double best; /* only nearer points matter */
    int k, n;
    uint32_t *id;
    double *d2;
};

static void offer(struct search *s, uint32_t id, double d2)
{
    int i = s->n < s->k ? s->n++ : s->k - 1;

    for (; i > 0 && s->d2[i - 1] > d2; i--) {
        s->d2[i] = s->d2[i - 1];
        s->id[i] = s->id[i - 1];
    }
    s->d2[i] = d2;
    s->id[i] = id;
    if (s->n == s->k)
        s->best = s->d2[s->k - 1];
}

static void tree_scan(struct search *s, size_t lo, size_t hi)
{
    const int dim = s->tree->dim;
    const float *p = s->tree->points + lo * (size_t)dim;

    for (size_t i = lo; i < hi; i++, p += dim) {
        double d2 = 0;

        for (int k = 0; k < dim; k++) {
            double d = s->q[k] - (double)p[k];

            d2 += d * d;
        }
        if (d2 < s->best)
            offer(s, s->tree->id[i], d2);
    }
}

/* Returns the squared distance from q to the box of a node, or any number that is not below s->best
 * if the distance is not below it. It is rounded as in tree_scan(), so it is never above the
 * distance of a point in the box. */
static double to_box(const struct search *s, size_t node)
{
    const int dim = s->tree->dim;
    const float *low = s->tree->box + node * 2 * (size_t)dim, *high = low + dim;
    double d2 = 0;

    for (int k = 0; k < dim && d2 < s->best; k++) {
        double under = (double)low[k] - s->q[k], over = s->q[k] - (double)high[k];
        double d = under > over ? under : over;

        d2 += d > 0 ? d * d : 0;
    }
    return d2;
}

static void visit(struct search *s, size_t node, size_t lo, size_t hi)
{
    size_t mid = lo + (hi - lo) / 2;
    double left, right;

    if (hi - lo <= LEAF) {
        tree_scan(s, lo, hi);
        return;
    }
    left = to_box(s, 2 * node + 1);
    right = to_box(s, 2 * node + 2);
    if (left <= right && left < s->best)
        visit(s, 2 * node + 1, lo, mid);
    if (right < s->best)
        visit(s, 2 * node + 2, mid, hi);
    if (left > right && left < s->best)
        visit(s, 2 * node + 1, lo, mid);
}

int tree_neighbours(const struct tree *tree, const double *q, double bound2, int k, uint32_t *id,
                    double *d2)
{
    struct search s = {.tree = tree, .q = q, .best = bound2, .k = k, .id = id, .d2 = d2};

    visit(&s, 0, 0, tree->n);
    return s.n;
}
