#include "api/eval/eval_scale.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CELL 16
#define RADIUS 4 /* of a patch */
#define PATCH ((2 * RADIUS + 1) * (2 * RADIUS + 1))
#define STEPS 97              /* of depth, the middle one is the network's own */
#define LOG_STEP 0.0288811325 /* ln 4 / 48 */
#define ALONE 6               /* steps around the best that are the same peak */
#define LEAST_CORRELATION 0.8f
#define LEAST_LEAD 0.05f   /* over the next peak */
#define LEAST_CORNER 36.0f /* smaller eigenvalue a pixel, grey levels squared */
/* How far a step of depth must move a patch in the picture that moved most */
#define LEAST_MOVE_PX 0.25f
#define NEAR_PX 8.0f
#define FAR_PX 20.0f
#define LEAST_PX 3.0f /* a picture that moved less is of no use */
#define MOST_PX 60.0f
#define BINS (8 * (STEPS - 1))
/* The model behind the weights: the place of a corner and the pose are right within OFF_PX, the
 * network's depth of one pixel within a factor of e^OFF_DEPTH. The prior: the network is right
 * within a factor of e^PRIOR_SPREAD, which counts as much as PRIOR corners of full weight. */
#define OFF_PX 1.5
#define OFF_DEPTH 0.15
#define PRIOR 20
#define PRIOR_SPREAD 0.25

struct shot {
    float *grey; /* [h][w] */
    struct rigid T_wc;
};

struct eval_scale {
    int w, h;
    struct intrinsics K;
    struct shot ring[EVAL_SCALE_RING];
    unsigned long long n; /* frames so far; the newest is ring[(n - 1) % RING] */
    float *raw;           /* [h][w] */
    double bin[BINS], prior[BINS], scale;
};

int eval_scale_new(struct eval_scale **out, int w, int h, struct intrinsics K, struct err *err)
{
    struct eval_scale *s;
    size_t n = (size_t)w * (size_t)h;

    *out = NULL;
    if (w < 32 || h < 32 || w > EVAL_SCALE_SIDE_MAX || h > EVAL_SCALE_SIDE_MAX)
        return err_set(err, ERR_INPUT, "no scale from pictures of %dx%d", w, h);
    if (!(K.fx >= 1 && K.fy >= 1) || !isfinite(K.fx + K.fy) || !isfinite(K.cx + K.cy))
        return err_set(err, ERR_INPUT, "no scale without a camera");
    s = calloc(1, sizeof *s);
    if (!s)
        return err_set(err, ERR_MEMORY, "no memory to track corners");
    s->w = w;
    s->h = h;
    s->K = K;
    s->scale = 1;
    s->raw = malloc(n * sizeof(float));
    for (int i = 0; i < BINS; i++) { /* the prior is Laplace's distribution */
        double at = fabs((i + 0.5) / BINS - 0.5) * 2 * log(4.0);

        s->prior[i] = PRIOR * exp(-at / PRIOR_SPREAD) * log(4.0) / (BINS * PRIOR_SPREAD);
    }
    *out = s;
    for (int i = 0; i < EVAL_SCALE_RING; i++) {
        s->ring[i].grey = malloc(n * sizeof(float));
        if (!s->raw || !s->ring[i].grey) {
            eval_scale_free(out);
            return err_set(err, ERR_MEMORY, "no memory for %d pictures of %dx%d", EVAL_SCALE_RING,
                           w, h);
        }
    }
    return 0;
}

void eval_scale_free(struct eval_scale **s)
{
    if (*s) {
        for (int i = 0; i < EVAL_SCALE_RING; i++)
            free((*s)->ring[i].grey);
        free((*s)->raw);
    }
    free(*s);
    *s = NULL;
}

/* ------------------------------------------------------------------------- pictures */

/* Turns a picture into grey levels, smoothed by (1 2 1) both ways against the noise of single
 * pixels. */
static void put_picture(struct eval_scale *s, float *grey, const uint8_t *rgb)
{
    int w = s->w, h = s->h;

    for (size_t i = 0; i < (size_t)w * (size_t)h; i++)
        s->raw[i] = 0.299f * (float)rgb[3 * i] + 0.587f * (float)rgb[3 * i + 1] +
                    0.114f * (float)rgb[3 * i + 2];
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            int l = x > 0 ? x - 1 : x, r = x < w - 1 ? x + 1 : x;
            int u = y > 0 ? y - 1 : y, d = y < h - 1 ? y + 1 : y;
            const float *a = s->raw + u * w, *b = s->raw + y * w, *c = s->raw + d * w;

            grey[y * w + x] =
                (a[l] + 2 * a[x] + a[r] + 2 * (b[l] + 2 * b[x] + b[r]) + c[l] + 2 * c[x] + c[r]) /
                16;
        }
}

/* Returns how much of a corner a pixel is: the smaller eigenvalue of the gradient's second moments
 * over 5 x 5. */
static float corner(const float *grey, int w, int x, int y)
{
    float xx = 0, xy = 0, yy = 0;

    for (int v = y - 2; v <= y + 2; v++)
        for (int u = x - 2; u <= x + 2; u++) {
            const float *p = grey + v * w + u;
            float gx = 0.5f * (p[1] - p[-1]), gy = 0.5f * (p[w] - p[-w]);

            xx += gx * gx;
            xy += gx * gy;
            yy += gy * gy;
        }
    return (0.5f * (xx + yy) - sqrtf(0.25f * (xx - yy) * (xx - yy) + xy * xy)) / 25;
}

/* Returns the network's depth at a pixel of the picture; 0 = none. */
static float depth_at(const struct eval_scale *s, const float *depth, int dw, int dh, int x, int y)
{
    float d = depth[(size_t)(y * dh / s->h) * (size_t)dw + (size_t)(x * dw / s->w)];

    return d > 1e-3f && d < 1e4f ? d : 0;
}

/* ------------------------------------------------------------------------- geometry */

/* Takes a pixel and its depth to a pixel of another picture: H (x y 1) + t / z, divided by its
 * third coordinate. */
struct warp {
    const float *grey;
    float H[9], t[3];
};

static struct warp warp_to(const struct eval_scale *s, const struct shot *to,
                           const struct rigid *T_wc)
{
    struct rigid T_cw = rigid_inverse(&to->T_wc), T = rigid_mul(&T_cw, T_wc);
    const struct intrinsics *K = &s->K;
    struct warp l = {.grey = to->grey};

    for (int j = 0; j < 3; j++) {
        float c[4]; /* column j of R K^-1; T's translation */

        for (int i = 0; i < 3; i++) {
            const float *r = T.r + 3 * i;

            c[i] = j == 0   ? r[0] / K->fx
                   : j == 1 ? r[1] / K->fy
                            : r[2] - r[0] * K->cx / K->fx - r[1] * K->cy / K->fy;
        }
        l.H[j] = K->fx * c[0] + K->cx * c[2];
        l.H[3 + j] = K->fy * c[1] + K->cy * c[2];
        l.H[6 + j] = c[2];
    }
    l.t[0] = K->fx * T.t[0] + K->cx * T.t[2];
    l.t[1] = K->fy * T.t[1] + K->cy * T.t[2];
    l.t[2] = T.t[2];
    return l;
}

/* Returns whether the pixel (x, y) at inverse depth iz lies in the other picture, and where. */
static int follow(const struct eval_scale *s, const struct warp *l, float x, float y, float iz,
                  float uv[2])
{
    float q[3];

    for (int i = 0; i < 3; i++)
        q[i] = l->H[3 * i] * x + l->H[3 * i + 1] * y + l->H[3 * i + 2] + l->t[i] * iz;
    if (!(q[2] > 1e-3f))
        return 0;
    uv[0] = q[0] / q[2];
    uv[1] = q[1] / q[2];
    return uv[0] >= 0 && uv[1] >= 0 && uv[0] < (float)(s->w - 1) && uv[1] < (float)(s->h - 1);
}

/* Finds where a pixel at infinite depth would be, also outside of the picture. Returns 0 where it
 * is behind the camera. */
static int follow_far(const struct warp *l, float x, float y, float uv[2])
{
    float z = l->H[6] * x + l->H[7] * y + l->H[8];

    uv[0] = (l->H[0] * x + l->H[1] * y + l->H[2]) / z;
    uv[1] = (l->H[3] * x + l->H[4] * y + l->H[5]) / z;
    return z > 1e-3f;
}

/* Returns how far pixels move by the camera's translation alone: the median over a grid of pixels,
 * 0 where fewer than half of them are in the other picture. */
static float moved_px(const struct eval_scale *s, const struct warp *l, const float *depth, int dw,
                      int dh)
{
    float px[25], uv[2], at[2];
    int n = 0;

    for (int i = 0; i < 25; i++) {
        int x = s->w * (2 * (i % 5) + 1) / 10, y = s->h * (2 * (i / 5) + 1) / 10, k = n;
        float d = depth_at(s, depth, dw, dh, x, y) * (float)s->scale, far;

        if (d <= 0 || !follow(s, l, (float)x, (float)y, 1 / d, uv) ||
            !follow_far(l, (float)x, (float)y, at))
            continue;
        far = hypotf(uv[0] - at[0], uv[1] - at[1]);
        for (; k > 0 && px[k - 1] > far; k--)
            px[k] = px[k - 1];
        px[k] = far;
        n++;
    }
    return n >= 13 ? px[n / 2] : 0;
}

/* Chooses the two earlier pictures that have moved by about FAR_PX and NEAR_PX. */
static int choose(const struct eval_scale *s, struct warp l[2], const float *depth, int dw, int dh,
                  const struct rigid *T_wc)
{
    float best[2] = {INFINITY, INFINITY};
    unsigned long long taken = s->n;
    int n = 0;

    for (int k = 0; k < 2; k++) {
        for (unsigned long long i = 1; i < EVAL_SCALE_RING && i < s->n; i++) {
            unsigned long long at = s->n - 1 - i;
            struct warp to = warp_to(s, &s->ring[at % EVAL_SCALE_RING], T_wc);
            float px = moved_px(s, &to, depth, dw, dh), off;

            if (at == taken || !(px >= LEAST_PX && px <= MOST_PX))
                continue;
            off = fabsf(logf(px / (k ? NEAR_PX : FAR_PX)));
            if (off < best[k]) {
                best[k] = off;
                l[k] = to;
                n = k + 1;
                if (k == 0)
                    taken = at;
            }
        }
        if (n <= k)
            return 0;
    }
    return 1;
}

/* ------------------------------------------------------------------------- one corner */

static float sample(const float *grey, int w, const float uv[2])
{
    int x = (int)uv[0], y = (int)uv[1];
    float fx = uv[0] - (float)x, fy = uv[1] - (float)y;
    const float *p = grey + y * w + x;

    return (p[0] * (1 - fx) + p[1] * fx) * (1 - fy) + (p[w] * (1 - fx) + p[w + 1] * fx) * fy;
}

/* Takes the patch around a corner, normalised to mean 0 and length 1. */
static int take_patch(const struct eval_scale *s, const float *grey, int x, int y, float *patch)
{
    float mean = 0, length = 0;

    for (int i = 0; i < PATCH; i++) {
        patch[i] =
            grey[(y + i / (2 * RADIUS + 1) - RADIUS) * s->w + x + i % (2 * RADIUS + 1) - RADIUS];
        mean += patch[i] / PATCH;
    }
    for (int i = 0; i < PATCH; i++) {
        patch[i] -= mean;
        length += patch[i] * patch[i];
    }
    for (int i = 0; i < PATCH; i++)
        patch[i] /= sqrtf(length);
    return length > PATCH; /* the patch varies by more than one grey level */
}

/* Returns the correlation of a patch with another picture at a depth; -1 where the patch leaves
 * that picture. */
static float correlate(const struct eval_scale *s, const struct warp *l, const float *patch, int x,
                       int y, float iz)
{
    float sum = 0, squares = 0, product = 0, uv[2], v;

    for (int i = 0; i < PATCH; i++) {
        if (!follow(s, l, (float)(x + i % (2 * RADIUS + 1) - RADIUS),
                    (float)(y + i / (2 * RADIUS + 1) - RADIUS), iz, uv))
            return -1;
        v = sample(l->grey, s->w, uv);
        sum += v;
        squares += v * v;
        product += v * patch[i];
    }
    squares -= sum * sum / PATCH;
    return squares > PATCH ? product / sqrtf(squares) : -1; /* the patch has length 1 and mean 0 */
}

/* Tells whether a step of depth moves the corner enough to be seen. */
static int is_sharp(const struct eval_scale *s, const struct warp l[2], int x, int y, float iz)
{
    float a[2], b[2], most = 0;

    for (int k = 0; k < 2; k++)
        if (follow(s, &l[k], (float)x, (float)y, iz, a) &&
            follow(s, &l[k], (float)x, (float)y, iz * (float)exp(-LOG_STEP), b))
            most = fmaxf(most, hypotf(a[0] - b[0], a[1] - b[1]));
    return most >= LEAST_MOVE_PX;
}

/* Returns the weight of a corner, which grows with how far it moved in the picture that moved most,
 * and is 1 for infinitely far. */
static double weight_of(const struct eval_scale *s, const struct warp l[2], int x, int y, float iz)
{
    float a[2], b[2], most = 0;
    double off;

    for (int k = 0; k < 2; k++)
        if (follow(s, &l[k], (float)x, (float)y, iz, a) && follow_far(&l[k], (float)x, (float)y, b))
            most = fmaxf(most, hypotf(a[0] - b[0], a[1] - b[1]));
    off = OFF_PX / fmax((double)most, 1e-3);
    return OFF_DEPTH * OFF_DEPTH / (off * off + OFF_DEPTH * OFF_DEPTH);
}

/* Returns whether both pictures agree on one depth of the corner; *log_ratio is the logarithm of
 * that depth over d. */
static int find(const struct eval_scale *s, const struct warp l[2], const float *grey, int x, int y,
                float d, double *log_ratio, double *weight)
{
    float patch[PATCH], score[STEPS], next = -1, bend;
    int best = 0;

    if (!take_patch(s, grey, x, y, patch))
        return 0;
    for (int i = 0; i < STEPS; i++) {
        float iz = expf(-(float)((i - STEPS / 2) * LOG_STEP)) / d;
        float a = correlate(s, &l[0], patch, x, y, iz);

        /* so low a correlation cannot be made good by the other picture */
        score[i] = a < 2 * LEAST_CORRELATION - 1 - 2 * LEAST_LEAD
                       ? -1
                       : 0.5f * (a + correlate(s, &l[1], patch, x, y, iz));
        if (score[i] > score[best])
            best = i;
    }
    if (best == 0 || best == STEPS - 1 || score[best] < LEAST_CORRELATION)
        return 0;
    for (int i = 0; i < STEPS; i++)
        if (abs(i - best) > ALONE && score[i] > next)
            next = score[i];
    if (next > score[best] - LEAST_LEAD ||
        !is_sharp(s, l, x, y, expf(-(float)((best - STEPS / 2) * LOG_STEP)) / d))
        return 0;
    *log_ratio = best - STEPS / 2;
    bend = score[best - 1] - 2 * score[best] + score[best + 1];
    if (score[best - 1] > 0 && score[best + 1] > 0 && bend < -1e-6f)
        *log_ratio += 0.5 * (double)((score[best - 1] - score[best + 1]) / bend);
    *log_ratio *= LOG_STEP;
    *weight = weight_of(s, l, x, y, expf(-(float)*log_ratio) / d);
    return 1;
}

/* ------------------------------------------------------------------------- a frame */

static int add_corners(struct eval_scale *s, const struct warp l[2], const float *grey,
                       const float *depth, int dw, int dh)
{
    const int margin = RADIUS + 1;
    int n = 0;

    for (int top = margin; top + CELL <= s->h - margin; top += CELL)
        for (int left = margin; left + CELL <= s->w - margin; left += CELL) {
            float most = LEAST_CORNER, d;
            int x = -1, y = -1, bin;
            double at, weight;

            for (int v = top; v < top + CELL; v++)
                for (int u = left; u < left + CELL; u++) {
                    float c = corner(grey, s->w, u, v);

                    if (c > most) {
                        most = c;
                        x = u;
                        y = v;
                    }
                }
            d = x < 0 ? 0 : depth_at(s, depth, dw, dh, x, y);
            if (d <= 0 || !find(s, l, grey, x, y, d, &at, &weight))
                continue;
            bin = (int)floor((at / (2 * log(4.0)) + 0.5) * BINS);
            s->bin[bin < 0 ? 0 : bin >= BINS ? BINS - 1 : bin] += weight;
            n++;
        }
    return n;
}

/* Returns the median of the histogram plus the prior, interpolated within its bin. */
static double median(const struct eval_scale *s)
{
    double total = 0, below = 0, here = 0;
    int i = 0;

    for (int k = 0; k < BINS; k++)
        total += s->bin[k] + s->prior[k];
    for (; i < BINS - 1; i++) {
        here = s->bin[i] + s->prior[i];
        if (below + here >= 0.5 * total)
            break;
        below += here;
    }
    here = s->bin[i] + s->prior[i];
    return ((i + (0.5 * total - below) / here) / BINS - 0.5) * 2 * log(4.0);
}

struct eval_scale_answer eval_scale_frame(struct eval_scale *s, const uint8_t *rgb,
                                          const float *depth, int dw, int dh,
                                          const struct rigid *T_wc)
{
    const double fade = exp2(-1.0 / EVAL_SCALE_HALF);
    struct shot *shot = &s->ring[s->n++ % EVAL_SCALE_RING];
    struct eval_scale_answer a = {0};
    struct warp l[2];

    put_picture(s, shot->grey, rgb);
    shot->T_wc = *T_wc;
    if (choose(s, l, depth, dw, dh, T_wc)) {
        for (int i = 0; i < BINS; i++)
            s->bin[i] *= fade;
        a.corners = add_corners(s, l, shot->grey, depth, dw, dh);
    }
    for (int i = 0; i < BINS; i++)
        a.seen += s->bin[i];
    if (a.seen > 0)
        s->scale = exp(median(s));
    a.scale = s->scale;
    return a;
}
