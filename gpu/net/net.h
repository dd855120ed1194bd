/*
 * net.h - convolutional networks from ONNX: load and check once, plan once a shape, run without
 * allocating
 *
 *     net_load()      reads a file into a checked graph with its constants
 *     net_dnnl_new()  plans the graph for one input shape on the CPU: steps fused, memory laid out,
 *                     primitives made; net_cuda_new() (net_cuda.h) does the same on a device
 *
 * An ONNX file is hostile until checked: sizes are bounded before anything is allocated, external
 * data is refused, an unknown op, type or shape is an error that names node and op.
 * Ops:     docs/MODELS.md lists them with the supported attributes.
 */
#pragma once

#include "proto/err.h"

#include <stddef.h>
#include <stdint.h>

struct net_limits {
    size_t max_file_bytes;   /* default 128 MiB */
    size_t max_weight_bytes; /* as float32; default 256 MiB */
    size_t max_plan_bytes;   /* activations of one plan; default 1 GiB */
    uint32_t max_nodes;      /* default 4096 */
};
void net_limits_default(struct net_limits *l);

struct net;

/*
 * net_load - read and check a model
 *
 * In:      path of the file; input, output: names of the tensors, NULL or "" = the graph's only one
 * Returns: 0; ERR_IO; ERR_LIMIT; ERR_INPUT (damaged, inconsistent), ERR_UNSUPPORTED, both with
 *          where = "node 'name' (Op)"; ERR_MEMORY
 */
MUST_CHECK int net_load(struct net **net, const char *path, const char *input, const char *output,
                        const struct net_limits *limits, struct err *err);
/* The same for a model in memory, for tests and fuzzing. */
MUST_CHECK int net_load_bytes(struct net **net, const uint8_t *data, size_t len, const char *input,
                              const char *output, const struct net_limits *limits, struct err *err);
void net_free(struct net **net);

int net_input_channels(const struct net *net);
size_t net_weight_count(const struct net *net);

/*
 * net_output_shape - shape of the output for an input of [n][channels][h][w]
 * Out:     shape [4]; 2-D outputs answer [n][k][1][1]
 * Returns: 0; ERR_INPUT: a node does not fit this input (where names it)
 */
MUST_CHECK int net_output_shape(const struct net *net, int n, int h, int w, int shape[4],
                                struct err *err);

/*
 * The oneDNN executor (net_dnnl.c). A plan holds its own copy of the weights, as float32 in the
 * layouts that the primitives chose, so all sessions of a shape should share one. It borrows its
 * net. It is made for the number of OpenMP threads of the calling thread, and one thread runs it at
 * a time.
 */
struct net_dnnl;
MUST_CHECK int net_dnnl_new(struct net_dnnl **p, const struct net *net, int n, int h, int w,
                            const struct net_limits *limits, struct err *err);
void net_dnnl_free(struct net_dnnl **p);
/* Runs on in [n][c][h][w] float32 and writes out, whose shape net_output_shape() gives. It
 * allocates nothing itself; oneDNN makes a few short-lived blocks. The same input gives the same
 * bits. */
MUST_CHECK int net_dnnl_run(struct net_dnnl *p, const float *in, float *out, struct err *err);
size_t net_dnnl_bytes(const struct net_dnnl *p); /* weights copies + activations */
