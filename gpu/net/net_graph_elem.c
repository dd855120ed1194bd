/* Operators that work number by number: activations, arithmetic, normalisation by constants. */
#include "gpu/net/net_graph.h"

#include <float.h>
#include <math.h>
#include <string.h>

static int emit_act(struct net_graph *g, const struct net_node *n, const struct net_info *x,
                    enum net_act_kind kind, float a, float b, struct err *err)
{
    const struct net_info from = *x;
    int code;
    struct net_step *s =
        net_graph_step(g, n, NET_STEP_ACT, &from.tensor, 1, from.rank, from.dim, &code, err);
    if (!s)
        return code;
    if (!isfinite(a) || !isfinite(b))
        return net_op_fail(err, ERR_INPUT, n, "a parameter is not finite");
    s->act = (struct net_act){kind, a, b};
    return 0;
}

int net_graph_elem_act(struct net_graph *g, const struct net_node *n, struct err *err)
{
    static const struct {
        const char *op;
        enum net_act_kind kind;
        float a, b;
    } plain[] = {
        {"Relu", NET_ACT_RELU, 0, 0},
        {"Sigmoid", NET_ACT_SIGMOID, 0, 0},
        {"Tanh", NET_ACT_TANH, 0, 0},
        {"Softplus", NET_ACT_SOFTPLUS, 0, 0},
        {"Exp", NET_ACT_EXP, 0, 0},
        {"Log", NET_ACT_LOG, 0, 0},
        {"Sqrt", NET_ACT_SQRT, 0, 0},
        {"Abs", NET_ACT_ABS, 0, 0},
        {"HardSwish", NET_ACT_HARDSWISH, 0, 0},
        {"Neg", NET_ACT_LINEAR, -1, 0},
        {"Reciprocal", NET_ACT_POW, 1, -1},
        {"LeakyRelu", NET_ACT_RELU, 0.01f, 0},
        {"Elu", NET_ACT_ELU, 1, 0},
        {"HardSigmoid", NET_ACT_LINEAR, 0.2f, 0.5f},
    };
    const struct net_info *x;
    int rc = net_graph_feature(g, n, 0, &x, err);
    for (size_t i = 0; !rc && i < sizeof plain / sizeof *plain; i++) {
        float a = plain[i].a, b = plain[i].b;
        if (strcmp(plain[i].op, n->op->name))
            continue;
        /* net_op.c lists the operators that may have these attributes */
        if ((rc = net_op_float(n, "alpha", &a, a, err)) ||
            (rc = net_op_float(n, "beta", &b, b, err)))
            return rc;
        rc = emit_act(g, n, x, plain[i].kind, a, b, err);
        if (!rc && plain[i].kind == NET_ACT_LINEAR && n->op->attrs[0])
            rc = emit_act(g, n, &g->info[n->out], NET_ACT_CLIP, 0, 1, err);
        return rc;
    }
    return rc;
}

static int bound(struct net_graph *g, const struct net_node *n, int k, const char *name, float def,
                 float *v, struct err *err)
{
    struct net_info x;
    int rc = net_op_float(n, name, v, def, err);
    if (rc || !net_graph_given(n, k))
        return rc;
    if ((rc = net_graph_numbers(g, n, k, &x, err)))
        return rc;
    if (net_graph_count(x.rank, x.dim) != 1 || isnan(x.v[0]))
        return net_op_fail(err, ERR_INPUT, n, "input %d is not one number", k);
    *v = (float)fmin(fmax(x.v[0], -FLT_MAX), FLT_MAX);
    return 0;
}

int net_graph_elem_clip(struct net_graph *g, const struct net_node *n, struct err *err)
{
    const struct net_info *x;
    float lo, hi;
    int rc;
    if ((rc = net_graph_feature(g, n, 0, &x, err)) ||
        (rc = bound(g, n, 1, "min", -FLT_MAX, &lo, err)) ||
        (rc = bound(g, n, 2, "max", FLT_MAX, &hi, err)))
        return rc;
    if (!(lo <= hi))
        return net_op_fail(err, ERR_INPUT, n, "bounds %g and %g", (double)lo, (double)hi);
    return emit_act(g, n, x, NET_ACT_CLIP, lo, hi, err);
}

int net_graph_elem_pow(struct net_graph *g, const struct net_node *n, struct err *err)
{
    const struct net_info *x;
    struct net_info e;
    int rc;
    if ((rc = net_graph_feature(g, n, 0, &x, err)) || (rc = net_graph_numbers(g, n, 1, &e, err)))
        return rc;
    if (net_graph_count(e.rank, e.dim) != 1)
        return net_op_fail(err, ERR_UNSUPPORTED, n, "an exponent that is not one number");
    return emit_act(g, n, x, NET_ACT_POW, 1, (float)e.v[0], err);
}

/* An affine step whose factors the caller fills in. */
static struct net_step *emit_affine(struct net_graph *g, const struct net_node *n,
                                    const struct net_info *x, int *code, struct err *err)
{
    const struct net_info from = *x;
    size_t channels = (size_t)g->tensors[from.tensor].d[1];
    struct net_step *s =
        net_graph_step(g, n, NET_STEP_AFFINE, &from.tensor, 1, from.rank, from.dim, code, err);
    if (!s)
        return NULL;
    s->scale = net_mem_get(&g->mem, channels, sizeof *s->scale);
    s->bias = net_mem_get(&g->mem, channels, sizeof *s->bias);
    if (!s->scale || !s->bias) {
        *code = net_op_fail(err, ERR_MEMORY, n, "no memory for a plan");
        return NULL;
    }
    return s;
}

static int check_affine(const struct net_graph *g, const struct net_node *n,
                        const struct net_step *s, struct err *err)
{
    for (int c = 0; c < g->tensors[s->dst].d[1]; c++)
        if (!isfinite(s->scale[c]) || !isfinite(s->bias[c]))
            return net_op_fail(err, ERR_INPUT, n, "factor of channel %d is not finite", c);
    return 0;
}

/* Number i of a constant or known value. */
static double number(const struct net_graph *g, const struct net_info *x, size_t i)
{
    return x->kind == NET_INFO_KNOWN ? x->v[i] : net_op_value(&g->net->consts[x->constant], i);
}

/* The constant c beside feature x: one number for all (1), one a channel (2), or neither (0). */
static int broadcast_kind(const struct net_info *x, const struct net_info *c)
{
    int64_t count = net_graph_count(c->rank, c->dim);
    if (c->rank > x->rank)
        return 0;
    if (count == 1)
        return 1;
    for (int i = 0; i < c->rank; i++) {
        int axis = x->rank - c->rank + i;
        if (c->dim[i] != 1 && (axis != 1 || c->dim[i] != x->dim[1]))
            return 0;
    }
    return x->rank >= 2 && count == x->dim[1] ? 2 : 0;
}

static int with_constant(struct net_graph *g, const struct net_node *n, int k_feature,
                         struct err *err)
{
    const struct net_info *x = &g->info[n->in[k_feature]], *c = &g->info[n->in[!k_feature]];
    int kind = broadcast_kind(x, c), code;
    char op = n->op->name[0];
    struct net_step *s;
    if (!kind)
        return net_op_fail(err, ERR_UNSUPPORTED, n,
                           "a constant that is neither one number nor one number a channel");
    if (op == 'D' && k_feature == 1) {
        code = emit_act(g, n, x, NET_ACT_POW, 1, -1, err);
        if (code)
            return code;
        x = &g->info[n->out];
    }
    s = emit_affine(g, n, x, &code, err);
    if (!s)
        return code;
    for (int i = 0; i < g->tensors[s->dst].d[1]; i++) {
        double v = number(g, c, kind == 1 ? 0 : (size_t)i);
        s->scale[i] = op == 'M' || (op == 'D' && k_feature) ? (float)v
                      : op == 'D'                           ? (float)(1 / v)
                      : op == 'S' && k_feature              ? -1.0f
                                                            : 1.0f;
        s->bias[i] = op == 'A' || (op == 'S' && k_feature) ? (float)v
                     : op == 'S'                           ? (float)-v
                                                           : 0.0f;
    }
    return check_affine(g, n, s, err);
}

/* Is every dimension of b that of a, or 1? */
static int covers(const struct net_info *a, const struct net_info *b)
{
    for (int i = 0; i < a->rank; i++)
        if (b->dim[i] != a->dim[i] && b->dim[i] != 1)
            return 0;
    return 1;
}

static int with_feature(struct net_graph *g, const struct net_node *n, struct err *err)
{
    struct net_info a = g->info[n->in[0]], b = g->info[n->in[1]];
    char op = n->op->name[0];
    struct net_step *s;
    int src[2], code;
    if (a.rank != b.rank || (!covers(&a, &b) && !covers(&b, &a)))
        return net_op_fail(err, a.rank == b.rank ? ERR_INPUT : ERR_UNSUPPORTED, n,
                           "shapes %lldx%lldx%lldx%lld and %lldx%lldx%lldx%lld do not fit",
                           (long long)a.dim[0], (long long)a.dim[1], (long long)a.dim[2],
                           (long long)a.dim[3], (long long)b.dim[0], (long long)b.dim[1],
                           (long long)b.dim[2], (long long)b.dim[3]);
    if (!covers(&a, &b)) { /* the smaller one goes second: a - b = -b + a, a / b = 1/b * a */
        struct net_info t = a;
        if (op == 'S' || op == 'D') {
            code = emit_act(g, n, &b, op == 'S' ? NET_ACT_LINEAR : NET_ACT_POW, op == 'S' ? -1 : 1,
                            op == 'S' ? 0 : -1, err);
            if (code)
                return code;
            b = g->info[n->out];
            op = op == 'S' ? 'A' : 'M';
        }
        a = b;
        b = t;
    }
    src[0] = a.tensor;
    src[1] = b.tensor;
    s = net_graph_step(g, n, NET_STEP_BINARY, src, 2, a.rank, a.dim, &code, err);
    if (!s)
        return code;
    s->binary = op == 'A' ? NET_ADD : op == 'S' ? NET_SUB : op == 'M' ? NET_MUL : NET_DIV;
    return 0;
}

int net_graph_elem_binary(struct net_graph *g, const struct net_node *n, struct err *err)
{
    const struct net_info *a, *b;
    int rc;
    if ((rc = net_graph_input(g, n, 0, &a, err)) || (rc = net_graph_input(g, n, 1, &b, err)))
        return rc;
    if (a->kind == NET_INFO_FEATURE && b->kind == NET_INFO_FEATURE)
        return with_feature(g, n, err);
    if (a->kind == NET_INFO_FEATURE || b->kind == NET_INFO_FEATURE)
        return with_constant(g, n, a->kind != NET_INFO_FEATURE, err);
    return net_graph_known_binary(g, n, err);
}

int net_graph_elem_norm(struct net_graph *g, const struct net_node *n, struct err *err)
{
    const struct net_info *x, *p[4];
    struct net_step *s;
    float eps, momentum;
    int64_t training, spatial;
    int rc, code;
    if ((rc = net_graph_feature(g, n, 0, &x, err)) ||
        (rc = net_op_float(n, "epsilon", &eps, 1e-5f, err)) ||
        (rc = net_op_float(n, "momentum", &momentum, 0.9f, err)) ||
        (rc = net_op_int(n, "training_mode", &training, 0, err)) ||
        (rc = net_op_int(n, "spatial", &spatial, 1, err)))
        return rc;
    if (training || spatial != 1)
        return net_op_fail(err, ERR_UNSUPPORTED, n, "training mode: export the model in eval mode");
    for (int k = 0; k < 4; k++) {
        if ((rc = net_graph_input(g, n, k + 1, &p[k], err)))
            return rc;
        if ((p[k]->kind != NET_INFO_CONST && p[k]->kind != NET_INFO_KNOWN) || x->rank < 2 ||
            p[k]->rank != 1 || p[k]->dim[0] != x->dim[1])
            return net_op_fail(err, ERR_INPUT, n, "input %d is not one constant a channel", k + 1);
    }
    s = emit_affine(g, n, x, &code, err);
    if (!s)
        return code;
    for (int c = 0; c < g->tensors[s->dst].d[1]; c++) {
        double a = number(g, p[0], (size_t)c) / sqrt(number(g, p[3], (size_t)c) + (double)eps);
        s->scale[c] = (float)a;
        s->bias[c] = (float)(number(g, p[1], (size_t)c) - number(g, p[2], (size_t)c) * a);
    }
    return check_affine(g, n, s, err);
}

int net_graph_elem_same(struct net_graph *g, const struct net_node *n, struct err *err)
{
    const struct net_info *x;
    struct net_info train;
    int rc = net_graph_input(g, n, 0, &x, err);
    if (rc)
        return rc;
    if (net_graph_given(n, 2)) { /* Dropout's training_mode */
        if ((rc = net_graph_numbers(g, n, 2, &train, err)))
            return rc;
        if (net_graph_count(train.rank, train.dim) != 1 || train.v[0] != 0)
            return net_op_fail(err, ERR_UNSUPPORTED, n,
                               "training mode: export the model in eval mode");
    }
    g->info[n->out] = *x;
    return 0;
}

int net_graph_elem_cast(struct net_graph *g, const struct net_node *n, struct err *err)
{
    enum { FLOAT = 1, INT32 = 6, INT64 = 7, BOOL = 9, FLOAT16 = 10, DOUBLE = 11 };
    double v[NET_KNOWN_MAX];
    const struct net_info *in;
    struct net_info x;
    int64_t to;
    int real, rc;
    if ((rc = net_op_int(n, "to", &to, 0, err)) || (rc = net_graph_input(g, n, 0, &in, err)))
        return rc;
    real = to == FLOAT || to == FLOAT16 || to == DOUBLE;
    if (!real && to != INT32 && to != INT64 && to != BOOL)
        return net_op_fail(err, ERR_UNSUPPORTED, n, "element type %lld", (long long)to);
    x = *in;
    if (real && (x.kind == NET_INFO_FEATURE ||
                 (x.kind == NET_INFO_CONST && g->net->consts[x.constant].type <= NET_F64))) {
        g->info[n->out] = x; /* all real types are computed as float32 */
        return 0;
    }
    if ((rc = net_graph_numbers(g, n, 0, &x, err)))
        return rc;
    for (int64_t i = 0; i < net_graph_count(x.rank, x.dim); i++)
        v[i] = real ? (float)x.v[i] : to == BOOL ? x.v[i] != 0 : isnan(x.v[i]) ? 0 : trunc(x.v[i]);
    return net_graph_set_known(g, n, x.rank, x.dim, !real, v, err);
}
