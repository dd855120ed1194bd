#include "proto/geom/calibrate.h"
#include "proto/geom/calibrate_check.h"
#include "proto/geom/calibrate_rig.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 200  /* most steps of the descent */
#define STARTS_XI 4 /* tried values of xi: 0, 0.5, 1, 1.5 */
/* tried focal lengths: from a tenth of the width on, each 1.3 times the one before */
#define STARTS_F 14
#define STARTS_TRY 4 /* number of the best starts that are followed */
#define ROUGH_ROUNDS 20
/* largest mean error of a corner in pixels; a real camera stays far below it */
#define MISFIT_PX2 25

/* ------------------------------------------------------------------------- functions */

/* Computes the ray of a pixel for a camera without distortion. Returns 0 if the pixel has none. */
static int ray_of(const double c[CALIBRATE_PARAMS], double u, double v, double ray[3])
{
    double x = (u - c[CALIBRATE_CX]) / c[CALIBRATE_FX], y = (v - c[CALIBRATE_CY]) / c[CALIBRATE_FY];
    double s = x * x + y * y, root = 1 + (1 - c[CALIBRATE_XI] * c[CALIBRATE_XI]) * s, f;

    if (!(root >= 0))
        return 0;
    f = (c[CALIBRATE_XI] + sqrt(root)) / (1 + s);
    ray[0] = f * x;
    ray[1] = f * y;
    ray[2] = f - c[CALIBRATE_XI];
    return 1;
}

/* ------------------------------------------------------------------------- start values */

/* Finds the vector that a symmetric matrix takes nearest to zero, by inverse iteration. */
static int least_vector(double a[9][9], double x[9])
{
    double trace = 0;

    for (int i = 0; i < 9; i++) {
        trace += a[i][i];
        x[i] = 1 + 0.1 * i;
    }
    for (int round = 0; round < 12; round++) {
        double b[9][9], norm = 0;

        memcpy(b, a, sizeof b);
        for (int i = 0; i < 9; i++)
            b[i][i] += 1e-12 * trace;
        if (!calibrate_descent_cholesky(&b[0][0], 9, x, 9))
            return 0;
        for (int i = 0; i < 9; i++)
            norm += x[i] * x[i];
        for (int i = 0; i < 9; i++)
            x[i] /= sqrt(norm);
    }
    return 1;
}

/* Makes a rotation and a shift of the columns (r1 r2 t), which may have any length. `towards` is
 * positive if the board lies where the rays go. */
static int pose_of(struct calibrate_pose *T, const double h[9], double towards)
{
    double a[3] = {h[0], h[3], h[6]}, b[3] = {h[1], h[4], h[7]}, dot = 0, na = 0, nb = 0, s;

    for (int i = 0; i < 3; i++) {
        na += a[i] * a[i];
        nb += b[i] * b[i];
    }
    if (!(na > 0 && nb > 0))
        return 0;
    s = (towards > 0 ? 1 : -1) / sqrt(sqrt(na * nb));
    for (int i = 0; i < 3; i++) {
        T->t[i] = s * h[3 * i + 2];
        a[i] *= (towards > 0 ? 1 : -1) / sqrt(na);
    }
    for (int i = 0; i < 3; i++)
        dot += a[i] * b[i] * (towards > 0 ? 1 : -1);
    nb = 0;
    for (int i = 0; i < 3; i++) {
        b[i] = b[i] * (towards > 0 ? 1 : -1) - dot * a[i];
        nb += b[i] * b[i];
    }
    if (!(nb > 0))
        return 0;
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;

        T->r[3 * i] = a[i];
        T->r[3 * i + 1] = b[i] / sqrt(nb);
        T->r[3 * i + 2] = (a[j] * b[k] - a[k] * b[j]) / sqrt(nb);
    }
    return 1;
}

/* (C1) Computes the board's pose in a picture: rays are parallel to H (x y 1), so their cross
 * product with it is 0. */
static int start_pose(struct calibrate_descent *d, int picture)
{
    double a[9][9] = {{0}}, h[9], towards = 0, ray[3];

    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < d->n; i++) {
            const struct calibrate_corner *c = &d->corners[i];
            double q[3] = {c->x_m, c->y_m, 1}, row[3][9] = {{0}};

            if (c->picture != picture)
                continue;
            if (!ray_of(d->camera[0], c->u, c->v, ray))
                return 0;
            for (int k = 0; k < 3 && pass; k++)
                towards += ray[k] * (h[3 * k] * q[0] + h[3 * k + 1] * q[1] + h[3 * k + 2]);
            for (int k = 0; k < 9; k++) {
                int line = k / 3;

                row[(line + 2) % 3][k] = ray[(line + 1) % 3] * q[k % 3];
                row[(line + 1) % 3][k] = -ray[(line + 2) % 3] * q[k % 3];
            }
            for (int k = 0; k < 81 && !pass; k++)
                for (int r = 0; r < 3; r++)
                    a[k / 9][k % 9] += row[r][k / 9] * row[r][k % 9];
        }
        if (!pass && !least_vector(a, h))
            return 0;
    }
    return pose_of(&d->T[picture], h, towards);
}

static int start_with(struct calibrate_descent *d, double xi, double f, const int size_px[2])
{
    const double c[CALIBRATE_PARAMS] = {xi, f, f, 0.5 * (size_px[0] - 1), 0.5 * (size_px[1] - 1), 0,
                                        0,  0, 0};

    memcpy(d->camera[0], c, sizeof c);
    for (int p = 0; p < d->n_pictures; p++)
        if (d->has[p] && !start_pose(d, p))
            return 0;
    return 1;
}

/* Fits one camera: of many starts the best few are followed. Returns the cost. */
static double run_alone(struct calibrate_descent *d, struct calibrate_normal *m,
                        struct calibrate_descent *scratch, const int size_px[2])
{
    double best[STARTS_TRY + 1], start[STARTS_TRY + 1][2], least = INFINITY;
    struct calibrate_descent found = *d;
    int n = 0;

    for (int i = 0; i < STARTS_XI * STARTS_F; i++) {
        double xi = 0.5 * (i % STARTS_XI), f = 0.1 * size_px[0] * pow(1.3, (double)(i / STARTS_XI));
        double cost = start_with(d, xi, f, size_px) ? calibrate_descent_cost(d) : INFINITY;
        int at = n;

        if (!(cost < INFINITY))
            continue;
        for (; at > 0 && best[at - 1] > cost; at--) {
            best[at] = best[at - 1];
            memcpy(start[at], start[at - 1], sizeof start[at]);
        }
        best[at] = cost;
        start[at][0] = xi;
        start[at][1] = f;
        n = n < STARTS_TRY ? n + 1 : n;
    }
    for (int i = 0; i < n; i++) {
        double cost;

        (void)start_with(d, start[i][0], start[i][1], size_px);
        cost = calibrate_descent_run(d, m, scratch, ROUGH_ROUNDS);
        if (cost < least) {
            least = cost;
            found = *d;
        }
    }
    *d = found;
    return n ? calibrate_descent_run(d, m, scratch, ROUNDS) : INFINITY;
}

/* ------------------------------------------------------------------------- all of it */

static const char *const names[] = {"xi", "fx", "fy", "cx", "cy", "k1", "k2", "p1", "p2"};

/* (C4) Computes standard deviations of the cameras' parameters. */
static int errors(struct calibrate_result *out, const struct calibrate_normal *m,
                  const struct calibrate_descent *d, double cost, int size_px[2][2],
                  struct err *err)
{
    double S[CALIBRATE_GLOBALS_MAX][CALIBRATE_GLOBALS_MAX],
        copy[CALIBRATE_GLOBALS_MAX][CALIBRATE_GLOBALS_MAX], x[CALIBRATE_GLOBALS_MAX];
    int n_own = d->n_globals;
    double variance;

    for (int p = 0; p < d->n_pictures; p++)
        n_own += d->has[p] ? CALIBRATE_OWN : 0;
    variance = cost / ((double)(2 * d->n) - n_own);
    if (!calibrate_descent_reduce(m, d, 0, S, x))
        return err_set(err, ERR_INPUT, "the corners do not say where the boards were");
    for (int g = 0; g < CALIBRATE_PARAMS * d->n_cameras; g++) {
        int e = g / CALIBRATE_PARAMS, k = g % CALIBRATE_PARAMS;
        const double *c = d->camera[e];
        double most = k == CALIBRATE_XI                        ? 0.02
                      : k == CALIBRATE_FX || k == CALIBRATE_FY ? 0.02 * fabs(c[k])
                      : k == CALIBRATE_CX || k == CALIBRATE_CY ? 0.01 * c[CALIBRATE_FX]
                                                               : 0.05;

        memcpy(copy, S, sizeof copy);
        memset(x, 0, sizeof x);
        x[g] = 1;
        if (!calibrate_descent_cholesky(&copy[0][0], CALIBRATE_GLOBALS_MAX, x, d->n_globals))
            return err_set(err, ERR_INPUT, "the corners do not determine the cameras");
        out->camera[e].error[k] = sqrt(variance * fmax(x[g], 0));
        if (!(out->camera[e].error[k] < most))
            return err_set(err, ERR_INPUT, "%s of camera %d is %.4g give or take %.2g: %s",
                           names[k], e, c[k], out->camera[e].error[k],
                           calibrate_check_advice(d, e, size_px[e]));
    }
    return 0;
}

static void put_result(struct calibrate_result *out, const struct calibrate_descent *d)
{
    size_t n[2][CALIBRATE_PICTURES_MAX] = {{0}};
    double r[2];

    out->n_cameras = d->n_cameras;
    out->n_pictures = d->n_pictures;
    out->T_21 = d->T_21;
    memcpy(out->T, d->T, sizeof out->T);
    for (int e = 0; e < d->n_cameras; e++)
        memcpy(out->camera[e].param, d->camera[e], sizeof d->camera[e]);
    for (size_t i = 0; i < d->n; i++) {
        const struct calibrate_corner *c = &d->corners[i];

        calibrate_descent_residual(d, c, r);
        out->rms_px[c->camera][c->picture] += r[0] * r[0] + r[1] * r[1];
        n[c->camera][c->picture]++;
    }
    for (int k = 0; k < 2 * CALIBRATE_PICTURES_MAX; k++) {
        int e = k % 2, p = k / 2;

        if (n[e][p])
            out->rms_px[e][p] = sqrt(out->rms_px[e][p] / (double)n[e][p]);
    }
    out->all_px = sqrt(calibrate_descent_cost(d) / (double)d->n);
}

/* Collects the corners of one camera, numbered as the first camera's. Returns 0; ERR_INPUT: too
 * few. */
static int calibrate_choose(struct calibrate_descent *d, struct calibrate_corner *own,
                            const struct calibrate_corner *all, size_t n, int camera,
                            struct err *err)
{
    int pictures = 0;

    memset(d, 0, sizeof *d);
    d->corners = own;
    d->n_cameras = 1;
    d->n_globals = CALIBRATE_PARAMS;
    for (size_t i = 0; i < n; i++) {
        if (all[i].camera != camera)
            continue;
        own[d->n] = all[i];
        own[d->n++].camera = 0;
        d->has[all[i].picture]++;
        if (all[i].picture >= d->n_pictures)
            d->n_pictures = all[i].picture + 1;
    }
    for (int p = 0; p < d->n_pictures; p++) {
        if (d->has[p] && d->has[p] < CALIBRATE_CORNERS_LEAST)
            return err_set(err, ERR_INPUT, "picture %d of camera %d has %d corners, at least %d", p,
                           camera, d->has[p], CALIBRATE_CORNERS_LEAST);
        pictures += d->has[p] > 0;
    }
    if (pictures < CALIBRATE_PICTURES_LEAST)
        return err_set(err, ERR_INPUT,
                       "camera %d sees the board in %d pictures: take at least %d, better 20",
                       camera, pictures, CALIBRATE_PICTURES_LEAST);
    return 0;
}

static int calibrate_check_input(const struct calibrate_corner *corners, size_t n,
                                 int size_px[2][2], int *n_cameras, struct err *err)
{
    *n_cameras = 1;
    if (n > CALIBRATE_CORNERS_MAX)
        return err_set(err, ERR_INPUT, "%zu corners, at most %d", n, CALIBRATE_CORNERS_MAX);
    for (size_t i = 0; i < n; i++) {
        const struct calibrate_corner *c = &corners[i];

        if (c->picture < 0 || c->picture >= CALIBRATE_PICTURES_MAX || c->camera < 0 ||
            c->camera > 1 || !(fabs(c->x_m) <= 100 && fabs(c->y_m) <= 100))
            return err_set(err, ERR_INPUT, "corner %zu is out of range", i);
        if (!(c->u >= -0.5 && c->u <= size_px[c->camera][0] - 0.5 && c->v >= -0.5 &&
              c->v <= size_px[c->camera][1] - 0.5))
            return err_set(err, ERR_INPUT, "corner %zu lies outside of its picture", i);
        if (c->camera)
            *n_cameras = 2;
    }
    return 0;
}

struct work {
    struct calibrate_descent camera[2], scratch;
    struct calibrate_normal normal;
    struct calibrate_corner own[2][CALIBRATE_CORNERS_MAX];
};

static int calibrate_run_all(struct calibrate_result *out, struct work *w,
                             struct calibrate_corner *corners, size_t n, int n_cameras,
                             int size_px[2][2], double board_m, struct err *err)
{
    struct calibrate_descent *d = &w->camera[0];
    double cost = 0;
    int rc;

    if (calibrate_check_twice(out->blamed, corners, n))
        return err_set(err, ERR_INPUT,
                       "pictures %d and %d show the board at the same place: leave one of them out",
                       out->blamed[0], out->blamed[1]);
    out->blamed[0] = out->blamed[1] = -1;
    for (int e = 0; e < n_cameras; e++) {
        rc = calibrate_choose(&w->camera[e], w->own[e], corners, n, e, err);
        if (rc)
            return rc;
        cost = run_alone(&w->camera[e], &w->normal, &w->scratch, size_px[e]);
        if (!(cost < (double)w->camera[e].n * MISFIT_PX2))
            return err_set(err, ERR_INPUT,
                           "no camera of the unified model fits camera %d: are all corners of one "
                           "camera, and numbered along the rows of a flat board?",
                           e);
    }
    if (n_cameras == 2) {
        rc = calibrate_rig_join(d, &w->camera[1], corners, n, board_m, err);
        if (rc)
            return rc;
        cost = calibrate_descent_run(d, &w->normal, &w->scratch, ROUNDS);
        if (!(cost < (double)n * MISFIT_PX2))
            return err_set(
                err, ERR_INPUT,
                "each camera fits, both together do not: are pictures of one number taken "
                "at the same moment, by cameras that are fixed to each other?");
    }
    rc = errors(out, &w->normal, d, cost, size_px, err);
    put_result(out, d);
    return rc;
}

int calibrate_run(struct calibrate_result *out, struct calibrate_corner *corners, size_t n,
                  int size_px[2][2], double board_m, struct err *err)
{
    struct work *w;
    int n_cameras, rc = calibrate_check_input(corners, n, size_px, &n_cameras, err);

    memset(out, 0, sizeof *out);
    out->blamed[0] = out->blamed[1] = -1;
    if (rc)
        return rc;
    w = calloc(1, sizeof *w);
    if (!w)
        return err_set(err, ERR_MEMORY, "no memory for %zu corners", n);
    rc = calibrate_run_all(out, w, corners, n, n_cameras, size_px, board_m, err);
    free(w);
    return rc;
}
