#include <cuda_runtime.h>

#include <atomic>
#include <chrono>
#include <stdio.h>
#include <thread>
#include <unistd.h>
#include <vector>

struct emulate_graph {
    struct step {
        void (*run)(void *what);
        std::vector<char> what;
    };
    std::vector<step> steps;
    bool is_exec;
};

typedef std::chrono::steady_clock steady;

struct emulate_event {
    bool never;
    steady::time_point done;
};

struct emulate_stream {
    emulate_graph *records; /* NULL: it does not */
};

static std::atomic<long> held;
static thread_local int recording; /* streams that this thread's calls began to record */

static int event_ms, function_ms, event_fails;

static void refuse(const char *what)
{
    fprintf(stderr, "emulate: %s\n", what);
    exit(3);
}

int emulate_records(cudaStream_t stream)
{
    return stream && stream->records;
}

void emulate_record(cudaStream_t stream, void (*run)(void *what), const void *what, size_t bytes)
{
    const char *from = (const char *)what;
    stream->records->steps.push_back({run, std::vector<char>(from, from + bytes)});
}

size_t emulate_hold(long bytes)
{
    if (recording && bytes)
        refuse("memory is asked for or given back by a thread that records");
    return (size_t)(held += bytes);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    if (least)
        *least = 0;
    if (greatest)
        *greatest = 0;
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int)
{
    return cudaStreamCreateWithFlags(stream, flags);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned)
{
    *stream = new emulate_stream{};
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    delete stream;
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode)
{
    if (!stream || stream->records)
        refuse("the default stream, or one that records already, cannot record");
    stream->records = new emulate_graph{};
    recording++;
    usleep(200); /* long enough for other threads to stumble over it */
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    *graph = stream->records;
    stream->records = NULL;
    recording--;
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long)
{
    *out = new emulate_graph(*graph);
    (*out)->is_exec = true;
    return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t graph, cudaStream_t)
{
    if (!graph->is_exec)
        refuse("a graph that is not there goes up");
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream)
{
    if (!graph->is_exec || emulate_records(stream))
        refuse("a graph that is not there, or into a recording");
    for (emulate_graph::step &s : graph->steps)
        s.run(s.what.data());
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    delete graph;
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph)
{
    graph->is_exec = false;
    delete graph;
    return cudaSuccess;
}

void emulate_late(int late_ms, int told_ms)
{
    event_ms = late_ms;
    function_ms = told_ms;
}

void emulate_fail(int fails)
{
    event_fails = fails;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned)
{
    *event = new emulate_event{};
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    delete event;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t)
{
    event->never = event_ms < 0;
    event->done = steady::now() + std::chrono::milliseconds(event_ms);
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    if (event->never || steady::now() < event->done)
        return cudaErrorNotReady;
    return event_fails ? cudaErrorLaunchFailure : cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t fn, void *what)
{
    if (function_ms == 0)
        fn(what);
    else if (function_ms > 0)
        std::thread([=, ms = function_ms] {
            usleep((useconds_t)ms * 1000);
            fn(what);
        }).detach();
    return cudaSuccess;
}
