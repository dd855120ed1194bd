#include "api/eval/eval_depth.h"

#include "proto/geom/robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BINS 2048
#define BINS_FROM (-4.6051702f) /* ln 0.01 */
#define BINS_SPAN 11.512925f    /* to ln 1000 */

int eval_depth_pairs_new(struct eval_depth_pairs *p, int w, int h, struct err *err)
{
    size_t cap = (size_t)w * (size_t)h;

    *p = (struct eval_depth_pairs){.cap = cap};
    p->d = malloc(cap * sizeof *p->d);
    p->g = malloc(cap * sizeof *p->g);
    p->scratch = malloc(cap * sizeof *p->scratch);
    p->row = malloc(cap * sizeof *p->row);
    if (p->d && p->g && p->scratch && p->row)
        return 0;
    eval_depth_pairs_free(p);
    return err_set(err, ERR_MEMORY, "no memory for %zu pixels", cap);
}

void eval_depth_pairs_free(struct eval_depth_pairs *p)
{
    free(p->d);
    free(p->g);
    free(p->scratch);
    free(p->row);
    *p = (struct eval_depth_pairs){0};
}

float eval_depth_sample(const float *map, int w, int h, float x, float y)
{
    int x0 = x < 0 ? 0 : (int)x, y0 = y < 0 ? 0 : (int)y;
    int x1 = x0 + 1 < w ? x0 + 1 : w - 1, y1 = y0 + 1 < h ? y0 + 1 : h - 1;
    float fx = x < 0 ? 0 : x - (float)x0, fy = y < 0 ? 0 : y - (float)y0;
    float a = map[y0 * w + x0], b = map[y0 * w + x1], c = map[y1 * w + x0], d = map[y1 * w + x1];

    return (a * (1 - fx) + b * fx) * (1 - fy) + (c * (1 - fx) + d * fx) * fy;
}

void eval_depth_pairs_take(struct eval_depth_pairs *p, const float *map, int w, int h,
                           const float *truth, int tw, int th, float max_m)
{
    float sx = (float)w / (float)tw, sy = (float)h / (float)th, d;

    p->n = 0;
    for (int y = 0; y < th; y++)
        for (int x = 0; x < tw && p->n < p->cap; x++) {
            float g = truth[(size_t)y * (size_t)tw + (size_t)x];

            if (!(g > 0.0f && g <= max_m))
                continue;
            if (map) {
                d = eval_depth_sample(map, w, h, ((float)x + 0.5f) * sx - 0.5f,
                                      ((float)y + 0.5f) * sy - 0.5f);
                p->d[p->n] = d > EVAL_DEPTH_NONE_M ? d : EVAL_DEPTH_NONE_M;
            }
            p->row[p->n] = (uint16_t)y;
            p->g[p->n++] = g;
        }
}

float eval_depth_median(const struct eval_depth_pairs *p, const float *values)
{
    memcpy(p->scratch, values, p->n * sizeof *values);
    return robust_select(p->scratch, p->n, p->n / 2);
}

struct eval_depth_measures eval_depth_measure(const struct eval_depth_pairs *p, double scale)
{
    struct eval_depth_measures m = {0};
    double n = (double)p->n;
    float by = (float)scale;

    for (size_t i = 0; i < p->n; i++) {
        float d = p->d[i] * by, g = p->g[i], ratio = d > g ? d / g : g / d;
        double off = fabsf(d - g), lg = log((double)ratio);

        m.abs_rel += off / (double)g;
        m.sq_rel += off * off / (double)g;
        m.rmse += off * off;
        m.rmse_log += lg * lg;
        m.delta1 += ratio < 1.25f;
        m.delta2 += ratio < 1.25f * 1.25f;
        m.delta3 += ratio < 1.25f * 1.25f * 1.25f;
    }
    m.abs_rel /= n;
    m.sq_rel /= n;
    m.rmse = sqrt(m.rmse / n);
    m.rmse_log = sqrt(m.rmse_log / n);
    m.delta1 /= n;
    m.delta2 /= n;
    m.delta3 /= n;
    return m;
}

void eval_depth_add(struct eval_depth_sum *s, const struct eval_depth_measures *m, size_t n)
{
    double w = (double)n;

    s->n_frames++;
    s->n_pixels += n;
    s->frames.abs_rel += m->abs_rel;
    s->frames.sq_rel += m->sq_rel;
    s->frames.rmse += m->rmse;
    s->frames.rmse_log += m->rmse_log;
    s->frames.delta1 += m->delta1;
    s->frames.delta2 += m->delta2;
    s->frames.delta3 += m->delta3;
    s->pixels.abs_rel += w * m->abs_rel;
    s->pixels.sq_rel += w * m->sq_rel;
    s->pixels.rmse += w * m->rmse * m->rmse;
    s->pixels.rmse_log += w * m->rmse_log * m->rmse_log;
    s->pixels.delta1 += w * m->delta1;
    s->pixels.delta2 += w * m->delta2;
    s->pixels.delta3 += w * m->delta3;
}

static struct eval_depth_measures over(const struct eval_depth_measures *m, double n)
{
    return (struct eval_depth_measures){.abs_rel = m->abs_rel / n,
                                        .sq_rel = m->sq_rel / n,
                                        .rmse = m->rmse / n,
                                        .rmse_log = m->rmse_log / n,
                                        .delta1 = m->delta1 / n,
                                        .delta2 = m->delta2 / n,
                                        .delta3 = m->delta3 / n};
}

void eval_depth_mean(const struct eval_depth_sum *s, struct eval_depth_measures *frames,
                     struct eval_depth_measures *pixels)
{
    *frames = over(&s->frames, s->n_frames ? (double)s->n_frames : 1.0);
    *pixels = over(&s->pixels, s->n_pixels ? (double)s->n_pixels : 1.0);
    pixels->rmse = sqrt(pixels->rmse);
    pixels->rmse_log = sqrt(pixels->rmse_log);
}

void eval_depth_ranges_add(struct eval_depth_ranges *r, const struct eval_depth_pairs *p,
                           double scale)
{
    for (size_t i = 0; i < p->n; i++) {
        double g = (double)p->g[i], at = floor(3 * log2(g / EVAL_DEPTH_RANGE_FROM_M));
        int k = at < 0 ? 0 : at >= EVAL_DEPTH_RANGES ? EVAL_DEPTH_RANGES - 1 : (int)at;

        r->abs_rel[k] += fabs((double)p->d[i] * scale - g) / g;
        r->n[k]++;
    }
}

double eval_depth_ranges_from(int i)
{
    return EVAL_DEPTH_RANGE_FROM_M * exp2(i / 3.0);
}

double eval_depth_ranges_mean(const struct eval_depth_ranges *r, int i)
{
    return r->n[i] ? r->abs_rel[i] / (double)r->n[i] : (double)NAN;
}

/* ------------------------------------------------------------------------- baselines */

struct eval_depth_fit {
    int rows;
    uint64_t constant[BINS];
    uint32_t (*row)[BINS]; /* [rows], of g / median */
};

int eval_depth_fit_new(struct eval_depth_fit **out, int rows, struct err *err)
{
    struct eval_depth_fit *f = calloc(1, sizeof *f);

    *out = f;
    if (f && rows > 0) {
        f->rows = rows;
        f->row = calloc((size_t)rows, sizeof *f->row);
    }
    if (f && f->row)
        return 0;
    eval_depth_fit_free(out);
    return err_set(err, ERR_MEMORY, "no memory for baselines of %d rows", rows);
}

void eval_depth_fit_free(struct eval_depth_fit **f)
{
    if (*f)
        free((*f)->row);
    free(*f);
    *f = NULL;
}

static int bin_of(float v)
{
    float at = (logf(v) - BINS_FROM) * (BINS / BINS_SPAN);

    return at <= 0.0f ? 0 : at >= BINS - 1 ? BINS - 1 : (int)at;
}

static double value_of(int bin)
{
    return exp((double)BINS_FROM + ((double)bin + 0.5) * (double)BINS_SPAN / BINS);
}

void eval_depth_fit_add(struct eval_depth_fit *f, const struct eval_depth_pairs *p, float median)
{
    for (size_t i = 0; i < p->n; i++) {
        f->constant[bin_of(p->g[i])]++;
        if (p->row[i] < f->rows)
            f->row[p->row[i]][bin_of(p->g[i] / median)]++;
    }
}

/* Returns the c that minimises the sum of |c - v| / v: the median of v with weights 1 / v. */
static float best(const uint64_t *wide, const uint32_t *narrow)
{
    double total = 0, half = 0;
    int bin = 0;

    for (int i = 0; i < BINS; i++)
        total += (double)(wide ? wide[i] : narrow[i]) / value_of(i);
    if (total <= 0)
        return 0.0f;
    for (; bin < BINS - 1; bin++) {
        half += (double)(wide ? wide[bin] : narrow[bin]) / value_of(bin);
        if (half >= 0.5 * total)
            break;
    }
    return (float)value_of(bin);
}

float eval_depth_fit_constant(const struct eval_depth_fit *f)
{
    return best(f->constant, NULL);
}

float eval_depth_fit_row(const struct eval_depth_fit *f, int row)
{
    float v = row >= 0 && row < f->rows ? best(NULL, f->row[row]) : 0.0f;

    for (int away = 1; v <= 0.0f && away < f->rows; away++) {
        if (row - away >= 0 && row - away < f->rows)
            v = best(NULL, f->row[row - away]);
        if (v <= 0.0f && row + away >= 0 && row + away < f->rows)
            v = best(NULL, f->row[row + away]);
    }
    return v;
}
