#include "gpu/track/landmark_point.h"

uint32_t landmark_cpu(const struct landmark_session *s, const struct landmark_params *p)
{
    uint32_t n = 0;

    for (int i = 0; i < s->track->n_slots; i++)
        n += (uint32_t)landmark_of(s, p, (uint32_t)i);
    return n;
}
