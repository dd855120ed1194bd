#include "gpu/tie/small.h"

#include <math.h>
#include <string.h>

void small_mul(struct sim3 *out, const struct sim3 *a, const struct sim3 *b)
{
    struct sim3 m = {.s = 1};

    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 3; k++)
                m.r[3 * i + j] += a->r[3 * i + k] * b->r[3 * k + j];
    sim3_apply(m.t, a, b->t);
    *out = m;
}

void small_inverse(struct sim3 *out, const struct sim3 *a)
{
    struct sim3 m = {.s = 1};

    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            m.r[3 * i + j] = a->r[3 * j + i];
            m.t[i] -= a->r[3 * j + i] * a->t[j];
        }
    *out = m;
}

void small_from(struct sim3 *out, const struct rigid *T)
{
    out->s = 1;
    for (int i = 0; i < 9; i++)
        out->r[i] = (double)T->r[i];
    for (int i = 0; i < 3; i++)
        out->t[i] = (double)T->t[i];
}

void small_to(struct rigid *out, const struct sim3 *T)
{
    for (int i = 0; i < 9; i++)
        out->r[i] = (float)T->r[i];
    for (int i = 0; i < 3; i++)
        out->t[i] = (float)T->t[i];
}

void small_move(struct sim3 *T, const double d[6])
{
    double angle = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]), half = 0.5 * angle;
    double by = angle > 1e-12 ? sin(half) / angle : 0.5;
    const double q[4] = {cos(half), by * d[0], by * d[1], by * d[2]};
    struct sim3 step = {.t = {d[3], d[4], d[5]}, .s = 1};

    sim3_rotation(step.r, q);
    small_mul(T, &step, T);
}

void small_log(double d[6], const struct sim3 *T)
{
    const double *r = T->r;
    double c = 0.5 * (r[0] + r[4] + r[8] - 1), by;
    double x = 0.5 * (r[7] - r[5]), y = 0.5 * (r[2] - r[6]), z = 0.5 * (r[3] - r[1]);
    double s = sqrt(x * x + y * y + z * z);

    by = s > 1e-12 ? atan2(s, c) / s : 1;
    d[0] = by * x, d[1] = by * y, d[2] = by * z;
    memcpy(d + 3, T->t, sizeof(T->t));
}

bool small_solve(double *a, double *b, int n)
{
    for (int j = 0; j < n; j++) {
        double *row = a + (size_t)j * (size_t)n, d = row[j];

        for (int k = 0; k < j; k++)
            d -= row[k] * row[k];
        if (!(d > 0) || !isfinite(d))
            return false;
        row[j] = sqrt(d);
        for (int i = j + 1; i < n; i++) {
            double *at = a + (size_t)i * (size_t)n, v = at[j];

            for (int k = 0; k < j; k++)
                v -= at[k] * row[k];
            at[j] = v / row[j];
        }
    }
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++)
            b[i] -= a[(size_t)i * (size_t)n + (size_t)k] * b[k];
        b[i] /= a[(size_t)i * (size_t)n + (size_t)i];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++)
            b[i] -= a[(size_t)k * (size_t)n + (size_t)i] * b[k];
        b[i] /= a[(size_t)i * (size_t)n + (size_t)i];
    }
    return true;
}

/* A product in four sums side by side, so that no addition waits for the previous one. */
static double small_dot(const double *a, const double *b, int n)
{
    double sum[4] = {0, 0, 0, 0};
    int i = 0;

    for (; i + 4 <= n; i += 4)
        for (int k = 0; k < 4; k++)
            sum[k] += a[i + k] * b[i + k];
    for (; i < n; i++)
        sum[0] += a[i] * b[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* Row i of the factor, from the rows above. Returns false if there is none. */
static bool factor_row(double *a, const size_t *at, const int *first, int i)
{
    double *row = a + at[i], d;

    for (int j = first[i]; j < i; j++) {
        const double *above = a + at[j];
        int from = first[i] > first[j] ? first[i] : first[j];

        row[j - first[i]] -=
            small_dot(row + (from - first[i]), above + (from - first[j]), j - from);
        row[j - first[i]] /= above[j - first[j]];
    }
    d = row[i - first[i]] - small_dot(row, row, i - first[i]);
    if (!(d > 0) || !isfinite(d))
        return false;
    row[i - first[i]] = sqrt(d);
    return true;
}

bool small_solve_rows(double *a, const size_t *at, const int *first, double *b, int n)
{
    for (int i = 0; i < n; i++) {
        if (!factor_row(a, at, first, i))
            return false;
        b[i] -= small_dot(a + at[i], b + first[i], i - first[i]);
        b[i] /= a[at[i] + (size_t)(i - first[i])];
    }
    for (int i = n - 1; i >= 0; i--) {
        const double *row = a + at[i];

        b[i] /= row[i - first[i]];
        for (int k = first[i]; k < i; k++)
            b[k] -= row[k - first[i]] * b[i];
    }
    return true;
}
