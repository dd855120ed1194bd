/*
 * net_cuda_plan.h - the CUDA executor's decisions that need no device (for net_cuda*.c and tests
 * only; no CUDA calls)
 *
 *     place   a tensor of the graph: its pitch and its place in the arena, for one picture. Folded
 *             tensors have none: their readers, all convolutions, load their sources.
 *     job     one launch of run(): a fused convolution, or a move (every other step)
 *     table   data that moves read beside tensors: indices, weights, factors; one block, uploaded
 *             once
 *
 * Layout:  a tensor [d0][c][h][w] of the graph, which is made for one picture, is stored as
 *          [picture][d0][h][w][pitch] halves; pitch = c rounded up to 8 and channels from c on are
 *          zero. The input alone has pitch 4 where it has up to 4 channels.
 */
#pragma once

#include "gpu/net/net_graph.h"

#define NET_CUDA_NO_TABLE SIZE_MAX

struct net_cuda_place {
    int pitch;
    int folded;
    struct net_mem_span span; /* place of one picture; the arena holds max_batch times as much */
};

enum net_cuda_job_kind {
    NET_CUDA_CONV,  /* net_cuda_conv.h */
    NET_CUDA_STEP,  /* the step, by a kernel of net_cuda_move.cu */
    NET_CUDA_PART,  /* one source of a concat to its place in the result */
    NET_CUDA_WIDEN, /* the input again with a pitch of 8 */
    NET_CUDA_FLOAT  /* the result as float32, row-major */
};

struct net_cuda_job {
    enum net_cuda_job_kind kind;
    const struct net_step *step; /* NULL: widen, float */
    int n_src, src[2], up[2];    /* tensors; up: stored at half the size */
    int residual;                /* tensor, -1 = none */
    int dst;                     /* tensor, -1 = the network's answer in float32 */
    int from, is_last;           /* part: where it begins along the axis; the last one */
    size_t i0[2], i1[2], w1[2], scale, bias, weight; /* bytes into the tables */
};

struct net_cuda_plan {
    const struct net_graph *g;
    int n_places, wide; /* tensors of the graph, and one more: the input with a pitch of 8 */
    struct net_cuda_place *places;
    int n_jobs, cap_jobs;
    struct net_cuda_job *jobs;
    size_t arena_bytes; /* of one picture */
    uint8_t *tables;
    size_t table_bytes, cap_tables;
    size_t max_bytes;
};

/* Borrows the graph, which was made for one picture.
 * Returns: 0; ERR_LIMIT: a picture's activations take more than max_bytes; ERR_MEMORY; ERR_INPUT */
MUST_CHECK int net_cuda_plan_new(struct net_cuda_plan **p, const struct net_graph *g,
                                 size_t max_bytes, struct err *err);
void net_cuda_plan_free(struct net_cuda_plan **p);

/* The dimensions of a place, equal to those of the graph's tensor. */
const int *net_cuda_plan_dims(const struct net_cuda_plan *p, int place);
