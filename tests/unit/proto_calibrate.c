/* Cameras from pictures of a board: what is known comes out, and what cannot be told is refused. */
#include "proto/geom/calibrate.h"
#include "tests/support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS 10
#define ROWS 8
#define SQUARE_M 0.06
#define PICTURES 24
#define SIDE 1024

/* A Neovision H3S and a sister of it, 228 mm apart and not quite parallel. */
static const double truth[2][CALIBRATE_PARAMS] = {
    {0.966, 221, 222.5, 512, 509, -0.06, 0.02, 0.002, -0.0015},
    {0.955, 219, 218.2, 508, 515, -0.05, 0.015, -0.001, 0.002}};
static const struct calibrate_pose apart = {
    {0.99955003, -0.029995500, 0, 0.029995500, 0.99955003, 0, 0, 0, 1}, {0.002, -0.003, 0.228}};

/* 0 ... 1, the same in every run */
static double draw(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (double)(*state >> 8) / 16777216;
}

static void turn(double r[9], int axis, double angle)
{
    int i = (axis + 1) % 3, j = (axis + 2) % 3;

    for (int k = 0; k < 3; k++) {
        double a = r[3 * i + k], b = r[3 * j + k];

        r[3 * i + k] = cos(angle) * a - sin(angle) * b;
        r[3 * j + k] = sin(angle) * a + cos(angle) * b;
    }
}

/* The board somewhere about the camera, 0.5 to 1 m away, leaning up to half a radian; with a `lean`
 * below 0 it stays in front of the camera, four times as far. */
static struct calibrate_pose board(int picture, uint32_t *state, double lean)
{
    struct calibrate_pose T = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}};
    double far = (0.5 + 0.5 * draw(state)) * (lean < 0 ? 4 : 1);

    T.t[0] = -0.5 * (COLUMNS - 1) * SQUARE_M;
    T.t[1] = -0.5 * (ROWS - 1) * SQUARE_M;
    turn(T.r, 2, 6.28 * draw(state));
    for (int axis = 0; axis < 2; axis++)
        turn(T.r, axis, lean * (2 * draw(state) - 1));
    for (int k = 0; k < 3; k++) /* its middle comes to the origin */
        T.t[k] = -T.r[3 * k] * 0.5 * (COLUMNS - 1) * SQUARE_M -
                 T.r[3 * k + 1] * 0.5 * (ROWS - 1) * SQUARE_M + (k == 2 ? far : 0);
    for (int which = 0; which < 2 && lean > 0; which++) { /* the whole about the camera */
        int axis = which ? 2 : 0;
        double angle = which ? 2.4 * picture : 0.25 + 1.3 * (picture % 6) / 5;
        double at[3];

        turn(T.r, axis, angle);
        memcpy(at, T.t, sizeof at);
        T.t[(axis + 1) % 3] = cos(angle) * at[(axis + 1) % 3] - sin(angle) * at[(axis + 2) % 3];
        T.t[(axis + 2) % 3] = sin(angle) * at[(axis + 1) % 3] + cos(angle) * at[(axis + 2) % 3];
    }
    return T;
}

static size_t see(struct calibrate_corner *out, int pictures, int cameras, double noise_px,
                  double lean)
{
    uint32_t state = 7;
    size_t n = 0;

    for (int p = 0; p < pictures; p++) {
        struct calibrate_pose T = board(p, &state, lean);

        for (int k = 0; k < cameras * COLUMNS * ROWS; k++) {
            struct calibrate_corner c = {.picture = p,
                                         .camera = k / (COLUMNS * ROWS),
                                         .x_m = k % COLUMNS * SQUARE_M,
                                         .y_m = k / COLUMNS % ROWS * SQUARE_M};
            double a[3], b[3];

            for (int i = 0; i < 3; i++)
                a[i] = T.r[3 * i] * c.x_m + T.r[3 * i + 1] * c.y_m + T.t[i];
            for (int i = 0; i < 3; i++)
                b[i] = apart.r[3 * i] * a[0] + apart.r[3 * i + 1] * a[1] +
                       apart.r[3 * i + 2] * a[2] + apart.t[i];
            if (!calibrate_project(truth[c.camera], c.camera ? b : a, &c.u, &c.v))
                continue;
            c.u += noise_px * 3.46 * (draw(&state) - 0.5);
            c.v += noise_px * 3.46 * (draw(&state) - 0.5);
            if (c.u > 0 && c.v > 0 && c.u < SIDE - 1 && c.v < SIDE - 1)
                out[n++] = c;
        }
    }
    return n;
}

static struct calibrate_corner corners[2 * (PICTURES + 1) * COLUMNS * ROWS];
static int sizes[2][2] = {{SIDE, SIDE}, {SIDE, SIDE}};
static struct calibrate_result r;

/* Of a focal length and xi by themselves; of the principal point by the picture's half; of
 * distortion, which is a share of the radius, at the picture's edge. */
static void compare(int camera, double part)
{
    const double *p = r.camera[camera].param, *t = truth[camera];

    assert_true(fabs(p[CALIBRATE_XI] - t[CALIBRATE_XI]) < part * t[CALIBRATE_XI]);
    for (int k = CALIBRATE_FX; k <= CALIBRATE_FY; k++)
        assert_true(fabs(p[k] - t[k]) < part * t[k]);
    for (int k = CALIBRATE_CX; k <= CALIBRATE_CY; k++)
        assert_true(fabs(p[k] - t[k]) < part * SIDE / 2);
    for (int k = CALIBRATE_K1; k <= CALIBRATE_P2; k++)
        assert_true(fabs(p[k] - t[k]) < part);
}

TEST(exact_corners_give_the_camera)
{
    struct err err = {0};
    size_t n = see(corners, PICTURES, 1, 0, 0.5);

    if (calibrate_run(&r, corners, n, sizes, 0, &err))
        fail_msg("%s", err.text);
    assert_int_equal(r.n_cameras, 1);
    assert_int_equal(r.n_pictures, PICTURES);
    assert_true(r.all_px < 1e-6);
    compare(0, 1e-5);
}

TEST(a_rig_comes_out_of_noise)
{
    struct err err = {0};
    size_t n = see(corners, PICTURES, 2, 0.05, 0.5);

    if (calibrate_run(&r, corners, n, sizes, 0, &err))
        fail_msg("%s", err.text);
    assert_int_equal(r.n_cameras, 2);
    for (int e = 0; e < 2; e++) {
        compare(e, 0.005);
        for (int p = 0; p < PICTURES; p++)
            assert_true(r.rms_px[e][p] < 0.2);
        for (int k = 0; k < CALIBRATE_PARAMS; k++) /* it knows how good it is */
            assert_true(fabs(r.camera[e].param[k] - truth[e][k]) < 5 * r.camera[e].error[k]);
    }
    for (int i = 0; i < 3; i++)
        assert_true(fabs(r.T_21.t[i] - apart.t[i]) < 0.005 * 0.228);
    for (int i = 0; i < 9; i++)
        assert_true(fabs(r.T_21.r[i] - apart.r[i]) < 0.002);
    assert_true(r.all_px > 0.05 && r.all_px < 0.1);
    print_message("# xi %.5f of %.5f, fx %.3f of %.3f, baseline %.5f of %.5f m, %.4f px\n",
                  r.camera[0].param[CALIBRATE_XI], truth[0][CALIBRATE_XI],
                  r.camera[0].param[CALIBRATE_FX], truth[0][CALIBRATE_FX], r.T_21.t[2], apart.t[2],
                  r.all_px);
}

/* A finder begins where the board looks upper left, which it does not to both cameras alike. */
TEST(each_camera_may_begin_at_another_corner_of_the_board)
{
    static struct calibrate_result plain;
    const double side = (ROWS - 1) * SQUARE_M;
    struct err err = {0};
    size_t all = see(corners, PICTURES / 2, 2, 0.05, 0.5), n = 0;

    for (size_t i = 0; i < all; i++) /* a square board, and no other has four beginnings */
        if (corners[i].x_m < side + 1e-6)
            corners[n++] = corners[i];
    if (calibrate_run(&plain, corners, n, sizes, 0, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < corners[i].picture % 4 && corners[i].camera; k++) {
            double x = corners[i].x_m;

            corners[i].x_m = side - corners[i].y_m;
            corners[i].y_m = x;
        }
    assert_int_equal(calibrate_run(&r, corners, n, sizes, 0, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "same moment"));
    for (int again = 0; again < 2; again++) { /* the first makes them begin alike */
        if (calibrate_run(&r, corners, n, sizes, again ? 0 : side, &err))
            fail_msg("%s", err.text);
        for (int k = 0; k < CALIBRATE_PARAMS; k++)
            assert_true(fabs(r.camera[1].param[k] - plain.camera[1].param[k]) < 1e-4);
        for (int i = 0; i < 3; i++)
            assert_true(fabs(r.T_21.t[i] - plain.T_21.t[i]) < 1e-6);
    }
}

TEST(what_determines_no_camera_is_refused)
{
    struct err err = {0};
    size_t n = see(corners, 2, 1, 0.05, 0.5);

    assert_int_equal(calibrate_run(&r, corners, n, sizes, 0, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "2 pictures"));
    n = see(corners, PICTURES, 1, 0.05, 0); /* all of them face to face */
    assert_int_equal(calibrate_run(&r, corners, n, sizes, 0, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "tilt them"));
    n = see(corners, PICTURES, 1, 0.05, -0.5);
    assert_int_equal(calibrate_run(&r, corners, n, sizes, 0, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "far out"));
    n = see(corners, 5, 1, 2, 0.5);
    assert_int_equal(calibrate_run(&r, corners, n, sizes, 0, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "take more"));
    n = see(corners, PICTURES, 2, 0.05, 0.5);
    for (size_t i = 0; i < n; i++) { /* a picture by its second name */
        if (corners[i].picture != 4)
            continue;
        corners[n] = corners[i];
        corners[n].picture = PICTURES;
        corners[n].u += 0.05 * (i % 2 ? 1 : -1);
        n++;
    }
    assert_int_equal(calibrate_run(&r, corners, n, sizes, 0, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "pictures 4 and 24"));
    assert_true(r.blamed[0] == 4 && r.blamed[1] == PICTURES);
    n = see(corners, PICTURES, 1, 0.05, 0.5);
    for (size_t i = 0; i < n; i++) /* corners that were given to each other's places */
        corners[i].x_m = (double)(i * 7 % COLUMNS) * SQUARE_M;
    assert_int_equal(calibrate_run(&r, corners, n, sizes, 0, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "fits"));
    n = see(corners, PICTURES, 1, 0.05, 0.5);
    corners[5].u = NAN;
    assert_int_equal(calibrate_run(&r, corners, n, sizes, 0, &err), ERR_INPUT);
    corners[5].u = 1;
    corners[6].picture = CALIBRATE_PICTURES_MAX;
    assert_int_equal(calibrate_run(&r, corners, n, sizes, 0, &err), ERR_INPUT);
    corners[6].picture = 0;
    assert_int_equal(calibrate_run(&r, corners, 20, sizes, 0, &err), ERR_INPUT);
}
