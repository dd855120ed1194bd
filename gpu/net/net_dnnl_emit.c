/* Stores and jobs of a plan: steps become these before memory is allocated. */
#include "gpu/net/net_dnnl.h"

#include "proto/array.h"

static const dnnl_format_tag_t tags[] = {dnnl_nchw, dnnl_nhwc, dnnl_nChw8c, dnnl_nChw16c};

int net_dnnl_emit_fail(struct err *err, const struct net_step *s, const char *what,
                       dnnl_status_t status)
{
    int code = status == dnnl_out_of_memory   ? ERR_MEMORY
               : status == dnnl_unimplemented ? ERR_UNSUPPORTED
                                              : ERR_INPUT;
    if (s)
        return net_op_fail(err, code, s->node, "oneDNN refuses %s (status %d)", what, (int)status);
    return err_set(err, code, "oneDNN refuses %s (status %d)", what, (int)status);
}

int net_dnnl_emit_finish(struct net_dnnl *p, struct job *j, dnnl_primitive_desc_t pd,
                         struct err *err)
{
    const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
    dnnl_status_t st;
    j->scratch_bytes = md ? dnnl_memory_desc_get_size(md) : 0;
    st = dnnl_primitive_create(&j->prim, pd);
    if (!st && j->scratch_bytes)
        st = dnnl_memory_create(&j->scratch, md, p->engine, DNNL_MEMORY_NONE);
    dnnl_primitive_desc_destroy(pd);
    if (st)
        return net_dnnl_emit_fail(err, j->step, "a primitive", st);
    if (j->scratch_bytes)
        net_dnnl_emit_arg(p, j, DNNL_ARG_SCRATCHPAD, -1, -1);
    return 0;
}

int net_dnnl_emit_md(const int d[4], enum layout layout, dnnl_memory_desc_t *md, struct err *err)
{
    dnnl_dims_t dims = {d[0], d[1], d[2], d[3]};
    dnnl_status_t st = dnnl_memory_desc_init_by_tag(md, 4, dims, dnnl_f32, tags[layout]);
    return st ? net_dnnl_emit_fail(err, NULL, "layout", st) : 0;
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

int net_dnnl_emit_store(struct net_dnnl *p, const dnnl_memory_desc_t *md, int root, size_t root_at,
                        struct err *err)
{
    struct store *s;
    if (array_grow(&p->stores, &p->cap_stores, (size_t)p->n_stores + 1, sizeof *p->stores))
        return err_set(err, ERR_MEMORY, "no memory for a plan");
    s = &p->stores[p->n_stores];
    *s = (struct store){.md = *md, .span = {.first = -1, .last = -1}};
    s->layout = layout_of(md);
    s->span.bytes = dnnl_memory_desc_get_size(md);
    if (s->span.bytes > p->max_bytes)
        return err_set(err, ERR_LIMIT, "a tensor of %zu bytes, %zu are allowed", s->span.bytes,
                       p->max_bytes);
    s->root = root < 0 ? p->n_stores : p->stores[root].root;
    s->root_at = root < 0 ? 0 : p->stores[root].root_at + root_at;
    return p->n_stores++;
}

struct job *net_dnnl_emit_job(struct net_dnnl *p, const struct net_step *s, struct err *err)
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
    struct net_mem_span *root = &p->stores[p->stores[store].root].span;
    if (root->first < 0)
        root->first = p->n_jobs - 1;
    root->last = p->n_jobs - 1;
}

void net_dnnl_emit_arg(struct net_dnnl *p, struct job *j, int arg, int store, int blob)
{
    j->ref[j->n_args].arg = arg;
    j->ref[j->n_args].store = store;
    j->ref[j->n_args].blob = blob;
    j->n_args++;
    if (store >= 0)
        touch(p, store);
}

int net_dnnl_emit_loop(struct net_dnnl *p, const struct net_dnnl_loop *l, int from, int to,
                       struct err *err)
{
    struct job *j = net_dnnl_emit_job(p, l->step, err);
    if (!j)
        return ERR_MEMORY;
    j->loop = *l;
    j->loop_src = from;
    j->loop_dst = to;
    touch(p, from);
    touch(p, to);
    return 0;
}

int net_dnnl_emit_copy(struct net_dnnl *p, int from, int to, struct err *err)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t pd = NULL;
    struct job *j = net_dnnl_emit_job(p, NULL, err);
    dnnl_status_t st;
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
        return net_dnnl_emit_fail(err, NULL, "a change of layout", st);
    net_dnnl_emit_arg(p, j, DNNL_ARG_FROM, from, -1);
    net_dnnl_emit_arg(p, j, DNNL_ARG_TO, to, -1);
    return net_dnnl_emit_finish(p, j, pd, err);
}

int net_dnnl_emit_get(struct net_dnnl *p, int tensor, const dnnl_memory_desc_t *md, struct err *err)
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
    to = net_dnnl_emit_store(p, md, -1, 0, err);
    if (to < 0)
        return to;
    rc = net_dnnl_emit_copy(p, have, to, err);
    if (rc)
        return rc;
    p->copies[p->n_copies++] = (struct copy){tensor, to};
    return to;
}

int net_dnnl_emit_own(struct net_dnnl *p, int tensor, int plain, struct err *err)
{
    const struct store *s = &p->stores[p->places[tensor].store];
    dnnl_memory_desc_t md;
    int to, rc;
    if (!s->user && s->layout != LAYOUT_OTHER && (!plain || s->layout == LAYOUT_PLAIN))
        return p->places[tensor].store;
    if ((rc = net_dnnl_emit_md(p->g->tensors[tensor].d, LAYOUT_PLAIN, &md, err)))
        return rc;
    if (!s->user)
        return net_dnnl_emit_get(p, tensor, &md, err);
    /* the caller's memory cannot be used under another shape */
    to = net_dnnl_emit_store(p, &md, -1, 0, err);
    if (to < 0)
        return to;
    rc = net_dnnl_emit_copy(p, p->places[tensor].store, to, err);
    p->places[tensor].store = rc ? p->places[tensor].store : to;
    return rc ? rc : to;
}

int net_dnnl_emit_wanted(struct net_dnnl *p, int tensor, int *store, struct err *err)
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
    if (whole < 0) { /* the first part that is written makes the store of the whole concat */
        if ((rc = net_dnnl_emit_wanted(p, at->part_of, &whole, err)))
            return rc;
        if (whole < 0) {
            rc = net_dnnl_emit_md(p->g->tensors[at->part_of].d,
                                  p->block == 16 ? LAYOUT_BLOCK16 : LAYOUT_BLOCK8, &md, err);
            if (rc)
                return rc;
            whole = net_dnnl_emit_store(p, &md, -1, 0, err);
            if (whole < 0)
                return whole;
        }
        p->places[at->part_of].store = whole;
    }
    rc = net_dnnl_emit_md(d, p->block == 16 ? LAYOUT_BLOCK16 : LAYOUT_BLOCK8, &md, err);
    if (rc)
        return rc;
    rc = net_dnnl_emit_store(
        p, &md, whole, (size_t)at->channel * (size_t)d[2] * (size_t)d[3] * sizeof(float), err);
    *store = rc;
    return rc < 0 ? rc : 0;
}

int net_dnnl_emit_put(struct net_dnnl *p, int tensor, int wanted, const dnnl_memory_desc_t *md,
                      struct err *err)
{
    int store = wanted;
    if (store < 0 || !dnnl_memory_desc_equal(&p->stores[store].md, md))
        store = net_dnnl_emit_store(p, md, -1, 0, err);
    if (store >= 0)
        p->places[tensor].store = store;
    return store;
}
