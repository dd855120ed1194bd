#include "gpu/track/track.h"

void track_cpu(struct track *t, const struct track_frame *f)
{
    for (int i = 0; i < t->n_slots && f->restart; i++)
        t->slot[i].id = 0;
    pyramid_cpu(t, f);
    klt_cpu(t, f);
    corner_cpu(t, f);
    t->n_frames++;
}
