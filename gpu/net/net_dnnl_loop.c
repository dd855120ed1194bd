#include "gpu/net/net_dnnl_loop.h"

#include <string.h>

static void remap_row(const struct net_dnnl_loop *l, const float *row, float *y)
{
    const int *col = l->step->axis2[1].i0;
    const float fill = l->step->fill;
    const size_t inner = (size_t)l->inner;
    for (int j = 0; j < l->out[1]; j++, y += inner) {
        const float *x = row && col[j] >= 0 ? row + (size_t)col[j] * inner : NULL;
        for (size_t k = 0; k < inner; k++)
            y[k] = x ? x[k] : fill;
    }
}

static void remap(const struct net_dnnl_loop *l, const float *src, float *dst)
{
    const size_t in_row = (size_t)l->in[1] * (size_t)l->inner;
    const size_t out_row = (size_t)l->out[1] * (size_t)l->inner;
    const int *row = l->step->axis2[0].i0;
    for (int o = 0; o < l->outer; o++, src += in_row * (size_t)l->in[0])
        for (int i = 0; i < l->out[0]; i++, dst += out_row) {
            if (i && row[i] == row[i - 1])
                memcpy(dst, dst - out_row, out_row * sizeof *dst);
            else
                remap_row(l, row[i] < 0 ? NULL : src + (size_t)row[i] * in_row, dst);
        }
}

/* Interpolates between columns of two rows first, then between the rows, as the frameworks do. */
static void lerp_row(const struct net_dnnl_loop *l, const float *a, const float *b, float wb,
                     float *y)
{
    const struct net_axis *c = &l->step->axis2[1];
    const size_t inner = (size_t)l->inner;
    for (int j = 0; j < l->out[1]; j++, y += inner) {
        const size_t p = (size_t)c->i0[j] * inner, q = (size_t)c->i1[j] * inner;
        const float w = c->w1[j];
        for (size_t k = 0; k < inner; k++) {
            float top = (1 - w) * a[p + k] + w * a[q + k];
            float bottom = (1 - w) * b[p + k] + w * b[q + k];
            y[k] = (1 - wb) * top + wb * bottom;
        }
    }
}

static void lerp(const struct net_dnnl_loop *l, const float *src, float *dst)
{
    const size_t in_row = (size_t)l->in[1] * (size_t)l->inner;
    const size_t out_row = (size_t)l->out[1] * (size_t)l->inner;
    const struct net_axis *r = &l->step->axis2[0];
    for (int o = 0; o < l->outer; o++, src += in_row * (size_t)l->in[0])
        for (int i = 0; i < l->out[0]; i++, dst += out_row)
            lerp_row(l, src + (size_t)r->i0[i] * in_row, src + (size_t)r->i1[i] * in_row, r->w1[i],
                     dst);
}

/* ONNX DepthToSpace on the plain layout. DCR: channel (bi * b + bj) * C + c; CRD: (c * b + bi) * b
 * + bj. */
static void shuffle(const struct net_dnnl_loop *l, const float *src, float *dst)
{
    const int b = l->step->block, c_out = l->channels;
    const size_t plane = (size_t)l->in[0] * (size_t)l->in[1];
    for (int o = 0; o < l->outer; o++)
        for (int i = 0; i < l->out[0]; i++)
            for (int j = 0; j < l->out[1]; j++) {
                int n = o / c_out, c = o % c_out, at = i % b * b + j % b;
                int from = l->step->crd ? c * b * b + at : at * c_out + c;
                *dst++ = src[((size_t)n * (size_t)c_out * (size_t)(b * b) + (size_t)from) * plane +
                             (size_t)(i / b) * (size_t)l->in[1] + (size_t)(j / b)];
            }
}

void net_dnnl_loop_run(const struct net_dnnl_loop *l, const float *src, float *dst)
{
    if (l->step->kind == NET_STEP_SHUFFLE)
        shuffle(l, src, dst);
    else if (l->step->kind == NET_STEP_LERP)
        lerp(l, src, dst);
    else
        remap(l, src, dst);
}
