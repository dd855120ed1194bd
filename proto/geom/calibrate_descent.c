#include "proto/geom/calibrate_descent.h"

#include <math.h>
#include <string.h>

#define LOST_PX 1e4 /* error in pixels for a corner that the camera model cannot project */

static void apply(double out[3], const struct calibrate_pose *T, const double p[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = T->r[3 * i] * p[0] + T->r[3 * i + 1] * p[1] + T->r[3 * i + 2] * p[2] + T->t[i];
}

void calibrate_descent_multiply(double out[9], const double a[9], const double b[9])
{
    double c[9];

    for (int i = 0; i < 9; i++)
        c[i] = a[i / 3 * 3] * b[i % 3] + a[i / 3 * 3 + 1] * b[3 + i % 3] +
               a[i / 3 * 3 + 2] * b[6 + i % 3];
    memcpy(out, c, sizeof c);
}

/* Rotates by the vector d[0...2], then shifts by d[3...5]. */
static void calibrate_descent_move(struct calibrate_pose *T, const double d[6])
{
    double angle = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    double s = angle > 1e-12 ? sin(angle) / angle : 1;
    double k = angle > 1e-12 ? (1 - cos(angle)) / (angle * angle) : 0.5;
    double w[9] = {0, -d[2], d[1], d[2], 0, -d[0], -d[1], d[0], 0}, ww[9], turn[9];

    calibrate_descent_multiply(ww, w, w);
    for (int i = 0; i < 9; i++)
        turn[i] = (i % 4 == 0) + s * w[i] + k * ww[i];
    calibrate_descent_multiply(T->r, turn, T->r);
    for (int i = 0; i < 3; i++)
        T->t[i] += d[3 + i];
}

int calibrate_descent_cholesky(double *a, int stride, double *b, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double sum = a[i * stride + j];

            for (int k = 0; k < j; k++)
                sum -= a[i * stride + k] * a[j * stride + k];
            if (i == j && !(sum > 0))
                return 0;
            a[i * stride + j] = i == j ? sqrt(sum) : sum / a[j * stride + j];
        }
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++)
            b[i] -= a[i * stride + k] * b[k];
        b[i] /= a[i * stride + i];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++)
            b[i] -= a[k * stride + i] * b[k];
        b[i] /= a[i * stride + i];
    }
    return 1;
}

void calibrate_descent_residual(const struct calibrate_descent *d, const struct calibrate_corner *c,
                                double r[2])
{
    double board[3] = {c->x_m, c->y_m, 0}, p[3], q[3], u, v;

    apply(p, &d->T[c->picture], board);
    if (c->camera) {
        apply(q, &d->T_21, p);
        memcpy(p, q, sizeof p);
    }
    r[0] = r[1] = LOST_PX;
    if (!calibrate_project(d->camera[c->camera], p, &u, &v))
        return;
    r[0] = u - c->u;
    r[1] = v - c->v;
}

double calibrate_descent_cost(const struct calibrate_descent *d)
{
    double sum = 0, r[2];

    for (size_t i = 0; i < d->n; i++) {
        calibrate_descent_residual(d, &d->corners[i], r);
        sum += r[0] * r[0] + r[1] * r[1];
    }
    return sum;
}

/* Returns parameter g of a corner: the camera's come first, then the second camera's place, then
 * the pose. */
static void nudge(struct calibrate_descent *d, const struct calibrate_corner *c, int g, double by)
{
    double step[6] = {0};

    if (g < CALIBRATE_PARAMS) {
        d->camera[c->camera][g] += by;
        return;
    }
    step[(g - CALIBRATE_PARAMS) % 6] = by;
    calibrate_descent_move(g < CALIBRATE_PARAMS + 6 ? &d->T_21 : &d->T[c->picture], step);
}

/* (C2) Takes differences on both sides. Out: J [21][2] */
static void slopes(struct calibrate_descent *d, const struct calibrate_corner *c,
                   double J[CALIBRATE_PARAMS + 12][2])
{
    const struct calibrate_pose T_21 = d->T_21, T = d->T[c->picture];

    for (int g = 0; g < CALIBRATE_PARAMS + 12; g++) {
        double held = g < CALIBRATE_PARAMS ? d->camera[c->camera][g] : 0;
        double h = 1e-6 * (1 + fabs(held)), a[2], b[2];

        J[g][0] = J[g][1] = 0;
        if (g >= CALIBRATE_PARAMS && g < CALIBRATE_PARAMS + 6 && c->camera == 0)
            continue;
        for (int side = 0; side < 2; side++) {
            nudge(d, c, g, side ? -h : h);
            calibrate_descent_residual(d, c, side ? b : a);
            if (g < CALIBRATE_PARAMS)
                d->camera[c->camera][g] = held;
            d->T_21 = T_21;
            d->T[c->picture] = T;
        }
        J[g][0] = (a[0] - b[0]) / (2 * h);
        J[g][1] = (a[1] - b[1]) / (2 * h);
    }
}

/* Index of a corner's parameter g among the global ones; -1: it belongs to the pose. */
static int global_of(const struct calibrate_corner *c, int g)
{
    if (g < CALIBRATE_PARAMS)
        return CALIBRATE_PARAMS * c->camera + g;
    return g < CALIBRATE_PARAMS + 6 ? CALIBRATE_PARAMS + g : -1;
}

static void add_corner(struct calibrate_normal *m, const struct calibrate_corner *c,
                       double J[CALIBRATE_PARAMS + 12][2], const double r[2])
{
    struct own *own = &m->own[c->picture];

    for (int g = 0; g < CALIBRATE_PARAMS + 12; g++) {
        int at = global_of(c, g), mine = g - CALIBRATE_PARAMS - 6;
        double right = J[g][0] * r[0] + J[g][1] * r[1];

        if (at >= 0)
            m->right[at] -= right;
        else
            own->right[mine] -= right;
        for (int k = 0; k < CALIBRATE_PARAMS + 12; k++) {
            int to = global_of(c, k);
            double product = J[g][0] * J[k][0] + J[g][1] * J[k][1];

            if (at >= 0 && to >= 0)
                m->global[at][to] += product;
            else if (at < 0 && to >= 0)
                own->cross[mine][to] += product;
            else if (at < 0)
                own->a[mine][k - CALIBRATE_PARAMS - 6] += product;
        }
    }
}

static void make_normal(struct calibrate_normal *m, struct calibrate_descent *d)
{
    double J[CALIBRATE_PARAMS + 12][2], r[2];

    memset(m, 0, sizeof *m);
    for (size_t i = 0; i < d->n; i++) {
        calibrate_descent_residual(d, &d->corners[i], r);
        slopes(d, &d->corners[i], J);
        add_corner(m, &d->corners[i], J, r);
    }
}

int calibrate_descent_reduce(const struct calibrate_normal *m, const struct calibrate_descent *d,
                             double damp, double S[CALIBRATE_GLOBALS_MAX][CALIBRATE_GLOBALS_MAX],
                             double *x)
{
    int n = d->n_globals;

    memcpy(S, m->global, sizeof m->global);
    memcpy(x, m->right, sizeof m->right);
    for (int i = 0; i < n; i++)
        S[i][i] *= 1 + damp;
    for (int p = 0; p < d->n_pictures; p++)
        for (int g = -1; g < n && d->has[p]; g++) {
            const struct own *own = &m->own[p];
            double a[CALIBRATE_OWN][CALIBRATE_OWN], col[CALIBRATE_OWN];

            memcpy(a, own->a, sizeof a);
            for (int i = 0; i < CALIBRATE_OWN; i++) {
                a[i][i] *= 1 + damp;
                col[i] = g < 0 ? own->right[i] : own->cross[i][g];
            }
            if (!calibrate_descent_cholesky(&a[0][0], CALIBRATE_OWN, col, CALIBRATE_OWN))
                return 0;
            for (int k = 0; k < n; k++)
                for (int i = 0; i < CALIBRATE_OWN; i++)
                    *(g < 0 ? &x[k] : &S[k][g]) -= own->cross[i][k] * col[i];
        }
    return 1;
}

static int step_poses(const struct calibrate_normal *m, struct calibrate_descent *d, double damp,
                      const double *x)
{
    for (int p = 0; p < d->n_pictures; p++) {
        double a[CALIBRATE_OWN][CALIBRATE_OWN], own[CALIBRATE_OWN];

        if (!d->has[p])
            continue;
        memcpy(a, m->own[p].a, sizeof a);
        for (int i = 0; i < CALIBRATE_OWN; i++) {
            own[i] = m->own[p].right[i];
            a[i][i] *= 1 + damp;
            for (int k = 0; k < d->n_globals; k++)
                own[i] -= m->own[p].cross[i][k] * x[k];
        }
        if (!calibrate_descent_cholesky(&a[0][0], CALIBRATE_OWN, own, CALIBRATE_OWN))
            return 0;
        calibrate_descent_move(&d->T[p], own);
    }
    return 1;
}

/* Takes one step of the damped equations. Returns 0 if there is none. */
static int calibrate_descent_step(const struct calibrate_normal *m, struct calibrate_descent *d,
                                  double damp)
{
    double S[CALIBRATE_GLOBALS_MAX][CALIBRATE_GLOBALS_MAX], x[CALIBRATE_GLOBALS_MAX];

    if (!calibrate_descent_reduce(m, d, damp, S, x) ||
        !calibrate_descent_cholesky(&S[0][0], CALIBRATE_GLOBALS_MAX, x, d->n_globals))
        return 0;
    for (int e = 0; e < d->n_cameras; e++)
        for (int g = 0; g < CALIBRATE_PARAMS; g++)
            d->camera[e][g] += x[CALIBRATE_PARAMS * e + g];
    if (d->n_cameras == 2)
        calibrate_descent_move(&d->T_21, x + 2 * CALIBRATE_PARAMS);
    return step_poses(m, d, damp, x);
}

double calibrate_descent_run(struct calibrate_descent *d, struct calibrate_normal *m,
                             struct calibrate_descent *scratch, int rounds)
{
    double damp = 1e-3, cost = calibrate_descent_cost(d);

    make_normal(m, d);
    for (int i = 0; i < rounds && damp < 1e12; i++) {
        double next;

        *scratch = *d;
        next =
            calibrate_descent_step(m, scratch, damp) ? calibrate_descent_cost(scratch) : INFINITY;
        if (!(next < cost)) {
            damp *= 8;
            continue;
        }
        i = cost - next < 1e-10 * cost ? rounds : i;
        *d = *scratch;
        cost = next;
        damp = damp > 1e-12 ? damp / 5 : damp;
        make_normal(m, d);
    }
    return cost;
}
