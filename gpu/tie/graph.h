/*
 * graph.h - places submaps, or keyframes, by relative poses of pairs of them
 *
 * An edge gives the pose in node b of a camera of node a. Nodes that are not fixed move so that all
 * edges fit best, weighted by their accuracy; a cycle of edges shares its error, and an edge that
 * contradicts the others counts little.
 * Memory:  at most 48 bytes times the square of the moving nodes; along a path only the nodes
 *          between a node and the first that it is tied to count
 * Maths:   MATH.md (W8), (W12)
 */
#pragma once

#include "gpu/tie/small.h"

#ifdef __cplusplus
extern "C" {
#endif

struct graph_edge {
    uint32_t a, b;
    struct sim3 T_a, T_b; /* one camera in submap a, and in submap b */
    double sigma_m, sigma_rad;
    bool sure; /* 1: it counts fully even against the others */
};

struct graph_node {
    bool fixed, known;
    struct sim3 T; /* submap (of a keyframe: camera) to the session's world */
};

/*
 * graph_begin / graph_round / graph_end - the solution round by round, for callers with other work
 *
 * In/out:  node [n_nodes], those that are known move from where they are; they and edge [n_edges]
 *          are borrowed until graph_end()
 * In:      wrong: deviations at which an unsure edge counts a quarter
 * Returns: graph_begin(): 0; ERR_MEMORY: graph_end() is not needed. graph_round(): whether a node
 *          moved enough for another round
 * Cost:    a round: 0.7 s for 384 nodes that are tied all over, milliseconds for a path of
 *          as many with a few loops
 */
struct graph;
MUST_CHECK int graph_begin(struct graph **g, struct graph_node *node, uint32_t n_nodes,
                           const struct graph_edge *edge, uint32_t n_edges, struct err *err);
bool graph_round(struct graph *g, double wrong);
void graph_end(struct graph **g);

/* An edge's error with its nodes where they are: the sum of six squares, in its deviations. */
double graph_off(const struct graph_node *node, const struct graph_edge *edge);

/* In/out: node [n_nodes]: afterwards exactly those that edges connect with a fixed one are known.
 * Returns 0; ERR_MEMORY: nodes stand where edges from a fixed one put them. */
MUST_CHECK int graph_solve(struct graph_node *node, uint32_t n_nodes, const struct graph_edge *edge,
                           uint32_t n_edges, double wrong, struct err *err);

#ifdef __cplusplus
}
#endif
