#include "api/client/client_sequence.h"
#include "api/ctl/reconctl_progress.h"
#include "api/ctl/reconctl_render.h"
#include "api/ctl/reconctl_boxes.h"
#include "proto/cloud/ply.h"
#include "proto/image/png.h"

#include <stdlib.h>
#include <string.h>

#define DEGREE 0.017453293f
#define ORBIT_MAX 3600
#define FILM_PICTURES 96
#define NOT_GIVEN 1e9

struct render_options {
    struct reconctl_common common; /* first: see reconctl.h */
    const char *output, *view, *trajectory, *up, *camera, *objects;
    struct reconctl_size size;
    double yaw, pitch, zoom, point_px, swing;
    struct reconctl_slice slice;
    int orbit;
};

#define AT(field) offsetof(struct render_options, field)

/* clang-format off */
static const struct reconctl_option options[] = {
    {"output", 'O', "FILE", RECONCTL_TEXT, AT(output), 0, 0,
     "Picture to write: .png; a turn: .mp4 or .gif"},
    {"size", 's', "WxH", RECONCTL_SIZE, AT(size), 16, 8192, "Size of the picture (960x720)"},
    {"yaw", 0, "DEGREES", RECONCTL_REAL, AT(yaw), -3600, 3600,
     "Turn around the up axis (default: to the side that shows most)"},
    {"pitch", 0, "DEGREES", RECONCTL_REAL, AT(pitch), -90, 90, "Look down from above (20)"},
    {"zoom", 0, "N", RECONCTL_REAL, AT(zoom), 0.01, 100, "1 fills the picture (1)"},
    {"point-size", 0, "PIXELS", RECONCTL_REAL, AT(point_px), 0.1, 64,
     "Diameter of a point at the middle depth (default: closes gaps)"},
    {"trajectory", 0, "FILE", RECONCTL_TEXT, AT(trajectory), 0, 0,
     "TUM file: yaw counts from where its cameras looked"},
    {"up", 0, "AXIS", RECONCTL_TEXT, AT(up), 0, 0,
     "The world's up axis: x, -x, y, -y, z or -z (default: as the file says, else y)"},
    {"view", 0, "POSE", RECONCTL_TEXT, AT(view), 0, 0,
     "Camera-to-world pose tx,ty,tz,qx,qy,qz,qw (OpenCV axes) instead of an orbit"},
    {"camera", 0, "FX,FY,CX,CY", RECONCTL_TEXT, AT(camera), 0, 0,
     "Intrinsics of --view in pixels of --size"},
    {"orbit", 0, "N", RECONCTL_INT, AT(orbit), 2, ORBIT_MAX,
     "Write N pictures around the cloud: FILE-000.png ..., or a film of them (96)"},
    {"swing", 0, "DEGREES", RECONCTL_REAL, AT(swing), 1, 180,
     "--orbit goes so far to both sides instead of all around"},
    {"objects", 0, "FILE|SESSION", RECONCTL_TEXT, AT(objects), 0, 0,
     "Also boxes and names of what a session recognised: asked, or its `objects` in a file"},
    {"slice", 0, "METRES", RECONCTL_REAL, AT(slice.height_m), -1e6, 1e6,
     "Only what lies at this height along the up axis, as a map"},
    {"thick", 0, "METRES", RECONCTL_REAL, AT(slice.thick_m), 0.0001, 1000,
     "Thickness of --slice, and the side of its points: a voxel's (0.02)"},
    {0},
};
/* clang-format on */

static int pose_view(struct client_splat_view *view, const struct render_options *o,
                     struct err *err)
{
    struct rigid T;
    float f = 0.85f * (float)(o->size.w > o->size.h ? o->size.w : o->size.h);
    char rest;
    int rc = client_sequence_pose(&T, o->view, err);

    if (rc)
        return rc;
    *view = (struct client_splat_view){.T_cw = rigid_inverse(&T), .w = o->size.w, .h = o->size.h};
    view->K.fx = view->K.fy = f;
    view->K.cx = 0.5f * (float)(o->size.w - 1);
    view->K.cy = 0.5f * (float)(o->size.h - 1);
    if (o->camera && (sscanf(o->camera, "%f,%f,%f,%f%c", &view->K.fx, &view->K.fy, &view->K.cx,
                             &view->K.cy, &rest) != 4 ||
                      !(view->K.fx > 0 && view->K.fy > 0)))
        return err_set(err, ERR_INPUT, "--camera takes fx,fy,cx,cy in pixels, not '%.60s'",
                       o->camera);
    return 0;
}

static void print_written(const struct render_options *o, const char *file)
{
    reconctl_print_file(&o->common, "picture", file);
    fflush(stdout);
}

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);

    return n > m && strcmp(name + n - m, end) == 0;
}

static bool is_film(const char *name)
{
    return ends_in(name, ".mp4") || ends_in(name, ".gif");
}

/* The yaw of picture i of n: an orbit, or to and fro. */
static float yaw_of(const struct render_options *o, double yaw, int i, int n)
{
    double turn = (double)i / n;

    return (float)(yaw + (o->swing > 0 ? o->swing * sin(2 * M_PI * turn) : 360 * turn)) * DEGREE;
}

/* Input, view and output of the drawing. */
struct render {
    const struct render_options *o;
    struct client_splat_cloud cloud;
    float *disc_m, *depth;
    struct reconctl_boxes boxes;
    struct client_splat_orbit orbit;
    double yaw; /* degrees */
    uint8_t *picture;
    struct reconctl_film *film;
    struct reconctl_progress progress;
    int at, n; /* index of the picture, and number of pictures */
};

static void on_progress(void *ctx, double done)
{
    struct render *r = ctx;

    reconctl_progress_step(&r->progress, "drawing", (r->at + done) / r->n);
}

/* Writes the picture into the film, or into its file. */
static int render_save(struct render *r, const char *file, struct err *err)
{
    int w = r->o->size.w, h = r->o->size.h, rc;

    if (r->film)
        return reconctl_film_add(r->film, r->picture, err);
    if (reconctl_is_output(file))
        return png_write(stdout, r->picture, w, h, err);
    rc = png_write_file(file, r->picture, w, h, err);
    if (rc == 0) {
        reconctl_progress_end(&r->progress, false);
        print_written(r->o, file);
    }
    return rc;
}

static int render_draw(struct render *r, const struct client_splat_view *from, const char *file,
                       struct err *err)
{
    struct client_splat_view view = *from;
    int rc;

    view.depth = r->depth;
    view.progress = on_progress;
    view.ctx = r;
    if (r->o->point_px > 0) {
        view.disc_m = client_splat_depth(&view, &r->cloud) * (float)r->o->point_px / view.K.fx;
    }
    rc = client_splat_draw(r->picture, &view, &r->cloud, err);
    if (rc == 0 && r->boxes.n)
        rc = reconctl_boxes_draw(r->picture, &view, &r->boxes, err);
    return rc ? rc : render_save(r, file, err);
}

static int draw_orbit(struct render *r, struct err *err)
{
    int n = r->o->orbit, stem = (int)strlen(r->o->output) - 4, rc = 0;
    char file[4096];
    float yaws[ORBIT_MAX] = {0};

    for (int i = 0; i < n; i++)
        yaws[i] = yaw_of(r->o, r->yaw, i, n);
    r->n = n;
    client_splat_frame(&r->orbit, &r->cloud, yaws, n);
    for (int i = 0; rc == 0 && i < n && !reconctl_stopped(); i++) {
        struct client_splat_view view = client_splat_at(&r->orbit, yaws[i], (float)r->o->zoom);

        snprintf(file, sizeof file, "%.*s-%03d.png", stem, r->o->output, i);
        r->at = i;
        rc = render_draw(r, &view, file, err);
    }
    return rc;
}

static int draw_all(struct render *r, struct err *err)
{
    const struct render_options *o = r->o;
    struct client_splat_view view;
    float yaw;
    int rc = 0;

    if (o->slice.height_m != NOT_GIVEN) {
        rc = reconctl_slice_draw(r->picture, o->size.w, o->size.h, &r->cloud, r->orbit.R_wc,
                                 &o->slice, err);
        return rc ? rc : render_save(r, o->output, err);
    }
    if (o->view) {
        rc = pose_view(&view, o, err);
        return rc ? rc : render_draw(r, &view, o->output, err);
    }
    r->yaw = o->yaw;
    if (!o->trajectory && o->yaw == NOT_GIVEN)
        r->yaw = (double)(client_splat_side(&r->orbit, &r->cloud) / DEGREE);
    else if (o->yaw == NOT_GIVEN)
        r->yaw = 0;
    if (o->orbit)
        return draw_orbit(r, err);
    yaw = (float)r->yaw * DEGREE;
    client_splat_frame(&r->orbit, &r->cloud, &yaw, 1);
    view = client_splat_at(&r->orbit, yaw, (float)o->zoom);
    return render_draw(r, &view, o->output, err);
}

static int render_open(struct render *r, const struct ply_cloud *cloud, struct err *err)
{
    const struct render_options *o = r->o;
    int rc = reconctl_render_orient(r->orbit.R_wc, o->up, cloud->up, o->trajectory, err);

    r->orbit.pitch = (float)o->pitch * DEGREE;
    r->orbit.w = o->size.w;
    r->orbit.h = o->size.h;
    r->picture = malloc(3 * (size_t)o->size.w * (size_t)o->size.h);
    r->disc_m = malloc(cloud->n * sizeof *r->disc_m);
    if (r->boxes.n)
        r->depth = malloc(sizeof *r->depth * (size_t)o->size.w * (size_t)o->size.h);
    if (!r->picture || !r->disc_m || (r->boxes.n && !r->depth))
        rc = err_set(err, ERR_MEMORY, "no memory for a picture");
    r->cloud = (struct client_splat_cloud){cloud->n, cloud->xyz,
                                           cloud->has_colour ? cloud->rgb : NULL, r->disc_m};
    if (rc == 0)
        rc = client_splat_discs(r->disc_m, &r->cloud, err);
    if (rc == 0 && is_film(o->output))
        rc = reconctl_film_open(&r->film, o->output, o->size.w, o->size.h, err);
    return rc;
}

static void render_defaults(void *arguments)
{
    struct render_options *o = arguments;

    o->size = (struct reconctl_size){960, 720};
    o->pitch = 20;
    o->zoom = 1;
    o->yaw = NOT_GIVEN;
    o->slice = (struct reconctl_slice){NOT_GIVEN, 0.02};
}

static int render_check(struct render_options *o)
{
    if (!o->output)
        return reconctl_usage(&o->common, "-O FILE says where the picture goes");
    if (!is_film(o->output) && !ends_in(o->output, ".png") && !reconctl_is_output(o->output))
        return reconctl_usage(&o->common, "'%.60s': a picture is a .png, a turn a .mp4 or .gif",
                              o->output);
    if (is_film(o->output) && !o->orbit)
        o->orbit = FILM_PICTURES;
    if (o->orbit && reconctl_is_output(o->output))
        return reconctl_usage(&o->common, "-O - takes one picture, and no turn");
    if (o->view && o->orbit)
        return reconctl_usage(&o->common, "--view is one picture, and no turn");
    if (o->slice.height_m != NOT_GIVEN && (o->view || o->orbit))
        return reconctl_usage(&o->common, "--slice is one picture from above: no --view, no turn");
    if (o->slice.height_m != NOT_GIVEN && o->objects)
        return reconctl_usage(&o->common, "--slice has no --objects");
    return RECONCTL_OK;
}

static int run_render(void *arguments)
{
    struct render_options *o = arguments;
    struct render r = {.o = o, .progress = reconctl_progress_start(), .n = 1};
    struct ply_cloud cloud = {0};
    struct err err, film_err;
    int rc, code = render_check(o);

    if (code)
        return code;
    rc = ply_read_file(o->common.operands[0], &cloud, &err);
    if (rc == 0 && cloud.n == 0)
        rc = err_at(&err, ERR_INPUT, o->common.operands[0], "holds no points");
    if (rc == 0 && o->objects)
        rc = reconctl_boxes_load(&r.boxes, o->objects, &o->common, &err);
    if (rc == 0 && !o->view && o->slice.height_m == NOT_GIVEN)
        cloud.n = client_splat_crop(cloud.xyz, cloud.rgb, cloud.n);
    if (rc == 0)
        rc = render_open(&r, &cloud, &err);
    if (rc == 0)
        rc = draw_all(&r, &err);
    reconctl_progress_end(&r.progress, false);
    if (reconctl_film_close(&r.film, rc ? &film_err : &err) && rc == 0)
        rc = err.code;
    else if (rc == 0 && is_film(o->output))
        print_written(o, o->output);
    free(r.picture);
    free(r.disc_m);
    free(r.depth);
    ply_cloud_free(&cloud);
    if (rc) {
        reconctl_fail(&o->common, &err);
        return RECONCTL_FAILURE;
    }
    return reconctl_stopped() ? RECONCTL_INTERRUPTED : RECONCTL_OK;
}

RECONCTL_COMMAND(render, "render", "CLOUD.ply", "Draw a cloud into a picture or a film", run_render,
                 sizeof(struct render_options), options, 0, render_defaults);
