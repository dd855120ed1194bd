#include "gpu/net/net_onnx.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CONV_ATTRS " auto_pad dilations group kernel_shape pads strides "
#define DECONV_ATTRS CONV_ATTRS "output_padding "
#define POOL_ATTRS \
    " auto_pad ceil_mode count_include_pad dilations kernel_shape pads storage_order strides "
#define RESIZE_ATTRS                                                                \
    " antialias axes coordinate_transformation_mode cubic_coeff_a exclude_outside " \
    "extrapolation_value keep_aspect_ratio_policy mode nearest_mode scales "

/* Every operator that is understood; docs/MODELS.md lists them too. */
static const struct net_op ops[] = {
    {"Abs", 1, 1, "", net_graph_elem_act},
    {"Add", 2, 2, "", net_graph_elem_binary},
    {"AveragePool", 1, 1, POOL_ATTRS, net_graph_pool},
    {"BatchNormalization", 5, 5, " epsilon momentum spatial training_mode ", net_graph_elem_norm},
    {"Cast", 1, 1, " to saturate ", net_graph_elem_cast},
    {"Ceil", 1, 1, "", net_graph_known_round},
    {"Clip", 1, 3, " max min ", net_graph_elem_clip},
    {"Concat", 1, 256, " axis ", net_graph_move_concat},
    {"Constant", 0, 0, " value value_float value_floats value_int value_ints ",
     net_graph_known_constant},
    {"ConstantOfShape", 1, 1, " value ", net_graph_known_fill},
    {"Conv", 2, 3, CONV_ATTRS, net_graph_conv},
    {"ConvTranspose", 2, 3, DECONV_ATTRS, net_graph_conv_transpose},
    {"DepthToSpace", 1, 1, " blocksize mode ", net_graph_move_shuffle},
    {"DequantizeLinear", 2, 3, " axis ", net_onnx_dequant_plan},
    {"Div", 2, 2, "", net_graph_elem_binary},
    {"Dropout", 1, 3, " ratio seed ", net_graph_elem_same},
    {"Elu", 1, 1, " alpha ", net_graph_elem_act},
    {"Exp", 1, 1, "", net_graph_elem_act},
    {"Flatten", 1, 1, " axis ", net_graph_move_flatten},
    {"Floor", 1, 1, "", net_graph_known_round},
    {"Gather", 2, 2, " axis ", net_graph_known_gather},
    {"Gemm", 2, 3, " alpha beta transA transB ", net_graph_conv_gemm},
    {"GlobalAveragePool", 1, 1, "", net_graph_pool_global},
    {"HardSigmoid", 1, 1, " alpha beta ", net_graph_elem_act},
    {"HardSwish", 1, 1, "", net_graph_elem_act},
    {"Identity", 1, 1, "", net_graph_elem_same},
    {"LeakyRelu", 1, 1, " alpha ", net_graph_elem_act},
    {"Log", 1, 1, "", net_graph_elem_act},
    {"MatMul", 2, 2, "", net_graph_conv_matmul},
    {"MaxPool", 1, 1, POOL_ATTRS, net_graph_pool},
    {"Mul", 2, 2, "", net_graph_elem_binary},
    {"Neg", 1, 1, "", net_graph_elem_act},
    {"Pad", 1, 4, " mode pads value ", net_graph_map_pad},
    {"Pow", 2, 2, "", net_graph_elem_pow},
    {"Reciprocal", 1, 1, "", net_graph_elem_act},
    {"ReduceMean", 1, 2, " axes keepdims noop_with_empty_axes ", net_graph_pool_mean},
    {"Relu", 1, 1, "", net_graph_elem_act},
    {"Reshape", 2, 2, " allowzero ", net_graph_move_reshape},
    {"Resize", 1, 4, RESIZE_ATTRS, net_graph_map_resize},
    {"Shape", 1, 1, " end start ", net_graph_known_shape},
    {"Sigmoid", 1, 1, "", net_graph_elem_act},
    {"Slice", 1, 5, " axes ends starts ", net_graph_move_slice},
    {"Softplus", 1, 1, "", net_graph_elem_act},
    {"Sqrt", 1, 1, "", net_graph_elem_act},
    {"Squeeze", 1, 2, " axes ", net_graph_move_squeeze},
    {"Sub", 2, 2, "", net_graph_elem_binary},
    {"Tanh", 1, 1, "", net_graph_elem_act},
    {"Transpose", 1, 1, " perm ", net_graph_move_transpose},
    {"Unsqueeze", 1, 2, " axes ", net_graph_move_unsqueeze},
    {"Upsample", 1, 2, " mode scales ", net_graph_map_resize},
};

const struct net_op *net_op_find(const char *name)
{
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (!strcmp(ops[i].name, name))
            return &ops[i];
    return NULL;
}

int net_op_has_attr(const struct net_op *op, const char *name)
{
    char key[64];
    if (!*name || strchr(name, ' '))
        return 0;
    if ((size_t)snprintf(key, sizeof key, " %s ", name) >= sizeof key)
        return 0;
    return strstr(op->attrs, key) != NULL;
}

void net_op_escape(char *out, size_t cap, const char *name)
{
    size_t n = 0;
    for (const unsigned char *p = (const unsigned char *)(name ? name : ""); *p; p++) {
        int plain = *p >= 0x20 && *p < 0x7f && *p != '\\' && *p != '\'';
        if (n + (plain ? 1 : 4) + 3 >= cap) {
            memcpy(out + n, "..", 2);
            n += 2;
            break;
        }
        if (plain)
            out[n++] = (char)*p;
        else
            n += (size_t)snprintf(out + n, cap - n, "\\x%02x", *p);
    }
    out[n] = 0;
}

int net_op_fail(struct err *err, int code, const struct net_node *n, const char *fmt, ...)
{
    char where[ERR_WHERE_CAP], text[ERR_TEXT_CAP];
    va_list args;
    snprintf(where, sizeof where, "node '%s' (%s)", n->name, n->op->name);
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return err_at(err, code, where, "%s", text);
}

const struct net_attr *net_op_attr(const struct net_node *n, const char *name)
{
    for (int i = 0; i < n->n_attr; i++)
        if (!strcmp(n->attr[i].name, name))
            return &n->attr[i];
    return NULL;
}

/* The attribute if the node has it, else NULL. `what`: the kind that it must have, in words. */
static int find(const struct net_attr **a, const struct net_node *n, const char *name,
                enum net_attr_kind kind, const char *what, struct err *err)
{
    *a = net_op_attr(n, name);
    if (*a && (*a)->kind != kind)
        return net_op_fail(err, ERR_INPUT, n, "attribute '%s' is not %s", name, what);
    return 0;
}

int net_op_int(const struct net_node *n, const char *name, int64_t *v, int64_t def, struct err *err)
{
    const struct net_attr *a;
    int rc = find(&a, n, name, NET_ATTR_INT, "an integer", err);
    *v = a && !rc ? a->i : def;
    return rc;
}

int net_op_float(const struct net_node *n, const char *name, float *v, float def, struct err *err)
{
    const struct net_attr *a;
    int rc = find(&a, n, name, NET_ATTR_FLOAT, "a float", err);
    *v = a && !rc ? a->f : def;
    return rc;
}

int net_op_string(const struct net_node *n, const char *name, const char **v, const char *def,
                  struct err *err)
{
    const struct net_attr *a;
    int rc = find(&a, n, name, NET_ATTR_STRING, "a string", err);
    *v = a && !rc ? a->s : def;
    return rc;
}

int net_op_ints(const struct net_node *n, const char *name, int *v, int want, int *found,
                struct err *err)
{
    const struct net_attr *a = net_op_attr(n, name);
    *found = 0;
    if (!a)
        return 0;
    if (a->kind != NET_ATTR_INTS || a->n != want)
        return net_op_fail(err, ERR_INPUT, n, "attribute '%s' is not %d integers", name, want);
    for (int i = 0; i < want; i++) {
        if (a->ints[i] < -NET_SIDE_MAX || a->ints[i] > NET_SIDE_MAX)
            return net_op_fail(err, ERR_LIMIT, n, "attribute '%s' holds %lld", name,
                               (long long)a->ints[i]);
        v[i] = (int)a->ints[i];
    }
    *found = 1;
    return 0;
}
