/*
 * places.h - where the submaps of a session lie in its world
 *
 * The first submap is the session's world. Any other one is unplaced until it is told where it is.
 * Owner:   a session, under whose lock all calls are made; copies belong to their holders, as
 *          what is due to a client belongs to its outbox
 */
#ifndef RECOND_DAEMON_PLACES_H
#define RECOND_DAEMON_PLACES_H

#include "api/api.h"
#include "proto/types.h"
#include "proto/wire/delta.h"

#define PLACES_MAX_M 1e6f /* from the world's origin */

struct places {
    bool told[API_SUBMAPS_MAX];
    bool tied[API_SUBMAPS_MAX]; /* of what is told: by ties, not by a client */
    /* where told: q x y z w, t x y z, as it was told, so that it is the same from the disk */
    float pose[API_SUBMAPS_MAX][7];
};

/* Fills T and pose (either may be NULL); returns whether the submap is placed. */
bool places_find(const struct places *p, uint32_t submap, struct rigid *T, float pose[7]);
/* Returns 0; ERR_INPUT: no pose. */
MUST_CHECK int places_tell(struct places *p, uint32_t submap, const float pose[7], struct err *err);
/* The same of a submap in `to` as in `from`. */
void places_copy(struct places *to, const struct places *from, uint32_t submap);
/* Takes over what ties say, but for submaps of which a client told. */
void places_tie(struct places *p, const struct places *by_ties);
/* 0 while nothing was told; two sets that differ give different numbers. */
uint64_t places_mix(const struct places *p);

/* What one client has still to be told of places; what was told before is not told again. */
struct places_due {
    struct places newest;
    bool heard[API_SUBMAPS_MAX], due[API_SUBMAPS_MAX];
    int n;
};
/* A submap is there, or lies elsewhere now. The first one need not be told before it was moved. */
void places_due_note(struct places_due *d, const struct places *p, uint32_t submap);
/* Fills the transform that is next; returns false where none is due. */
bool places_due_next(struct places_due *d, struct delta *transform);

#endif
