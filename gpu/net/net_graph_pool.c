/* Pooling, and the means that are pooling over whole rows or columns. */
#include "gpu/net/net_graph.h"

#include <string.h>

static int out_size(const struct net_node *n, int64_t in, struct net_window *w, int a,
                    int ceil_mode, int64_t *out, struct err *err)
{
    int64_t eff = (int64_t)w->dil[a] * (w->k[a] - 1) + 1, room = in + w->lo[a] + w->hi[a] - eff;
    if (room < 0)
        return net_op_fail(err, ERR_INPUT, n, "the window is larger than its padded input");
    if (w->lo[a] >= eff || w->hi[a] >= eff)
        return net_op_fail(err, ERR_UNSUPPORTED, n, "a padding as wide as the window");
    *out = room / w->stride[a] + 1;
    if (ceil_mode && room % w->stride[a] && *out * w->stride[a] < in + w->lo[a]) {
        /* one more window, which must still begin inside the picture */
        w->hi[a] = (int)(*out * w->stride[a] + eff - in - w->lo[a]);
        ++*out;
    }
    return 0;
}

int net_graph_pool(struct net_graph *g, const struct net_node *n, struct err *err)
{
    const struct net_info *x;
    struct net_window w = {{0}}, asked;
    struct net_step *s;
    int64_t ceil_mode, include, order, dim[4];
    int rc, code, is_max = n->op->name[0] == 'M';
    if ((rc = net_graph_image(g, n, 0, &x, err)) || (rc = net_graph_conv_window(n, &w, err)) ||
        (rc = net_graph_conv_auto_pad(n, x->dim + 2, &w, err)) ||
        (rc = net_op_int(n, "ceil_mode", &ceil_mode, 0, err)) ||
        (rc = net_op_int(n, "storage_order", &order, 0, err)) ||
        (rc = net_op_int(n, "count_include_pad", &include, 0, err)))
        return rc;
    asked = w;
    dim[0] = x->dim[0];
    dim[1] = x->dim[1];
    for (int a = 0; a < 2; a++)
        if ((rc = out_size(n, x->dim[2 + a], &w, a, ceil_mode != 0, &dim[2 + a], err)))
            return rc;
    if (!is_max && include && memcmp(&asked, &w, sizeof w))
        return net_op_fail(err, ERR_UNSUPPORTED, n, "ceil_mode together with count_include_pad");
    if (!is_max && (w.dil[0] != 1 || w.dil[1] != 1))
        return net_op_fail(err, ERR_UNSUPPORTED, n, "a dilated mean");
    s = net_graph_step(g, n, NET_STEP_POOL, &x->tensor, 1, 4, dim, &code, err);
    if (!s)
        return code;
    s->win = w;
    s->pool = is_max ? NET_POOL_MAX : include ? NET_POOL_AVG_PADDED : NET_POOL_AVG;
    s->flops = (double)net_graph_count(4, dim) * w.k[0] * w.k[1];
    return 0;
}

/* The mean over the marked axes of x, which keep size 1. */
static int mean(struct net_graph *g, const struct net_node *n, const struct net_info *x,
                const int over[4], struct err *err)
{
    int64_t dim[NET_RANK_MAX];
    const int *d = g->tensors[x->tensor].d;
    struct net_step *s;
    int code, tensor = x->tensor, rank = x->rank;
    for (int i = 0; i < rank; i++)
        dim[i] = over[i] ? 1 : x->dim[i];
    s = net_graph_step(g, n, NET_STEP_POOL, &tensor, 1, rank, dim, &code, err);
    if (!s)
        return code;
    s->pool = NET_POOL_AVG;
    for (int a = 0; a < 2; a++) {
        s->win.k[a] = over[2 + a] ? d[2 + a] : 1;
        s->win.stride[a] = s->win.dil[a] = 1;
    }
    s->flops = (double)net_graph_count(4, (int64_t[4]){d[0], d[1], d[2], d[3]});
    return 0;
}

int net_graph_pool_global(struct net_graph *g, const struct net_node *n, struct err *err)
{
    const struct net_info *x;
    int rc = net_graph_image(g, n, 0, &x, err);
    return rc ? rc : mean(g, n, x, (int[4]){0, 0, 1, 1}, err);
}

int net_graph_pool_mean(struct net_graph *g, const struct net_node *n, struct err *err)
{
    const struct net_attr *attr = net_op_attr(n, "axes");
    const struct net_info *x;
    struct net_info axes = {.rank = 1};
    double from_attr[NET_RANK_MAX];
    int64_t keep, noop, dim[NET_RANK_MAX];
    int over[4] = {0}, rank = 0, rc;
    if ((rc = net_graph_feature(g, n, 0, &x, err)) ||
        (rc = net_op_int(n, "keepdims", &keep, 1, err)) ||
        (rc = net_op_int(n, "noop_with_empty_axes", &noop, 0, err)))
        return rc;
    if (net_graph_given(n, 1)) {
        if ((rc = net_graph_numbers(g, n, 1, &axes, err)))
            return rc;
    } else if (attr && attr->kind == NET_ATTR_INTS && attr->n <= NET_RANK_MAX) {
        for (int i = 0; i < attr->n; i++)
            from_attr[i] = (double)attr->ints[i];
        axes.dim[0] = attr->n;
        axes.v = from_attr;
    }
    if (!axes.v || !net_graph_count(axes.rank, axes.dim))
        return net_op_fail(err, ERR_UNSUPPORTED, n, "a mean over all axes");
    for (int64_t i = 0; i < net_graph_count(axes.rank, axes.dim); i++) {
        double a = axes.v[i] < 0 ? axes.v[i] + x->rank : axes.v[i];
        if (!(a >= 2 && a < x->rank))
            return net_op_fail(err, ERR_UNSUPPORTED, n,
                               "a mean over axis %g: only rows and columns", axes.v[i]);
        over[(int)a] = 1;
    }
    if ((rc = mean(g, n, x, over, err)) || keep)
        return rc;
    x = &g->info[n->in[0]];
    for (int i = 0; i < x->rank; i++)
        if (i >= 4 || !over[i])
            dim[rank++] = x->dim[i];
    return net_graph_view(g, n, g->info[n->out], rank, dim, err);
}
