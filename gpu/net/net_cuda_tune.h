/*
 * net_cuda_tune.h - which tile shape runs each convolution fastest, measured once and kept
 *
 * The shapes differ in time alone, never in bits (net_cuda_conv.h, "Order"): so a measurement may
 * be noisy, and a file of another machine does no harm but to speed.
 * File:    <cache_path>/tiles-<GPU>-<driver>-<hash of the layers>.txt, written under a temporary
 *          name and renamed. A file with a line that does not fit these layers is ignored and
 *          measured again; if the folder cannot be written, the next start measures again.
 */
#pragma once

#include "gpu/net/net_cuda_conv.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A convolution with its arguments: measuring runs it and overwrites args.out. */
struct net_cuda_tune_layer {
    const struct net_cuda_conv_plan *plan;
    struct net_cuda_conv_args args;
};

/*
 * net_cuda_tune_rule - the shapes that need no measurement
 * Out:     tiles [n_sizes][n_layers], size s for a batch of 2^s pictures
 */
void net_cuda_tune_rule(struct net_cuda_tile *tiles, const struct net_cuda_tune_layer *layers,
                        int n_layers, int n_sizes);

/*
 * net_cuda_tune_run - reads the shapes from the file in cache_path, else measures and writes them
 *
 * In:      cache_path: NULL or "" = no file
 * Returns: 0; ERR_MEMORY; ERR_DEVICE
 * Runs:    on `stream`, waits for it; about a second for thirty layers of batches up to 64
 */
MUST_CHECK int net_cuda_tune_run(struct net_cuda_tile *tiles,
                                 const struct net_cuda_tune_layer *layers, int n_layers,
                                 int n_sizes, const char *cache_path, cudaStream_t stream,
                                 struct err *err);

#ifdef __cplusplus
}
#endif
