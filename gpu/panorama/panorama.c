#include "gpu/panorama/panorama.h"
#include "gpu/panorama/range_point.h"
#include "proto/geom/pose.h"

#include <math.h>
#include <string.h>

#define CORNER_MOST_M 1e5f
#define COLOUR_MOST 442.0f /* between black and white */

static int check_volume(const struct gpu_volume *v, struct err *err)
{
    uint64_t n = 1;

    if (v->up < 0 || v->up > 2)
        return err_at(err, ERR_INPUT, "/up", "axis %d, must be 0...2", v->up);
    if (!(v->voxel_m >= 0.001f && v->voxel_m <= 1.0f))
        return err_at(err, ERR_INPUT, "/voxel_m", "%g m, must be in 0.001...1", (double)v->voxel_m);
    for (int i = 0; i < 3; i++) {
        if (!(fabsf(v->min_m[i]) <= CORNER_MOST_M))
            return err_at(err, ERR_INPUT, "/volume", "a corner that is not within %g m",
                          (double)CORNER_MOST_M);
        if (v->n[i] < 1 || v->n[i] > GPU_VOXELS_SIDE_MAX)
            return err_at(err, ERR_INPUT, "/volume",
                          "%d voxels along a side, must be in 1...%d: a smaller volume or larger "
                          "voxels",
                          v->n[i], GPU_VOXELS_SIDE_MAX);
        n *= (uint64_t)v->n[i];
    }
    if (n > GPU_VOXELS_MAX)
        return err_at(err, ERR_INPUT, "/volume", "%llu voxels, at most %u", (unsigned long long)n,
                      GPU_VOXELS_MAX);
    return 0;
}

int panorama_check_config(const struct gpu_session_config *c, struct err *err)
{
    int rc = check_volume(&c->volume, err);

    if (rc)
        return rc;
    if (!(c->colour_levels >= 1.0f && c->colour_levels <= COLOUR_MOST))
        return err_at(err, ERR_INPUT, "/colour_levels", "%g, must be in 1...%g",
                      (double)c->colour_levels, (double)COLOUR_MOST);
    if (!(c->field_rad > 0.0f && c->field_rad <= LENS_PI + 1e-6f))
        return err_at(err, ERR_INPUT, "/field_deg", "must be above 0 and at most 180");
    if (!(c->baseline_m == 0.0f ||
          (c->baseline_m >= PANORAMA_APART_LEAST_M && c->baseline_m <= PANORAMA_APART_MOST_M)))
        return err_at(err, ERR_INPUT, "/baseline_m", "%g m, must be in %g...%g",
                      (double)c->baseline_m, (double)PANORAMA_APART_LEAST_M,
                      (double)PANORAMA_APART_MOST_M);
    if (c->max_points < 1)
        return err_at(err, ERR_INPUT, "/max_points", "must be 1 or more");
    return 0;
}

static int check_picture(const struct gpu_session_config *c, const struct gpu_pair_eye *e,
                         struct err *err)
{
    if (!e->rgb || e->width < 2 || e->height < 2 ||
        (int64_t)e->width * e->height > (int64_t)c->max_image_w * c->max_image_h)
        return err_set(err, ERR_INPUT, "a picture of %dx%d in a session made for %dx%d", e->width,
                       e->height, c->max_image_w, c->max_image_h);
    if (!lens_camera_valid(e->K, &e->lens))
        return err_set(err, ERR_INPUT, "intrinsics that are not those of a camera");
    if (!pose_is_rigid(&e->T_wc))
        return err_set(err, ERR_INPUT, "a pose that is not finite or not rigid");
    return 0;
}

/* Does the place stand above or below the volume? */
static int check_place(const struct gpu_session_config *c, struct vec3 at, struct err *err)
{
    int ground[2];

    voxel_ground(&c->volume, at, ground);
    if (ground[0] < 0 || ground[0] >= c->volume.n[0] || ground[1] < 0 ||
        ground[1] >= c->volume.n[1])
        return err_set(err, ERR_INPUT, "a pose at %.3f %.3f %.3f m, which is outside of the volume",
                       (double)at.x, (double)at.y, (double)at.z);
    return 0;
}

static struct vec3 panorama_place_of(const struct gpu_pair_eye *e)
{
    return vec3_make(e->T_wc.t[0], e->T_wc.t[1], e->T_wc.t[2]);
}

/* The place in the middle between the two cameras. */
static struct vec3 middle(struct vec3 a, struct vec3 b)
{
    return vec3_make(0.5f * (a.x + b.x), 0.5f * (a.y + b.y), 0.5f * (a.z + b.z));
}

static float apart(const struct gpu_pair_eye *a, const struct gpu_pair_eye *b)
{
    return sqrtf(vec3_norm2(vec3_sub(panorama_place_of(a), panorama_place_of(b))));
}

int panorama_check_eye(const struct gpu_session_config *c, const struct gpu_pair_eye *e,
                       struct err *err)
{
    int rc = check_picture(c, e, err);

    return rc ? rc : check_place(c, panorama_place_of(e), err);
}

/* Handles an item with both pictures of a pair. */
static int check_both(const struct gpu_session_config *c, const struct gpu_pair *pair,
                      struct err *err)
{
    float apart_m;
    int rc = check_picture(c, &pair->eye[0], err);

    if (rc == 0)
        rc = check_picture(c, &pair->eye[1], err);
    if (rc)
        return rc;
    apart_m = apart(&pair->eye[0], &pair->eye[1]);
    if (c->consistency == GPU_CONSISTENCY_PATCH &&
        !(apart_m >= PANORAMA_APART_LEAST_M && apart_m <= PANORAMA_APART_MOST_M))
        return err_set(err, ERR_INPUT, "cameras that are %g m apart, must be %g to %g",
                       (double)apart_m, (double)PANORAMA_APART_LEAST_M,
                       (double)PANORAMA_APART_MOST_M);
    return check_place(
        c, middle(panorama_place_of(&pair->eye[0]), panorama_place_of(&pair->eye[1])), err);
}

int panorama_check(const struct gpu_item *item, struct err *err)
{
    const struct gpu_pair *pair = (const struct gpu_pair *)item;
    const struct gpu_session_config *c = &item->session->config;

    if (pair->rest)
        return 0;
    return c->baseline_m > 0.0f ? panorama_check_eye(c, &pair->eye[0], err)
                                : check_both(c, pair, err);
}

/* ------------------------------------------------------------------------- the kept picture */

/* (O10) */
static enum gpu_paired paired(const struct panorama_kept *kept, const struct gpu_pair *pair)
{
    const struct gpu_session_config *c = &pair->item.session->config;
    float d, most = fminf(PANORAMA_APART_BASELINES * c->baseline_m, PANORAMA_APART_MOST_M);

    if (pair->rest)
        return GPU_PAIRED_NONE;
    if (!(c->baseline_m > 0.0f))
        return GPU_PAIRED_LAID;
    if (!kept->there)
        return GPU_PAIRED_KEPT;
    d = apart(&pair->eye[0], &kept->eye);
    if (d < c->baseline_m)
        return GPU_PAIRED_NONE;
    return d <= most ? GPU_PAIRED_LAID : GPU_PAIRED_KEPT;
}

int panorama_pictures(const struct panorama_kept *kept, const struct gpu_pair *pair)
{
    if (paired(kept, pair) == GPU_PAIRED_NONE)
        return 0;
    return pair->item.session->config.baseline_m > 0.0f ? 1 : 2;
}

void panorama_keep(struct panorama_kept *kept, const struct gpu_pair *pair)
{
    if (!(pair->item.session->config.baseline_m > 0.0f) || pair->result.paired == GPU_PAIRED_NONE)
        return;
    kept->there = 1;
    kept->at = 1 - kept->at;
    kept->eye = pair->eye[0];
    kept->eye.rgb = NULL;
}

/* ------------------------------------------------------------------------- cylinders */

void panorama_cylinder_size(struct voxel_cylinder *y, const struct gpu_session_config *c)
{
    int side = c->max_image_w > c->max_image_h ? c->max_image_w : c->max_image_h;
    int steps = side / RANGE_SIDE_STEP, most = RANGE_SIDE_MAX / RANGE_SIDE_STEP;

    steps = steps < 1 ? 1 : steps > most ? most : steps;
    memset(y, 0, sizeof *y);
    y->w = steps * RANGE_SIDE_STEP;
    y->h = steps * 28;
    y->n_half = steps * 6;
    y->n_stand = steps * 10;
    y->n_labels = steps * 18;
    y->stride = (y->n_labels + 15) / 16 * 16;
    y->px = (float)y->w / (2 * LENS_PI);
}

/* Does any of 16 directions of this slope lie in both pictures? */
static int is_seen(const struct voxel_view *view, float slope)
{
    struct voxel_view at = *view;

    at.cylinder.low = slope - 0.5f / at.cylinder.px;
    for (int i = 0; i < 16; i++) {
        int u = at.cylinder.w / 16 * i, seen = 0;

        for (int e = 0; e < 2; e++) {
            struct vec3 d = range_ray(&at.cylinder, u, 0), zero = vec3_make(0, 0, 0);
            const struct voxel_eye *eye = &at.eye[e];
            int u256, v256;

            d = vec3_sub(rigid_apply(&eye->T_cw, d), rigid_apply(&eye->T_cw, zero));
            seen += voxel_project(eye, at.field_cos, d, &u256, &v256);
        }
        if (seen == 2)
            return 1;
    }
    return 0;
}

/* (Y1) Sets its axes and the slopes of its rows: the middle of the slopes that both pictures
 * show. */
static void place_cylinder(struct voxel_view *view, const struct gpu_session_config *c,
                           const float a[3], const float b[3])
{
    struct voxel_cylinder *y = &view->cylinder;
    float d[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]}, *r = y->axes, low = 0, high = 0, n;
    int least = 0;

    panorama_cylinder_size(y, c);
    y->at = vec3_make(a[0], a[1], a[2]);
    y->apart_m = sqrtf(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    for (int i = 0; i < 3; i++) {
        r[6 + i] = d[i] / y->apart_m;
        least = fabsf(r[6 + i]) < fabsf(r[6 + least]) - 1e-3f ? i : least;
    }
    for (int i = 0; i < 3; i++)
        r[i] = (i == least ? 1.0f : 0.0f) - r[6 + i] * r[6 + least];
    n = sqrtf(r[0] * r[0] + r[1] * r[1] + r[2] * r[2]);
    for (int i = 0; i < 3; i++)
        r[i] /= n;
    r[3] = r[7] * r[2] - r[8] * r[1];
    r[4] = r[8] * r[0] - r[6] * r[2];
    r[5] = r[6] * r[1] - r[7] * r[0];
    for (int i = 0, seen = 0; i <= 76; i++) {
        float slope = -1.9f + 0.05f * (float)i;

        if (!is_seen(view, slope))
            continue;
        low = seen ? low : slope;
        high = slope;
        seen = 1;
    }
    y->low = 0.5f * (low + high) - 0.5f * (float)y->h / y->px;
    y->near_m = 3 * y->apart_m;
    y->level_m = 8 * y->apart_m / (float)(y->n_labels - y->n_stand);
    y->reach_m = fmaxf(0.25f * y->apart_m, 2 * c->volume.voxel_m);
    y->band = (int)(0.6f * c->volume.voxel_m / y->reach_m * 16383.0f);
}

static void look_through(struct voxel_eye *eye, const struct gpu_pair_eye *from)
{
    eye->T_cw = rigid_inverse(&from->T_wc);
    eye->K = from->K;
    eye->lens = from->lens;
    eye->w = from->width;
    eye->h = from->height;
}

void panorama_view(struct voxel_view *view, const struct panorama_kept *kept,
                   const struct gpu_pair *pair)
{
    const struct gpu_session_config *c = &pair->item.session->config;
    const struct gpu_pair_eye *first = &pair->eye[0];
    const struct gpu_pair_eye *second = c->baseline_m > 0.0f ? &kept->eye : &pair->eye[1];

    memset(view, 0, sizeof *view);
    view->volume = c->volume;
    view->paired = paired(kept, pair);
    view->n_pictures = panorama_pictures(kept, pair);
    view->patch = c->consistency == GPU_CONSISTENCY_PATCH;
    if (view->paired == GPU_PAIRED_NONE)
        return;
    look_through(&view->eye[0], first);
    if (view->paired != GPU_PAIRED_LAID)
        return;
    look_through(&view->eye[1], second);
    view->field_cos = c->field_rad >= LENS_PI ? -1.0f : cosf(c->field_rad);
    view->threshold2 = (int)ceilf(c->colour_levels * c->colour_levels);
    voxel_ground(&c->volume, middle(panorama_place_of(first), panorama_place_of(second)),
                 view->ground);
    if (view->patch)
        place_cylinder(view, c, first->T_wc.t, second->T_wc.t);
}
