#include "api/eval/eval_plot.h"

#include "proto/image/png.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define W 960
#define H 540
#define LEFT 84
#define RIGHT 24
#define TOP 64
#define BOTTOM 60
#define ZOOM 2    /* of a glyph's 3 x 5 */
#define ADVANCE 8 /* pixels from glyph to glyph */
#define TICKS_MAX 8

struct canvas {
    uint8_t *rgb;
};

struct axis {
    double from, to, step;
};

/* Five rows of three pixels as octal digits, the top one first. */
static const struct {
    char c;
    uint16_t rows;
} glyphs[] = {
    {'0', 075557}, {'1', 026227}, {'2', 071747}, {'3', 071717}, {'4', 055711}, {'5', 074717},
    {'6', 074757}, {'7', 071122}, {'8', 075757}, {'9', 075717}, {'A', 025755}, {'B', 065656},
    {'C', 034443}, {'D', 065556}, {'E', 074647}, {'F', 074644}, {'G', 034553}, {'H', 055755},
    {'I', 072227}, {'J', 011152}, {'K', 055655}, {'L', 044447}, {'M', 057755}, {'N', 065555},
    {'O', 025552}, {'P', 065644}, {'Q', 025573}, {'R', 065655}, {'S', 034216}, {'T', 072222},
    {'U', 055557}, {'V', 055552}, {'W', 055775}, {'X', 055255}, {'Y', 055222}, {'Z', 071247},
    {'.', 000002}, {'-', 000700}, {'+', 002720}, {'%', 051245}, {'/', 011244}, {'(', 012221},
    {')', 042224}, {'<', 012421}, {'>', 042124}, {':', 002020}, {'=', 007070}, {'_', 000007},
    {',', 000024},
};

static const uint8_t colours[EVAL_PLOT_SERIES_MAX][3] = {
    {31, 119, 180}, {214, 39, 40},  {44, 160, 44},   {148, 103, 189},
    {255, 127, 14}, {23, 160, 170}, {120, 120, 120}, {0, 0, 0},
};
static const uint8_t ink[3] = {40, 40, 40}, grid[3] = {225, 225, 225};

static void dot(struct canvas *c, int x, int y, const uint8_t colour[3])
{
    if (x >= 0 && x < W && y >= 0 && y < H)
        memcpy(c->rgb + 3 * ((size_t)y * W + (size_t)x), colour, 3);
}

static void box(struct canvas *c, int x, int y, int w, int h, const uint8_t colour[3])
{
    for (int v = y; v < y + h; v++)
        for (int u = x; u < x + w; u++)
            dot(c, u, v, colour);
}

static void text(struct canvas *c, int x, int y, const char *s, const uint8_t colour[3])
{
    for (; *s && x < W; s++, x += ADVANCE)
        for (size_t g = 0; g < sizeof glyphs / sizeof *glyphs; g++)
            for (int bit = 0; glyphs[g].c == toupper((unsigned char)*s) && bit < 15; bit++)
                if (glyphs[g].rows >> (14 - bit) & 1)
                    box(c, x + ZOOM * (bit % 3), y + ZOOM * (bit / 3), ZOOM, ZOOM, colour);
}

static int text_width(const char *s)
{
    return ADVANCE * (int)strlen(s);
}

static void line(struct canvas *c, double x0, double y0, double x1, double y1,
                 const uint8_t colour[3])
{
    double dx = x1 - x0, dy = y1 - y0;
    int n = (int)ceil(fmax(fabs(dx), fabs(dy)));

    for (int i = 0; i <= n; i++)
        box(c, (int)lround(x0 + (n ? dx * i / n : 0)), (int)lround(y0 + (n ? dy * i / n : 0)), 2, 2,
            colour);
}

static double step_over(double span)
{
    double step = pow(10, floor(log10(span / TICKS_MAX)));

    return step * (span / step > 5 * TICKS_MAX ? 10 : span / step > 2 * TICKS_MAX ? 5 : 2);
}

/* Round numbers around [from, to], with 0 in it. */
static struct axis axis_over(double from, double to)
{
    double span, step;

    from = fmin(from, 0);
    to = fmax(to, 0);
    span = to > from ? to - from : 1;
    step = step_over(span);
    return (struct axis){floor(from / step) * step, ceil((from + span) / step) * step, step};
}

/* Makes an axis longer on both sides, so that `per` of its unit are one of its pixels. */
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

static void draw_axes(struct canvas *c, const struct axis *x, const struct axis *y)
{
    char label[32];
    int at;

    for (int i = 0; x->from + i * x->step <= x->to + 1e-6 * x->step; i++) {
        double v = x->from + i * x->step;

        snprintf(label, sizeof label, "%.6g", fabs(v) < 1e-9 * x->step ? 0 : v);
        at = (int)lround(x_of(x, v));
        box(c, at, TOP, 1, H - TOP - BOTTOM, grid);
        text(c, at - text_width(label) / 2, H - BOTTOM + 8, label, ink);
    }
    for (int i = 0; y->from + i * y->step <= y->to + 1e-6 * y->step; i++) {
        double v = y->from + i * y->step;

        snprintf(label, sizeof label, "%.6g", fabs(v) < 1e-9 * y->step ? 0 : v);
        at = (int)lround(y_of(y, v));
        box(c, LEFT, at, W - LEFT - RIGHT, 1, grid);
        text(c, LEFT - 8 - text_width(label), at - 5, label, ink);
    }
    box(c, LEFT, TOP, 2, H - TOP - BOTTOM, ink);
    box(c, LEFT, H - BOTTOM, W - LEFT - RIGHT, 2, ink);
}

static int usable(const struct eval_plot_series *s, size_t i)
{
    return isfinite(s->x[i]) && isfinite(s->y[i]);
}

static void draw_series(struct canvas *c, const struct eval_plot_series *s, const struct axis *x,
                        const struct axis *y, const uint8_t colour[3])
{
    size_t before = 0;
    int any = 0;

    for (size_t i = 0; i < s->n; i++) {
        if (!usable(s, i))
            continue;
        if (s->dots || !any)
            box(c, (int)lround(x_of(x, s->x[i])) - 1, (int)lround(y_of(y, s->y[i])) - 1, 4, 4,
                colour);
        else
            line(c, x_of(x, s->x[before]), y_of(y, s->y[before]), x_of(x, s->x[i]),
                 y_of(y, s->y[i]), colour);
        before = i;
        any = 1;
    }
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
    struct canvas c = {.rgb = NULL};
    struct axis x, y;
    int at = LEFT, rc;

    if (p->n_series < 1 || p->n_series > EVAL_PLOT_SERIES_MAX)
        return err_set(err, ERR_INPUT, "a diagram shows 1 to %d series", EVAL_PLOT_SERIES_MAX);
    if (range_of(p, &x, &y) == 0)
        return err_at(err, ERR_INPUT, path, "there is no value to show");
    if (p->equal)
        make_equal(&x, &y);
    c.rgb = malloc((size_t)3 * W * H);
    if (!c.rgb)
        return err_set(err, ERR_MEMORY, "no memory for a diagram");
    memset(c.rgb, 255, (size_t)3 * W * H);
    draw_axes(&c, &x, &y);
    text(&c, LEFT, 14, p->title, ink);
    text(&c, LEFT, 44, p->y_label, ink);
    text(&c, W - RIGHT - text_width(p->x_label), H - 24, p->x_label, ink);
    for (int k = 0; k < p->n_series; k++) {
        draw_series(&c, &p->series[k], &x, &y, colours[k]);
        box(&c, at, H - 24, 10, 10, colours[k]);
        text(&c, at + 14, H - 24, p->series[k].name, colours[k]);
        at += 30 + text_width(p->series[k].name);
    }
    rc = png_write_file(path, c.rgb, W, H, err);
    free(c.rgb);
    return rc;
}
