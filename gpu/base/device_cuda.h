/*
 * device_cuda.h - what the CUDA back end keeps of a device (internal to gpu/)
 *
 * Owner:   the thread that makes sessions (gpu.h) owns models, networks and recorded lines; all its
 *          work is on the stream `setup`. The thread that runs items owns the batches; its work is
 *          on the streams `copy` and `compute`. It also reads the recorded lines of its sessions,
 *          which do not change while a session uses them.
 */
#pragma once

#include "gpu/base/memory_cuda.h"
#include "gpu/base/ops.h"
#include "gpu/base/shared.h"

#include <cuda_runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

struct graph_cuda;
struct jpeg_cuda;
struct nvml_cuda;
struct wait_cuda;

/* The items of a batch that share a recorded line. */
struct group_cuda {
    struct graph_cuda *graph;
    int n;
};

/* A batch under way. */
struct batch_cuda {
    int busy;
    cudaEvent_t uploaded;
    struct group_cuda groups[GPU_BATCH_MAX];
    int n_groups;
};

struct gpu_cuda {
    struct gpu base;
    int device, batch; /* batch: a power of two */
    char name[GPU_NAME_CAP], cache_path[GPU_PATH_CAP];
    cudaStream_t compute, copy, setup;
    struct memory_cuda *memory;
    struct wait_cuda *wait;
    struct batch_cuda batches[GPU_BATCHES];
    int next_batch;
    long fault_in; /* batches until the fault that a test requests; 0 = none */
    struct shared_list graphs;
    struct nvml_cuda *nvml;
    struct jpeg_cuda *jpeg;
};

static inline struct gpu_cuda *gpu_cuda_of(const struct gpu *g)
{
    return (struct gpu_cuda *)g;
}

#ifdef __cplusplus
}
#endif
