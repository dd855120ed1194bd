/*
 * start_watch.h - a long start: the service manager is asked for more time, a signal still ends it
 *
 * Main opens devices and recovers sessions before it can handle signals, and that takes as long
 * as it takes: networks that a device sees for the first time, journals on a cold disk. Meanwhile
 * a thread asks for more time every few seconds, but only while the process computes or reads: a
 * start that hangs is ended by the service manager's own time limit.
 * Threads: main starts and stops it; on_signal comes from its thread.
 */
#pragma once

#include "proto/err.h"

#include <stdint.h>

#define START_WATCH_LIMIT_US (30 * 60 * 1000000ull) /* a longer start is stuck */

struct start_watch;

struct start_watch_config {
    uint64_t period_us; /* 0 = five seconds */
    /* called when a blocked SIGTERM or SIGINT is pending; NULL = not checked */
    void (*on_signal)(void);
};

/* Returns 0; ERR_MEMORY; ERR_IO: no thread. */
MUST_CHECK int start_watch_begin(struct start_watch **watch,
                                 const struct start_watch_config *config, struct err *err);
/* No extension is asked for after it returns. Takes NULL. */
void start_watch_end(struct start_watch **watch);
