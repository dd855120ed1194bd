/*
 * net_ref.h - the operators of docs/MODELS.md as plain loops, and a check of a model against them
 *
 * Written from the ONNX operator pages, without a look at gpu/: double accumulators, no layout, no
 * fusion.
 */
#ifndef RECOND_TESTS_NET_REF_H
#define RECOND_TESTS_NET_REF_H

#include "gpu/net/net.h"
#include "tests/support/onnx_build.h"
#include "tests/support/unit.h"

#include <math.h>
#include <stdio.h>

struct ref {
    int d[4];
    float *v;
};

/* ---------------------------------------------------------------------------------- tensors */

static void *ref_pool_blocks[4096];
static int ref_pool_n;

static inline struct ref ref_new(int n, int c, int h, int w)
{
    struct ref r = {{n, c, h, w}, calloc((size_t)n * c * h * w + 1, sizeof(float))};
    assert_non_null(r.v);
    assert_true(ref_pool_n < 4096);
    ref_pool_blocks[ref_pool_n++] = r.v;
    return r;
}

static inline void ref_free_all(void)
{
    while (ref_pool_n)
        free(ref_pool_blocks[--ref_pool_n]);
}

static inline size_t ref_count(const struct ref *r)
{
    return (size_t)r->d[0] * r->d[1] * r->d[2] * r->d[3];
}

static inline float *ref_at(const struct ref *r, int n, int c, int y, int x)
{
    return &r->v[(((size_t)n * r->d[1] + c) * r->d[2] + y) * r->d[3] + x];
}

/* splitmix64: value (z >> 40) 2^-24 * 4 - 2, in -2 ... 2 */
static inline float ref_uniform(uint64_t x)
{
    uint64_t z = x + 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return (float)(z >> 40) * 0x1p-24f * 4 - 2;
}

static inline struct ref ref_random(int n, int c, int h, int w, uint64_t seed, float scale)
{
    struct ref r = ref_new(n, c, h, w);
    for (size_t i = 0; i < ref_count(&r); i++)
        r.v[i] = ref_uniform(seed << 32 | i) * scale;
    return r;
}

/* ---------------------------------------------------------------------------------- operators */

struct ref_window {
    int k[2], stride[2], dil[2], lo[2], hi[2], group;
};

static inline int ref_out(int in, const struct ref_window *w, int a, int ceil_mode)
{
    int room = in + w->lo[a] + w->hi[a] - w->dil[a] * (w->k[a] - 1) - 1;
    int out = (room + (ceil_mode ? w->stride[a] - 1 : 0)) / w->stride[a] + 1;
    /* PyTorch: a last window that would begin in the padding is left out */
    if (ceil_mode && (out - 1) * w->stride[a] >= in + w->lo[a])
        out--;
    return out;
}

static inline struct ref ref_conv(struct ref x, struct ref w, const float *bias,
                                  struct ref_window p)
{
    p.k[0] = w.d[2];
    p.k[1] = w.d[3];
    struct ref y = ref_new(x.d[0], w.d[0], ref_out(x.d[2], &p, 0, 0), ref_out(x.d[3], &p, 1, 0));
    int per = w.d[0] / p.group;
    for (int n = 0; n < y.d[0]; n++)
        for (int o = 0; o < y.d[1]; o++)
            for (int i = 0; i < y.d[2]; i++)
                for (int j = 0; j < y.d[3]; j++) {
                    double sum = bias ? bias[o] : 0;
                    for (int c = 0; c < w.d[1]; c++)
                        for (int a = 0; a < p.k[0]; a++)
                            for (int b = 0; b < p.k[1]; b++) {
                                int r = i * p.stride[0] - p.lo[0] + a * p.dil[0];
                                int s = j * p.stride[1] - p.lo[1] + b * p.dil[1];
                                if (r >= 0 && r < x.d[2] && s >= 0 && s < x.d[3])
                                    sum += (double)*ref_at(&x, n, o / per * w.d[1] + c, r, s) *
                                           *ref_at(&w, o, c, a, b);
                            }
                    *ref_at(&y, n, o, i, j) = (float)sum;
                }
    return y;
}

/* Each input pixel adds its kernel to the result: the definition, not a convolution in disguise. */
static inline struct ref ref_deconv(struct ref x, struct ref w, const float *bias,
                                    struct ref_window p, const int extra[2])
{
    int size[2];
    for (int a = 0; a < 2; a++)
        size[a] = (x.d[2 + a] - 1) * p.stride[a] + p.dil[a] * (w.d[2 + a] - 1) + 1 - p.lo[a] -
                  p.hi[a] + extra[a];
    struct ref y = ref_new(x.d[0], w.d[1] * p.group, size[0], size[1]);
    int per = x.d[1] / p.group;
    for (int n = 0; n < x.d[0]; n++)
        for (int c = 0; c < x.d[1]; c++)
            for (int o = 0; o < w.d[1]; o++)
                for (int i = 0; i < x.d[2]; i++)
                    for (int j = 0; j < x.d[3]; j++)
                        for (int a = 0; a < w.d[2]; a++)
                            for (int b = 0; b < w.d[3]; b++) {
                                int r = i * p.stride[0] - p.lo[0] + a * p.dil[0];
                                int s = j * p.stride[1] - p.lo[1] + b * p.dil[1];
                                if (r >= 0 && r < size[0] && s >= 0 && s < size[1])
                                    *ref_at(&y, n, c / per * w.d[1] + o, r, s) +=
                                        *ref_at(&x, n, c, i, j) * *ref_at(&w, c, o, a, b);
                            }
    for (int n = 0; n < y.d[0] && bias; n++)
        for (int o = 0; o < y.d[1]; o++)
            for (int i = 0; i < size[0] * size[1]; i++)
                ref_at(&y, n, o, 0, 0)[i] += bias[o];
    return y;
}

enum ref_pool_kind { REF_MAX, REF_AVG, REF_AVG_PADDED };

static inline struct ref ref_pool(struct ref x, enum ref_pool_kind kind, struct ref_window p,
                                  int ceil_mode)
{
    struct ref y = ref_new(x.d[0], x.d[1], ref_out(x.d[2], &p, 0, ceil_mode),
                           ref_out(x.d[3], &p, 1, ceil_mode));
    for (int n = 0; n < y.d[0]; n++)
        for (int c = 0; c < y.d[1]; c++)
            for (int i = 0; i < y.d[2]; i++)
                for (int j = 0; j < y.d[3]; j++) {
                    double best = -INFINITY, sum = 0;
                    int count = 0;
                    for (int a = 0; a < p.k[0]; a++)
                        for (int b = 0; b < p.k[1]; b++) {
                            int r = i * p.stride[0] - p.lo[0] + a * p.dil[0];
                            int s = j * p.stride[1] - p.lo[1] + b * p.dil[1];
                            int in = r >= 0 && r < x.d[2] && s >= 0 && s < x.d[3];
                            count += in || kind == REF_AVG_PADDED;
                            if (in) {
                                best = fmax(best, *ref_at(&x, n, c, r, s));
                                sum += *ref_at(&x, n, c, r, s);
                            }
                        }
                    *ref_at(&y, n, c, i, j) = (float)(kind == REF_MAX ? best : sum / count);
                }
    return y;
}

static inline struct ref ref_map(struct ref x, double (*f)(double))
{
    struct ref y = ref_new(x.d[0], x.d[1], x.d[2], x.d[3]);
    for (size_t i = 0; i < ref_count(&x); i++)
        y.v[i] = (float)f(x.v[i]);
    return y;
}

static inline struct ref ref_affine(struct ref x, const float *a, const float *b)
{
    struct ref y = ref_new(x.d[0], x.d[1], x.d[2], x.d[3]);
    size_t plane = (size_t)x.d[2] * x.d[3];
    for (size_t i = 0; i < ref_count(&x); i++)
        y.v[i] = a[i / plane % x.d[1]] * x.v[i] + b[i / plane % x.d[1]];
    return y;
}

/* Dimensions of b equal to a's or 1. */
static inline struct ref ref_binary(struct ref a, struct ref b, char op)
{
    struct ref y = ref_new(a.d[0], a.d[1], a.d[2], a.d[3]);
    for (int n = 0; n < y.d[0]; n++)
        for (int c = 0; c < y.d[1]; c++)
            for (int i = 0; i < y.d[2]; i++)
                for (int j = 0; j < y.d[3]; j++) {
                    float u = *ref_at(&a, n, c, i, j);
                    float v = *ref_at(&b, b.d[0] > 1 ? n : 0, b.d[1] > 1 ? c : 0,
                                      b.d[2] > 1 ? i : 0, b.d[3] > 1 ? j : 0);
                    *ref_at(&y, n, c, i, j) = op == '+'   ? u + v
                                              : op == '-' ? u - v
                                              : op == '*' ? u * v
                                                          : u / v;
                }
    return y;
}

static inline struct ref ref_concat(struct ref a, struct ref b, int axis)
{
    int d[4] = {a.d[0], a.d[1], a.d[2], a.d[3]}, at[4];
    d[axis] += b.d[axis];
    struct ref y = ref_new(d[0], d[1], d[2], d[3]);
    for (at[0] = 0; at[0] < d[0]; at[0]++)
        for (at[1] = 0; at[1] < d[1]; at[1]++)
            for (at[2] = 0; at[2] < d[2]; at[2]++)
                for (at[3] = 0; at[3] < d[3]; at[3]++) {
                    int k[4] = {at[0], at[1], at[2], at[3]}, second = at[axis] >= a.d[axis];
                    if (second)
                        k[axis] -= a.d[axis];
                    *ref_at(&y, at[0], at[1], at[2], at[3]) =
                        *ref_at(second ? &b : &a, k[0], k[1], k[2], k[3]);
                }
    return y;
}

/* y[...][i][j] = x[...][row(i)][col(j)]; a source outside is `fill`. */
static inline struct ref ref_gather(struct ref x, int h, int w, const int *row, const int *col,
                                    float fill)
{
    struct ref y = ref_new(x.d[0], x.d[1], h, w);
    for (int n = 0; n < y.d[0]; n++)
        for (int c = 0; c < y.d[1]; c++)
            for (int i = 0; i < h; i++)
                for (int j = 0; j < w; j++)
                    *ref_at(&y, n, c, i, j) =
                        row[i] < 0 || row[i] >= x.d[2] || col[j] < 0 || col[j] >= x.d[3]
                            ? fill
                            : *ref_at(&x, n, c, row[i], col[j]);
    return y;
}

/* ---------------------------------------------------------------------------------- the check */

/* Plan and run the model on x. The result's shape is `want`'s; largest error over largest
 * |want|. */
static inline double ref_error(struct onnx_build *b, struct ref x, struct ref want)
{
    struct net *net = NULL;
    struct net_dnnl *plan = NULL;
    struct err err = {0};
    int shape[4] = {0};
    double worst = 0, most = 0;
    float *y = malloc((ref_count(&want) + 1) * sizeof *y);
    if (net_load_bytes(&net, b->file.p, b->file.n, NULL, NULL, NULL, &err) ||
        net_output_shape(net, x.d[0], x.d[2], x.d[3], shape, &err) ||
        net_dnnl_new(&plan, net, x.d[0], x.d[2], x.d[3], NULL, &err))
        fail_msg("%s: %s", err.where, err.text);
    if (memcmp(shape, want.d, sizeof shape))
        fail_msg("shape %dx%dx%dx%d, wanted %dx%dx%dx%d", shape[0], shape[1], shape[2], shape[3],
                 want.d[0], want.d[1], want.d[2], want.d[3]);
    for (int again = 0; again < 2; again++) { /* the second run meets used memory */
        for (size_t i = 0; i < ref_count(&want); i++)
            y[i] = NAN;
        assert_int_equal(net_dnnl_run(plan, x.v, y, &err), 0);
        for (size_t i = 0; i < ref_count(&want); i++) {
            double e = fabs((double)y[i] - want.v[i]);
            worst = isnan(e) ? INFINITY : fmax(worst, e);
            most = fmax(most, fabs(want.v[i]));
        }
    }
    net_dnnl_free(&plan);
    net_free(&net);
    assert_null(plan);
    assert_null(net);
    free(y);
    return worst / (most > 0 ? most : 1);
}

/* End the model with y, compare, clean up. */
static inline void ref_check(struct onnx_build *b, struct ref x, struct ref want, double bound)
{
    double e;
    onnx_end(b, "y");
    e = ref_error(b, x, want);
    if (!(e <= bound))
        fail_msg("error %g, allowed %g", e, bound);
    onnx_free(b);
    ref_free_all();
}

/* ---------------------------------------------------------------------------------- beginnings */

#define REF_ONES                                  \
    {                                             \
        {0, 0}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 1 \
    }

static inline void ref_weights(struct onnx_build *b, const char *name, struct ref w)
{
    onnx_f32(b, name, 4, (int64_t[]){w.d[0], w.d[1], w.d[2], w.d[3]}, w.v);
}

/*
 * A model whose tensor "x" has c channels. Without `conv` it is the input itself; with it a 3 x 3
 * convolution comes first, so that "x" has the layout that convolutions choose. *in is the input,
 * "x" is returned.
 */
static inline struct ref ref_begin(struct onnx_build *b, int opset, int conv, int n, int c, int h,
                                   int w, struct ref *in)
{
    struct ref_window p = REF_ONES;
    struct ref k;
    onnx_begin(b, opset);
    *in = ref_random(n, conv ? 5 : c, h, w, 1, 1);
    onnx_input(b, conv ? "in" : "x", -1, in->d[1], -1, -1);
    if (!conv)
        return *in;
    k = ref_random(c, 5, 3, 3, 2, 0.2f);
    ref_weights(b, "first", k);
    onnx_node(b, "Conv", "in first", "x");
    onnx_ints(b, "pads", 4, (int64_t[]){1, 1, 1, 1});
    for (int a = 0; a < 2; a++)
        p.lo[a] = p.hi[a] = 1;
    return ref_conv(*in, k, NULL, p);
}

#endif
