/* Models with one thing wrong each: the right code, the node's name, a sentence. */
#include "tests/support/net_try.h"
#include "tests/support/unit.h"

#include <limits.h>

/* ------------------------------------------------------------------------- one wrong thing each */

struct wrong {
    const char *what;
    void (*build)(struct onnx_build *b);
    int code;
    const char *where, *text; /* parts of the message */
};

/* b_NAME, where one expression builds it */
#define BUILD(name, ...)                       \
    static void b_##name(struct onnx_build *b) \
    {                                          \
        __VA_ARGS__;                           \
    }

static void conv(struct onnx_build *b, struct ref w)
{
    ref_weights(b, "w", w);
    onnx_node(b, "Conv", "x w", "y");
}

static void end_conv(struct onnx_build *b, const char *attr, int n, const int64_t *v)
{
    conv(b, ref_random(4, 3, 3, 3, 1, 0.5f));
    if (attr)
        onnx_ints(b, attr, n, v);
}

BUILD(unknown_op, onnx_node(b, "LSTM", "x", "y"))
BUILD(if, onnx_node(b, "If", "x", "y"))
BUILD(unknown_attr, onnx_node(b, "Relu", "x", "y"), onnx_int(b, "x", 1))
BUILD(missing, onnx_node(b, "Add", "x nothing", "y"))
BUILD(self, onnx_node(b, "Add", "x y", "y"))
BUILD(cycle, onnx_node(b, "Add", "x z", "y"), onnx_node(b, "Relu", "y", "z"))
BUILD(twice, onnx_node(b, "Relu", "x", "y"), onnx_node(b, "Abs", "x", "y"))
BUILD(over_input, onnx_node(b, "Relu", "x", "x"), onnx_node(b, "Abs", "x", "y"))
BUILD(few_inputs, onnx_node(b, "Add", "x", "y"))
BUILD(many_inputs, onnx_node(b, "Relu", "x x", "y"))
BUILD(left_out, onnx_node(b, "Relu", "-", "y"))
BUILD(stride0, end_conv(b, "strides", 2, (int64_t[]){0, 1}))
BUILD(stride3, end_conv(b, "strides", 3, (int64_t[]){1, 1, 1}))
BUILD(dilation, end_conv(b, "dilations", 2, (int64_t[]){INT64_MAX, 1}))
BUILD(pads, end_conv(b, "pads", 4, (int64_t[]){-1, 0, 0, 0}))
BUILD(pads_huge, end_conv(b, "pads", 4, (int64_t[]){1 << 24, 0, 1 << 24, 0}))
BUILD(kernel, end_conv(b, "kernel_shape", 2, (int64_t[]){5, 5}))
BUILD(group0, end_conv(b, NULL, 0, NULL), onnx_int(b, "group", 0))
BUILD(group2, end_conv(b, NULL, 0, NULL), onnx_int(b, "group", INT64_MIN))
BUILD(attr_kind, end_conv(b, NULL, 0, NULL), onnx_text(b, "group", "1"))

static void b_attr_twice(struct onnx_build *b)
{
    end_conv(b, NULL, 0, NULL);
    onnx_int(b, "group", 1);
    onnx_int(b, "group", 1);
}

static void b_not_finite(struct onnx_build *b)
{
    struct ref w = ref_random(4, 3, 3, 3, 1, 0.5f);
    w.v[17] = NAN;
    conv(b, w);
}

BUILD(channels, conv(b, ref_random(4, 5, 3, 3, 1, 0.5f)))
BUILD(kernel_too_large, conv(b, ref_random(1, 3, 11, 11, 1, 0.5f)))

static void weights_of(struct onnx_build *b, int type, int rank, const int64_t *dims, size_t bytes)
{
    static const uint8_t zeros[4096];
    onnx_init(b, "w", type, rank, dims, zeros, bytes);
    onnx_node(b, "Conv", "x w", "y");
}

BUILD(dims_huge, weights_of(b, 1, 4, (int64_t[]){1LL << 40, 3, 3, 3}, 4))
BUILD(dims_product, weights_of(b, 1, 4, (int64_t[]){1LL << 32, 1LL << 32, 1LL << 32, 1LL << 32}, 0))
BUILD(dims_negative, weights_of(b, 1, 4, (int64_t[]){-4, 3, 3, 3}, 432))
BUILD(dims_zero, weights_of(b, 1, 4, (int64_t[]){4, 3, 0, 3}, 0))
BUILD(dims_nine, weights_of(b, 1, 9, (int64_t[]){1, 1, 1, 1, 1, 1, 1, 1, 1}, 4))
BUILD(dims_rank, weights_of(b, 1, 3, (int64_t[]){4, 3, 3}, 144))
BUILD(short_data, weights_of(b, 1, 4, (int64_t[]){4, 3, 3, 3}, 431))
BUILD(type_string, weights_of(b, 8, 4, (int64_t[]){1, 3, 1, 1}, 12))
BUILD(type_bfloat, weights_of(b, 16, 4, (int64_t[]){1, 3, 1, 1}, 6))

/* A tensor without raw data, of this type; the field's bytes are what it has instead. */
static void typed(struct onnx_build *b, int type, int field, const void *data, size_t bytes)
{
    struct onnx_bytes t = {0};
    for (int i = 0; i < 4; i++)
        onnx_int_field(&t, 1, i == 1 ? 3 : 1);
    onnx_int_field(&t, 2, type);
    onnx_text_field(&t, 8, "w");
    onnx_bytes_field(&t, field, data, bytes);
    onnx_bytes_field(&b->graph, 5, t.p, t.n);
    onnx_node(b, "Conv", "x w", "y");
    free(t.p);
}

BUILD(few_doubles, typed(b, 11, 10, (double[]){1, 2}, 16))
BUILD(many_halves, typed(b, 10, 5, "\1\2\3\4", 4))
BUILD(segment, typed(b, 1, 3, "\x08\0\x10\1", 4)) /* from 0 to 1 */

static void b_external(struct onnx_build *b)
{
    struct onnx_bytes t = {0}, e = {0};
    onnx_text_field(&e, 1, "location");
    onnx_text_field(&e, 2, "/etc/passwd");
    onnx_tensor(&t, "w", 1, 4, (int64_t[]){1, 3, 1, 1}, "123456789abc", 12);
    onnx_bytes_field(&t, 13, e.p, e.n);
    onnx_int_field(&t, 14, 1);
    onnx_bytes_field(&b->graph, 5, t.p, t.n);
    onnx_node(b, "Conv", "x w", "y");
    free(t.p);
    free(e.p);
}

static void b_subgraph(struct onnx_build *b)
{
    struct onnx_bytes a = {0}, g = {0};
    onnx_text_field(&g, 2, "inner");
    onnx_node(b, "Clip", "x", "y");
    onnx_bytes_field(&a, 6, g.p, g.n);
    free(g.p);
    onnx_attr(b, &a, "min", 5);
}

static void b_domain(struct onnx_build *b)
{
    onnx_node(b, "Relu", "x", "y");
    onnx_text_field(&b->node, 7, "com.example");
}

BUILD(names, onnx_node(b, "Re\nlu\x1b[2J", "x", "y"))

static void b_second_input(struct onnx_build *b)
{
    onnx_input(b, "x2", -1, 3, -1, -1);
    onnx_node(b, "Add", "x x2", "y");
}

static void b_second_output(struct onnx_build *b)
{
    onnx_node(b, "MaxPool", "x", "p idx");
    onnx_ints(b, "kernel_shape", 2, (int64_t[]){2, 2});
    onnx_node(b, "Add", "x idx", "y");
}

BUILD(constant, onnx_node(b, "Constant", "", "y"), onnx_float(b, "value_float", 1))

static void b_reshape(struct onnx_build *b)
{
    onnx_i64(b, "to", 3, (int64_t[]){1LL << 40, 1LL << 40, -1});
    onnx_node(b, "Reshape", "x to", "y");
}

static void b_resize(struct onnx_build *b)
{
    onnx_f32(b, "s", 1, (int64_t[]){4}, (float[]){1, 1, 1e30f, 1e30f});
    onnx_node(b, "Resize", "x - s", "y");
}

static void b_resize_nan(struct onnx_build *b)
{
    onnx_f32(b, "s", 1, (int64_t[]){4}, (float[]){1, 1, NAN, -1});
    onnx_node(b, "Resize", "x - s", "y");
}

static void b_resize_large(struct onnx_build *b)
{
    onnx_f32(b, "s", 1, (int64_t[]){4}, (float[]){1, 1, 1000, 1000});
    onnx_node(b, "Resize", "x - s", "y");
}

static void b_broadcast(struct onnx_build *b)
{
    onnx_node(b, "Transpose", "x", "t");
    onnx_ints(b, "perm", 4, (int64_t[]){0, 2, 1, 3});
    onnx_node(b, "Add", "x t", "y");
}

static void b_perm(struct onnx_build *b)
{
    onnx_node(b, "Transpose", "x", "y");
    onnx_ints(b, "perm", 4, (int64_t[]){0, 0, 1, 2});
}

static void b_div_zero(struct onnx_build *b)
{
    onnx_i64(b, "z", 1, (int64_t[]){0});
    onnx_node(b, "Shape", "x", "s");
    onnx_node(b, "Div", "s z", "d");
    onnx_node(b, "Reshape", "x d", "y");
}

/* Weights [1][3][1][1] of 8 bits, with these scales and zero points. */
static void quantised(struct onnx_build *b, int type, int scale_type, int64_t n, int zero_type,
                      int64_t zeros)
{
    static const uint8_t bytes[64] = {1, 2, 3};
    onnx_init(b, "w", type, 4, (int64_t[]){1, 3, 1, 1}, bytes, type == 1 ? 12 : 3);
    onnx_init(b, "s", scale_type, 1, &n, bytes, (size_t)n * (scale_type == 11 ? 8 : 4));
    onnx_init(b, "z", zero_type, 1, &zeros, bytes, (size_t)zeros);
    onnx_node(b, "DequantizeLinear", "w s z", "w2");
    onnx_node(b, "Conv", "x w2", "y");
}

BUILD(quantised_real, quantised(b, 1, 1, 3, 3, 3))
BUILD(scale_double, quantised(b, 3, 11, 3, 3, 3))
BUILD(scales_many, quantised(b, 3, 1, 4, 3, 4))
BUILD(zeros_few, quantised(b, 3, 1, 3, 3, 1))
BUILD(zeros_type, quantised(b, 3, 1, 3, 2, 3))

static void b_scales_axis(struct onnx_build *b)
{
    onnx_init(b, "w", 3, 4, (int64_t[]){1, 3, 1, 1}, "abc", 3);
    onnx_f32(b, "s", 1, (int64_t[]){3}, (float[]){1, 2, 3});
    onnx_node(b, "DequantizeLinear", "w s", "w2"), onnx_int(b, "axis", INT64_MIN);
    onnx_node(b, "Conv", "x w2", "y");
}

static void b_quantised_feature(struct onnx_build *b)
{
    onnx_scalar(b, "s", 1);
    onnx_node(b, "DequantizeLinear", "x s", "y");
}

static const struct wrong wrongs[] = {
    {"unknown operator", b_unknown_op, ERR_UNSUPPORTED, "node 'y' (LSTM)", "unknown operator"},
    {"subgraph operator", b_if, ERR_UNSUPPORTED, "node 'y' (If)", "unknown operator"},
    {"unknown attribute", b_unknown_attr, ERR_UNSUPPORTED, "node 'y' (Relu)",
     "'x' is not understood"},
    {"missing tensor", b_missing, ERR_INPUT, "node 'y' (Add)", "'nothing', which nothing makes"},
    {"self reference", b_self, ERR_INPUT, "node 'y' (Add)", "a cycle"},
    {"cycle", b_cycle, ERR_INPUT, "node 'y' (Add)", "a cycle"},
    {"two makers", b_twice, ERR_INPUT, "", "'y' is defined twice"},
    {"input made again", b_over_input, ERR_INPUT, "", "'x' is defined twice"},
    {"too few inputs", b_few_inputs, ERR_INPUT, "node 'y' (Add)", "1 inputs, 2 to 2"},
    {"too many inputs", b_many_inputs, ERR_INPUT, "node 'y' (Relu)", "2 inputs, 1 to 1"},
    {"input left out", b_left_out, ERR_INPUT, "node 'y' (Relu)", "missing"},
    {"stride 0", b_stride0, ERR_INPUT, "node 'y' (Conv)", "out of range"},
    {"three strides", b_stride3, ERR_INPUT, "node 'y' (Conv)", "not 2 integers"},
    {"huge dilation", b_dilation, ERR_LIMIT, "node 'y' (Conv)", "dilations"},
    {"negative padding", b_pads, ERR_INPUT, "node 'y' (Conv)", "out of range"},
    {"huge padding", b_pads_huge, ERR_LIMIT, "node 'y' (Conv)", "over 2048"},
    {"other kernel", b_kernel, ERR_INPUT, "node 'y' (Conv)", "kernel_shape"},
    {"no groups", b_group0, ERR_INPUT, "node 'y' (Conv)", "0 groups"},
    {"negative groups", b_group2, ERR_INPUT, "node 'y' (Conv)", "groups"},
    {"kind of attribute", b_attr_kind, ERR_INPUT, "node 'y' (Conv)", "not an integer"},
    {"attribute twice", b_attr_twice, ERR_INPUT, "node 'y' (Conv)", "appears twice"},
    {"channels", b_channels, ERR_INPUT, "node 'y' (Conv)", "5 channels, the input has 3"},
    {"kernel over picture", b_kernel_too_large, ERR_INPUT, "node 'y' (Conv)", "larger than"},
    {"NaN weight", b_not_finite, ERR_INPUT, "node 'y' (Conv)", "weight 17 is not finite"},
    {"huge dimension", b_dims_huge, ERR_LIMIT, "tensor 'w'", "more than"},
    {"huge product", b_dims_product, ERR_LIMIT, "tensor 'w'", "more than"},
    {"negative dimension", b_dims_negative, ERR_INPUT, "tensor 'w'", "dimension of -4"},
    {"empty weights", b_dims_zero, ERR_INPUT, "node 'y' (Conv)", "kernel of 0"},
    {"nine dimensions", b_dims_nine, ERR_LIMIT, "tensor 'w'", "9 dimensions"},
    {"three dimensions", b_dims_rank, ERR_UNSUPPORTED, "node 'y' (Conv)", "3 dimensions"},
    {"short data", b_short_data, ERR_INPUT, "tensor 'w'", "431 bytes of data where 432"},
    {"strings", b_type_string, ERR_UNSUPPORTED, "tensor 'w'", "element type 8"},
    {"bfloat16", b_type_bfloat, ERR_UNSUPPORTED, "tensor 'w'", "element type 16"},
    {"few doubles", b_few_doubles, ERR_INPUT, "tensor 'w'", "2 numbers where 3 are due"},
    {"too many halves", b_many_halves, ERR_INPUT, "tensor 'w'", "4 numbers where 3 are due"},
    {"a segment", b_segment, ERR_UNSUPPORTED, "tensor 'w'", "in segments"},
    {"external data", b_external, ERR_UNSUPPORTED, "tensor 'w'", "another file"},
    {"subgraph attribute", b_subgraph, ERR_UNSUPPORTED, "node 'y' (Clip)", "kind 5"},
    {"other domain", b_domain, ERR_UNSUPPORTED, "node 'y' (Relu)", "another domain"},
    {"control characters", b_names, ERR_UNSUPPORTED, "node 'y' (Re\\x0alu\\x1b[2J)",
     "unknown operator"},
    {"second input", b_second_input, ERR_INPUT, "", "2 inputs: name one"},
    {"second output", b_second_output, ERR_INPUT, "node 'y' (Add)", "second output"},
    {"constant result", b_constant, ERR_INPUT, "", "does not depend"},
    {"shape over 2^40", b_reshape, ERR_LIMIT, "node 'y' (Reshape)", "2^40"},
    {"scale 1e30", b_resize, ERR_INPUT, "node 'y' (Resize)", "would be"},
    {"scale NaN", b_resize_nan, ERR_INPUT, "node 'y' (Resize)", "would be"},
    {"large result", b_resize_large, ERR_LIMIT, "node 'y' (Resize)", "larger than 8388608 bytes"},
    {"shapes that do not fit", b_broadcast, ERR_INPUT, "node 'y' (Add)", "do not fit"},
    {"no permutation", b_perm, ERR_INPUT, "node 'y' (Transpose)", "not a permutation"},
    {"reals to dequantise", b_quantised_real, ERR_INPUT, "node 'w2' (Deq", "not of int8"},
    {"scale of doubles", b_scale_double, ERR_INPUT, "node 'w2' (Deq", "not of float32"},
    {"too many scales", b_scales_many, ERR_INPUT, "node 'w2' (Deq", "4 scales for axis 1"},
    {"no such axis", b_scales_axis, ERR_INPUT, "node 'w2' (Deq", "3 scales for axis -92"},
    {"too few zero points", b_zeros_few, ERR_INPUT, "node 'w2' (Deq", "1 zero points, 3"},
    {"type of zero points", b_zeros_type, ERR_INPUT, "node 'w2' (Deq", "another type"},
    {"quantised features", b_quantised_feature, ERR_UNSUPPORTED, "node 'y' (Deq", "only weights"},
    {"division by zero", b_div_zero, ERR_INPUT, "node 'd' (Div)", "by zero"},
};

TEST(one_wrong_thing)
{
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        const struct wrong *w = &wrongs[i];
        struct onnx_build b;
        struct err err = {0};
        int rc;
        onnx_begin(&b, 13);
        onnx_input(&b, "x", -1, 3, -1, -1);
        w->build(&b);
        onnx_end(&b, "y");
        rc = try_bytes(b.file.p, b.file.n, 8, &err);
        if (rc != w->code || !strstr(err.where, w->where) || !strstr(err.text, w->text))
            fail_msg("%s: %d, '%s', '%s'", w->what, rc, err.where, err.text);
        check_refused(rc, &err);
        onnx_free(&b);
        ref_free_all();
    }
}

/* -------------------------------------------------------------------------- the file as a whole */

TEST(versions)
{
    for (int opset = 7; opset <= 20; opset++) {
        struct onnx_build b;
        struct err err = {0};
        int rc;
        onnx_begin(&b, opset);
        onnx_input(&b, "x", -1, 3, -1, -1);
        onnx_node(&b, "Relu", "x", "y");
        onnx_end(&b, "y");
        rc = try_bytes(b.file.p, b.file.n, 8, &err);
        assert_int_equal(rc, opset >= 9 && opset <= 18 ? 0 : ERR_UNSUPPORTED);
        b.file.p[1] = 2; /* ir_version is the first field */
        rc = try_bytes(b.file.p, b.file.n, 8, &err);
        assert_int_equal(rc, ERR_UNSUPPORTED);
        assert_non_null(strstr(err.text, "ONNX format 2"));
        onnx_free(&b);
    }
}

TEST(input_must_fit)
{
    static const struct {
        int type;
        int64_t d[4];
        int rank, code;
    } cases[] = {{1, {-1, 3, -1, -1}, 4, 0},
                 {10, {1, 3, 8, 8}, 4, 0},
                 {7, {-1, 3, -1, -1}, 4, ERR_UNSUPPORTED},
                 {1, {-1, -1, -1, -1}, 4, ERR_UNSUPPORTED},
                 {1, {-1, 3, -1}, 3, ERR_UNSUPPORTED},
                 {1, {1, 3, 16, 16}, 4, ERR_INPUT},
                 {1, {1, INT64_MAX, -1, -1}, 4, ERR_INPUT},
                 {1, {-1, 0, -1, -1}, 4, ERR_INPUT}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct onnx_build b;
        struct err err = {0};
        onnx_begin(&b, 13);
        onnx_value_info(&b, 11, "x", cases[i].type, cases[i].rank, cases[i].d);
        onnx_node(&b, "Relu", "x", "y");
        onnx_end(&b, "y");
        assert_int_equal(try_bytes(b.file.p, b.file.n, 8, &err), cases[i].code);
        onnx_free(&b);
    }
}

TEST(names_choose)
{
    struct onnx_build b;
    struct net *net;
    struct err err = {0};
    int shape[4];
    onnx_begin(&b, 13);
    onnx_input(&b, "x", -1, 3, -1, -1);
    onnx_input(&b, "unused", -1, 5, -1, -1);
    onnx_node(&b, "Relu", "x", "a");
    onnx_node(&b, "NoSuchOperator", "a", "other"); /* the chosen output does not need it */
    onnx_node(&b, "GlobalAveragePool", "a", "y");
    onnx_value_info(&b, 12, "other", 1, 4, (int64_t[]){-1, -1, -1, -1});
    onnx_end(&b, "y");
    assert_int_equal(net_load_bytes(&net, b.file.p, b.file.n, NULL, "y", NULL, &err), ERR_INPUT);
    assert_int_equal(net_load_bytes(&net, b.file.p, b.file.n, "x", NULL, NULL, &err), ERR_INPUT);
    assert_int_equal(net_load_bytes(&net, b.file.p, b.file.n, "x", "z", NULL, &err), ERR_INPUT);
    assert_int_equal(net_load_bytes(&net, b.file.p, b.file.n, "w", "y", NULL, &err), ERR_INPUT);
    assert_int_equal(net_load_bytes(&net, b.file.p, b.file.n, "x", "other", NULL, &err),
                     ERR_UNSUPPORTED);
    assert_int_equal(net_load_bytes(&net, b.file.p, b.file.n, "x", "y", NULL, &err), 0);
    assert_int_equal(net_input_channels(net), 3);
    assert_int_equal(net_output_shape(net, 2, 8, 9, shape, &err), 0);
    assert_memory_equal(shape, ((int[]){2, 3, 1, 1}), sizeof shape);
    assert_int_equal(net_output_shape(net, 2, 0, 9, shape, &err), ERR_INPUT);
    assert_int_equal(net_output_shape(net, 2, INT_MAX, INT_MAX, shape, &err), ERR_INPUT);
    net_free(&net);
    onnx_free(&b);
}
