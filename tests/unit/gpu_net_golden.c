/*
 * The shipped networks, and small networks in the style of others, against what PyTorch computed.
 *
 * tests/golden/net holds NAME.f32: the results of test inputs 0, 1, 2 ... as raw float32, written
 * by gpu/train/golden.py (shipped) and gpu/train/foreign.py (the others) with PyTorch in float32 on
 * the weights of the file. Inputs are not stored: element i (C order over channels, rows,
 * columns) of test t is ref_uniform(t * 2^32 + i).
 */
#include "tests/support/net_ref.h"
#include "tests/support/other_cpus.h"
#include "tests/support/unit.h"

#include <sys/stat.h>

struct golden {
    const char *model, *truth;
    int tests, h, w;
};

/* What is asked for is 1e-3 of the largest value. float32 sums in another order cost far less, and
 * a result that hardly varies would hide an error behind its mean: so the spread counts as well. */
#define BOUND 1e-3
#define BOUND_USUAL 2e-5
#define BOUND_SPREAD 1e-4

static float *read_floats(const char *path, size_t count)
{
    float *v = calloc(count, sizeof *v);
    FILE *f = fopen(path, "rb");
    struct stat st;
    if (!f || fstat(fileno(f), &st))
        fail_msg("%s: cannot be opened", path);
    if ((size_t)st.st_size != count * sizeof *v || fread(v, sizeof *v, count, f) != count)
        fail_msg("%s: %lld bytes, %zu are due", path, (long long)st.st_size, count * sizeof *v);
    fclose(f);
    return v;
}

static void compare(const struct golden *g)
{
    struct net *net = NULL;
    struct net_dnnl *p = NULL;
    struct err err = {0};
    int shape[4];
    size_t n_in, n_out;
    float *in, *out, *truth;
    double worst = 0, worst_spread = 0, worst_element = 0;
    if (net_load(&net, g->model, NULL, NULL, NULL, &err) ||
        net_output_shape(net, 1, g->h, g->w, shape, &err) ||
        net_dnnl_new(&p, net, 1, g->h, g->w, NULL, &err))
        fail_msg("%s: %s %s", g->model, err.where, err.text);
    n_in = (size_t)net_input_channels(net) * (size_t)g->h * (size_t)g->w;
    n_out = (size_t)shape[0] * (size_t)shape[1] * (size_t)shape[2] * (size_t)shape[3];
    in = calloc(n_in, sizeof *in);
    out = calloc(n_out, sizeof *out);
    truth = read_floats(g->truth, n_out * (size_t)g->tests);
    for (int t = 0; t < g->tests; t++) {
        const float *want = truth + (size_t)t * n_out;
        double most = 0, error = 0, low = want[0], high = want[0];
        for (size_t i = 0; i < n_in; i++)
            in[i] = ref_uniform((uint64_t)t << 32 | i);
        assert_int_equal(net_dnnl_run(p, in, out, &err), 0);
        for (size_t i = 0; i < n_out; i++) {
            most = fmax(most, fabs((double)want[i]));
            low = fmin(low, (double)want[i]);
            high = fmax(high, (double)want[i]);
        }
        for (size_t i = 0; i < n_out; i++) {
            double e = fabs((double)out[i] - (double)want[i]);
            error = isnan(e) ? INFINITY : fmax(error, e);
            /* of the element itself, where it is not next to 0 */
            if (fabs((double)want[i]) > 1e-2 * most)
                worst_element = fmax(worst_element, e / fabs((double)want[i]));
        }
        assert_true(high > low); /* a truth of one number would prove nothing */
        worst = fmax(worst, error / most);
        worst_spread = fmax(worst_spread, error / (high - low));
    }
    print_message("# %s: %d inputs, largest error %.2e of the largest value, %.2e of the spread, "
                  "%.2e of an element\n",
                  g->model, g->tests, worst, worst_spread, worst_element);
    assert_true(worst <= BOUND);
    assert_true(worst <= BOUND_USUAL);
    assert_true(worst_spread <= BOUND_SPREAD);
    net_dnnl_free(&p);
    net_free(&net);
    free(in);
    free(out);
    free(truth);
}

TEST(shipped)
{
    static const struct golden goldens[] = {
        {"gpu/models/depth.onnx", "tests/golden/net/depth.f32", 20, 64, 64},
        {"gpu/models/motion.onnx", "tests/golden/net/motion.f32", 20, 64, 96},
        {"gpu/models/mask.onnx", "tests/golden/net/mask.f32", 5, 64, 64},
        {"gpu/models/objmotion.onnx", "tests/golden/net/objmotion.f32", 20, 64, 96},
    };
    for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++)
        compare(&goldens[i]);
}

TEST(foreign)
{
    static const char *const names[] = {"monodepth2-tiny", "fastdepth-tiny", "midas-tiny"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char model[80], truth[80];
        struct golden g = {model, truth, 3, 64, 64};
        snprintf(model, sizeof model, "tests/golden/net/%s.onnx", names[i]);
        snprintf(truth, sizeof truth, "tests/golden/net/%s.f32", names[i]);
        compare(&g);
    }
}
