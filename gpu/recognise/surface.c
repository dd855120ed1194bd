#include "gpu/recognise/surface.h"

#include <stdlib.h>

#define SURFACE_ROW 400

struct surface_params surface_params_default(void)
{
    struct surface_params p;

    params_fill(&p, &recognise_params_surface, NULL, NULL);
    return p;
}

int surface_check(int w, int h, const struct intrinsics *K, struct err *err)
{
    if (w < 2 || h < 2 || w > SURFACE_SIDE_MAX || h > SURFACE_SIDE_MAX)
        return err_set(err, ERR_INPUT, "a depth picture has sides of 2 to %d pixels, not %d x %d",
                       SURFACE_SIDE_MAX, w, h);
    if (!(K->fx >= 1.0f && K->fx <= 1e5f && K->fy >= 1.0f && K->fy <= 1e5f) ||
        !(K->cx >= -1e5f && K->cx <= 1e5f && K->cy >= -1e5f && K->cy <= 1e5f))
        return err_set(err, ERR_INPUT,
                       "fx and fy of a depth picture are 1 to 100000 pixels, cx and cy within "
                       "100000 of its corner");
    return 0;
}

int surface_step(int w, int h)
{
    return ((w > h ? w : h) + SURFACE_ROW - 1) / SURFACE_ROW;
}

void surface_shape(struct surface *s, int w, int h, struct intrinsics K, int step)
{
    float k = 1.0f / (float)step;
    s->depth_w = w;
    s->depth_h = h;
    s->step = step;
    s->w = (w + step - 1) / step;
    s->h = (h + step - 1) / step;
    s->K = (struct intrinsics){K.fx * k, K.fy * k, K.cx * k, K.cy * k};
}

int surface_new(struct surface *s, int w, int h, struct intrinsics K, int step, struct err *err)
{
    size_t n;
    *s = (struct surface){0};
    surface_shape(s, w, h, K, step);
    n = (size_t)s->w * (size_t)s->h;
    s->filtered = calloc(n, sizeof *s->filtered);
    s->point = calloc(n, sizeof *s->point);
    s->normal = calloc(n, sizeof *s->normal);
    s->mesh = calloc(n, 1);
    s->sums = calloc(1, sizeof *s->sums);
    s->limits = calloc(1, sizeof *s->limits);
    if (s->filtered && s->point && s->normal && s->mesh && s->sums && s->limits)
        return 0;
    surface_free(s);
    return err_set(err, ERR_MEMORY, "no memory for the surface of %d x %d pixels", w, h);
}

void surface_free(struct surface *s)
{
    free(s->filtered);
    free(s->point);
    free(s->normal);
    free(s->mesh);
    free(s->sums);
    free(s->limits);
    *s = (struct surface){0};
}
