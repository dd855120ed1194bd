/*
 * Operators that are a table of source rows and one of source columns: resize, pad, crop. The
 * tables are made here once a shape, so that an executor's loop knows nothing of the dozen ways to
 * define them.
 */
#include "gpu/net/net_graph.h"

#include <math.h>
#include <string.h>

static int new_tables(struct net_graph *g, const struct net_node *n, struct net_step *s, int lerp,
                      struct err *err)
{
    for (int a = 0; a < 2; a++) {
        size_t count = (size_t)g->tensors[s->dst].d[2 + a];
        struct net_axis *t = &s->axis2[a];
        t->i0 = net_mem_get(&g->mem, count, sizeof *t->i0);
        t->i1 = lerp ? net_mem_get(&g->mem, count, sizeof *t->i1) : NULL;
        t->w1 = lerp ? net_mem_get(&g->mem, count, sizeof *t->w1) : NULL;
        if (!t->i0 || (lerp && (!t->i1 || !t->w1)))
            return net_op_fail(err, ERR_MEMORY, n, "no memory for a plan");
    }
    return 0;
}

/* ---------------------------------------------------------------------------------- resize */

enum coords { HALF_PIXEL, PYTORCH_HALF_PIXEL, ALIGN_CORNERS, ASYMMETRIC };
enum rounding { PREFER_FLOOR, PREFER_CEIL, FLOOR, CEIL };

struct resize {
    int linear;
    enum coords coords;
    enum rounding rounding;
    int64_t out[2];
    float scale[2];
};

static int net_graph_map_pick(const struct net_node *n, const char *attr, const char *def,
                              const char *const *names, int count, int *v, struct err *err)
{
    const char *s;
    int rc = net_op_string(n, attr, &s, def, err);
    for (*v = 0; !rc && *v < count; ++*v)
        if (!strcmp(s, names[*v]))
            return 0;
    return rc ? rc : net_op_fail(err, ERR_UNSUPPORTED, n, "this %s", attr);
}

static int resize_modes(const struct net_graph *g, const struct net_node *n, struct resize *r,
                        struct err *err)
{
    static const char *const modes[] = {"nearest", "linear", "bilinear"};
    static const char *const coords[] = {"half_pixel", "pytorch_half_pixel", "align_corners",
                                         "asymmetric"};
    static const char *const rounding[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                           "ceil"};
    /* before opset 11 there was only x / scale, rounded down */
    int old = g->net->opset < 11 || n->op->name[0] == 'U';
    const char *policy;
    int64_t antialias, outside;
    int mode = 0, c = 0, round_mode = 0, rc;
    if ((rc = net_graph_map_pick(n, "mode", "nearest", modes, 3, &mode, err)) ||
        (rc = net_graph_map_pick(n, "coordinate_transformation_mode",
                                 old ? "asymmetric" : "half_pixel", coords, 4, &c, err)) ||
        (rc = net_graph_map_pick(n, "nearest_mode", old ? "floor" : "round_prefer_floor", rounding,
                                 4, &round_mode, err)) ||
        (rc = net_op_string(n, "keep_aspect_ratio_policy", &policy, "stretch", err)) ||
        (rc = net_op_int(n, "antialias", &antialias, 0, err)) ||
        (rc = net_op_int(n, "exclude_outside", &outside, 0, err)))
        return rc;
    if (antialias || outside || strcmp(policy, "stretch") || net_op_attr(n, "axes"))
        return net_op_fail(err, ERR_UNSUPPORTED, n,
                           "antialias, exclude_outside, axes or keeping the aspect ratio");
    r->linear = mode != 0;
    r->coords = (enum coords)c;
    r->rounding = (enum rounding)round_mode;
    return 0;
}

/* Inputs of Resize-11: X, roi, scales, sizes; Resize-10 and Upsample-9: X, scales; Upsample-7:
 * attribute. */
static int resize_target(struct net_graph *g, const struct net_node *n, const struct net_info *x,
                         struct resize *r, struct err *err)
{
    int at = n->n_in > 2 ? 2 : 1, by_size = net_graph_given(n, 3), rc;
    const struct net_attr *attr = net_op_attr(n, "scales");
    struct net_info v = {0};
    double from_attr[4];
    if (by_size || net_graph_given(n, at)) {
        if ((rc = net_graph_numbers(g, n, by_size ? 3 : at, &v, err)))
            return rc;
    } else if (attr && attr->kind == NET_ATTR_FLOATS && attr->n == 4) {
        for (int i = 0; i < 4; i++)
            from_attr[i] = attr->floats[i];
        v = (struct net_info){.rank = 1, .dim = {4}, .v = from_attr};
    }
    if (!v.v || v.rank != 1 || v.dim[0] != 4)
        return net_op_fail(err, ERR_UNSUPPORTED, n, "four scales or four sizes are needed");
    for (int i = 0; i < 4; i++) {
        double size = by_size ? v.v[i] : floor((double)x->dim[i] * v.v[i] + 1e-6);
        if (!(size >= 1 && size <= NET_SIDE_MAX) || !(v.v[i] > 0))
            return net_op_fail(err, ERR_INPUT, n, "dimension %d would be %g", i, size);
        if (i < 2 && (int64_t)size != x->dim[i])
            return net_op_fail(err, ERR_UNSUPPORTED, n, "resizing batch or channels");
        if (i >= 2) {
            r->out[i - 2] = (int64_t)size;
            r->scale[i - 2] = by_size ? (float)size / (float)x->dim[i] : (float)v.v[i];
        }
    }
    return 0;
}

/* ONNX "Resize": the position in the input that output i reads. */
static float source_of(const struct resize *r, int a, int i, int in)
{
    int out = (int)r->out[a];
    switch (r->coords) {
    case ALIGN_CORNERS:
        return out > 1 ? (float)i * (float)(in - 1) / (float)(out - 1) : 0;
    case ASYMMETRIC:
        return (float)i / r->scale[a];
    case PYTORCH_HALF_PIXEL:
        if (out == 1)
            return 0;
        /* fall through */
    case HALF_PIXEL:
        break;
    }
    return ((float)i + 0.5f) / r->scale[a] - 0.5f;
}

static void fill_axis(const struct resize *r, int a, int in, struct net_axis *t)
{
    int out = (int)r->out[a];
    t->times = out % in ? 0 : out / in;
    for (int i = 0; i < out; i++) {
        float x = source_of(r, a, i, in), last = (float)(in - 1);
        if (r->linear) {
            x = fminf(fmaxf(x, 0), last);
            t->i0[i] = (int)x;
            t->i1[i] = t->i0[i] + 1 < in ? t->i0[i] + 1 : in - 1;
            t->w1[i] = x - (float)t->i0[i];
            continue;
        }
        x = r->rounding == FLOOR          ? floorf(x)
            : r->rounding == CEIL         ? ceilf(x)
            : r->rounding == PREFER_FLOOR ? ceilf(x - 0.5f)
                                          : floorf(x + 0.5f);
        t->i0[i] = (int)fminf(fmaxf(x, 0), last);
        if (t->times && t->i0[i] != i / t->times)
            t->times = 0;
    }
    if (r->linear && (r->coords == ASYMMETRIC || r->coords == ALIGN_CORNERS))
        t->times = 0;
}

int net_graph_map_resize(struct net_graph *g, const struct net_node *n, struct err *err)
{
    const struct net_info *x;
    struct resize r = {0};
    struct net_step *s;
    int64_t dim[4];
    int rc, code, in[2];
    if ((rc = net_graph_image(g, n, 0, &x, err)) || (rc = resize_modes(g, n, &r, err)) ||
        (rc = resize_target(g, n, x, &r, err)))
        return rc;
    dim[0] = x->dim[0];
    dim[1] = x->dim[1];
    dim[2] = r.out[0];
    dim[3] = r.out[1];
    in[0] = (int)x->dim[2];
    in[1] = (int)x->dim[3];
    s = net_graph_step(g, n, r.linear ? NET_STEP_LERP : NET_STEP_REMAP, &x->tensor, 1, 4, dim,
                       &code, err);
    if (!s)
        return code;
    if ((rc = new_tables(g, n, s, r.linear, err)))
        return rc;
    for (int a = 0; a < 2; a++)
        fill_axis(&r, a, in[a], &s->axis2[a]);
    return 0;
}

/* --------------------------------------------------------------------------------- pad and crop */

enum pad_mode { PAD_CONSTANT, PAD_REFLECT, PAD_EDGE };

/* lo and hi of the four dimensions, from attribute or inputs 1 and 3. */
static int pad_amounts(struct net_graph *g, const struct net_node *n, const struct net_info *x,
                       int lo[4], int hi[4], struct err *err)
{
    const struct net_attr *attr = net_op_attr(n, "pads");
    struct net_info pads = {0}, axes = {0};
    int rc = 0, count = x->rank;
    if (net_graph_given(n, 1))
        rc = net_graph_numbers(g, n, 1, &pads, err);
    if (!rc && net_graph_given(n, 3)) {
        rc = net_graph_numbers(g, n, 3, &axes, err);
        count = rc ? 0 : (int)net_graph_count(axes.rank, axes.dim);
    }
    if (rc)
        return rc;
    if (pads.v ? net_graph_count(pads.rank, pads.dim) != 2 * count
               : !attr || attr->kind != NET_ATTR_INTS || attr->n != 2 * count)
        return net_op_fail(err, ERR_INPUT, n, "not %d pads", 2 * count);
    for (int i = 0; i < count; i++) {
        double a = axes.v ? (axes.v[i] < 0 ? axes.v[i] + x->rank : axes.v[i]) : i;
        double l = pads.v ? pads.v[i] : (double)attr->ints[i];
        double h = pads.v ? pads.v[count + i] : (double)attr->ints[count + i];
        if (!(a >= 0 && a < x->rank) || !(fabs(l) <= 32768 && fabs(h) <= 32768))
            return net_op_fail(err, ERR_INPUT, n, "pads %g, %g on axis %g", l, h, a);
        lo[(int)a] = (int)l;
        hi[(int)a] = (int)h;
    }
    return 0;
}

static int pad_source(enum pad_mode mode, int i, int in)
{
    if (mode == PAD_EDGE)
        return i < 0 ? 0 : i >= in ? in - 1 : i;
    if (mode == PAD_REFLECT)
        return i < 0 ? -i : i >= in ? 2 * (in - 1) - i : i;
    return i < 0 || i >= in ? -1 : i;
}

int net_graph_map_pad(struct net_graph *g, const struct net_node *n, struct err *err)
{
    static const char *const modes[] = {"constant", "reflect", "edge"};
    const struct net_info *x;
    struct net_info fill = {0};
    struct net_step *s;
    int64_t dim[4];
    int lo[4] = {0}, hi[4] = {0}, mode, rc, code, in[2], grows = 1;
    float value;
    if ((rc = net_graph_image(g, n, 0, &x, err)) ||
        (rc = net_graph_map_pick(n, "mode", "constant", modes, 3, &mode, err)) ||
        (rc = net_op_float(n, "value", &value, 0, err)) || (rc = pad_amounts(g, n, x, lo, hi, err)))
        return rc;
    if (net_graph_given(n, 2)) {
        if ((rc = net_graph_numbers(g, n, 2, &fill, err)))
            return rc;
        if (net_graph_count(fill.rank, fill.dim) != 1)
            return net_op_fail(err, ERR_INPUT, n, "a fill that is not one number");
        value = (float)fill.v[0];
    }
    if (lo[0] || hi[0] || lo[1] || hi[1])
        return net_op_fail(err, ERR_UNSUPPORTED, n, "padding batch or channels");
    for (int a = 0; a < 4; a++) {
        dim[a] = x->dim[a] + lo[a] + hi[a];
        if (mode == PAD_REFLECT && (lo[a] >= x->dim[a] || hi[a] >= x->dim[a]))
            return net_op_fail(err, ERR_INPUT, n, "reflecting %d, %d of %lld", lo[a], hi[a],
                               (long long)x->dim[a]);
        grows = grows && lo[a] >= 0 && hi[a] >= 0;
    }
    in[0] = (int)x->dim[2];
    in[1] = (int)x->dim[3];
    s = net_graph_step(g, n, NET_STEP_REMAP, &x->tensor, 1, 4, dim, &code, err);
    if (!s)
        return code;
    if ((rc = new_tables(g, n, s, 0, err)))
        return rc;
    s->fill = value;
    s->zero_pad = mode == PAD_CONSTANT && value == 0 && grows;
    for (int a = 0; a < 2; a++) {
        s->win.lo[a] = lo[2 + a];
        s->win.hi[a] = hi[2 + a];
        for (int i = 0; i < (int)dim[2 + a]; i++)
            s->axis2[a].i0[i] = pad_source((enum pad_mode)mode, i - lo[2 + a], in[a]);
    }
    return 0;
}

int net_graph_map_crop(struct net_graph *g, const struct net_node *n, const struct net_info *from,
                       const int start[2], const int step[2], const int count[2], struct err *err)
{
    struct net_info x = *from;
    struct net_step *s;
    int rc, code;
    for (int a = 0; a < 2 && 2 + a < x.rank; a++)
        x.dim[2 + a] = count[a];
    s = net_graph_step(g, n, NET_STEP_REMAP, &x.tensor, 1, x.rank, x.dim, &code, err);
    if (!s)
        return code;
    if ((rc = new_tables(g, n, s, 0, err)))
        return rc;
    for (int a = 0; a < 2; a++)
        for (int i = 0; i < count[a]; i++)
            s->axis2[a].i0[i] = start[a] + i * step[a];
    return 0;
}
