#include "gpu/panorama/panorama.h"
#include "gpu/panorama/range_point.h"

#include "proto/bytes.h"
#include "proto/section.h"

#include <math.h>
#include <string.h>

#define POSE_MOST_M 1e5f
#define COLOUR_MOST 442.0f /* between black and white */

static int check_volume(const struct gpu_volume *v, struct err *err)
{
    uint64_t n = 1;

    if (v->up < 0 || v->up > 2)
        return err_at(err, ERR_INPUT, "/up", "axis %d, must be 0...2", v->up);
    if (!(v->voxel_m >= 0.001f && v->voxel_m <= 1.0f))
        return err_at(err, ERR_INPUT, "/voxel_m", "%g m, must be in 0.001...1", (double)v->voxel_m);
    for (int i = 0; i < 3; i++) {
        if (!(fabsf(v->min_m[i]) <= POSE_MOST_M))
            return err_at(err, ERR_INPUT, "/volume", "a corner that is not within %g m",
                          (double)POSE_MOST_M);
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
    if (c->max_points < 1)
        return err_at(err, ERR_INPUT, "/max_points", "must be 1 or more");
    return 0;
}

static int is_pose(const struct rigid *T)
{
    const float *r = T->r;

    for (int i = 0; i < 3; i++) {
        if (!(fabsf(T->t[i]) <= POSE_MOST_M))
            return 0;
        for (int j = 0; j <= i; j++) {
            float dot =
                r[3 * i] * r[3 * j] + r[3 * i + 1] * r[3 * j + 1] + r[3 * i + 2] * r[3 * j + 2];
            if (!(fabsf(dot - (i == j ? 1.0f : 0.0f)) <= 1e-3f))
                return 0;
        }
    }
    return 1;
}

static int check_eye(const struct gpu_session_config *c, const struct gpu_pair_eye *e,
                     struct err *err)
{
    if (!e->rgb || e->width < 2 || e->height < 2 ||
        (int64_t)e->width * e->height > (int64_t)c->max_image_w * c->max_image_h)
        return err_set(err, ERR_INPUT, "a picture of %dx%d in a session made for %dx%d", e->width,
                       e->height, c->max_image_w, c->max_image_h);
    if (!(e->K.fx >= 1.0f && e->K.fx < 1e6f && e->K.fy >= 1.0f && e->K.fy < 1e6f &&
          fabsf(e->K.cx) < 1e6f && fabsf(e->K.cy) < 1e6f) ||
        !lens_valid(&e->lens))
        return err_set(err, ERR_INPUT, "intrinsics that are not those of a camera");
    if (!is_pose(&e->T_wc))
        return err_set(err, ERR_INPUT, "a pose that is not finite or not rigid");
    return 0;
}

/* The place in the middle between the two cameras. */
static struct vec3 middle(const struct gpu_pair *p)
{
    const float *a = p->eye[0].T_wc.t, *b = p->eye[1].T_wc.t;

    return vec3_make(0.5f * (a[0] + b[0]), 0.5f * (a[1] + b[1]), 0.5f * (a[2] + b[2]));
}

int panorama_check(const struct gpu_item *item, struct err *err)
{
    const struct gpu_pair *pair = (const struct gpu_pair *)item;
    const struct gpu_session_config *c = &item->session->config;
    int rc, ground[2];
    struct vec3 at;

    if (pair->rest)
        return 0;
    rc = check_eye(c, &pair->eye[0], err);
    if (rc == 0)
        rc = check_eye(c, &pair->eye[1], err);
    if (rc)
        return rc;
    if (c->consistency == GPU_CONSISTENCY_PATCH) {
        const struct vec3 d = vec3_sub(rigid_apply(&pair->eye[0].T_wc, vec3_make(0, 0, 0)),
                                       rigid_apply(&pair->eye[1].T_wc, vec3_make(0, 0, 0)));
        float apart = sqrtf(vec3_norm2(d));

        if (!(apart >= PANORAMA_APART_LEAST_M && apart <= PANORAMA_APART_MOST_M))
            return err_set(err, ERR_INPUT, "cameras that are %g m apart, must be %g to %g",
                           (double)apart, (double)PANORAMA_APART_LEAST_M,
                           (double)PANORAMA_APART_MOST_M);
    }
    at = middle(pair);
    voxel_ground(&c->volume, at, ground);
    if (ground[0] < 0 || ground[0] >= c->volume.n[0] || ground[1] < 0 ||
        ground[1] >= c->volume.n[1])
        return err_set(err, ERR_INPUT, "a pose at %.3f %.3f %.3f m, which is outside of the volume",
                       (double)at.x, (double)at.y, (double)at.z);
    return 0;
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

/* (Y1) Its axes, and which slopes its rows have: the middle of those that both pictures show. */
static void place_cylinder(struct voxel_view *view, const struct gpu_pair *pair,
                           const struct gpu_session_config *c)
{
    const float *a = pair->eye[0].T_wc.t, *b = pair->eye[1].T_wc.t;
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

void panorama_view(struct voxel_view *view, const struct gpu_pair *pair)
{
    const struct gpu_session_config *c = &pair->item.session->config;

    memset(view, 0, sizeof *view);
    view->volume = c->volume;
    if (pair->rest)
        return;
    for (int i = 0; i < 2; i++) {
        const struct gpu_pair_eye *from = &pair->eye[i];

        view->eye[i].T_cw = rigid_inverse(&from->T_wc);
        view->eye[i].K = from->K;
        view->eye[i].lens = from->lens;
        view->eye[i].w = from->width;
        view->eye[i].h = from->height;
    }
    view->patch = c->consistency == GPU_CONSISTENCY_PATCH;
    view->field_cos = c->field_rad >= LENS_PI ? -1.0f : cosf(c->field_rad);
    view->threshold2 = (int)ceilf(c->colour_levels * c->colour_levels);
    voxel_ground(&c->volume, middle(pair), view->ground);
    if (view->patch)
        place_cylinder(view, pair, c);
}

/* ------------------------------------------------------------------------- state */

static int has_field(const struct gpu_session_config *c)
{
    return c->consistency == GPU_CONSISTENCY_PATCH;
}

static size_t body_bytes(const struct gpu_session_config *c)
{
    return PANORAMA_HEAD_BYTES + (has_field(c) ? 8 : 4) * panorama_voxels(c) +
           8 * panorama_all_words(c);
}

size_t panorama_state_bytes(const struct gpu_session_config *c)
{
    return section_bytes(body_bytes(c));
}

unsigned panorama_state_reads(uint32_t tag)
{
    return tag == PANORAMA_TAG ? PANORAMA_VERSION : 0;
}

static void put_head(uint8_t *body, const struct gpu_session_config *c)
{
    struct bytes_writer w = bytes_writer(body, PANORAMA_HEAD_BYTES);

    memset(body, 0, PANORAMA_HEAD_BYTES);
    for (int i = 0; i < 3; i++)
        bytes_put_i32(&w, c->volume.n[i]);
    bytes_put_i32(&w, c->volume.up);
    for (int i = 0; i < 3; i++)
        bytes_put_f32(&w, c->volume.min_m[i]);
    bytes_put_f32(&w, c->volume.voxel_m);
    bytes_put_i32(&w, (int32_t)c->consistency);
}

int panorama_state_open(uint8_t *buf, size_t cap, const struct gpu_session_config *c,
                        struct panorama_body *to, size_t *len, struct err *err)
{
    size_t at = 0;
    uint8_t *body = section_open(buf, cap, 0, body_bytes(c));

    if (!body)
        return err_set(err, ERR_LIMIT, "a state of %zu bytes does not fit %zu",
                       panorama_state_bytes(c), cap);
    put_head(body, c);
    to->voxels = body + PANORAMA_HEAD_BYTES;
    to->dirty = to->voxels + 4 * panorama_voxels(c);
    to->told = to->dirty + 4 * panorama_all_words(c);
    to->field = has_field(c) ? to->told + 4 * panorama_all_words(c) : NULL;
    section_close(buf, &at, PANORAMA_TAG, PANORAMA_VERSION, 0, body_bytes(c));
    *len = at;
    return 0;
}

int panorama_state_find(const uint8_t *buf, size_t len, const struct gpu_session_config *c,
                        struct panorama_bytes *from, struct err *err)
{
    uint8_t head[PANORAMA_HEAD_BYTES];
    struct section s;
    int rc;

    if (section_find(&s, buf, len, PANORAMA_TAG) != 1)
        return err_set(err, ERR_INPUT, "a state without voxels");
    if ((rc = section_use(&s, PANORAMA_VERSION, err)) == 0) /* there is nothing else in it */
        rc = err_set(err, ERR_UNSUPPORTED, "voxels of another version");
    if (rc < 0)
        return rc;
    put_head(head, c);
    if (s.len != body_bytes(c) || memcmp(s.body, head, sizeof head))
        return err_set(err, ERR_INPUT, "a state of another volume");
    from->voxels = s.body + PANORAMA_HEAD_BYTES;
    from->dirty = from->voxels + 4 * panorama_voxels(c);
    from->told = from->dirty + 4 * panorama_all_words(c);
    from->field = has_field(c) ? from->told + 4 * panorama_all_words(c) : NULL;
    return 0;
}
