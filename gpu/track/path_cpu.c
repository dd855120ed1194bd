#include "gpu/track/path_block.h"

void path_cpu(struct path *p, const struct track *t, const struct path_frame *f)
{
    struct path_shared s;
    const struct path_block b = {p, t, f, &s, 0, 1};

    path_run(&b);
}
