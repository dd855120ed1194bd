/*
 * reconctl_meter.h - counters, latencies and the progress bar of a push
 *
 * One meter counts for all sessions of a push; its functions may be called from their threads.
 */
#ifndef RECOND_API_RECONCTL_METER_H
#define RECOND_API_RECONCTL_METER_H

#include "api/ctl/reconctl_progress.h"
#include "proto/wire/control.h"

#include <stdio.h>

#define RECONCTL_METER_REASONS CONTROL_REASONS

struct reconctl_meter;

struct reconctl_meter_view {
    uint64_t sent, answered, skipped; /* frames skipped by --realtime, see push */
    uint64_t by_status[3], by_reason[RECONCTL_METER_REASONS];
    /* frames sent again that the server already had; whether it used them is unknown */
    uint64_t duplicates;
    double elapsed_s, fps; /* seconds from the first frame to the last answer */
    double p50_ms, p95_ms, p99_ms;
};

MUST_CHECK int reconctl_meter_new(struct reconctl_meter **m, struct err *err);
void reconctl_meter_free(struct reconctl_meter **m);

void reconctl_meter_sent(struct reconctl_meter *m);
void reconctl_meter_skipped(struct reconctl_meter *m);
void reconctl_meter_answered(struct reconctl_meter *m, const struct control_ack *ack,
                             double latency_s);
void reconctl_meter_duplicate(struct reconctl_meter *m);
void reconctl_meter_get(struct reconctl_meter *m, struct reconctl_meter_view *view);

/* Shows v. total: 0 = unknown; note: a word, or "". */
void reconctl_meter_show(struct reconctl_progress *p, const struct reconctl_meter_view *v,
                         uint64_t total, const char *noun, uint64_t items, double bytes_each,
                         const char *note);

#endif
