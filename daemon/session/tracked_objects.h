/*
 * tracked_objects.h - where enrolled objects stand in a session's world
 *
 * Each searched picture gives detections: objects and their poses. A detection near a tracked
 * object of the same name is that object. A detection elsewhere is an object that moved, if just
 * one of that name is missing and one detection is new; else it is a new object. A tracked object
 * is lost when TRACKED_OBJECTS_MISSES pictures in a row show through its place; a missing detection
 * alone, or being out of sight, says nothing.
 *
 * Order:   pictures that come in the same order give the same objects, numbers and history
 * Owner:   a session, under whose lock all calls are made
 */
#pragma once

#include "proto/bytes.h"
#include "proto/types.h"
#include "proto/wire/control.h"

#define TRACKED_OBJECTS_MAX 64      /* a mask of 64 bits has a bit for each */
#define TRACKED_OBJECTS_HISTORY 256 /* the last changes */
#define TRACKED_OBJECTS_MISSES 2
#define TRACKED_OBJECTS_NEAR_M \
    0.1f /* metres between one object's detections, or half its size if more */
#define TRACKED_OBJECTS_MAX_M 1e6f /* metres of a pose's translation */

/* A detection: an object and its pose in one picture. */
struct tracked_objects_detection {
    const char *object, *class_name;
    float box[6]; /* bounds of the object */
    struct rigid T_wo;
    float score, support;
};

/* The visibility of a tracked object that was not detected in a picture. */
enum tracked_objects_visibility {
    TRACKED_OBJECTS_UNSEEN,
    TRACKED_OBJECTS_THERE,
    TRACKED_OBJECTS_GONE
};

/* A searched picture. */
struct tracked_objects_search {
    uint64_t seq, revision;
    uint32_t submap;
    int n;
    const struct tracked_objects_detection *at; /* the best supported first */
    /* Called for each object at a pose of that submap. */
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
    /* Ring of changes as clients were told, the newest at n_history - 1. */
    uint64_t n_history;
    struct control_object history[TRACKED_OBJECTS_HISTORY];
};

/* Updates the objects from a picture. Returns the mask of the entries that clients are told of. */
uint64_t tracked_objects_update(struct tracked_objects *s,
                                const struct tracked_objects_search *search);

/* Copies the last changes, oldest first, to list [TRACKED_OBJECTS_HISTORY]; returns how many. */
int tracked_objects_history(const struct tracked_objects *s, struct control_object *list);

/* As bytes, and back; the bytes are untrusted. */
size_t tracked_objects_bytes(const struct tracked_objects *s);
void tracked_objects_put(struct bytes_writer *w, const struct tracked_objects *s);
/* Returns 0; ERR_INPUT: s is empty then. */
MUST_CHECK int tracked_objects_get(struct tracked_objects *s, struct bytes_reader *r,
                                   struct err *err);
