/*
 * eval_plot.h - small diagrams as SVG: curves over two labelled axes
 *
 * Axes begin at 0 unless a value is below, and end at a round number. Values that are not finite
 * are left out.
 */
#ifndef RECOND_API_EVAL_PLOT_H
#define RECOND_API_EVAL_PLOT_H

#include "proto/err.h"

#include <stdbool.h>
#include <stddef.h>

#define EVAL_PLOT_SERIES_MAX 8

struct eval_plot_series {
    const char *name; /* shown in its colour; UTF-8, as all text */
    const double *x, *y;
    size_t n;
};

struct eval_plot {
    const char *title, *x_label, *y_label;
    struct eval_plot_series series[EVAL_PLOT_SERIES_MAX];
    int n_series;
    bool equal; /* a metre is as long on both axes */
};

/* Returns: 0; ERR_INPUT: no value to show, too many series; ERR_IO */
MUST_CHECK int eval_plot_write(const char *path, const struct eval_plot *plot, struct err *err);

#endif
