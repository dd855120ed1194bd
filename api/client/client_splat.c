#include "api/client/client_splat.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define OVERSAMPLE 2
#define NEAR_M 0.02f
/* largest radius, oversampled, so that a point at the lens does not cover the picture */
#define DISC_MAX_PX 24
#define WEIGHT_MOST 15 /* weight of a disc's centre; its rim has 1 */
#define SHADE_STRENGTH 5.0f
#define SHADE_REACH 2 /* radius of shading, oversampled pixels */
/* most shade of one neighbour, so that edges before a far background do not turn black */
#define SHADE_CAP 0.35f
#define LIT_REACH 3       /* distance over which a slope is measured, oversampled pixels */
#define SMOOTH_STEP 0.03f /* largest step of log2 z between neighbours on one surface */
#define EMPTY 1e6f        /* log2 z of an empty pixel */

struct canvas {
    const struct client_splat_view *view;
    int pass, passes; /* passes over the picture or the points, counted from 1 */
    int w, h;
    float fx;
    float *z; /* [h][w] depth, INFINITY = nothing; at last its log2, EMPTY = nothing */
    uint8_t *rgb;
    uint16_t *sum; /* [h][w][4] colours times weights, and the sum of the weights, at most 255 */
};

/* Reports how much of a pass is done, every few rows or thousand points. */
static void canvas_report(const struct canvas *c, size_t i, size_t n, size_t every)
{
    if (c->view->progress && i % every == 0)
        c->view->progress(c->view->ctx,
                          ((double)(c->pass - 1) + (double)i / (double)n) / (double)c->passes);
}

/* A disc as it meets the canvas: centre, radius and depth. */
struct disc {
    /* depth behind the disc up to which points belong to the same surface */
    float u, v, r, z, reach;
    const uint8_t *rgb;
};

/* Puts a disc into the z-buffer. */
static void canvas_put_disc(struct canvas *c, size_t i, const struct disc *d, float rim)
{
    (void)rim;
    if (d->z < c->z[i])
        c->z[i] = d->z;
}

/* Adds a disc's colour to a pixel of the same surface; the weight grows towards the centre. */
static void tint(struct canvas *c, size_t i, const struct disc *d, float rim)
{
    uint16_t *sum = c->sum + 4 * i, weight = (uint16_t)(1 + WEIGHT_MOST * (1 - rim));

    if (d->z > c->z[i] + d->reach || sum[3] + weight > 255)
        return;
    for (int b = 0; b < 3; b++)
        sum[b] = (uint16_t)(sum[b] + weight * d->rgb[b]);
    sum[3] = (uint16_t)(sum[3] + weight);
}

static void draw_disc(struct canvas *c, const struct disc *d,
                      void (*put)(struct canvas *, size_t, const struct disc *, float))
{
    int x0 = (int)ceilf(d->u - d->r), x1 = (int)floorf(d->u + d->r);
    int y0 = (int)ceilf(d->v - d->r), y1 = (int)floorf(d->v + d->r);

    for (int y = y0 < 0 ? 0 : y0; y <= y1 && y < c->h; y++)
        for (int x = x0 < 0 ? 0 : x0; x <= x1 && x < c->w; x++) {
            float dx = (float)x - d->u, dy = (float)y - d->v;
            float rim = (dx * dx + dy * dy) / (d->r * d->r);

            if (rim <= 1)
                put(c, (size_t)y * (size_t)c->w + (size_t)x, d, rim);
        }
}

static void draw_points(struct canvas *c, const struct client_splat_view *view,
                        const struct client_splat_cloud *cloud,
                        void (*put)(struct canvas *, size_t, const struct disc *, float))
{
    static const uint8_t grey[3] = {205, 200, 192};
    struct intrinsics K = intrinsics_scale(view->K, view->w, view->h, c->w, c->h);

    c->pass++;
    for (size_t i = 0; i < cloud->n; i++) {
        const float *at = cloud->xyz + 3 * i;
        struct vec3 p = rigid_apply(&view->T_cw, vec3_make(at[0], at[1], at[2]));
        float wide_m = view->disc_m > 0 ? view->disc_m : cloud->disc_m[i];
        struct disc d = {.z = p.z, .reach = wide_m, .rgb = cloud->rgb ? cloud->rgb + 3 * i : grey};

        canvas_report(c, i, cloud->n, 4096);
        if (!(p.z > NEAR_M))
            continue;
        d.u = K.fx * p.x / p.z + K.cx;
        d.v = K.fy * p.y / p.z + K.cy;
        d.r = 0.5f * wide_m * K.fx / p.z;
        d.r = d.r < 0.71f ? 0.71f : d.r > DISC_MAX_PX ? DISC_MAX_PX : d.r;
        if (d.u > -d.r && d.v > -d.r && d.u < (float)c->w + d.r && d.v < (float)c->h + d.r)
            draw_disc(c, &d, put);
    }
}

/* Turns the sums of colours into colours. */
static void mix(struct canvas *c)
{
    for (size_t i = 0; i < (size_t)c->w * (size_t)c->h; i++)
        for (int b = 0; b < 3 && c->sum[4 * i + 3]; b++)
            c->rgb[3 * i + (size_t)b] =
                (uint8_t)((c->sum[4 * i + (size_t)b] + c->sum[4 * i + 3] / 2) / c->sum[4 * i + 3]);
}

/* Fills an empty pixel that has at least five drawn neighbours of like depth with their mean. */
static void close_gaps(struct canvas *c, float *z_new)
{
    c->pass++;
    memcpy(z_new, c->z, (size_t)c->w * (size_t)c->h * sizeof *z_new);
    for (int y = 1; y + 1 < c->h; y++) {
        canvas_report(c, (size_t)y, (size_t)c->h, 64);
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
    }
    memcpy(c->z, z_new, (size_t)c->w * (size_t)c->h * sizeof *z_new);
}

/* Writes the view's depth: the nearest of the pixels that are averaged to one. */
static void tell_depth(const struct canvas *c)
{
    const struct client_splat_view *view = c->view;

    for (int y = 0; view->depth && y < view->h; y++)
        for (int x = 0; x < view->w; x++) {
            float least = INFINITY;
            for (int k = 0; k < OVERSAMPLE * OVERSAMPLE; k++) {
                int cx = x * OVERSAMPLE + k % OVERSAMPLE, cy = y * OVERSAMPLE + k / OVERSAMPLE;
                least = fminf(least, c->z[(size_t)cy * (size_t)c->w + (size_t)cx]);
            }
            view->depth[(size_t)y * (size_t)view->w + (size_t)x] = least < INFINITY ? least : 0;
        }
}

/* Turns z into log2 z; an empty pixel counts as a wall far behind. */
static void take_logarithms(struct canvas *c)
{
    for (size_t i = 0; i < (size_t)c->w * (size_t)c->h; i++)
        c->z[i] = c->z[i] < INFINITY ? log2f(c->z[i]) : EMPTY;
}

static float log_depth(const struct canvas *c, int x, int y)
{
    x = x < 0 ? 0 : x >= c->w ? c->w - 1 : x;
    y = y < 0 ? 0 : y >= c->h ? c->h - 1 : y;
    return c->z[(size_t)y * (size_t)c->w + (size_t)x];
}

static float shade_at(const struct canvas *c, int x, int y)
{
    float own = log_depth(c, x, y), sum = 0, d;

    for (int k = 0; k < 9; k++) {
        d = own - log_depth(c, x + (k % 3 - 1) * SHADE_REACH, y + (k / 3 - 1) * SHADE_REACH);
        sum += d > SHADE_CAP ? SHADE_CAP : d > 0 ? d : 0;
    }
    return expf(-SHADE_STRENGTH * sum / 8);
}

/* Averages log2 z over neighbours of like depth, because discs are steps and surfaces are not. */
static void smooth(struct canvas *c, float *scratch)
{
    c->pass++;
    for (int y = 0; y < c->h; y++) {
        canvas_report(c, (size_t)y, (size_t)c->h, 64);
        for (int x = 0; x < c->w; x++) {
            float own = log_depth(c, x, y), sum = 0, z;
            int n = 0;

            for (int k = 0; k < 25 && own < EMPTY; k++) {
                z = log_depth(c, x + 2 * (k % 5 - 2), y + 2 * (k / 5 - 2));
                if (fabsf(z - own) > SMOOTH_STEP)
                    continue;
                sum += z;
                n++;
            }
            scratch[(size_t)y * (size_t)c->w + (size_t)x] = n ? sum / (float)n : own;
        }
    }
    memcpy(c->z, scratch, (size_t)c->w * (size_t)c->h * sizeof *scratch);
}

/* Returns the slope of log2 z along one axis, on its flatter side: the other may be an edge. */
static float slope(const struct canvas *c, int x, int y, int dx, int dy)
{
    float own = log_depth(c, x, y);
    float after = log_depth(c, x + dx, y + dy) - own, before = own - log_depth(c, x - dx, y - dy);
    float least = fabsf(after) < fabsf(before) ? after : before;

    return fabsf(least) < SHADE_CAP ? least / (float)(dx + dy) : 0;
}

/* Returns the brightness, 0.35 ... 1, of a pixel lit by a lamp at the camera's left shoulder. If
 * the logarithm of z rises by a / f and b / f from pixel to pixel, the normal of the surface is (a,
 * b, -1), as seen in the middle of the picture. */
static float lit_at(const struct canvas *c, int x, int y)
{
    const float f = c->fx * 0.6931472f; /* of log2 */
    float a = f * slope(c, x, y, LIT_REACH, 0), b = f * slope(c, x, y, 0, LIT_REACH);
    float cosine = (-0.35f * a - 0.45f * b + 0.82f) / sqrtf(a * a + b * b + 1);

    return 0.35f + 0.65f * (cosine > 0 ? cosine : 0);
}

/* Shades the picture, puts it on a background that is a little brighter above, and averages it
 * down. */
static void resolve(uint8_t *picture, struct canvas *c, bool lit, int w, int h)
{
    c->pass++;
    for (int y = 0; y < h; y++) {
        canvas_report(c, (size_t)y, (size_t)h, 32);
        for (int x = 0; x < w; x++) {
            float sum[3] = {0};

            for (int k = 0; k < OVERSAMPLE * OVERSAMPLE; k++) {
                int cx = x * OVERSAMPLE + k % OVERSAMPLE, cy = y * OVERSAMPLE + k / OVERSAMPLE;
                size_t i = (size_t)cy * (size_t)c->w + (size_t)cx;
                bool drawn = c->z[i] < EMPTY;
                float s = drawn ? shade_at(c, cx, cy) * (lit ? lit_at(c, cx, cy) : 1) : 1.0f;
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
}

static int canvas_draw(uint8_t *picture, const struct client_splat_view *view,
                       const struct client_splat_cloud *cloud, struct err *err)
{
    struct canvas c = {.view = view,
                       .passes = cloud->rgb ? 5 : 7,
                       .w = view->w * OVERSAMPLE,
                       .h = view->h * OVERSAMPLE,
                       .fx = view->K.fx * OVERSAMPLE};
    size_t pixels = (size_t)c.w * (size_t)c.h;
    float *scratch = NULL;
    int rc = 0;

    c.z = malloc(pixels * sizeof *c.z);
    c.rgb = malloc(3 * pixels);
    c.sum = calloc(pixels, 4 * sizeof *c.sum);
    scratch = malloc(pixels * sizeof *scratch);
    if (!c.z || !c.rgb || !c.sum || !scratch) {
        rc = err_set(err, ERR_MEMORY, "no memory for a picture of %d x %d", view->w, view->h);
        goto out;
    }
    for (size_t i = 0; i < pixels; i++)
        c.z[i] = INFINITY;
    draw_points(&c, view, cloud, canvas_put_disc);
    draw_points(&c, view, cloud, tint);
    mix(&c);
    for (int i = 0; i < 2; i++)
        close_gaps(&c, scratch);
    tell_depth(&c);
    take_logarithms(&c);
    for (int i = 0; i < 2 && !cloud->rgb; i++)
        smooth(&c, scratch);
    resolve(picture, &c, !cloud->rgb, view->w, view->h);
out:
    free(scratch);
    free(c.sum);
    free(c.rgb);
    free(c.z);
    return rc;
}

int client_splat_draw(uint8_t *picture, const struct client_splat_view *view,
                      const struct client_splat_cloud *cloud, struct err *err)
{
    struct client_splat_cloud own = *cloud;
    float *disc_m = NULL;
    int rc = 0;

    if (view->w < 1 || view->h < 1 || view->w > CLIENT_SPLAT_SIDE_MAX ||
        view->h > CLIENT_SPLAT_SIDE_MAX)
        return err_set(err, ERR_INPUT, "picture of %d x %d, sides must be in 1...%d", view->w,
                       view->h, CLIENT_SPLAT_SIDE_MAX);
    if (!cloud->disc_m && !(view->disc_m > 0)) {
        own.disc_m = disc_m = malloc((cloud->n + 1) * sizeof *disc_m);
        rc = disc_m ? client_splat_discs(disc_m, cloud, err)
                    : err_set(err, ERR_MEMORY, "no memory for the sizes of %zu points", cloud->n);
    }
    if (rc == 0)
        rc = canvas_draw(picture, view, &own, err);
    free(disc_m);
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
