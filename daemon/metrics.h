/*
 * metrics.h - counters and histograms of the whole process, and the Prometheus text of them
 *
 * Base units (seconds, bytes); no label takes a session's id or anything a client chose. Time in a
 * queue is kept apart from time spent computing: the first says "more machines", the second "faster
 * code".
 * Threads: any; atomics, no lock.
 */
#pragma once

#include "api/api.h"

#include <stdatomic.h>
#include <stdarg.h>

enum metrics_counter {
    METRICS_FRAME_BYTES,
    METRICS_FRAMES_AGAIN, /* frames that were answered before */
    METRICS_SENT_BYTES,
    METRICS_SENT_BLOCKS,
    METRICS_SENT_POINTS,
    METRICS_SESSIONS_CREATED,
    METRICS_SESSIONS_REFUSED,
    METRICS_STREAMS_OPENED,
    METRICS_POINTS_LEFT_OUT,
    METRICS_CARD_PICTURES, /* pictures decoded by a device's JPEG engines */
    METRICS_BATCHES,
    METRICS_FRAMES_LATER, /* answered `later`: not taken, to come again */
    METRICS_COUNTERS
};

enum metrics_time {
    METRICS_DECODE,  /* decoding one JPEG */
    METRICS_QUEUE,   /* from receipt to the device, decoding left out */
    METRICS_COMPUTE, /* one batch on the device */
    METRICS_COMMIT,  /* one frame's changes into the mirror */
    METRICS_LATENCY, /* from receipt to answer */
    METRICS_TIMES
};

#define METRICS_BUCKETS 16
#define METRICS_STAGES 32

struct metrics_histogram {
    atomic_ullong count[METRICS_BUCKETS + 1]; /* the last is +Inf */
    atomic_ullong sum_us;
};

struct metrics {
    atomic_ullong counters[METRICS_COUNTERS];
    atomic_ullong frames[CONTROL_REFUSED + 1][CONTROL_REASONS]; /* by outcome and reason */
    struct metrics_histogram times[METRICS_TIMES];
    /* By the devices' names of their passes, in order of appearance; summed over frames. */
    struct {
        _Atomic(const char *) name; /* NULL: no more */
        atomic_ullong ns;
    } stages[METRICS_STAGES];
};

void metrics_add(struct metrics *m, enum metrics_counter counter, uint64_t n);
void metrics_frame(struct metrics *m, enum control_status status, enum control_reason reason);
void metrics_observe(struct metrics *m, enum metrics_time time, uint64_t us);
/* name: a constant. Names beyond METRICS_STAGES are not counted. */
void metrics_stage(struct metrics *m, const char *name, float us);

/* A text that grows up to cap and counts on beyond it, so that the length needed is known. */
struct metrics_text {
    char *buf;
    size_t cap, len;
};
void metrics_print(struct metrics_text *t, const char *fmt, ...) ERR_PRINTF(2, 3);
/* Writes "# HELP" and "# TYPE" of a family; once, before its samples. */
void metrics_family(struct metrics_text *t, const char *name, const char *type, const char *help);
/* Writes a family with one sample and no label. */
void metrics_value(struct metrics_text *t, const char *name, const char *type, const char *help,
                   uint64_t value);
/* Escapes a label's value: backslash, quote and line feed. Out: buf [2 * strlen(value) + 1] */
void metrics_label(char *buf, size_t cap, const char *value);

/* Writes everything in *m. */
void metrics_write(struct metrics_text *t, const struct metrics *m);
