/* Whole networks: fusion keeps the numbers, memory is reused safely, run() allocates nothing. */
#include "tests/support/count_malloc.h"
#include "tests/support/net_ref.h"
#include "tests/support/other_cpus.h"
#include "tests/support/unit.h"

#include "gpu/net/net_dnnl.h"

#include <malloc.h>

#define BOUND 1e-5 /* some thirty layers, each 2e-6 of its own largest number */

static double f_relu(double x)
{
    return x > 0 ? x : 0;
}

/* ------------------------------------------------------------------------------ building blocks */

static int serial;

/* Convolution without bias, then batch norm; returns the reference. */
static struct ref conv_bn(struct onnx_build *b, const char *x, const char *y, struct ref in,
                          int out, int k, int stride)
{
    struct ref_window p = {{k, k}, {stride, stride}, {1, 1}, {k / 2, k / 2}, {k / 2, k / 2}, 1};
    struct ref w = ref_random(out, in.d[1], k, k, 100 + serial, 0.8f / sqrtf(in.d[1] * k * k)),
               q[4];
    char name[6][48], list[256];
    float a[512], s[512];
    snprintf(name[0], 48, "w%d", serial);
    snprintf(name[5], 48, "c%d", serial);
    ref_weights(b, name[0], w);
    snprintf(list, sizeof list, "%s %s", x, name[0]);
    onnx_node(b, "Conv", list, name[5]);
    onnx_ints(b, "pads", 4, (int64_t[]){k / 2, k / 2, k / 2, k / 2});
    onnx_ints(b, "strides", 2, (int64_t[]){stride, stride});
    for (int i = 0; i < 4; i++) {
        snprintf(name[1 + i], 48, "n%d_%d", serial, i);
        q[i] = ref_random(1, out, 1, 1, 1000 + 8 * serial + i, 0.2f);
        for (int c = 0; c < out && (i == 0 || i == 3); c++)
            q[i].v[c] += 1;
        onnx_f32(b, name[1 + i], 1, (int64_t[]){out}, q[i].v);
    }
    snprintf(list, sizeof list, "%s %s %s %s %s", name[5], name[1], name[2], name[3], name[4]);
    onnx_node(b, "BatchNormalization", list, y);
    for (int c = 0; c < out; c++) {
        a[c] = (float)(q[0].v[c] / sqrt((double)q[3].v[c] + 1e-5));
        s[c] = (float)(q[1].v[c] - (double)q[2].v[c] * a[c]);
    }
    serial++;
    return ref_affine(ref_conv(in, w, NULL, p), a, s);
}

static struct ref conv_bn_relu(struct onnx_build *b, const char *x, const char *y, struct ref in,
                               int out, int k, int stride)
{
    char before[48];
    struct ref r;
    snprintf(before, sizeof before, "%s_bn", y);
    r = conv_bn(b, x, before, in, out, k, stride);
    onnx_node(b, "Relu", before, y);
    return ref_map(r, f_relu);
}

/* ResNet's basic block. */
static struct ref block(struct onnx_build *b, const char *x, const char *y, struct ref in, int out,
                        int stride)
{
    char n1[48], n2[48], n3[48], sum[48], list[128];
    struct ref r, side = in;
    snprintf(n1, 48, "%s_1", y);
    snprintf(n2, 48, "%s_2", y);
    snprintf(n3, 48, "%s_3", y);
    snprintf(sum, 48, "%s_s", y);
    r = conv_bn_relu(b, x, n1, in, out, 3, stride);
    r = conv_bn(b, n1, n2, r, out, 3, 1);
    if (stride != 1 || in.d[1] != out)
        side = conv_bn(b, x, n3, in, out, 1, stride);
    snprintf(list, sizeof list, "%s %s", n2, side.v == in.v ? x : n3);
    onnx_node(b, "Add", list, sum);
    onnx_node(b, "Relu", sum, y);
    return ref_map(ref_binary(r, side, '+'), f_relu);
}

static struct ref up_concat(struct onnx_build *b, const char *x, const char *skip, const char *y,
                            struct ref in, const struct ref *other)
{
    char u[48], list[128];
    int row[256], col[256];
    struct ref r;
    snprintf(u, 48, "%s_u", y);
    snprintf(list, sizeof list, "%s - scales", x);
    onnx_node(b, "Resize", list, other ? u : y);
    onnx_text(b, "mode", "nearest");
    onnx_text(b, "coordinate_transformation_mode", "asymmetric");
    onnx_text(b, "nearest_mode", "floor");
    for (int i = 0; i < 256; i++)
        row[i] = col[i] = i / 2;
    r = ref_gather(in, 2 * in.d[2], 2 * in.d[3], row, col, 0);
    if (!other)
        return r;
    snprintf(list, sizeof list, "%s %s", u, skip);
    onnx_node(b, "Concat", list, y);
    onnx_int(b, "axis", 1);
    return ref_concat(r, *other, 1);
}

/* A ResNet U-Net in small: every pattern of the shipped depth network. "y" is its output. */
static struct ref unet(struct onnx_build *b, int n, int h, int w, struct ref *in)
{
    struct ref_window pool = {{3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, 1};
    struct ref_window pad = {{0, 0}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1};
    struct ref e0, e1, e2, r, k, bias;
    serial = 0;
    onnx_begin(b, 13);
    *in = ref_random(n, 3, h, w, 7, 1);
    onnx_input(b, "x", -1, 3, -1, -1);
    onnx_f32(b, "scales", 1, (int64_t[]){4}, (float[]){1, 1, 2, 2});
    e0 = conv_bn_relu(b, "x", "e0", *in, 16, 7, 2);
    onnx_node(b, "MaxPool", "e0", "p");
    onnx_ints(b, "kernel_shape", 2, (int64_t[]){3, 3});
    onnx_ints(b, "strides", 2, (int64_t[]){2, 2});
    onnx_ints(b, "pads", 4, (int64_t[]){1, 1, 1, 1});
    r = block(b, "p", "e1a", ref_pool(e0, REF_MAX, pool, 0), 16, 1);
    e1 = block(b, "e1a", "e1", r, 16, 1);
    r = block(b, "e1", "e2a", e1, 32, 2);
    e2 = block(b, "e2a", "e2", r, 32, 1);
    r = conv_bn_relu(b, "e2", "d2", e2, 32, 3, 1);
    r = up_concat(b, "d2", "e1", "u2", r, &e1);
    r = conv_bn_relu(b, "u2", "d1", r, 16, 3, 1);
    r = up_concat(b, "d1", "e0", "u1", r, &e0);
    r = conv_bn_relu(b, "u1", "d0", r, 16, 3, 1);
    r = up_concat(b, "d0", NULL, "u0", r, NULL);
    k = ref_random(1, 16, 3, 3, 50, 0.1f);
    bias = ref_random(1, 1, 1, 1, 51, 0.5f);
    ref_weights(b, "head", k);
    onnx_f32(b, "head_b", 1, (int64_t[]){1}, bias.v);
    onnx_node(b, "Conv", "u0 head head_b", "y");
    onnx_ints(b, "pads", 4, (int64_t[]){1, 1, 1, 1});
    return ref_conv(r, k, bias.v, pad);
}

/* ---------------------------------------------------------------------------------- tests */

TEST(whole_network)
{
    static const int shapes[][3] = {{1, 32, 32}, {1, 32, 64}, {2, 40, 24}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct onnx_build b;
        struct ref in, want = unet(&b, shapes[i][0], shapes[i][1], shapes[i][2], &in);
        ref_check(&b, in, want, BOUND);
    }
}

static int count_steps(const struct net_graph *g, enum net_step_kind kind)
{
    int n = 0;
    for (int i = 0; i < g->n_steps; i++)
        n += g->steps[i].kind == kind;
    return n;
}

/* 14 convolutions, one pool, three resizes, two concats: norms, activations and sums are all
 * inside. */
TEST(everything_is_fused)
{
    struct onnx_build b;
    struct ref in;
    struct net *net;
    struct net_graph *g;
    struct err err;
    int sums = 0, acts = 0;
    unet(&b, 1, 32, 32, &in);
    onnx_end(&b, "y");
    assert_int_equal(net_load_bytes(&net, b.file.p, b.file.n, NULL, NULL, NULL, &err), 0);
    assert_int_equal(net_graph_new(&g, net, 1, 32, 32, NULL, &err), 0);
    assert_int_equal(count_steps(g, NET_STEP_CONV), 14);
    assert_int_equal(count_steps(g, NET_STEP_POOL), 1);
    assert_int_equal(count_steps(g, NET_STEP_REMAP), 3);
    assert_int_equal(count_steps(g, NET_STEP_CONCAT), 2);
    assert_int_equal(count_steps(g, NET_STEP_NONE), g->n_steps - 20);
    for (int i = 0; i < g->n_steps; i++) {
        sums += g->steps[i].kind == NET_STEP_CONV && g->steps[i].residual >= 0;
        acts += g->steps[i].kind == NET_STEP_CONV && g->steps[i].act.kind == NET_ACT_RELU;
    }
    assert_int_equal(sums, 4);
    assert_int_equal(acts, 12);
    net_graph_free(&g);
    net_free(&net);
    onnx_free(&b);
    ref_free_all();
}

/* -------------------------------------------------------------------------------- shared memory */

/*
 * A residual is added over its own memory and the parts of a concat are written in place, where
 * no step needs the old numbers. Each model below would be wrong if one of the reasons not to were
 * forgotten.
 */
static struct ref conv3(struct onnx_build *b, const char *x, const char *y, struct ref in, int out)
{
    struct ref_window p = {{0, 0}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1};
    struct ref w = ref_random(out, in.d[1], 3, 3, 300 + serial, 0.1f);
    char name[16], list[64];
    snprintf(name, sizeof name, "k%d", serial++);
    ref_weights(b, name, w);
    snprintf(list, sizeof list, "%s %s", x, name);
    onnx_node(b, "Conv", list, y);
    onnx_ints(b, "pads", 4, (int64_t[]){1, 1, 1, 1});
    return ref_conv(in, w, NULL, p);
}

/* The residual is what the convolution itself reads. */
TEST(residual_is_the_source)
{
    struct onnx_build b;
    struct ref in, x = ref_begin(&b, 13, 1, 1, 16, 9, 9, &in), f;
    f = conv3(&b, "x", "f", x, 16);
    onnx_node(&b, "Add", "f x", "y");
    ref_check(&b, in, ref_binary(f, x, '+'), BOUND);
}

TEST(residual_read_later)
{
    struct onnx_build b;
    struct ref in, x = ref_begin(&b, 13, 1, 1, 16, 9, 9, &in), f, s;
    onnx_node(&b, "Relu", "x", "u");
    f = conv3(&b, "u", "f", ref_map(x, f_relu), 16);
    onnx_node(&b, "Add", "f x", "s");
    onnx_node(&b, "Mul", "s x", "m");
    onnx_node(&b, "Sub", "m s", "y");
    s = ref_binary(f, x, '+');
    ref_check(&b, in, ref_binary(ref_binary(s, x, '*'), s, '-'), BOUND);
}

/* A reshape is the same bytes, so its source must not be overwritten while it is needed. */
TEST(residual_reshaped)
{
    struct onnx_build b;
    struct ref in, x = ref_begin(&b, 13, 1, 1, 16, 6, 6, &in), f, u, s;
    onnx_i64(&b, "to", 4, (int64_t[]){1, 4, 4, 36});
    onnx_i64(&b, "back", 4, (int64_t[]){1, 16, 6, 6});
    /* transposed twice, so that "p" is in the plain layout: a reshape of it is no copy */
    onnx_node(&b, "Transpose", "x", "t");
    onnx_ints(&b, "perm", 4, (int64_t[]){0, 1, 3, 2});
    onnx_node(&b, "Transpose", "t", "p");
    onnx_ints(&b, "perm", 4, (int64_t[]){0, 1, 3, 2});
    onnx_node(&b, "Reshape", "p to", "r");
    u = ref_map(x, f_relu);
    onnx_node(&b, "Relu", "x", "u");
    f = conv3(&b, "u", "f", u, 16);
    onnx_node(&b, "Add", "f p", "s");
    onnx_node(&b, "Reshape", "r back", "q");
    onnx_node(&b, "Mul", "s q", "y");
    s = ref_binary(f, x, '+');
    ref_check(&b, in, ref_binary(s, x, '*'), BOUND);
}

/* The residual is a concat whose parts are read later. */
TEST(residual_is_a_concat)
{
    struct onnx_build b;
    struct ref in, x = ref_begin(&b, 13, 1, 1, 16, 6, 6, &in), a, c, f, o;
    a = conv3(&b, "x", "a", x, 16);
    c = conv3(&b, "x", "c", x, 16);
    onnx_node(&b, "Concat", "a c", "cat");
    onnx_int(&b, "axis", 1);
    f = conv3(&b, "x", "f", x, 32);
    onnx_node(&b, "Add", "f cat", "s");
    o = conv3(&b, "a", "o", a, 32);
    onnx_node(&b, "Sub", "s o", "y");
    ref_check(&b, in, ref_binary(ref_binary(f, ref_concat(a, c, 1), '+'), o, '-'), BOUND);
}

/* The residual is a part of a concat that is read later. */
TEST(residual_is_a_part)
{
    struct onnx_build b;
    struct ref in, x = ref_begin(&b, 13, 1, 1, 16, 6, 6, &in), a, c, f, o;
    a = conv3(&b, "x", "a", x, 16);
    c = conv3(&b, "x", "c", x, 16);
    onnx_node(&b, "Concat", "a c", "cat");
    onnx_int(&b, "axis", 1);
    f = conv3(&b, "x", "f", x, 16);
    onnx_node(&b, "Add", "f a", "s");
    o = conv3(&b, "cat", "o", ref_concat(a, c, 1), 16);
    onnx_node(&b, "Sub", "s o", "y");
    ref_check(&b, in, ref_binary(ref_binary(f, a, '+'), o, '-'), BOUND);
}

/* Two sums in a row land in a concat: the whole chain is written there. */
TEST(residual_chain_in_a_concat)
{
    struct onnx_build b;
    struct ref in, x = ref_begin(&b, 13, 1, 1, 32, 6, 6, &in), a, s, t, u;
    a = conv3(&b, "x", "a", x, 16);
    onnx_node(&b, "Relu", "x", "u");
    u = ref_map(x, f_relu);
    s = ref_binary(conv3(&b, "u", "f", u, 16), a, '+');
    onnx_node(&b, "Add", "f a", "s");
    t = ref_binary(conv3(&b, "u", "g", u, 16), s, '+');
    onnx_node(&b, "Add", "s g", "t");
    onnx_node(&b, "Concat", "u t", "cat");
    onnx_int(&b, "axis", 1);
    ref_check(&b, in, conv3(&b, "cat", "y", ref_concat(u, t, 1), 4), BOUND);
}

/* -inf in the channels that pad a block would meet a weight of 0 and give NaN. */
TEST(infinite_fill)
{
    struct ref_window pool = {{3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, 1};
    struct onnx_build b;
    struct ref in, x = ref_begin(&b, 13, 1, 1, 19, 9, 9, &in);
    onnx_i64(&b, "pads", 8, (int64_t[]){0, 0, 1, 1, 0, 0, 1, 1});
    onnx_scalar(&b, "fill", -INFINITY);
    onnx_node(&b, "Pad", "x pads fill", "p");
    onnx_node(&b, "MaxPool", "p", "m");
    onnx_ints(&b, "kernel_shape", 2, (int64_t[]){3, 3});
    onnx_ints(&b, "strides", 2, (int64_t[]){2, 2});
    ref_check(&b, in, conv3(&b, "m", "y", ref_pool(x, REF_MAX, pool, 0), 4), BOUND);
}

/* ---------------------------------------------------------------------------------- memory */

TEST(run_allocates_nothing)
{
    struct onnx_build b;
    struct ref in, want = unet(&b, 1, 64, 64, &in);
    struct net *net;
    struct net_dnnl *p;
    struct err err;
    float *y = calloc(ref_count(&want), sizeof *y), *z = calloc(ref_count(&want), sizeof *z);
    size_t own, used;
    onnx_end(&b, "y");
    assert_int_equal(net_load_bytes(&net, b.file.p, b.file.n, NULL, NULL, NULL, &err), 0);
    own = count_malloc_own;
    assert_int_equal(net_dnnl_new(&p, net, 1, 64, 64, NULL, &err), 0);
    assert_true(count_malloc_own > own); /* the counter counts */
    for (int i = 0; i < 3; i++)
        assert_int_equal(net_dnnl_run(p, in.v, y, &err), 0);
    own = count_malloc_own;
    used = mallinfo2().uordblks;
    for (int i = 0; i < 20; i++)
        assert_int_equal(net_dnnl_run(p, in.v, z, &err), 0);
    assert_int_equal(count_malloc_own - own, 0);
    assert_int_equal(mallinfo2().uordblks, used);
    /* and the same input gives the same bits */
    assert_memory_equal(y, z, ref_count(&want) * sizeof *y);
    net_dnnl_free(&p);
    net_free(&net);
    free(y);
    free(z);
    onnx_free(&b);
    ref_free_all();
}

/* A plan, scratch memory and all, is smaller than its activations together: buffers are used
 * again. */
TEST(memory_is_reused)
{
    struct onnx_build b;
    struct ref in;
    struct net *net;
    struct net_dnnl *p;
    struct net_graph *g;
    struct err err;
    struct net_limits l;
    size_t sum = 0, apart = 0;
    unet(&b, 1, 32, 32, &in);
    onnx_end(&b, "y");
    assert_int_equal(net_load_bytes(&net, b.file.p, b.file.n, NULL, NULL, NULL, &err), 0);
    assert_int_equal(net_graph_new(&g, net, 1, 256, 256, NULL, &err), 0);
    for (int i = 0; i < g->n_steps; i++)
        if (g->steps[i].kind != NET_STEP_NONE) {
            const int *d = g->tensors[g->steps[i].dst].d;
            sum += (size_t)d[0] * d[1] * d[2] * d[3] * 4;
        }
    net_graph_free(&g);
    assert_int_equal(net_dnnl_new(&p, net, 1, 256, 256, NULL, &err), 0);
    /* tensors as they lie on this processor, each in a place of its own, would take much more */
    for (int i = 0; i < p->n_stores; i++)
        if (p->stores[i].root == i && !p->stores[i].user && p->stores[i].span.first >= 0)
            apart += p->stores[i].span.bytes;
    print_message("# %zu bytes of tensors in %zu\n", apart, p->arena_bytes);
    assert_true(apart >= sum / 2 && p->arena_bytes < apart * 3 / 4);
    assert_int_equal(net_dnnl_bytes(p), p->blob_bytes + p->arena_bytes + p->scratch_bytes);
    net_dnnl_free(&p);
    /* the same plan is refused where it is not allowed so much */
    net_limits_default(&l);
    l.max_plan_bytes = sum / 8;
    assert_int_equal(net_dnnl_new(&p, net, 1, 256, 256, &l, &err), ERR_LIMIT);
    assert_null(p);
    net_free(&net);
    onnx_free(&b);
    ref_free_all();
}
