/*
 * line_cuda.h - a line as the CUDA back end runs it: a table of passes, and the host's work for an
 * item before and after them (internal to gpu/)
 *
 * Each line has one such table, in gpu/<name>/line_<name>_cuda.c. Its passes are recorded as one
 * CUDA graph for each batch size (graph_cuda.h). Everything that differs between batches is in an
 * array of arguments, which the graph first copies to the device.
 */
#pragma once

#include "gpu/base/ops.h"

#include <cuda_runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

struct net_cuda;
struct graph_cuda;

/* The batch that a pass is enqueued for. */
struct pass_cuda {
    const void *args;          /* device memory: [n], line_cuda.arg_bytes each */
    int n;                     /* items of the batch, or places of which some are empty */
    uint32_t pixels_max;       /* the largest network size among the sessions */
    enum gpu_views_kind views; /* same in all sessions that use many views (gpu_session_config) */
    int tracks;                /* poses come from tracks in all sessions */
    enum gpu_depth_source depth_source;         /* same in all sessions */
    int w_max, h_max;                           /* largest sides of the networks' pictures */
    struct net_cuda *networks[GPU_MODEL_KINDS]; /* NULL: without */
    cudaStream_t stream;
};

/*
 * Enqueues the kernels of a pass. May be captured; a recording for the same n and pixels_max may be
 * replayed for other items.
 * Returns: 0; ERR_DEVICE
 */
typedef int pass_cuda_fn(const struct pass_cuda *pass, struct err *err);

struct line_cuda {
    const struct gpu_line *line;
    const struct gpu_session_ops *session;
    size_t arg_bytes;
    pass_cuda_fn *const *passes;
    int n_passes;
    /* Fills the item's argument at place `at` of a batch that the graph runs. */
    void (*describe)(void *arg, const struct graph_cuda *graph, int at,
                     const struct gpu_item *item);
    /* Enqueues the copies of the item's input. */
    int (*upload)(struct gpu_item *item, cudaStream_t stream, struct err *err);
    /* Takes the item's results and passes after the batch; device_us is of its whole graph. */
    void (*take)(struct gpu_item *item);
};

#define LINE_CUDA_DECLARE(name) extern const struct line_cuda line_##name##_cuda;
GPU_LINES(LINE_CUDA_DECLARE)
#undef LINE_CUDA_DECLARE

/* NULL: the back end does not know it */
const struct line_cuda *line_cuda_of(const struct gpu_line *line);

#ifdef __cplusplus
}
#endif
