/*
 * state_section.h - a section of a session's state on disk, as the room that owns it describes it
 *
 * A room has one constant row for each section (proto/section.h); daemon/core.c lists all rows, and
 * the store saves and loads the sections in the order of that list.
 * Optional: SECTION_OPTIONAL: a session is recovered without the section, where a checkpoint lacks
 *           it, this build does not read its version, or load() fails.
 * Threads:  bytes, save and settled are called by the worker's thread between two frames of the
 *           session, load in a session that no other thread knows yet.
 */
#pragma once

#include "proto/section.h"

#include <stdbool.h>

struct session;

struct state_section {
    uint32_t tag;            /* SECTION_TAG('D', ...) */
    uint16_t version, flags; /* save() writes this version, load() reads it and earlier ones */
    /* Returns the most bytes that the next save() writes. 0: there is no section this time. */
    size_t (*bytes)(struct session *s);
    /* Out: *len, 0 = nothing to keep. Returns 0; ERR_LIMIT: cap; ERR_MEMORY. */
    int (*save)(struct session *s, uint8_t *buf, size_t cap, size_t *len, struct err *err);
    /* Returns 0; ERR_INPUT: not valid; ERR_MEMORY. */
    int (*load)(struct session *s, const struct section *in, struct err *err);
    /* May the session be saved now? Where the answer is no, the room wakes the session's device
     * turn when that changes. NULL: always. */
    bool (*settled)(struct session *s);
};
