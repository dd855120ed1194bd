#include "gpu/tie/graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 20
#define WRONG 3.0    /* deviations at which an edge that others contradict counts a quarter */
#define SETTLED 1e-6 /* metres, radians: nothing moves any more */

/* Nodes become known along edges, the best known first, so that a start is not that of a claim
 * where there is a tie. */
static void spread(struct graph_node *node, const struct graph_edge *edge, uint32_t n_edges)
{
    for (;;) {
        const struct graph_edge *best = NULL;
        struct sim3 into;

        for (uint32_t i = 0; i < n_edges; i++)
            if (node[edge[i].a].known != node[edge[i].b].known &&
                (!best || edge[i].sigma_m < best->sigma_m))
                best = &edge[i];
        if (!best)
            return;
        if (node[best->a].known) {
            small_inverse(&into, &best->T_b);
            small_mul(&into, &best->T_a, &into);
            small_mul(&node[best->b].T, &node[best->a].T, &into);
            node[best->b].known = true;
        } else {
            small_inverse(&into, &best->T_a);
            small_mul(&into, &best->T_b, &into);
            small_mul(&node[best->a].T, &node[best->b].T, &into);
            node[best->a].known = true;
        }
    }
}

/* What an edge is off by, in its deviations: turn, then shift of b's camera from a's. */
static double off(double e[6], double c_a[3], double c_b[3], const struct graph_edge *edge,
                  const struct graph_node *node)
{
    struct sim3 A, B, turn;
    double sum = 0;

    small_mul(&A, &node[edge->a].T, &edge->T_a);
    small_mul(&B, &node[edge->b].T, &edge->T_b);
    memcpy(c_a, A.t, sizeof(A.t));
    memcpy(c_b, B.t, sizeof(B.t));
    small_inverse(&turn, &B);
    small_mul(&turn, &A, &turn);
    small_log(e, &turn);
    for (int i = 0; i < 3; i++) {
        e[i] /= edge->sigma_rad;
        e[3 + i] = (A.t[i] - B.t[i]) / edge->sigma_m;
    }
    for (int i = 0; i < 6; i++)
        sum += e[i] * e[i];
    return sum;
}

/* How e follows a turn and shift of a node whose camera is at c: 6 x 6, times sign. */
static void follow(double J[6][6], const double c[3], const struct graph_edge *edge, double sign)
{
    memset(J, 0, 36 * sizeof(double));
    for (int i = 0; i < 3; i++) {
        J[i][i] = sign / edge->sigma_rad;
        J[3 + i][3 + i] = sign / edge->sigma_m;
    }
    /* w x c */
    J[3][1] = sign * c[2] / edge->sigma_m, J[3][2] = -sign * c[1] / edge->sigma_m;
    J[4][0] = -sign * c[2] / edge->sigma_m, J[4][2] = sign * c[0] / edge->sigma_m;
    J[5][0] = sign * c[1] / edge->sigma_m, J[5][1] = -sign * c[0] / edge->sigma_m;
}

struct system {
    double *A, *d;
    int *row; /* of each node, -1: it does not move */
    int n;
};

static void add(struct system *s, int row_i, double Ji[6][6], int row_k, double Jk[6][6],
                double weight)
{
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 6; k++) {
            double sum = 0;

            for (int e = 0; e < 6; e++)
                sum += Ji[e][i] * Jk[e][k];
            s->A[(size_t)(row_i + i) * (size_t)s->n + (size_t)(row_k + k)] += weight * sum;
        }
}

static void add_edge(struct system *s, const struct graph_edge *edge, const struct graph_node *node)
{
    const int rows[2] = {s->row[edge->a], s->row[edge->b]};
    double e[6], c[2][3], J[2][6][6], weight, sum;

    if (!node[edge->a].known || !node[edge->b].known)
        return;
    sum = off(e, c[0], c[1], edge, node);
    weight = edge->sure ? 1 : 1 / (1 + sum / (WRONG * WRONG));
    weight *= weight;
    follow(J[0], c[0], edge, 1);
    follow(J[1], c[1], edge, -1);
    for (int i = 0; i < 2; i++) {
        if (rows[i] < 0)
            continue;
        for (int k = 0; k < 2; k++)
            if (rows[k] >= 0)
                add(s, rows[i], J[i], rows[k], J[k], weight);
        for (int j = 0; j < 6; j++)
            for (int m = 0; m < 6; m++)
                s->d[rows[i] + j] -= weight * J[i][m][j] * e[m];
    }
}

static bool round_of(struct system *s, struct graph_node *node, uint32_t n_nodes,
                     const struct graph_edge *edge, uint32_t n_edges)
{
    double most = 0;

    memset(s->A, 0, (size_t)s->n * (size_t)s->n * sizeof(*s->A));
    memset(s->d, 0, (size_t)s->n * sizeof(*s->d));
    for (uint32_t i = 0; i < n_edges; i++)
        add_edge(s, &edge[i], node);
    for (int i = 0; i < s->n; i++) /* an edge that counts for little leaves a node where it is */
        s->A[(size_t)i * (size_t)s->n + (size_t)i] += 1e-6;
    if (!small_solve(s->A, s->d, s->n))
        return false;
    for (uint32_t i = 0; i < n_nodes; i++)
        if (s->row[i] >= 0)
            small_move(&node[i].T, s->d + s->row[i]);
    for (int i = 0; i < s->n; i++)
        most = fmax(most, fabs(s->d[i]));
    return most > SETTLED;
}

int graph_solve(struct graph_node *node, uint32_t n_nodes, const struct graph_edge *edge,
                uint32_t n_edges, struct err *err)
{
    struct system s = {.row = malloc(n_nodes * sizeof(*s.row))};
    int rc = 0;

    for (uint32_t i = 0; i < n_nodes; i++)
        node[i].known = node[i].fixed;
    spread(node, edge, n_edges);
    for (uint32_t i = 0; s.row && i < n_nodes; i++) {
        s.row[i] = node[i].known && !node[i].fixed ? s.n : -1;
        s.n += s.row[i] >= 0 ? 6 : 0;
    }
    s.A = malloc((size_t)s.n * (size_t)s.n * sizeof(*s.A) + 1);
    s.d = malloc((size_t)s.n * sizeof(*s.d) + 1);
    if (!s.row || !s.A || !s.d)
        rc = err_set(err, ERR_MEMORY, "no memory to place %u worlds", (unsigned)n_nodes);
    for (int i = 0; rc == 0 && s.n && i < ROUNDS; i++)
        if (!round_of(&s, node, n_nodes, edge, n_edges))
            break;
    free(s.row);
    free(s.A);
    free(s.d);
    return rc;
}
