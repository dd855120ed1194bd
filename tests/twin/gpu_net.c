/*
 * The CUDA executor of networks against the oneDNN executor, against PyTorch's results, and against
 * itself in batches.
 *
 * Bound:   5e-3 of the largest value (net_cuda.h). Weights and activations are halves, whose
 *          rounding is 2^-11 = 5e-4 of a value; a few dozen layers, each with sums in float32, let
 *          errors of either sign add up to several of those, and residual branches keep them from
 *          growing.
 * Bits:    no bound: a picture's answer is the same to the last bit wherever it stands.
 */
#include "tests/support/net_case.h"
#include "tests/support/net_ref.h"
#include "tests/support/unit.h"

#define BOUND 5e-3
#define BOUND_FOREIGN 1e-2
#define BATCH 8

/* A tentative definition: in a build with CUDA the linker finds the one of net_case_cuda.cu in the
 * archive of helpers and takes it instead. */
const struct net_case_api *net_case_cuda __attribute__((common));

static void need_device(void)
{
    const char *why = net_case_cuda ? net_case_cuda->why_not() : "built without CUDA";
    if (!why)
        return;
    print_message("# hardware: %s\n", why);
    skip();
}

/* ---------------------------------------------------------------------------------- a network */

struct rig {
    struct net *net;
    struct net_dnnl *twin;
    struct net_case *c;
    size_t n_in, n_out; /* of one picture */
    float *in, *out, *want;
};

static void rig_open_net(struct rig *r, const char *name, int h, int w)
{
    struct err err = {0};
    int s[4];
    if (net_output_shape(r->net, 1, h, w, s, &err) ||
        net_dnnl_new(&r->twin, r->net, 1, h, w, NULL, &err) ||
        net_case_cuda->open(&r->c, r->net, h, w, BATCH, 0, &err))
        fail_msg("%s: %s %s", name, err.where, err.text);
    r->n_in = (size_t)net_input_channels(r->net) * (size_t)h * (size_t)w;
    r->n_out = (size_t)s[0] * (size_t)s[1] * (size_t)s[2] * (size_t)s[3];
    r->in = calloc(BATCH * r->n_in, sizeof(float));
    r->out = calloc(BATCH * r->n_out, sizeof(float));
    r->want = calloc(BATCH * r->n_out, sizeof(float));
}

static void rig_open(struct rig *r, const char *model, int h, int w)
{
    struct err err = {0};
    *r = (struct rig){0};
    if (net_load(&r->net, model, NULL, NULL, NULL, &err))
        fail_msg("%s: %s %s", model, err.where, err.text);
    rig_open_net(r, model, h, w);
}

static void rig_close(struct rig *r)
{
    net_case_cuda->close(&r->c);
    net_dnnl_free(&r->twin);
    net_free(&r->net);
    free(r->in);
    free(r->out);
    free(r->want);
}

/* Test input t of the golden files; the shipped networks see pictures in about this range. */
static void fill(struct rig *r, int place, uint64_t t)
{
    for (size_t i = 0; i < r->n_in; i++)
        r->in[(size_t)place * r->n_in + i] = ref_uniform(t << 32 | i);
}

static void run(struct rig *r, int n, int replay)
{
    struct err err = {0};
    for (size_t i = 0; i < BATCH * r->n_out; i++)
        r->out[i] = NAN;
    if (net_case_cuda->run(r->c, r->in, r->out, n, replay, &err))
        fail_msg("%s", err.text);
}

static double error_of(const float *have, const float *want, size_t n)
{
    double most = 0, worst = 0;
    for (size_t i = 0; i < n; i++) {
        double e = fabs((double)have[i] - (double)want[i]);
        worst = isnan(e) ? INFINITY : fmax(worst, e);
        most = fmax(most, fabs((double)want[i]));
    }
    return worst / (most > 0 ? most : 1);
}

/* Against the twin, a full batch of different pictures. */
static double twin_error(struct rig *r)
{
    struct err err = {0};
    double worst = 0;
    for (int i = 0; i < BATCH; i++) {
        fill(r, i, 1000 + (uint64_t)i);
        assert_int_equal(net_dnnl_run(r->twin, r->in + (size_t)i * r->n_in,
                                      r->want + (size_t)i * r->n_out, &err),
                         0);
    }
    run(r, BATCH, 0);
    for (size_t i = 0; i < BATCH; i++)
        worst = fmax(worst, error_of(r->out + i * r->n_out, r->want + i * r->n_out, r->n_out));
    return worst;
}

static void check_twin(const char *model, int h, int w, double bound)
{
    struct rig r;
    double e;
    rig_open(&r, model, h, w);
    e = twin_error(&r);
    print_message("# %s at %dx%d: %.2e of the largest value\n", model, w, h, e);
    assert_true(e <= bound);
    rig_close(&r);
}

/* ---------------------------------------------------------------------------------- tests */

TEST(shipped)
{
    need_device();
    check_twin("gpu/models/depth.onnx", 128, 416, BOUND);
    check_twin("gpu/models/depth.onnx", 96, 128, BOUND);
    check_twin("gpu/models/motion.onnx", 128, 416, BOUND);
    check_twin("gpu/models/motion.onnx", 96, 128, BOUND);
}

TEST(foreign)
{
    need_device();
    check_twin("tests/golden/net/monodepth2-tiny.onnx", 64, 96, BOUND_FOREIGN);
    check_twin("tests/golden/net/fastdepth-tiny.onnx", 64, 96, BOUND_FOREIGN);
    check_twin("tests/golden/net/midas-tiny.onnx", 64, 96, BOUND_FOREIGN);
}

/* What PyTorch computed, one picture a run (tests/unit/gpu_net_golden.c). */
TEST(golden)
{
    static const struct {
        const char *model, *truth;
        int tests, h, w;
        double bound;
    } all[] = {
        {"gpu/models/depth.onnx", "tests/golden/net/depth.f32", 20, 64, 64, BOUND},
        {"gpu/models/motion.onnx", "tests/golden/net/motion.f32", 20, 64, 96, BOUND},
        {"gpu/models/mask.onnx", "tests/golden/net/mask.f32", 5, 64, 64, BOUND},
        {"gpu/models/objmotion.onnx", "tests/golden/net/objmotion.f32", 20, 64, 96, BOUND},
        {"tests/golden/net/monodepth2-tiny.onnx", "tests/golden/net/monodepth2-tiny.f32", 3, 64, 64,
         BOUND_FOREIGN},
        {"tests/golden/net/fastdepth-tiny.onnx", "tests/golden/net/fastdepth-tiny.f32", 3, 64, 64,
         BOUND_FOREIGN},
        {"tests/golden/net/midas-tiny.onnx", "tests/golden/net/midas-tiny.f32", 3, 64, 64,
         BOUND_FOREIGN},
    };
    need_device();
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        FILE *f = fopen(all[k].truth, "rb");
        double worst = 0;
        struct rig r;
        assert_non_null(f);
        rig_open(&r, all[k].model, all[k].h, all[k].w);
        for (int t = 0; t < all[k].tests; t++) {
            assert_int_equal(fread(r.want, sizeof(float), r.n_out, f), r.n_out);
            fill(&r, 0, (uint64_t)t);
            run(&r, 1, 0);
            worst = fmax(worst, error_of(r.out, r.want, r.n_out));
        }
        print_message("# %s: %.2e of PyTorch's largest value\n", all[k].model, worst);
        assert_true(worst <= all[k].bound);
        rig_close(&r);
        fclose(f);
    }
}

/* Picture 7 alone, then among others. */
static void same_bits(const char *model, int h, int w)
{
    static const struct {
        int n, place;
    } seats[] = {{2, 0}, {2, 1}, {3, 2}, {8, 0}, {8, 3}, {8, 7}, {1, 0}};
    struct rig r;
    rig_open(&r, model, h, w);
    fill(&r, 0, 7);
    run(&r, 1, 0);
    memcpy(r.want, r.out, r.n_out * sizeof(float));
    for (int replay = 0; replay < 2; replay++)
        for (size_t k = 0; k < sizeof seats / sizeof *seats; k++) {
            for (int i = 0; i < seats[k].n; i++)
                fill(&r, i, i == seats[k].place ? 7 : 100 * k + (uint64_t)i + 8);
            run(&r, seats[k].n, replay);
            if (memcmp(r.want, r.out + (size_t)seats[k].place * r.n_out, r.n_out * sizeof(float)))
                fail_msg("%s: other bits at place %d of %d", model, seats[k].place, seats[k].n);
        }
    rig_close(&r);
}

TEST(batches)
{
    need_device();
    same_bits("gpu/models/depth.onnx", 128, 416);
    same_bits("gpu/models/depth.onnx", 96, 128);
    same_bits("gpu/models/motion.onnx", 128, 416);
    same_bits("tests/golden/net/monodepth2-tiny.onnx", 64, 64);
    same_bits("tests/golden/net/fastdepth-tiny.onnx", 64, 64);
    same_bits("tests/golden/net/midas-tiny.onnx", 64, 64);
}

/* Measured tile shapes give the bits of those by rule. */
TEST(tuned)
{
    struct err err = {0};
    struct rig r;
    need_device();
    rig_open(&r, "gpu/models/depth.onnx", 96, 128);
    for (int i = 0; i < BATCH; i++)
        fill(&r, i, 50 + (uint64_t)i);
    run(&r, BATCH, 0);
    memcpy(r.want, r.out, BATCH * r.n_out * sizeof(float));
    net_case_cuda->close(&r.c);
    if (net_case_cuda->open(&r.c, r.net, 96, 128, BATCH, 1, &err))
        fail_msg("%s %s", err.where, err.text);
    run(&r, BATCH, 0);
    assert_memory_equal(r.out, r.want, BATCH * r.n_out * sizeof(float));
    rig_close(&r);
}

/* ---------------------------------------------------------------------------- single operators */

/* The model in b, whose input is x, on both executors. */
static void check_model(struct onnx_build *b, const char *what, int h, int w)
{
    struct err err = {0};
    struct rig r = {0};
    double e;
    onnx_end(b, "y");
    if (net_load_bytes(&r.net, b->file.p, b->file.n, NULL, NULL, NULL, &err))
        fail_msg("%s: %s %s", what, err.where, err.text);
    rig_open_net(&r, what, h, w);
    e = twin_error(&r);
    if (!(e <= BOUND))
        fail_msg("%s: error %g, allowed %g", what, e, BOUND);
    rig_close(&r);
    onnx_free(b);
    ref_free_all();
}

/* "x" of c channels at h x w, behind a convolution or the input itself. */
static void begin(struct onnx_build *b, int conv, int c, int h, int w)
{
    struct ref in;
    (void)ref_begin(b, 13, conv, 1, c, h, w, &in);
}

static void weights(struct onnx_build *b, const char *name, int o, int i, int kh, int kw)
{
    ref_weights(b, name, ref_random(o, i, kh, kw, 77, 0.2f));
}

TEST(op_windows)
{
    static const struct {
        int o, i, k, stride, dil, pad, group;
    } convs[] = {
        {24, 12, 3, 1, 1, 1, 1}, {7, 12, 1, 1, 1, 0, 1},  {12, 1, 3, 2, 1, 1, 12},
        {24, 4, 3, 1, 2, 2, 3},  {12, 12, 5, 2, 1, 2, 1}, {3, 12, 3, 1, 2, 2, 1},
    };
    need_device();
    for (int conv = 0; conv < 2; conv++)
        for (size_t k = 0; k < sizeof convs / sizeof *convs; k++) {
            struct onnx_build b;
            int p = convs[k].pad;
            begin(&b, conv, 12, 13, 17);
            weights(&b, "w", convs[k].o, convs[k].i, convs[k].k, convs[k].k);
            onnx_node(&b, "Conv", "x w", "y");
            onnx_ints(&b, "pads", 4, (int64_t[]){p, p, p, p});
            onnx_ints(&b, "strides", 2, (int64_t[]){convs[k].stride, convs[k].stride});
            onnx_ints(&b, "dilations", 2, (int64_t[]){convs[k].dil, convs[k].dil});
            onnx_int(&b, "group", convs[k].group);
            check_model(&b, "Conv", 13, 17);
        }
    for (int group = 1; group <= 4; group += 3)
        for (int stride = 1; stride <= 2; stride++) {
            struct onnx_build b;
            begin(&b, 1, 12, 13, 17);
            weights(&b, "w", 12, 8 / group, 4, 4);
            onnx_node(&b, "ConvTranspose", "x w", "y");
            onnx_ints(&b, "pads", 4, (int64_t[]){1, 1, 1, 1});
            onnx_ints(&b, "strides", 2, (int64_t[]){stride, stride});
            onnx_int(&b, "group", group);
            check_model(&b, "ConvTranspose", 13, 17);
        }
    for (int k = 0; k < 3; k++) {
        struct onnx_build b;
        begin(&b, k != 1, 3, 13, 18);
        onnx_node(&b, k ? "AveragePool" : "MaxPool", "x", "y");
        onnx_ints(&b, "kernel_shape", 2, (int64_t[]){3, 2});
        onnx_ints(&b, "strides", 2, (int64_t[]){2, 2});
        onnx_ints(&b, "pads", 4, (int64_t[]){1, 0, 1, 0});
        if (k == 2)
            onnx_int(&b, "count_include_pad", 1);
        check_model(&b, "pooling", 13, 18);
    }
}

TEST(op_moves)
{
    need_device();
    for (int conv = 0; conv < 2; conv++) { /* a narrow input, then a wide tensor */
        const int c = conv ? 12 : 4;
        struct onnx_build b;
        begin(&b, conv, c, 6, 10);
        onnx_node(&b, "Transpose", "x", "y");
        onnx_ints(&b, "perm", 4, (int64_t[]){0, 2, 3, 1});
        check_model(&b, "Transpose", 6, 10);

        begin(&b, conv, c, 6, 10);
        onnx_i64(&b, "shape", 4, (int64_t[]){1, c / 2, 4, 30});
        onnx_node(&b, "Reshape", "x shape", "y");
        check_model(&b, "Reshape", 6, 10);

        begin(&b, conv, c, 6, 10);
        onnx_i64(&b, "shape", 4, (int64_t[]){2, c / 2, 6, 10});
        onnx_node(&b, "Reshape", "x shape", "two");
        weights(&b, "w", 5, c / 2, 3, 3);
        onnx_node(&b, "Conv", "two w", "y"); /* two items a picture */
        check_model(&b, "Reshape, Conv", 6, 10);

        begin(&b, conv, c, 6, 10);
        onnx_node(&b, "DepthToSpace", "x", "y");
        onnx_int(&b, "blocksize", 2);
        check_model(&b, "DepthToSpace", 6, 10);
    }
}

TEST(op_merges)
{
    need_device();
    for (int conv = 0; conv < 2; conv++) { /* a narrow input, then a wide tensor */
        const int c = conv ? 12 : 4;
        struct onnx_build b;
        begin(&b, conv, c, 6, 10);
        onnx_node(&b, "Sigmoid", "x", "s");
        onnx_node(&b, "Concat", "x s x", "y");
        onnx_int(&b, "axis", 1);
        check_model(&b, "Concat of three", 6, 10);

        begin(&b, conv, c, 6, 10);
        onnx_node(&b, "Tanh", "x", "s");
        onnx_node(&b, "Concat", "x s", "y");
        onnx_int(&b, "axis", 3);
        check_model(&b, "Concat of columns", 6, 10);

        begin(&b, conv, c, 6, 10);
        onnx_node(&b, "Tanh", "x", "s");
        onnx_node(&b, "Concat", "x s", "z"); /* folded if x is not narrow */
        onnx_int(&b, "axis", 1);
        weights(&b, "w", 8, 2 * c, 3, 3);
        onnx_node(&b, "Conv", "z w", "y");
        check_model(&b, "Concat, Conv", 6, 10);

        begin(&b, conv, c, 6, 10);
        weights(&b, "w", c, c, 1, 1);
        onnx_node(&b, "Conv", "x w", "s");
        onnx_node(&b, "Add", "x s", "z"); /* a residual that may be narrow */
        onnx_node(&b, "Relu", "z", "y");
        check_model(&b, "Conv, Add, Relu", 6, 10);

        begin(&b, conv, c, 6, 10);
        onnx_node(&b, "GlobalAveragePool", "x", "m");
        onnx_node(&b, "Mul", "x m", "y");
        check_model(&b, "Mul by channel", 6, 10);
    }
}

TEST(op_resize)
{
    static const char *const modes[] = {"nearest", "linear"};
    need_device();
    for (int conv = 0; conv < 2; conv++)
        for (int mode = 0; mode < 2; mode++)
            for (int times = 2; times <= 3; times++) {
                struct onnx_build b;
                begin(&b, conv, 4, 6, 10);
                onnx_f32(&b, "scales", 1, (int64_t[]){4},
                         (float[]){1, 1, (float)times, (float)times});
                onnx_node(&b, "Resize", "x - scales", "z");
                onnx_text(&b, "mode", modes[mode]);
                weights(&b, "w", 8, 4, 3, 3);
                onnx_node(&b, "Conv", "z w", "y");
                check_model(&b, "Resize, Conv", 6, 10);
            }
}
