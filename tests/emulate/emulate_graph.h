/*
 * emulate_graph.h - streams that can record, graphs, events and what the device holds: the part of
 * CUDA's run-time that sessions and batches need beyond the kernels (included by cuda_runtime.h)
 *
 * A stream that records keeps copies, fills and launches instead of doing them; a graph does them
 * each time that it is launched. All else is done at once, by the calling thread, so waits have
 * nothing to do, and events neither unless a test says that batches are late. What a device would
 * refuse ends the program: memory asked for or given back by a thread that records, a graph
 * launched into a recording, a graph used after its end.
 */
#pragma once

#define CUDART_CB
#define EMULATE_DEVICE_BYTES ((size_t)4 << 30)

typedef struct emulate_event *cudaEvent_t;
typedef void (*cudaHostFn_t)(void *what);
typedef struct emulate_graph *cudaGraph_t;
typedef struct emulate_graph *cudaGraphExec_t;
enum { cudaEventBlockingSync = 1, cudaEventDisableTiming = 2 };
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal = 1 };

struct cudaDeviceProp {
    char name[256];
    int major, minor;
};

#ifdef __cplusplus
extern "C" {
#endif

/* Does the stream record? Then emulate_record() keeps run(what), with a copy of `what`. */
int emulate_records(cudaStream_t stream);
void emulate_record(cudaStream_t stream, void (*run)(void *what), const void *what, size_t bytes);
/* The calling thread asks the driver for memory, or gives some back: bytes that the device holds
 * more. Returns what it holds. */
size_t emulate_hold(long bytes);

/* Events recorded from now on are done after late_ms, functions on streams that wait for them
 * called after told_ms; < 0 = never. */
void emulate_late(int late_ms, int told_ms);
/* From now on events that are done have failed, or not. */
void emulate_fail(int fails);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
/* Nothing takes any time here. */
static inline cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    (void)from;
    (void)to;
    *ms = 0;
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *what);

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority);
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphUpload(cudaGraphExec_t graph, cudaStream_t stream);
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph);

#ifdef __cplusplus
}
#endif

static inline cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
    (void)device;
    memset(prop, 0, sizeof *prop);
    strcpy(prop->name, "the host");
    prop->major = 9;
    return cudaSuccess;
}

static inline cudaError_t cudaDeviceGetPCIBusId(char *bus, int cap, int device)
{
    (void)device;
    if (cap)
        *bus = '\0';
    return cudaSuccess;
}

static inline cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    (void)event;
    return cudaSuccess;
}

static inline cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                              unsigned flags)
{
    (void)stream;
    (void)event;
    (void)flags;
    return cudaSuccess;
}
