#include "gpu/net/net_cuda_plan.h"

#include "proto/array.h"

#include <stdlib.h>
#include <string.h>

#define ALIGN 256 /* alignment of the device's allocator; a multiple of every vector load */

/* ---------------------------------------------------------------------------------- folding */

struct uses {
    int producer; /* step, -1 = the input */
    int conv;     /* convolutions that load it */
    int other;    /* all other readers */
};

/* A convolution that net_cuda_conv.h can do; groups and transposed ones are moves. */
static int is_conv(const struct net_step *s)
{
    return s->kind == NET_STEP_CONV && s->group == 1;
}

static int is_narrow(const struct net_cuda_plan *p, int tensor)
{
    return p->places[tensor].pitch % 8 != 0;
}

static void count_uses(const struct net_graph *g, struct uses *u)
{
    for (int t = 0; t < g->n_tensors; t++)
        u[t] = (struct uses){-1, 0, 0};
    for (int i = 0; i < g->n_steps; i++) {
        const struct net_step *s = &g->steps[i];
        if (s->kind == NET_STEP_NONE)
            continue;
        u[s->dst].producer = i;
        for (int k = 0; k < s->n_src; k++)
            *(is_conv(s) ? &u[s->src[k]].conv : &u[s->src[k]].other) += 1;
        if (s->residual >= 0)
            u[s->residual].other++;
    }
    u[g->output].other++;
}

/* Concats are folded first: a convolution that reads a folded concat loads its sources. */
static void fold(struct net_cuda_plan *p, struct uses *u)
{
    const struct net_graph *g = p->g;
    for (int i = 0; i < g->n_steps; i++) {
        const struct net_step *s = &g->steps[i];
        if (s->kind != NET_STEP_CONCAT || s->axis != 1 || s->n_src != 2 || u[s->dst].other ||
            is_narrow(p, s->src[0]) || is_narrow(p, s->src[1]))
            continue;
        p->places[s->dst].folded = 1;
        for (int k = 0; k < 2; k++) {
            u[s->src[k]].other--;
            u[s->src[k]].conv++;
        }
    }
    for (int i = 0; i < g->n_steps; i++) {
        const struct net_step *s = &g->steps[i];
        if (s->kind == NET_STEP_REMAP && s->axis2[0].times == 2 && s->axis2[1].times == 2 &&
            !u[s->dst].other && !is_narrow(p, s->src[0]))
            p->places[s->dst].folded = 1;
    }
}

/* ---------------------------------------------------------------------------------- jobs */

static struct net_cuda_job *add_job(struct net_cuda_plan *p, enum net_cuda_job_kind kind,
                                    const struct net_step *s)
{
    struct net_cuda_job *j = &p->jobs[p->n_jobs++]; /* counted before: there is room */
    *j = (struct net_cuda_job){.kind = kind, .step = s, .residual = -1, .dst = -1};
    for (int a = 0; a < 2; a++)
        j->i0[a] = j->i1[a] = j->w1[a] = NET_CUDA_NO_TABLE;
    j->scale = j->bias = j->weight = NET_CUDA_NO_TABLE;
    return j;
}

static void touch(struct net_cuda_plan *p, int place)
{
    struct net_mem_span *at = &p->places[place].span;
    if (at->first < 0)
        at->first = p->n_jobs - 1;
    at->last = p->n_jobs - 1;
}

/* Bytes for the device, 16 bytes aligned. `data` NULL: zeros, to be filled in. */
static int add_table(struct net_cuda_plan *p, const void *data, size_t bytes, size_t *at,
                     struct err *err)
{
    size_t room = (bytes + 15) / 16 * 16;
    if (array_grow(&p->tables, &p->cap_tables, p->table_bytes + room, 1))
        return err_set(err, ERR_MEMORY, "no memory for a plan");
    *at = p->table_bytes;
    memset(p->tables + *at, 0, room);
    if (data)
        memcpy(p->tables + *at, data, bytes);
    p->table_bytes += room;
    return 0;
}

/* Weights for the plain kernels: [kh][kw][I/g][O], so that neighbouring outputs read neighbours. */
static int add_weights(struct net_cuda_plan *p, const struct net_step *s, struct net_cuda_job *j,
                       struct err *err)
{
    size_t count = net_graph_weight_count(p->g, s), at = 0;
    size_t o_all = (size_t)p->g->tensors[s->dst].d[1];
    size_t i_all = (size_t)p->g->tensors[s->src[0]].d[1] / (size_t)s->group;
    size_t area = (size_t)s->win.k[0] * (size_t)s->win.k[1];
    float *w = malloc((count + 1) * sizeof *w), *to;
    int rc;
    if (!w)
        return err_set(err, ERR_MEMORY, "no memory for weights");
    if ((rc = net_graph_weight(p->g, s, w, count, err)) ||
        (rc = add_table(p, NULL, count * sizeof *w, &j->weight, err)))
        goto out;
    to = (float *)(void *)(p->tables + j->weight);
    for (size_t o = 0; o < o_all; o++)
        for (size_t i = 0; i < i_all; i++)
            for (size_t k = 0; k < area; k++)
                to[(k * i_all + i) * o_all + o] = w[at++];
out:
    free(w);
    return rc;
}

static int step_tables(struct net_cuda_plan *p, struct net_cuda_job *j, struct err *err)
{
    const struct net_step *s = j->step;
    const int *d = p->g->tensors[s->dst].d;
    size_t channels = (size_t)d[1] * sizeof(float);
    int rc = 0;
    if (s->kind == NET_STEP_CONV || s->kind == NET_STEP_DECONV)
        rc = add_weights(p, s, j, err); /* the weights contain the scale */
    if (!rc && s->kind == NET_STEP_AFFINE && s->scale)
        rc = add_table(p, s->scale, channels, &j->scale, err);
    if (!rc && s->bias)
        rc = add_table(p, s->bias, channels, &j->bias, err);
    for (int a = 0; !rc && a < 2; a++) {
        size_t count = (size_t)d[2 + a];
        if (s->kind != NET_STEP_REMAP && s->kind != NET_STEP_LERP)
            break;
        rc = add_table(p, s->axis2[a].i0, count * sizeof(int), &j->i0[a], err);
        if (!rc && s->kind == NET_STEP_LERP)
            rc = add_table(p, s->axis2[a].i1, count * sizeof(int), &j->i1[a], err);
        if (!rc && s->kind == NET_STEP_LERP)
            rc = add_table(p, s->axis2[a].w1, count * sizeof(float), &j->w1[a], err);
    }
    return rc;
}

/* The source that a convolution loads for a tensor: itself, or the input of a folded remap. */
static void load_from(struct net_cuda_plan *p, const struct uses *u, int tensor,
                      struct net_cuda_job *j)
{
    int k = j->n_src++;
    j->up[k] = p->places[tensor].folded;
    j->src[k] = j->up[k] ? p->g->steps[u[tensor].producer].src[0] : tensor;
    touch(p, j->src[k]);
}

static int emit_conv(struct net_cuda_plan *p, const struct net_step *s, const struct uses *u)
{
    int src = s->src[0], residual = s->residual, answers = 0;
    const struct net_step *before = NULL;
    struct net_cuda_job *j;
    if (residual >= 0 && is_narrow(p, residual))
        residual = p->wide;
    /* the convolution writes the network's answer as float32 if no other node reads it */
    answers = s->dst == p->g->output && u[s->dst].other == 1 && !u[s->dst].conv;
    j = add_job(p, NET_CUDA_CONV, s);
    if (p->places[src].folded)
        before = &p->g->steps[u[src].producer];
    if (before && before->kind == NET_STEP_CONCAT) {
        load_from(p, u, before->src[0], j);
        load_from(p, u, before->src[1], j);
    } else {
        load_from(p, u, src, j);
    }
    j->residual = residual;
    if (residual >= 0)
        touch(p, residual);
    if (!answers) {
        j->dst = s->dst;
        touch(p, s->dst);
    }
    return answers;
}

static void emit_parts(struct net_cuda_plan *p, const struct net_step *s)
{
    int from = 0;
    for (int k = 0; k < s->n_src; from += p->g->tensors[s->src[k++]].d[s->axis]) {
        struct net_cuda_job *j = add_job(p, NET_CUDA_PART, s);
        j->n_src = 1;
        j->src[0] = s->src[k];
        j->dst = s->dst;
        j->from = from;
        j->is_last = k == s->n_src - 1;
        touch(p, j->src[0]);
        touch(p, j->dst);
    }
}

static int emit_step(struct net_cuda_plan *p, const struct net_step *s, struct err *err)
{
    struct net_cuda_job *j = add_job(p, NET_CUDA_STEP, s);
    if (s->n_src > 2)
        return net_op_fail(err, ERR_UNSUPPORTED, s->node, "%d sources", s->n_src);
    j->n_src = s->n_src;
    for (int k = 0; k < s->n_src; k++) {
        j->src[k] = s->src[k];
        touch(p, s->src[k]);
    }
    j->residual = s->residual;
    if (s->residual >= 0)
        touch(p, s->residual);
    j->dst = s->dst;
    touch(p, s->dst);
    return step_tables(p, j, err);
}

static int emit_all(struct net_cuda_plan *p, const struct uses *u, struct err *err)
{
    const struct net_graph *g = p->g;
    int answered = 0, widen = 0, rc = 0;
    struct net_cuda_job *j;
    for (int i = 0; i < g->n_steps; i++)
        if (is_conv(&g->steps[i]) && g->steps[i].residual >= 0)
            widen = widen || is_narrow(p, g->steps[i].residual);
    if (widen) {
        j = add_job(p, NET_CUDA_WIDEN, NULL);
        j->n_src = 1;
        j->src[0] = g->input;
        j->dst = p->wide;
        touch(p, p->wide);
    }
    for (int i = 0; !rc && i < g->n_steps; i++) {
        const struct net_step *s = &g->steps[i];
        if (s->kind == NET_STEP_NONE || p->places[s->dst].folded)
            continue;
        if (is_conv(s))
            answered |= emit_conv(p, s, u);
        else if (s->kind == NET_STEP_CONCAT)
            emit_parts(p, s);
        else
            rc = emit_step(p, s, err);
    }
    if (rc || answered)
        return rc;
    j = add_job(p, NET_CUDA_FLOAT, NULL);
    j->n_src = 1;
    j->src[0] = g->output;
    touch(p, g->output);
    return 0;
}

/* ---------------------------------------------------------------------------------- arena */

static int place_all(struct net_cuda_plan *p, struct err *err)
{
    struct net_mem_span **spans = malloc((size_t)p->n_places * sizeof *spans);
    int n = 0;
    if (!spans)
        return err_set(err, ERR_MEMORY, "no memory for a plan");
    for (int i = 0; i < p->n_places; i++)
        if (i != p->g->input && p->places[i].span.first >= 0) /* the input has its own memory */
            spans[n++] = &p->places[i].span;
    p->arena_bytes = net_mem_arrange(spans, n, ALIGN);
    free(spans);
    if (p->arena_bytes > p->max_bytes)
        return err_set(err, ERR_LIMIT, "a plan of %zu bytes a picture, %zu are allowed",
                       p->arena_bytes, p->max_bytes);
    return 0;
}

/* ---------------------------------------------------------------------------------- whole plan */

const int *net_cuda_plan_dims(const struct net_cuda_plan *p, int place)
{
    return p->g->tensors[place == p->wide ? p->g->input : place].d;
}

static int size_places(struct net_cuda_plan *p, struct err *err)
{
    for (int i = 0; i < p->n_places; i++) {
        struct net_cuda_place *at = &p->places[i];
        const int *d = net_cuda_plan_dims(p, i);
        double bytes;
        at->span.first = at->span.last = -1;
        at->pitch = i == p->g->input && d[1] <= 4 ? 4 : (d[1] + 7) / 8 * 8;
        bytes = 2.0 * at->pitch * d[0] * d[2] * d[3];
        if (bytes > (double)p->max_bytes)
            return err_set(err, ERR_LIMIT, "a tensor of %.0f bytes, %zu are allowed", bytes,
                           p->max_bytes);
        at->span.bytes = ((size_t)bytes + ALIGN - 1) / ALIGN * ALIGN;
    }
    return 0;
}

int net_cuda_plan_new(struct net_cuda_plan **out, const struct net_graph *g, size_t max_bytes,
                      struct err *err)
{
    struct net_cuda_plan *p = calloc(1, sizeof *p);
    struct uses *u = calloc((size_t)g->n_tensors, sizeof *u);
    int rc = 0;
    *out = NULL;
    if (!p || !u) {
        rc = err_set(err, ERR_MEMORY, "no memory for a plan");
        goto out;
    }
    p->g = g;
    p->max_bytes = max_bytes;
    p->wide = g->n_tensors;
    p->n_places = g->n_tensors + 1;
    p->cap_jobs = 2;
    for (int i = 0; i < g->n_steps; i++)
        p->cap_jobs += g->steps[i].n_src > 1 ? g->steps[i].n_src : 1;
    p->places = calloc((size_t)p->n_places, sizeof *p->places);
    p->jobs = calloc((size_t)p->cap_jobs, sizeof *p->jobs);
    if (!p->places || !p->jobs) {
        rc = err_set(err, ERR_MEMORY, "no memory for a plan");
        goto out;
    }
    if ((rc = size_places(p, err)))
        goto out;
    count_uses(g, u);
    fold(p, u);
    if ((rc = emit_all(p, u, err)) || (rc = place_all(p, err)))
        goto out;
    *out = p;
    p = NULL;
out:
    net_cuda_plan_free(&p);
    free(u);
    return rc;
}

void net_cuda_plan_free(struct net_cuda_plan **p)
{
    if (!*p)
        return;
    free((*p)->places);
    free((*p)->jobs);
    free((*p)->tables);
    free(*p);
    *p = NULL;
}
