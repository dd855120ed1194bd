#include "api/client/client_splat.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define OVERSAMPLE 2
#define NEAR_M 0.02f
/* Radius, oversampled, so that a point at the lens does not cover the picture */
#define DISC_MAX_PX 24
#define SHADE_STRENGTH 5.0f
#define SHADE_REACH 2 /* pixels, oversampled */
/* Of one neighbour, so that edges before a far background do not turn black */
#define SHADE_CAP 0.35f
#define SAMPLES 65536

struct canvas {
    int w, h;
    float *z; /* [h][w], INFINITY = nothing */
    uint8_t *rgb;
};

/* ------------------------------------------------------------------------------------ cameras */

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return x < y ? -1 : x > y;
}

/* Returns the p-quantile of n values, which are sorted in place. */
static float quantile(float *v, size_t n, double p)
{
    if (n == 0)
        return 0;
    qsort(v, n, sizeof *v, by_value);
    return v[(size_t)(p * (double)(n - 1) + 0.5)];
}

static struct vec3 point_at(const float *xyz, size_t i)
{
    return vec3_make(xyz[3 * i], xyz[3 * i + 1], xyz[3 * i + 2]);
}

/* Finds the middle of a cloud and returns the radius that holds nine points of ten. Medians are
 * used, because points of the sky or behind a window lie far off and must not decide. */
static float middle(struct vec3 *c, const float *xyz, size_t n)
{
    size_t step = n / SAMPLES + 1, m = 0;
    float *v = n ? malloc((n / step + 1) * sizeof *v) : NULL, axis[3] = {0}, radius = 1;

    for (int k = 0; v && k < 3; k++) {
        m = 0;
        for (size_t i = 0; i < n; i += step)
            v[m++] = xyz[3 * i + (size_t)k];
        axis[k] = 0.5f * (quantile(v, m, 0.1) + quantile(v, m, 0.9));
    }
    *c = vec3_make(axis[0], axis[1], axis[2]);
    if (v) {
        m = 0;
        for (size_t i = 0; i < n; i += step)
            v[m++] = sqrtf(vec3_norm2(vec3_sub(point_at(xyz, i), *c)));
        radius = quantile(v, m, 0.9);
    }
    free(v);
    return radius > 1e-3f ? radius : 1.0f;
}

void client_splat_orbit(struct client_splat_view *view, const float *xyz, size_t n,
                        const float *R_wc0, float yaw, float pitch, float zoom, int w, int h)
{
    /* Yaw about the camera's y, then pitch about its x: the camera sinks its head, and stands
     * higher. */
    const struct rigid Y = {.r = {cosf(yaw), 0, sinf(yaw), 0, 1, 0, -sinf(yaw), 0, cosf(yaw)}};
    const struct rigid X = {
        .r = {1, 0, 0, 0, cosf(pitch), sinf(pitch), 0, -sinf(pitch), cosf(pitch)}};
    struct rigid T_wc = {0};
    struct vec3 c;
    float f = 1.1f * (float)(w > h ? w : h), side = (float)(w < h ? w : h);
    float distance = middle(&c, xyz, n) * 2.0f * f / side / zoom;

    memcpy(T_wc.r, R_wc0, sizeof T_wc.r);
    T_wc = rigid_mul(&T_wc, &Y);
    T_wc = rigid_mul(&T_wc, &X);
    T_wc.t[0] = c.x - distance * T_wc.r[2];
    T_wc.t[1] = c.y - distance * T_wc.r[5];
    T_wc.t[2] = c.z - distance * T_wc.r[8];
    *view = (struct client_splat_view){
        .T_cw = rigid_inverse(&T_wc),
        .K = {f, f, 0.5f * (float)(w - 1), 0.5f * (float)(h - 1)},
        .w = w,
        .h = h,
    };
}

/* Returns the median depth of the points in view, from every few points; *seen is how many points
 * are in view. */
static float median_depth(const struct client_splat_view *view, const float *xyz, size_t n,
                          size_t *seen)
{
    size_t step = n / SAMPLES + 1, m = 0;
    float *z = n ? malloc((n / step + 1) * sizeof *z) : NULL, depth;

    for (size_t i = 0; z && i < n; i += step) {
        struct vec3 p = rigid_apply(&view->T_cw, point_at(xyz, i));
        float u = view->K.fx * p.x / p.z + view->K.cx, v = view->K.fy * p.y / p.z + view->K.cy;

        if (p.z > NEAR_M && u >= 0 && v >= 0 && u < (float)view->w && v < (float)view->h)
            z[m++] = p.z;
    }
    depth = m ? quantile(z, m, 0.5) : 1.0f;
    *seen = m * step;
    free(z);
    return depth;
}

float client_splat_depth(const struct client_splat_view *view, const float *xyz, size_t n)
{
    size_t seen;
    return median_depth(view, xyz, n, &seen);
}

float client_splat_disc(const struct client_splat_view *view, const float *xyz, size_t n)
{
    size_t seen;
    float depth = median_depth(view, xyz, n, &seen), px = 2.0f;

    if (seen)
        px = sqrtf(4.0f * (float)view->w * (float)view->h / (float)seen);
    px = px < 1.5f ? 1.5f : px > 5.0f ? 5.0f : px;
    return px * depth / view->K.fx;
}

/* ------------------------------------------------------------------------------------ drawing */

static void draw_disc(struct canvas *c, float u, float v, float r, float z, const uint8_t *rgb)
{
    int x0 = (int)ceilf(u - r), x1 = (int)floorf(u + r);
    int y0 = (int)ceilf(v - r), y1 = (int)floorf(v + r);

    for (int y = y0 < 0 ? 0 : y0; y <= y1 && y < c->h; y++)
        for (int x = x0 < 0 ? 0 : x0; x <= x1 && x < c->w; x++) {
            size_t i = (size_t)y * (size_t)c->w + (size_t)x;
            float dx = (float)x - u, dy = (float)y - v;

            if (dx * dx + dy * dy > r * r || z >= c->z[i])
                continue;
            c->z[i] = z;
            memcpy(c->rgb + 3 * i, rgb, 3);
        }
}

static void draw_points(struct canvas *c, const struct client_splat_view *view, const float *xyz,
                        const uint8_t *rgb, size_t n)
{
    struct intrinsics K = intrinsics_scale(view->K, view->w, view->h, c->w, c->h);

    for (size_t i = 0; i < n; i++) {
        struct vec3 p = rigid_apply(&view->T_cw, point_at(xyz, i));
        float u, v, r;

        if (!(p.z > NEAR_M))
            continue;
        u = K.fx * p.x / p.z + K.cx;
        v = K.fy * p.y / p.z + K.cy;
        r = 0.5f * view->disc_m * K.fx / p.z;
        r = r < 0.71f ? 0.71f : r > DISC_MAX_PX ? DISC_MAX_PX : r;
        if (u > -r && v > -r && u < (float)c->w + r && v < (float)c->h + r)
            draw_disc(c, u, v, r, p.z, rgb + 3 * i);
    }
}

/* Fills an empty pixel that has at least five drawn neighbours of like depth with their mean. */
static void close_gaps(struct canvas *c, float *z_new)
{
    memcpy(z_new, c->z, (size_t)c->w * (size_t)c->h * sizeof *z_new);
    for (int y = 1; y + 1 < c->h; y++)
        for (int x = 1; x + 1 < c->w; x++) {
            size_t i = (size_t)y * (size_t)c->w + (size_t)x;
            float sum[3] = {0}, z_sum = 0, z_min = INFINITY, z_max = 0;
            int n = 0;

            if (c->z[i] < INFINITY)
                continue;
            for (int k = 0; k < 9; k++) {
                size_t j = i + (size_t)((k / 3 - 1) * c->w + k % 3 - 1);

                if (!(c->z[j] < INFINITY))
                    continue;
                n++;
                z_sum += c->z[j];
                z_min = c->z[j] < z_min ? c->z[j] : z_min;
                z_max = c->z[j] > z_max ? c->z[j] : z_max;
                for (int b = 0; b < 3; b++)
                    sum[b] += (float)c->rgb[3 * j + (size_t)b];
            }
            if (n < 5 || z_max > 1.1f * z_min)
                continue;
            z_new[i] = z_sum / (float)n;
            for (int b = 0; b < 3; b++)
                c->rgb[3 * i + (size_t)b] = (uint8_t)(sum[b] / (float)n + 0.5f);
        }
    memcpy(c->z, z_new, (size_t)c->w * (size_t)c->h * sizeof *z_new);
}

/* Returns log2 z of a pixel; an empty one counts as a wall far behind. */
static float log_depth(const struct canvas *c, int x, int y, float empty)
{
    x = x < 0 ? 0 : x >= c->w ? c->w - 1 : x;
    y = y < 0 ? 0 : y >= c->h ? c->h - 1 : y;
    float z = c->z[(size_t)y * (size_t)c->w + (size_t)x];
    return z < INFINITY ? log2f(z) : empty;
}

static float shade_at(const struct canvas *c, int x, int y)
{
    float own = log_depth(c, x, y, 0), sum = 0, d;

    for (int k = 0; k < 9; k++) {
        d = own - log_depth(c, x + (k % 3 - 1) * SHADE_REACH, y + (k / 3 - 1) * SHADE_REACH, 1e6f);
        sum += d > SHADE_CAP ? SHADE_CAP : d > 0 ? d : 0;
    }
    return expf(-SHADE_STRENGTH * sum / 8);
}

/* Shades the picture, puts it on a background that is a little brighter above, and averages it
 * down. */
static void resolve(uint8_t *picture, const struct canvas *c, int w, int h)
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            float sum[3] = {0};

            for (int k = 0; k < OVERSAMPLE * OVERSAMPLE; k++) {
                int cx = x * OVERSAMPLE + k % OVERSAMPLE, cy = y * OVERSAMPLE + k / OVERSAMPLE;
                size_t i = (size_t)cy * (size_t)c->w + (size_t)cx;
                bool drawn = c->z[i] < INFINITY;
                float s = drawn ? shade_at(c, cx, cy) : 1.0f;
                float grey = 46.0f - 18.0f * (float)y / (float)h;

                for (int b = 0; b < 3; b++)
                    sum[b] += drawn ? s * (float)c->rgb[3 * i + (size_t)b]
                                    : grey + (b == 2 ? 5.0f : 0.0f);
            }
            for (int b = 0; b < 3; b++)
                picture[3 * ((size_t)y * (size_t)w + (size_t)x) + (size_t)b] =
                    (uint8_t)(sum[b] / (OVERSAMPLE * OVERSAMPLE) + 0.5f);
        }
}

int client_splat_draw(uint8_t *picture, const struct client_splat_view *view, const float *xyz,
                      const uint8_t *rgb, size_t n, struct err *err)
{
    struct canvas c = {.w = view->w * OVERSAMPLE, .h = view->h * OVERSAMPLE};
    size_t pixels = (size_t)c.w * (size_t)c.h;
    float *scratch = NULL;
    int rc = 0;

    if (view->w < 1 || view->h < 1 || view->w > CLIENT_SPLAT_SIDE_MAX ||
        view->h > CLIENT_SPLAT_SIDE_MAX)
        return err_set(err, ERR_INPUT, "picture of %d x %d, sides must be in 1...%d", view->w,
                       view->h, CLIENT_SPLAT_SIDE_MAX);
    c.z = malloc(pixels * sizeof *c.z);
    c.rgb = malloc(3 * pixels);
    scratch = malloc(pixels * sizeof *scratch);
    if (!c.z || !c.rgb || !scratch) {
        rc = err_set(err, ERR_MEMORY, "no memory for a picture of %d x %d", view->w, view->h);
        goto out;
    }
    for (size_t i = 0; i < pixels; i++)
        c.z[i] = INFINITY;
    draw_points(&c, view, xyz, rgb, n);
    for (int i = 0; i < 2; i++)
        close_gaps(&c, scratch);
    resolve(picture, &c, view->w, view->h);
out:
    free(scratch);
    free(c.rgb);
    free(c.z);
    return rc;
}

void client_splat_depth_colours(uint8_t *rgb, const uint16_t *depth_mm, size_t n, float near_m,
                                float far_m)
{
    static const uint8_t stops[6][3] = {{250, 240, 190}, {252, 170, 80}, {225, 75, 85},
                                        {135, 45, 125},  {60, 40, 120},  {15, 20, 50}};
    float scale = 5.0f / logf(far_m / near_m);

    for (size_t i = 0; i < n; i++) {
        float t = scale * logf((float)depth_mm[i] * 1e-3f / near_m), u;
        int k;

        if (depth_mm[i] == 0) {
            memset(rgb + 3 * i, 60, 3);
            continue;
        }
        t = t < 0 ? 0 : t > 4.9999f ? 4.9999f : t;
        k = (int)t;
        u = t - (float)k;
        for (int b = 0; b < 3; b++)
            rgb[3 * i + (size_t)b] =
                (uint8_t)((1 - u) * (float)stops[k][b] + u * (float)stops[k + 1][b] + 0.5f);
    }
}
