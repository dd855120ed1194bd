/* tying_internal.h - what tying*.c share */
#ifndef RECOND_DAEMON_TYING_INTERNAL_H
#define RECOND_DAEMON_TYING_INTERNAL_H

#include "daemon/work/bundling.h"
#include "daemon/work/tying.h"
#include "gpu/tie/convention.h"
#include "proto/lock.h"

#define TYING_WAITING 8 /* keyframes of a session; while there are so many, no other is taken */

struct tying {
    struct turn_pool pool;
    struct describe_room room; /* of the thread */
    void (*ended)(struct session *s);
};

/* A keyframe that is not described yet. Its memory stays for the next one. */
struct tying_waiting {
    uint32_t world;
    bool cut; /* its world goes on where another one ended */
    struct rigid T_wc;
    struct describe_picture picture;
    uint8_t *grey;
    float *depth;
    size_t pixels; /* of depth */
};

struct tying_world {
    struct rigid last;  /* of its keyframes */
    uint32_t n;         /* keyframes */
    bool claimed, mine; /* of the thread that ties; mine: it has placed it */
};

struct tying_part {
    struct session *session;
    struct tying *tying;
    struct turn_entry turn;
    struct ties *ties;
    struct lock lock; /* of n_kept, n_seen, n_described, bundle */
    bool bundle;      /* it is asked for, or under way */
    uint32_t n_kept, n_seen;
    uint32_t n_described; /* of n_seen: all but those for which there was no memory */
    uint32_t n_saved;     /* that the next tying_save() writes; of the worker */
    /* keyframe n at n % TYING_WAITING: the committer's before n_kept says that it is there, then
     * the thread's until n_seen does */
    struct tying_waiting waiting[TYING_WAITING];
    /* of the worker, then the committer */
    uint32_t n;
    struct tying_world worlds[API_SUBMAPS_MAX];
    /* of the thread that ties */
    struct convention_votes votes;
    uint32_t judged;            /* keyframe */
    enum convention convention; /* what poses mean; it is not judged again */
    struct confirm_result confirmed;
    struct ties_place places[TIES_WORLDS];
    struct api_submap list[API_SUBMAPS_MAX];
    struct bundling *bundling; /* NULL: none is under way */
};

/* The thread that ties has work of the session. */
static inline void tying_kick(struct tying_part *p)
{
    session_ref(p->session);
    if (!turn_kick(p->tying->pool.turns, &p->turn))
        session_unref(p->session);
}

/* Are its worlds tied? Does it keep keyframes? */
bool tying_ties(const struct session_options *o);
bool tying_keeps(const struct session_options *o);
/* p->places and p->list: where worlds lie so far; those that ties placed are fixed if all_fixed.
 * Returns how many there are. */
int tying_find_places(struct tying_part *p, bool all_fixed);
/* By the thread that ties, where all keyframes are described: one step of the bundle that was asked
 * for. Returns whether there are more. */
bool tying_step_bundle(struct tying_part *p);

#endif
