/* `reconctl calibrate`: computes cameras from pictures of a board or from its corners, in the form
 * of sequence.json. */
#include "api/ctl/reconctl_args.h"
#include "api/ctl/reconctl_boards.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE_BYTES 256
#define JSON_BYTES (1 << 20) /* bytes of the answer, most of it for names of pictures */
#define GRID 10              /* default grid: that of mrgingham's own board */
#define SIDE 1024

struct calibrate_options {
    struct reconctl_common common; /* first: see reconctl.h */
    const char *json_file, *corners_file;
    int width, height, grid;
    double square_m;
};

#define AT(field) offsetof(struct calibrate_options, field)

/* clang-format off */
static const struct reconctl_option options[] = {
    {"square", 's', "METRES", RECONCTL_REAL, AT(square_m), 0.0001, 10,
     "Pictures: side of a square of the board"},
    {"grid", 'g', "N", RECONCTL_INT, AT(grid), CALIBRATE_GRID_LEAST, CALIBRATE_GRID_MAX,
     "Pictures: the board has N x N inner corners (10)"},
    {"corners", 0, "FILE", RECONCTL_OUTPUT, AT(corners_file), 0, 0,
     "Pictures: write their corners, as this command reads them"},
    {"width", 0, "PIXELS", RECONCTL_INT, AT(width), 16, 16384,
     "Corners: of the pictures (1024)"},
    {"height", 0, "PIXELS", RECONCTL_INT, AT(height), 16, 16384,
     "Corners: of the pictures (1024)"},
    {"report", 0, "FILE", RECONCTL_OUTPUT, AT(json_file), 0, 0,
     "Write the cameras as JSON, of which sequence.json takes what it knows"},
    {0},
};
/* clang-format on */

/* ------------------------------------------------------------------------- input */

static int corner_read(struct calibrate_corner *c, const char *line, const char *path, int number,
                       struct err *err)
{
    if (!calibrate_corner_parse(c, line))
        return err_at(err, ERR_INPUT, path, "line %d is not `picture camera x y u v`", number);
    return 0;
}

static int read_corners(struct reconctl_boards *b, const char *path, struct err *err)
{
    FILE *f = fopen(path, "r");
    char line[LINE_BYTES];
    int rc = 0;

    b->corners = malloc(CALIBRATE_CORNERS_MAX * sizeof *b->corners);
    if (!f || !b->corners)
        rc = err_at(err, f ? ERR_MEMORY : ERR_NOT_FOUND, path, "%m");
    for (int number = 1; rc == 0 && fgets(line, sizeof line, f); number++) {
        if (line[strspn(line, " \t\r\n")] == '\0' || line[0] == '#')
            continue;
        if (b->n == CALIBRATE_CORNERS_MAX)
            rc = err_at(err, ERR_LIMIT, path, "more than %d corners", CALIBRATE_CORNERS_MAX);
        else
            rc = corner_read(&b->corners[b->n++], line, path, number, err);
    }
    if (rc == 0 && ferror(f))
        rc = err_at(err, ERR_NOT_FOUND, path, "cannot be read: %m");
    if (f)
        fclose(f);
    return rc;
}

/* Returns what is wrong with the combination of options and operands; NULL: nothing. */
static const char *misplaced(const struct calibrate_options *o, bool pictures)
{
    if (pictures && (o->width || o->height))
        return "pictures tell their size: --width and --height are for a file of corners";
    if (pictures && !(o->square_m > 0))
        return "how large are the squares of the board? --square METRES";
    if (!pictures && o->common.n_operands > 1)
        return "corners of both cameras stand in one file";
    if (!pictures && (o->square_m > 0 || o->grid || o->corners_file))
        return "--square, --grid and --corners are for folders of pictures";
    return NULL;
}

/* ------------------------------------------------------------ names of the pictures */

/* Writes " (NAME, NAME)", the pictures that a refusal names, if they have names. */
static void put_blamed(struct err *err, const struct reconctl_boards *b,
                       const struct calibrate_result *r)
{
    for (int i = 0; i < 2; i++) {
        size_t n = strlen(err->text);

        if (r->blamed[i] >= 0 && r->blamed[i] < b->n_names)
            snprintf(err->text + n, sizeof err->text - n, "%s%.60s%s", i ? ", " : " (",
                     b->names[r->blamed[i]], i ? ")" : "");
    }
}

/* Writes text and a newline beside the file and renames it; does nothing if path is NULL. */
static int report_write(const char *path, const char *text, struct err *err)
{
    char part[4096];
    FILE *out;
    int rc = 0;

    if (!path)
        return 0;
    if (snprintf(part, sizeof part, "%s.part", path) >= (int)sizeof part)
        return err_set(err, ERR_INPUT, "file name is too long");
    out = fopen(part, "w");
    if (!out)
        return err_at(err, ERR_NOT_FOUND, part, "cannot be written: %m");
    if (fputs(text, out) < 0 || fputc('\n', out) == EOF)
        rc = err_at(err, ERR_NOT_FOUND, part, "cannot be written: %m");
    if (fclose(out) != 0 && rc == 0)
        rc = err_at(err, ERR_NOT_FOUND, part, "cannot be written: %m");
    if (rc == 0 && rename(part, path) != 0)
        rc = err_at(err, ERR_NOT_FOUND, path, "cannot be written: %m");
    if (rc)
        unlink(part);
    return rc;
}

static int write_corners(const char *path, const struct reconctl_boards *b, struct err *err)
{
    size_t cap = 64 + b->n * 96, at;
    char *text = malloc(cap);
    int rc;

    if (!text)
        return err_set(err, ERR_MEMORY, "no memory for corners");
    at = (size_t)snprintf(text, cap, "# picture camera x y u v");
    for (size_t i = 0; i < b->n; i++) {
        const struct calibrate_corner *c = &b->corners[i];

        at += (size_t)snprintf(text + at, cap - at, "\n%d %d %.9g %.9g %.9g %.9g", c->picture,
                               c->camera, c->x_m, c->y_m, c->u, c->v);
    }
    rc = report_write(path, text, err);
    free(text);
    return rc;
}

/* ------------------------------------------------------------------------- output */

/* Writes the pose from the second camera to the first, as `second` of sequence.json: tx ty tz qx qy
 * qz qw. */
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
    for (int a = 0; a < 4; a++) /* entries of the transposed rotation */
        out[3 + a] = a < 3 ? -q[a] : q[a];
}

static void put_camera(struct json_writer *w, const struct reconctl_boards *b,
                       const struct calibrate_result *r, int e)
{
    const double *p = r->camera[e].param;

    json_put_text(w, "model", "unified");
    json_put_i64(w, "width", b->size_px[e][0]);
    json_put_i64(w, "height", b->size_px[e][1]);
    json_put_f32(w, "fx", (float)p[CALIBRATE_FX]);
    json_put_f32(w, "fy", (float)p[CALIBRATE_FY]);
    json_put_f32(w, "cx", (float)p[CALIBRATE_CX]);
    json_put_f32(w, "cy", (float)p[CALIBRATE_CY]);
    json_open_list(w, "distortion");
    json_put_f32(w, NULL, (float)p[CALIBRATE_XI]);
    for (int k = CALIBRATE_K1; k <= CALIBRATE_P2; k++)
        json_put_f32(w, NULL, (float)p[k]);
    json_close(w);
    json_open_list(w, "rms_px");
    for (int k = 0; k < r->n_pictures; k++)
        json_put_f32(w, NULL, (float)r->rms_px[e][k]);
    json_close(w);
    if (!b->n_names)
        return;
    json_open_list(w, "no_board");
    for (int k = 0; k < b->n_names; k++)
        if (b->no_board[e][k])
            json_put_text(w, NULL, b->names[k]);
    json_close(w);
}

static size_t as_json(char *buf, size_t cap, const struct reconctl_boards *b,
                      const struct calibrate_result *r)
{
    struct json_writer w = json_writer(buf, cap);
    double second[7];

    json_open_map(&w, NULL);
    json_put_text(&w, "type", "calibration");
    json_put_f32(&w, "all_px", (float)r->all_px);
    if (b->n_names) {
        json_open_list(&w, "pictures");
        for (int k = 0; k < r->n_pictures; k++)
            json_put_text(&w, NULL, b->names[k]);
        json_close(&w);
    }
    put_camera(&w, b, r, 0);
    if (r->n_cameras == 2) {
        second_of(second, &r->T_21);
        json_open_list(&w, "second");
        for (int i = 0; i < 7; i++)
            json_put_f32(&w, NULL, (float)second[i]);
        json_close(&w);
        json_open_map(&w, "second_camera");
        put_camera(&w, b, r, 1);
        json_close(&w);
    }
    json_close(&w);
    return json_finish(&w);
}

static void print_table(const struct reconctl_boards *b, const struct calibrate_result *r)
{
    static const char *const names[CALIBRATE_PARAMS] = {"xi", "fx", "fy", "cx", "cy",
                                                        "k1", "k2", "p1", "p2"};
    const double *t = r->T_21.t;
    char shown[RECONCTL_SHOWN];

    for (int e = 0; e < r->n_cameras; e++) {
        printf("camera %d\n", e);
        for (int k = 0; k < CALIBRATE_PARAMS; k++)
            printf("  %-3s %12.5f  +- %.5f\n", names[k], r->camera[e].param[k],
                   r->camera[e].error[k]);
        for (int k = 0; k < r->n_pictures; k++)
            if (r->rms_px[e][k] > 0)
                printf("  picture %3d  %.3f px%s%s\n", k, r->rms_px[e][k], b->n_names ? "  " : "",
                       b->n_names ? reconctl_shown(shown, b->names[k], 60) : "");
    }
    if (r->n_cameras == 2)
        printf("baseline %.5f m\n", sqrt(t[0] * t[0] + t[1] * t[1] + t[2] * t[2]));
    printf("all corners %.3f px\n", r->all_px);
}

static int calibration_show(const struct calibrate_options *o, const struct reconctl_boards *b,
                            const struct calibrate_result *r, struct err *err)
{
    char *line = malloc(JSON_BYTES);
    int rc = 0;

    if (!line || !as_json(line, JSON_BYTES, b, r))
        rc = err_set(err, ERR_MEMORY, "no memory for the report");
    if (rc == 0)
        rc = report_write(o->json_file, line, err);
    if (rc == 0 && o->corners_file)
        rc = write_corners(o->corners_file, b, err);
    if (rc == 0 && reconctl_json(&o->common))
        printf("%s\n", line);
    else if (rc == 0)
        print_table(b, r);
    free(line);
    return rc;
}

static int get_corners(struct reconctl_boards *b, const struct calibrate_options *o, bool pictures,
                       int grid, struct err *err)
{
    const char *const *operands = o->common.operands;

    if (pictures)
        return reconctl_boards_find(b, operands[0], operands[1], grid, o->square_m, err);
    for (int e = 0; e < 2; e++) {
        b->size_px[e][0] = o->width ? o->width : SIDE;
        b->size_px[e][1] = o->height ? o->height : SIDE;
    }
    return read_corners(b, operands[0], err);
}

static int run_calibrate(void *arguments)
{
    const struct calibrate_options *o = arguments;
    struct calibrate_result *r = calloc(1, sizeof *r);
    struct reconctl_boards b = {0};
    struct stat is;
    bool pictures = stat(o->common.operands[0], &is) == 0 && S_ISDIR(is.st_mode);
    const char *wrong = misplaced(o, pictures);
    int grid = o->grid ? o->grid : GRID, rc = 0;
    struct err err;

    if (wrong) {
        free(r);
        return reconctl_usage(&o->common, "%s", wrong);
    }
    if (!r)
        rc = err_set(&err, ERR_MEMORY, "no memory for corners");
    if (rc == 0)
        rc = get_corners(&b, o, pictures, grid, &err);
    if (rc == 0) {
        rc = calibrate_run(r, b.corners, b.n, b.size_px, pictures ? (grid - 1) * o->square_m : 0,
                           &err);
        if (rc)
            put_blamed(&err, &b, r);
    }
    if (rc == 0)
        rc = calibration_show(o, &b, r, &err);
    reconctl_boards_free(&b);
    free(r);
    if (rc && reconctl_stopped())
        return RECONCTL_INTERRUPTED;
    return rc ? reconctl_fail(&o->common, &err) : RECONCTL_OK;
}

RECONCTL_COMMAND(
    calibrate, "calibrate", "FOLDER|CORNERS [SECOND]",
    "Find mirror cameras, and how they stand, from pictures of a chessboard or its corners",
    run_calibrate, sizeof(struct calibrate_options), options);
