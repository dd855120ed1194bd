#include "gpu/views/contrast_point.h"

void contrast_cpu(struct views *v)
{
    for (int picture = 0; picture <= VIEWS_SOURCES; picture++) {
        const uint8_t *rgb;
        uint8_t *to = contrast_of(v, picture);

        if (!contrast_is_there(v, picture))
            continue;
        rgb = contrast_rgb(v, picture);
        for (int y = 0; y < v->h; y++)
            for (int x = 0; x < v->w; x++)
                *to++ = contrast_at(rgb, v->w, v->h, x, y);
    }
}
