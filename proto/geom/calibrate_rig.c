#include "proto/geom/calibrate_rig.h"

#include <math.h>
#include <string.h>

#define TURNS 4
#define FAR_PX2 1e4 /* largest error of a corner that counts */

/* out = a b: b is applied first, then a. */
static void multiply(struct calibrate_pose *out, const struct calibrate_pose *a,
                     const struct calibrate_pose *b)
{
    calibrate_descent_multiply(out->r, a->r, b->r);
    for (int i = 0; i < 3; i++) {
        out->t[i] = a->t[i];
        for (int k = 0; k < 3; k++)
            out->t[i] += a->r[3 * i + k] * b->t[k];
    }
}

static struct calibrate_pose inverse(const struct calibrate_pose *a)
{
    struct calibrate_pose out = {{0}, {0}};

    for (int i = 0; i < 9; i++)
        out.r[i] = a->r[i % 3 * 3 + i / 3];
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            out.t[i] -= out.r[3 * i + k] * a->t[k];
    return out;
}

/* Rotates the board onto itself by quarters about its centre. */
static struct calibrate_pose quarters(int turns, double board_m)
{
    static const double c[TURNS] = {1, 0, -1, 0}, s[TURNS] = {0, 1, 0, -1};
    double half = 0.5 * board_m;
    struct calibrate_pose out = {
        {c[turns], -s[turns], 0, s[turns], c[turns], 0, 0, 0, 1},
        {half - c[turns] * half + s[turns] * half, half - s[turns] * half - c[turns] * half, 0}};

    return out;
}

/* (C5) Returns how badly T_21 predicts the second camera's corners if each picture may rotate the
 * board; *turn is the best rotation. */
static double misfit(int turn[CALIBRATE_PICTURES_MAX], const struct calibrate_descent *d,
                     const struct calibrate_descent *second, const struct calibrate_pose *T_21,
                     double board_m)
{
    double sum[CALIBRATE_PICTURES_MAX][TURNS] = {{0}}, all = 0;
    int turns = board_m > 0 ? TURNS : 1;
    struct calibrate_pose T[CALIBRATE_PICTURES_MAX], G[TURNS];

    memset(turn, 0, CALIBRATE_PICTURES_MAX * sizeof *turn);
    for (int p = 0; p < d->n_pictures; p++)
        if (d->has[p])
            multiply(&T[p], T_21, &d->T[p]);
    for (int g = 0; g < turns; g++)
        G[g] = quarters(g, board_m);
    for (size_t i = 0; i < second->n; i++) {
        const struct calibrate_corner *c = &second->corners[i];

        for (int g = 0; g < turns && c->picture < d->n_pictures && d->has[c->picture]; g++) {
            const struct calibrate_pose *P = &T[c->picture];
            double x = G[g].r[0] * c->x_m + G[g].r[1] * c->y_m + G[g].t[0], u, v, p[3];
            double y = G[g].r[3] * c->x_m + G[g].r[4] * c->y_m + G[g].t[1], far = FAR_PX2;

            for (int k = 0; k < 3; k++)
                p[k] = P->r[3 * k] * x + P->r[3 * k + 1] * y + P->t[k];
            if (calibrate_project(second->camera[0], p, &u, &v))
                far = fmin(far, (u - c->u) * (u - c->u) + (v - c->v) * (v - c->v));
            sum[c->picture][g] += far;
        }
    }
    for (int p = 0; p < d->n_pictures; p++) {
        for (int g = 1; g < turns; g++)
            turn[p] = sum[p][g] < sum[p][turn[p]] ? g : turn[p];
        all += sum[p][turn[p]];
    }
    return all;
}

/* Chooses, of all pictures by both cameras and all rotations of their boards, the T_21 that fits
 * the other pictures best. */
static int calibrate_rig_choose(struct calibrate_descent *d, int turn[CALIBRATE_PICTURES_MAX],
                                const struct calibrate_descent *second, double board_m,
                                struct err *err)
{
    double least = INFINITY;

    for (int p = 0; p < d->n_pictures; p++)
        for (int g = 0; d->has[p] && second->has[p] && g < (board_m > 0 ? TURNS : 1); g++) {
            struct calibrate_pose turned = quarters(g, board_m), board, back, T_21;
            int by[CALIBRATE_PICTURES_MAX];
            double cost;

            multiply(&board, &d->T[p], &turned);
            back = inverse(&board);
            multiply(&T_21, &second->T[p], &back);
            cost = misfit(by, d, second, &T_21, board_m);
            if (cost < least) {
                least = cost;
                d->T_21 = T_21;
                memcpy(turn, by, sizeof by);
            }
        }
    if (!(least < INFINITY))
        return err_set(
            err, ERR_INPUT,
            "no picture of the board by both cameras: some must show it to both at once");
    return 0;
}

int calibrate_rig_join(struct calibrate_descent *d, const struct calibrate_descent *second,
                       struct calibrate_corner *corners, size_t n, double board_m, struct err *err)
{
    int turn[CALIBRATE_PICTURES_MAX] = {0},
        rc = calibrate_rig_choose(d, turn, second, board_m, err);
    struct calibrate_pose back;

    if (rc)
        return rc;
    for (size_t i = 0; i < n; i++) {
        struct calibrate_corner *c = &corners[i];
        struct calibrate_pose G = quarters(turn[c->picture], board_m);
        double x = c->x_m;

        if (!c->camera)
            continue;
        c->x_m = G.r[0] * x + G.r[1] * c->y_m + G.t[0];
        c->y_m = G.r[3] * x + G.r[4] * c->y_m + G.t[1];
    }
    back = inverse(&d->T_21);
    for (int p = 0; p < second->n_pictures; p++)
        if (second->has[p] && !d->has[p])
            multiply(&d->T[p], &back, &second->T[p]);
    memcpy(d->camera[1], second->camera[0], sizeof d->camera[1]);
    d->corners = corners;
    d->n = n;
    d->n_cameras = 2;
    d->n_globals = CALIBRATE_GLOBALS_MAX;
    for (int p = 0; p < CALIBRATE_PICTURES_MAX; p++)
        d->has[p] += second->has[p];
    if (second->n_pictures > d->n_pictures)
        d->n_pictures = second->n_pictures;
    return 0;
}
