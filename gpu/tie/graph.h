/*
 * graph.h - where worlds lie by all that is known of two of them each
 *
 * An edge says how a camera of world a lies in world b. Worlds that are not fixed move so that all
 * edges fit best, each by how well it is known; a cycle of edges spreads its error over them, and
 * an edge that contradicts the others counts little.
 * Maths:   MATH.md (W8)
 */
#ifndef RECOND_GPU_TIE_GRAPH_H
#define RECOND_GPU_TIE_GRAPH_H

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
    struct sim3 T; /* world to the session's */
};

/* In/out: node [n_nodes]: those that edges lead to from a fixed one are known then, no others.
 * Returns 0; ERR_MEMORY: nodes are as the edges from a fixed one leave them. */
MUST_CHECK int graph_solve(struct graph_node *node, uint32_t n_nodes, const struct graph_edge *edge,
                           uint32_t n_edges, struct err *err);

#ifdef __cplusplus
}
#endif
#endif
