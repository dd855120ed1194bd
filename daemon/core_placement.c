/* Which device a new session goes to. */
#include "daemon/core_internal.h"

#include "daemon/clock.h"

#include <math.h>
#include <string.h>

void core_loads(struct core *c, float *fps)
{
    struct session *page[64];
    uint64_t cursor = 0;
    int n;

    memset(fps, 0, (size_t)c->n_workers * sizeof(*fps));
    while ((n = registry_page(c->registry, page, 64, &cursor)) > 0)
        for (int i = 0; i < n; i++) {
            for (int w = 0; w < c->n_workers; w++)
                if (c->workers[w] == session_work(page[i])->worker)
                    fps[w] += session_load(page[i]);
            session_unref(page[i]);
        }
}

static bool counts(const struct session_info *info)
{
    return info->state != SESSION_CLOSED && !info->fault[0];
}

/* Out: fps [c->n_workers], what each device's sessions are counted with. */
static void promised(struct core *c, double *fps)
{
    struct session *page[64];
    struct session_info info;
    uint64_t cursor = 0;
    int n;

    memset(fps, 0, (size_t)c->n_workers * sizeof(*fps));
    while ((n = registry_page(c->registry, page, 64, &cursor)) > 0)
        for (int i = 0; i < n; i++) {
            session_get_info(page[i], &info);
            for (int w = 0; w < c->n_workers && counts(&info); w++)
                if (c->workers[w] == session_work(page[i])->worker)
                    fps[w] += (double)info.options.fps;
            session_unref(page[i]);
        }
}

static int too_many(double promised_fps, double asked, double frames_per_s, struct err *err)
{
    return err_set(err, ERR_BUSY,
                   "%.15g frames a second are asked for, %.15g of the device's %.15g are promised",
                   asked, promised_fps, frames_per_s);
}

static double share_taken(const struct core *c, int w)
{
    struct worker_budget *b = worker_budget(c->workers[w]);

    return (double)atomic_load(&b->used) / ((double)atomic_load(&b->limit) + 1);
}

/* The best of those that were not tried; -1 = none is left. */
static int best_of(const struct core *c, const float *fps, const bool *tried)
{
    int best = -1;

    for (int w = 0; w < c->n_workers; w++) {
        int level = (int)fps[w] / CORE_PLACE_FPS, least = best < 0 ? 0 : (int)fps[best];
        if (tried[w])
            continue;
        least /= CORE_PLACE_FPS;
        if (best < 0 || level < least ||
            (level == least && share_taken(c, w) < share_taken(c, best)))
            best = w;
    }
    return best;
}

int core_place(struct core *c, const struct session_setup *setup, double frames_per_s,
               struct worker **worker, struct err *err)
{
    double asked = (double)setup->options.fps, full[CORE_DEVICES_MAX] = {0};
    float fps[CORE_DEVICES_MAX] = {0};
    bool tried[CORE_DEVICES_MAX] = {false};
    int w, rc;

    if (c->n_workers == 0)
        return err_set(err, ERR_BUSY, "there is no device to compute on: %.120s", c->missing);
    rc = ERR_BUSY;
    core_loads(c, fps);
    if (frames_per_s > 0)
        promised(c, full);
    while (rc && (w = best_of(c, fps, tried)) >= 0) {
        tried[w] = true;
        if (frames_per_s > 0 && full[w] + asked > frames_per_s) {
            rc = too_many(full[w], asked, frames_per_s, err);
            continue;
        }
        *worker = c->workers[w];
        rc = worker_budget_take(*worker, setup->memory_bytes, err);
    }
    return rc;
}

int core_place_confirm(struct core *c, const struct session *s, double frames_per_s,
                       struct err *err)
{
    double fps[CORE_DEVICES_MAX], own = (double)session_setup(s)->options.fps;

    if (frames_per_s <= 0)
        return 0;
    promised(c, fps);
    for (int w = 0; w < c->n_workers; w++)
        if (c->workers[w] == session_work(s)->worker && fps[w] > frames_per_s)
            return too_many(fps[w] - own, own, frames_per_s, err);
    return 0;
}

/* Seconds until the session's retention is over; INFINITY if it is wanted, or kept for ever. */
static double rest_s(struct session *s, double now_s)
{
    struct session_info info;

    session_get_info(s, &info);
    if (info.options.retention_s < 0 || info.ingest_clients || info.view_clients ||
        info.counts.queued)
        return INFINITY;
    return info.changed_s + info.options.retention_s - now_s;
}

int core_retry_s(struct core *c)
{
    double now_s = clock_unix_s(), first_s = INFINITY, rest;
    struct session *page[64];
    uint64_t cursor = 0;
    int n;

    while ((n = registry_page(c->registry, page, 64, &cursor)) > 0)
        for (int i = 0; i < n; i++) {
            rest = rest_s(page[i], now_s);
            first_s = rest < first_s ? rest : first_s;
            session_unref(page[i]);
        }
    if (first_s > CORE_RETRY_LIMIT_S)
        return CORE_RETRY_S;
    return first_s < 1 ? 1 : (int)ceil(first_s);
}
