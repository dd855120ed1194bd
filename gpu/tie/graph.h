/*
 * graph.h - where worlds, or keyframes, lie by all that is known of two of them each
 *
 * An edge says how a camera of node a lies in node b. Nodes that are not fixed move so that all
 * edges fit best, each by how well it is known; a cycle of edges spreads its error over them, and
 * an edge that contradicts the others counts little.
 * Memory:  48 bytes times the square of the nodes that move where all are tied to all; where nodes
 *          are in the order of a path, what lies between a node and the first that it is tied to
 * Maths:   MATH.md (W8), (W12)
 */
#pragma once

#include "gpu/tie/small.h"

#ifdef __cplusplus
extern "C" {
#endif

struct graph_edge {
    uint32_t a, b;
    struct sim3 T_a, T_b; /* one camera in world a, and in world b */
    double sigma_m, sigma_rad;
    bool sure; /* it is not judged by the others */
};

struct graph_node {
    bool fixed, known;
    struct sim3 T; /* world (of a keyframe: camera) to the session's */
};

/*
 * graph_begin / graph_round / graph_end - the solution round by round, for callers with other work
 *
 * In/out:  node [n_nodes], those that are known move from where they are; they and edge [n_edges]
 *          are borrowed until graph_end()
 * In:      wrong: deviations at which an edge that is not sure counts a quarter
 * Returns: graph_begin(): 0; ERR_MEMORY: graph_end() is not needed. graph_round(): whether anything
 *          moved that is worth another round
 * Cost:    a round: 0.7 s for 384 nodes that are tied all over, milliseconds for a path of
 *          as many with a few loops
 */
struct graph;
MUST_CHECK int graph_begin(struct graph **g, struct graph_node *node, uint32_t n_nodes,
                           const struct graph_edge *edge, uint32_t n_edges, struct err *err);
bool graph_round(struct graph *g, double wrong);
void graph_end(struct graph **g);

/* What an edge is off by where its nodes are now: the sum of six squares, in its deviations. */
double graph_off(const struct graph_node *node, const struct graph_edge *edge);

/* In/out: node [n_nodes]: those that edges lead to from a fixed one are known then, no others.
 * Returns 0; ERR_MEMORY: nodes are as the edges from a fixed one leave them. */
MUST_CHECK int graph_solve(struct graph_node *node, uint32_t n_nodes, const struct graph_edge *edge,
                           uint32_t n_edges, double wrong, struct err *err);

#ifdef __cplusplus
}
#endif
