/*
 * registry.h - the sessions that exist, by id and in order of creation
 *
 * Threads: any; one mutex inside; nothing else is locked under it. Answers hold a reference of
 *          their own.
 */
#pragma once

#include "daemon/session/session.h"

struct registry;

MUST_CHECK int registry_new(struct registry **r, struct err *err);
void registry_free(struct registry **r);

/* Takes over the caller's reference. Returns 0; ERR_BUSY: `max` sessions exist; ERR_MEMORY. */
MUST_CHECK int registry_add(struct registry *r, struct session *s, int max, struct err *err);
/* Returns a session with a reference of the caller's; NULL if there is none. */
struct session *registry_find(struct registry *r, const char *id);
/* Removes a session and gives its reference to the caller; NULL if it was removed before. */
struct session *registry_remove(struct registry *r, struct session *s);
/* Fills up to cap sessions with a rank above *cursor, which moves on; returns their number. */
int registry_page(struct registry *r, struct session **sessions, int cap, uint64_t *cursor);
int registry_count(struct registry *r);

#define REGISTRY_PAGE 64

/* A walk over all sessions, which may change meanwhile; begins with `registry` alone set. */
struct registry_walk {
    struct registry *registry;
    struct session *page[REGISTRY_PAGE];
    int at, n;
    uint64_t cursor;
};
/* Returns the next session, valid until the next call; NULL at the end. Walks go to the end. */
struct session *registry_next(struct registry_walk *w);
