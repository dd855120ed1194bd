#include "gpu/net/net_onnx.h"

#include "gpu/net/net_graph.h"

#include <string.h>

#define OP "DequantizeLinear"

static const struct net_const *constant(const struct net *net, const struct net_node *n, int k)
{
    int c = k < n->n_in && n->in[k] >= 0 ? net->value_const[n->in[k]] : -1;
    return c < 0 ? NULL : &net->consts[c];
}

/* Does c hold one number for all of x, or one for each slice of x along `axis`? */
static int fits(const struct net_const *c, const struct net_const *x, int64_t axis)
{
    return c->count == 1 ? c->rank <= 1
                         : c->rank == 1 && axis >= 0 && axis < x->rank && c->dim[0] == x->dim[axis];
}

static int is_byte(enum net_type t)
{
    return t == NET_I8 || t == NET_U8;
}

static int net_onnx_dequant_check(const struct net_node *n, const struct net_const *x,
                                  const struct net_const *scale, const struct net_const *zero,
                                  int64_t axis, struct err *err)
{
    if (!is_byte(x->type) && x->type != NET_I32)
        return net_op_fail(err, ERR_INPUT, n, "input 0 is not of int8, uint8 or int32");
    if (scale->type != NET_F32 && scale->type != NET_F16)
        return net_op_fail(err, ERR_INPUT, n, "a scale that is not of float32 or float16");
    if (!fits(scale, x, axis))
        return net_op_fail(err, ERR_INPUT, n, "%zu scales for axis %lld", scale->count,
                           (long long)axis);
    if (zero && zero->type != x->type)
        return net_op_fail(err, ERR_INPUT, n, "a zero point of another type than input 0");
    if (zero && zero->count != scale->count)
        return net_op_fail(err, ERR_INPUT, n, "%zu zero points, %zu are due", zero->count,
                           scale->count);
    return 0;
}

int net_onnx_dequant(struct net *net, const struct net_node *n, int *done, struct err *err)
{
    const struct net_const *x, *scale, *zero = constant(net, n, 2);
    struct net_const *y = &net->consts[net->n_consts];
    size_t inner = 1;
    int64_t axis;
    float *v;
    int rc;
    *done = 0;
    if (strcmp(n->op->name, OP) != 0 || !(x = constant(net, n, 0)) ||
        !(scale = constant(net, n, 1)) || (n->n_in > 2 && n->in[2] >= 0 && !zero))
        return 0;
    if ((rc = net_op_int(n, "axis", &axis, 1, err)))
        return rc;
    axis += axis < 0 ? x->rank : 0;
    if ((rc = net_onnx_dequant_check(n, x, scale, zero, axis, err)))
        return rc;
    v = net_mem_get(&net->mem, x->count + 1, sizeof *v);
    if (!v)
        return net_op_fail(err, ERR_MEMORY, n, "no memory for weights");
    for (int i = scale->count > 1 ? (int)axis + 1 : x->rank; i < x->rank; i++)
        inner *= (size_t)x->dim[i];
    for (size_t i = 0; i < x->count; i++) {
        size_t k = scale->count > 1 ? i / inner % scale->count : 0;
        double z = zero ? net_op_value(zero, k) : 0;
        v[i] = (float)((net_op_value(x, i) - z) * net_op_value(scale, k));
    }
    *y = *x;
    y->type = NET_F32;
    y->data = v;
    net->value_const[n->out] = net->n_consts++;
    *done = 1;
    return 0;
}

int net_onnx_dequant_plan(struct net_graph *g, const struct net_node *n, struct err *err)
{
    (void)g;
    return net_op_fail(err, ERR_UNSUPPORTED, n, "only weights may be quantised, and as constants");
}
