#include "api/client/client_sequence.h"
#include "api/client/client_splat.h"
#include "api/ctl/reconctl.h"
#include "proto/cloud/ply.h"
#include "proto/image/png.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEGREE 0.017453293f
#define LINE_BYTES 512

struct render_options {
    struct reconctl_common common; /* first: see reconctl.h */
    const char *output, *view, *trajectory, *up, *camera;
    struct reconctl_size size;
    double yaw, pitch, zoom, point_px;
    int orbit;
};

#define AT(field) offsetof(struct render_options, field)

/* clang-format off */
static const struct reconctl_option options[] = {
    {"output", 'O', "FILE", RECONCTL_TEXT, AT(output), 0, 0, "Picture to write (PNG)"},
    {"size", 's', "WxH", RECONCTL_SIZE, AT(size), 16, 8192, "Size of the picture (960x720)"},
    {"yaw", 0, "DEGREES", RECONCTL_REAL, AT(yaw), -3600, 3600, "Turn around the up axis (0)"},
    {"pitch", 0, "DEGREES", RECONCTL_REAL, AT(pitch), -90, 90, "Look down from above (20)"},
    {"zoom", 0, "N", RECONCTL_REAL, AT(zoom), 0.01, 100, "1 shows nine points of ten (1)"},
    {"point-size", 0, "PIXELS", RECONCTL_REAL, AT(point_px), 0.1, 64,
     "Diameter of a point at the middle depth (default: closes most gaps)"},
    {"trajectory", 0, "FILE", RECONCTL_TEXT, AT(trajectory), 0, 0,
     "TUM file: yaw and pitch count from where its cameras looked"},
    {"up", 0, "AXIS", RECONCTL_TEXT, AT(up), 0, 0,
     "Without --trajectory, the world's up axis: x, -x, y, -y, z or -z (y)"},
    {"view", 0, "POSE", RECONCTL_TEXT, AT(view), 0, 0,
     "Camera-to-world pose tx,ty,tz,qx,qy,qz,qw (OpenCV axes) instead of an orbit"},
    {"camera", 0, "FX,FY,CX,CY", RECONCTL_TEXT, AT(camera), 0, 0,
     "Intrinsics of --view in pixels of --size"},
    {"orbit", 0, "N", RECONCTL_INT, AT(orbit), 2, 3600,
     "Write N pictures around the cloud: FILE-000.png ..."},
    {0},
};
/* clang-format on */

/* Computes an orientation from a forward and an up direction of any length, which are not
 * parallel. */
static void look(float *R, struct vec3 forward, struct vec3 up)
{
    struct vec3 f = forward, r, d;
    float n = sqrtf(vec3_norm2(f));

    f = vec3_make(f.x / n, f.y / n, f.z / n);
    r = vec3_make(f.y * up.z - f.z * up.y, f.z * up.x - f.x * up.z, f.x * up.y - f.y * up.x);
    n = sqrtf(vec3_norm2(r));
    r = vec3_make(r.x / n, r.y / n, r.z / n);
    d = vec3_make(f.y * r.z - f.z * r.y, f.z * r.x - f.x * r.z, f.x * r.y - f.y * r.x);
    R[0] = r.x, R[1] = d.x, R[2] = f.x;
    R[3] = r.y, R[4] = d.y, R[5] = f.y;
    R[6] = r.z, R[7] = d.z, R[8] = f.z;
}

static int axis_orientation(float *R, const char *name, struct err *err)
{
    float sign = *name == '-' ? -1.0f : 1.0f;
    char axis = name[*name == '-'];

    if (!strchr("xyz", axis) || !axis || name[(*name == '-') + 1])
        return err_set(err, ERR_INPUT, "--up takes x, -x, y, -y, z or -z, not '%.20s'", name);
    look(R,
         axis == 'z'   ? vec3_make(0, 1, 0)
         : axis == 'y' ? vec3_make(0, 0, -sign)
                       : vec3_make(0, 1, 0),
         vec3_make(axis == 'x' ? sign : 0, axis == 'y' ? sign : 0, axis == 'z' ? sign : 0));
    return 0;
}

/* Takes the mean viewing direction and the mean up direction of a TUM file's cameras. */
static int path_orientation(float *R, const char *file, struct err *err)
{
    struct vec3 forward = {0}, up = {0};
    char line[LINE_BYTES], where[ERR_WHERE_CAP];
    FILE *in = fopen(file, "r");
    struct rigid T;
    struct err why;
    float along;
    int n = 0, rc = 0;

    if (!in)
        return err_at(err, ERR_NOT_FOUND, file, "cannot be read: %m");
    for (int i = 1; rc == 0 && fgets(line, sizeof line, in); i++) {
        const char *p = line + strcspn(line, " \t");

        if (*line == '#' || *line == '\n')
            continue;
        rc = client_sequence_pose(&T, p + strspn(p, " \t"), &why);
        if (rc) {
            snprintf(where, sizeof where, "%.60s:%d", file, i);
            err_at(err, rc, where, "%s", why.text);
            break;
        }
        forward = vec3_make(forward.x + T.r[2], forward.y + T.r[5], forward.z + T.r[8]);
        up = vec3_make(up.x - T.r[1], up.y - T.r[4], up.z - T.r[7]);
        n++;
    }
    fclose(in);
    if (rc)
        return rc;
    if (n == 0 || !(vec3_norm2(up) > 1e-6f))
        return err_at(err, ERR_INPUT, file, "holds no camera path with a common up direction");
    along = (forward.x * up.x + forward.y * up.y + forward.z * up.z) / vec3_norm2(up);
    forward =
        vec3_make(forward.x - along * up.x, forward.y - along * up.y, forward.z - along * up.z);
    /* the directions cancel out where a camera turned all around */
    if (!(vec3_norm2(forward) > 1e-6f * (float)n))
        forward = vec3_make(T.r[2], T.r[5], T.r[8]);
    look(R, forward, up);
    return 0;
}

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

static int draw(const struct render_options *o, const struct ply_cloud *cloud, const float *R,
                double yaw, const char *file, uint8_t *picture, struct err *err)
{
    struct client_splat_view view;
    int rc = 0;

    if (o->view)
        rc = pose_view(&view, o, err);
    else
        client_splat_orbit(&view, cloud->xyz, cloud->n, R, (float)yaw * DEGREE,
                           (float)o->pitch * DEGREE, (float)o->zoom, o->size.w, o->size.h);
    if (rc)
        return rc;
    view.disc_m = o->point_px > 0 ? client_splat_depth(&view, cloud->xyz, cloud->n) *
                                        (float)o->point_px / view.K.fx
                                  : client_splat_disc(&view, cloud->xyz, cloud->n);
    rc = client_splat_draw(picture, &view, cloud->xyz, cloud->rgb, cloud->n, err);
    if (rc == 0)
        rc = png_write_file(file, picture, o->size.w, o->size.h, err);
    if (rc == 0 && !reconctl_json(&o->common))
        printf("%s\n", file);
    return rc;
}

static int draw_all(const struct render_options *o, const struct ply_cloud *cloud, const float *R,
                    struct err *err)
{
    uint8_t *picture = malloc(3 * (size_t)o->size.w * (size_t)o->size.h);
    char file[4096];
    int rc = picture ? 0 : err_set(err, ERR_MEMORY, "no memory for a picture"), stem;

    if (rc == 0 && !o->orbit)
        rc = draw(o, cloud, R, o->yaw, o->output, picture, err);
    stem = (int)strlen(o->output);
    if (stem > 4 && strcmp(o->output + stem - 4, ".png") == 0)
        stem -= 4;
    for (int i = 0; rc == 0 && i < o->orbit && !reconctl_stopped(); i++) {
        snprintf(file, sizeof file, "%.*s-%03d.png", stem, o->output, i);
        rc = draw(o, cloud, R, o->yaw + 360.0 * i / o->orbit, file, picture, err);
    }
    free(picture);
    return rc;
}

static void set_defaults(void *arguments)
{
    struct render_options *o = arguments;

    o->size = (struct reconctl_size){960, 720};
    o->pitch = 20;
    o->zoom = 1;
    o->up = "y";
}

static int run_render(void *arguments)
{
    struct render_options *o = arguments;
    struct ply_cloud cloud = {0};
    struct err err;
    float R[9];
    int rc;

    if (!o->output || (o->view && o->orbit))
        return reconctl_usage(&o->common, o->output ? "--view and --orbit exclude each other"
                                                    : "-O FILE.png says where the picture goes");
    rc =
        o->trajectory ? path_orientation(R, o->trajectory, &err) : axis_orientation(R, o->up, &err);
    if (rc == 0)
        rc = ply_read_file(o->common.operands[0], &cloud, &err);
    if (rc == 0 && cloud.n == 0)
        rc = err_at(&err, ERR_INPUT, o->common.operands[0], "holds no points");
    if (rc == 0)
        rc = draw_all(o, &cloud, R, &err);
    ply_cloud_free(&cloud);
    if (rc) {
        reconctl_fail(&o->common, &err);
        return RECONCTL_FAILURE;
    }
    return RECONCTL_OK;
}

const struct reconctl_command reconctl_render_command = {
    .name = "render",
    .operands = "CLOUD.ply",
    .summary = "Draw a cloud into a PNG",
    .options = options,
    .size = sizeof(struct render_options),
    .defaults = set_defaults,
    .run = run_render,
};
