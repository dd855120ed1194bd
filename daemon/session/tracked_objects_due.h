/*
 * tracked_objects_due.h - the changes of tracked objects that one client was not told yet
 *
 * An object that changes again before the client has read of it is told once, in its newest state.
 * Owner:   an outbox, under whose lock all calls are made
 */
#pragma once

#include "daemon/session/tracked_objects.h"

struct tracked_objects_due {
    struct control_object *at; /* [TRACKED_OBJECTS_MAX]; NULL before the first object */
    uint64_t mask;             /* entries that are due */
    uint32_t searching;        /* pictures being searched: more may become due */
};

/* Marks the entries of the mask as due. Returns false if there is no memory. */
bool tracked_objects_due_note(struct tracked_objects_due *d, const struct control_object *all,
                              uint64_t mask);
/* Fills the next message; returns false if none is due. */
bool tracked_objects_due_next(struct tracked_objects_due *d, struct control_objects *message);
void tracked_objects_due_free(struct tracked_objects_due *d);
