#include "gpu/track/pyramid_point.h"

void pyramid_cpu(struct track *t, const struct track_frame *f)
{
    uint8_t *p = t->pyramid[t->n_frames % 2];

    for (size_t i = 0; i < (size_t)t->w * (size_t)t->h; i++)
        p[i] = pyramid_grey(f->rgb + 3 * i);
    for (int i = 1; i < TRACK_LEVELS; i++) {
        const struct track_level *big = &t->level[i - 1], *l = &t->level[i];
        for (int y = 0; y < l->h; y++)
            for (int x = 0; x < l->w; x++)
                p[l->at + (uint32_t)(y * l->w + x)] =
                    pyramid_half(p + big->at, big->w, big->h, x, y);
    }
}
