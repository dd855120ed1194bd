#include "gpu/recognise/surface_point.h"

void surface_cpu_run(const struct surface *s, const struct surface_params *p)
{
    int w = s->w, h = s->h;
    struct surface_sums sums = {0};

    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            s->filtered[y * w + x] = surface_filter(s, p, x, y);
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            s->point[y * w + x] = surface_back_project(s, x, y);
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            s->normal[y * w + x] = surface_normal(s, p, x, y);
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            surface_add(&sums, s, p, x, y);
    *s->sums = sums;
    *s->limits = surface_limits(&sums, p);
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            s->mesh[y * w + x] = surface_triangles(s, p, x, y);
}
