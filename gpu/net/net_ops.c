#include "gpu/net/net_graph.h"

#include <string.h>

#define CONV_ATTRS " auto_pad dilations group kernel_shape pads strides "
#define DECONV_ATTRS CONV_ATTRS "output_padding "
#define POOL_ATTRS \
    " auto_pad ceil_mode count_include_pad dilations kernel_shape pads storage_order strides "
#define RESIZE_ATTRS                                                                \
    " antialias axes coordinate_transformation_mode cubic_coeff_a exclude_outside " \
    "extrapolation_value keep_aspect_ratio_policy mode nearest_mode scales "

/* All supported operators; docs/MODELS.md also lists them. */
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

const struct net_op *net_ops_find(const char *name)
{
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (!strcmp(ops[i].name, name))
            return &ops[i];
    return NULL;
}
