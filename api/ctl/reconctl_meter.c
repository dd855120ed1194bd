#include "api/ctl/reconctl_meter.h"

#include "api/ctl/reconctl.h"
#include "proto/geom/robust.h"
#include "proto/lock.h"

#include <stdlib.h>
#include <string.h>

#define LATENCIES 65536 /* number of the newest latencies, which are kept */

struct reconctl_meter {
    struct lock lock;
    struct reconctl_meter_view v;
    double first_s, last_s;
    uint64_t n;              /* number of all latencies */
    float ms[LATENCIES];     /* guarded by lock, like all members above */
    float sorted[LATENCIES]; /* time of the last reconctl_meter_get() */
};

int reconctl_meter_new(struct reconctl_meter **m, struct err *err)
{
    *m = calloc(1, sizeof **m);
    if (!*m)
        return err_set(err, ERR_MEMORY, "no memory for counters");
    lock_init(&(*m)->lock, LOCK_METER);
    return 0;
}

void reconctl_meter_free(struct reconctl_meter **m)
{
    if (*m)
        lock_destroy(&(*m)->lock);
    free(*m);
    *m = NULL;
}

void reconctl_meter_sent(struct reconctl_meter *m)
{
    lock_take(&m->lock);
    if (m->v.sent++ == 0)
        m->first_s = m->last_s = reconctl_now_s();
    lock_give(&m->lock);
}

void reconctl_meter_skipped(struct reconctl_meter *m)
{
    lock_take(&m->lock);
    m->v.skipped++;
    lock_give(&m->lock);
}

void reconctl_meter_answered(struct reconctl_meter *m, const struct control_ack *ack,
                             double latency_s)
{
    lock_take(&m->lock);
    m->last_s = reconctl_now_s();
    m->v.answered++;
    if ((unsigned)ack->status < 3)
        m->v.by_status[ack->status]++;
    if (ack->reason && (unsigned)ack->reason < RECONCTL_METER_REASONS)
        m->v.by_reason[ack->reason]++;
    if (latency_s >= 0)
        m->ms[m->n++ % LATENCIES] = (float)(1e3 * latency_s);
    lock_give(&m->lock);
}

void reconctl_meter_duplicate(struct reconctl_meter *m)
{
    lock_take(&m->lock);
    m->v.duplicates++;
    lock_give(&m->lock);
}

/* Ranking takes milliseconds. It works on a copy outside of the lock, because sessions' threads
 * that waited for the lock would measure the wait as latency. */
void reconctl_meter_get(struct reconctl_meter *m, struct reconctl_meter_view *view)
{
    size_t n;

    lock_take(&m->lock);
    n = m->n < LATENCIES ? (size_t)m->n : LATENCIES;
    memcpy(m->sorted, m->ms, n * sizeof *m->ms);
    *view = m->v;
    view->elapsed_s = m->last_s - m->first_s;
    lock_give(&m->lock);
    if (n) {
        view->p50_ms = (double)robust_select(m->sorted, n, (n - 1) * 50 / 100);
        view->p95_ms = (double)robust_select(m->sorted, n, (n - 1) * 95 / 100);
        view->p99_ms = (double)robust_select(m->sorted, n, (n - 1) * 99 / 100);
    }
    view->fps = view->elapsed_s > 0 ? (double)view->answered / view->elapsed_s : 0;
}

static void show_count(char *buf, size_t cap, uint64_t n)
{
    if (n < 10000)
        snprintf(buf, cap, "%llu", (unsigned long long)n);
    else if (n < 10000000)
        snprintf(buf, cap, "%.0fk", (double)n * 1e-3);
    else
        snprintf(buf, cap, "%.1fM", (double)n * 1e-6);
}

void reconctl_meter_show(struct reconctl_progress *p, const struct reconctl_meter_view *v,
                         uint64_t total, const char *noun, uint64_t items, double bytes_each,
                         const char *note)
{
    double done = total ? (double)v->answered / (double)total : -1;
    char count[32], of[32] = "";
    const size_t cap = RECONCTL_PROGRESS_PART;

    show_count(count, sizeof count, items);
    if (total)
        snprintf(of, sizeof of, "/%llu", (unsigned long long)total);
    snprintf(p->part[0], cap, "%llu%s frames", (unsigned long long)v->answered, of);
    snprintf(p->part[1], cap, "%s", note);
    reconctl_progress_left(p->part[2], done, v->elapsed_s);
    snprintf(p->part[3], cap, "%s %ss", count, noun);
    snprintf(p->part[4], cap, "%.1f/s", v->fps);
    snprintf(p->part[5], cap, "p50 %.0f ms", v->p50_ms);
    snprintf(p->part[6], cap, "p95 %.0f ms", v->p95_ms);
    snprintf(p->part[7], cap, "%.2f bytes/%s", bytes_each, noun);
    reconctl_progress_show(p, done);
}
