#include "gpu/net/net_onnx.h"

#include "gpu/net/net_graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx/onnx.pb-c.h"

#define OPSET_MIN 9
#define OPSET_MAX 18
/* The parser may take twice the file, and this beside it for messages, strings and shape lists. */
#define PARSE_SLACK_BYTES ((size_t)64 << 20)

/* -------------------------------------------------------------------------- protobuf-c's memory */

struct allowance {
    size_t used, cap;
    int refused, empty; /* the cap was reached; the system had no more */
};

/* The count includes freed blocks: so their sizes are not needed, and a valid model frees almost
 * none. */
static void *allowance_alloc(void *data, size_t size)
{
    struct allowance *p = data;
    void *block;
    if (size > p->cap - p->used) {
        p->refused = 1;
        return NULL;
    }
    p->used += size;
    block = malloc(size);
    if (!block)
        p->empty = 1;
    return block;
}

static void allowance_free(void *data, void *block)
{
    (void)data;
    free(block);
}

/* ---------------------------------------------------------------------------------- names */

enum def_kind { DEF_INPUT, DEF_INIT, DEF_NODE, DEF_SECOND };

struct def {
    const char *name;
    enum def_kind kind;
    int index;  /* in the file's list of that kind */
    int needed; /* by the output */
};

struct parse {
    struct net *net;
    Onnx__GraphProto *graph;
    struct def *defs; /* sorted by name; an index is the value's number */
    int n_defs;
    unsigned char *node_needed;
    struct err *err;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct def *)a)->name, ((const struct def *)b)->name);
}

static int net_onnx_find(const struct parse *p, const char *name)
{
    struct def key = {.name = name}, *d;
    d = bsearch(&key, p->defs, (size_t)p->n_defs, sizeof key, by_name);
    return d ? (int)(d - p->defs) : -1;
}

static int fail_name(struct err *err, int code, const char *name, const char *what)
{
    char text[NET_NAME_CAP];
    net_op_escape(text, sizeof text, name);
    return err_at(err, code, "", "'%s' %s", text, what);
}

static void where_node(char *where, size_t cap, const Onnx__NodeProto *n)
{
    char name[40], op[24];
    net_op_escape(name, sizeof name,
                  n->name && *n->name ? n->name
                  : n->n_output       ? n->output[0]
                                      : "");
    net_op_escape(op, sizeof op, n->op_type);
    snprintf(where, cap, "node '%s' (%s)", name, op);
}

static void add_def(struct parse *p, const char *name, enum def_kind kind, size_t index)
{
    if (name && *name)
        p->defs[p->n_defs++] = (struct def){name, kind, (int)index, 0};
}

/* defs is sorted. Old files also list initialisers as inputs: the constant stays. */
static int drop_doubles(struct parse *p)
{
    int kept = 0;
    for (int i = 0; i < p->n_defs; i++) {
        struct def *last = kept ? &p->defs[kept - 1] : NULL, *d = &p->defs[i];
        if (!last || strcmp(last->name, d->name)) {
            p->defs[kept++] = *d;
            continue;
        }
        if ((last->kind != DEF_INIT || d->kind != DEF_INPUT) &&
            (last->kind != DEF_INPUT || d->kind != DEF_INIT))
            return fail_name(p->err, ERR_INPUT, d->name, "is defined twice");
        if (d->kind == DEF_INIT)
            *last = *d;
    }
    p->n_defs = kept;
    return 0;
}

static int collect(struct parse *p)
{
    const Onnx__GraphProto *g = p->graph;
    size_t room = g->n_input + g->n_initializer;
    for (size_t i = 0; i < g->n_node; i++)
        room += g->node[i]->n_output;
    p->defs = net_mem_get(&p->net->mem, room + 1, sizeof *p->defs);
    if (!p->defs)
        return err_set(p->err, ERR_MEMORY, "no memory for a model");
    for (size_t i = 0; i < g->n_initializer; i++)
        add_def(p, g->initializer[i]->name, DEF_INIT, i);
    for (size_t i = 0; i < g->n_node; i++)
        for (size_t k = 0; k < g->node[i]->n_output; k++)
            add_def(p, g->node[i]->output[k], k ? DEF_SECOND : DEF_NODE, i);
    for (size_t i = 0; i < g->n_input; i++)
        add_def(p, g->input[i]->name, DEF_INPUT, i);
    qsort(p->defs, (size_t)p->n_defs, sizeof *p->defs, by_name);
    return drop_doubles(p);
}

/* ----------------------------------------------------------------------------- input and output */

static int choose_input(struct parse *p, const char *name)
{
    const Onnx__GraphProto *g = p->graph;
    const Onnx__TypeProto__Tensor *t;
    int chosen = -1, count = 0;
    for (int i = 0; i < p->n_defs; i++) {
        if (p->defs[i].kind != DEF_INPUT)
            continue;
        count++;
        if (!name || !*name || !strcmp(name, p->defs[i].name))
            chosen = i;
    }
    if (chosen < 0 && name && *name)
        return fail_name(p->err, ERR_INPUT, name, "is not an input of the model");
    if (chosen < 0 || (count != 1 && !(name && *name)))
        return err_set(p->err, ERR_INPUT, "the model has %d inputs: name one", count);
    p->net->input = chosen;
    name = p->defs[chosen].name;
    if (!g->input[p->defs[chosen].index]->type ||
        g->input[p->defs[chosen].index]->type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
        return fail_name(p->err, ERR_UNSUPPORTED, name, "is not a tensor");
    t = g->input[p->defs[chosen].index]->type->tensor_type;
    if (t->elem_type != ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT &&
        t->elem_type != ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16)
        return fail_name(p->err, ERR_UNSUPPORTED, name, "is not of float32 or float16");
    if (!t->shape || t->shape->n_dim != 4)
        return fail_name(p->err, ERR_UNSUPPORTED, name, "is not [n][channels][h][w]");
    for (int i = 0; i < 4; i++) {
        const Onnx__TensorShapeProto__Dimension *d = t->shape->dim[i];
        int fixed = d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        p->net->input_dim[i] = fixed ? d->dim_value : -1;
        if (fixed && (d->dim_value < 1 || d->dim_value > NET_SIDE_MAX))
            return fail_name(p->err, ERR_INPUT, name, "has a dimension out of range");
    }
    if (p->net->input_dim[1] < 0)
        return fail_name(p->err, ERR_UNSUPPORTED, name, "does not say how many channels it has");
    return 0;
}

static int choose_output(struct parse *p, const char *name)
{
    const Onnx__GraphProto *g = p->graph;
    const char *found = NULL;
    for (size_t i = 0; i < g->n_output; i++)
        if (g->output[i]->name && (!name || !*name || !strcmp(name, g->output[i]->name)))
            found = g->output[i]->name;
    if (!found && name && *name)
        return fail_name(p->err, ERR_INPUT, name, "is not an output of the model");
    if (!found || (g->n_output != 1 && !(name && *name)))
        return err_set(p->err, ERR_INPUT, "the model has %zu outputs: name one", g->n_output);
    p->net->output = net_onnx_find(p, found);
    if (p->net->output < 0 || p->defs[p->net->output].kind != DEF_NODE)
        return fail_name(p->err, ERR_INPUT, found, "is an output that no node makes");
    return 0;
}

/* ------------------------------------------------------------------------------- what is needed */

/* Value of a node's input by name; nodes must come after what they read, so a cycle cannot pass. */
static int reads(struct parse *p, size_t node, const char *name, int *value)
{
    char where[ERR_WHERE_CAP], text[NET_NAME_CAP];
    const char *why = NULL;
    const struct def *d;
    *value = -1;
    if (!*name)
        return 0;
    *value = net_onnx_find(p, name);
    d = *value < 0 ? NULL : &p->defs[*value];
    if (!d)
        why = "which nothing makes";
    else if (d->kind == DEF_SECOND)
        why = "the second output of a node, which is not supported";
    else if (d->kind == DEF_INPUT && *value != p->net->input)
        why = "a second input of the model";
    else if (d->kind == DEF_NODE && (size_t)d->index >= node)
        why = "which is made later: a cycle, or nodes out of order";
    if (!why)
        return 0;
    where_node(where, sizeof where, p->graph->node[node]);
    net_op_escape(text, sizeof text, name);
    return err_at(p->err, ERR_INPUT, where, "reads '%s', %s", text, why);
}

static int mark_needed(struct parse *p)
{
    const Onnx__GraphProto *g = p->graph;
    p->node_needed = net_mem_get(&p->net->mem, g->n_node + 1, 1);
    if (!p->node_needed)
        return err_set(p->err, ERR_MEMORY, "no memory for a model");
    p->defs[p->net->output].needed = 1;
    for (size_t i = g->n_node; i-- > 0;) {
        const Onnx__NodeProto *n = g->node[i];
        int v = n->n_output && *n->output[0] ? net_onnx_find(p, n->output[0]) : -1;
        if (v < 0 || !p->defs[v].needed)
            continue;
        p->node_needed[i] = 1;
        p->net->n_nodes++;
        for (size_t k = 0; k < n->n_input; k++) {
            int in, rc = reads(p, i, n->input[k], &in);
            if (rc)
                return rc;
            if (in >= 0)
                p->defs[in].needed = 1;
        }
    }
    return 0;
}

/* ---------------------------------------------------------------------------------- nodes */

static int read_attr(struct parse *p, Onnx__AttributeProto *a, struct net_attr *out,
                     const char *where)
{
    struct net_mem *mem = &p->net->mem;
    char *text;
    void *list = NULL;
    size_t n = a->n_ints > a->n_floats ? a->n_ints : a->n_floats;
    switch (a->has_type ? (int)a->type : 0) {
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT:
        out->kind = NET_ATTR_FLOAT;
        out->f = a->f;
        return 0;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT:
        out->kind = NET_ATTR_INT;
        out->i = a->i;
        return 0;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING:
        out->kind = NET_ATTR_STRING;
        text = net_mem_get(mem, a->s.len + 1, 1);
        if (!text)
            break;
        if (a->s.len)
            memcpy(text, a->s.data, a->s.len);
        out->s = text;
        return 0;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS:
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS:
        list = net_mem_get(mem, n + 1, 8);
        if (!list)
            break;
        if (a->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS) {
            out->kind = NET_ATTR_INTS;
            out->n = (int)a->n_ints;
            out->ints = list;
            if (a->n_ints)
                memcpy(list, a->ints, a->n_ints * sizeof *a->ints);
        } else {
            out->kind = NET_ATTR_FLOATS;
            out->n = (int)a->n_floats;
            out->floats = list;
            if (a->n_floats)
                memcpy(list, a->floats, a->n_floats * sizeof *a->floats);
        }
        return 0;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR:
        out->kind = NET_ATTR_TENSOR;
        if (!a->t)
            return err_at(p->err, ERR_INPUT, where, "attribute '%s' is empty", out->name);
        return net_onnx_tensor(p->net, a->t, where, &out->constant, p->err);
    default:
        return err_at(p->err, ERR_UNSUPPORTED, where, "attribute '%s' is of kind %d", out->name,
                      a->has_type ? (int)a->type : 0);
    }
    return err_at(p->err, ERR_MEMORY, where, "no memory for a model");
}

static int read_attrs(struct parse *p, Onnx__NodeProto *pb, struct net_node *n, const char *where)
{
    struct net_attr *attr = net_mem_get(&p->net->mem, pb->n_attribute + 1, sizeof *attr);
    if (!attr)
        return err_at(p->err, ERR_MEMORY, where, "no memory for a model");
    n->attr = attr;
    for (size_t i = 0; i < pb->n_attribute; i++) {
        const char *name = pb->attribute[i]->name ? pb->attribute[i]->name : "";
        char text[NET_NAME_CAP], *copy;
        int rc;
        net_op_escape(text, sizeof text, name);
        if (!net_op_has_attr(n->op, name))
            return err_at(p->err, ERR_UNSUPPORTED, where, "attribute '%s' is not understood", text);
        if (net_op_attr(n, name))
            return err_at(p->err, ERR_INPUT, where, "attribute '%s' appears twice", text);
        copy = net_mem_get(&p->net->mem, strlen(name) + 1, 1);
        if (!copy)
            return err_at(p->err, ERR_MEMORY, where, "no memory for a model");
        memcpy(copy, name, strlen(name));
        attr[i].name = copy;
        if ((rc = read_attr(p, pb->attribute[i], &attr[i], where)))
            return rc;
        n->n_attr++;
    }
    return 0;
}

static int read_node(struct parse *p, size_t at, struct net_node *n)
{
    Onnx__NodeProto *pb = p->graph->node[at];
    char where[ERR_WHERE_CAP];
    int *in;
    where_node(where, sizeof where, pb);
    if (pb->domain && *pb->domain && strcmp(pb->domain, "ai.onnx"))
        return err_at(p->err, ERR_UNSUPPORTED, where, "an operator of another domain");
    n->op = pb->op_type ? net_ops_find(pb->op_type) : NULL;
    if (!n->op)
        return err_at(p->err, ERR_UNSUPPORTED, where,
                      "unknown operator (docs/MODELS.md lists the known)");
    if (pb->n_input < (size_t)n->op->min_in || pb->n_input > (size_t)n->op->max_in)
        return err_at(p->err, ERR_INPUT, where, "%zu inputs, %d to %d are due", pb->n_input,
                      n->op->min_in, n->op->max_in);
    net_op_escape(n->name, sizeof n->name, pb->name && *pb->name ? pb->name : pb->output[0]);
    n->out = net_onnx_find(p, pb->output[0]);
    n->n_in = (int)pb->n_input;
    n->in = in = net_mem_get(&p->net->mem, pb->n_input + 1, sizeof *in);
    if (!in)
        return err_at(p->err, ERR_MEMORY, where, "no memory for a model");
    for (size_t k = 0; k < pb->n_input; k++) {
        int rc = reads(p, at, pb->input[k], &in[k]);
        if (rc)
            return rc;
    }
    return read_attrs(p, pb, n, where);
}

static int read_consts(struct parse *p)
{
    struct net *net = p->net;
    size_t room = p->graph->n_initializer;
    for (size_t i = 0; i < p->graph->n_node; i++)
        room += p->graph->node[i]->n_attribute + 1; /* a node may become a constant */
    net->n_values = p->n_defs;
    net->consts = net_mem_get(&net->mem, room + 1, sizeof *net->consts);
    net->value_const = net_mem_get(&net->mem, (size_t)p->n_defs + 1, sizeof *net->value_const);
    if (!net->consts || !net->value_const)
        return err_set(p->err, ERR_MEMORY, "no memory for a model");
    for (int v = 0; v < p->n_defs; v++) {
        char where[ERR_WHERE_CAP], name[NET_NAME_CAP];
        int rc;
        net->value_const[v] = -1;
        if (p->defs[v].kind != DEF_INIT || !p->defs[v].needed)
            continue;
        net_op_escape(name, sizeof name, p->defs[v].name);
        snprintf(where, sizeof where, "tensor '%s'", name);
        rc = net_onnx_tensor(net, p->graph->initializer[p->defs[v].index], where,
                             &net->value_const[v], p->err);
        if (rc)
            return rc;
    }
    return 0;
}

static int read_nodes(struct parse *p)
{
    int at = 0, done;
    p->net->nodes = net_mem_get(&p->net->mem, (size_t)p->net->n_nodes + 1, sizeof *p->net->nodes);
    if (!p->net->nodes)
        return err_set(p->err, ERR_MEMORY, "no memory for a model");
    for (size_t i = 0; i < p->graph->n_node; i++) {
        struct net_node *n = &p->net->nodes[at];
        int rc = 0;
        if (!p->node_needed[i])
            continue;
        if ((rc = read_node(p, i, n)) || (rc = net_onnx_dequant(p->net, n, &done, p->err)))
            return rc;
        if (!done)
            at++;
        else /* its place serves the next */
            *n = (struct net_node){.op = NULL};
    }
    p->net->n_nodes = at;
    return 0;
}

/* ---------------------------------------------------------------------------------- the whole */

static int check_model(const Onnx__ModelProto *m, struct net *net, struct err *err)
{
    int64_t opset = 0;
    if (!m->has_ir_version || m->ir_version < 3 || m->ir_version > 10)
        return err_set(err, ERR_UNSUPPORTED, "ONNX format %lld: 3 to 10 are understood",
                       m->has_ir_version ? (long long)m->ir_version : 0LL);
    for (size_t i = 0; i < m->n_opset_import; i++) {
        const Onnx__OperatorSetIdProto *o = m->opset_import[i];
        if (!o->domain || !*o->domain || !strcmp(o->domain, "ai.onnx"))
            opset = o->version;
    }
    if (opset < OPSET_MIN || opset > OPSET_MAX)
        return err_set(err, ERR_UNSUPPORTED, "operator set %lld: %d to %d are understood",
                       (long long)opset, OPSET_MIN, OPSET_MAX);
    net->opset = (int)opset;
    if (m->n_functions || m->n_training_info)
        return err_set(err, ERR_UNSUPPORTED, "a model with functions or training information");
    if (!m->graph || !m->graph->n_node)
        return err_set(err, ERR_INPUT, "a model without a graph");
    if (m->graph->n_sparse_initializer)
        return err_set(err, ERR_UNSUPPORTED, "sparse tensors");
    return 0;
}

int net_onnx_parse(struct net *net, const uint8_t *data, size_t len, const char *input,
                   const char *output, struct err *err)
{
    struct allowance allowance = {0, 2 * len + PARSE_SLACK_BYTES, 0, 0};
    ProtobufCAllocator alloc = {allowance_alloc, allowance_free, &allowance};
    struct parse p = {.net = net, .err = err};
    Onnx__ModelProto *m = NULL;
    int rc = net_onnx_scan(data, len, net->limits.max_nodes, err);
    if (rc)
        return rc;
    m = onnx__model_proto__unpack(&alloc, len, data);
    if (!m && allowance.empty)
        return err_set(err, ERR_MEMORY, "no memory to read the model");
    if (!m)
        return allowance.refused
                   ? err_set(err, ERR_LIMIT, "the model needs too much memory to read")
                   : err_set(err, ERR_INPUT, "not an ONNX model, or a damaged one");
    p.graph = m->graph;
    if ((rc = check_model(m, net, err)) || (rc = collect(&p)) || (rc = choose_input(&p, input)) ||
        (rc = choose_output(&p, output)) || (rc = mark_needed(&p)) || (rc = read_consts(&p)) ||
        (rc = read_nodes(&p)))
        goto out;
out:
    onnx__model_proto__free_unpacked(m, &alloc);
    return rc;
}
