#include "gpu/track/path_block.h"

void path_cpu(struct path *p, const struct track *t, const struct path_frame *f)
{
    struct path_shared s;
    const struct path_block b = {p, t, f, &s, 0, 1};

    path_begin_frame(&b);
    if (p->is_refining)
        path_linearise_all(&b);
    for (int round = 0; round < PATH_ROUNDS && p->is_refining; round++) {
        path_sum_system(&b);
        path_round(&b);
        if (p->is_refining)
            path_follow_all(&b, round + 1 < PATH_ROUNDS);
    }
    path_end_frame(&b);
}
