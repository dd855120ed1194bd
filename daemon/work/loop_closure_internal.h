/* loop_closure_internal.h - a session's part of loop_closure.c, also for tests */
#pragma once

#include "daemon/work/bundling.h"
#include "daemon/work/loop_closure.h"
#include "gpu/tie/convention.h"

#define LOOP_CLOSURE_WAITING 8 /* keyframes of a session; if all wait, no other is taken */

/* A keyframe that is not described yet. Its memory is used again for the next one. */
struct loop_closure_waiting {
    uint32_t submap;
    bool cut; /* its submap continues another one */
    struct rigid T_wc;
    struct describe_picture picture;
    uint8_t *grey;
    float *depth;
    size_t pixels; /* of depth */
};

struct loop_closure_submap {
    struct rigid last;  /* pose of its last keyframe */
    uint32_t n;         /* keyframes */
    bool claimed, mine; /* owned by the slices; mine: they have placed it */
};

struct loop_closure {
    struct session *session;
    struct later_task *task;
    struct ties *ties;
    atomic_bool bundle; /* it is asked for, or under way */
    /* Keyframe n is at n % LOOP_CLOSURE_WAITING: the committer owns it before n_kept counts it,
     * then the slices until n_seen does. */
    atomic_uint n_kept, n_seen;
    atomic_uint n_described; /* those of n_seen for which there was memory */
    uint32_t n_saved;        /* keyframes of the next checkpoint; owned by the worker */
    struct loop_closure_waiting waiting[LOOP_CLOSURE_WAITING];
    /* Owned by the worker, then the committer. */
    uint32_t n;
    struct loop_closure_submap submaps[API_SUBMAPS_MAX];
    /* Owned by the slices. */
    struct convention_votes votes;
    uint32_t judged;            /* keyframe */
    enum convention convention; /* the poses' convention; decided once */
    struct confirm_result confirmed;
    struct ties_place places[TIES_WORLDS];
    struct api_submap list[API_SUBMAPS_MAX];
    struct bundling *bundling; /* NULL: none is under way */
};
