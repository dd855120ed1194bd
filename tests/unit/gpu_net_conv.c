/* Convolutions, dense layers and pools of the oneDNN executor against plain loops. */
#include "tests/support/net_ref.h"
#include "tests/support/other_cpus.h"
#include "tests/support/unit.h"

#define BOUND 2e-6 /* float32 sums of up to 1,152 products, against double: 1e-7 sqrt(1152) */

struct conv_case {
    int n, c, o, h, w, k[2], group, stride[2], dil[2], lo[2], hi[2], bias;
};

static const struct conv_case convs[] = {
    {1, 3, 16, 17, 23, {7, 7}, 1, {2, 2}, {1, 1}, {3, 3}, {3, 3}, 1},
    {2, 16, 32, 9, 11, {3, 3}, 1, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 0},
    {1, 20, 7, 9, 11, {3, 3}, 1, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 1},
    {1, 64, 64, 8, 8, {1, 1}, 1, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 1},
    {1, 64, 128, 9, 7, {1, 1}, 1, {2, 2}, {1, 1}, {0, 0}, {0, 0}, 0},
    {2, 32, 32, 12, 10, {3, 3}, 32, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}, /* depthwise */
    {1, 24, 24, 12, 10, {5, 5}, 24, {2, 2}, {1, 1}, {2, 2}, {2, 2}, 0},
    {1, 12, 18, 12, 10, {3, 3}, 3, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}, /* groups */
    {1, 32, 64, 12, 10, {3, 3}, 2, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1},
    {1, 16, 16, 14, 15, {3, 3}, 1, {1, 1}, {2, 3}, {2, 3}, {2, 3}, 1}, /* dilated */
    {1,
     16,
     16,
     14,
     15,
     {3, 5},
     1,
     {2, 1},
     {1, 1},
     {0, 2},
     {1, 1},
     1}, /* uneven padding, kernel, stride */
    {1, 8, 1, 16, 16, {3, 3}, 1, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}, /* one channel out */
    {1, 16, 16, 6, 7, {3, 3}, 1, {1, 1}, {1, 1}, {4, 3}, {5, 3}, 1}, /* padding over the kernel */
    {1, 16, 16, 6, 7, {1, 1}, 1, {1, 2}, {1, 1}, {1, 2}, {0, 1}, 1},
    {1, 1, 1, 1, 1, {1, 1}, 1, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 0},
};

static struct ref_window window_of(const struct conv_case *c)
{
    return (struct ref_window){{c->k[0], c->k[1]},     {c->stride[0], c->stride[1]},
                               {c->dil[0], c->dil[1]}, {c->lo[0], c->lo[1]},
                               {c->hi[0], c->hi[1]},   c->group};
}

static void window_attrs(struct onnx_build *b, const struct conv_case *c)
{
    onnx_ints(b, "strides", 2, (int64_t[]){c->stride[0], c->stride[1]});
    onnx_ints(b, "dilations", 2, (int64_t[]){c->dil[0], c->dil[1]});
    onnx_ints(b, "kernel_shape", 2, (int64_t[]){c->k[0], c->k[1]});
    onnx_ints(b, "pads", 4, (int64_t[]){c->lo[0], c->lo[1], c->hi[0], c->hi[1]});
    onnx_int(b, "group", c->group);
}

TEST(convolutions)
{
    for (size_t i = 0; i < sizeof convs / sizeof *convs; i++)
        for (int first = 0; first < 2; first++) {
            const struct conv_case *c = &convs[i];
            struct onnx_build b;
            struct ref in, x, w, bias;
            x = ref_begin(&b, 11, first, c->n, c->c, c->h, c->w, &in);
            w = ref_random(c->o, c->c / c->group, c->k[0], c->k[1], 3, 0.5f);
            bias = ref_random(1, c->o, 1, 1, 4, 1);
            ref_weights(&b, "w", w);
            onnx_f32(&b, "b", 1, (int64_t[]){c->o}, bias.v);
            onnx_node(&b, "Conv", c->bias ? "x w b" : "x w", "y");
            window_attrs(&b, c);
            ref_check(&b, in, ref_conv(x, w, c->bias ? bias.v : NULL, window_of(c)), BOUND);
        }
}

static const struct conv_case deconvs[] = {
    {1, 16, 8, 7, 9, {4, 4}, 1, {2, 2}, {1, 1}, {1, 1}, {1, 1}, 1},
    {2, 6, 10, 5, 6, {3, 3}, 1, {2, 2}, {1, 1}, {1, 1}, {1, 1}, 0}, /* output_padding 1 */
    {1, 6, 10, 5, 6, {3, 3}, 1, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1},
    {1,
     16,
     16,
     5,
     6,
     {5, 5},
     16,
     {2, 2},
     {1, 1},
     {2, 2},
     {2, 2},
     0}, /* depthwise, output_padding 1 */
    {1, 8, 12, 5, 6, {3, 3}, 2, {1, 2}, {1, 1}, {0, 1}, {1, 0}, 1},
    {1, 8, 4, 5, 6, {3, 3}, 1, {2, 2}, {2, 2}, {2, 2}, {2, 2}, 1}, /* dilated, output_padding 1 */
    {1, 8, 4, 5, 6, {2, 2}, 1, {2, 2}, {1, 1}, {0, 0}, {0, 0}, 1},
};

TEST(transposed_convolutions)
{
    for (size_t i = 0; i < sizeof deconvs / sizeof *deconvs; i++)
        for (int first = 0; first < 2; first++) {
            const struct conv_case *c = &deconvs[i];
            const int extra[2] = {c->k[0] % 2 && c->stride[0] == 2,
                                  c->k[0] % 2 && c->stride[0] == 2};
            struct onnx_build b;
            struct ref in, x, w, bias;
            x = ref_begin(&b, 11, first, c->n, c->c, c->h, c->w, &in);
            w = ref_random(c->c, c->o / c->group, c->k[0], c->k[1], 3, 0.5f);
            bias = ref_random(1, c->o, 1, 1, 4, 1);
            ref_weights(&b, "w", w);
            onnx_f32(&b, "b", 1, (int64_t[]){c->o}, bias.v);
            onnx_node(&b, "ConvTranspose", c->bias ? "x w b" : "x w", "y");
            window_attrs(&b, c);
            onnx_ints(&b, "output_padding", 2, (int64_t[]){extra[0], extra[1]});
            ref_check(&b, in, ref_deconv(x, w, c->bias ? bias.v : NULL, window_of(c), extra),
                      BOUND);
        }
}

/* SAME_UPPER puts the odd zero behind, SAME_LOWER before, VALID none. */
TEST(auto_pad)
{
    static const char *const modes[] = {"SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"};
    for (int m = 0; m < 4; m++) {
        struct ref_window p = REF_ONES;
        struct onnx_build b;
        struct ref in, x, w;
        x = ref_begin(&b, 11, 0, 1, 4, 7, 8, &in);
        w = ref_random(6, 4, 3, 4, 3, 0.5f);
        ref_weights(&b, "w", w);
        onnx_node(&b, "Conv", "x w", "y");
        onnx_text(&b, "auto_pad", modes[m]);
        onnx_ints(&b, "strides", 2, (int64_t[]){2, 1});
        p.stride[0] = 2;
        if (m < 2) { /* rows: ceil(7/2) = 4 need (4-1)*2+3-7 = 2; columns: 8 need 7+4-8 = 3 */
            p.lo[0] = p.hi[0] = 1;
            p.lo[1] = m == 0 ? 1 : 2;
            p.hi[1] = m == 0 ? 2 : 1;
        }
        ref_check(&b, in, ref_conv(x, w, NULL, p), BOUND);
    }
}

TEST(half_weights)
{
    /* 1.5, -2, 2^-24 (the smallest), 65504 (the largest), 2^-14, -0, 0.333252, 1 */
    static const uint16_t half[8] = {0x3e00, 0xc000, 0x0001, 0x7bff,
                                     0x0400, 0x8000, 0x3555, 0x3c00};
    static const float is[8] = {1.5f, -2, 0x1p-24f, 65504, 0x1p-14f, -0.0f, 0.333251953125f, 1};
    struct ref_window p = REF_ONES;
    for (int raw = 0; raw < 2; raw++) {
        struct onnx_build b;
        struct onnx_bytes t = {0}, list = {0};
        struct ref in, x, w = ref_new(2, 4, 1, 1);
        memcpy(w.v, is, sizeof is);
        onnx_begin(&b, 11);
        b.in_type = 10; /* and float16 at both ends */
        in = x = ref_random(1, 4, 5, 6, 1, 1);
        onnx_input(&b, "x", -1, 4, -1, -1);
        if (raw) {
            onnx_init(&b, "w", 10, 4, (int64_t[]){2, 4, 1, 1}, half, sizeof half);
        } else { /* as int32_data, packed */
            for (int i = 0; i < 8; i++)
                onnx_varint(&list, half[i]);
            onnx_tensor(&t, "w", 10, 4, (int64_t[]){2, 4, 1, 1}, NULL, 0);
            t.n -= 2; /* without the raw data */
            onnx_bytes_field(&t, 5, list.p, list.n);
            onnx_bytes_field(&b.graph, 5, t.p, t.n);
        }
        onnx_node(&b, "Cast", "w", "w2"); /* as converters to half leave it */
        onnx_int(&b, "to", 1);
        onnx_node(&b, "Conv", "x w2", "y");
        free(t.p);
        free(list.p);
        ref_check(&b, in, ref_conv(x, w, NULL, p), BOUND);
    }
}

/* Weights of 8 bits: one scale an output channel or input channel or for all, with zero points and
 * without, raw and as int32_data, through Conv; `axis` counts from behind where it is negative. */
TEST(byte_weights)
{
    static const struct {
        int type, axis, scales, zeros, raw;
    } cases[] = {{3, 0, 5, 0, 1}, {3, -4, 5, 5, 0}, {2, 0, 5, 5, 1}, {2, 1, 3, 3, 0},
                 {3, 3, 2, 0, 1}, {3, 1, 1, 0, 1},  {2, 1, 1, 1, 0}, {3, 7, 1, 1, 1}};
    static const uint8_t zeros[5] = {3, 250, 128, 0, 77};
    static const float scales[5] = {0.5f, 0.03125f, 1, 0.1f, 2};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int type = cases[i].type, axis = cases[i].axis & 3, many = cases[i].scales > 1;
        const int step[4] = {3 * 3 * 2, 3 * 2, 2, 1}, dim[4] = {5, 3, 3, 2};
        uint8_t bytes[5 * 3 * 3 * 2];
        struct ref_window p = REF_ONES;
        struct onnx_build b;
        struct onnx_bytes t = {0}, list = {0};
        struct ref in, x, w = ref_new(5, 3, 3, 2);
        x = ref_begin(&b, 13, 0, 1, 3, 7, 6, &in);
        for (int k = 0; k < (int)sizeof bytes; k++) {
            int at = many ? k / step[axis] % dim[axis] : 0;
            int z = cases[i].zeros ? zeros[at] : 0;
            bytes[k] = (uint8_t)(k * 37 + 11);
            w.v[k] = type == 3 ? (float)((int8_t)bytes[k] - (int8_t)z) : (float)(bytes[k] - z);
            w.v[k] *= scales[at];
            onnx_varint(&list, type == 3 ? (uint64_t)(int8_t)bytes[k] : bytes[k]);
        }
        onnx_tensor(&t, "w", type, 4, (int64_t[]){5, 3, 3, 2}, bytes,
                    cases[i].raw ? sizeof bytes : 0);
        if (!cases[i].raw) {
            t.n -= 2; /* without the raw data */
            onnx_bytes_field(&t, 5, list.p, list.n);
        }
        onnx_bytes_field(&b.graph, 5, t.p, t.n);
        onnx_f32(&b, "s", many, (int64_t[]){cases[i].scales}, scales);
        onnx_init(&b, "z", type, many, (int64_t[]){cases[i].scales}, zeros,
                  (size_t)cases[i].scales);
        onnx_node(&b, "DequantizeLinear", cases[i].zeros ? "w s z" : "w s", "w2");
        onnx_int(&b, "axis", cases[i].axis);
        onnx_node(&b, "Conv", "x w2", "y");
        free(t.p);
        free(list.p);
        ref_check(&b, in, ref_conv(x, w, NULL, p), BOUND);
    }
}

TEST(dense_layers)
{
    for (int kind = 0; kind < 4;
         kind++) { /* MatMul, Gemm, Gemm transB, Gemm transB with alpha and beta */
        struct onnx_build b;
        struct ref in, x, w = ref_random(30, 7, 1, 1, 3, 1), wt = ref_new(7, 30, 1, 1);
        struct ref bias = ref_random(1, 7, 1, 1, 4, 1), y = ref_new(3, 7, 1, 1);
        float alpha = kind == 3 ? 0.5f : 1, beta = kind == 0 ? 0 : kind == 3 ? 2 : 1;
        x = ref_begin(&b, 11, 0, 3, 5, 2, 3, &in);
        for (int i = 0; i < 30; i++)
            for (int o = 0; o < 7; o++)
                wt.v[o * 30 + i] = w.v[i * 7 + o];
        for (int n = 0; n < 3; n++)
            for (int o = 0; o < 7; o++) {
                double s = 0;
                for (int i = 0; i < 30; i++)
                    s += (double)x.v[n * 30 + i] * w.v[i * 7 + o];
                y.v[n * 7 + o] = (float)(alpha * s + beta * bias.v[o]);
            }
        onnx_f32(&b, "w", 2, kind < 2 ? (int64_t[]){30, 7} : (int64_t[]){7, 30},
                 kind < 2 ? w.v : wt.v);
        onnx_f32(&b, "b", 1, (int64_t[]){7}, bias.v);
        onnx_node(&b, "Flatten", "x", "flat");
        onnx_node(&b, kind ? "Gemm" : "MatMul", kind ? "flat w b" : "flat w", "y");
        if (kind >= 2)
            onnx_int(&b, "transB", 1);
        if (kind == 3) {
            onnx_float(&b, "alpha", alpha);
            onnx_float(&b, "beta", beta);
        }
        ref_check(&b, in, y, BOUND);
    }
}

struct pool_case {
    const char *op;
    enum ref_pool_kind kind;
    struct ref_window p;
    int ceil_mode, h, w;
};

static const struct pool_case pools[] = {
    {"MaxPool", REF_MAX, {{3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, 1}, 0, 11, 14},
    {"MaxPool", REF_MAX, {{2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}, 1}, 1, 11, 13},
    {"MaxPool", REF_MAX, {{3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, 1}, 1, 12, 12},
    {"MaxPool", REF_MAX, {{3, 3}, {1, 1}, {2, 2}, {2, 2}, {2, 2}, 1}, 0, 9, 9},
    {"AveragePool", REF_AVG, {{3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, 1}, 0, 11, 14},
    {"AveragePool", REF_AVG, {{3, 2}, {1, 2}, {1, 1}, {0, 1}, {1, 0}, 1}, 0, 11, 14},
    {"AveragePool", REF_AVG, {{2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}, 1}, 1, 11, 13},
    {"AveragePool", REF_AVG_PADDED, {{3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, 1}, 0, 11, 14},
};

TEST(pooling)
{
    for (size_t i = 0; i < sizeof pools / sizeof *pools; i++)
        for (int v = 0; v < 4; v++) {
            const struct pool_case *c = &pools[i];
            const struct ref_window *p = &c->p;
            struct onnx_build b;
            struct ref in, x;
            x = ref_begin(&b, 11, v & 1, 2, v & 2 ? 20 : 16, c->h, c->w, &in);
            onnx_node(&b, c->op, "x", "y");
            onnx_ints(&b, "kernel_shape", 2, (int64_t[]){p->k[0], p->k[1]});
            onnx_ints(&b, "strides", 2, (int64_t[]){p->stride[0], p->stride[1]});
            onnx_ints(&b, "pads", 4, (int64_t[]){p->lo[0], p->lo[1], p->hi[0], p->hi[1]});
            onnx_int(&b, "ceil_mode", c->ceil_mode);
            if (c->kind == REF_MAX)
                onnx_ints(&b, "dilations", 2, (int64_t[]){p->dil[0], p->dil[1]});
            else
                onnx_int(&b, "count_include_pad", c->kind == REF_AVG_PADDED);
            ref_check(&b, in, ref_pool(x, c->kind, *p, c->ceil_mode), BOUND);
        }
}

/* Global mean, and means over rows and columns one after the other with and without keepdims. */
TEST(means)
{
    for (int v = 0; v < 10; v++) {
        struct ref_window all = {{9, 13}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 1};
        struct ref_window row = {{1, 13}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 1};
        int kind = v / 2;
        struct onnx_build b;
        struct ref in, x = ref_begin(&b, kind == 4 ? 18 : 11, v & 1, 2, 20, 9, 13, &in), y;
        y = ref_pool(x, REF_AVG, kind == 2 ? row : all, 0);
        if (kind == 0) {
            onnx_node(&b, "GlobalAveragePool", "x", "y");
        } else if (kind == 1) {
            onnx_node(&b, "ReduceMean", "x", "y");
            onnx_ints(&b, "axes", 2, (int64_t[]){2, -1});
        } else if (kind == 2) {
            onnx_node(&b, "ReduceMean", "x", "y");
            onnx_ints(&b, "axes", 1, (int64_t[]){3});
        } else if (kind == 3) { /* mean(3).mean(2), as a pose decoder writes it */
            onnx_node(&b, "ReduceMean", "x", "m");
            onnx_ints(&b, "axes", 1, (int64_t[]){3});
            onnx_int(&b, "keepdims", 0);
            onnx_node(&b, "ReduceMean", "m", "y");
            onnx_ints(&b, "axes", 1, (int64_t[]){2});
            onnx_int(&b, "keepdims", 0);
        } else { /* operator set 18: axes are an input */
            onnx_i64(&b, "axes", 2, (int64_t[]){2, 3});
            onnx_node(&b, "ReduceMean", "x axes", "y");
        }
        ref_check(&b, in, y, BOUND);
    }
}
