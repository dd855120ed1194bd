#include "proto/geom/robust.h"

#include <stdlib.h>

#define ANNEAL 1.4
#define ROUNDS_PER_MU 4

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

void robust_sort(double *v, size_t n)
{
    qsort(v, n, sizeof *v, by_value);
}

static void swap(float *v, size_t a, size_t b)
{
    float t = v[a];

    v[a] = v[b];
    v[b] = t;
}

/* Hoare's selection with the middle of three as the pivot. */
float robust_select(float *v, size_t n, size_t k)
{
    size_t lo = 0, hi = n - 1;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2, i = lo, j = hi;
        float pivot;

        if (v[mid] < v[lo])
            swap(v, mid, lo);
        if (v[hi] < v[lo])
            swap(v, hi, lo);
        if (v[hi] < v[mid])
            swap(v, hi, mid);
        pivot = v[mid];
        for (;;) {
            while (v[i] < pivot)
                i++;
            while (v[j] > pivot)
                j--;
            if (i >= j)
                break;
            swap(v, i++, j--);
        }
        if (k <= j)
            hi = j;
        else
            lo = j + 1;
    }
    return v[k];
}

int robust_fit(struct sim3 *m, double *weight, int *rounds, const double *p, const double *q,
               size_t n, double from, double to, bool scale, struct err *err)
{
    double mu = from * from, at[3];
    int rc = 0;

    *m = sim3_identity();
    *rounds = 0;
    while (rc == 0 && mu > to * to && *rounds < ROBUST_ROUNDS_MAX) {
        for (size_t i = 0; i < n; i++) {
            double r2 = 0, l;

            sim3_apply(at, m, p + 3 * i);
            for (size_t k = 0; k < 3; k++)
                r2 += (at[k] - q[3 * i + k]) * (at[k] - q[3 * i + k]);
            l = mu / (mu + r2);
            weight[i] = l * l;
        }
        rc = sim3_fit(m, p, q, weight, n, scale, err);
        if (++*rounds % ROUNDS_PER_MU == 0)
            mu /= ANNEAL;
    }
    return rc;
}
