#include "api/eval/eval_rank.h"

#include <math.h>
#include <stdlib.h>

struct pair {
    double value;
    uint8_t level;
};

static int by_value(const void *a, const void *b)
{
    double x = ((const struct pair *)a)->value, y = ((const struct pair *)b)->value;

    return (x > y) - (x < y);
}

/* Ranks are counted from 0. Sums are of differences from the mean rank. */
static double correlate(const struct pair *sorted, size_t n)
{
    size_t count[256] = {0}, before = 0;
    double rank[256], mean = 0.5 * (double)(n - 1), both = 0, levels = 0, values = 0;

    for (size_t i = 0; i < n; i++)
        count[sorted[i].level]++;
    for (int k = 0; k < 256; k++) {
        rank[k] = (double)before + 0.5 * ((double)count[k] - 1) - mean;
        levels += (double)count[k] * rank[k] * rank[k];
        before += count[k];
    }
    for (size_t i = 0, end; i < n; i = end) {
        double of_value;

        for (end = i + 1; end < n && sorted[end].value <= sorted[i].value; end++)
            ;
        of_value = 0.5 * (double)(i + end - 1) - mean;
        values += (double)(end - i) * of_value * of_value;
        for (size_t k = i; k < end; k++)
            both += of_value * rank[sorted[k].level];
    }
    return levels > 0 && values > 0 ? both / sqrt(levels * values) : (double)NAN;
}

int eval_rank_correlation(double *out, const uint8_t *level, const double *value, size_t n,
                          struct err *err)
{
    struct pair *pairs;

    *out = (double)NAN;
    if (n == 0)
        return 0;
    pairs = malloc(n * sizeof *pairs);
    if (!pairs)
        return err_set(err, ERR_MEMORY, "no memory for the ranks of %zu points", n);
    for (size_t i = 0; i < n; i++)
        pairs[i] = (struct pair){.value = value[i], .level = level[i]};
    qsort(pairs, n, sizeof *pairs, by_value);
    *out = correlate(pairs, n);
    free(pairs);
    return 0;
}
