#include "proto/geom/solve.h"

#include <math.h>

#define SWEEPS_MAX 64

static double off_diagonal(const double *a, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++)
            sum += a[i * n + j] * a[i * n + j];
    return sum;
}

/* Turns rows and columns p and q of a so that a[p][q] vanishes, and rows p and q of v with them. */
static void rotate(double *a, double *v, int n, int p, int q)
{
    double theta = (a[q * n + q] - a[p * n + p]) / (2 * a[p * n + q]);
    double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));
    double c = 1 / sqrt(t * t + 1), s = t * c;

    for (int k = 0; k < n; k++) {
        double x = a[k * n + p], y = a[k * n + q];

        a[k * n + p] = c * x - s * y;
        a[k * n + q] = s * x + c * y;
    }
    for (int k = 0; k < n; k++) {
        double x = a[p * n + k], y = a[q * n + k];

        a[p * n + k] = c * x - s * y;
        a[q * n + k] = s * x + c * y;
        x = v[p * n + k], y = v[q * n + k];
        v[p * n + k] = c * x - s * y;
        v[q * n + k] = s * x + c * y;
    }
}

void solve_eigen(double *value, double *vector, double *a, int n)
{
    for (int i = 0; i < n * n; i++)
        vector[i] = i % (n + 1) == 0;
    for (int sweep = 0; sweep < SWEEPS_MAX && off_diagonal(a, n) > 0; sweep++)
        for (int p = 0; p < n; p++)
            for (int q = p + 1; q < n; q++)
                if (fabs(a[p * n + q]) > 1e-300)
                    rotate(a, vector, n, p, q);
                else
                    a[p * n + q] = a[q * n + p] = 0;
    for (int i = 0; i < n; i++)
        value[i] = a[i * n + i];
    for (int i = 0; i < n; i++) {
        int most = i;

        for (int j = i + 1; j < n; j++)
            most = value[j] > value[most] ? j : most;
        for (int k = 0; k < n && most != i; k++) {
            double swap = vector[i * n + k];

            vector[i * n + k] = vector[most * n + k];
            vector[most * n + k] = swap;
        }
        a[0] = value[i];
        value[i] = value[most];
        value[most] = a[0];
    }
}
