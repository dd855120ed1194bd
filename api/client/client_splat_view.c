#include "api/client/client_splat.h"

#include "proto/geom/robust.h"
#include "proto/geom/tree.h"

#include <stdlib.h>
#include <string.h>

#define SAMPLES 65536
#define NEAR_M 0.02f
#define FAR_OFF 3.0f  /* share of points within the radius times this factor */
#define MARGIN 0.94f  /* share of the picture that the cloud fills */
#define FOCAL 1.1f    /* share of the longer side */
#define CLEARLY 1.15f /* factor by which another side must show more to be preferred */
#define SIDES 8
#define SIDE_PX 96     /* side of the small picture by which views are compared, pixels */
#define DISC_GAIN 1.5f /* diameter over spacing: the diagonal of a square, and a little */
#define DISC_MOST 1.6f /* largest disc, in median diameters */
#define DISC_LONE 3.0f /* a point that stands alone by so much is a speck of */
#define DISC_SPECK 0.4f

static struct vec3 point_at(const struct client_splat_cloud *cloud, size_t i)
{
    const float *p = cloud->xyz + 3 * i;
    return vec3_make(p[0], p[1], p[2]);
}

static bool finite3(struct vec3 p)
{
    return isfinite(p.x) && isfinite(p.y) && isfinite(p.z);
}

/* Returns the p-quantile of n values, whose order is lost. */
static float quantile(float *v, size_t n, double p)
{
    return n ? robust_select(v, n, (size_t)(p * (double)(n - 1) + 0.5)) : 0;
}

/* Finds the median point of a cloud. */
static struct vec3 median_point(const struct client_splat_cloud *cloud, float *scratch)
{
    size_t step = cloud->n / SAMPLES + 1, m;
    float axis[3];

    for (int k = 0; k < 3; k++) {
        m = 0;
        for (size_t i = 0; i < cloud->n; i += step)
            if (finite3(point_at(cloud, i)))
                scratch[m++] = cloud->xyz[3 * i + (size_t)k];
        axis[k] = quantile(scratch, m, 0.5);
    }
    return vec3_make(axis[0], axis[1], axis[2]);
}

size_t client_splat_crop(float *xyz, uint8_t *rgb, size_t n)
{
    const struct client_splat_cloud cloud = {.n = n, .xyz = xyz};
    size_t step = n / SAMPLES + 1, m = 0;
    float *scratch = malloc((n / step + 1) * sizeof *scratch), reach;
    struct vec3 middle;

    if (!scratch)
        return n;
    middle = median_point(&cloud, scratch);
    for (size_t i = 0; i < n; i += step)
        if (finite3(point_at(&cloud, i)))
            scratch[m++] = sqrtf(vec3_norm2(vec3_sub(point_at(&cloud, i), middle)));
    reach = FAR_OFF * quantile(scratch, m, 0.5);
    free(scratch);
    m = 0;
    for (size_t i = 0; i < n; i++) {
        if (!(vec3_norm2(vec3_sub(point_at(&cloud, i), middle)) <= reach * reach))
            continue;
        memmove(xyz + 3 * m, xyz + 3 * i, 3 * sizeof *xyz);
        memmove(rgb + 3 * m++, rgb + 3 * i, 3);
    }
    return m;
}

/* Returns the middle of the box around a cloud, and *radius, half its diagonal. */
static struct vec3 box_middle(const struct client_splat_cloud *cloud, float *radius)
{
    struct vec3 lo = {INFINITY, INFINITY, INFINITY}, hi = {-INFINITY, -INFINITY, -INFINITY};

    for (size_t i = 0; i < cloud->n; i++) {
        struct vec3 p = point_at(cloud, i);

        if (!finite3(p))
            continue;
        lo = vec3_make(fminf(lo.x, p.x), fminf(lo.y, p.y), fminf(lo.z, p.z));
        hi = vec3_make(fmaxf(hi.x, p.x), fmaxf(hi.y, p.y), fmaxf(hi.z, p.z));
    }
    *radius = 0.5f * sqrtf(vec3_norm2(vec3_sub(hi, lo)));
    if (!(*radius > 0 && *radius < INFINITY)) {
        *radius = 1;
        return finite3(lo) ? lo : vec3_make(0, 0, 0);
    }
    return vec3_make(0.5f * (lo.x + hi.x), 0.5f * (lo.y + hi.y), 0.5f * (lo.z + hi.z));
}

/* Rotates by yaw about the camera's y, then by pitch about its x. With a positive pitch the camera
 * stands higher and looks down. */
static struct rigid turned(const struct client_splat_orbit *o, float yaw)
{
    const struct rigid Y = {.r = {cosf(yaw), 0, sinf(yaw), 0, 1, 0, -sinf(yaw), 0, cosf(yaw)}};
    const float s = sinf(o->pitch), c = cosf(o->pitch);
    const struct rigid X = {.r = {1, 0, 0, 0, c, s, 0, -s, c}};
    struct rigid T = {0};

    memcpy(T.r, o->R_wc, sizeof T.r);
    T = rigid_mul(&T, &Y);
    return rigid_mul(&T, &X);
}

static float focal(const struct client_splat_orbit *o)
{
    return FOCAL * (float)(o->w > o->h ? o->w : o->h);
}

/* A camera at distance d behind the middle sees a point (x, y, z), in its axes from the middle,
 * if |x - cx| slope_x <= z + d, and likewise y. Each side of the picture therefore requires a
 * distance, side[] = max(+-x slope_x - z); moving the middle sideways balances two opposite
 * sides. */
static void needs(float side[4], const struct client_splat_orbit *o,
                  const struct client_splat_cloud *cloud, float yaw)
{
    const float slope_x = focal(o) / (0.5f * MARGIN * (float)o->w);
    const float slope_y = focal(o) / (0.5f * MARGIN * (float)o->h);
    const struct rigid T_wc = turned(o, yaw), T_cw = rigid_inverse(&T_wc);

    for (int k = 0; k < 4; k++)
        side[k] = 0;
    for (size_t i = 0; i < cloud->n; i++) {
        struct vec3 p = vec3_sub(point_at(cloud, i), o->middle);

        if (!finite3(p))
            continue;
        p = rigid_apply(&T_cw, p);
        side[0] = fmaxf(side[0], p.x * slope_x - p.z);
        side[1] = fmaxf(side[1], -p.x * slope_x - p.z);
        side[2] = fmaxf(side[2], p.y * slope_y - p.z);
        side[3] = fmaxf(side[3], -p.y * slope_y - p.z);
    }
}

void client_splat_frame(struct client_splat_orbit *o, const struct client_splat_cloud *cloud,
                        const float *yaws, int n_yaws)
{
    float radius, side[4] = {0}, most = 0;
    float slope_x = focal(o) / (0.5f * MARGIN * (float)o->w);
    float slope_y = focal(o) / (0.5f * MARGIN * (float)o->h);

    o->middle = box_middle(cloud, &radius);
    for (int i = 0; i < n_yaws; i++) {
        needs(side, o, cloud, yaws[i]);
        for (int k = 0; k < 4; k++)
            most = fmaxf(most, side[k]);
    }
    if (n_yaws == 1) {
        const struct rigid T_wc = turned(o, yaws[0]);
        const struct vec3 aside =
            vec3_make((side[0] - side[1]) / (2 * slope_x), (side[2] - side[3]) / (2 * slope_y), 0);
        const struct vec3 d = rigid_apply(&T_wc, aside);

        o->middle = vec3_make(o->middle.x + d.x, o->middle.y + d.y, o->middle.z + d.z);
        most = 0.5f * fmaxf(side[0] + side[1], side[2] + side[3]);
    }
    o->distance = fmaxf(most, 0.5f * radius);
}

struct client_splat_view client_splat_at(const struct client_splat_orbit *o, float yaw, float zoom)
{
    const float f = focal(o), d = o->distance / zoom;
    struct rigid T_wc = turned(o, yaw);

    T_wc.t[0] = o->middle.x - d * T_wc.r[2];
    T_wc.t[1] = o->middle.y - d * T_wc.r[5];
    T_wc.t[2] = o->middle.z - d * T_wc.r[8];
    return (struct client_splat_view){
        .T_cw = rigid_inverse(&T_wc),
        .K = {f, f, 0.5f * (float)(o->w - 1), 0.5f * (float)(o->h - 1)},
        .w = o->w,
        .h = o->h,
    };
}

/* Counts the cells of a small picture that have a point. */
static int cells_seen(bool *seen, const struct client_splat_view *view,
                      const struct client_splat_cloud *cloud)
{
    size_t step = cloud->n / SAMPLES + 1;
    int n = 0;

    memset(seen, 0, sizeof(bool) * SIDE_PX * SIDE_PX);
    for (size_t i = 0; i < cloud->n; i += step) {
        struct vec3 p = rigid_apply(&view->T_cw, point_at(cloud, i));
        float u = view->K.fx * p.x / p.z + view->K.cx, v = view->K.fy * p.y / p.z + view->K.cy;
        bool *cell;

        if (!(p.z > NEAR_M && u >= 0 && v >= 0 && u < SIDE_PX && v < SIDE_PX))
            continue;
        cell = &seen[(int)v * SIDE_PX + (int)u];
        n += !*cell;
        *cell = true;
    }
    return n;
}

float client_splat_side(const struct client_splat_orbit *o, const struct client_splat_cloud *cloud)
{
    bool seen[SIDE_PX * SIDE_PX];
    float yaws[SIDES], chosen = 0;
    struct client_splat_orbit around = *o;
    int first = 0, best = 0;

    for (int k = 0; k < SIDES; k++)
        yaws[k] = (float)k * 2 * 3.14159265f / SIDES;
    around.w = around.h = SIDE_PX;
    client_splat_frame(&around, cloud, yaws, SIDES);
    for (int k = 0; k < SIDES; k++) {
        struct client_splat_view view = client_splat_at(&around, yaws[k], 1);
        int n = cells_seen(seen, &view, cloud);

        if (k == 0)
            first = n;
        if (n > best) {
            best = n;
            chosen = yaws[k];
        }
    }
    return (float)best > CLEARLY * (float)first ? chosen : 0;
}

int client_splat_discs(float *disc_m, const struct client_splat_cloud *cloud, struct err *err)
{
    float *xyz = malloc(3 * (cloud->n + 1) * sizeof *xyz), *some = NULL, middle;
    struct tree *tree = NULL;
    size_t m = 0;
    int rc = 0;

    for (size_t i = 0; xyz && i < cloud->n; i++)
        if (finite3(point_at(cloud, i)))
            memcpy(xyz + 3 * m++, cloud->xyz + 3 * i, 3 * sizeof *xyz);
    some = malloc((m + 1) * sizeof *some);
    if (!xyz || !some)
        rc = err_set(err, ERR_MEMORY, "no memory for the sizes of %zu points", cloud->n);
    else if (m)
        rc = tree_new(&tree, xyz, m, 3, err);
    m = 0;
    for (size_t i = 0; rc == 0 && i < cloud->n; i++) {
        const float *p = cloud->xyz + 3 * i;
        const double q[3] = {(double)p[0], (double)p[1], (double)p[2]};
        double d2[5] = {0};
        uint32_t id[5];
        int n = finite3(point_at(cloud, i)) ? tree_neighbours(tree, q, INFINITY, 5, id, d2) : 0;

        disc_m[i] = n ? DISC_GAIN * (float)sqrt(d2[n - 1]) : 0;
        if (disc_m[i] > 0)
            some[m++] = disc_m[i];
    }
    if (rc == 0) {
        middle = m ? quantile(some, m, 0.5) : 0.01f;
        for (size_t i = 0; i < cloud->n; i++)
            disc_m[i] = disc_m[i] > DISC_LONE * middle ? DISC_SPECK * middle
                        : disc_m[i] > 0                ? fminf(disc_m[i], DISC_MOST * middle)
                                                       : middle;
    }
    tree_free(&tree);
    free(some);
    free(xyz);
    return rc;
}

float client_splat_depth(const struct client_splat_view *view,
                         const struct client_splat_cloud *cloud)
{
    size_t step = cloud->n / SAMPLES + 1, m = 0;
    float *z = malloc((cloud->n / step + 1) * sizeof *z), depth;

    for (size_t i = 0; z && i < cloud->n; i += step) {
        struct vec3 p = rigid_apply(&view->T_cw, point_at(cloud, i));
        float u = view->K.fx * p.x / p.z + view->K.cx, v = view->K.fy * p.y / p.z + view->K.cy;

        if (p.z > NEAR_M && u >= 0 && v >= 0 && u < (float)view->w && v < (float)view->h)
            z[m++] = p.z;
    }
    depth = m ? quantile(z, m, 0.5) : 1.0f;
    free(z);
    return depth;
}
