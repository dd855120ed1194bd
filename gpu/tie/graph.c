#include "gpu/tie/graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 20
#define SETTLED 1e-6 /* metres, radians: a smaller move is none */

/* Makes nodes known along edges, the surest first, so that a tie comes before a claim. */
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

/* An edge's error in its deviations: turn, then shift of b's camera from a's. */
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

/* The derivative of e by a turn and shift of a node whose camera is at c: 6 x 6, times sign. */
static void graph_follow(double J[6][6], const double c[3], const struct graph_edge *edge,
                         double sign)
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

struct graph {
    struct graph_node *node;
    const struct graph_edge *edge;
    uint32_t n_nodes, n_edges;
    int n;      /* unknowns */
    int *row;   /* each node's; -1: it does not move */
    int *first; /* [n] first column of each row of A */
    size_t *at; /* [n] where that column lies */
    double *A, *d;
    size_t n_A;
};

/* Adds an edge's lower half to the rows of one node and the columns of another. */
static void graph_add(struct graph *g, int row_i, double Ji[6][6], int row_k, double Jk[6][6],
                      double weight)
{
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 6 && row_k + k <= row_i + i; k++) {
            double sum = 0;

            for (int e = 0; e < 6; e++)
                sum += Ji[e][i] * Jk[e][k];
            g->A[g->at[row_i + i] + (size_t)(row_k + k - g->first[row_i + i])] += weight * sum;
        }
}

static void add_edge(struct graph *g, const struct graph_edge *edge, double wrong)
{
    const int rows[2] = {g->row[edge->a], g->row[edge->b]};
    double e[6], c[2][3], J[2][6][6], weight, sum;

    if (!g->node[edge->a].known || !g->node[edge->b].known)
        return;
    sum = off(e, c[0], c[1], edge, g->node);
    weight = edge->sure ? 1 : 1 / (1 + sum / (wrong * wrong));
    weight *= weight;
    graph_follow(J[0], c[0], edge, 1);
    graph_follow(J[1], c[1], edge, -1);
    for (int i = 0; i < 2; i++) {
        if (rows[i] < 0)
            continue;
        for (int k = 0; k < 2; k++)
            if (rows[k] >= 0 && rows[k] <= rows[i])
                graph_add(g, rows[i], J[i], rows[k], J[k], weight);
        for (int j = 0; j < 6; j++)
            for (int m = 0; m < 6; m++)
                g->d[rows[i] + j] -= weight * J[i][m][j] * e[m];
    }
}

bool graph_round(struct graph *g, double wrong)
{
    double most = 0;

    memset(g->A, 0, g->n_A * sizeof(*g->A));
    memset(g->d, 0, (size_t)g->n * sizeof(*g->d));
    for (uint32_t i = 0; i < g->n_edges; i++)
        add_edge(g, &g->edge[i], wrong);
    for (int i = 0; i < g->n; i++) /* an edge that counts for little leaves a node where it is */
        g->A[g->at[i] + (size_t)(i - g->first[i])] += 1e-6;
    if (!small_solve_rows(g->A, g->at, g->first, g->d, g->n))
        return false;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (g->row[i] >= 0)
            small_move(&g->node[i].T, g->d + g->row[i]);
    for (int i = 0; i < g->n; i++)
        most = fmax(most, fabs(g->d[i]));
    return most > SETTLED;
}

/* Lays out the rows of A: each begins at the first node that an edge ties it to. */
static void graph_lay_out(struct graph *g)
{
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (int k = 0; g->row[i] >= 0 && k < 6; k++)
            g->first[g->row[i] + k] = g->row[i];
    for (uint32_t i = 0; i < g->n_edges; i++) {
        int a = g->row[g->edge[i].a], b = g->row[g->edge[i].b];
        int low = a < b ? a : b, high = a < b ? b : a;

        for (int k = 0; low >= 0 && k < 6; k++)
            if (low < g->first[high + k])
                g->first[high + k] = low;
    }
    for (int i = 0; i < g->n; i++) {
        g->at[i] = g->n_A;
        g->n_A += (size_t)(i - g->first[i] + 1);
    }
}

int graph_begin(struct graph **out, struct graph_node *node, uint32_t n_nodes,
                const struct graph_edge *edge, uint32_t n_edges, struct err *err)
{
    struct graph *g = calloc(1, sizeof(*g));

    *out = g;
    if (!g || !(g->row = malloc((n_nodes + 1) * sizeof(*g->row))))
        goto no_memory;
    g->node = node, g->n_nodes = n_nodes;
    g->edge = edge, g->n_edges = n_edges;
    for (uint32_t i = 0; i < n_nodes; i++) {
        g->row[i] = node[i].known && !node[i].fixed ? g->n : -1;
        g->n += g->row[i] >= 0 ? 6 : 0;
    }
    g->first = malloc(((size_t)g->n + 1) * sizeof(*g->first));
    g->at = malloc(((size_t)g->n + 1) * sizeof(*g->at));
    g->d = malloc(((size_t)g->n + 1) * sizeof(*g->d));
    if (!g->first || !g->at || !g->d)
        goto no_memory;
    graph_lay_out(g);
    g->A = malloc((g->n_A + 1) * sizeof(*g->A));
    if (g->A)
        return 0;
no_memory:
    graph_end(out);
    return err_set(err, ERR_MEMORY, "no memory to place %u nodes", (unsigned)n_nodes);
}

void graph_end(struct graph **graph)
{
    struct graph *g = *graph;

    if (!g)
        return;
    free(g->row);
    free(g->first);
    free(g->at);
    free(g->A);
    free(g->d);
    free(g);
    *graph = NULL;
}

double graph_off(const struct graph_node *node, const struct graph_edge *edge)
{
    double e[6], c[2][3];

    return off(e, c[0], c[1], edge, node);
}

int graph_solve(struct graph_node *node, uint32_t n_nodes, const struct graph_edge *edge,
                uint32_t n_edges, double wrong, struct err *err)
{
    struct graph *g;
    int rc;

    for (uint32_t i = 0; i < n_nodes; i++)
        node[i].known = node[i].fixed;
    spread(node, edge, n_edges);
    rc = graph_begin(&g, node, n_nodes, edge, n_edges, err);
    if (rc)
        return rc;
    for (int i = 0; i < ROUNDS; i++)
        if (!graph_round(g, wrong))
            break;
    graph_end(&g);
    return 0;
}
