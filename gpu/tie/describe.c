#include "gpu/tie/describe.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define BORDER 20  /* pixels between a corner and its level's edge, at least */
#define PATCH 13   /* pixels from the corner to a descriptor's tests, at most */
#define RADIUS 3   /* half side of a corner's window */
#define CELLS_X 10 /* cells of a level, each with its best corners */
#define CELLS_Y 8
#define A_CELL 6

static const float scales[DESCRIBE_LEVELS] = {1.0f, 0.70710678f, 0.5f};
static const int shares[DESCRIBE_LEVELS] = {160, 100, 60};

struct plane {
    int w, h;
};

struct found {
    float response;
    int x, y;
};

static int clamp(int i, int n)
{
    return i < 0 ? 0 : i < n ? i : n - 1;
}

void describe_grey(struct describe_picture *p, uint8_t *grey, const uint8_t *rgb)
{
    int f = 1;

    while ((p->width / f) * (p->height / f) > DESCRIBE_PIXELS)
        f++;
    p->grey = grey;
    p->grey_w = p->width / f;
    p->grey_h = p->height / f;
    p->shrunk = f;
    for (int y = 0; y < p->grey_h; y++)
        for (int x = 0; x < p->grey_w; x++) {
            uint32_t sum = 0;

            for (int i = 0; i < f; i++)
                for (int k = 0; k < f; k++) {
                    const uint8_t *c =
                        rgb + 3 * ((size_t)(y * f + i) * (size_t)p->width + (size_t)(x * f + k));
                    sum += 77u * c[0] + 150u * c[1] + 29u * c[2];
                }
            grey[(size_t)y * (size_t)p->grey_w + (size_t)x] =
                (uint8_t)(sum / (256u * (uint32_t)(f * f)));
        }
}

static void resize(uint8_t *out, const struct plane *to, const uint8_t *in,
                   const struct plane *from, float scale)
{
    for (int y = 0; y < to->h; y++)
        for (int x = 0; x < to->w; x++) {
            float u = ((float)x + 0.5f) / scale - 0.5f, v = ((float)y + 0.5f) / scale - 0.5f;
            int i = clamp((int)floorf(u), from->w - 1), j = clamp((int)floorf(v), from->h - 1);
            float a = u - (float)i, b = v - (float)j;
            const uint8_t *p = in + (size_t)j * (size_t)from->w + (size_t)i, *q = p + from->w;

            out[(size_t)y * (size_t)to->w + (size_t)x] =
                (uint8_t)((1 - b) * ((1 - a) * p[0] + a * p[1]) + b * ((1 - a) * q[0] + a * q[1]) +
                          0.5f);
        }
}

/* Means of 5 x 5 pixels, by sums over all pixels above and to the left. */
static void smooth(uint8_t *out, uint32_t *sums, const uint8_t *in, const struct plane *s)
{
    size_t w = (size_t)s->w;

    for (int y = 0; y < s->h; y++) {
        uint32_t row = 0;

        for (int x = 0; x < s->w; x++) {
            size_t at = (size_t)y * w + (size_t)x;

            row += in[at];
            sums[at] = row + (y ? sums[at - w] : 0);
        }
    }
    for (int y = 0; y < s->h; y++)
        for (int x = 0; x < s->w; x++) {
            int x0 = clamp(x - 2, s->w) - 1, x1 = clamp(x + 2, s->w);
            int y0 = clamp(y - 2, s->h) - 1, y1 = clamp(y + 2, s->h);
            uint32_t sum = sums[(size_t)y1 * w + (size_t)x1];

            sum -= x0 >= 0 ? sums[(size_t)y1 * w + (size_t)x0] : 0;
            sum -= y0 >= 0 ? sums[(size_t)y0 * w + (size_t)x1] : 0;
            sum += x0 >= 0 && y0 >= 0 ? sums[(size_t)y0 * w + (size_t)x0] : 0;
            out[(size_t)y * w + (size_t)x] = (uint8_t)(sum / (uint32_t)((x1 - x0) * (y1 - y0)));
        }
}

/* (W1) The smaller eigenvalue of the gradient's moments in a window, everywhere but at the border.
 * Sums of columns move along with the window. */
static void respond(float *response, const uint8_t *in, const struct plane *s)
{
    static const float share = 1.0f / (4 * (2 * RADIUS + 1) * (2 * RADIUS + 1));
    size_t w = (size_t)s->w;

    memset(response, 0, w * (size_t)s->h * sizeof(*response));
    for (int y = BORDER; y < s->h - BORDER; y++) {
        int32_t column[2 * RADIUS + 1][3], sum[3] = {0, 0, 0};

        memset(column, 0, sizeof(column));
        for (int x = BORDER - 2 * RADIUS; x < s->w - BORDER + RADIUS; x++) {
            int32_t *c = column[x % (2 * RADIUS + 1)];

            for (int k = 0; k < 3; k++)
                sum[k] -= c[k], c[k] = 0;
            for (int j = y - RADIUS; j <= y + RADIUS; j++) {
                const uint8_t *p = in + (size_t)j * w + (size_t)x;
                int32_t gx = p[1] - p[-1], gy = p[w] - *(p - w);

                c[0] += gx * gx, c[1] += gx * gy, c[2] += gy * gy;
            }
            for (int k = 0; k < 3; k++)
                sum[k] += c[k];
            if (x >= BORDER + RADIUS) {
                float a = (float)sum[0], b = (float)sum[1], d = (float)sum[2],
                      half = 0.5f * (a - d);

                response[(size_t)y * w + (size_t)(x - RADIUS)] =
                    share * (0.5f * (a + d) - sqrtf(half * half + b * b));
            }
        }
    }
}

static bool is_peak(const float *at, size_t w, float least)
{
    if (!(*at >= least))
        return false;
    for (int i = -1; i < 2; i++)
        for (int k = -1; k < 2; k++) {
            float v = at[i * (int)w + k];

            if (i < 0 || (i == 0 && k < 0) ? v >= *at : (i || k) && v > *at)
                return false;
        }
    return true;
}

/* Puts a corner into a list of the `most` strongest, in falling order. */
static int enter(struct found *list, int n, int most, const struct found *f)
{
    int i = n < most ? n : most - 1;

    if (n == most && !(f->response > list[most - 1].response))
        return n;
    for (; i > 0 && f->response > list[i - 1].response; i--)
        list[i] = list[i - 1];
    list[i] = *f;
    return n < most ? n + 1 : n;
}

/* Finds the best corners of each cell of a level, and of these the strongest `most`. */
static int describe_choose(struct found *list, int most, const float *response,
                           const struct plane *s, float least)
{
    int n = 0;

    for (int cell = 0; cell < CELLS_X * CELLS_Y; cell++) {
        int cx = cell % CELLS_X, cy = cell / CELLS_X, n_here = 0;
        int x0 = cx * s->w / CELLS_X, x1 = (cx + 1) * s->w / CELLS_X;
        int y0 = cy * s->h / CELLS_Y, y1 = (cy + 1) * s->h / CELLS_Y;
        struct found here[A_CELL];

        for (int y = y0 < BORDER ? BORDER : y0; y < y1 && y < s->h - BORDER; y++)
            for (int x = x0 < BORDER ? BORDER : x0; x < x1 && x < s->w - BORDER; x++) {
                const float *at = response + (size_t)y * (size_t)s->w + (size_t)x;
                const struct found f = {*at, x, y};

                if (is_peak(at, (size_t)s->w, least))
                    n_here = enter(here, n_here, A_CELL, &f);
            }
        for (int i = 0; i < n_here; i++)
            n = enter(list, n, most, &here[i]);
    }
    return n;
}

/* (W2) The direction from a corner to the middle of the light around it. */
static void direction(float *c, float *s, const uint8_t *at, size_t w)
{
    int32_t mx = 0, my = 0;
    float length;

    for (int y = -PATCH; y <= PATCH; y++)
        for (int x = -PATCH; x <= PATCH; x++)
            if (x * x + y * y <= PATCH * PATCH) {
                int v = at[y * (int)w + x];

                mx += x * v, my += y * v;
            }
    length = sqrtf((float)mx * (float)mx + (float)my * (float)my);
    *c = length > 0 ? (float)mx / length : 1;
    *s = length > 0 ? (float)my / length : 0;
}

/* The next of a fixed sequence, about normal with deviation PATCH / 2.5, within PATCH. */
static float describe_draw(uint32_t *state)
{
    float sum = 0;

    for (int i = 0; i < 4; i++) {
        *state = *state * 1664525u + 1013904223u;
        sum += (float)(*state >> 8) / 16777216.0f - 0.5f;
    }
    sum *= 1.7320508f * (float)PATCH / 2.5f; /* four of variance 1/12 */
    return fmaxf(-(float)PATCH * 0.7f, fminf(sum, (float)PATCH * 0.7f));
}

/* The same tests for every picture: two places near the corner each. */
static void draw_tests(float tests[64 * DESCRIBE_WORDS][4])
{
    uint32_t state = 20220611;

    for (int i = 0; i < 64 * DESCRIBE_WORDS; i++)
        for (int k = 0; k < 4; k++)
            tests[i][k] = describe_draw(&state);
}

/* (W2) One bit a test: which of its two places is brighter. */
static void describe_describe(uint64_t bits[DESCRIBE_WORDS], float tests[64 * DESCRIBE_WORDS][4],
                              const uint8_t *at, size_t w)
{
    float c, s;

    direction(&c, &s, at, w);
    memset(bits, 0, DESCRIBE_WORDS * sizeof(*bits));
    for (int i = 0; i < 64 * DESCRIBE_WORDS; i++) {
        int v[2];

        for (int k = 0; k < 2; k++) {
            float x = tests[i][2 * k], y = tests[i][2 * k + 1];
            int u = (int)lrintf(c * x - s * y), r = (int)lrintf(s * x + c * y);

            v[k] = at[r * (int)w + u];
        }
        bits[i / 64] |= (uint64_t)(v[0] < v[1]) << (i % 64);
    }
}

/* Depth at a place of the picture, 0 where it is unknown or has a step. */
static float depth_at(const struct describe_picture *p, float x, float y, float step)
{
    int i = (int)((x + 0.5f) * (float)p->depth_w / (float)p->width);
    int j = (int)((y + 0.5f) * (float)p->depth_h / (float)p->height);
    float lo = INFINITY, hi = 0, here;

    i = clamp(i, p->depth_w);
    j = clamp(j, p->depth_h);
    for (int b = clamp(j - 1, p->depth_h); b <= clamp(j + 1, p->depth_h); b++)
        for (int a = clamp(i - 1, p->depth_w); a <= clamp(i + 1, p->depth_w); a++) {
            float d = p->depth[(size_t)b * (size_t)p->depth_w + (size_t)a];

            if (!(d > 0) || !isfinite(d))
                continue;
            lo = fminf(lo, d);
            hi = fmaxf(hi, d);
        }
    here = p->depth[(size_t)j * (size_t)p->depth_w + (size_t)i];
    return here > 0 && isfinite(here) && hi <= step * lo ? here : 0;
}

/* The offset of the peak of a parabola through three values from the middle one, -1/2...1/2. */
static float peak_of(float before, float at, float after)
{
    float bend = before - 2 * at + after;

    return bend < 0 ? fmaxf(-0.5f, fminf(0.5f, 0.5f * (before - after) / bend)) : 0;
}

static void add_level(struct describe_keyframe *k, struct describe_room *room,
                      const struct describe_picture *p, int level, const struct tie_params *t)
{
    const float scale = scales[level];
    const struct plane whole = {p->grey_w, p->grey_h};
    const struct plane s = {(int)((float)whole.w * scale), (int)((float)whole.h * scale)};
    struct found list[DESCRIBE_CORNERS];
    const float by = (float)p->shrunk / scale;
    int n;

    if (s.w < DESCRIBE_SIDE_LEAST || s.h < DESCRIBE_SIDE_LEAST)
        return;
    resize(room->level, &s, p->grey, &whole, scale);
    smooth(room->smooth, room->sums, room->level, &s);
    respond(room->response, room->level, &s);
    n = describe_choose(list, shares[level], room->response, &s, t->corner_least);
    for (int i = 0; i < n; i++) {
        struct describe_corner *c = &k->corner[k->n++];
        const float *r = room->response + (size_t)list[i].y * (size_t)s.w + (size_t)list[i].x;

        c->x = ((float)list[i].x + peak_of(r[-1], *r, r[1]) + 0.5f) * by - 0.5f;
        c->y = ((float)list[i].y + peak_of(*(r - s.w), *r, r[s.w]) + 0.5f) * by - 0.5f;
        c->depth = depth_at(p, c->x, c->y, t->corner_step);
        c->sigma = by;
        describe_describe(c->bits, room->tests,
                          room->smooth + (size_t)list[i].y * (size_t)s.w + (size_t)list[i].x,
                          (size_t)s.w);
    }
}

void describe_picture(struct describe_keyframe *k, struct describe_room *room,
                      const struct describe_picture *p, const struct tie_params *t)
{
    k->K = p->K;
    k->w = p->width;
    k->h = p->height;
    k->n = 0;
    for (int y = 0; y < DESCRIBE_GRID_H; y++)
        for (int x = 0; x < DESCRIBE_GRID_W; x++)
            k->depth[y * DESCRIBE_GRID_W + x] =
                depth_at(p, ((float)x + 0.5f) * (float)p->width / DESCRIBE_GRID_W - 0.5f,
                         ((float)y + 0.5f) * (float)p->height / DESCRIBE_GRID_H - 0.5f, INFINITY);
    if (p->width < DESCRIBE_SIDE_LEAST || p->height < DESCRIBE_SIDE_LEAST)
        return;
    draw_tests(room->tests);
    for (int level = 0; level < DESCRIBE_LEVELS; level++)
        add_level(k, room, p, level, t);
}
