#include "proto/geom/lens.h"

#include "proto/bytes.h"

#include <stdbool.h>

#define RADIUS_STEP 0.015625f /* of the search for the limit */
#define ANGLE_STEP 0.0078125f
#define DIRECTIONS 16
#define BORDER 16 /* places on each side of the picture */

const char *const lens_names[LENS_MODELS + 1] = {"pinhole", "radial-tangential", "fisheye",
                                                 "sphere", NULL};

int lens_n_params(enum lens_model model)
{
    return model == LENS_RADIAL ? 5 : model == LENS_FISHEYE ? 4 : 0;
}

struct intrinsics lens_sphere_intrinsics(int w, int h)
{
    return (struct intrinsics){(float)w / (2 * LENS_PI), (float)h / LENS_PI, 0.5f * (float)(w - 1),
                               0.5f * (float)(h - 1)};
}

/* Does the picture grow with the ray at this radius, in every direction? */
static bool grows(const struct lens *l, float radius)
{
    for (int i = 0; i < DIRECTIONS; i++) {
        float s, c, a, b, J[4], out, det;

        lens_sincos((float)(2 * i - DIRECTIONS) * (LENS_PI / DIRECTIONS), &s, &c);
        lens_radial(l, radius * c, radius * s, &a, &b, J);
        out = c * (J[0] * c + J[1] * s) + s * (J[2] * c + J[3] * s);
        det = J[0] * J[3] - J[1] * J[2];
        if (!(out >= LENS_SLOPE_LEAST && det >= LENS_SLOPE_LEAST * LENS_SLOPE_LEAST))
            return false;
    }
    return true;
}

/* (L8) How far from the axis the model can be turned round. */
static float find_limit(const struct lens *l)
{
    float at = 0;

    if (l->model == LENS_RADIAL)
        while (at + RADIUS_STEP <= LENS_RADIUS_MOST && grows(l, at + RADIUS_STEP))
            at += RADIUS_STEP;
    if (l->model == LENS_FISHEYE)
        while (at + ANGLE_STEP <= LENS_PI &&
               lens_radius_slope(l, at + ANGLE_STEP) >= LENS_SLOPE_LEAST)
            at += ANGLE_STEP;
    return at;
}

/* The picture's border is within reach of the model, or of a fisheye beyond 90 degrees. */
static bool covers(const struct lens *l, struct intrinsics K, int w, int h)
{
    if (l->model == LENS_FISHEYE && l->limit >= LENS_PI / 2)
        return true;
    for (int i = 0; i <= BORDER; i++) {
        float u = (float)i / BORDER * (float)w - 0.5f, v = (float)i / BORDER * (float)h - 0.5f;
        float right = (float)w - 0.5f, below = (float)h - 0.5f;
        struct vec3 ray;

        if (!lens_ray(l, K, u, -0.5f, &ray) || !lens_ray(l, K, u, below, &ray) ||
            !lens_ray(l, K, -0.5f, v, &ray) || !lens_ray(l, K, right, v, &ray))
            return false;
    }
    return true;
}

static bool in_range(const struct lens *l)
{
    for (int i = 0; i < LENS_PARAMS_MAX; i++)
        if (!(fabsf(l->k[i]) <= LENS_PARAM_MOST))
            return false;
    return l->model != LENS_RADIAL ||
           (fabsf(l->k[2]) <= LENS_TANGENTIAL_MOST && fabsf(l->k[3]) <= LENS_TANGENTIAL_MOST);
}

int lens_make(struct lens *l, enum lens_model model, const float *k, struct intrinsics K, int w,
              int h, struct err *err)
{
    *l = (struct lens){.model = (int)model};
    for (int i = 0; i < lens_n_params(model); i++)
        l->k[i] = k[i];
    if (!in_range(l))
        return err_set(err, ERR_INPUT, "distortion is at most %g in size, p1 and p2 %g",
                       (double)LENS_PARAM_MOST, (double)LENS_TANGENTIAL_MOST);
    l->limit = find_limit(l);
    if (model == LENS_SPHERE && w != 2 * h)
        return err_set(err, ERR_INPUT, "the picture of a sphere is twice as wide as it is high");
    if (lens_n_params(model) && !covers(l, K, w, h))
        return err_set(err, ERR_INPUT,
                       "the model cannot be turned round in all of the picture: it folds %.3g "
                       "degrees from the axis",
                       (double)(lens_atan2(model == LENS_RADIAL ? l->limit : 0, 1) +
                                (model == LENS_FISHEYE ? l->limit : 0)) *
                           180 / (double)LENS_PI);
    return 0;
}

int lens_valid(const struct lens *l)
{
    float most = l->model == LENS_RADIAL    ? LENS_RADIUS_MOST
                 : l->model == LENS_FISHEYE ? LENS_PI
                                            : 0;

    return l->model >= 0 && l->model < LENS_MODELS && in_range(l) && l->limit >= 0 &&
           l->limit <= most && (most == 0 || l->limit > 0);
}

void lens_put(uint8_t out[LENS_BYTES], const struct lens *l)
{
    struct bytes_writer w = bytes_writer(out, LENS_BYTES);

    bytes_put_u32(&w, (uint32_t)l->model);
    for (int i = 0; i < LENS_PARAMS_MAX; i++)
        bytes_put_f32(&w, l->k[i]);
    bytes_put_f32(&w, l->limit);
}

int lens_get(struct lens *l, const uint8_t in[LENS_BYTES], struct err *err)
{
    struct bytes_reader r = bytes_reader(in, LENS_BYTES);
    uint32_t model = bytes_get_u32(&r);
    struct lens read = {.model = model < LENS_MODELS ? (int)model : LENS_MODELS};

    for (int i = 0; i < LENS_PARAMS_MAX; i++)
        read.k[i] = bytes_get_f32(&r);
    read.limit = bytes_get_f32(&r);
    if (!lens_valid(&read))
        return err_set(err, ERR_INPUT, "a model of a camera that is none");
    *l = read;
    return 0;
}
