/* Steps that move numbers: copies between layouts, other shapes over the same bytes, our own
 * loops. */
#include "gpu/net/net_dnnl.h"

#include <string.h>

static int move_concat(struct net_dnnl *p, const struct net_step *s, struct err *err)
{
    const struct net_tensor *t = p->g->tensors;
    struct place *dst = &p->places[s->dst];
    int at = 0, rc;
    if (dst->store < 0) { /* no part has made the concat's store */
        dnnl_memory_desc_t md;
        int last = p->stores[p->places[s->src[0]].store].layout == LAYOUT_LAST;
        if ((rc = net_dnnl_emit_md(t[s->dst].d, last ? LAYOUT_LAST : LAYOUT_PLAIN, &md, err)))
            return rc;
        dst->store = net_dnnl_emit_store(p, &md, -1, 0, err);
        if (dst->store < 0)
            return dst->store;
    }
    for (int k = 0; k < s->n_src; at += t[s->src[k++]].d[s->axis]) {
        const struct place *src = &p->places[s->src[k]];
        dnnl_memory_desc_t md;
        dnnl_dims_t dims, from = {0};
        int part;
        if (src->part_of == s->dst && p->stores[src->store].root == p->stores[dst->store].root)
            continue; /* its writer wrote it in place */
        for (int i = 0; i < 4; i++)
            dims[i] = t[s->src[k]].d[i];
        from[s->axis] = at;
        if (dnnl_memory_desc_init_submemory(&md, &p->stores[dst->store].md, dims, from))
            return net_dnnl_emit_fail(err, s, "a part", dnnl_unimplemented);
        part = net_dnnl_emit_store(p, &md, dst->store, 0, err);
        if (part < 0)
            return part;
        if ((rc = net_dnnl_emit_copy(p, src->store, part, err)))
            return rc;
    }
    return 0;
}

/* Copies the bytes of a plain store under another descriptor to the result's place. */
static int copy_view(struct net_dnnl *p, const struct net_step *s, int src,
                     const dnnl_memory_desc_t *view, struct err *err)
{
    dnnl_memory_desc_t md;
    int from = net_dnnl_emit_store(p, view, src, 0, err), wanted, to, rc;
    if (from < 0)
        return from;
    if ((rc = net_dnnl_emit_wanted(p, s->dst, &wanted, err)))
        return rc;
    if (wanted >= 0)
        md = p->stores[wanted].md;
    else if ((rc = net_dnnl_emit_md(p->g->tensors[s->dst].d, LAYOUT_PLAIN, &md, err)))
        return rc;
    to = net_dnnl_emit_put(p, s->dst, wanted, &md, err);
    return to < 0 ? to : net_dnnl_emit_copy(p, from, to, err);
}

static int move_slice(struct net_dnnl *p, const struct net_step *s, struct err *err)
{
    dnnl_dims_t dims, from = {0, s->first, 0, 0};
    dnnl_memory_desc_t md;
    int src = net_dnnl_emit_own(p, s->src[0], 1, err);
    if (src < 0)
        return src;
    for (int i = 0; i < 4; i++)
        dims[i] = p->g->tensors[s->dst].d[i];
    if (dnnl_memory_desc_init_submemory(&md, &p->stores[src].md, dims, from))
        return net_dnnl_emit_fail(err, s, "this slice", dnnl_unimplemented);
    return copy_view(p, s, src, &md, err);
}

static int move_transpose(struct net_dnnl *p, const struct net_step *s, struct err *err)
{
    const int *d = p->g->tensors[s->src[0]].d;
    const dnnl_dim_t stride[4] = {(dnnl_dim_t)d[1] * d[2] * d[3], (dnnl_dim_t)d[2] * d[3], d[3], 1};
    dnnl_dims_t dims, strides;
    dnnl_memory_desc_t md;
    int src = net_dnnl_emit_own(p, s->src[0], 1, err);
    if (src < 0)
        return src;
    for (int i = 0; i < 4; i++) {
        dims[i] = d[s->perm[i]];
        strides[i] = stride[s->perm[i]];
    }
    if (dnnl_memory_desc_init_by_strides(&md, 4, dims, dnnl_f32, strides))
        return net_dnnl_emit_fail(err, s, "this transpose", dnnl_unimplemented);
    return copy_view(p, s, src, &md, err);
}

/* No copy: the result is the same bytes under another shape. */
static int move_reshape(struct net_dnnl *p, const struct net_step *s, struct err *err)
{
    dnnl_memory_desc_t md;
    int rc, src = net_dnnl_emit_own(p, s->src[0], 1, err);
    if (src < 0)
        return src;
    if ((rc = net_dnnl_emit_md(p->g->tensors[s->dst].d, LAYOUT_PLAIN, &md, err)))
        return rc;
    rc = net_dnnl_emit_store(p, &md, src, 0, err);
    p->places[s->dst].store = rc;
    return rc < 0 ? rc : 0;
}

static int move_loop(struct net_dnnl *p, const struct net_step *s, struct err *err)
{
    const int *in = p->g->tensors[s->src[0]].d, *out = p->g->tensors[s->dst].d;
    /* a fill must not reach the zeros that pad a block of channels */
    int plain = s->kind == NET_STEP_SHUFFLE || s->fill != 0, src, dst, wanted, rc;
    struct net_dnnl_loop l = {.step = s, .inner = 1, .channels = out[1]};
    dnnl_memory_desc_t md;
    src = net_dnnl_emit_own(p, s->src[0], plain, err);
    if (src < 0)
        return src;
    if ((rc = net_dnnl_emit_wanted(p, s->dst, &wanted, err)) ||
        (rc = net_dnnl_emit_md(out, p->stores[src].layout, &md, err)) ||
        (rc = dst = net_dnnl_emit_put(p, s->dst, wanted, &md, err)) < 0)
        return rc;
    switch (p->stores[src].layout) {
    case LAYOUT_LAST:
        l.inner = in[1];
        break;
    case LAYOUT_BLOCK8:
        l.inner = 8;
        break;
    case LAYOUT_BLOCK16:
        l.inner = 16;
        break;
    default:
        break;
    }
    for (int a = 0; a < 2; a++) {
        l.in[a] = in[2 + a];
        l.out[a] = out[2 + a];
    }
    l.outer =
        s->kind == NET_STEP_SHUFFLE ? out[0] * out[1] : in[0] * ((in[1] + l.inner - 1) / l.inner);
    return net_dnnl_emit_loop(p, &l, src, dst, err);
}

int net_dnnl_move(struct net_dnnl *p, const struct net_step *s, struct err *err)
{
    switch (s->kind) {
    case NET_STEP_CONCAT:
        return move_concat(p, s, err);
    case NET_STEP_SLICE:
        return move_slice(p, s, err);
    case NET_STEP_TRANSPOSE:
        return move_transpose(p, s, err);
    case NET_STEP_RESHAPE:
        return move_reshape(p, s, err);
    default:
        if (s->axis2[0].times && s->axis2[1].times)
            return net_dnnl_prim_resample(p, s, err);
        return move_loop(p, s, err);
    }
}
