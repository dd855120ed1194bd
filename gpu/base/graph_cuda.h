/*
 * graph_cuda.h - a line recorded for the networks and the size of a session: a CUDA graph for each
 * batch size 1, 2, 4 ..., shared by all sessions of the same shape and networks (internal to gpu/)
 *
 * A graph copies the batch's arguments to the device and runs every pass. Recording is done on the
 * stream `setup`: it does not record batches on the other streams.
 */
#pragma once

#include "gpu/base/device_cuda.h"
#include "gpu/base/line_cuda.h"
#include "gpu/base/network.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GRAPH_CUDA_SIZES 7 /* batches of 1, 2, 4 ... 64 */

struct graph_cuda {
    struct shared shared;
    struct gpu_cuda *gpu;
    const struct line_cuda *line;
    struct gpu_model *models[GPU_MODEL_KINDS]; /* NULL: the session has none */
    struct network *networks[GPU_MODEL_KINDS];
    enum gpu_views_kind views; /* of all its sessions */
    int tracks;                /* the same */
    enum gpu_depth_source depth_source;
    int w, h, sideways; /* the depth network's input is w x h, or h x w if sideways */
    /* [GPU_BATCHES][gpu->batch] of line->arg_bytes: what the host writes, and the copy that kernels
     * read */
    uint8_t *args, *args_dev;
    cudaGraphExec_t graphs[GPU_BATCHES][GRAPH_CUDA_SIZES];
};

/* The elements of gpu_cuda.graphs. */
extern const struct shared_list graph_cuda_list;

/* The graphs of a session, or those of its pictures that are turned sideways: pair get with put.
 * The current device is the session's. */
MUST_CHECK int graph_cuda_get(struct gpu_session *s, int sideways, struct err *err);
/* Puts both. */
void graph_cuda_put(struct gpu_session *s);
/* Frees the unused graphs with model m; NULL: all unused graphs. */
void graph_cuda_free(struct gpu_cuda *g, const struct gpu_model *m);

/* The graph that an item runs in. */
struct graph_cuda *graph_cuda_of(const struct gpu_item *item);
/* Puts the item at place `at` in this batch, 0 ... GPU_BATCHES - 1. */
void graph_cuda_put_item(struct graph_cuda *graph, int batch, int at, const struct gpu_item *item);
/* Enqueues the graph for places 0 ... n-1 of the batch. */
MUST_CHECK int graph_cuda_launch(struct graph_cuda *graph, int batch, int n, struct err *err);

#ifdef __cplusplus
}
#endif
