#include "gpu/net/net_dnnl.h"

#include <malloc.h>
#include <stdlib.h>

/* Channels in a block of the layout that this processor's convolutions choose by themselves; 0 =
 * none. */
static int probe_block(struct net_dnnl *p)
{
    dnnl_dims_t sd = {1, 64, 32, 32}, wd = {64, 64, 3, 3}, strides = {1, 1}, pad = {1, 1};
    dnnl_memory_desc_t src, w;
    const dnnl_memory_desc_t *md;
    dnnl_convolution_desc_t desc;
    dnnl_primitive_desc_t pd = NULL;
    int block = 0;
    if (dnnl_memory_desc_init_by_tag(&src, 4, sd, dnnl_f32, dnnl_format_tag_any) ||
        dnnl_memory_desc_init_by_tag(&w, 4, wd, dnnl_f32, dnnl_format_tag_any) ||
        dnnl_convolution_forward_desc_init(&desc, dnnl_forward_inference, dnnl_convolution_direct,
                                           &src, &w, NULL, &src, strides, pad, pad) ||
        dnnl_primitive_desc_create(&pd, &desc, NULL, p->engine, NULL))
        return 0;
    md = dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 0);
    if (md->format_desc.blocking.inner_nblks == 1 && md->format_desc.blocking.inner_idxs[0] == 1)
        block = (int)md->format_desc.blocking.inner_blks[0];
    dnnl_primitive_desc_destroy(pd);
    return block == 8 || block == 16 ? block : 0;
}

/* Makes memory objects over the arena and the argument lists of all jobs, so run() only runs
 * them. */
static int bind(struct net_dnnl *p, struct err *err)
{
    dnnl_status_t st = dnnl_success;
    for (int i = 0; !st && i < p->n_stores; i++) {
        struct store *s = &p->stores[i];
        const struct store *root = &p->stores[s->root];
        void *data = s->user ? DNNL_MEMORY_NONE : (char *)p->arena + root->span.at + s->root_at;
        if (root->span.first >= 0)
            st = dnnl_memory_create(&s->mem, &s->md, p->engine, data);
    }
    for (int i = 0; !st && i < p->n_jobs; i++) {
        struct job *j = &p->jobs[i];
        for (int k = 0; k < j->n_args; k++) {
            j->args[k].arg = j->ref[k].arg;
            j->args[k].memory = j->ref[k].store >= 0  ? p->stores[j->ref[k].store].mem
                                : j->ref[k].blob >= 0 ? p->blobs[j->ref[k].blob].mem
                                                      : j->scratch;
        }
        if (j->scratch)
            st = dnnl_memory_set_data_handle(j->scratch, p->scratch);
    }
    return st ? net_dnnl_emit_fail(err, NULL, "the plan's memory", st) : 0;
}

int net_dnnl_new(struct net_dnnl **out, const struct net *net, int n, int h, int w,
                 const struct net_limits *limits, struct err *err)
{
    const struct net_limits *l = limits ? limits : &net->limits;
    struct net_dnnl *p = calloc(1, sizeof *p);
    dnnl_status_t st;
    int rc;

    *out = NULL;
    if (!p)
        return err_set(err, ERR_MEMORY, "no memory for a plan");
    p->max_bytes = l->max_plan_bytes;
    rc = net_graph_new(&p->g, net, n, h, w, l, err);
    if (rc)
        goto fail;
    st = dnnl_engine_create(&p->engine, dnnl_cpu, 0);
    if (!st)
        st = dnnl_stream_create(&p->stream, p->engine, dnnl_stream_default_flags);
    if (st) {
        rc = net_dnnl_emit_fail(err, NULL, "an engine", st);
        goto fail;
    }
    p->block = probe_block(p);
    if ((rc = net_dnnl_plan(p, err)) || (rc = net_dnnl_plan_arena(p, err)) || (rc = bind(p, err)))
        goto fail;
    malloc_trim(0); /* the weights' plain copies are large, and are not needed again */
    *out = p;
    return 0;
fail:
    net_dnnl_free(&p);
    return rc;
}

void net_dnnl_free(struct net_dnnl **plan)
{
    struct net_dnnl *p = *plan;
    if (!p)
        return;
    for (int i = 0; i < p->n_jobs; i++) {
        dnnl_primitive_destroy(p->jobs[i].prim);
        dnnl_memory_destroy(p->jobs[i].scratch);
    }
    for (int i = 0; i < p->n_stores; i++)
        dnnl_memory_destroy(p->stores[i].mem);
    for (int i = 0; i < p->n_blobs; i++) {
        dnnl_memory_destroy(p->blobs[i].mem);
        free(p->blobs[i].data);
    }
    dnnl_stream_destroy(p->stream);
    dnnl_engine_destroy(p->engine);
    free(p->places);
    free(p->stores);
    free(p->blobs);
    free(p->jobs);
    free(p->copies);
    free(p->arena);
    free(p->scratch);
    net_graph_free(&p->g);
    free(p);
    *plan = NULL;
    malloc_trim(0); /* frees tens of megabytes, in pieces below the allocator's own threshold */
}

static const float *data_of(const struct net_dnnl *p, int store)
{
    const struct store *s = &p->stores[store];
    return (const float *)((const char *)p->arena + p->stores[s->root].span.at + s->root_at);
}

int net_dnnl_run(struct net_dnnl *p, const float *in, float *out, struct err *err)
{
    /* oneDNN's handles are not const; it does not write to a source */
    dnnl_status_t st =
        dnnl_memory_set_data_handle(p->stores[p->in_store].mem, (void *)(uintptr_t)in);
    if (!st)
        st = dnnl_memory_set_data_handle(p->stores[p->out_store].mem, out);
    for (int i = 0; !st && i < p->n_jobs; i++) {
        const struct job *j = &p->jobs[i];
        if (j->prim)
            st = dnnl_primitive_execute(j->prim, p->stream, j->n_args, j->args);
        else
            net_dnnl_loop_run(&j->loop, data_of(p, j->loop_src),
                              (float *)(uintptr_t)data_of(p, j->loop_dst));
    }
    if (!st)
        st = dnnl_stream_wait(p->stream);
    return st ? net_dnnl_emit_fail(err, NULL, "to run", st) : 0;
}

size_t net_dnnl_bytes(const struct net_dnnl *p)
{
    return p->blob_bytes + p->arena_bytes + p->scratch_bytes;
}
