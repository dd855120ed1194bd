/*
 * results.h - the result of a frame, ready to be sent: a message that many clients may hold
 *
 * A session whose kind has results makes one for each used frame and shows it to its clients
 * (session_show()). Outboxes hold references and compress it as their client asked. Memory of
 * results without references is used again, so a session stops allocating when it has as many as
 * its clients hold at once: OUTBOX_WINDOWS windows for the sender, two for each viewer.
 * Threads: any; one mutex inside.
 */
#pragma once

#include "proto/err.h"

#include <stddef.h>
#include <stdint.h>

struct results;

struct frame_result {
    struct results *of;
    struct frame_result *next; /* next unused one */
    int refs;                  /* guarded by the lock of `of` */
    uint64_t seq;              /* seq of its frame */
    size_t len, cap;
    uint8_t msg[]; /* [len] proto/wire/result.h, not yet compressed */
};

MUST_CHECK int results_new(struct results **r, struct err *err);
/* Call it when no reference is left. */
void results_free(struct results **r);

/* Returns room for cap bytes, with one reference; NULL: there is no memory. */
struct frame_result *results_take(struct results *r, size_t cap);
struct frame_result *results_ref(struct frame_result *r);
void results_unref(struct frame_result *r); /* takes NULL */
