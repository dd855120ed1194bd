/* Resize, upsample and pad in all their ways, and the shape arithmetic that exporters write around
 * them. */
#include "tests/support/net_ref.h"
#include "tests/support/other_cpus.h"
#include "tests/support/unit.h"

#define BOUND 3e-6

/* ---------------------------------------------------------------------------------- resize */

struct resize_case {
    const char *mode, *coords, *rounding; /* NULL = left out: the operator's default */
    int h, w, out_h, out_w;
    float sh, sw; /* 0 = by sizes */
};

/* No case sits on a tie of its rounding: there float and double may differ, and no two frameworks
 * agree. */
static const struct resize_case resizes[] = {
    {"nearest", "asymmetric", "floor", 5, 7, 10, 14, 2, 2}, /* F.interpolate(scale_factor=2) */
    {"nearest", "asymmetric", "floor", 5, 7, 15, 28, 3, 4},
    {"nearest", "asymmetric", "floor", 5, 7, 8, 9, 0, 0},
    {"nearest", "asymmetric", "floor", 9, 12, 4, 6, 0.5f, 0.5f},
    {"nearest", "half_pixel", NULL, 5, 7, 10, 14, 2, 2},
    {"nearest", "half_pixel", "round_prefer_ceil", 5, 7, 8, 16, 0, 0},
    {"nearest", "half_pixel", "ceil", 5, 7, 8, 16, 0, 0},
    {"nearest", NULL, NULL, 6, 6, 9, 4, 0, 0},
    {"nearest", "align_corners", "round_prefer_ceil", 5, 7, 11, 9, 0, 0},
    {"linear", "half_pixel", NULL, 5, 7, 10, 14, 2, 2}, /* align_corners=False */
    {"linear", "half_pixel", NULL, 5, 7, 20, 7, 0, 0},
    {"linear", "half_pixel", NULL, 5, 7, 8, 16, 0, 0},
    {"linear", "pytorch_half_pixel", NULL, 5, 7, 10, 14, 2, 2},
    {"linear", "pytorch_half_pixel", NULL, 5, 7, 1, 9, 0, 0},
    {"linear", "align_corners", NULL, 5, 7, 10, 14, 2, 2}, /* align_corners=True */
    {"linear", "align_corners", NULL, 5, 7, 12, 1, 0, 0},
    {"linear", "asymmetric", NULL, 5, 7, 10, 14, 2, 2},
    {"linear", "asymmetric", NULL, 5, 7, 3, 9, 0, 0},
    {"linear", "half_pixel", NULL, 5, 7, 8, 11, 1.7f, 1.7f}, /* the scale counts, not 8 / 5 */
    {"nearest", "asymmetric", "floor", 5, 7, 8, 11, 1.7f, 1.7f},
};

/* The formulas of the ONNX page "Resize", in double. */
static double source(const struct resize_case *c, int a, int i)
{
    const char *t = c->coords ? c->coords : "half_pixel";
    int in = a ? c->w : c->h, out = a ? c->out_w : c->out_h;
    double scale = c->sh > 0 ? (a ? c->sw : c->sh) : (double)out / in;
    if (!strcmp(t, "asymmetric"))
        return i / scale;
    if (!strcmp(t, "align_corners"))
        return out == 1 ? 0 : i * (double)(in - 1) / (out - 1);
    if (!strcmp(t, "pytorch_half_pixel") && out == 1)
        return 0;
    return (i + 0.5) / scale - 0.5;
}

static int nearest(const struct resize_case *c, double x)
{
    const char *r = c->rounding ? c->rounding : "round_prefer_floor";
    if (!strcmp(r, "floor"))
        return (int)floor(x);
    if (!strcmp(r, "ceil"))
        return (int)ceil(x);
    return (int)(r[13] == 'c' ? floor(x + 0.5) : ceil(x - 0.5));
}

static struct ref want_resize(const struct resize_case *c, struct ref x)
{
    struct ref y = ref_new(x.d[0], x.d[1], c->out_h, c->out_w);
    for (int i = 0; i < c->out_h; i++)
        for (int j = 0; j < c->out_w; j++) {
            double p[2] = {source(c, 0, i), source(c, 1, j)};
            int lo[2], hi[2];
            for (int a = 0; a < 2; a++) {
                int last = x.d[2 + a] - 1;
                if (c->mode[0] == 'n')
                    p[a] = nearest(c, p[a]);
                p[a] = fmin(fmax(p[a], 0), last);
                lo[a] = (int)p[a];
                hi[a] = lo[a] < last ? lo[a] + 1 : last;
                p[a] -= lo[a];
            }
            for (int n = 0; n < x.d[0]; n++)
                for (int k = 0; k < x.d[1]; k++)
                    *ref_at(&y, n, k, i, j) =
                        (float)((1 - p[0]) * (1 - p[1]) * *ref_at(&x, n, k, lo[0], lo[1]) +
                                (1 - p[0]) * p[1] * *ref_at(&x, n, k, lo[0], hi[1]) +
                                p[0] * (1 - p[1]) * *ref_at(&x, n, k, hi[0], lo[1]) +
                                p[0] * p[1] * *ref_at(&x, n, k, hi[0], hi[1]));
        }
    return y;
}

TEST(resize)
{
    for (size_t i = 0; i < sizeof resizes / sizeof *resizes; i++)
        for (int v = 0; v < 4; v++) {
            const struct resize_case *c = &resizes[i];
            int channels = v & 2 ? 19 : 16, n = 1 + (v & 1);
            struct onnx_build b;
            struct ref in, x = ref_begin(&b, 13, v & 1, n, channels, c->h, c->w, &in);
            if (c->sh > 0)
                onnx_f32(&b, "s", 1, (int64_t[]){4}, (float[]){1, 1, c->sh, c->sw});
            else
                onnx_i64(&b, "s", 4, (int64_t[]){n, channels, c->out_h, c->out_w});
            onnx_node(&b, "Resize", c->sh > 0 ? "x - s" : "x - - s", "y");
            onnx_text(&b, "mode", c->mode);
            if (c->coords)
                onnx_text(&b, "coordinate_transformation_mode", c->coords);
            if (c->rounding)
                onnx_text(&b, "nearest_mode", c->rounding);
            onnx_float(&b, "cubic_coeff_a", -0.75f); /* PyTorch always writes it */
            ref_check(&b, in, want_resize(c, x), BOUND);
        }
}

/* Upsample-9 and Resize-10 have two inputs, and x / scale rounded down. */
TEST(old_upsample)
{
    const struct resize_case c = {"nearest", "asymmetric", "floor", 5, 7, 10, 21, 2, 3};
    for (int v = 0; v < 2; v++) {
        struct onnx_build b;
        struct ref in, x = ref_begin(&b, 9 + v, 1, 1, 16, c.h, c.w, &in);
        onnx_f32(&b, "s", 1, (int64_t[]){4}, (float[]){1, 1, c.sh, c.sw});
        onnx_node(&b, v ? "Resize" : "Upsample", "x s", "y");
        ref_check(&b, in, want_resize(&c, x), BOUND);
    }
}

/* ---------------------------------------------------------------------------------- pad */

TEST(pad)
{
    static const char *const modes[] = {"constant", "reflect", "edge"};
    for (int v = 0; v < 3 * 2 * 2 * 2 * 2; v++) {
        int mode = v % 3, attr = v / 3 % 2, first = v / 6 % 2, odd = v / 12 % 2, then_conv = v / 24;
        int lo[2] = {2, 1}, hi[2] = {1, 3}, row[8], col[11];
        float fill = odd && mode == 0 ? 1.5f : 0;
        struct ref_window one = REF_ONES;
        struct onnx_build b;
        struct ref in, x = ref_begin(&b, attr ? 9 : 13, first, 1, odd ? 19 : 16, 5, 7, &in), y, w;
        const int64_t pads[8] = {0, 0, 2, 1, 0, 0, 1, 3};
        onnx_i64(&b, "pads", 8, pads);
        onnx_scalar(&b, "fill", fill);
        onnx_node(&b, "Pad", attr ? "x" : "x pads fill", then_conv ? "p" : "y");
        onnx_text(&b, "mode", modes[mode]);
        if (attr) {
            onnx_ints(&b, "pads", 8, pads);
            onnx_float(&b, "value", fill);
        }
        for (int a = 0; a < 2; a++)
            for (int i = 0; i < (a ? 11 : 8); i++) {
                int last = a ? 6 : 4, k = i - lo[a];
                if (mode)
                    k = mode == 2 ? (k < 0      ? 0
                                     : k > last ? last
                                                : k)
                                  : (k < 0      ? -k
                                     : k > last ? 2 * last - k
                                                : k);
                (a ? col : row)[i] = k;
            }
        (void)hi;
        y = ref_gather(x, 8, 11, row, col, fill);
        if (then_conv) { /* zeros go into the convolution, anything else must not */
            w = ref_random(6, y.d[1], 3, 3, 8, 0.2f);
            ref_weights(&b, "w", w);
            onnx_node(&b, "Conv", "p w", "y");
            y = ref_conv(y, w, NULL, one);
        }
        ref_check(&b, in, y, BOUND);
    }
}

/* ----------------------------------------------------------------------------- shape arithmetic */

/* F.interpolate(x, size=(2 h, w + 3)) as PyTorch 1.x traces it: Shape, Gather, Mul, Floor, Concat,
 * Cast. */
TEST(traced_interpolate)
{
    const struct resize_case c = {"linear", "half_pixel", NULL, 5, 7, 10, 10, 0, 0};
    struct onnx_build b;
    struct ref in, x = ref_begin(&b, 11, 1, 1, 16, c.h, c.w, &in);
    const float two = 2;
    onnx_node(&b, "Shape", "x", "sh");
    onnx_node(&b, "Constant", "", "i2");
    onnx_value(&b, "value", 7, 0, NULL, (int64_t[]){2}, 8);
    onnx_node(&b, "Constant", "", "i3");
    onnx_value(&b, "value", 7, 0, NULL, (int64_t[]){-1}, 8);
    onnx_node(&b, "Gather", "sh i2", "h");
    onnx_int(&b, "axis", 0);
    onnx_node(&b, "Gather", "sh i3", "w");
    onnx_node(&b, "Cast", "h", "hf");
    onnx_int(&b, "to", 1);
    onnx_node(&b, "Constant", "", "two");
    onnx_value(&b, "value", 1, 0, NULL, &two, 4);
    onnx_node(&b, "Mul", "hf two", "h2");
    onnx_node(&b, "Floor", "h2", "h2f");
    onnx_node(&b, "Unsqueeze", "h2f", "hu");
    onnx_ints(&b, "axes", 1, (int64_t[]){0});
    onnx_node(&b, "Cast", "hu", "hi");
    onnx_int(&b, "to", 7);
    onnx_node(&b, "Constant", "", "three");
    onnx_value(&b, "value", 7, 0, NULL, (int64_t[]){3}, 8);
    onnx_node(&b, "Add", "w three", "w3");
    onnx_node(&b, "Unsqueeze", "w3", "wu");
    onnx_ints(&b, "axes", 1, (int64_t[]){0});
    onnx_node(&b, "Constant", "", "zero");
    onnx_value(&b, "value", 7, 1, (int64_t[]){1}, (int64_t[]){0}, 8);
    onnx_node(&b, "Constant", "", "four");
    onnx_value(&b, "value", 7, 1, (int64_t[]){1}, (int64_t[]){2}, 8);
    onnx_node(&b, "Slice", "sh zero four zero", "nc");
    onnx_node(&b, "Concat", "nc hi wu", "sizes");
    onnx_int(&b, "axis", 0);
    onnx_node(&b, "Resize", "x - - sizes", "y");
    onnx_text(&b, "mode", "linear");
    ref_check(&b, in, want_resize(&c, x), BOUND);
}

/* x.view(x.size(0), -1), x / (size / 3) with integers, a pad list from ConstantOfShape: all must
 * fold. */
TEST(traced_view)
{
    struct onnx_build b;
    struct ref in, x = ref_begin(&b, 13, 1, 2, 16, 5, 7, &in), y;
    onnx_node(&b, "Shape", "x", "sh");
    onnx_i64(&b, "i0", 1, (int64_t[]){0});
    onnx_i64(&b, "m1", 1, (int64_t[]){-1});
    onnx_i64(&b, "three", 1, (int64_t[]){3});
    onnx_i64(&b, "eight", 1, (int64_t[]){8});
    onnx_node(&b, "Gather", "sh i0", "n");
    onnx_node(&b, "Concat", "n m1", "to");
    onnx_int(&b, "axis", 0);
    onnx_node(&b, "ConstantOfShape", "eight", "zeros");
    onnx_value(&b, "value", 7, 1, (int64_t[]){1}, (int64_t[]){0}, 8);
    onnx_node(&b, "Pad", "x zeros", "p");
    onnx_node(&b, "Reshape", "p to", "v");   /* [2][560] */
    onnx_node(&b, "Gather", "sh m1", "w");   /* 7 */
    onnx_node(&b, "Div", "w three", "w3");   /* 2: integers round towards 0 */
    onnx_node(&b, "Sub", "w3 three", "neg"); /* -1 */
    onnx_node(&b, "Cast", "neg", "f");
    onnx_int(&b, "to", 1);
    onnx_node(&b, "Mul", "v f", "y");
    y = ref_new(2, 560, 1, 1);
    for (size_t i = 0; i < ref_count(&y); i++)
        y.v[i] = -x.v[i];
    ref_check(&b, in, y, BOUND);
}
