/* Stores, jobs and their lifetimes: what the oneDNN executor decides before it has any memory. */
#include "gpu/net/net_dnnl.h"

#include "proto/array.h"

#include <stdlib.h>
#include <string.h>

#define ALIGN 64

static const dnnl_format_tag_t tags[] = {dnnl_nchw, dnnl_nhwc, dnnl_nChw8c, dnnl_nChw16c};

int net_dnnl_plan_md(const int d[4], enum layout layout, dnnl_memory_desc_t *md, struct err *err)
{
    dnnl_dims_t dims = {d[0], d[1], d[2], d[3]};
    dnnl_status_t st = dnnl_memory_desc_init_by_tag(md, 4, dims, dnnl_f32, tags[layout]);
    return st ? net_dnnl_prim_fail(err, NULL, "layout", st) : 0;
}

static enum layout layout_of(const dnnl_memory_desc_t *md)
{
    for (int i = 0; i < LAYOUT_OTHER; i++) {
        dnnl_memory_desc_t like;
        if (!dnnl_memory_desc_init_by_tag(&like, md->ndims, md->dims, dnnl_f32, tags[i]) &&
            dnnl_memory_desc_equal(&like, md))
            return (enum layout)i;
    }
    return LAYOUT_OTHER;
}

int net_dnnl_plan_store(struct net_dnnl *p, const dnnl_memory_desc_t *md, int root, size_t root_at,
                        struct err *err)
{
    struct store *s;
    if (array_grow(&p->stores, &p->cap_stores, (size_t)p->n_stores + 1, sizeof *p->stores))
        return err_set(err, ERR_MEMORY, "no memory for a plan");
    s = &p->stores[p->n_stores];
    *s = (struct store){.md = *md, .first = -1, .last = -1};
    s->layout = layout_of(md);
    s->bytes = dnnl_memory_desc_get_size(md);
    if (s->bytes > p->max_bytes)
        return err_set(err, ERR_LIMIT, "a tensor of %zu bytes, %zu are allowed", s->bytes,
                       p->max_bytes);
    s->root = root < 0 ? p->n_stores : p->stores[root].root;
    s->root_at = root < 0 ? 0 : p->stores[root].root_at + root_at;
    return p->n_stores++;
}

struct job *net_dnnl_plan_job(struct net_dnnl *p, const struct net_step *s, struct err *err)
{
    struct job *j;
    if (array_grow(&p->jobs, &p->cap_jobs, (size_t)p->n_jobs + 1, sizeof *p->jobs)) {
        err_set(err, ERR_MEMORY, "no memory for a plan");
        return NULL;
    }
    j = &p->jobs[p->n_jobs++];
    *j = (struct job){.step = s, .loop_src = -1, .loop_dst = -1};
    return j;
}

static void touch(struct net_dnnl *p, int store)
{
    struct store *root = &p->stores[p->stores[store].root];
    if (root->first < 0)
        root->first = p->n_jobs - 1;
    root->last = p->n_jobs - 1;
}

int net_dnnl_plan_arg(struct net_dnnl *p, struct job *j, int arg, int store, int blob)
{
    if (store < -1 || j->n_args == JOB_ARGS)
        return store < -1 ? store : ERR_LIMIT;
    j->ref[j->n_args].arg = arg;
    j->ref[j->n_args].store = store;
    j->ref[j->n_args].blob = blob;
    j->n_args++;
    if (store >= 0)
        touch(p, store);
    return 0;
}

int net_dnnl_plan_loop(struct net_dnnl *p, const struct net_dnnl_loop *l, int from, int to,
                       struct err *err)
{
    struct job *j = net_dnnl_plan_job(p, l->step, err);
    if (!j)
        return ERR_MEMORY;
    j->loop = *l;
    j->loop_src = from;
    j->loop_dst = to;
    touch(p, from);
    touch(p, to);
    return 0;
}

int net_dnnl_plan_copy(struct net_dnnl *p, int from, int to, struct err *err)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t pd = NULL;
    struct job *j = net_dnnl_plan_job(p, NULL, err);
    dnnl_status_t st;
    int rc;
    if (!j)
        return ERR_MEMORY;
    st = dnnl_primitive_attr_create(&attr);
    if (!st)
        st = dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
    if (!st)
        st = dnnl_reorder_primitive_desc_create(&pd, &p->stores[from].md, p->engine,
                                                &p->stores[to].md, p->engine, attr);
    dnnl_primitive_attr_destroy(attr);
    if (st)
        return net_dnnl_prim_fail(err, NULL, "a change of layout", st);
    rc = net_dnnl_plan_arg(p, j, DNNL_ARG_FROM, from, -1);
    if (!rc)
        rc = net_dnnl_plan_arg(p, j, DNNL_ARG_TO, to, -1);
    if (rc) {
        dnnl_primitive_desc_destroy(pd);
        return rc;
    }
    return net_dnnl_prim_finish(p, j, pd, err);
}

int net_dnnl_plan_get(struct net_dnnl *p, int tensor, const dnnl_memory_desc_t *md, struct err *err)
{
    int have = p->places[tensor].store, to, rc;
    if (dnnl_memory_desc_equal(&p->stores[have].md, md))
        return have;
    for (int i = 0; i < p->n_copies; i++)
        if (p->copies[i].tensor == tensor &&
            dnnl_memory_desc_equal(&p->stores[p->copies[i].store].md, md))
            return p->copies[i].store;
    if (array_grow(&p->copies, &p->cap_copies, (size_t)p->n_copies + 1, sizeof *p->copies))
        return err_set(err, ERR_MEMORY, "no memory for a plan");
    to = net_dnnl_plan_store(p, md, -1, 0, err);
    if (to < 0)
        return to;
    rc = net_dnnl_plan_copy(p, have, to, err);
    if (rc)
        return rc;
    p->copies[p->n_copies++] = (struct copy){tensor, to};
    return to;
}

int net_dnnl_plan_own(struct net_dnnl *p, int tensor, int plain, struct err *err)
{
    const struct store *s = &p->stores[p->places[tensor].store];
    dnnl_memory_desc_t md;
    int to, rc;
    if (!s->user && s->layout != LAYOUT_OTHER && (!plain || s->layout == LAYOUT_PLAIN))
        return p->places[tensor].store;
    if ((rc = net_dnnl_plan_md(p->g->tensors[tensor].d, LAYOUT_PLAIN, &md, err)))
        return rc;
    if (!s->user)
        return net_dnnl_plan_get(p, tensor, &md, err);
    /* the caller's memory cannot be used under another shape */
    to = net_dnnl_plan_store(p, &md, -1, 0, err);
    if (to < 0)
        return to;
    rc = net_dnnl_plan_copy(p, p->places[tensor].store, to, err);
    p->places[tensor].store = rc ? p->places[tensor].store : to;
    return rc ? rc : to;
}

int net_dnnl_plan_wanted(struct net_dnnl *p, int tensor, int *store, struct err *err)
{
    struct place *at = &p->places[tensor];
    const int *d = p->g->tensors[tensor].d;
    dnnl_memory_desc_t md;
    int whole, rc;
    *store = -1;
    if (at->over >= 0) {
        *store = p->places[at->over].store;
        return 0;
    }
    if (at->part_of < 0)
        return 0;
    whole = p->places[at->part_of].store;
    if (whole < 0) { /* the part that is written first makes the memory of the whole */
        if ((rc = net_dnnl_plan_wanted(p, at->part_of, &whole, err)))
            return rc;
        if (whole < 0) {
            rc = net_dnnl_plan_md(p->g->tensors[at->part_of].d,
                                  p->block == 16 ? LAYOUT_BLOCK16 : LAYOUT_BLOCK8, &md, err);
            if (rc)
                return rc;
            whole = net_dnnl_plan_store(p, &md, -1, 0, err);
            if (whole < 0)
                return whole;
        }
        p->places[at->part_of].store = whole;
    }
    rc = net_dnnl_plan_md(d, p->block == 16 ? LAYOUT_BLOCK16 : LAYOUT_BLOCK8, &md, err);
    if (rc)
        return rc;
    rc = net_dnnl_plan_store(
        p, &md, whole, (size_t)at->channel * (size_t)d[2] * (size_t)d[3] * sizeof(float), err);
    *store = rc;
    return rc < 0 ? rc : 0;
}

int net_dnnl_plan_put(struct net_dnnl *p, int tensor, int wanted, const dnnl_memory_desc_t *md,
                      struct err *err)
{
    int store = wanted;
    if (store < 0 || !dnnl_memory_desc_equal(&p->stores[store].md, md))
        store = net_dnnl_plan_store(p, md, -1, 0, err);
    if (store >= 0)
        p->places[tensor].store = store;
    return store;
}

/* ------------------------------------------------------------------------------ before emission */

static void read_by(struct net_dnnl *p, int tensor, int step)
{
    p->places[tensor].last_read = step;
}

/* Channels of a concat begin at block borders, one picture: its parts can be written in place. */
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
            read_by(p, s->src[k], i);
        if (s->residual >= 0)
            read_by(p, s->residual, i);
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

static int user_stores(struct net_dnnl *p, struct err *err)
{
    dnnl_memory_desc_t md;
    int rc = net_dnnl_plan_md(p->g->tensors[p->g->input].d, LAYOUT_PLAIN, &md, err);
    if (rc)
        return rc;
    p->in_store = net_dnnl_plan_store(p, &md, -1, 0, err);
    if (p->in_store < 0)
        return p->in_store;
    p->stores[p->in_store].user = 1;
    p->places[p->g->input].store = p->in_store;
    if ((rc = net_dnnl_plan_md(p->g->tensors[p->g->output].d, LAYOUT_PLAIN, &md, err)))
        return rc;
    p->out_store = net_dnnl_plan_store(p, &md, -1, 0, err);
    if (p->out_store < 0)
        return p->out_store;
    p->stores[p->out_store].user = 2;
    return 0;
}

int net_dnnl_plan(struct net_dnnl *p, struct err *err)
{
    int rc;
    p->places = calloc((size_t)p->g->n_tensors, sizeof *p->places);
    if (!p->places)
        return err_set(err, ERR_MEMORY, "no memory for a plan");
    place_all(p);
    rc = user_stores(p, err);
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
        rc = net_dnnl_plan_copy(p, p->places[p->g->output].store, p->out_store, err);
    return rc;
}

/* ---------------------------------------------------------------------------------- arena */

static int larger_first(const void *a, const void *b, void *stores)
{
    const struct store *x = (struct store *)stores + *(const int *)a;
    const struct store *y = (struct store *)stores + *(const int *)b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return *(const int *)a - *(const int *)b;
}

/* Largest first, each at the lowest place that is free during its whole life. order[0 ... i) is by
 * place. */
static void arrange(struct net_dnnl *p, int *order, int n)
{
    for (int i = 0; i < n; i++) {
        int id = order[i], k;
        struct store *s = &p->stores[id];
        size_t size = (s->bytes + ALIGN - 1) / ALIGN * ALIGN, at = 0;
        for (k = 0; k < i; k++) {
            const struct store *o = &p->stores[order[k]];
            size_t end = o->at + (o->bytes + ALIGN - 1) / ALIGN * ALIGN;
            if (o->last < s->first || s->last < o->first || end <= at)
                continue;
            if (at + size <= o->at)
                break;
            at = end;
        }
        s->at = at;
        if (at + size > p->arena_bytes)
            p->arena_bytes = at + size;
        for (k = i; k > 0 && p->stores[order[k - 1]].at > at; k--)
            order[k] = order[k - 1];
        order[k] = id;
    }
}

int net_dnnl_plan_arena(struct net_dnnl *p, struct err *err)
{
    int *order = malloc((size_t)p->n_stores * sizeof *order), n = 0;
    if (!order)
        return err_set(err, ERR_MEMORY, "no memory for a plan");
    for (int i = 0; i < p->n_stores; i++)
        if (p->stores[i].root == i && !p->stores[i].user && p->stores[i].first >= 0)
            order[n++] = i;
    qsort_r(order, (size_t)n, sizeof *order, larger_first, p->stores);
    arrange(p, order, n);
    free(order);
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
