#include "gpu/net/net_graph.h"

#include <stdlib.h>
#include <string.h>

#define GRAPH_MEM_BYTES ((size_t)256 << 20) /* tables, scales, biases of one plan */

int64_t net_graph_count(int rank, const int64_t *dim)
{
    int64_t n = 1;
    for (int i = 0; i < rank; i++)
        n *= dim[i];
    return n;
}

/* --------------------------------------------------------------------------- operators' helpers */

int net_graph_given(const struct net_node *n, int k)
{
    return k < n->n_in && n->in[k] >= 0;
}

int net_graph_input(const struct net_graph *g, const struct net_node *n, int k,
                    const struct net_info **info, struct err *err)
{
    if (!net_graph_given(n, k))
        return net_op_fail(err, ERR_INPUT, n, "input %d is missing", k);
    *info = &g->info[n->in[k]];
    return 0;
}

int net_graph_feature(struct net_graph *g, const struct net_node *n, int k,
                      const struct net_info **info, struct err *err)
{
    int rc = net_graph_input(g, n, k, info, err);
    if (rc)
        return rc;
    if ((*info)->kind != NET_INFO_FEATURE)
        return net_op_fail(err, ERR_UNSUPPORTED, n,
                           "input %d is a constant, a feature map is needed", k);
    return 0;
}

int net_graph_image(struct net_graph *g, const struct net_node *n, int k,
                    const struct net_info **info, struct err *err)
{
    int rc = net_graph_feature(g, n, k, info, err);
    if (rc)
        return rc;
    if ((*info)->rank != 4)
        return net_op_fail(err, ERR_UNSUPPORTED, n, "input %d has %d dimensions, 4 are needed", k,
                           (*info)->rank);
    return 0;
}

int net_graph_is_known(const struct net_graph *g, const struct net_node *n, int k)
{
    const struct net_info *x;
    if (!net_graph_given(n, k))
        return 0;
    x = &g->info[n->in[k]];
    return x->kind == NET_INFO_KNOWN ||
           (x->kind == NET_INFO_CONST && g->net->consts[x->constant].count <= NET_KNOWN_MAX);
}

int net_graph_numbers(struct net_graph *g, const struct net_node *n, int k, struct net_info *info,
                      struct err *err)
{
    const struct net_info *x = NULL;
    const struct net_const *c;
    double *v;
    int rc = net_graph_input(g, n, k, &x, err);
    if (rc)
        return rc;
    *info = *x;
    if (x->kind == NET_INFO_KNOWN)
        return 0;
    if (!net_graph_is_known(g, n, k))
        return net_op_fail(err, ERR_UNSUPPORTED, n,
                           "input %d must follow from constants and shapes, at most %d numbers", k,
                           NET_KNOWN_MAX);
    c = &g->net->consts[x->constant];
    v = net_mem_get(&g->mem, c->count + 1, sizeof *v);
    if (!v)
        return net_op_fail(err, ERR_MEMORY, n, "no memory for a plan");
    for (size_t i = 0; i < c->count; i++)
        v[i] = net_op_value(c, i);
    info->kind = NET_INFO_KNOWN;
    info->is_int = c->type > NET_F64;
    info->v = v;
    return 0;
}

int net_graph_set_known(struct net_graph *g, const struct net_node *n, int rank, const int64_t *dim,
                        int is_int, const double *v, struct err *err)
{
    struct net_info *o = &g->info[n->out];
    int64_t count = 1;
    double *copy;
    for (int i = 0; i < rank; i++) {
        if (dim[i] < 0 || dim[i] > NET_KNOWN_MAX || (count *= dim[i]) > NET_KNOWN_MAX)
            return net_op_fail(err, ERR_UNSUPPORTED, n, "shape arithmetic on more than %d numbers",
                               NET_KNOWN_MAX);
        o->dim[i] = dim[i];
    }
    copy = net_mem_get(&g->mem, (size_t)count + 1, sizeof *copy);
    if (!copy)
        return net_op_fail(err, ERR_MEMORY, n, "no memory for a plan");
    for (int64_t i = 0; i < count; i++)
        copy[i] = v[i];
    o->kind = NET_INFO_KNOWN;
    o->rank = rank;
    o->is_int = is_int;
    o->v = copy;
    return 0;
}

/* A tensor for rank <= 4 dimensions. Returns its index or a negative code. */
static int tensor_new(struct net_graph *g, const struct net_node *n, int rank, const int64_t *dim,
                      struct err *err)
{
    struct net_tensor *t = &g->tensors[g->n_tensors];
    int64_t bytes = 4;
    if (rank > 4)
        return net_op_fail(err, ERR_UNSUPPORTED, n, "a feature of %d dimensions", rank);
    if (g->n_tensors == g->cap_tensors)
        return net_op_fail(err, ERR_LIMIT, n, "too many tensors");
    for (int i = 0; i < 4; i++) {
        int64_t d = i < rank ? dim[i] : 1;
        if (d < 1)
            return net_op_fail(err, ERR_INPUT, n, "dimension %d of the result would be %lld", i,
                               (long long)d);
        if (d > NET_SIDE_MAX || bytes > (int64_t)(g->max_bytes / (uint64_t)d))
            return net_op_fail(err, ERR_LIMIT, n, "the result is larger than %zu bytes",
                               g->max_bytes);
        bytes *= d;
        t->d[i] = (int)d;
    }
    return g->n_tensors++;
}

static void set_feature(struct net_info *o, int tensor, int rank, const int64_t *dim)
{
    o->kind = NET_INFO_FEATURE;
    o->tensor = tensor;
    o->rank = rank;
    for (int i = 0; i < rank; i++)
        o->dim[i] = dim[i];
}

struct net_step *net_graph_step(struct net_graph *g, const struct net_node *n,
                                enum net_step_kind kind, const int *src, int n_src, int rank,
                                const int64_t *dim, int *code, struct err *err)
{
    struct net_step *s;
    int t;
    if (g->n_steps == g->cap_steps) {
        *code = net_op_fail(err, ERR_LIMIT, n, "too many steps");
        return NULL;
    }
    s = &g->steps[g->n_steps];
    s->src = net_mem_get(&g->mem, (size_t)n_src, sizeof *s->src);
    if (!s->src) {
        *code = net_op_fail(err, ERR_MEMORY, n, "no memory for a plan");
        return NULL;
    }
    t = tensor_new(g, n, rank, dim, err);
    if (t < 0) {
        *code = t;
        return NULL;
    }
    g->n_steps++;
    s->kind = kind;
    s->node = n;
    s->n_src = n_src;
    memcpy(s->src, src, (size_t)n_src * sizeof *src);
    s->dst = t;
    s->residual = -1;
    s->weight = -1;
    s->group = 1;
    set_feature(&g->info[n->out], t, rank, dim);
    *code = 0;
    return s;
}

int net_graph_view(struct net_graph *g, const struct net_node *n, struct net_info x, int rank,
                   const int64_t *dim, struct err *err)
{
    int code, same = rank <= 4;
    if (x.kind == NET_INFO_KNOWN)
        return net_graph_set_known(g, n, rank, dim, x.is_int, x.v, err);
    if (x.kind == NET_INFO_CONST) {
        x.rank = rank;
        memcpy(x.dim, dim, (size_t)rank * sizeof *dim);
        g->info[n->out] = x;
        return 0;
    }
    for (int i = 0; same && i < 4; i++)
        same = g->tensors[x.tensor].d[i] == (i < rank ? dim[i] : 1);
    if (same) {
        set_feature(&g->info[n->out], x.tensor, rank, dim);
        return 0;
    }
    return net_graph_step(g, n, NET_STEP_RESHAPE, &x.tensor, 1, rank, dim, &code, err) ? 0 : code;
}

/* ---------------------------------------------------------------------------------- whole graph */

static int check_input(const struct net *net, const int64_t dim[4], struct err *err)
{
    static const char *const what[4] = {"batch", "channels", "rows", "columns"};
    for (int i = 0; i < 4; i++) {
        if (dim[i] < 1 || dim[i] > NET_SIDE_MAX)
            return err_set(err, ERR_INPUT, "an input of %lld %s", (long long)dim[i], what[i]);
        if (net->input_dim[i] >= 0 && net->input_dim[i] != dim[i])
            return err_set(err, ERR_INPUT, "the model is exported for %lld %s, %lld are asked for",
                           (long long)net->input_dim[i], what[i], (long long)dim[i]);
    }
    return 0;
}

static int plan_nodes(struct net_graph *g, struct err *err)
{
    const struct net *net = g->net;
    for (int v = 0; v < net->n_values; v++) {
        int c = net->value_const[v];
        if (c < 0)
            continue;
        g->info[v].kind = NET_INFO_CONST;
        g->info[v].constant = c;
        g->info[v].rank = net->consts[c].rank;
        memcpy(g->info[v].dim, net->consts[c].dim, sizeof g->info[v].dim);
    }
    for (int i = 0; i < net->n_nodes; i++) {
        const struct net_node *n = &net->nodes[i];
        int rc = n->op->plan(g, n, err);
        if (rc)
            return rc;
    }
    for (int i = 0; i < g->n_steps; i++)
        g->flops += g->steps[i].flops;
    if (!(g->flops < NET_FLOPS_MAX))
        return err_set(err, ERR_LIMIT, "the model needs %g operations a run", g->flops);
    return 0;
}

static int find_output(struct net_graph *g, struct err *err)
{
    const struct net_info *o = &g->info[g->net->output];
    if (o->kind != NET_INFO_FEATURE)
        return err_set(err, ERR_INPUT, "the output does not depend on the input");
    g->output = o->tensor;
    for (int i = 0; i < 4; i++)
        g->out_shape[i] = g->tensors[o->tensor].d[i];
    if (o->rank == 3) { /* [n][h][w], a map whose channel was squeezed away */
        g->out_shape[3] = g->out_shape[2];
        g->out_shape[2] = g->out_shape[1];
        g->out_shape[1] = 1;
    }
    return 0;
}

int net_graph_new(struct net_graph **out, const struct net *net, int n, int h, int w,
                  const struct net_limits *limits, struct err *err)
{
    const int64_t dim[4] = {n, net->input_dim[1], h, w};
    const struct net_limits *l = limits ? limits : &net->limits;
    struct net_graph *g;
    static const struct net_op identity = {.name = "Identity"};
    struct net_node head = {.op = &identity, .name = "input"};
    int rc = check_input(net, dim, err);

    *out = NULL;
    if (rc)
        return rc;
    g = calloc(1, sizeof *g);
    if (!g)
        return err_set(err, ERR_MEMORY, "no memory for a plan");
    net_mem_init(&g->mem, GRAPH_MEM_BYTES);
    g->net = net;
    g->max_bytes = l->max_plan_bytes;
    g->cap_steps = 3 * net->n_nodes + 1;
    g->cap_tensors = g->cap_steps + 1;
    g->info = net_mem_get(&g->mem, (size_t)net->n_values, sizeof *g->info);
    g->steps = net_mem_get(&g->mem, (size_t)g->cap_steps, sizeof *g->steps);
    g->tensors = net_mem_get(&g->mem, (size_t)g->cap_tensors, sizeof *g->tensors);
    if (!g->info || !g->steps || !g->tensors) {
        rc = err_set(err, ERR_MEMORY, "no memory for a plan");
        goto fail;
    }
    rc = g->input = tensor_new(g, &head, 4, dim, err);
    if (rc < 0)
        goto fail;
    set_feature(&g->info[net->input], g->input, 4, dim);
    if ((rc = plan_nodes(g, err)) || (rc = find_output(g, err)) || (rc = net_graph_fuse(g, err)))
        goto fail;
    *out = g;
    return 0;
fail:
    net_graph_free(&g);
    return rc;
}

void net_graph_free(struct net_graph **g)
{
    if (!*g)
        return;
    net_mem_free(&(*g)->mem);
    free(*g);
    *g = NULL;
}
