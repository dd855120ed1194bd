/*
 * net_graph.h - a network for one input shape: net_graph*.c plans it, executors run it
 *
 * Every shape is known, shape arithmetic is evaluated, and a list of fused steps on
 * four-dimensional float32 tensors remains.
 *
 * Layout: a feature of rank r <= 4 is the tensor [d0][d1][d2][d3], missing dimensions 1, row-major;
 *         an executor may store it otherwise if reshape, transpose and the output keep that order.
 * Owner:  a graph borrows its net and owns its steps, tables, scales and biases.
 */
#pragma once

#include "gpu/net/net_op.h"

enum net_act_kind {
    NET_ACT_NONE,
    NET_ACT_RELU, /* x < 0 ? a x : x */
    NET_ACT_CLIP, /* min(max(x, a), b) */
    NET_ACT_ELU,  /* x < 0 ? a (exp x - 1) : x */
    NET_ACT_SIGMOID,
    NET_ACT_TANH,
    NET_ACT_SOFTPLUS, /* log(1 + exp x) */
    NET_ACT_EXP,
    NET_ACT_LOG,
    NET_ACT_SQRT,
    NET_ACT_ABS,
    NET_ACT_HARDSWISH, /* x min(max(x/6 + 1/2, 0), 1) */
    NET_ACT_POW,       /* a x^b */
    NET_ACT_LINEAR     /* a x + b */
};

struct net_act {
    enum net_act_kind kind;
    float a, b;
};

enum net_step_kind {
    NET_STEP_NONE, /* fused away */
    NET_STEP_CONV, /* act(scale (W * src) + bias + residual) */
    NET_STEP_DECONV,
    NET_STEP_ACT,
    NET_STEP_AFFINE, /* scale[c] x + bias[c] */
    NET_STEP_BINARY, /* act(src0 op src1), dimensions of src1 equal or 1 */
    NET_STEP_POOL,
    NET_STEP_CONCAT,    /* along dimension `axis` */
    NET_STEP_REMAP,     /* y[i][j] = x[row[i]][col[j]], fill where an index is -1 */
    NET_STEP_LERP,      /* bilinear between rows and columns of the tables */
    NET_STEP_RESHAPE,   /* same numbers in the same row-major order */
    NET_STEP_TRANSPOSE, /* y dimension k is x dimension perm[k] */
    NET_STEP_SLICE,     /* channels first ... first + C - 1 */
    NET_STEP_SHUFFLE    /* depth to space, block `block`, order `crd` */
};

enum net_binary { NET_ADD, NET_SUB, NET_MUL, NET_DIV };
enum net_pool { NET_POOL_MAX, NET_POOL_AVG, NET_POOL_AVG_PADDED };

struct net_window {
    int k[2], stride[2], dil[2], lo[2], hi[2]; /* rows, columns; lo/hi: zeros before and after */
};

/* One axis of a remap or lerp: output i reads i0[i] and, for lerp, i1[i] with weight w1[i]. */
struct net_axis {
    int *i0, *i1;
    float *w1;
    int times; /* i0[i] = i / times for all i, and out = times * in; 0 = not so */
};

struct net_step {
    enum net_step_kind kind;
    const struct net_node *node;
    int n_src;
    int *src; /* tensors */
    int dst;
    int residual; /* tensor, -1 = none */
    struct net_act act;
    struct net_window win;
    int weight; /* constant: [O][I/g][kh][kw], for deconv [I][O/g][kh][kw] */
    int group;
    int transposed;      /* the weight of a dense layer, kernel 1 x 1, is stored [I][O] */
    float *scale, *bias; /* [channels of dst]; NULL = 1, 0 */
    enum net_binary binary;
    enum net_pool pool;
    struct net_axis axis2[2];
    float fill;
    int zero_pad; /* remap that only adds zeros: win.lo, win.hi */
    int axis, first, block, crd;
    int perm[4];
    double flops;
};

struct net_tensor {
    int d[4];
};

enum net_info_kind { NET_INFO_NONE, NET_INFO_FEATURE, NET_INFO_KNOWN, NET_INFO_CONST };

/* A value of the file for this input shape. */
struct net_info {
    enum net_info_kind kind;
    int rank;
    int64_t dim[NET_RANK_MAX];
    int tensor;      /* feature */
    int constant;    /* const */
    int is_int;      /* known: integer arithmetic */
    const double *v; /* known: [product of dim] */
};

struct net_graph {
    const struct net *net;
    struct net_mem mem;
    struct net_info *info; /* [net->n_values] */
    int n_tensors, cap_tensors, n_steps, cap_steps;
    struct net_tensor *tensors;
    struct net_step *steps;
    int input, output; /* tensors */
    int out_shape[4];
    double flops;
    size_t max_bytes; /* of one tensor */
};

/*
 * net_graph_new - plan a net for one input shape: shapes, shape arithmetic, fused steps
 *
 * Returns: 0; ERR_INPUT, ERR_UNSUPPORTED (where names the node), ERR_LIMIT, ERR_MEMORY
 */
MUST_CHECK int net_graph_new(struct net_graph **g, const struct net *net, int n, int h, int w,
                             const struct net_limits *limits, struct err *err);
void net_graph_free(struct net_graph **g);

/* Helpers of the operators' plan functions (net_graph.c): input k if it is given, if it is a
 * feature, if it has four dimensions. */
MUST_CHECK int net_graph_input(const struct net_graph *g, const struct net_node *n, int k,
                               const struct net_info **info, struct err *err);
MUST_CHECK int net_graph_feature(struct net_graph *g, const struct net_node *n, int k,
                                 const struct net_info **info, struct err *err);
MUST_CHECK int net_graph_image(struct net_graph *g, const struct net_node *n, int k,
                               const struct net_info **info, struct err *err);
/* The numbers of input k, which must be known: [count], count <= NET_KNOWN_MAX. */
MUST_CHECK int net_graph_numbers(struct net_graph *g, const struct net_node *n, int k,
                                 struct net_info *info, struct err *err);
int net_graph_given(const struct net_node *n, int k);
/* Does input k follow from constants and shapes alone, and has at most NET_KNOWN_MAX numbers? */
int net_graph_is_known(const struct net_graph *g, const struct net_node *n, int k);
/* A new step writing a new tensor of rank `rank`, which becomes the node's output. NULL with err
 * filled. */
struct net_step *net_graph_step(struct net_graph *g, const struct net_node *n,
                                enum net_step_kind kind, const int *src, int n_src, int rank,
                                const int64_t *dim, int *code, struct err *err);
/* The node's output is x under other dimensions: the same tensor or constant, or a reshape step. */
MUST_CHECK int net_graph_view(struct net_graph *g, const struct net_node *n, struct net_info x,
                              int rank, const int64_t *dim, struct err *err);
MUST_CHECK int net_graph_set_known(struct net_graph *g, const struct net_node *n, int rank,
                                   const int64_t *dim, int is_int, const double *v,
                                   struct err *err);
int64_t net_graph_count(int rank, const int64_t *dim);

/* The plan functions of operators, net_graph_<name>(). Other plan functions call those of known
 * numbers. */
/* clang-format off */
#define NET_GRAPH_PLANS(X) \
    X(conv) X(conv_transpose) X(conv_gemm) X(conv_matmul) X(pool) X(pool_global) X(pool_mean) \
    X(elem_act) X(elem_clip) X(elem_binary) X(elem_pow) X(elem_norm) X(elem_same) X(elem_cast) \
    X(move_concat) X(move_flatten) X(move_reshape) X(move_squeeze) X(move_unsqueeze) \
    X(move_transpose) X(move_slice) X(move_shuffle) X(map_resize) X(map_pad) X(known_constant) \
    X(known_shape) X(known_gather) X(known_fill) X(known_round) X(known_binary) X(known_concat) \
    X(known_transpose)
/* clang-format on */
#define NET_GRAPH_PLAN(name) \
    MUST_CHECK int net_graph_##name(struct net_graph *g, const struct net_node *n, struct err *err);
NET_GRAPH_PLANS(NET_GRAPH_PLAN)
#undef NET_GRAPH_PLAN
/* Refuses a DequantizeLinear node that did not become a constant. */
MUST_CHECK int net_onnx_dequant_plan(struct net_graph *g, const struct net_node *n,
                                     struct err *err);
/* The operator of this name, NULL = unknown. */
const struct net_op *net_ops_find(const char *name);
/* Reads the window attributes of convolutions and pools. In/out: w->k is the size of the weights,
 * or 0 if kernel_shape must give it (net_graph_conv.c). */
MUST_CHECK int net_graph_conv_window(const struct net_node *n, struct net_window *w,
                                     struct err *err);
MUST_CHECK int net_graph_conv_auto_pad(const struct net_node *n, const int64_t in[2],
                                       struct net_window *w, struct err *err);
/* Takes `count` entries along one axis of known numbers, from `start` on. */
MUST_CHECK int net_graph_known_slice(struct net_graph *g, const struct net_node *n, int axis,
                                     int start, int step, int count, struct err *err);
/* A remap of rows and columns; -1 in a table = fill (net_graph_map.c). */
MUST_CHECK int net_graph_map_crop(struct net_graph *g, const struct net_node *n,
                                  const struct net_info *x, const int start[2], const int step[2],
                                  const int count[2], struct err *err);

/* Merges batch norm, scale, residual, activation and zero padding into convolutions
 * (net_graph_fuse.c). */
MUST_CHECK int net_graph_fuse(struct net_graph *g, struct err *err);

/*
 * net_graph_weight - a step's weights as float32, scaled by the fused factors
 *
 * Out:     w [group][O/g][I/g][kh][kw], `count` numbers as net_graph_weight_count() says
 * Returns: 0; ERR_INPUT: not finite
 */
size_t net_graph_weight_count(const struct net_graph *g, const struct net_step *s);
MUST_CHECK int net_graph_weight(const struct net_graph *g, const struct net_step *s, float *w,
                                size_t count, struct err *err);
