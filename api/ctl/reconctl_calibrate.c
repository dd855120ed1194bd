/* `reconctl calibrate`: corners of a board become cameras, as a sequence.json declares them. */
#include "api/ctl/reconctl_eval.h"
#include "proto/geom/calibrate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 256
#define JSON_BYTES 65536

struct calibrate_options {
    struct reconctl_common common; /* first: see reconctl.h */
    const char *json_file;
    int width, height;
};

#define AT(field) offsetof(struct calibrate_options, field)

/* clang-format off */
static const struct reconctl_option options[] = {
    {"width", 0, "PIXELS", RECONCTL_INT, AT(width), 16, 16384, "Of the pictures (1024)"},
    {"height", 0, "PIXELS", RECONCTL_INT, AT(height), 16, 16384, "Of the pictures (1024)"},
    {"report", 0, "FILE", RECONCTL_OUTPUT, AT(json_file), 0, 0,
     "Write the cameras as JSON, of which sequence.json takes what it knows"},
    {0},
};
/* clang-format on */

static void set_defaults(void *arguments)
{
    struct calibrate_options *o = arguments;

    o->width = o->height = 1024;
}

/* ------------------------------------------------------------------------- input */

static int read_line(struct calibrate_corner *c, const char *line, const char *path, int number,
                     struct err *err)
{
    if (!calibrate_corner_parse(c, line))
        return err_at(err, ERR_INPUT, path, "line %d is not `picture camera x y u v`", number);
    return 0;
}

static int read_corners(struct calibrate_corner *corners, size_t *n, const char *path,
                        struct err *err)
{
    FILE *f = fopen(path, "r");
    char line[LINE_BYTES];
    int rc = 0;

    *n = 0;
    if (!f)
        return err_at(err, ERR_NOT_FOUND, path, "%m");
    for (int number = 1; rc == 0 && fgets(line, sizeof line, f); number++) {
        if (line[strspn(line, " \t\r\n")] == '\0' || line[0] == '#')
            continue;
        if (*n == CALIBRATE_CORNERS_MAX)
            rc = err_at(err, ERR_LIMIT, path, "more than %d corners", CALIBRATE_CORNERS_MAX);
        else
            rc = read_line(&corners[(*n)++], line, path, number, err);
    }
    if (rc == 0 && ferror(f))
        rc = err_at(err, ERR_NOT_FOUND, path, "cannot be read: %m");
    fclose(f);
    return rc;
}

/* ------------------------------------------------------------------------- output */

/* From the second camera to the first, as `second` of sequence.json: tx ty tz qx qy qz qw. */
static void second_of(double out[7], const struct calibrate_pose *T_21)
{
    const double *r = T_21->r;
    double q[4], s;
    int i = r[0] > r[4] ? (r[0] > r[8] ? 0 : 2) : (r[4] > r[8] ? 1 : 2), j = (i + 1) % 3,
        k = (i + 2) % 3;

    for (int a = 0; a < 3; a++) {
        out[a] = 0;
        for (int b = 0; b < 3; b++)
            out[a] -= r[3 * b + a] * T_21->t[b];
    }
    if (r[0] + r[4] + r[8] > 0) {
        s = 2 * sqrt(1 + r[0] + r[4] + r[8]);
        q[3] = s / 4;
        q[0] = (r[7] - r[5]) / s;
        q[1] = (r[2] - r[6]) / s;
        q[2] = (r[3] - r[1]) / s;
    } else {
        s = 2 * sqrt(1 + r[4 * i] - r[4 * j] - r[4 * k]);
        q[i] = s / 4;
        q[j] = (r[3 * i + j] + r[3 * j + i]) / s;
        q[k] = (r[3 * i + k] + r[3 * k + i]) / s;
        q[3] = (r[3 * k + j] - r[3 * j + k]) / s;
    }
    for (int a = 0; a < 4; a++) /* of the transposed rotation */
        out[3 + a] = a < 3 ? -q[a] : q[a];
}

static void put_camera(struct json_writer *w, const struct calibrate_options *o,
                       const struct calibrate_result *r, int e)
{
    const double *p = r->camera[e].param;

    json_put_text(w, "model", "unified");
    json_put_i64(w, "width", o->width);
    json_put_i64(w, "height", o->height);
    reconctl_eval_put(w, "fx", p[CALIBRATE_FX]);
    reconctl_eval_put(w, "fy", p[CALIBRATE_FY]);
    reconctl_eval_put(w, "cx", p[CALIBRATE_CX]);
    reconctl_eval_put(w, "cy", p[CALIBRATE_CY]);
    json_open_list(w, "distortion");
    reconctl_eval_put(w, NULL, p[CALIBRATE_XI]);
    for (int k = CALIBRATE_K1; k <= CALIBRATE_P2; k++)
        reconctl_eval_put(w, NULL, p[k]);
    json_close(w);
    json_open_list(w, "rms_px");
    for (int k = 0; k < r->n_pictures; k++)
        reconctl_eval_put(w, NULL, r->rms_px[e][k]);
    json_close(w);
}

static size_t as_json(char *buf, size_t cap, const struct calibrate_options *o,
                      const struct calibrate_result *r)
{
    struct json_writer w = json_writer(buf, cap);
    double second[7];

    json_open_map(&w, NULL);
    json_put_text(&w, "type", "calibration");
    reconctl_eval_put(&w, "all_px", r->all_px);
    put_camera(&w, o, r, 0);
    if (r->n_cameras == 2) {
        second_of(second, &r->T_21);
        json_open_list(&w, "second");
        for (int i = 0; i < 7; i++)
            reconctl_eval_put(&w, NULL, second[i]);
        json_close(&w);
        json_open_map(&w, "second_camera");
        put_camera(&w, o, r, 1);
        json_close(&w);
    }
    json_close(&w);
    return json_finish(&w);
}

static void print_table(const struct calibrate_result *r)
{
    static const char *const names[CALIBRATE_PARAMS] = {"xi", "fx", "fy", "cx", "cy",
                                                        "k1", "k2", "p1", "p2"};
    const double *t = r->T_21.t;

    for (int e = 0; e < r->n_cameras; e++) {
        printf("camera %d\n", e);
        for (int k = 0; k < CALIBRATE_PARAMS; k++)
            printf("  %-3s %12.5f  +- %.5f\n", names[k], r->camera[e].param[k],
                   r->camera[e].error[k]);
        for (int k = 0; k < r->n_pictures; k++)
            if (r->rms_px[e][k] > 0)
                printf("  picture %3d  %.3f px\n", k, r->rms_px[e][k]);
    }
    if (r->n_cameras == 2)
        printf("baseline %.5f m\n", sqrt(t[0] * t[0] + t[1] * t[1] + t[2] * t[2]));
    printf("all corners %.3f px\n", r->all_px);
}

static int show(const struct calibrate_options *o, const struct calibrate_result *r,
                struct err *err)
{
    char *line = malloc(JSON_BYTES);
    int rc = 0;

    if (!line || !as_json(line, JSON_BYTES, o, r))
        rc = err_set(err, ERR_MEMORY, "no memory for the report");
    if (rc == 0)
        rc = reconctl_eval_write(o->json_file, line, err);
    if (rc == 0 && reconctl_json(&o->common))
        printf("%s\n", line);
    else if (rc == 0)
        print_table(r);
    free(line);
    return rc;
}

static int run_calibrate(void *arguments)
{
    const struct calibrate_options *o = arguments;
    int size_px[2][2] = {{o->width, o->height}, {o->width, o->height}}, rc = 0;
    struct calibrate_corner *corners = malloc(CALIBRATE_CORNERS_MAX * sizeof *corners);
    struct calibrate_result *r = malloc(sizeof *r);
    struct err err;
    size_t n;

    if (!corners || !r)
        rc = err_set(&err, ERR_MEMORY, "no memory for corners");
    if (rc == 0)
        rc = read_corners(corners, &n, o->common.operands[0], &err);
    if (rc == 0)
        rc = calibrate_run(r, corners, n, size_px, &err);
    if (rc == 0)
        rc = show(o, r, &err);
    free(corners);
    free(r);
    return rc ? reconctl_fail(&o->common, &err) : RECONCTL_OK;
}

const struct reconctl_command reconctl_calibrate_command = {
    .name = "calibrate",
    .operands = "CORNERS",
    .summary = "Find mirror cameras, and how they stand, from corners of a board",
    .options = options,
    .size = sizeof(struct calibrate_options),
    .defaults = set_defaults,
    .run = run_calibrate,
};
