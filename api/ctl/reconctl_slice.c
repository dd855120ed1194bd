#include "api/ctl/reconctl_render.h"

#include <string.h>

#define WHITE 255
#define GREY 96 /* colour of clouds without colours */

/* Directions of the picture: to the right, to the top, and up out of it. */
struct place {
    float right, far, up;
};

static struct place slice_place(const float R[9], const float *p)
{
    return (struct place){R[0] * p[0] + R[3] * p[1] + R[6] * p[2],
                          R[2] * p[0] + R[5] * p[1] + R[8] * p[2],
                          -(R[1] * p[0] + R[4] * p[1] + R[7] * p[2])};
}

static bool is_finite(const float *p)
{
    return isfinite(p[0]) && isfinite(p[1]) && isfinite(p[2]);
}

/* Computes the box around all points; returns false if there are none. */
static bool find_box(struct place *low, struct place *high, const struct client_splat_cloud *c,
                     const float R[9])
{
    *low = (struct place){INFINITY, INFINITY, INFINITY};
    *high = (struct place){-INFINITY, -INFINITY, -INFINITY};
    for (size_t i = 0; i < c->n; i++) {
        struct place at;

        if (!is_finite(c->xyz + 3 * i))
            continue;
        at = slice_place(R, c->xyz + 3 * i);
        *low = (struct place){fminf(low->right, at.right), fminf(low->far, at.far),
                              fminf(low->up, at.up)};
        *high = (struct place){fmaxf(high->right, at.right), fmaxf(high->far, at.far),
                               fmaxf(high->up, at.up)};
    }
    return low->up <= high->up;
}

/* Finds the pixels [*first, *end), at least one, of a side of n that a length around `at`
 * covers. */
static void pixels_covered(int *first, int *end, float at, float length, int n)
{
    float from = floorf(at - 0.5f * length + 0.5f), to = floorf(at + 0.5f * length + 0.5f);

    to = fmaxf(to, from + 1);
    *first = (int)fminf(fmaxf(from, 0), (float)n);
    *end = (int)fminf(fmaxf(to, 0), (float)n);
}

int reconctl_slice_draw(uint8_t *rgb, int w, int h, const struct client_splat_cloud *c,
                        const float R_wc[9], const struct reconctl_slice *slice, struct err *err)
{
    float thick = (float)slice->thick_m, from = (float)slice->height_m - 0.5f * thick, scale;
    struct place low, high;
    size_t n = 0;

    memset(rgb, WHITE, 3 * (size_t)w * (size_t)h);
    if (!find_box(&low, &high, c, R_wc))
        return err_set(err, ERR_INPUT, "no point of the cloud has a place");
    scale =
        fminf((float)w / (high.right - low.right + thick), (float)h / (high.far - low.far + thick));
    for (size_t i = 0; i < c->n; i++) {
        const struct place at = slice_place(R_wc, c->xyz + 3 * i);
        int x[2], y[2];

        if (!is_finite(c->xyz + 3 * i) || !(at.up >= from && at.up < from + thick))
            continue;
        n++;
        pixels_covered(&x[0], &x[1],
                       0.5f * (float)w + scale * (at.right - 0.5f * (low.right + high.right)),
                       scale * thick, w);
        pixels_covered(&y[0], &y[1],
                       0.5f * (float)h - scale * (at.far - 0.5f * (low.far + high.far)),
                       scale * thick, h);
        for (int k = y[0]; k < y[1]; k++)
            for (int j = x[0]; j < x[1]; j++)
                for (int b = 0; b < 3; b++)
                    rgb[3 * ((size_t)k * (size_t)w + (size_t)j) + (size_t)b] =
                        c->rgb ? c->rgb[3 * i + (size_t)b] : GREY;
    }
    if (n == 0)
        return err_set(err, ERR_INPUT, "no point between %g and %g m; the cloud lies in %g...%g m",
                       (double)from, (double)(from + thick), (double)low.up, (double)high.up);
    return 0;
}
