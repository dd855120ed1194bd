/*
 * tracked_objects.h - where enrolled objects stand in a session's world
 *
 * Each picture that is searched says which objects it shows and where. What stands where one of the
 * same name was is that one. What stands elsewhere is one that moved, where only one of that name
 * is missing and only one was found anew; else it is a new one. A tracked object is lost when
 * TRACKED_OBJECTS_MISSES pictures in a row show through the place where it was; that it was not
 * found, or is out of sight, says nothing.
 *
 * Order:   pictures that come in the same order give the same objects, numbers and history
 * Owner:   a session, under whose lock all calls are made
 */
#ifndef RECOND_DAEMON_TRACKED_OBJECTS_H
#define RECOND_DAEMON_TRACKED_OBJECTS_H

#include "proto/bytes.h"
#include "proto/types.h"
#include "proto/wire/control.h"

#define TRACKED_OBJECTS_MAX 64      /* a mask of 64 bits names them all */
#define TRACKED_OBJECTS_HISTORY 256 /* of the last changes */
#define TRACKED_OBJECTS_MISSES 2
#define TRACKED_OBJECTS_NEAR_M 0.1f /* between the middles of what is one; half its size if more */
#define TRACKED_OBJECTS_MAX_M 1e6f  /* of a pose */

/* What a picture shows. */
struct tracked_objects_detection {
    const char *object, *class_name;
    float box[6]; /* of the object */
    struct rigid T_wo;
    float score, support;
};

/* What a picture says of a tracked object that was not found in it. */
enum tracked_objects_visibility {
    TRACKED_OBJECTS_UNSEEN,
    TRACKED_OBJECTS_THERE,
    TRACKED_OBJECTS_GONE
};

/* A picture that was searched. */
struct tracked_objects_search {
    uint64_t seq, revision;
    uint32_t submap;
    int n;
    const struct tracked_objects_detection *at; /* the best supported first */
    /* Of an object at a pose of that submap. */
    enum tracked_objects_visibility (*view)(void *ctx, const char *object,
                                            const struct rigid *T_wo);
    void *ctx;
};

struct tracked_objects {
    uint64_t n_searched, n_skipped; /* pictures that were searched; that were due and were not */
    uint32_t last_id;
    int n;
    struct control_object at[TRACKED_OBJECTS_MAX];
    uint8_t misses[TRACKED_OBJECTS_MAX];
    /* Changes, the newest at n_history - 1: a ring, as they were told */
    uint64_t n_history;
    struct control_object history[TRACKED_OBJECTS_HISTORY];
};

/* Takes over what a picture says. Returns the mask of the entries that clients are told of. */
uint64_t tracked_objects_update(struct tracked_objects *s,
                                const struct tracked_objects_search *look);

/* The last changes, the oldest first, into list [TRACKED_OBJECTS_HISTORY]; returns how many. */
int tracked_objects_history(const struct tracked_objects *s, struct control_object *list);

/* As bytes, and back, of a stranger. */
size_t tracked_objects_bytes(const struct tracked_objects *s);
void tracked_objects_put(struct bytes_writer *w, const struct tracked_objects *s);
/* Returns 0; ERR_INPUT: s is empty then. */
MUST_CHECK int tracked_objects_get(struct tracked_objects *s, struct bytes_reader *r,
                                   struct err *err);

#endif
