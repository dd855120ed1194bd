#include "gpu/net/net_cuda.h"

#include "gpu/base/cuda_try.h"
#include "gpu/net/net_cuda_conv.h"
#include "gpu/net/net_cuda_move.h"
#include "gpu/net/net_cuda_plan.h"
#include "gpu/net/net_cuda_tune.h"

#include <stdlib.h>
#include <string.h>

#define BATCH_MAX 64

struct net_cuda {
    struct net_graph *g; /* for one picture */
    struct net_cuda_plan *plan;
    int n_convs;
    struct net_cuda_conv_plan **convs;  /* [n_convs], in the order of their jobs */
    struct net_cuda_tune_layer *layers; /* the same convolutions with their arguments */
    struct net_cuda_tile *tiles;        /* [n_sizes][n_convs]; size s: a batch of 2^s */
    int max_batch, n_sizes;
    size_t bytes;
    /* device memory */
    __half *input;
    float *output;
    uint8_t *arena, *tables;
    float *scratch;
    uint32_t *counters;
};

/* ---------------------------------------------------------------------------------- memory */

/* Device memory, zeroed and counted. A size of zero asks the driver for nothing. */
static int net_get(struct net_cuda *p, void **at, size_t bytes, cudaStream_t stream,
                   struct err *err)
{
    int rc = 0;
    if (!bytes)
        return 0;
    CU_TRY(cudaMalloc(at, bytes));
    p->bytes += bytes;
    CU_TRY(cudaMemsetAsync(*at, 0, bytes, stream));
out:
    return rc;
}

static int get_all(struct net_cuda *p, cudaStream_t stream, struct err *err)
{
    const struct net_cuda_plan *plan = p->plan;
    size_t n = (size_t)p->max_batch, out = n * sizeof(float);
    int rc;
    for (int i = 0; i < 4; i++)
        out *= (size_t)p->g->tensors[p->g->output].d[i];
    if ((rc = net_get(p, (void **)&p->input, n * plan->places[p->g->input].span.bytes, stream,
                      err)) ||
        (rc = net_get(p, (void **)&p->output, out, stream, err)) ||
        (rc = net_get(p, (void **)&p->arena, n * plan->arena_bytes, stream, err)) ||
        (rc = net_get(p, (void **)&p->tables, plan->table_bytes, stream, err)))
        goto out;
    if (plan->table_bytes)
        CU_TRY(cudaMemcpyAsync(p->tables, plan->tables, plan->table_bytes, cudaMemcpyHostToDevice,
                               stream));
    /* the tables are in pageable memory and must stay until the copies are done */
    CU_TRY(cudaStreamSynchronize(stream));
out:
    return rc;
}

static __half *net_place_of(const struct net_cuda *p, int place)
{
    if (place == p->g->input)
        return p->input;
    return (__half *)(void *)(p->arena + (size_t)p->max_batch * p->plan->places[place].span.at);
}

/* ---------------------------------------------------------------------------------- convolution */

static void net_describe(const struct net_cuda *p, const struct net_cuda_job *j,
                         struct net_cuda_conv *c)
{
    const struct net_step *s = j->step;
    const int *in = p->g->tensors[s->src[0]].d, *out = p->g->tensors[s->dst].d;
    *c = (struct net_cuda_conv){.n_src = j->n_src, .win = s->win, .act = s->act};
    for (int k = 0; k < j->n_src; k++) {
        c->src[k].c = p->g->tensors[j->src[k]].d[1];
        c->src[k].pitch = p->plan->places[j->src[k]].pitch;
        c->src[k].up = j->up[k];
    }
    c->h = in[2];
    c->w = in[3];
    c->oh = out[2];
    c->ow = out[3];
    c->cout = out[1];
    c->out_float = j->dst < 0;
    c->out_pitch = j->dst < 0 ? 0 : p->plan->places[j->dst].pitch;
    c->has_residual = j->residual >= 0;
    c->residual_pitch = j->residual >= 0 ? p->plan->places[j->residual].pitch : 0;
}

/* Items of a tensor in n pictures; a reshaped tensor can have several a picture. */
static int items_of(const struct net_cuda *p, const struct net_cuda_job *j, int n)
{
    return n * p->g->tensors[j->step->dst].d[0];
}

static void conv_args(const struct net_cuda *p, const struct net_cuda_job *j,
                      struct net_cuda_conv_args *a)
{
    *a = (struct net_cuda_conv_args){.scratch = p->scratch, .counters = p->counters};
    for (int k = 0; k < j->n_src; k++)
        a->src[k] = net_place_of(p, j->src[k]);
    a->residual = j->residual >= 0 ? net_place_of(p, j->residual) : NULL;
    a->out = j->dst >= 0 ? (void *)net_place_of(p, j->dst) : (void *)p->output;
}

/* net_cuda_conv.cu does not know the node that it refuses, so we add its name. */
static int name_node(struct err *err, int code, const struct net_step *s)
{
    char text[ERR_TEXT_CAP];
    if (!err || (code != ERR_INPUT && code != ERR_UNSUPPORTED && code != ERR_LIMIT) ||
        err->where[0])
        return code;
    memcpy(text, err->text, sizeof text);
    return net_op_fail(err, code, s->node, "%s", text);
}

static int make_conv(struct net_cuda *p, const struct net_cuda_job *j, cudaStream_t stream,
                     struct err *err)
{
    size_t count = net_graph_weight_count(p->g, j->step);
    float *w = malloc((count + 1) * sizeof *w);
    struct net_cuda_conv c;
    int rc;
    if (!w)
        return err_set(err, ERR_MEMORY, "no memory for weights");
    net_describe(p, j, &c);
    rc = net_graph_weight(p->g, j->step, w, count, err);
    if (!rc)
        rc = net_cuda_conv_new(&p->convs[p->n_convs], &c, w, j->step->bias,
                               items_of(p, j, p->max_batch), stream, err);
    free(w);
    if (rc)
        return name_node(err, rc, j->step);
    p->bytes += net_cuda_conv_bytes(p->convs[p->n_convs]);
    p->layers[p->n_convs].plan = p->convs[p->n_convs];
    p->n_convs++;
    return 0;
}

/* Makes all convolutions. They run one by one, so they share scratch for the largest need. */
static int make_convs(struct net_cuda *p, cudaStream_t stream, struct err *err)
{
    size_t scratch = 0, counters = 0;
    int rc = 0, at = 0;
    for (int i = 0; i < p->plan->n_jobs; i++) {
        if (p->plan->jobs[i].kind != NET_CUDA_CONV)
            continue;
        if ((rc = make_conv(p, &p->plan->jobs[i], stream, err)))
            goto out;
        for (int n = 1; n <= p->max_batch; n *= 2)
            net_cuda_conv_scratch(p->convs[p->n_convs - 1], items_of(p, &p->plan->jobs[i], n),
                                  &scratch, &counters);
    }
    if ((rc = net_get(p, (void **)&p->scratch, scratch, stream, err)) ||
        (rc = net_get(p, (void **)&p->counters, counters, stream, err)))
        goto out;
    for (int i = 0; i < p->plan->n_jobs; i++)
        if (p->plan->jobs[i].kind == NET_CUDA_CONV)
            conv_args(p, &p->plan->jobs[i], &p->layers[at++].args);
    CU_TRY(cudaStreamSynchronize(stream));
out:
    return rc;
}

/* Chooses tile shapes by rule, or by measuring if requested and every batch of n is n items. */
static int choose_tiles(struct net_cuda *p, const struct net_cuda_config *config,
                        cudaStream_t stream, struct err *err)
{
    int at = 0, measurable = config->tune;
    for (int i = 0; i < p->plan->n_jobs; i++) {
        const struct net_cuda_job *j = &p->plan->jobs[i];
        if (j->kind != NET_CUDA_CONV)
            continue;
        measurable = measurable && items_of(p, j, 1) == 1;
        for (int s = 0; s < p->n_sizes; s++)
            if (net_cuda_conv_tiles(p->convs[at], items_of(p, j, 1 << s),
                                    &p->tiles[s * p->n_convs + at], 1) < 1)
                return net_op_fail(err, ERR_UNSUPPORTED, j->step->node,
                                   "no tile shape fits this convolution");
        at++;
    }
    if (!measurable || !p->n_convs)
        return 0;
    return net_cuda_tune_run(p->tiles, p->layers, p->n_convs, p->n_sizes, config->cache_path,
                             stream, err);
}

/* ---------------------------------------------------------------------------------- moves */

static struct net_cuda_view view_of(const struct net_cuda *p, int place)
{
    struct net_cuda_view v = {.p = net_place_of(p, place), .pitch = p->plan->places[place].pitch};
    memcpy(v.d, net_cuda_plan_dims(p->plan, place), sizeof v.d);
    return v;
}

static const void *table_of(const struct net_cuda *p, size_t at)
{
    return at == NET_CUDA_NO_TABLE ? NULL : p->tables + at;
}

static void move_of(const struct net_cuda *p, const struct net_cuda_job *j, struct net_cuda_move *m)
{
    const struct net_step *s = j->step;
    *m = (struct net_cuda_move){
        .kind = s ? s->kind : NET_STEP_NONE, .from = j->from, .is_last = j->is_last};
    for (int k = 0; k < j->n_src; k++)
        m->src[k] = view_of(p, j->src[k]);
    if (j->residual >= 0)
        m->residual = view_of(p, j->residual);
    if (j->dst >= 0)
        m->dst = view_of(p, j->dst);
    else
        m->answer = p->output;
    for (int a = 0; a < 2; a++) {
        m->i0[a] = (const int *)table_of(p, j->i0[a]);
        m->i1[a] = (const int *)table_of(p, j->i1[a]);
        m->w1[a] = (const float *)table_of(p, j->w1[a]);
    }
    m->scale = (const float *)table_of(p, j->scale);
    m->bias = (const float *)table_of(p, j->bias);
    m->weight = (const float *)table_of(p, j->weight);
    if (!s)
        return;
    m->act = s->act;
    m->win = s->win;
    m->binary = s->binary;
    m->pool = s->pool;
    m->fill = s->fill;
    m->group = s->group;
    m->axis = s->axis;
    m->first = s->first;
    m->block = s->block;
    m->crd = s->crd;
    memcpy(m->perm, s->perm, sizeof m->perm);
}

/* ---------------------------------------------------------------------------------- whole */

int net_cuda_new(struct net_cuda **out, const struct net *net, const struct net_cuda_config *config,
                 cudaStream_t stream, struct err *err)
{
    struct net_limits limits = config->limits;
    struct net_cuda *p = NULL;
    int rc = 0;
    *out = NULL;
    if (config->max_batch < 1 || config->max_batch > BATCH_MAX ||
        config->max_batch & (config->max_batch - 1))
        return err_set(err, ERR_INPUT, "a batch of %d: powers of two up to %d are allowed",
                       config->max_batch, BATCH_MAX);
    if (!limits.max_plan_bytes)
        net_limits_default(&limits);
    p = calloc(1, sizeof *p);
    if (!p)
        return err_set(err, ERR_MEMORY, "no memory for a plan");
    p->max_batch = config->max_batch;
    while (1 << p->n_sizes <= p->max_batch)
        p->n_sizes++;
    /* the limit bounds a model's memory for one picture; we choose the number of pictures */
    if ((rc = net_graph_new(&p->g, net, 1, config->h, config->w, &limits, err)) ||
        (rc = net_cuda_plan_new(&p->plan, p->g, limits.max_plan_bytes, err)))
        goto out;
    p->convs = calloc((size_t)p->plan->n_jobs, sizeof(void *));
    p->layers = calloc((size_t)p->plan->n_jobs, sizeof *p->layers);
    p->tiles = calloc((size_t)(p->plan->n_jobs * p->n_sizes), sizeof *p->tiles);
    if (!p->convs || !p->layers || !p->tiles) {
        rc = err_set(err, ERR_MEMORY, "no memory for a plan");
        goto out;
    }
    if ((rc = get_all(p, stream, err)) || (rc = make_convs(p, stream, err)) ||
        (rc = choose_tiles(p, config, stream, err)))
        goto out;
    *out = p;
    p = NULL;
out:
    net_cuda_free(&p);
    return rc;
}

void net_cuda_free(struct net_cuda **out)
{
    struct net_cuda *p = *out;
    if (!p)
        return;
    for (int i = 0; i < p->n_convs; i++)
        net_cuda_conv_free(&p->convs[i]);
    /* if the context is lost, the driver frees nothing, and there is no remedy */
    (void)cudaFree(p->input);
    (void)cudaFree(p->output);
    (void)cudaFree(p->arena);
    (void)cudaFree(p->tables);
    (void)cudaFree(p->scratch);
    (void)cudaFree(p->counters);
    free(p->convs);
    free(p->layers);
    free(p->tiles);
    net_cuda_plan_free(&p->plan);
    net_graph_free(&p->g);
    free(p);
    *out = NULL;
}

int net_cuda_run(struct net_cuda *p, int n, cudaStream_t stream, struct err *err)
{
    int size = 0, at = 0, rc = 0;
    if (n < 1 || n > p->max_batch)
        return err_set(err, ERR_INPUT, "%d pictures, up to %d were planned", n, p->max_batch);
    while (1 << size < n)
        size++;
    for (int i = 0; !rc && i < p->plan->n_jobs; i++) {
        const struct net_cuda_job *j = &p->plan->jobs[i];
        struct net_cuda_move move;
        if (j->kind == NET_CUDA_CONV) {
            rc = net_cuda_conv_run(p->convs[at], &p->layers[at].args,
                                   p->tiles[size * p->n_convs + at], items_of(p, j, 1 << size),
                                   stream, err);
            at++;
        } else {
            move_of(p, j, &move);
            rc = net_cuda_move_run(&move, 1 << size, stream, err);
        }
    }
    return rc;
}

__half *net_cuda_input(const struct net_cuda *p)
{
    return p->input;
}

int net_cuda_input_pitch(const struct net_cuda *p)
{
    return p->plan->places[p->g->input].pitch;
}

const float *net_cuda_output(const struct net_cuda *p)
{
    return p->output;
}

size_t net_cuda_bytes(const struct net_cuda *p)
{
    return p->bytes;
}

double net_cuda_flops(const struct net_cuda *p)
{
    return p->g->flops;
}
