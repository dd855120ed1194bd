/* Chooses the device of a new session. */
#include "daemon/core_internal.h"

#include "daemon/clock.h"
#include "daemon/session/session_info.h"

#include <math.h>
#include <string.h>

void core_take_census(struct core *c, struct core_census *all)
{
    struct registry_walk walk = {c->registry};
    struct session_info info;
    struct session *s;

    memset(all, 0, sizeof(*all));
    while ((s = registry_next(&walk))) {
        session_get_info(s, &info);
        all->states[info.state]++;
        all->views[info.views.state]++;
        all->points += info.points;
        for (int w = 0; w < c->n_workers; w++) {
            struct core_census_device *d = &all->devices[w];
            if (c->workers[w] != session_work(s)->worker)
                continue;
            d->sessions++;
            d->queued += (uint32_t)info.counts.queued;
            d->load_fps += session_load(s);
            if (info.state != SESSION_CLOSED && !info.fault[0])
                d->promised_fps += (double)info.options.fps;
        }
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

/* Returns the best device that was not tried; -1 = none is left. */
static int best_of(const struct core *c, const struct core_census *all, const bool *tried)
{
    int best = -1, least = 0;

    for (int w = 0; w < c->n_workers; w++) {
        int level = (int)all->devices[w].load_fps / CORE_PLACE_FPS;
        if (tried[w])
            continue;
        if (best < 0 || level < least ||
            (level == least && share_taken(c, w) < share_taken(c, best))) {
            best = w;
            least = level;
        }
    }
    return best;
}

/* Marks devices as tried that are too slow or too small for the session's networks. A recovered
 * session keeps its device. Returns 0; ERR_INPUT: no device is left. */
static int leave_out(struct core *c, const struct session_setup *setup, bool *tried,
                     struct err *err)
{
    const struct session_options *o = &setup->options;
    uint64_t configured = (uint64_t)core_config(c).limits.net_pixels, most = 0, pixels;
    uint64_t wanted = setup->id[0] ? 0 : (uint64_t)o->net_w * (uint64_t)o->net_h;

    for (int w = 0; w < c->n_workers; w++) {
        pixels = worker_net_pixels(c->workers[w], configured);
        tried[w] = wanted > pixels;
        most = pixels > most ? pixels : most;
    }
    return wanted <= most ? 0
                          : err_at(err, ERR_INPUT, "/net",
                                   "%d x %d is %llu pixels, the devices here take %llu", o->net_w,
                                   o->net_h, (unsigned long long)wanted, (unsigned long long)most);
}

/* Chooses the device; `take` takes the bytes from its budget. */
static int find_place(struct core *c, const struct session_setup *setup, double frames_per_s,
                      bool take, struct worker **worker, struct err *err)
{
    double asked = (double)setup->options.fps, promised;
    bool tried[CORE_DEVICES_MAX] = {false};
    struct core_census all;
    int w, rc = ERR_BUSY;

    if (c->n_workers == 0)
        return err_set(err, rc, "there is no device to compute on: %.120s", c->missing);
    if (leave_out(c, setup, tried, err))
        return ERR_INPUT;
    core_take_census(c, &all);
    while (rc && (w = best_of(c, &all, tried)) >= 0) {
        tried[w] = true;
        promised = all.devices[w].promised_fps;
        if (frames_per_s > 0 && promised + asked > frames_per_s) {
            rc = too_many(promised, asked, frames_per_s, err);
            continue;
        }
        *worker = c->workers[w];
        rc = take ? worker_budget_take(*worker, setup->memory_bytes, err)
                  : worker_budget_has(*worker, setup->memory_bytes, err);
    }
    return rc;
}

int core_place(struct core *c, const struct session_setup *setup, double frames_per_s,
               struct worker **worker, struct err *err)
{
    return find_place(c, setup, frames_per_s, true, worker, err);
}

int core_place_fits(struct core *c, const struct session_setup *setup, double frames_per_s,
                    struct err *err)
{
    struct worker *ignored;

    return find_place(c, setup, frames_per_s, false, &ignored, err);
}

int core_place_confirm(struct core *c, const struct session *s, double frames_per_s,
                       struct err *err)
{
    double own = (double)session_setup(s)->options.fps;
    struct core_census all;

    if (frames_per_s <= 0)
        return 0;
    core_take_census(c, &all);
    for (int w = 0; w < c->n_workers; w++)
        if (c->workers[w] == session_work(s)->worker && all.devices[w].promised_fps > frames_per_s)
            return too_many(all.devices[w].promised_fps - own, own, frames_per_s, err);
    return 0;
}

/* Returns the seconds until the session's retention is over; INFINITY if in use, or kept for
 * ever. */
static double retention_left_s(struct session *s, double now_s)
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
    double now_s = clock_unix_s(), first_s = INFINITY;
    struct registry_walk walk = {c->registry};
    struct session *s;

    while ((s = registry_next(&walk)))
        first_s = fmin(first_s, retention_left_s(s, now_s));
    if (first_s > CORE_RETRY_LIMIT_S)
        return CORE_RETRY_S;
    return first_s < 1 ? 1 : (int)ceil(first_s);
}
