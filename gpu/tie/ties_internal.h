/* ties_internal.h - what ties.c and ties_state.c share */
#pragma once

#include "gpu/tie/graph.h"
#include "gpu/tie/ties.h"
#include "proto/lock.h"

#define TIES_PIECES (TIES_KEYFRAMES / TIES_PIECE)

/* A confirmed pair: a keyframe of submap a and one of submap b. */
struct ties_pair {
    uint32_t a, b; /* keyframes; world of a < world of b */
    int n;
    struct confirm_match match[DESCRIBE_CORNERS];
    struct sim3 X; /* submap a to submap b by this pair alone */
};

struct ties {
    struct tie_params params;
    struct ties_keyframe *piece[TIES_PIECES];
    struct lock lock; /* guards the fields below against ties_next()'s writes */
    struct ties_pair pair[TIES_PAIRS];
    int n_pairs;
    struct ties_claim claim[TIES_CLAIMS];
    int n_claims;
    /* only ties_next()'s thread uses them */
    struct confirm_result result;
    struct graph_edge edge[TIES_PAIRS + TIES_CLAIMS];
    struct graph_node node[TIES_WORLDS];
};
