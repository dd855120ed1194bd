/*
 * boards - draw pictures of a chessboard as a rig of two cameras of the unified model takes them
 *
 *     boards OUT [pictures=16] [side=1024] [seed=1] [noise=1] [lean=0.35] [square=0.05]
 *
 * OUT gets NN.jpg of the first camera, second/NN.jpg of the second, and truth: lines of a name and
 * a number. The board has 10 x 10 inner corners; its attitudes are spread over all directions that
 * the pictures show. Grey values are means of SAMPLES x SAMPLES rays a pixel, with normal noise of
 * so many grey values.
 * lean: how far it leans from facing the camera, in radians.
 * Maths:   MATH.md (L9), (L2), written once more, so that one mistake is not made on both sides
 */
#include "proto/image/jpeg.h"
#include "tests/support/jpeg_write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CORNERS 10
#define SQUARES (CORNERS + 1)
#define SAMPLES 4
#define NEWTON 12
#define QUALITY 97
#define GROUND 120 /* grey behind the board */
#define WHITE 215
#define BLACK 35
#define BASELINE_M 0.228

struct options {
    const char *out;
    int pictures, side;
    uint32_t seed;
    double noise, lean, square_m;
};

/* As shares of the side where they are pixels. */
struct camera {
    double xi, fx, fy, cx, cy, k1, k2, p1, p2;
};
static const struct camera cameras[2] = {
    {0.92, 0.290, 0.292, 0.503, 0.497, -0.20, 0.04, 0.010, -0.008},
    {0.88, 0.284, 0.283, 0.496, 0.504, -0.18, 0.03, -0.008, 0.012},
};

/* Points of the board to camera axes. */
struct pose {
    double r[9], t[3];
};

/* ------------------------------------------------------------------------- chance */

static double draw(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (double)(*state >> 8) / 16777216;
}

/* Nearly normal, of deviation 1. */
static double draw_normal(uint32_t *state)
{
    return 2 * (draw(state) + draw(state) + draw(state) - 1.5);
}

/* ------------------------------------------------------------------------- the camera */

static void bend(const struct camera *c, double x, double y, double out[2], double d[4])
{
    double s = x * x + y * y, f = 1 + s * (c->k1 + s * c->k2), g = 2 * (c->k1 + 2 * s * c->k2);

    out[0] = x * f + 2 * c->p1 * x * y + c->p2 * (s + 2 * x * x);
    out[1] = y * f + c->p1 * (s + 2 * y * y) + 2 * c->p2 * x * y;
    d[0] = f + g * x * x + 2 * c->p1 * y + 6 * c->p2 * x;
    d[1] = g * x * y + 2 * c->p1 * x + 2 * c->p2 * y;
    d[2] = g * x * y + 2 * c->p1 * x + 2 * c->p2 * y;
    d[3] = f + g * y * y + 6 * c->p1 * y + 2 * c->p2 * x;
}

/* The pixel of a point in camera axes. Returns 0: it has none. */
static int project(const struct camera *c, int side, const double p[3], double at[2])
{
    double n = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]), z = p[2] + c->xi * n, d[4];

    if (z < 0.2 * n)
        return 0;
    bend(c, p[0] / z, p[1] / z, at, d);
    at[0] = side * (c->fx * at[0] + c->cx) - 0.5;
    at[1] = side * (c->fy * at[1] + c->cy) - 0.5;
    return 1;
}

/* The ray of a place in the picture; at: where its search begins, and has ended. Returns 0: it has
 * none. */
static int ray_of(const struct camera *c, int side, double u, double v, double at[2], double ray[3])
{
    double a = ((u + 0.5) / side - c->cx) / c->fx, b = ((v + 0.5) / side - c->cy) / c->fy;
    double x = at[0], y = at[1], s, root, f, step = 1;

    for (int i = 0; i < NEWTON && step > 1e-8; i++) {
        double got[2], d[4], det, dx, dy;

        bend(c, x, y, got, d);
        det = d[0] * d[3] - d[1] * d[2];
        if (!(det > 1e-3))
            return 0;
        dx = (d[3] * (a - got[0]) - d[1] * (b - got[1])) / det;
        dy = (d[0] * (b - got[1]) - d[2] * (a - got[0])) / det;
        x += dx;
        y += dy;
        step = fabs(dx) + fabs(dy);
    }
    at[0] = x;
    at[1] = y;
    s = x * x + y * y;
    root = 1 + (1 - c->xi * c->xi) * s;
    if (!(root >= 0))
        return 0;
    f = (c->xi + sqrt(root)) / (1 + s);
    ray[0] = f * x;
    ray[1] = f * y;
    ray[2] = f - c->xi;
    return 1;
}

/* ------------------------------------------------------------------------- the board */

static void turn(double m[3][3], int axis, double angle)
{
    int i = (axis + 1) % 3, j = (axis + 2) % 3;

    for (int k = 0; k < 3; k++) {
        double a = m[i][k], b = m[j][k];

        m[i][k] = cos(angle) * a - sin(angle) * b;
        m[j][k] = sin(angle) * a + cos(angle) * b;
    }
}

/* The board leans as options say, `far` away in a direction that is `down` from the axis. Its rows
 * are along the picture's sides rather than diagonal: mrgingham misses them there. */
static struct pose place(const struct options *o, double far, double down, double around,
                         uint32_t *state)
{
    double m[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
           at[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    struct pose T;

    turn(m, 2, floor(4 * draw(state)) * 1.5708 - around + 0.7 * (draw(state) - 0.5));
    for (int axis = 0; axis < 2; axis++)
        turn(m, axis, o->lean * (2 * draw(state) - 1));
    turn(m, 0, down);
    turn(m, 2, around);
    turn(at, 0, down);
    turn(at, 2, around);
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++)
            T.r[3 * i + k] = m[i][k];
        T.t[i] = at[i][2] * far;
    }
    return T;
}

/* The second camera stands above the first, and is turned about its axis by more than a quarter:
 * other corners of the board are upper left to it. */
static struct pose second_of(const struct pose *T)
{
    static const double r[9] = {
        -0.099041037, -0.995083350, 0, 0.995083350, -0.099041037, 0, 0, 0, 1};
    struct pose out = {.t = {0.002, -0.003, BASELINE_M}};

    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            out.t[i] += r[3 * i + j] * T->t[j];
            for (int k = 0; k < 3; k++)
                out.r[3 * i + j] += r[3 * i + k] * T->r[3 * k + j];
        }
    return out;
}

/* The pixels that the board falls on: box {left, top, right, bottom}. Returns 0: not all is in
 * the picture. */
static int box_of(const struct camera *c, const struct options *o, const struct pose *T, int box[4])
{
    double most[4] = {o->side, o->side, 0, 0}, at[2];

    for (int i = 0; i < 21 * 21; i++) {
        double x = (i % 21 / 20.0 - 0.5) * (SQUARES + 2) * o->square_m;
        double y = (i / 21 / 20.0 - 0.5) * (SQUARES + 2) * o->square_m, p[3];

        for (int k = 0; k < 3; k++)
            p[k] = T->r[3 * k] * x + T->r[3 * k + 1] * y + T->t[k];
        if (!project(c, o->side, p, at))
            return 0;
        for (int k = 0; k < 2; k++) {
            most[k] = fmin(most[k], at[k]);
            most[2 + k] = fmax(most[2 + k], at[k]);
        }
    }
    for (int k = 0; k < 4; k++)
        box[k] = (int)floor(most[k]) + (k < 2 ? -2 : 3);
    return box[0] >= 0 && box[1] >= 0 && box[2] <= o->side && box[3] <= o->side;
}

/* Where the board is in a picture: in rings about the axis of one camera, then of the other, such
 * that both see all of it; a ring shrinks until they do. */
static void board(struct pose T[2], const struct options *o, int picture, uint32_t *state)
{
    double down = o->lean > 0 ? 1.6 * (picture % 5 + draw(state)) / 5 : 0;
    int box[4];

    do {
        double far = (5.5 + 3 * draw(state)) * o->square_m;

        T[0] = place(o, far, down, 2.4 * picture + 0.3 * draw(state), state);
        T[0].t[2] -= picture % 2 * BASELINE_M;
        T[1] = second_of(&T[0]);
        down *= 0.98;
    } while (!box_of(&cameras[0], o, &T[0], box) || !box_of(&cameras[1], o, &T[1], box));
}

/* The grey of a ray: of the square that it meets, of the white rim, or below 0. */
static double grey_of(const struct pose *T, const double ray[3], double square_m)
{
    const double *r = T->r, *t = T->t;
    double along = r[2] * ray[0] + r[5] * ray[1] + r[8] * ray[2];
    double far = (r[2] * t[0] + r[5] * t[1] + r[8] * t[2]) / along, p[3], x, y;

    if (!(far > 0))
        return -1;
    for (int i = 0; i < 3; i++)
        p[i] = far * ray[i] - t[i];
    x = (r[0] * p[0] + r[3] * p[1] + r[6] * p[2]) / square_m + 0.5 * SQUARES;
    y = (r[1] * p[0] + r[4] * p[1] + r[7] * p[2]) / square_m + 0.5 * SQUARES;
    if (!(x >= -1 && y >= -1 && x < SQUARES + 1 && y < SQUARES + 1))
        return -1;
    if (x < 0 || y < 0 || x >= SQUARES || y >= SQUARES)
        return WHITE;
    return ((int)x + (int)y) % 2 ? WHITE : BLACK;
}

/* Of a pixel. */
static double mean_of(const struct camera *c, const struct options *o, const struct pose *T, int u,
                      int v)
{
    double at[2] = {((u + 0.5) / o->side - c->cx) / c->fx, ((v + 0.5) / o->side - c->cy) / c->fy};
    double sum = 0, ray[3], grey;

    for (int k = 0; k < SAMPLES * SAMPLES; k++) {
        double x = (k % SAMPLES + 0.5) / SAMPLES - 0.5, y = (k / SAMPLES + 0.5) / SAMPLES - 0.5;

        grey = ray_of(c, o->side, u + x, v + y, at, ray) ? grey_of(T, ray, o->square_m) : -1;
        sum += grey < 0 ? GROUND : grey;
    }
    return sum / (SAMPLES * SAMPLES);
}

static int write_picture(const struct options *o, const struct camera *c, const struct pose *T,
                         uint8_t *rgb, const char *path, uint32_t *state)
{
    int box[4], ok;
    uint8_t *jpeg;
    size_t len;
    FILE *f;

    (void)box_of(c, o, T, box);
    for (int i = 0; i < o->side * o->side; i++) {
        int u = i % o->side, v = i / o->side, is_in = u >= box[0] && v >= box[1];
        double grey = is_in && u < box[2] && v < box[3] ? mean_of(c, o, T, u, v) : GROUND;

        grey += o->noise * draw_normal(state) + 0.5;
        memset(rgb + 3 * i, (int)fmin(fmax(grey, 0), 255), 3);
    }
    f = fopen(path, "wb");
    jpeg = jpeg_write(rgb, o->side, o->side, QUALITY, &len);
    ok = f && fwrite(jpeg, 1, len, f) == len;
    free(jpeg);
    return f && fclose(f) == 0 && ok;
}

/* ------------------------------------------------------------------------- all of it */

static int write_truth(const struct options *o)
{
    char path[4096];
    FILE *f;

    snprintf(path, sizeof path, "%s/truth", o->out);
    f = fopen(path, "w");
    if (!f)
        return 0;
    for (int e = 0; e < 2; e++) {
        const struct camera *c = &cameras[e];

        fprintf(f, "%d xi %.9g\n%d fx %.9g\n%d fy %.9g\n%d cx %.9g\n%d cy %.9g\n", e, c->xi, e,
                o->side * c->fx, e, o->side * c->fy, e, o->side * c->cx - 0.5, e,
                o->side * c->cy - 0.5);
        fprintf(f, "%d k1 %.9g\n%d k2 %.9g\n%d p1 %.9g\n%d p2 %.9g\n", e, c->k1, e, c->k2, e, c->p1,
                e, c->p2);
    }
    fprintf(f, "0 baseline %.9g\n", sqrt(BASELINE_M * BASELINE_M + 0.002 * 0.002 + 0.003 * 0.003));
    return fclose(f) == 0;
}

static int write_all(const struct options *o)
{
    uint8_t *rgb = malloc((size_t)o->side * (size_t)o->side * 3);
    uint32_t state = o->seed;
    char path[4096];
    int ok = rgb != NULL;

    mkdir(o->out, 0777);
    snprintf(path, sizeof path, "%s/second", o->out);
    mkdir(path, 0777);
    for (int i = 0; ok && i < o->pictures; i++) {
        struct pose T[2];

        board(T, o, i, &state);
        for (int e = 0; ok && e < 2; e++) {
            snprintf(path, sizeof path, "%s%s/%02d.jpg", o->out, e ? "/second" : "", i);
            ok = write_picture(o, &cameras[e], &T[e], rgb, path, &state);
        }
    }
    free(rgb);
    return ok && write_truth(o);
}

int main(int argc, char **argv)
{
    struct options o = {NULL, 16, 1024, 1, 1, 0.35, 0.05};

    for (int i = 2; i < argc; i++)
        if (sscanf(argv[i], "pictures=%d", &o.pictures) + sscanf(argv[i], "side=%d", &o.side) +
                sscanf(argv[i], "seed=%u", &o.seed) + sscanf(argv[i], "noise=%lf", &o.noise) +
                sscanf(argv[i], "lean=%lf", &o.lean) + sscanf(argv[i], "square=%lf", &o.square_m) !=
            1)
            argc = 0;
    if (argc < 2 || o.pictures < 1 || o.pictures > 99 || o.side < 64 || o.side > 4096) {
        fprintf(stderr, "usage: boards OUT [pictures=16] [side=1024] [seed=1] [noise=1] "
                        "[lean=0.35] [square=0.05]\n");
        return 2;
    }
    o.out = argv[1];
    if (!write_all(&o)) {
        perror(o.out);
        return 1;
    }
    return 0;
}
