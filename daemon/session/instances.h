/*
 * instances.h - the things of a session's world that enrolled objects were recognised in
 *
 * Each picture that is looked at says which objects it shows and where. What stands where a thing
 * of the same object was is that thing. What stands elsewhere is a thing that moved, where only one
 * of that object is missing and only one was found anew; else it is a new one. A thing is lost when
 * INSTANCES_MISSES pictures in a row show through the place where it was; that it was not
 * recognised, or is out of sight, says nothing.
 *
 * Order:   pictures that come in the same order give the same things, numbers and history
 * Owner:   a session, under whose lock all calls are made
 */
#ifndef RECOND_DAEMON_INSTANCES_H
#define RECOND_DAEMON_INSTANCES_H

#include "proto/bytes.h"
#include "proto/types.h"
#include "proto/wire/control.h"

#define INSTANCES_MAX 64      /* a mask of 64 bits names them all */
#define INSTANCES_HISTORY 256 /* of the last changes */
#define INSTANCES_MISSES 2
#define INSTANCES_NEAR_M 0.1f /* between the middles of what is one thing; half its size if more */
#define INSTANCES_MAX_M 1e6f  /* of a pose */

/* What a picture shows. */
struct instances_sight {
    const char *object, *class_name;
    float box[6]; /* of the object */
    struct rigid T_wo;
    float score, support;
};

/* What a picture says of a thing that was not recognised in it. */
enum instances_view { INSTANCES_UNSEEN, INSTANCES_THERE, INSTANCES_GONE };

/* A picture that was looked at. */
struct instances_look {
    uint64_t seq, revision;
    uint32_t submap;
    int n;
    const struct instances_sight *at; /* the best supported first */
    /* Of an object at a pose of that submap. */
    enum instances_view (*view)(void *ctx, const char *object, const struct rigid *T_wo);
    void *ctx;
};

struct instances {
    uint64_t n_looks, n_skipped; /* pictures that were looked at; that were due and were not */
    uint32_t last_id;
    int n;
    struct control_object at[INSTANCES_MAX];
    uint8_t misses[INSTANCES_MAX];
    /* Changes, the newest at n_history - 1: a ring, as they were told */
    uint64_t n_history;
    struct control_object history[INSTANCES_HISTORY];
};

/* Takes over what a picture says. Returns the mask of the entries that clients are told of. */
uint64_t instances_update(struct instances *s, const struct instances_look *look);

/* The last changes, the oldest first, into list [INSTANCES_HISTORY]; returns how many. */
int instances_history(const struct instances *s, struct control_object *list);

/* As bytes, and back, of a stranger. */
size_t instances_bytes(const struct instances *s);
void instances_put(struct bytes_writer *w, const struct instances *s);
/* Returns 0; ERR_INPUT: s is empty then. */
MUST_CHECK int instances_get(struct instances *s, struct bytes_reader *r, struct err *err);

#endif
