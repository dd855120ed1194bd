/* Convolutions, and the dense layers that are convolutions of one pixel. */
#include "gpu/net/net_graph.h"

#include <string.h>

#define WINDOW_MAX 2048 /* largest kernel side, stride, dilation, padding: the largest input side */

static int constant(struct net_graph *g, const struct net_node *n, int k, int rank,
                    const struct net_info **w, struct err *err)
{
    int rc = net_graph_input(g, n, k, w, err);
    if (rc)
        return rc;
    if ((*w)->kind != NET_INFO_CONST)
        return net_op_fail(err, ERR_UNSUPPORTED, n, "weights that are not constants of the file");
    if ((*w)->rank != rank)
        return net_op_fail(err, ERR_UNSUPPORTED, n, "weights of %d dimensions, %d are needed",
                           (*w)->rank, rank);
    return 0;
}

/* Kernel 0 = not known yet (pooling). */
int net_graph_conv_window(const struct net_node *n, struct net_window *w, struct err *err)
{
    int pads[4] = {0}, kernel[2], found, rc;
    w->stride[0] = w->stride[1] = w->dil[0] = w->dil[1] = 1;
    if ((rc = net_op_ints(n, "strides", w->stride, 2, &found, err)) ||
        (rc = net_op_ints(n, "dilations", w->dil, 2, &found, err)) ||
        (rc = net_op_ints(n, "pads", pads, 4, &found, err)) ||
        (rc = net_op_ints(n, "kernel_shape", kernel, 2, &found, err)))
        return rc;
    for (int a = 0; a < 2; a++) {
        if (found && w->k[a] && w->k[a] != kernel[a])
            return net_op_fail(err, ERR_INPUT, n, "kernel_shape is not that of the weights");
        w->k[a] = found ? kernel[a] : w->k[a];
        w->lo[a] = pads[a];
        w->hi[a] = pads[2 + a];
        if (w->k[a] < 1)
            return net_op_fail(err, ERR_INPUT, n, "a kernel of %d", w->k[a]);
        if (w->stride[a] < 1 || w->dil[a] < 1 || w->lo[a] < 0 || w->hi[a] < 0)
            return net_op_fail(err, ERR_INPUT, n, "a stride, dilation or padding out of range");
        if (w->stride[a] > WINDOW_MAX || w->dil[a] > WINDOW_MAX || w->lo[a] > WINDOW_MAX ||
            w->hi[a] > WINDOW_MAX || w->k[a] > WINDOW_MAX)
            return net_op_fail(err, ERR_LIMIT, n, "a kernel, stride, dilation or padding over %d",
                               WINDOW_MAX);
    }
    return 0;
}

int net_graph_conv_auto_pad(const struct net_node *n, const int64_t in[2], struct net_window *w,
                            struct err *err)
{
    const char *mode;
    int rc = net_op_string(n, "auto_pad", &mode, "NOTSET", err);
    if (rc || !*mode || !strcmp(mode, "NOTSET"))
        return rc;
    for (int a = 0; a < 2; a++) {
        int64_t eff = (int64_t)w->dil[a] * (w->k[a] - 1) + 1;
        int64_t total =
            ((in[a] + w->stride[a] - 1) / w->stride[a] - 1) * w->stride[a] + eff - in[a];
        total = total < 0 || !strcmp(mode, "VALID") ? 0 : total;
        if (total > WINDOW_MAX)
            return net_op_fail(err, ERR_LIMIT, n, "a padding over %d", WINDOW_MAX);
        w->lo[a] = w->hi[a] = (int)(total / 2);
        if (!strcmp(mode, "SAME_UPPER"))
            w->hi[a] = (int)(total - total / 2);
        else if (!strcmp(mode, "SAME_LOWER"))
            w->lo[a] = (int)(total - total / 2);
        else if (strcmp(mode, "VALID"))
            return net_op_fail(err, ERR_UNSUPPORTED, n, "this auto_pad");
    }
    return 0;
}

static int add_bias(struct net_graph *g, const struct net_node *n, int k, struct net_step *s,
                    float factor, struct err *err)
{
    const struct net_info *b;
    int64_t count, channels = g->tensors[s->dst].d[1];
    if (!net_graph_given(n, k))
        return 0;
    b = &g->info[n->in[k]];
    if (b->kind != NET_INFO_CONST && b->kind != NET_INFO_KNOWN)
        return net_op_fail(err, ERR_UNSUPPORTED, n, "a bias that is not a constant of the file");
    count = net_graph_count(b->rank, b->dim);
    if (b->rank > 2 || (count != channels && count != 1) || (b->rank == 2 && b->dim[1] != count))
        return net_op_fail(err, ERR_INPUT, n, "a bias of %lld numbers for %lld channels",
                           (long long)count, (long long)channels);
    s->bias = net_mem_get(&g->mem, (size_t)channels, sizeof *s->bias);
    if (!s->bias)
        return net_op_fail(err, ERR_MEMORY, n, "no memory for a plan");
    for (int64_t i = 0; i < channels; i++) {
        size_t at = count == 1 ? 0 : (size_t)i;
        double v =
            b->kind == NET_INFO_KNOWN ? b->v[at] : net_op_value(&g->net->consts[b->constant], at);
        s->bias[i] = (float)(v * (double)factor);
    }
    return 0;
}

static int groups(const struct net_node *n, int64_t channels, const struct net_info *w,
                  int64_t *group, struct err *err)
{
    int rc = net_op_int(n, "group", group, 1, err);
    if (rc)
        return rc;
    if (*group < 1 || channels % *group || w->dim[0] % *group)
        return net_op_fail(err, ERR_INPUT, n, "%lld groups of %lld channels", (long long)*group,
                           (long long)channels);
    return 0;
}

int net_graph_conv(struct net_graph *g, const struct net_node *n, struct err *err)
{
    const struct net_info *x, *w;
    struct net_window win = {{0}};
    struct net_step *s;
    int64_t group, dim[4];
    int rc, code;
    if ((rc = net_graph_image(g, n, 0, &x, err)) || (rc = constant(g, n, 1, 4, &w, err)) ||
        (rc = groups(n, x->dim[1], w, &group, err)))
        return rc;
    if (w->dim[1] * group != x->dim[1])
        return net_op_fail(err, ERR_INPUT, n, "weights for %lld channels, the input has %lld",
                           (long long)(w->dim[1] * group), (long long)x->dim[1]);
    win.k[0] = w->dim[2] > WINDOW_MAX ? WINDOW_MAX + 1 : (int)w->dim[2];
    win.k[1] = w->dim[3] > WINDOW_MAX ? WINDOW_MAX + 1 : (int)w->dim[3];
    if ((rc = net_graph_conv_window(n, &win, err)) ||
        (rc = net_graph_conv_auto_pad(n, x->dim + 2, &win, err)))
        return rc;
    dim[0] = x->dim[0];
    dim[1] = w->dim[0];
    for (int a = 0; a < 2; a++) {
        int64_t room =
            x->dim[2 + a] + win.lo[a] + win.hi[a] - (int64_t)win.dil[a] * (win.k[a] - 1) - 1;
        if (room < 0)
            return net_op_fail(err, ERR_INPUT, n, "the kernel is larger than its padded input");
        dim[2 + a] = room / win.stride[a] + 1;
    }
    s = net_graph_step(g, n, NET_STEP_CONV, &x->tensor, 1, 4, dim, &code, err);
    if (!s)
        return code;
    s->win = win;
    s->group = (int)group;
    s->weight = w->constant;
    s->flops = 2.0 * (double)net_graph_count(4, dim) * (double)w->dim[1] * win.k[0] * win.k[1];
    return add_bias(g, n, 2, s, 1, err);
}

int net_graph_conv_transpose(struct net_graph *g, const struct net_node *n, struct err *err)
{
    const struct net_info *x, *w;
    struct net_window win = {{0}};
    struct net_step *s;
    int64_t group, dim[4];
    const char *mode;
    int extra[2] = {0, 0}, found, rc, code;
    if ((rc = net_graph_image(g, n, 0, &x, err)) || (rc = constant(g, n, 1, 4, &w, err)) ||
        (rc = groups(n, x->dim[1], w, &group, err)))
        return rc;
    if (w->dim[0] != x->dim[1])
        return net_op_fail(err, ERR_INPUT, n, "weights for %lld channels, the input has %lld",
                           (long long)w->dim[0], (long long)x->dim[1]);
    win.k[0] = w->dim[2] > WINDOW_MAX ? WINDOW_MAX + 1 : (int)w->dim[2];
    win.k[1] = w->dim[3] > WINDOW_MAX ? WINDOW_MAX + 1 : (int)w->dim[3];
    if ((rc = net_graph_conv_window(n, &win, err)) ||
        (rc = net_op_ints(n, "output_padding", extra, 2, &found, err)) ||
        (rc = net_op_string(n, "auto_pad", &mode, "NOTSET", err)))
        return rc;
    if (*mode && strcmp(mode, "NOTSET") && strcmp(mode, "VALID"))
        return net_op_fail(err, ERR_UNSUPPORTED, n, "this auto_pad");
    dim[0] = x->dim[0];
    dim[1] = w->dim[1] * group;
    for (int a = 0; a < 2; a++) {
        if (extra[a] < 0 || (extra[a] && extra[a] >= win.stride[a] && extra[a] >= win.dil[a]))
            return net_op_fail(err, ERR_INPUT, n, "an output_padding of %d", extra[a]);
        win.hi[a] -= extra[a];
        dim[2 + a] = (x->dim[2 + a] - 1) * win.stride[a] + (int64_t)win.dil[a] * (win.k[a] - 1) +
                     1 - win.lo[a] - win.hi[a];
    }
    s = net_graph_step(g, n, NET_STEP_DECONV, &x->tensor, 1, 4, dim, &code, err);
    if (!s)
        return code;
    s->win = win;
    s->group = (int)group;
    s->weight = w->constant;
    s->flops = 2.0 * (double)net_graph_count(4, x->dim) * (double)w->dim[1] * win.k[0] * win.k[1];
    return add_bias(g, n, 2, s, 1, err);
}

static int dense(struct net_graph *g, const struct net_node *n, int transposed,
                 struct net_step **out, struct err *err)
{
    const struct net_info *x, *w;
    int64_t dim[2];
    int rc, code;
    if ((rc = net_graph_feature(g, n, 0, &x, err)) || (rc = constant(g, n, 1, 2, &w, err)))
        return rc;
    if (x->rank != 2)
        return net_op_fail(err, ERR_UNSUPPORTED, n, "a feature of %d dimensions, 2 are needed",
                           x->rank);
    if (w->dim[!transposed] != x->dim[1])
        return net_op_fail(err, ERR_INPUT, n, "weights %lldx%lld for %lld numbers",
                           (long long)w->dim[0], (long long)w->dim[1], (long long)x->dim[1]);
    dim[0] = x->dim[0];
    dim[1] = w->dim[transposed];
    *out = net_graph_step(g, n, NET_STEP_CONV, &x->tensor, 1, 2, dim, &code, err);
    if (!*out)
        return code;
    (*out)->win = (struct net_window){{1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}};
    (*out)->weight = w->constant;
    (*out)->transposed = transposed;
    (*out)->flops = 2.0 * (double)net_graph_count(2, dim) * (double)w->dim[!transposed];
    return 0;
}

int net_graph_conv_gemm(struct net_graph *g, const struct net_node *n, struct err *err)
{
    int64_t trans_a, trans_b;
    float alpha, beta;
    struct net_step *s;
    int rc;
    if ((rc = net_op_int(n, "transA", &trans_a, 0, err)) ||
        (rc = net_op_int(n, "transB", &trans_b, 0, err)) ||
        (rc = net_op_float(n, "alpha", &alpha, 1, err)) ||
        (rc = net_op_float(n, "beta", &beta, 1, err)))
        return rc;
    if (trans_a)
        return net_op_fail(err, ERR_UNSUPPORTED, n, "transA");
    if ((rc = dense(g, n, !trans_b, &s, err)))
        return rc;
    if (alpha != 1) {
        int channels = g->tensors[s->dst].d[1];
        s->scale = net_mem_get(&g->mem, (size_t)channels, sizeof *s->scale);
        if (!s->scale)
            return net_op_fail(err, ERR_MEMORY, n, "no memory for a plan");
        for (int i = 0; i < channels; i++)
            s->scale[i] = alpha;
    }
    return add_bias(g, n, 2, s, beta, err);
}

int net_graph_conv_matmul(struct net_graph *g, const struct net_node *n, struct err *err)
{
    struct net_step *s;
    return dense(g, n, 1, &s, err);
}
