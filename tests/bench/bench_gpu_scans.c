/*
 * bench_gpu_scans.c - range scans of one object are brought together by their tensors alone
 *
 * SCANS=folder with bun.conf and its .ply files (Stanford 3D Scanning Repository). Each scan
 * becomes a depth picture of a camera in front of it, is enrolled as an object, and is looked for
 * in the scans beside it; the pose that is found is compared with that of bun.conf.
 */
#include "proto/cloud/ply.h"
#include "tests/support/shape_case.h"

#include <math.h>

#define SIDE 320
#define FOCAL 1000.0f
#define FAR_M 0.75f
#define SCANS 4

static const char *const name[SCANS] = {"bun315.ply", "bun000.ply", "bun045.ply", "bun090.ply"};
/* the camera, in a scan's coordinates: in front of it along z, x to the right, y up */
static const struct rigid T_sc = {{1, 0, 0, 0, -1, 0, 0, 0, -1}, {-0.02f, 0.11f, FAR_M}};

static int die(const struct err *err)
{
    printf("%s\n", err->text);
    return 1;
}

/* Nearest points of a scan as a depth picture. */
static int draw(float *depth, const char *folder, const char *file, struct err *err)
{
    struct rigid T_cs = rigid_inverse(&T_sc);
    struct ply_cloud cloud = {0};
    char path[512];
    int rc;

    snprintf(path, sizeof path, "%s/%s", folder, file);
    memset(depth, 0, sizeof *depth * SIDE * SIDE);
    rc = ply_read_file(path, &cloud, err);
    for (size_t i = 0; rc == 0 && i < cloud.n; i++) {
        struct vec3 p = vec3_make(cloud.xyz[3 * i], cloud.xyz[3 * i + 1], cloud.xyz[3 * i + 2]);
        struct vec3 q = rigid_apply(&T_cs, p);
        float u = FOCAL * q.x / q.z + 0.5f * SIDE, v = FOCAL * q.y / q.z + 0.5f * SIDE;
        if (q.z > 0.1f && u >= 0 && v >= 0 && u < SIDE && v < SIDE) {
            float *to = &depth[(int)v * SIDE + (int)u];
            if (*to == 0 || q.z < *to)
                *to = q.z;
        }
    }
    ply_cloud_free(&cloud);
    return rc;
}

/* The line of a scan in bun.conf: its coordinates to those of all. */
static int place(struct rigid *T, const char *folder, const char *file, struct err *err)
{
    char path[512], line[256], which[64];
    float t[3], q[4];
    FILE *f;

    snprintf(path, sizeof path, "%s/bun.conf", folder);
    f = fopen(path, "r");
    if (!f)
        return err_set(err, ERR_IO, "cannot read %s", path);
    while (fgets(line, sizeof line, f)) {
        float x, y, z, w;
        if (sscanf(line, "bmesh %63s %f %f %f %f %f %f %f", which, &t[0], &t[1], &t[2], &q[0],
                   &q[1], &q[2], &q[3]) != 8 ||
            strcmp(which, file) != 0)
            continue;
        fclose(f);
        /* the file's quaternions turn the other way */
        x = -q[0];
        y = -q[1];
        z = -q[2];
        w = q[3];
        *T = (struct rigid){{1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w),
                             2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
                             2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)},
                            {t[0], t[1], t[2]}};
        return 0;
    }
    fclose(f);
    return err_set(err, ERR_INPUT, "%s does not name %s", path, file);
}

/* Scan b, enrolled, is looked for in scan a. */
static int align(const char *folder, int a, int b, float unit_m, struct err *err)
{
    struct intrinsics K = {FOCAL, FOCAL, 0.5f * SIDE, 0.5f * SIDE};
    struct surface_params sp = surface_params_default();
    struct tensor_params tp = tensor_params_default();
    struct object object = {.name = "scan"};
    const struct object *const objects[1] = {&object};
    struct rigid T_a, T_b, T_ab, truth;
    struct library l;
    struct shape_case c;
    int rc;

    tp.unit_m = unit_m;
    tp.n = 600;
    sp.noise_m = 0.4e-3f; /* of a laser scanner, at this distance */
    if ((rc = place(&T_a, folder, name[a], err)) || (rc = place(&T_b, folder, name[b], err)))
        return rc;
    T_ab = rigid_inverse(&T_a);
    T_ab = rigid_mul(&T_ab, &T_b);
    /* the camera of scan a to scan b's coordinates, which are the object's */
    truth = rigid_inverse(&T_sc);
    truth = rigid_mul(&truth, &T_ab);
    {
        float *depth = malloc(sizeof *depth * SIDE * SIDE);
        if (!depth)
            return err_set(err, ERR_MEMORY, "no memory");
        if ((rc = draw(depth, folder, name[b], err)) == 0)
            rc = object_add_view(&object, depth, SIDE, SIDE, K, &T_sc, &sp, &tp, err);
        free(depth);
    }
    if (rc || (rc = library_new(&l, objects, 1, err)))
        return rc;
    if ((rc = shape_case_open(&c, SIDE, SIDE, &l, 200, err)) == 0 &&
        (rc = draw(c.depth, folder, name[a], err)) == 0) {
        surface_shape(&c.surface, SIDE, SIDE, K, 1);
        c.sp = sp;
        c.hp.score = 0.5f;
        c.hp.close_m = 0.002f;
        c.hp.gate_m = 0.02f;
        shape_case_find(&c, &l);
    }
    if (rc == 0 && c.n_found) {
        float degrees, metres;
        struct vec3 at = {-0.03f, 0.1f, 0}, p, q; /* the middle of the object */
        shape_off(&degrees, &metres, &c.found[0].T_co, &truth);
        p = rigid_apply(&c.found[0].T_co, at);
        q = rigid_apply(&truth, at);
        printf("%s in %s: %.2f degrees, %.2f mm off (must 2, 3); score %.2f, %u votes\n", name[b],
               name[a], (double)degrees, 1e3 * sqrt((double)vec3_norm2(vec3_sub(p, q))),
               (double)c.found[0].score, c.found[0].votes);
    } else if (rc == 0) {
        printf("%s in %s: not found\n", name[b], name[a]);
    }
    shape_case_close(&c);
    library_free(&l);
    object_free(&object);
    return rc;
}

int main(void)
{
    const char *folder = getenv("SCANS"), *unit = getenv("UNIT_MM");
    struct err err = {0};

    if (!folder || !*folder) {
        printf("SCANS=folder of the bunny's scans: not given\n");
        return 0;
    }
    for (int a = 0; a < SCANS; a++)
        for (int b = 0; b < SCANS; b++)
            if ((a - b == 1 || b - a == 1) &&
                align(folder, a, b, unit && *unit ? (float)atof(unit) * 1e-3f : 0.0025f, &err))
                return die(&err);
    return 0;
}
