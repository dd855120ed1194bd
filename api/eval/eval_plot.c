#include "api/eval/eval_plot.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define W 960
#define H 540
#define LEFT 84
#define RIGHT 24
#define TOP 64
#define BOTTOM 60
#define TICKS_MAX 8

struct axis {
    double from, to, step;
};

static const char *const colours[EVAL_PLOT_SERIES_MAX] = {
    "#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17a0aa", "#787878", "#000000",
};

static double step_over(double span)
{
    double step = pow(10, floor(log10(span / TICKS_MAX)));

    return step * (span / step > 5 * TICKS_MAX ? 10 : span / step > 2 * TICKS_MAX ? 5 : 2);
}

/* The axis from one round number to another that holds [from, to] and 0. */
static struct axis axis_over(double from, double to)
{
    double span, step;

    from = fmin(from, 0);
    to = fmax(to, 0);
    span = to > from ? to - from : 1;
    step = step_over(span);
    return (struct axis){floor(from / step) * step, ceil((from + span) / step) * step, step};
}

/* Makes an axis longer on both sides, so that one of its pixels is `per` of its unit. */
static void stretch(struct axis *a, double per, int pixels)
{
    double span = per * pixels, more = span - (a->to - a->from), step = step_over(span);
    double from = ceil((a->from - more / 2) / step) * step;

    if (more <= 0)
        return;
    if (from <= a->from) {
        a->from = from;
        a->step = step;
    }
    a->to = a->from + span;
}

static void make_equal(struct axis *x, struct axis *y)
{
    double per_x = (x->to - x->from) / (W - LEFT - RIGHT);
    double per_y = (y->to - y->from) / (H - TOP - BOTTOM);

    stretch(x, per_y, W - LEFT - RIGHT);
    stretch(y, per_x, H - TOP - BOTTOM);
}

static double x_of(const struct axis *a, double v)
{
    return LEFT + (v - a->from) / (a->to - a->from) * (W - LEFT - RIGHT);
}

static double y_of(const struct axis *a, double v)
{
    return H - BOTTOM - (v - a->from) / (a->to - a->from) * (H - TOP - BOTTOM);
}

static void put_text(FILE *f, const char *s)
{
    for (; *s; s++)
        if (*s == '&')
            fputs("&amp;", f);
        else if (*s == '<')
            fputs("&lt;", f);
        else
            fputc(*s, f);
}

/* anchor: "start", "middle" or "end" of the text is at x */
static void put_label(FILE *f, double x, double y, const char *anchor, const char *s)
{
    fprintf(f, "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"%s\">", x, y, anchor);
    put_text(f, s);
    fputs("</text>\n", f);
}

static void put_line(FILE *f, double x0, double y0, double x1, double y1, const char *colour)
{
    fprintf(f, "<path d=\"M%.2f %.2fL%.2f %.2f\" stroke=\"%s\"/>\n", x0, y0, x1, y1, colour);
}

/* The i-th number on an axis; false after the last one. */
static bool tick(const struct axis *a, int i, double *v, char label[32])
{
    *v = a->from + i * a->step;
    snprintf(label, 32, "%.6g", fabs(*v) < 1e-9 * a->step ? 0 : *v);
    return *v <= a->to + 1e-6 * a->step;
}

static void put_axes(FILE *f, const struct axis *x, const struct axis *y)
{
    char label[32];
    double v;

    for (int i = 0; tick(x, i, &v, label); i++) {
        put_line(f, x_of(x, v), TOP, x_of(x, v), H - BOTTOM, "#e1e1e1");
        put_label(f, x_of(x, v), H - BOTTOM + 18, "middle", label);
    }
    for (int i = 0; tick(y, i, &v, label); i++) {
        put_line(f, LEFT, y_of(y, v), W - RIGHT, y_of(y, v), "#e1e1e1");
        put_label(f, LEFT - 8, y_of(y, v) + 5, "end", label);
    }
    put_line(f, LEFT, TOP, LEFT, H - BOTTOM, "#282828");
    put_line(f, LEFT, H - BOTTOM, W - RIGHT, H - BOTTOM, "#282828");
}

static int usable(const struct eval_plot_series *s, size_t i)
{
    return isfinite(s->x[i]) && isfinite(s->y[i]);
}

/* A line of no length with round ends is a dot. A line begins with one, so that a single value
 * shows. */
static void put_series(FILE *f, const struct eval_plot_series *s, const struct axis *x,
                       const struct axis *y, const char *colour)
{
    bool any = false;

    fprintf(f,
            "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2\" stroke-linecap=\"round\" "
            "stroke-linejoin=\"round\" d=\"",
            colour);
    for (size_t i = 0; i < s->n; i++) {
        if (!usable(s, i))
            continue;
        fprintf(f, "%c%.2f %.2f%s", any ? 'L' : 'M', x_of(x, s->x[i]), y_of(y, s->y[i]),
                any ? "" : "h0");
        any = true;
    }
    fputs("\"/>\n", f);
}

/* The names in a row, each after a square of its colour. */
static void put_names(FILE *f, const struct eval_plot *p)
{
    fprintf(f, "<text x=\"%d\" y=\"%d\">", LEFT, H - 16);
    for (int k = 0; k < p->n_series; k++) {
        fprintf(f, "<tspan dx=\"%d\" fill=\"%s\">\xe2\x96\xa0 ", k ? 16 : 0, colours[k]);
        put_text(f, p->series[k].name);
        fputs("</tspan>", f);
    }
    fputs("</text>\n", f);
}

/* Returns how many values there are. */
static size_t range_of(const struct eval_plot *p, struct axis *x, struct axis *y)
{
    double lo[2] = {0, 0}, hi[2] = {0, 0};
    size_t n = 0;

    for (int k = 0; k < p->n_series; k++)
        for (size_t i = 0; i < p->series[k].n; i++) {
            const double v[2] = {p->series[k].x[i], p->series[k].y[i]};

            if (!usable(&p->series[k], i))
                continue;
            for (int d = 0; d < 2; d++) {
                lo[d] = n == 0 || v[d] < lo[d] ? v[d] : lo[d];
                hi[d] = n == 0 || v[d] > hi[d] ? v[d] : hi[d];
            }
            n++;
        }
    *x = axis_over(lo[0], hi[0]);
    *y = axis_over(lo[1], hi[1]);
    return n;
}

int eval_plot_write(const char *path, const struct eval_plot *p, struct err *err)
{
    struct axis x, y;
    FILE *f;
    bool bad;

    if (p->n_series < 1 || p->n_series > EVAL_PLOT_SERIES_MAX)
        return err_set(err, ERR_INPUT, "a diagram shows 1 to %d series", EVAL_PLOT_SERIES_MAX);
    if (range_of(p, &x, &y) == 0)
        return err_at(err, ERR_INPUT, path, "there is no value to show");
    if (p->equal)
        make_equal(&x, &y);
    f = fopen(path, "w");
    if (!f)
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\" font-family=\"sans-serif\" font-size=\"14\" fill=\"#282828\">\n"
            "<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n",
            W, H, W, H, W, H);
    put_axes(f, &x, &y);
    put_label(f, LEFT, 26, "start", p->title);
    put_label(f, LEFT, TOP - 10, "start", p->y_label);
    put_label(f, W - RIGHT, H - 16, "end", p->x_label);
    for (int k = 0; k < p->n_series; k++)
        put_series(f, &p->series[k], &x, &y, colours[k]);
    put_names(f, p);
    fputs("</svg>\n", f);
    bad = ferror(f);
    if (fclose(f) || bad)
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    return 0;
}
