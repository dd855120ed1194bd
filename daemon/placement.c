#include "daemon/placement.h"

#include <string.h>

void placement_loads(struct core *c, float *fps)
{
    struct session *page[64];
    uint64_t cursor = 0;
    int n;

    memset(fps, 0, (size_t)c->n_workers * sizeof(*fps));
    while ((n = registry_page(c->registry, page, 64, &cursor)) > 0)
        for (int i = 0; i < n; i++) {
            for (int w = 0; w < c->n_workers; w++)
                if (c->workers[w] == page[i]->setup.worker)
                    fps[w] += session_load(page[i]);
            session_unref(page[i]);
        }
}

static double share_taken(const struct core *c, int w)
{
    struct budget *b = worker_budget(c->workers[w]);

    return (double)atomic_load(&b->used) / ((double)atomic_load(&b->limit) + 1);
}

/* The best of those that were not tried; -1 = none is left. */
static int best_of(const struct core *c, const float *fps, const bool *tried)
{
    int best = -1;

    for (int w = 0; w < c->n_workers; w++) {
        int level = (int)fps[w] / PLACEMENT_FPS, least = best < 0 ? 0 : (int)fps[best];
        if (tried[w])
            continue;
        least /= PLACEMENT_FPS;
        if (best < 0 || level < least ||
            (level == least && share_taken(c, w) < share_taken(c, best)))
            best = w;
    }
    return best;
}

int placement_choose(struct core *c, struct session_setup *setup, struct err *err)
{
    float fps[CORE_DEVICES_MAX] = {0};
    bool tried[CORE_DEVICES_MAX] = {false};
    int w, rc;

    if (c->n_workers == 0)
        return err_set(err, ERR_BUSY, "there is no device to compute on: %.120s", c->missing);
    rc = ERR_BUSY;
    placement_loads(c, fps);
    while (rc && (w = best_of(c, fps, tried)) >= 0) {
        tried[w] = true;
        setup->worker = c->workers[w];
        setup->budget = worker_budget(c->workers[w]);
        rc = budget_take(setup->budget, setup->memory_bytes, err);
    }
    return rc;
}
