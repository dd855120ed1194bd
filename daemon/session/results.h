/*
 * results.h - what a frame became, ready to be sent to clients: a message that many may hold
 *
 * A session whose kind has results makes one for each used frame and shows it to its clients
 * (session_show()). Outboxes hold references and compress it as their client asked. The memory of
 * results that nothing refers to is used again, so that a session allocates only until it has as
 * many as its clients hold at once: OUTBOX_WINDOWS windows for the one that sends frames, two for
 * each that views.
 * Threads: any; one mutex inside.
 */
#ifndef RECOND_DAEMON_RESULTS_H
#define RECOND_DAEMON_RESULTS_H

#include "proto/err.h"

#include <stddef.h>
#include <stdint.h>

struct results;

struct frame_result {
    struct results *of;
    struct frame_result *next; /* among the unused */
    int refs;                  /* under the lock of `of` */
    uint64_t seq;              /* of its frame */
    size_t len, cap;
    uint8_t msg[]; /* [len] proto/wire/result.h, not yet compressed */
};

MUST_CHECK int results_new(struct results **r, struct err *err);
/* No reference is left. */
void results_free(struct results **r);

/* Room for cap bytes, with one reference; NULL: there is no memory. */
struct frame_result *results_take(struct results *r, size_t cap);
struct frame_result *results_ref(struct frame_result *r);
void results_unref(struct frame_result *r); /* takes NULL */

#endif
