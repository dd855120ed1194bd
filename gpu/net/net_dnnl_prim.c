/* Steps that are one oneDNN primitive. The primitive chooses the layouts, unless the result already
 * has a place. */
#include "gpu/net/net_dnnl.h"

#include "proto/array.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------------------------- attributes */

static dnnl_status_t append_act(dnnl_post_ops_t ops, const struct net_act *act)
{
    static const dnnl_alg_kind_t alg[] = {
        [NET_ACT_RELU] = dnnl_eltwise_relu,
        [NET_ACT_CLIP] = dnnl_eltwise_clip,
        [NET_ACT_ELU] = dnnl_eltwise_elu,
        [NET_ACT_SIGMOID] = dnnl_eltwise_logistic,
        [NET_ACT_TANH] = dnnl_eltwise_tanh,
        [NET_ACT_SOFTPLUS] = dnnl_eltwise_soft_relu,
        [NET_ACT_EXP] = dnnl_eltwise_exp,
        [NET_ACT_LOG] = dnnl_eltwise_log,
        [NET_ACT_SQRT] = dnnl_eltwise_sqrt,
        [NET_ACT_ABS] = dnnl_eltwise_abs,
        [NET_ACT_HARDSWISH] = dnnl_eltwise_hardswish,
        [NET_ACT_POW] = dnnl_eltwise_pow,
        [NET_ACT_LINEAR] = dnnl_eltwise_linear,
    };
    if (act->kind == NET_ACT_NONE)
        return dnnl_success;
    return dnnl_post_ops_append_eltwise(ops, 1, alg[act->kind], act->a, act->b);
}

/* Attributes of a primitive: the caller's scratchpad; behind the result come, in this order and if
 * requested, the sum with the old result, the addition of a factor, the activation. */
static dnnl_status_t make_attr(dnnl_primitive_attr_t *attr, int sum, const dnnl_memory_desc_t *add,
                               const struct net_act *act)
{
    dnnl_post_ops_t ops = NULL;
    dnnl_status_t st = dnnl_primitive_attr_create(attr);
    if (!st)
        st = dnnl_primitive_attr_set_scratchpad_mode(*attr, dnnl_scratchpad_mode_user);
    if (!st)
        st = dnnl_post_ops_create(&ops);
    if (!st && sum)
        st = dnnl_post_ops_append_sum(ops, 1);
    if (!st && add)
        st = dnnl_post_ops_append_binary(ops, dnnl_binary_add, add);
    if (!st && act)
        st = append_act(ops, act);
    if (!st)
        st = dnnl_primitive_attr_set_post_ops(*attr, ops);
    dnnl_post_ops_destroy(ops);
    return st;
}

static dnnl_status_t make_pd(struct net_dnnl *p, dnnl_primitive_desc_t *pd,
                             const_dnnl_op_desc_t desc, int sum, const dnnl_memory_desc_t *add,
                             const struct net_act *act)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_status_t st = make_attr(&attr, sum, add, act);
    *pd = NULL;
    if (!st)
        st = dnnl_primitive_desc_create(pd, desc, attr, p->engine, NULL);
    dnnl_primitive_attr_destroy(attr);
    return st;
}

/* ---------------------------------------------------------------------------------- blobs */

/* Changes weights or factors from layout `from` (plain) to the primitive's, `to`. Returns index or
 * code. */
static int add_blob(struct net_dnnl *p, float *values, const dnnl_memory_desc_t *from,
                    const dnnl_memory_desc_t *to, struct err *err)
{
    dnnl_primitive_desc_t pd = NULL;
    dnnl_primitive_t prim = NULL;
    dnnl_memory_t a = NULL;
    struct blob *b;
    dnnl_status_t st;
    if (array_grow(&p->blobs, &p->cap_blobs, (size_t)p->n_blobs + 1, sizeof *p->blobs))
        return err_set(err, ERR_MEMORY, "no memory for a plan");
    b = &p->blobs[p->n_blobs];
    *b = (struct blob){.md = *to, .bytes = dnnl_memory_desc_get_size(to)};
    if (b->bytes > p->max_bytes || p->blob_bytes > p->max_bytes - b->bytes)
        return err_set(err, ERR_LIMIT, "weights of more than %zu bytes", p->max_bytes);
    b->data = aligned_alloc(64, (b->bytes / 64 + 1) * 64);
    if (!b->data)
        return err_set(err, ERR_MEMORY, "no memory for weights");
    p->n_blobs++;
    p->blob_bytes += b->bytes;
    st = dnnl_memory_create(&b->mem, to, p->engine, b->data);
    if (!st)
        st = dnnl_memory_create(&a, from, p->engine, values);
    if (!st)
        st = dnnl_reorder_primitive_desc_create(&pd, from, p->engine, to, p->engine, NULL);
    if (!st)
        st = dnnl_primitive_create(&prim, pd);
    if (!st) {
        dnnl_exec_arg_t args[2] = {{DNNL_ARG_FROM, a}, {DNNL_ARG_TO, b->mem}};
        st = dnnl_primitive_execute(prim, p->stream, 2, args);
    }
    if (!st)
        st = dnnl_stream_wait(p->stream);
    dnnl_primitive_destroy(prim);
    dnnl_primitive_desc_destroy(pd);
    dnnl_memory_destroy(a);
    return st ? net_dnnl_emit_fail(err, NULL, "a layout of weights", st) : p->n_blobs - 1;
}

/* [1][C][1][1] in plain order. */
static int channel_blob(struct net_dnnl *p, float *values, int channels, dnnl_memory_desc_t *md,
                        struct err *err)
{
    const int d[4] = {1, channels, 1, 1};
    int rc = net_dnnl_emit_md(d, LAYOUT_PLAIN, md, err);
    return rc ? rc : add_blob(p, values, md, md, err);
}

/* ---------------------------------------------------------------------------------- convolution */

static dnnl_status_t any_md(dnnl_memory_desc_t *md, int n, const dnnl_dim_t *dims)
{
    return dnnl_memory_desc_init_by_tag(md, n, dims, dnnl_f32, dnnl_format_tag_any);
}

/* Dimensions of the weights in oneDNN's order, groups first if any. Returns how many. */
static int weight_dims(const struct net_dnnl *p, const struct net_step *s, dnnl_dims_t d)
{
    int n = 0;
    if (s->group > 1)
        d[n++] = s->group;
    d[n++] = p->g->tensors[s->dst].d[1] / s->group;
    d[n++] = p->g->tensors[s->src[0]].d[1] / s->group;
    d[n++] = s->win.k[0];
    d[n++] = s->win.k[1];
    return n;
}

static dnnl_status_t conv_pd(struct net_dnnl *p, const struct net_step *s,
                             const dnnl_memory_desc_t *dst, dnnl_primitive_desc_t *pd)
{
    const struct net_window *w = &s->win;
    dnnl_dims_t wd, strides = {w->stride[0], w->stride[1]}, dil = {w->dil[0] - 1, w->dil[1] - 1};
    dnnl_dims_t lo = {w->lo[0], w->lo[1]}, hi = {w->hi[0], w->hi[1]}, sd, dd, bd;
    dnnl_memory_desc_t src_any, w_any, b_any, dst_any, *bias = s->bias ? &b_any : NULL;
    union {
        dnnl_convolution_desc_t conv;
        dnnl_deconvolution_desc_t deconv;
    } desc;
    int n = weight_dims(p, s, wd);
    dnnl_status_t st;
    for (int i = 0; i < 4; i++) {
        sd[i] = p->g->tensors[s->src[0]].d[i];
        dd[i] = p->g->tensors[s->dst].d[i];
    }
    bd[0] = dd[1];
    *pd = NULL;
    if ((st = any_md(&src_any, 4, sd)) || (st = any_md(&w_any, n, wd)) ||
        (st = any_md(&b_any, 1, bd)) || (st = any_md(&dst_any, 4, dd)))
        return st;
    dst = dst ? dst : &dst_any;
    if (s->kind == NET_STEP_CONV)
        st = dnnl_dilated_convolution_forward_desc_init(&desc.conv, dnnl_forward_inference,
                                                        dnnl_convolution_direct, &src_any, &w_any,
                                                        bias, dst, strides, dil, lo, hi);
    else
        st = dnnl_dilated_deconvolution_forward_desc_init(&desc.deconv, dnnl_forward_inference,
                                                          dnnl_deconvolution_direct, &src_any,
                                                          &w_any, bias, dst, strides, dil, lo, hi);
    return st ? st : make_pd(p, pd, &desc, s->residual >= 0, NULL, &s->act);
}

static int weight_blob(struct net_dnnl *p, const struct net_step *s, const dnnl_memory_desc_t *to,
                       struct err *err)
{
    static const dnnl_format_tag_t plain[2] = {dnnl_oihw, dnnl_goihw};
    size_t count = net_graph_weight_count(p->g, s);
    float *w = malloc((count + 1) * sizeof *w);
    dnnl_memory_desc_t from;
    dnnl_dims_t d;
    int n = weight_dims(p, s, d), rc;
    if (!w)
        return err_set(err, ERR_MEMORY, "no memory for weights");
    rc = net_graph_weight(p->g, s, w, count, err);
    if (!rc && dnnl_memory_desc_init_by_tag(&from, n, d, dnnl_f32, plain[n - 4]))
        rc = net_dnnl_emit_fail(err, s, "these weights", dnnl_invalid_arguments);
    if (!rc)
        rc = add_blob(p, w, &from, to, err);
    free(w);
    return rc;
}

/* The residual must lie in the store that the convolution adds to. */
static int bring_residual(struct net_dnnl *p, const struct net_step *s, int dst, struct err *err)
{
    int from = p->places[s->residual].store;
    return from == dst ? 0 : net_dnnl_emit_copy(p, from, dst, err);
}

static int prim_conv(struct net_dnnl *p, const struct net_step *s, struct err *err)
{
    dnnl_primitive_desc_t pd;
    dnnl_memory_desc_t src_md, w_md, b_md, dst_md;
    dnnl_status_t st = dnnl_unimplemented;
    int wanted, src, dst, weight, bias = -1, rc;
    struct job *j;
    if ((rc = net_dnnl_emit_wanted(p, s->dst, &wanted, err)))
        return rc;
    if (wanted >= 0)
        st = conv_pd(p, s, &p->stores[wanted].md, &pd);
    if (st)
        st = conv_pd(p, s, NULL, &pd);
    if (st)
        return net_dnnl_emit_fail(err, s, "this convolution", st);
    src_md = *dnnl_primitive_desc_query_md(pd, dnnl_query_src_md, 0);
    w_md = *dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0);
    dst_md = *dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 0);
    rc = src = net_dnnl_emit_get(p, s->src[0], &src_md, err);
    if (rc >= 0)
        rc = weight = weight_blob(p, s, &w_md, err);
    if (rc >= 0 && s->bias) {
        dnnl_dims_t channels = {p->g->tensors[s->dst].d[1]};
        dnnl_memory_desc_init_by_tag(&b_md, 1, channels, dnnl_f32, dnnl_x);
        rc = bias = add_blob(p, s->bias, &b_md, &b_md, err);
    }
    if (rc >= 0)
        rc = dst = net_dnnl_emit_put(p, s->dst, wanted, &dst_md, err);
    if (rc >= 0 && s->residual >= 0)
        rc = bring_residual(p, s, dst, err);
    j = rc >= 0 ? net_dnnl_emit_job(p, s, err) : NULL;
    if (!j) {
        dnnl_primitive_desc_destroy(pd);
        return rc < 0 ? rc : ERR_MEMORY;
    }
    net_dnnl_emit_arg(p, j, DNNL_ARG_SRC, src, -1);
    net_dnnl_emit_arg(p, j, DNNL_ARG_WEIGHTS, -1, weight);
    net_dnnl_emit_arg(p, j, DNNL_ARG_DST, dst, -1);
    if (bias >= 0)
        net_dnnl_emit_arg(p, j, DNNL_ARG_BIAS, -1, bias);
    return net_dnnl_emit_finish(p, j, pd, err);
}

/* ---------------------------------------------------------------------------------- the others */

/* Adds the job of primitive descriptor pd, which is destroyed: one source, a second one or a factor
 * (-1: none), a factor to be added (-1: none), one result. */
static int emit(struct net_dnnl *p, const struct net_step *s, dnnl_primitive_desc_t pd, int src0,
                int src1, int blob1, int add_blob_index, int wanted, struct err *err)
{
    const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 0);
    int dst = net_dnnl_emit_put(p, s->dst, wanted, md, err), rc = dst < 0 ? dst : 0;
    struct job *j = rc ? NULL : net_dnnl_emit_job(p, s, err);
    if (!j) {
        dnnl_primitive_desc_destroy(pd);
        return rc ? rc : ERR_MEMORY;
    }
    net_dnnl_emit_arg(p, j, DNNL_ARG_SRC_0, src0, -1);
    if (src1 >= 0 || blob1 >= 0)
        net_dnnl_emit_arg(p, j, DNNL_ARG_SRC_1, src1, blob1);
    if (add_blob_index >= 0)
        net_dnnl_emit_arg(p, j, DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, -1,
                          add_blob_index);
    net_dnnl_emit_arg(p, j, DNNL_ARG_DST, dst, -1);
    return net_dnnl_emit_finish(p, j, pd, err);
}

static int emit_eltwise(struct net_dnnl *p, const struct net_step *s, dnnl_alg_kind_t alg, float a,
                        float b, struct err *err)
{
    int src = p->places[s->src[0]].store, wanted,
        rc = net_dnnl_emit_wanted(p, s->dst, &wanted, err);
    dnnl_eltwise_desc_t desc;
    dnnl_primitive_desc_t pd;
    dnnl_status_t st;
    if (rc)
        return rc;
    st = dnnl_eltwise_forward_desc_init(&desc, dnnl_forward_inference, alg, &p->stores[src].md, a,
                                        b);
    if (!st)
        st = make_pd(p, &pd, &desc, 0, NULL, NULL);
    if (st)
        return net_dnnl_emit_fail(err, s, "this activation", st);
    return emit(p, s, pd, src, -1, -1, -1, wanted, err);
}

static int prim_act(struct net_dnnl *p, const struct net_step *s, struct err *err)
{
    dnnl_alg_kind_t alg = dnnl_alg_kind_undef;
    float scale, a = 0, b = 0;
    dnnl_post_ops_t ops = NULL;
    dnnl_status_t st = dnnl_post_ops_create(&ops);
    if (!st)
        st = append_act(ops, &s->act);
    if (!st)
        st = dnnl_post_ops_get_params_eltwise(ops, 0, &scale, &alg, &a, &b);
    dnnl_post_ops_destroy(ops);
    return st ? net_dnnl_emit_fail(err, s, "this activation", st)
              : emit_eltwise(p, s, alg, a, b, err);
}

static int prim_affine(struct net_dnnl *p, const struct net_step *s, struct err *err)
{
    int channels = p->g->tensors[s->dst].d[1], same = 1, wanted, mul, add, rc;
    int src = p->places[s->src[0]].store;
    dnnl_memory_desc_t md;
    dnnl_binary_desc_t desc;
    dnnl_primitive_desc_t pd;
    dnnl_status_t st;
    for (int c = 1; c < channels; c++)
        same = same && s->scale[c] == s->scale[0] && s->bias[c] == s->bias[0];
    if (same)
        return emit_eltwise(p, s, dnnl_eltwise_linear, s->scale[0], s->bias[0], err);
    if ((rc = mul = channel_blob(p, s->scale, channels, &md, err)) < 0 ||
        (rc = add = channel_blob(p, s->bias, channels, &md, err)) < 0 ||
        (rc = net_dnnl_emit_wanted(p, s->dst, &wanted, err)))
        return rc;
    st = dnnl_binary_desc_init(&desc, dnnl_binary_mul, &p->stores[src].md, &md, &p->stores[src].md);
    if (!st)
        st = make_pd(p, &pd, &desc, 0, &md, NULL);
    if (st)
        return net_dnnl_emit_fail(err, s, "this scaling", st);
    return emit(p, s, pd, src, -1, mul, add, wanted, err);
}

static int prim_binary(struct net_dnnl *p, const struct net_step *s, struct err *err)
{
    static const dnnl_alg_kind_t alg[] = {dnnl_binary_add, dnnl_binary_sub, dnnl_binary_mul,
                                          dnnl_binary_div};
    int src0, src1, wanted, rc = net_dnnl_emit_wanted(p, s->dst, &wanted, err);
    dnnl_memory_desc_t md;
    dnnl_binary_desc_t desc;
    dnnl_primitive_desc_t pd;
    enum layout layout;
    dnnl_status_t st;
    if (rc || (rc = src0 = net_dnnl_emit_own(p, s->src[0], 0, err)) < 0)
        return rc;
    layout = p->stores[src0].layout;
    if ((rc = net_dnnl_emit_md(p->g->tensors[s->src[1]].d, layout, &md, err)) ||
        (rc = src1 = net_dnnl_emit_get(p, s->src[1], &md, err)) < 0)
        return rc;
    st =
        dnnl_binary_desc_init(&desc, alg[s->binary], &p->stores[src0].md, &md, &p->stores[src0].md);
    if (!st)
        st = make_pd(p, &pd, &desc, 0, NULL, &s->act);
    if (st)
        return net_dnnl_emit_fail(err, s, "this arithmetic", st);
    return emit(p, s, pd, src0, src1, -1, -1, wanted, err);
}

static int prim_pool(struct net_dnnl *p, const struct net_step *s, struct err *err)
{
    static const dnnl_alg_kind_t alg[] = {dnnl_pooling_max, dnnl_pooling_avg_exclude_padding,
                                          dnnl_pooling_avg_include_padding};
    const struct net_window *w = &s->win;
    dnnl_dims_t strides = {w->stride[0], w->stride[1]}, kernel = {w->k[0], w->k[1]}, dd;
    dnnl_dims_t lo = {w->lo[0], w->lo[1]}, hi = {w->hi[0], w->hi[1]};
    dnnl_dims_t dil = {w->dil[0] - 1, w->dil[1] - 1};
    int src = p->places[s->src[0]].store, wanted,
        rc = net_dnnl_emit_wanted(p, s->dst, &wanted, err);
    dnnl_memory_desc_t any;
    dnnl_pooling_v2_desc_t desc;
    dnnl_primitive_desc_t pd;
    dnnl_status_t st;
    if (rc)
        return rc;
    for (int i = 0; i < 4; i++)
        dd[i] = p->g->tensors[s->dst].d[i];
    st = any_md(&any, 4, dd);
    if (!st)
        st = dnnl_pooling_v2_forward_desc_init(&desc, dnnl_forward_inference, alg[s->pool],
                                               &p->stores[src].md, &any, strides, kernel, dil, lo,
                                               hi);
    if (!st)
        st = make_pd(p, &pd, &desc, 0, NULL, NULL);
    if (st)
        return net_dnnl_emit_fail(err, s, "this pooling", st);
    return emit(p, s, pd, src, -1, -1, -1, wanted, err);
}

int net_dnnl_prim_resample(struct net_dnnl *p, const struct net_step *s, struct err *err)
{
    dnnl_alg_kind_t alg =
        s->kind == NET_STEP_LERP ? dnnl_resampling_linear : dnnl_resampling_nearest;
    int src = net_dnnl_emit_own(p, s->src[0], 0, err), wanted, rc;
    dnnl_memory_desc_t md;
    dnnl_resampling_desc_t desc;
    dnnl_primitive_desc_t pd;
    dnnl_status_t st;
    if (src < 0)
        return src;
    if ((rc = net_dnnl_emit_wanted(p, s->dst, &wanted, err)) ||
        (rc = net_dnnl_emit_md(p->g->tensors[s->dst].d, p->stores[src].layout, &md, err)))
        return rc;
    st = dnnl_resampling_forward_desc_init(&desc, dnnl_forward_inference, alg, NULL,
                                           &p->stores[src].md, &md);
    if (!st)
        st = make_pd(p, &pd, &desc, 0, NULL, NULL);
    if (st)
        return net_dnnl_emit_fail(err, s, "this resize", st);
    return emit(p, s, pd, src, -1, -1, -1, wanted, err);
}

int net_dnnl_prim(struct net_dnnl *p, const struct net_step *s, struct err *err)
{
    switch (s->kind) {
    case NET_STEP_ACT:
        return prim_act(p, s, err);
    case NET_STEP_AFFINE:
        return prim_affine(p, s, err);
    case NET_STEP_BINARY:
        return prim_binary(p, s, err);
    case NET_STEP_POOL:
        return prim_pool(p, s, err);
    default:
        return prim_conv(p, s, err);
    }
}
