#include "proto/geom/lens.h"

#include "proto/bytes.h"

#include <stdbool.h>

#define RADIUS_STEP 0.015625f /* steps of the search for the limit */
#define ANGLE_STEP 0.0078125f
#define DIRECTIONS 16
#define BORDER 16 /* checked places on each side of the picture */

const char *const lens_names[LENS_MODELS + 1] = {"pinhole", "radial-tangential", "fisheye",
                                                 "sphere",  "unified",           NULL};

int lens_n_params(enum lens_model model)
{
    return model == LENS_RADIAL || model == LENS_UNIFIED ? 5 : model == LENS_FISHEYE ? 4 : 0;
}

struct intrinsics lens_sphere_intrinsics(int w, int h)
{
    return (struct intrinsics){(float)w / (2 * LENS_PI), (float)h / LENS_PI, 0.5f * (float)(w - 1),
                               0.5f * (float)(h - 1)};
}

/* Tells whether the picture grows with the ray at this radius in every direction. */
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

/* (L8) Finds the largest angle to the axis up to which a unified model's picture grows, as 1 less
 * its cosine. */
static float find_mirror_limit(const struct lens *l)
{
    const struct lens behind = lens_behind(l);
    float xi = l->k[0], at = 0, s, c, most = 0;

    while (most + RADIUS_STEP <= LENS_RADIUS_MOST && grows(&behind, most + RADIUS_STEP))
        most += RADIUS_STEP;
    for (float next = ANGLE_STEP; next <= LENS_PI; next += ANGLE_STEP) {
        lens_sincos(next, &s, &c);
        if (!(c + xi > LENS_SLOPE_LEAST && s <= most * (c + xi) &&
              1 + xi * c >= LENS_SLOPE_LEAST * (c + xi) * (c + xi)))
            break;
        at = 1 - c;
    }
    return at;
}

/* (L8) Finds how far from the axis the model is invertible. */
static float find_limit(const struct lens *l)
{
    float at = 0;

    if (l->model == LENS_UNIFIED)
        return find_mirror_limit(l);

    if (l->model == LENS_RADIAL)
        while (at + RADIUS_STEP <= LENS_RADIUS_MOST && grows(l, at + RADIUS_STEP))
            at += RADIUS_STEP;
    if (l->model == LENS_FISHEYE)
        while (at + ANGLE_STEP <= LENS_PI &&
               lens_radius_slope(l, at + ANGLE_STEP) >= LENS_SLOPE_LEAST)
            at += ANGLE_STEP;
    return at;
}

/* Tells whether the picture's border is within the invertible range, or beyond 90 degrees for a
 * model that sees so far. */
static bool covers(const struct lens *l, struct intrinsics K, int w, int h)
{
    if ((l->model == LENS_FISHEYE && l->limit >= LENS_PI / 2) ||
        (l->model == LENS_UNIFIED && l->limit >= 1))
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
    const float *p = l->model == LENS_UNIFIED ? l->k + 3 : l->k + 2;

    for (int i = 0; i < LENS_PARAMS_MAX; i++)
        if (!(fabsf(l->k[i]) <= LENS_PARAM_MOST))
            return false;
    if (l->model == LENS_UNIFIED && !(l->k[0] >= 0 && l->k[0] <= LENS_MIRROR_MOST))
        return false;
    return (l->model != LENS_RADIAL && l->model != LENS_UNIFIED) ||
           (fabsf(p[0]) <= LENS_TANGENTIAL_MOST && fabsf(p[1]) <= LENS_TANGENTIAL_MOST);
}

static float limit_angle(const struct lens *l)
{
    float c = 1 - l->limit;

    return l->model == LENS_RADIAL    ? lens_atan2(l->limit, 1)
           : l->model == LENS_UNIFIED ? lens_atan2(sqrtf(1 - c * c), c)
                                      : l->limit;
}

int lens_make(struct lens *l, enum lens_model model, const float *k, struct intrinsics K, int w,
              int h, struct err *err)
{
    *l = (struct lens){.model = (int)model};
    for (int i = 0; i < lens_n_params(model); i++)
        l->k[i] = k[i];
    if (!in_range(l))
        return err_set(err, ERR_INPUT,
                       "distortion is at most %g in size, p1 and p2 %g, and xi is within 0...%g",
                       (double)LENS_PARAM_MOST, (double)LENS_TANGENTIAL_MOST,
                       (double)LENS_MIRROR_MOST);
    l->limit = find_limit(l);
    if (model == LENS_SPHERE && w != 2 * h)
        return err_set(err, ERR_INPUT, "the picture of a sphere is twice as wide as it is high");
    if (lens_n_params(model) && !covers(l, K, w, h))
        return err_set(err, ERR_INPUT,
                       "the model cannot be turned round in all of the picture: it folds %.3g "
                       "degrees from the axis",
                       (double)limit_angle(l) * 180 / (double)LENS_PI);
    return 0;
}

int lens_valid(const struct lens *l)
{
    float most = l->model == LENS_RADIAL    ? LENS_RADIUS_MOST
                 : l->model == LENS_FISHEYE ? LENS_PI
                 : l->model == LENS_UNIFIED ? 2
                                            : 0;

    return l->model >= 0 && l->model < LENS_MODELS && in_range(l) && l->limit >= 0 &&
           l->limit <= most && (most == 0 || l->limit > 0);
}

int lens_camera_valid(struct intrinsics K, const struct lens *l)
{
    return K.fx >= 1.0f && K.fx < 1e6f && K.fy >= 1.0f && K.fy < 1e6f && fabsf(K.cx) < 1e6f &&
           fabsf(K.cy) < 1e6f && lens_valid(l);
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
