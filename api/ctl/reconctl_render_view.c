#include "api/ctl/reconctl_render.h"

#include "api/client/client_sequence.h"

#include <stdio.h>
#include <string.h>

#define LINE_BYTES 512

/* Computes an orientation from a forward and an up direction of any length, which are not
 * parallel. */
static void camera_rotation(float *R, struct vec3 forward, struct vec3 up)
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

static bool take_axis(struct vec3 *up, const char *name)
{
    float sign = *name == '-' ? -1.0f : 1.0f;

    name += *name == '-' || *name == '+';
    if (!*name || !strchr("xyz", *name) || name[1])
        return false;
    *up = vec3_make(*name == 'x' ? sign : 0, *name == 'y' ? sign : 0, *name == 'z' ? sign : 0);
    return true;
}

/* Takes the mean viewing direction and the mean up direction of a TUM file's cameras. */
static int read_path(struct vec3 *forward, struct vec3 *up, const char *file, struct err *err)
{
    char line[LINE_BYTES], where[ERR_WHERE_CAP];
    FILE *in = fopen(file, "r");
    struct rigid T;
    struct err why;
    int n = 0, rc = 0;

    *forward = *up = vec3_make(0, 0, 0);
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
        *forward = vec3_make(forward->x + T.r[2], forward->y + T.r[5], forward->z + T.r[8]);
        *up = vec3_make(up->x - T.r[1], up->y - T.r[4], up->z - T.r[7]);
        n++;
    }
    fclose(in);
    if (rc)
        return rc;
    if (n == 0)
        return err_at(err, ERR_INPUT, file, "holds no camera path");
    /* the directions cancel out if the camera made a full rotation */
    if (!(vec3_norm2(*forward) > 1e-6f * (float)n))
        *forward = vec3_make(T.r[2], T.r[5], T.r[8]);
    return 0;
}

/* Returns the part of v that is perpendicular to up. */
static struct vec3 level(struct vec3 v, struct vec3 up)
{
    float along = (v.x * up.x + v.y * up.y + v.z * up.z) / vec3_norm2(up);

    return vec3_make(v.x - along * up.x, v.y - along * up.y, v.z - along * up.z);
}

/* Rotates a camera to look along `forward`, level. */
static int camera_level(float R_wc[9], struct vec3 forward, struct vec3 up, struct err *err)
{
    struct vec3 f;

    if (!(vec3_norm2(up) > 1e-6f))
        return err_set(err, ERR_INPUT, "the cameras have no common up direction");
    f = level(forward, up);
    /* Without a direction it looks as a phone does when its world begins: along -z where y is
     * up. */
    if (!(vec3_norm2(f) > 1e-6f * vec3_norm2(forward)))
        f = level(up.y != 0 ? vec3_make(0, 0, -up.y) : vec3_make(0, 1, 0), up);
    camera_rotation(R_wc, f, up);
    return 0;
}

int reconctl_render_level(float R_wc[9], const char *up, const struct rigid *T_wc, struct err *err)
{
    const float *r = T_wc->r;
    struct vec3 axis;
    bool known = take_axis(&axis, up);

    return camera_level(R_wc, vec3_make(r[2], r[5], r[8]),
                        known ? axis : vec3_make(-r[1], -r[4], -r[7]), err);
}

int reconctl_render_orient(float R_wc[9], const char *asked, const char *said, const char *path,
                           struct err *err)
{
    struct vec3 forward = {0}, up = vec3_make(0, 1, 0), mean = up;
    bool known = take_axis(&up, asked ? asked : said);
    int rc = path ? read_path(&forward, &mean, path, err) : 0;

    if (asked && !known)
        return err_set(err, ERR_INPUT, "--up takes x, -x, y, -y, z or -z, not '%.20s'", asked);
    if (rc)
        return rc;
    return camera_level(R_wc, forward, known ? up : mean, err);
}
