/* The places of a plan's stores, and the order in which its steps become jobs. */
#include "gpu/net/net_dnnl.h"

#include <stdlib.h>
#include <string.h>

#define ALIGN 64

/* ------------------------------------------------------------------------------ before emission */

/* If all parts of a concat begin at block borders, in one picture, they are written in place. */
static void place_parts(struct net_dnnl *p, const struct net_step *s)
{
    const struct net_tensor *t = p->g->tensors;
    int at = 0;
    if (s->axis != 1 || t[s->dst].d[0] != 1 || !p->block)
        return;
    for (int k = 0; k < s->n_src; at += t[s->src[k++]].d[1])
        if (at % p->block)
            return;
    at = 0;
    p->places[s->dst].shared = 1;
    for (int k = 0; k < s->n_src; at += t[s->src[k++]].d[1]) {
        struct place *pl = &p->places[s->src[k]];
        if (pl->part_of >= 0 || s->src[k] == p->g->input || s->src[k] == s->dst || pl->shared)
            continue;
        pl->part_of = s->dst;
        pl->channel = at;
    }
}

static void place_all(struct net_dnnl *p)
{
    struct net_graph *g = p->g;
    for (int t = 0; t < g->n_tensors; t++)
        p->places[t] = (struct place){-1, -1, 0, -1, 0, -1};
    for (int i = 0; i < g->n_steps; i++) {
        const struct net_step *s = &g->steps[i];
        if (s->kind == NET_STEP_NONE)
            continue;
        for (int k = 0; k < s->n_src; k++)
            p->places[s->src[k]].last_read = i;
        if (s->residual >= 0)
            p->places[s->residual].last_read = i;
        if (s->kind == NET_STEP_RESHAPE)
            p->places[s->src[0]].shared = p->places[s->dst].shared = 1;
    }
    p->places[g->output].last_read = g->n_steps;
    for (int i = g->n_steps - 1; i >= 0; i--)
        if (g->steps[i].kind == NET_STEP_CONCAT)
            place_parts(p, &g->steps[i]);
    /* Goes backwards, so that a chain of residual blocks is written as a whole into the concat
     * behind its last one. */
    for (int i = g->n_steps - 1; i >= 0; i--) {
        const struct net_step *s = &g->steps[i];
        int r = s->residual;
        struct place *dst, *res;
        if (s->kind == NET_STEP_NONE || r < 0)
            continue;
        dst = &p->places[s->dst];
        res = &p->places[r];
        if (r == g->input || r == s->src[0] || res->last_read != i || res->part_of >= 0 ||
            res->shared || dst->shared)
            continue;
        dst->over = r;
        res->part_of = dst->part_of;
        res->channel = dst->channel;
    }
}

/* ---------------------------------------------------------------------------------- whole plan */

/* A store in the caller's memory for this tensor. Returns index or code. */
static int user_store(struct net_dnnl *p, int tensor, struct err *err)
{
    dnnl_memory_desc_t md;
    int store, rc = net_dnnl_emit_md(p->g->tensors[tensor].d, LAYOUT_PLAIN, &md, err);
    if (rc)
        return rc;
    store = net_dnnl_emit_store(p, &md, -1, 0, err);
    if (store >= 0)
        p->stores[store].user = 1;
    return store;
}

int net_dnnl_plan(struct net_dnnl *p, struct err *err)
{
    int rc = 0;
    p->places = calloc((size_t)p->g->n_tensors, sizeof *p->places);
    if (!p->places)
        return err_set(err, ERR_MEMORY, "no memory for a plan");
    place_all(p);
    if ((p->in_store = user_store(p, p->g->input, err)) < 0)
        return p->in_store;
    if ((p->out_store = user_store(p, p->g->output, err)) < 0)
        return p->out_store;
    p->places[p->g->input].store = p->in_store;
    for (int i = 0; !rc && i < p->g->n_steps; i++) {
        const struct net_step *s = &p->g->steps[i];
        switch (s->kind) {
        case NET_STEP_NONE:
            break;
        case NET_STEP_CONV:
        case NET_STEP_DECONV:
        case NET_STEP_ACT:
        case NET_STEP_AFFINE:
        case NET_STEP_BINARY:
        case NET_STEP_POOL:
            rc = net_dnnl_prim(p, s, err);
            break;
        default:
            rc = net_dnnl_move(p, s, err);
        }
    }
    if (!rc)
        rc = net_dnnl_emit_copy(p, p->places[p->g->output].store, p->out_store, err);
    return rc;
}

/* ---------------------------------------------------------------------------------- arena */

int net_dnnl_plan_arena(struct net_dnnl *p, struct err *err)
{
    struct net_mem_span **spans = malloc((size_t)p->n_stores * sizeof *spans);
    int n = 0;
    if (!spans)
        return err_set(err, ERR_MEMORY, "no memory for a plan");
    for (int i = 0; i < p->n_stores; i++)
        if (p->stores[i].root == i && !p->stores[i].user && p->stores[i].span.first >= 0)
            spans[n++] = &p->stores[i].span;
    p->arena_bytes = net_mem_arrange(spans, n, ALIGN);
    free(spans);
    for (int i = 0; i < p->n_jobs; i++)
        if (p->jobs[i].scratch_bytes > p->scratch_bytes)
            p->scratch_bytes = p->jobs[i].scratch_bytes;
    if (p->arena_bytes > p->max_bytes || p->scratch_bytes > p->max_bytes - p->arena_bytes)
        return err_set(err, ERR_LIMIT, "a plan of %zu bytes, %zu are allowed",
                       p->arena_bytes + p->scratch_bytes, p->max_bytes);
    p->arena = aligned_alloc(ALIGN, p->arena_bytes + ALIGN);
    p->scratch = aligned_alloc(ALIGN, (p->scratch_bytes / ALIGN + 1) * ALIGN);
    if (!p->arena || !p->scratch)
        return err_set(err, ERR_MEMORY, "no memory for a plan of %zu bytes",
                       p->arena_bytes + p->scratch_bytes);
    return 0;
}
