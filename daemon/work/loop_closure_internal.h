/* loop_closure_internal.h - what a session has for loop_closure.c, and tests look at */
#ifndef RECOND_DAEMON_LOOP_CLOSURE_INTERNAL_H
#define RECOND_DAEMON_LOOP_CLOSURE_INTERNAL_H

#include "daemon/work/bundling.h"
#include "daemon/work/loop_closure.h"
#include "gpu/tie/convention.h"

#define LOOP_CLOSURE_WAITING \
    8 /* keyframes of a session; while there are so many, no other is taken */

/* A keyframe that is not described yet. Its memory stays for the next one. */
struct loop_closure_waiting {
    uint32_t world;
    bool cut; /* its world goes on where another one ended */
    struct rigid T_wc;
    struct describe_picture picture;
    uint8_t *grey;
    float *depth;
    size_t pixels; /* of depth */
};

struct loop_closure_world {
    struct rigid last;  /* of its keyframes */
    uint32_t n;         /* keyframes */
    bool claimed, mine; /* of the slices; mine: they have placed it */
};

struct loop_closure {
    struct session *session;
    struct later_task *task;
    struct ties *ties;
    atomic_bool bundle; /* it is asked for, or under way */
    /* keyframe n is at n % LOOP_CLOSURE_WAITING: the committer's before n_kept says that it is
     * there, then the slices' until n_seen does */
    atomic_uint n_kept, n_seen;
    atomic_uint n_described; /* of n_seen: all but those for which there was no memory */
    uint32_t n_saved;        /* that the next checkpoint gets; of the worker */
    struct loop_closure_waiting waiting[LOOP_CLOSURE_WAITING];
    /* of the worker, then the committer */
    uint32_t n;
    struct loop_closure_world worlds[API_SUBMAPS_MAX];
    /* of the slices */
    struct convention_votes votes;
    uint32_t judged;            /* keyframe */
    enum convention convention; /* what poses mean; it is not judged again */
    struct confirm_result confirmed;
    struct ties_place places[TIES_WORLDS];
    struct api_submap list[API_SUBMAPS_MAX];
    struct bundling *bundling; /* NULL: none is under way */
};

#endif
