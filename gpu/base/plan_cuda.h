/*
 * plan_cuda.h - what the CUDA back end shares among sessions: device, models, networks, graphs
 * (internal to gpu/)
 *
 *     model_cuda   an ONNX file that was read and checked
 *     plan_cuda    its network on the device for one input size
 *     line_cuda    the whole line for one pair of plans: arguments of each batch, and a CUDA graph
 *                  for each batch size 1, 2, 4 ... recorded once
 *
 * Owner:   models, plans and lines belong to the thread that makes sessions (gpu.h), and all its
 *          work is on the stream `setup`; flights to the one that runs frames, on `copy` and
 *          `compute`. It reads the lines of its sessions, which nobody changes while they are used.
 */
#ifndef RECOND_GPU_PLAN_CUDA_H
#define RECOND_GPU_PLAN_CUDA_H

#include "gpu/base/memory_cuda.h"
#include "gpu/net/net_cuda.h"
#include "gpu/mono/session_cuda.h"

#define PLAN_CUDA_SIZES 7 /* batches of 1, 2, 4 ... 64 */

struct nvml_cuda;
struct wait_cuda;

struct plan_cuda {
    struct plan_cuda *next;
    struct net_cuda *exec;
    int w, h, users;
    uint64_t used; /* order of last use */
};

struct model_cuda {
    struct gpu_model base;
    struct net *net;
    struct plan_cuda *plans;
};

struct line_cuda {
    struct line_cuda *next;
    struct model_cuda *depth_model, *motion_model; /* NULL: without */
    struct plan_cuda *depth, *motion;
    int w, h, users;
    uint64_t used;
    /* [GPU_FLIGHTS][batch]: what the host writes, and the copy that kernels read */
    struct frame_cuda *args, *args_dev;
    cudaGraphExec_t graphs[GPU_FLIGHTS][PLAN_CUDA_SIZES];
};

/* Frames of a batch that share a line. */
struct group_cuda {
    struct line_cuda *line;
    int n;
};

/* A batch under way. */
struct flight_cuda {
    int busy, launched;
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
    struct flight_cuda flights[GPU_FLIGHTS];
    int next_flight;
    long fault_in; /* batches until the fault that a test asked for; 0 = none */
    struct line_cuda *lines;
    uint64_t clock; /* orders the use of plans and lines */
    struct nvml_cuda *nvml;
    struct jpeg_cuda *jpeg;
};

static inline struct gpu_cuda *gpu_cuda_of(const struct gpu *g)
{
    return (struct gpu_cuda *)g;
}

MUST_CHECK int plan_cuda_model_open(struct gpu_model **m, struct gpu *g,
                                    const struct gpu_model_info *info, struct err *err);
void plan_cuda_model_close(struct gpu_model *m);
/* A model's network for one input size; made at the first call for it. Pair get with put. */
MUST_CHECK int plan_cuda_get(struct plan_cuda **plan, struct model_cuda *m, int w, int h,
                             struct err *err);
void plan_cuda_put(struct model_cuda *m, struct plan_cuda *plan);

/* The line of a session's networks and size, with its graphs. */
MUST_CHECK int line_cuda_get(struct line_cuda **line, struct gpu_cuda *g,
                             const struct gpu_session_config *c, struct err *err);
void line_cuda_put(struct gpu_cuda *g, struct line_cuda *line);
/* Lines of a model that is about to be closed, and that no session uses. */
void line_cuda_forget(struct gpu_cuda *g, const struct model_cuda *m);
void line_cuda_forget_all(struct gpu_cuda *g);
/* Frame f takes place `at` in the next batch of this flight. */
void line_cuda_put_frame(struct line_cuda *line, int batch, int flight, int at,
                         const struct gpu_frame *f);
/* Enqueue the graph for places 0 ... n-1 of the flight. */
MUST_CHECK int line_cuda_launch(struct gpu_cuda *g, struct line_cuda *line, int flight, int n,
                                struct err *err);

/* Temperature by the driver's management library, which is looked for at run time. */
void nvml_cuda_open(struct nvml_cuda **n, int device); /* NULL: there is none */
void nvml_cuda_close(struct nvml_cuda **n);
float nvml_cuda_temperature(const struct nvml_cuda *n); /* NAN = not known */
/* Whether this process, which has a context there, is the only one; 0 where that is not known. */
int nvml_cuda_alone(const struct nvml_cuda *n);

#endif
