/* Activations, arithmetic, normalisation and moves of the oneDNN executor against plain loops. */
#include "tests/support/net_ref.h"
#include "tests/support/other_cpus.h"
#include "tests/support/unit.h"

#define BOUND 3e-6

#define F(name, value)               \
    static double f_##name(double x) \
    {                                \
        return value;                \
    }

F(relu, x > 0 ? x : 0)
F(leaky, x > 0 ? x : 0.2 * x)
F(elu, x > 0 ? x : 0.7 * (exp(x) - 1))
F(sigmoid, 1 / (1 + exp(-x)))
F(softplus, log1p(exp(x)))
F(hardsigmoid, fmin(fmax(0.3 * x + 0.4, 0), 1))
F(hardswish, fmin(fmax(x / 6 + 0.5, 0), 1) * x)
F(clip, fmin(fmax(x, -0.5), 0.75))
F(relu6, fmin(fmax(x, 0), 6))
F(neg, -x)
F(square, fabs(x) * fabs(x))
F(sqrt_abs, sqrt(fabs(x)))
F(log_exp2, log(exp(x) + 1))
F(inverse, 1 / (fabs(x) + 1))

static void act_node(struct onnx_build *b, const char *op)
{
    onnx_node(b, op, "x", "y");
    if (!strcmp(op, "LeakyRelu"))
        onnx_float(b, "alpha", 0.2f);
    if (!strcmp(op, "Elu"))
        onnx_float(b, "alpha", 0.7f);
    if (!strcmp(op, "HardSigmoid")) {
        onnx_float(b, "alpha", 0.3f);
        onnx_float(b, "beta", 0.4f);
    }
}

TEST(activations)
{
    static const struct {
        const char *op;
        double (*f)(double);
    } acts[] = {{"Relu", f_relu},
                {"LeakyRelu", f_leaky},
                {"Elu", f_elu},
                {"Sigmoid", f_sigmoid},
                {"Tanh", tanh},
                {"Softplus", f_softplus},
                {"Exp", exp},
                {"HardSigmoid", f_hardsigmoid},
                {"HardSwish", f_hardswish},
                {"Abs", fabs},
                {"Neg", f_neg}};
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++)
        /* alone, and fused into a convolution; whole and odd channels */
        for (int v = 0; v < 4; v++) {
            struct onnx_build b;
            struct ref in, x = ref_begin(&b, 14, v & 1, 2, v & 2 ? 19 : 16, 7, 9, &in);
            act_node(&b, acts[i].op);
            ref_check(&b, in, ref_map(x, acts[i].f), BOUND);
        }
}

/* Far from 0, where an exponential overflows if it is taken carelessly. */
TEST(activations_far_out)
{
    static const struct {
        const char *op;
        double (*f)(double);
    } acts[] = {{"Elu", f_elu},
                {"Sigmoid", f_sigmoid},
                {"Tanh", tanh},
                {"Softplus", f_softplus},
                {"HardSwish", f_hardswish}};
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
        struct onnx_build b;
        struct ref in, x = ref_begin(&b, 14, 0, 1, 16, 7, 9, &in);
        for (size_t k = 0; k < ref_count(&x); k++)
            x.v[k] *= 60; /* the input itself: -120 ... 120 */
        act_node(&b, acts[i].op);
        ref_check(&b, in, ref_map(x, acts[i].f), BOUND);
    }
}

/* Bounds as attributes, as inputs, one of them left out. */
TEST(clip)
{
    for (int v = 0; v < 8; v++) {
        int kind = v / 2;
        struct onnx_build b;
        struct ref in, x = ref_begin(&b, kind == 0 ? 9 : 11, v & 1, 1, 16, 7, 9, &in);
        if (kind == 0) {
            onnx_node(&b, "Clip", "x", "y");
            onnx_float(&b, "min", 0);
            onnx_float(&b, "max", 6);
        } else {
            onnx_scalar(&b, "lo", kind == 1 ? -0.5f : 0);
            onnx_scalar(&b, "hi", 0.75f);
            onnx_node(&b, "Clip", kind == 1 ? "x lo hi" : kind == 2 ? "x lo" : "x - hi", "y");
        }
        struct ref want = ref_map(x, kind == 0 ? f_relu6 : kind == 1 ? f_clip : f_relu);
        for (size_t i = 0; kind == 3 && i < ref_count(&x); i++)
            want.v[i] = fminf(x.v[i], 0.75f);
        ref_check(&b, in, want, BOUND);
    }
}

TEST(functions_of_functions)
{
    for (int v = 0; v < 10; v++) {
        struct onnx_build b;
        struct ref in, x = ref_begin(&b, 13, v & 1, 1, 16, 7, 9, &in);
        double (*const f[])(double) = {f_square, f_sqrt_abs, f_log_exp2, f_inverse, f_inverse};
        onnx_scalar(&b, "one", 1);
        onnx_scalar(&b, "two", 2);
        switch (v / 2) {
        case 0:
            onnx_node(&b, "Pow", "x two", "y");
            break;
        case 1:
            onnx_node(&b, "Abs", "x", "a");
            onnx_node(&b, "Sqrt", "a", "y");
            break;
        case 2:
            onnx_node(&b, "Exp", "x", "e");
            onnx_node(&b, "Add", "one e", "p");
            onnx_node(&b, "Log", "p", "y");
            break;
        case 3:
            onnx_node(&b, "Abs", "x", "a");
            onnx_node(&b, "Add", "a one", "p");
            onnx_node(&b, "Reciprocal", "p", "y");
            break;
        default: /* a constant over a feature */
            onnx_node(&b, "Abs", "x", "a");
            onnx_node(&b, "Add", "a one", "p");
            onnx_node(&b, "Div", "one p", "y");
        }
        ref_check(&b, in, ref_map(x, f[v / 2]), BOUND);
    }
}

/* All four operations, constant left and right, one number or one a channel, in three spellings. */
TEST(with_constants)
{
    static const char *const ops[] = {"Add", "Sub", "Mul", "Div"};
    for (int v = 0; v < 4 * 2 * 3 * 2; v++) {
        int op = v % 4, left = v / 4 % 2, spell = v / 8 % 3, first = v / 24;
        int64_t dims[3][4] = {{1}, {19, 1, 1}, {1, 19, 1, 1}};
        int rank[3] = {1, 3, 4};
        struct onnx_build b;
        struct ref in, x = ref_begin(&b, 13, first, 2, 19, 5, 7, &in), y = x, c;
        c = ref_random(1, 19, 1, 1, 9, 1);
        for (int i = 0; i < 19; i++)
            c.v[i] = spell ? c.v[i] + (c.v[i] > 0 ? 0.5f : -0.5f) : 1.7f;
        onnx_f32(&b, "c", rank[spell], dims[spell], c.v);
        if (left && op == 3) { /* keep the divisor away from 0 */
            y = ref_map(x, fabs);
            for (size_t i = 0; i < ref_count(&y); i++)
                y.v[i] += 0.5f;
            onnx_scalar(&b, "half", 0.5f);
            onnx_node(&b, "Abs", "x", "abs");
            onnx_node(&b, "Add", "abs half", "z");
        } else {
            onnx_node(&b, "Identity", "x", "z");
        }
        onnx_node(&b, ops[op], left ? "c z" : "z c", "y");
        struct ref want = ref_new(2, 19, 5, 7);
        for (size_t i = 0; i < ref_count(&want); i++) {
            float k = c.v[spell ? i / 35 % 19 : 0], l = left ? k : y.v[i], r = left ? y.v[i] : k;
            want.v[i] = op == 0 ? l + r : op == 1 ? l - r : op == 2 ? l * r : l / r;
        }
        ref_check(&b, in, want, BOUND);
    }
}

/* Two features; the second one whole, one a channel, one a pixel, one number a picture; and
 * swapped. */
TEST(with_features)
{
    static const char *const ops[] = {"Add", "Sub", "Mul", "Div"}, sign[] = "+-*/";
    for (int v = 0; v < 4 * 4 * 2 * 2 * 2; v++) {
        int op = v % 4, shape = v / 4 % 4, swap = v / 16 % 2, first = v / 32 % 2, relu = v / 64;
        struct ref_window one = REF_ONES, all = {{6, 7}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 1};
        struct onnx_build b;
        struct ref in, x = ref_begin(&b, 13, first, 2, 16, 6, 7, &in), small, want;
        struct ref w = ref_random(shape == 1 || shape == 0 ? 16 : 1, 16, 1, 1, 5, 0.3f);
        ref_weights(&b, "w", w);
        onnx_node(&b, "Conv", "x w", "s0");
        small = ref_conv(x, w, NULL, one);
        if (shape == 1 || shape == 3) {
            onnx_node(&b, "GlobalAveragePool", "s0", "s1");
            small = ref_pool(small, REF_AVG, all, 0);
        } else {
            onnx_node(&b, "Identity", "s0", "s1");
        }
        onnx_node(&b, "Exp", "s1", "s"); /* above 0: may divide */
        small = ref_map(small, exp);
        onnx_node(&b, "Exp", "x", "e");
        x = ref_map(x, exp);
        onnx_node(&b, ops[op], swap ? "s e" : "e s", relu ? "r" : "y");
        if (relu)
            onnx_node(&b, "Relu", "r", "y");
        want = ref_binary(x, small, sign[op]);
        for (size_t i = 0; swap && (op == 1 || op == 3) && i < ref_count(&want); i++)
            want.v[i] = op == 1 ? -want.v[i] : 1 / want.v[i];
        ref_check(&b, in, relu ? ref_map(want, f_relu) : want, 1e-5);
    }
}

TEST(batch_norm)
{
    for (int v = 0; v < 8;
         v++) { /* alone, after a convolution, before one; channels whole and odd */
        int c = v & 1 ? 19 : 32, after = v / 2 % 2, n = 1 + v / 4;
        struct ref_window pad = {{0, 0}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1};
        struct onnx_build b;
        struct ref in, x = ref_begin(&b, 13, after, n, c, 6, 7, &in), p[4], w, y;
        float a[32], s[32];
        static const char *const names[4] = {"g", "beta", "mean", "var"};
        for (int i = 0; i < 4; i++) {
            p[i] = ref_random(1, c, 1, 1, 20 + i, 0.5f);
            for (int k = 0; k < c && i == 3; k++)
                p[3].v[k] = fabsf(p[3].v[k]) + 0.1f;
            onnx_f32(&b, names[i], 1, (int64_t[]){c}, p[i].v);
        }
        for (int k = 0; k < c; k++) {
            a[k] = (float)(p[0].v[k] / sqrt((double)p[3].v[k] + 1e-3));
            s[k] = (float)(p[1].v[k] - (double)p[2].v[k] * a[k]);
        }
        onnx_node(&b, "BatchNormalization", "x g beta mean var", "z");
        onnx_float(&b, "epsilon", 1e-3f);
        w = ref_random(8, c, 3, 3, 6, 0.2f);
        ref_weights(&b, "w", w);
        onnx_node(&b, "Conv", "z w", "y"); /* zero padding after the shift: must not be folded in */
        onnx_ints(&b, "pads", 4, (int64_t[]){1, 1, 1, 1});
        y = ref_conv(ref_affine(x, a, s), w, NULL, pad);
        ref_check(&b, in, y, BOUND);
    }
}

TEST(concat)
{
    static const int sizes[][2] = {{16, 16}, {32, 3}, {3, 16}, {19, 5}};
    for (int v = 0; v < 4 * 2 * 2 * 3; v++) {
        const int *c = sizes[v % 4];
        int first = v / 4 % 2, n = 1 + v / 8 % 2, axis = 1 + v / 16;
        struct ref_window one = REF_ONES, pad = {{0, 0}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1};
        struct onnx_build b;
        struct ref in, x = ref_begin(&b, 13, first, n, c[0], 6, 7, &in), w, p, joined, k;
        w = ref_random(axis == 1 ? c[1] : c[0], c[0], 1, 1, 5, 0.3f);
        ref_weights(&b, "w", w);
        onnx_node(&b, "Conv", "x w", "p");
        p = ref_conv(x, w, NULL, one);
        onnx_node(&b, "Concat", "x p", "cat");
        onnx_int(&b, "axis", axis == 1 ? -3 : axis);
        joined = ref_concat(x, p, axis);
        k = ref_random(4, joined.d[1], 3, 3, 6, 0.2f); /* a reader that minds what pads a block */
        ref_weights(&b, "k", k);
        onnx_node(&b, "Conv", "cat k", "y");
        onnx_ints(&b, "pads", 4, (int64_t[]){1, 1, 1, 1});
        ref_check(&b, in, ref_conv(joined, k, NULL, pad), BOUND);
    }
}

/* A tensor twice in one concat, and a concat inside a concat whose part is read elsewhere. */
TEST(concat_odd)
{
    struct onnx_build b;
    struct ref in, x = ref_begin(&b, 13, 1, 1, 16, 6, 7, &in), r, cat;
    onnx_node(&b, "Relu", "x", "r");
    onnx_node(&b, "Concat", "r r", "c1");
    onnx_int(&b, "axis", 1);
    onnx_node(&b, "Concat", "c1 x r", "c2");
    onnx_int(&b, "axis", 1);
    onnx_node(&b, "Concat", "c2 c1", "y");
    onnx_int(&b, "axis", 1);
    r = ref_map(x, f_relu);
    cat = ref_concat(ref_concat(ref_concat(r, r, 1), x, 1), r, 1);
    ref_check(&b, in, ref_concat(cat, ref_concat(r, r, 1), 1), BOUND);
}

TEST(transposes)
{
    for (int v = 0; v < 2 * 2 * 3; v++) {
        int first = v & 1, n = 1 + v / 2 % 2, kind = v / 4, c = 12;
        struct onnx_build b;
        struct ref in, x = ref_begin(&b, 13, first, n, c, 6, 8, &in), y;
        switch (kind) {
        case 0: /* NHWC and back with work between */
            onnx_node(&b, "Transpose", "x", "t");
            onnx_ints(&b, "perm", 4, (int64_t[]){0, 2, 3, 1});
            onnx_node(&b, "Relu", "t", "r");
            onnx_node(&b, "Transpose", "r", "y");
            onnx_ints(&b, "perm", 4, (int64_t[]){0, 3, 1, 2});
            y = ref_map(x, f_relu);
            break;
        case 1: /* a real transpose */
            onnx_node(&b, "Transpose", "x", "y");
            onnx_ints(&b, "perm", 4, (int64_t[]){0, 1, 3, 2});
            y = ref_new(n, c, 8, 6);
            for (int i = 0; i < n * c; i++)
                for (int j = 0; j < 48; j++)
                    y.v[i * 48 + j] = x.v[i * 48 + j % 6 * 8 + j / 6];
            break;
        default: /* the same numbers in another shape */
            onnx_i64(&b, "s", 4, (int64_t[]){0, -1, 4, 12});
            onnx_node(&b, "Reshape", "x s", "y");
            y = ref_new(n, c, 4, 12);
            memcpy(y.v, x.v, ref_count(&x) * 4);
        }
        ref_check(&b, in, y, BOUND);
    }
}

TEST(slices)
{
    for (int v = 0; v < 2 * 2 * 2; v++) {
        int first = v & 1, n = 1 + v / 2 % 2, kind = v / 4, c = 12;
        struct onnx_build b;
        struct ref in, x = ref_begin(&b, 13, first, n, c, 6, 8, &in), y;
        if (kind == 0) { /* channels 2...9 */
            onnx_i64(&b, "from", 1, (int64_t[]){2});
            onnx_i64(&b, "to", 1, (int64_t[]){-2});
            onnx_i64(&b, "ax", 1, (int64_t[]){1});
            onnx_node(&b, "Slice", "x from to ax", "y");
            y = ref_new(n, 8, 6, 8);
            for (int i = 0; i < n * 8; i++)
                memcpy(&y.v[i * 48], &x.v[(i / 8 * c + 2 + i % 8) * 48], 48 * 4);
        } else { /* every second row backwards, columns 1...6 */
            onnx_i64(&b, "from", 2, (int64_t[]){-1, 1});
            onnx_i64(&b, "to", 2, (int64_t[]){INT64_MIN, 7});
            onnx_i64(&b, "ax", 2, (int64_t[]){2, 3});
            onnx_i64(&b, "st", 2, (int64_t[]){-2, 1});
            onnx_node(&b, "Slice", "x from to ax st", "y");
            y = ref_gather(x, 3, 6, (int[]){5, 3, 1}, (int[]){1, 2, 3, 4, 5, 6}, 0);
        }
        ref_check(&b, in, y, BOUND);
    }
}

/* The channel of a map squeezed away, [n][h][w], and brought back. */
TEST(squeeze)
{
    for (int v = 0; v < 2 * 2; v++) {
        int first = v & 1, n = 1 + v / 2 % 2, c = 12;
        struct onnx_build b;
        struct ref in, x = ref_begin(&b, 13, first, n, c, 6, 8, &in), y;
        onnx_node(&b, "Slice", "x from to ax", "one");
        onnx_i64(&b, "from", 1, (int64_t[]){3});
        onnx_i64(&b, "to", 1, (int64_t[]){4});
        onnx_i64(&b, "ax", 1, (int64_t[]){1});
        onnx_node(&b, "Squeeze", "one ax", "sq");
        onnx_node(&b, "Relu", "sq", n == 1 ? "y" : "rl");
        if (n == 2)
            onnx_node(&b, "Unsqueeze", "rl ax", "y");
        y = ref_new(n, 1, 6, 8);
        for (int i = 0; i < n; i++)
            memcpy(&y.v[i * 48], &x.v[(i * c + 3) * 48], 48 * 4);
        y = ref_map(y, f_relu);
        ref_check(&b, in, y, BOUND);
    }
}

TEST(depth_to_space)
{
    for (int v = 0; v < 8; v++) {
        int first = v & 1, crd = v / 2 % 2, n = 1 + v / 4, blk = 2, co = 5;
        struct onnx_build b;
        struct ref in, x = ref_begin(&b, 13, first, n, co * 4, 3, 4, &in), y = ref_new(n, co, 6, 8);
        onnx_node(&b, "DepthToSpace", "x", "y");
        onnx_int(&b, "blocksize", blk);
        onnx_text(&b, "mode", crd ? "CRD" : "DCR");
        for (int k = 0; k < n; k++)
            for (int c = 0; c < co * 4; c++)
                for (int i = 0; i < 12; i++) { /* where input channel c goes */
                    int o = crd ? c / 4 : c % co, cell = crd ? c % 4 : c / co;
                    *ref_at(&y, k, o, i / 4 * 2 + cell / 2, i % 4 * 2 + cell % 2) =
                        *ref_at(&x, k, c, i / 4, i % 4);
                }
        ref_check(&b, in, y, BOUND);
    }
}
