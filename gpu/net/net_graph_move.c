/* Operators that move numbers without changing them: joining, cutting, reshaping. */
#include "gpu/net/net_graph.h"

#include <math.h>
#include <string.h>

static int normal_axis(const struct net_node *n, int64_t axis, int rank, int *out, struct err *err)
{
    int64_t a = axis < 0 ? axis + rank : axis;
    if (a < 0 || a >= rank)
        return net_op_fail(err, ERR_INPUT, n, "axis %lld of %d dimensions", (long long)axis, rank);
    *out = (int)a;
    return 0;
}

int net_graph_move_concat(struct net_graph *g, const struct net_node *n, struct err *err)
{
    const struct net_info *x;
    int src[256], rc, axis = 0, code;
    int64_t dim[NET_RANK_MAX], given;
    struct net_step *s;
    if (n->n_in > 256 || !net_graph_given(n, 0))
        return net_op_fail(err, ERR_INPUT, n, "%d inputs", n->n_in);
    if (g->info[n->in[0]].kind != NET_INFO_FEATURE)
        return net_graph_known_concat(g, n, err);
    if ((rc = net_graph_feature(g, n, 0, &x, err)) ||
        (rc = net_op_int(n, "axis", &given, 1, err)) ||
        (rc = normal_axis(n, given, x->rank, &axis, err)))
        return rc;
    memcpy(dim, x->dim, sizeof dim);
    src[0] = x->tensor;
    for (int k = 1; k < n->n_in; k++) {
        const struct net_info *y;
        if ((rc = net_graph_feature(g, n, k, &y, err)))
            return rc;
        for (int i = 0; i < x->rank; i++)
            if (y->rank != x->rank || (i != axis && y->dim[i] != x->dim[i]))
                return net_op_fail(err, ERR_INPUT, n, "input %d has another shape than input 0", k);
        dim[axis] += y->dim[axis];
        src[k] = y->tensor;
    }
    if (n->n_in == 1)
        return net_graph_view(g, n, *x, x->rank, dim, err);
    s = net_graph_step(g, n, NET_STEP_CONCAT, src, n->n_in, x->rank, dim, &code, err);
    if (s)
        s->axis = axis;
    return code;
}

int net_graph_move_flatten(struct net_graph *g, const struct net_node *n, struct err *err)
{
    const struct net_info *x;
    int64_t axis, dim[2] = {1, 1};
    int rc;
    if ((rc = net_graph_feature(g, n, 0, &x, err)) || (rc = net_op_int(n, "axis", &axis, 1, err)))
        return rc;
    axis = axis < 0 ? axis + x->rank : axis;
    if (axis < 0 || axis > x->rank)
        return net_op_fail(err, ERR_INPUT, n, "axis %lld of %d dimensions", (long long)axis,
                           x->rank);
    for (int i = 0; i < x->rank; i++)
        dim[i >= axis] *= x->dim[i];
    return net_graph_view(g, n, *x, 2, dim, err);
}

static int any_info(struct net_graph *g, const struct net_node *n, struct net_info *x,
                    struct err *err)
{
    const struct net_info *in;
    int rc = net_graph_input(g, n, 0, &in, err);
    if (rc == 0)
        *x = *in;
    return rc;
}

int net_graph_move_reshape(struct net_graph *g, const struct net_node *n, struct err *err)
{
    struct net_info x, shape;
    int64_t zero, dim[NET_RANK_MAX], have, known = 1;
    int rc, open = -1, rank;
    if ((rc = any_info(g, n, &x, err)) || (rc = net_graph_numbers(g, n, 1, &shape, err)) ||
        (rc = net_op_int(n, "allowzero", &zero, 0, err)))
        return rc;
    if (shape.rank != 1 || shape.dim[0] > NET_RANK_MAX)
        return net_op_fail(err, ERR_INPUT, n, "not a shape");
    rank = (int)shape.dim[0];
    have = net_graph_count(x.rank, x.dim);
    for (int i = 0; i < rank; i++) {
        if (!(shape.v[i] >= -1 && shape.v[i] <= 0x1p40))
            return net_op_fail(err, ERR_INPUT, n, "a dimension of %g", shape.v[i]);
        dim[i] = (int64_t)shape.v[i];
        if (dim[i] == 0 && !zero && i < x.rank)
            dim[i] = x.dim[i];
        if (dim[i] == -1 && open >= 0)
            return net_op_fail(err, ERR_INPUT, n, "two open dimensions");
        if (dim[i] == -1)
            open = i;
        else if (dim[i] && known > ((int64_t)1 << 40) / dim[i])
            return net_op_fail(err, ERR_LIMIT, n, "a shape of more than 2^40 numbers");
        else
            known *= dim[i];
    }
    if (open >= 0)
        dim[open] = known ? have / known : 0;
    if ((open >= 0 ? known * dim[open] : known) != have)
        return net_op_fail(err, ERR_INPUT, n, "%lld numbers do not fill the shape",
                           (long long)have);
    return net_graph_view(g, n, x, rank, dim, err);
}

/*
 * The axes of Squeeze and Unsqueeze, attribute or input, as marks on the dimensions. `grow`: they
 * count the dimensions of the result, x.rank + count. *count is -1 where no axes were given.
 */
static int marks(struct net_graph *g, const struct net_node *n, int rank, int grow,
                 int mark[NET_RANK_MAX], int *count, struct err *err)
{
    const struct net_attr *attr = net_op_attr(n, "axes");
    struct net_info axes = {0};
    int rc = 0;
    *count = -1;
    memset(mark, 0, NET_RANK_MAX * sizeof *mark);
    if (net_graph_given(n, 1)) {
        if ((rc = net_graph_numbers(g, n, 1, &axes, err)))
            return rc;
        *count = (int)net_graph_count(axes.rank, axes.dim);
    } else if (attr) {
        if (attr->kind != NET_ATTR_INTS)
            return net_op_fail(err, ERR_INPUT, n, "attribute 'axes' is not a list of integers");
        *count = attr->n;
    }
    if (*count > NET_RANK_MAX || (grow && (*count < 0 || (rank += *count) > NET_RANK_MAX)))
        return net_op_fail(err, ERR_INPUT, n, "no axes or too many");
    for (int i = 0; i < *count; i++) {
        double a = axes.v ? axes.v[i] : (double)attr->ints[i];
        a = a < 0 ? a + rank : a;
        if (!(a >= 0 && a < rank) || mark[(int)a])
            return net_op_fail(err, ERR_INPUT, n, "axis %g of %d dimensions", a, rank);
        mark[(int)a] = 1;
    }
    return 0;
}

int net_graph_move_squeeze(struct net_graph *g, const struct net_node *n, struct err *err)
{
    struct net_info x;
    int64_t dim[NET_RANK_MAX];
    int mark[NET_RANK_MAX], count, rank = 0, rc;
    if ((rc = any_info(g, n, &x, err)) || (rc = marks(g, n, x.rank, 0, mark, &count, err)))
        return rc;
    for (int i = 0; i < x.rank; i++) {
        int drop = count < 0 ? x.dim[i] == 1 : mark[i];
        if (drop && x.dim[i] != 1)
            return net_op_fail(err, ERR_INPUT, n, "axis %d has %lld elements", i,
                               (long long)x.dim[i]);
        if (!drop)
            dim[rank++] = x.dim[i];
    }
    return net_graph_view(g, n, x, rank, dim, err);
}

int net_graph_move_unsqueeze(struct net_graph *g, const struct net_node *n, struct err *err)
{
    struct net_info x;
    int64_t dim[NET_RANK_MAX];
    int mark[NET_RANK_MAX], count, at = 0, rc;
    if ((rc = any_info(g, n, &x, err)) || (rc = marks(g, n, x.rank, 1, mark, &count, err)))
        return rc;
    for (int i = 0; i < x.rank + count; i++)
        dim[i] = mark[i] ? 1 : x.dim[at++];
    return net_graph_view(g, n, x, x.rank + count, dim, err);
}

int net_graph_move_transpose(struct net_graph *g, const struct net_node *n, struct err *err)
{
    const struct net_info *x;
    struct net_step *s;
    int64_t dim[4];
    int perm[4], seen[4] = {0}, found, rc, code, last = -1, trivial = 1;
    if (net_graph_is_known(g, n, 0))
        return net_graph_known_transpose(g, n, err);
    if ((rc = net_graph_feature(g, n, 0, &x, err)))
        return rc;
    for (int i = 0; i < x->rank; i++)
        perm[i] = x->rank - 1 - i;
    if ((rc = net_op_ints(n, "perm", perm, x->rank, &found, err)))
        return rc;
    for (int i = 0; i < x->rank; i++) {
        if (perm[i] < 0 || perm[i] >= x->rank || seen[perm[i]]++)
            return net_op_fail(err, ERR_INPUT, n, "not a permutation");
        dim[i] = x->dim[perm[i]];
        if (dim[i] != 1) {
            trivial = trivial && perm[i] > last;
            last = perm[i];
        }
    }
    if (trivial) /* only dimensions of size 1 move */
        return net_graph_view(g, n, *x, x->rank, dim, err);
    s = net_graph_step(g, n, NET_STEP_TRANSPOSE, &x->tensor, 1, x->rank, dim, &code, err);
    if (!s)
        return code;
    for (int i = 0; i < 4; i++)
        s->perm[i] = i < x->rank ? perm[i] : i;
    return 0;
}

struct cut {
    int start, step, count, whole;
};

/* One axis of a feature: start and end as Slice counts them. */
static int cut_axis(const struct net_node *n, int64_t have, double start, double end, double step,
                    struct cut *c, struct err *err)
{
    double h = (double)have;
    if (!(fabs(step) >= 1 && fabs(step) <= NET_SIDE_MAX))
        return net_op_fail(err, ERR_INPUT, n, "a step of %g", step);
    start = start < 0 ? start + h : start;
    end = end < 0 ? end + h : end;
    if (step > 0) {
        start = fmin(fmax(start, 0), h);
        end = fmin(fmax(end, 0), h);
    } else {
        start = fmin(fmax(start, 0), h - 1);
        end = fmin(fmax(end, -1), h - 1);
    }
    c->start = (int)start;
    c->step = (int)step;
    c->count = (int)fmax(ceil((end - start) / step), 0);
    c->whole = c->start == 0 && c->step == 1 && c->count == have;
    return 0;
}

/* The four lists of Slice: start, end, axis, step, from attributes (opset 9) or inputs. */
struct bounds {
    int n;
    double v[4][NET_RANK_MAX];
};

static int read_bounds(struct net_graph *g, const struct net_node *n, struct bounds *b,
                       struct err *err)
{
    static const char *const names[4] = {"starts", "ends", "axes", "steps"};
    for (int k = 0; k < 4; k++) {
        const struct net_attr *attr = net_op_attr(n, names[k]);
        struct net_info x = {0};
        int count = -1, rc;
        if (net_graph_given(n, k + 1)) {
            if ((rc = net_graph_numbers(g, n, k + 1, &x, err)))
                return rc;
            count = (int)net_graph_count(x.rank, x.dim);
        } else if (attr && attr->kind == NET_ATTR_INTS) {
            count = attr->n;
        }
        if (k == 0)
            b->n = count;
        if ((k < 2 && count < 0) || count > NET_RANK_MAX || (count >= 0 && count != b->n))
            return net_op_fail(err, ERR_INPUT, n, "%s are missing, too many or too few", names[k]);
        for (int i = 0; i < b->n; i++)
            b->v[k][i] = count < 0 ? (k == 2 ? i : 1) : x.v ? x.v[i] : (double)attr->ints[i];
    }
    return 0;
}

static int cut_feature(struct net_graph *g, const struct net_node *n, const struct cut cut[4],
                       struct err *err)
{
    struct net_info x = g->info[n->in[0]];
    int code = 0;
    if (!cut[0].whole)
        return net_op_fail(err, ERR_UNSUPPORTED, n, "slicing the batch");
    if (!cut[1].whole) {
        struct net_step *s;
        x.dim[1] = cut[1].count;
        if (cut[1].step != 1)
            return net_op_fail(err, ERR_UNSUPPORTED, n, "slicing channels with a step");
        s = net_graph_step(g, n, NET_STEP_SLICE, &x.tensor, 1, x.rank, x.dim, &code, err);
        if (!s)
            return code;
        s->first = cut[1].start;
        x = g->info[n->out];
    }
    if (!cut[2].whole || !cut[3].whole)
        return net_graph_map_crop(g, n, &x, (int[2]){cut[2].start, cut[3].start},
                                  (int[2]){cut[2].step, cut[3].step},
                                  (int[2]){cut[2].count, cut[3].count}, err);
    g->info[n->out] = x;
    return 0;
}

/* Shape arithmetic: one axis at a time is what exporters write. */
static int cut_known(struct net_graph *g, const struct net_node *n, const struct net_info *x,
                     const struct bounds *b, struct err *err)
{
    struct cut c = {0};
    int axis = 0, rc;
    if (b->n != 1 || !(fabs(b->v[2][0]) <= NET_RANK_MAX))
        return net_op_fail(err, ERR_UNSUPPORTED, n, "slicing constants along %d axes", b->n);
    if ((rc = normal_axis(n, (int64_t)b->v[2][0], x->rank, &axis, err)) ||
        (rc = cut_axis(n, x->dim[axis], b->v[0][0], b->v[1][0], b->v[3][0], &c, err)))
        return rc;
    return net_graph_known_slice(g, n, axis, c.start, c.step, c.count, err);
}

int net_graph_move_slice(struct net_graph *g, const struct net_node *n, struct err *err)
{
    struct net_info x;
    struct bounds b = {0};
    struct cut cut[4];
    int rc;
    if ((rc = any_info(g, n, &x, err)) || (rc = read_bounds(g, n, &b, err)))
        return rc;
    if (x.kind != NET_INFO_FEATURE)
        return cut_known(g, n, &x, &b, err);
    for (int a = 0; a < 4; a++)
        cut[a] = (struct cut){0, 1, a < x.rank ? (int)x.dim[a] : 1, 1};
    for (int i = 0; i < b.n; i++) {
        int a = 0;
        if (!(fabs(b.v[2][i]) <= NET_RANK_MAX))
            return net_op_fail(err, ERR_INPUT, n, "axis %g", b.v[2][i]);
        if ((rc = normal_axis(n, (int64_t)b.v[2][i], x.rank, &a, err)) ||
            (rc = cut_axis(n, x.dim[a], b.v[0][i], b.v[1][i], b.v[3][i], &cut[a], err)))
            return rc;
        if (cut[a].count < 1)
            return net_op_fail(err, ERR_INPUT, n, "nothing is left of axis %d", a);
    }
    return cut_feature(g, n, cut, err);
}

int net_graph_move_shuffle(struct net_graph *g, const struct net_node *n, struct err *err)
{
    const struct net_info *x;
    struct net_step *s;
    const char *mode;
    int64_t b, dim[4];
    int rc, code;
    if ((rc = net_graph_image(g, n, 0, &x, err)) || (rc = net_op_int(n, "blocksize", &b, 0, err)) ||
        (rc = net_op_string(n, "mode", &mode, "DCR", err)))
        return rc;
    if (b < 1 || b > 64 || x->dim[1] % (b * b))
        return net_op_fail(err, ERR_INPUT, n, "blocks of %lld for %lld channels", (long long)b,
                           (long long)x->dim[1]);
    if (strcmp(mode, "DCR") && strcmp(mode, "CRD"))
        return net_op_fail(err, ERR_UNSUPPORTED, n, "this mode");
    dim[0] = x->dim[0];
    dim[1] = x->dim[1] / (b * b);
    dim[2] = x->dim[2] * b;
    dim[3] = x->dim[3] * b;
    s = net_graph_step(g, n, NET_STEP_SHUFFLE, &x->tensor, 1, 4, dim, &code, err);
    if (!s)
        return code;
    s->block = (int)b;
    s->crd = mode[0] == 'C';
    return 0;
}
