/*
 * places.h - where the submaps of a session lie in its world
 *
 * The first submap's frame is the session's world. Any other submap is unplaced until it gets a
 * pose.
 * Owner:   a session, under whose lock all calls are made; copies belong to their holders
 */
#pragma once

#include "api/api.h"
#include "proto/types.h"
#include "proto/wire/delta.h"

#define PLACES_MAX_M 1e6f /* metres from the world's origin */

struct places {
    bool told[API_SUBMAPS_MAX];
    bool tied[API_SUBMAPS_MAX]; /* placed by ties and not by a client */
    /* q x y z w, t x y z, as it came in, so that it is the same from the disk */
    float pose[API_SUBMAPS_MAX][7];
};

/* Fills T and pose (either may be NULL); returns whether the submap is placed. */
bool places_find(const struct places *p, uint32_t submap, struct rigid *T, float pose[7]);
/* Returns 0; ERR_INPUT: no pose. */
MUST_CHECK int places_tell(struct places *p, uint32_t submap, const float pose[7], struct err *err);
/* Copies one submap's place. */
void places_copy(struct places *to, const struct places *from, uint32_t submap);
/* Takes over places by ties, except of submaps that a client placed. */
void places_tie(struct places *p, const struct places *by_ties);
/* Returns a hash of all places, 0 while there are none. */
uint64_t places_mix(const struct places *p);

/* The places that one client was not told yet. */
struct places_due {
    struct places newest;
    bool heard[API_SUBMAPS_MAX], due[API_SUBMAPS_MAX];
    int n;
};
/* A submap exists or has moved. The first one is not told before it was moved. */
void places_due_note(struct places_due *d, const struct places *p, uint32_t submap);
/* Fills the next transform; returns false if none is due. */
bool places_due_next(struct places_due *d, struct delta *transform);
