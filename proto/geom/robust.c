#include "proto/geom/robust.h"

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
