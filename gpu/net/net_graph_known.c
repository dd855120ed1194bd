/*
 * Shape arithmetic, which exporters write for interpolate, flatten and view, is evaluated while a
 * plan is made.
 * Numbers are held as double: integers in real files are far below 2^53, and float arithmetic is
 * rounded to float after each step, as in the exporter's framework.
 */
#include "gpu/net/net_graph.h"

#include <math.h>
#include <string.h>

/* Integers stay within what a double holds exactly; INT64_MAX, which means "to the end",
 * saturates. */
static double tidy(double v, int is_int)
{
    if (!is_int)
        return (float)v;
    if (isnan(v))
        return 0;
    return trunc(fmin(fmax(v, -0x1p53), 0x1p53));
}

int net_graph_known_constant(struct net_graph *g, const struct net_node *n, struct err *err)
{
    static const char *const names[] = {"value", "value_int", "value_float", "value_ints",
                                        "value_floats"};
    const struct net_attr *a = NULL;
    double v[NET_KNOWN_MAX] = {0};
    int64_t count;
    for (size_t i = 0; i < sizeof names / sizeof *names && !a; i++)
        a = net_op_attr(n, names[i]);
    if (!a)
        return net_op_fail(err, ERR_INPUT, n, "no value");
    if (a->kind == NET_ATTR_TENSOR) {
        struct net_info *o = &g->info[n->out];
        o->kind = NET_INFO_CONST;
        o->constant = a->constant;
        o->rank = g->net->consts[a->constant].rank;
        memcpy(o->dim, g->net->consts[a->constant].dim, sizeof o->dim);
        return 0;
    }
    if (a->kind == NET_ATTR_STRING || a->n > NET_KNOWN_MAX)
        return net_op_fail(err, ERR_UNSUPPORTED, n, "a value of this kind or length");
    if (a->kind == NET_ATTR_INT)
        v[0] = tidy((double)a->i, 1);
    else if (a->kind == NET_ATTR_FLOAT)
        v[0] = a->f;
    for (int i = 0; i < a->n && a->kind == NET_ATTR_INTS; i++)
        v[i] = tidy((double)a->ints[i], 1);
    for (int i = 0; i < a->n && a->kind == NET_ATTR_FLOATS; i++)
        v[i] = a->floats[i];
    count = a->n;
    return net_graph_set_known(g, n, a->kind == NET_ATTR_INTS || a->kind == NET_ATTR_FLOATS, &count,
                               a->kind == NET_ATTR_INT || a->kind == NET_ATTR_INTS, v, err);
}

int net_graph_known_shape(struct net_graph *g, const struct net_node *n, struct err *err)
{
    const struct net_info *x;
    int64_t start, end, count;
    double v[NET_RANK_MAX];
    int rc;
    if ((rc = net_graph_input(g, n, 0, &x, err)) || (rc = net_op_int(n, "start", &start, 0, err)) ||
        (rc = net_op_int(n, "end", &end, x->rank, err)))
        return rc;
    start = start < 0 ? start + x->rank : start;
    end = end < 0 ? end + x->rank : end;
    start = start < 0 ? 0 : start > x->rank ? x->rank : start;
    end = end < start ? start : end > x->rank ? x->rank : end;
    count = end - start;
    for (int64_t i = 0; i < count; i++)
        v[i] = (double)x->dim[start + i];
    return net_graph_set_known(g, n, 1, &count, 1, v, err);
}

int net_graph_known_gather(struct net_graph *g, const struct net_node *n, struct err *err)
{
    struct net_info x, idx;
    int64_t axis, count;
    double v[NET_KNOWN_MAX];
    int rc;
    if ((rc = net_op_int(n, "axis", &axis, 0, err)) || (rc = net_graph_numbers(g, n, 0, &x, err)) ||
        (rc = net_graph_numbers(g, n, 1, &idx, err)))
        return rc;
    if (x.rank != 1 || (axis != 0 && axis != -1) || idx.rank > 1)
        return net_op_fail(err, ERR_UNSUPPORTED, n, "gathering is for vectors of shape arithmetic");
    count = net_graph_count(idx.rank, idx.dim);
    for (int64_t i = 0; i < count; i++) {
        double k = idx.v[i] < 0 ? idx.v[i] + (double)x.dim[0] : idx.v[i];
        if (!(k >= 0 && k < (double)x.dim[0]))
            return net_op_fail(err, ERR_INPUT, n, "index %g of %lld", idx.v[i],
                               (long long)x.dim[0]);
        v[i] = x.v[(int)k];
    }
    return net_graph_set_known(g, n, idx.rank, &count, x.is_int, v, err);
}

int net_graph_known_fill(struct net_graph *g, const struct net_node *n, struct err *err)
{
    const struct net_attr *a = net_op_attr(n, "value");
    struct net_info shape;
    double v[NET_KNOWN_MAX], fill = 0;
    int64_t count = 1, dim[NET_RANK_MAX];
    int is_int = 0, rc = net_graph_numbers(g, n, 0, &shape, err);
    if (rc)
        return rc;
    if (shape.rank != 1 || shape.dim[0] > NET_RANK_MAX)
        return net_op_fail(err, ERR_INPUT, n, "not a shape");
    for (int64_t i = 0; i < shape.dim[0]; i++) {
        if (!(shape.v[i] >= 0 && shape.v[i] <= NET_KNOWN_MAX))
            return net_op_fail(err, ERR_UNSUPPORTED, n, "shape arithmetic on %g numbers",
                               shape.v[i]);
        dim[i] = (int64_t)shape.v[i];
        if ((count *= dim[i]) > NET_KNOWN_MAX)
            return net_op_fail(err, ERR_UNSUPPORTED, n, "shape arithmetic on %lld numbers",
                               (long long)count);
    }
    if (a) {
        const struct net_const *c;
        if (a->kind != NET_ATTR_TENSOR || g->net->consts[a->constant].count != 1)
            return net_op_fail(err, ERR_INPUT, n, "attribute 'value' is not one number");
        c = &g->net->consts[a->constant];
        fill = net_op_value(c, 0);
        is_int = c->type == NET_I64 || c->type == NET_I32 || c->type == NET_BOOL;
    }
    for (int64_t i = 0; i < count; i++)
        v[i] = fill;
    return net_graph_set_known(g, n, (int)shape.dim[0], dim, is_int, v, err);
}

int net_graph_known_round(struct net_graph *g, const struct net_node *n, struct err *err)
{
    struct net_info x;
    double v[NET_KNOWN_MAX];
    int rc = net_graph_numbers(g, n, 0, &x, err);
    if (rc)
        return rc;
    for (int64_t i = 0; i < net_graph_count(x.rank, x.dim); i++)
        v[i] = n->op->name[0] == 'F' ? floor(x.v[i]) : ceil(x.v[i]);
    return net_graph_set_known(g, n, x.rank, x.dim, x.is_int, v, err);
}

static double apply(char op, double a, double b, int is_int)
{
    switch (op) {
    case 'A':
        return tidy(a + b, is_int);
    case 'S':
        return tidy(a - b, is_int);
    case 'M':
        return tidy(a * b, is_int);
    default:
        return tidy(a / b, is_int);
    }
}

int net_graph_known_binary(struct net_graph *g, const struct net_node *n, struct err *err)
{
    struct net_info a, b, *big;
    double v[NET_KNOWN_MAX];
    int64_t ca, cb;
    int rc, is_int;
    if ((rc = net_graph_numbers(g, n, 0, &a, err)) || (rc = net_graph_numbers(g, n, 1, &b, err)))
        return rc;
    ca = net_graph_count(a.rank, a.dim);
    cb = net_graph_count(b.rank, b.dim);
    if (ca != cb && ca != 1 && cb != 1)
        return net_op_fail(err, ERR_INPUT, n, "%lld numbers and %lld numbers", (long long)ca,
                           (long long)cb);
    big = ca > cb || (ca == cb && a.rank >= b.rank) ? &a : &b;
    is_int = a.is_int && b.is_int;
    for (int64_t i = 0; i < (ca && cb ? (ca > cb ? ca : cb) : 0); i++) {
        double y = b.v[cb == 1 ? 0 : i];
        if (is_int && n->op->name[0] == 'D' && y == 0)
            return net_op_fail(err, ERR_INPUT, n, "division of an integer by zero");
        v[i] = apply(n->op->name[0], a.v[ca == 1 ? 0 : i], y, is_int);
    }
    if (!ca || !cb)
        big = ca ? &b : &a;
    return net_graph_set_known(g, n, big->rank, big->dim, is_int, v, err);
}

int net_graph_known_concat(struct net_graph *g, const struct net_node *n, struct err *err)
{
    double v[NET_KNOWN_MAX];
    int64_t count = 0;
    int is_int = 1;
    for (int k = 0; k < n->n_in; k++) {
        struct net_info x;
        int rc = net_graph_numbers(g, n, k, &x, err);
        if (rc)
            return rc;
        if (x.rank != 1)
            return net_op_fail(err, ERR_UNSUPPORTED, n, "joining constants that are not vectors");
        if (count + x.dim[0] > NET_KNOWN_MAX)
            return net_op_fail(err, ERR_UNSUPPORTED, n, "shape arithmetic on more than %d numbers",
                               NET_KNOWN_MAX);
        for (int64_t i = 0; i < x.dim[0]; i++)
            v[count++] = x.v[i];
        is_int = is_int && x.is_int;
    }
    return net_graph_set_known(g, n, 1, &count, is_int, v, err);
}

int net_graph_known_slice(struct net_graph *g, const struct net_node *n, int axis, int start,
                          int step, int count, struct err *err)
{
    struct net_info x;
    double v[NET_KNOWN_MAX];
    int64_t dim[NET_RANK_MAX], inner, outer;
    int at = 0, rc = net_graph_numbers(g, n, 0, &x, err);
    if (rc)
        return rc;
    memcpy(dim, x.dim, sizeof dim);
    dim[axis] = count;
    outer = net_graph_count(axis, x.dim);
    inner = net_graph_count(x.rank - axis - 1, x.dim + axis + 1);
    for (int64_t o = 0; o < outer; o++)
        for (int k = 0; k < count; k++)
            for (int64_t i = 0; i < inner; i++)
                v[at++] = x.v[(o * x.dim[axis] + start + (int64_t)k * step) * inner + i];
    return net_graph_set_known(g, n, x.rank, dim, x.is_int, v, err);
}

int net_graph_known_transpose(struct net_graph *g, const struct net_node *n, struct err *err)
{
    struct net_info x;
    double v[NET_KNOWN_MAX];
    int64_t dim[2];
    int perm[2] = {1, 0}, found, rc = net_graph_numbers(g, n, 0, &x, err);
    if (rc)
        return rc;
    if (x.rank != 2)
        return net_op_fail(err, ERR_UNSUPPORTED, n, "a constant of %d dimensions, 2 are needed",
                           x.rank);
    if ((rc = net_op_ints(n, "perm", perm, 2, &found, err)))
        return rc;
    if (perm[0] != 1 || perm[1] != 0)
        return perm[0] == 0 && perm[1] == 1 ? net_graph_view(g, n, x, x.rank, x.dim, err)
                                            : net_op_fail(err, ERR_INPUT, n, "not a permutation");
    dim[0] = x.dim[1];
    dim[1] = x.dim[0];
    for (int64_t i = 0; i < dim[0]; i++)
        for (int64_t j = 0; j < dim[1]; j++)
            v[i * dim[1] + j] = x.v[j * dim[0] + i];
    return net_graph_set_known(g, n, 2, dim, x.is_int, v, err);
}
