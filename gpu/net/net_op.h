/*
 * net_op.h - a checked network file, and the operators and attributes of its nodes
 *
 *     struct net   constants as stored (fp16 stays fp16), nodes in order, values by number. Made
 *                  once by net_onnx.c, never changed.
 */
#pragma once

#include "gpu/net/net.h"
#include "gpu/net/net_mem.h"

#define NET_RANK_MAX 8
#define NET_KNOWN_MAX 64       /* numbers in a value of shape arithmetic */
#define NET_SIDE_MAX (1 << 24) /* of one dimension of a feature */
#define NET_FLOPS_MAX \
    1e13 /* limit of one run: half a minute on two cores; more is an error or an attack */
#define NET_NAME_CAP 56

enum net_type { NET_F32 = 1, NET_F16, NET_F64, NET_I32, NET_I64, NET_BOOL, NET_I8, NET_U8 };

struct net_const {
    enum net_type type;
    int rank;
    int64_t dim[NET_RANK_MAX];
    size_t count;
    const void *data; /* [count] of type */
};

enum net_attr_kind {
    NET_ATTR_INT,
    NET_ATTR_FLOAT,
    NET_ATTR_STRING,
    NET_ATTR_INTS,
    NET_ATTR_FLOATS,
    NET_ATTR_TENSOR
};

struct net_attr {
    const char *name;
    enum net_attr_kind kind;
    int64_t i;
    float f;
    const char *s;
    int n;
    const int64_t *ints;
    const float *floats;
    int constant; /* of NET_ATTR_TENSOR: index into net.consts */
};

struct net_graph;
struct net_node;

/* One row of the table of operators (net_op.c). */
struct net_op {
    const char *name;
    int min_in, max_in;
    const char *attrs; /* supported attributes, between spaces; all others are refused */
    int (*plan)(struct net_graph *g, const struct net_node *n, struct err *err);
};

struct net_node {
    const struct net_op *op;
    char name[NET_NAME_CAP]; /* printable: escaped and cut */
    int n_in, n_attr;
    const int *in; /* values; -1 = left out */
    int out;
    const struct net_attr *attr;
};

struct net {
    struct net_mem mem;
    struct net_limits limits;
    int opset;
    int n_values, n_consts, n_nodes;
    struct net_const *consts;
    int *value_const;       /* [n_values] index of the constant that a value is, -1 = none */
    struct net_node *nodes; /* the nodes that the output needs, in order of execution */
    int input, output;      /* values */
    int64_t input_dim[4];   /* -1 = free */
    size_t weight_count;
};

int net_op_has_attr(const struct net_op *op, const char *name);
/* Printable form of a name from a file: anything but printable ASCII as \xNN, cut to the room. */
void net_op_escape(char *out, size_t cap, const char *name);
/* Fills err in with where = "node 'name' (Op)". Returns code. */
int net_op_fail(struct err *err, int code, const struct net_node *n, const char *fmt, ...)
    ERR_PRINTF(4, 5);

/* Number i of a constant. */
double net_op_value(const struct net_const *c, size_t i);

/* Attributes with their defaults. A wrong kind is ERR_INPUT. */
const struct net_attr *net_op_attr(const struct net_node *n, const char *name);
MUST_CHECK int net_op_int(const struct net_node *n, const char *name, int64_t *v, int64_t def,
                          struct err *err);
MUST_CHECK int net_op_float(const struct net_node *n, const char *name, float *v, float def,
                            struct err *err);
MUST_CHECK int net_op_string(const struct net_node *n, const char *name, const char **v,
                             const char *def, struct err *err);
/* ints of exactly `want` numbers into v (int range checked); absent: v untouched, *found = 0. */
MUST_CHECK int net_op_ints(const struct net_node *n, const char *name, int *v, int want, int *found,
                           struct err *err);
