/*
 * bench_cuda_net - what a network costs on the CUDA back end, beside what the card could do
 *
 *     bench_cuda_net [--cache FOLDER] [MODEL.onnx...]
 *                                      default: gpu/models/depth.onnx gpu/models/motion.onnx
 *
 * Input 416x128, batches of 1 to 32 pictures. A run is one CUDA graph; times are medians of whole
 * runs by events, the queue filled ahead. `weights` is the time in which the card's memory hands
 * them out once: with the rate of multiplication, the two limits of a run.
 */
#include "gpu/base/cuda_try.h"
#include "gpu/net/net_cuda.h"
#include "tests/bench/support_cuda.h"

#include <stdio.h>
#include <string.h>

#define WIDTH 416
#define HEIGHT 128
#define BATCH_MAX 32
#define RUNS 200
#define WARM 20

/* "depth" of "gpu/models/depth.onnx" */
static void short_name(const char *path, char name[32])
{
    const char *base = strrchr(path, '/');
    snprintf(name, 32, "%.31s", base ? base + 1 : path);
    name[strcspn(name, ".")] = 0;
}

static int record(cudaGraphExec_t *exec, struct net_cuda *p, int n, cudaStream_t stream,
                  struct err *err)
{
    cudaGraph_t graph = NULL;
    int rc, ended;
    CU_TRY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    rc = net_cuda_run(p, n, stream, err);
    ended = cuda_try_check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture",
                           rc ? NULL : err);
    rc = rc ? rc : ended;
    if (rc)
        goto out;
    CU_TRY(cudaGraphInstantiate(exec, graph, 0));
out:
    if (graph)
        (void)cudaGraphDestroy(graph);
    return rc;
}

static int time_runs(struct net_cuda *p, int n, double *ms, cudaStream_t stream, struct err *err)
{
    static cudaEvent_t at[RUNS + 1];
    double each[RUNS];
    cudaGraphExec_t exec = NULL;
    int rc = record(&exec, p, n, stream, err);
    if (rc)
        goto out;
    for (int i = 0; i <= RUNS; i++)
        if (!at[i])
            CU_TRY(cudaEventCreate(&at[i]));
    for (int i = 0; i < WARM; i++)
        CU_TRY(cudaGraphLaunch(exec, stream));
    rc = support_cuda_hold(stream, 20, err);
    if (rc)
        goto out;
    for (int i = 0; i <= RUNS; i++) {
        CU_TRY(cudaEventRecord(at[i], stream));
        if (i < RUNS)
            CU_TRY(cudaGraphLaunch(exec, stream));
    }
    CU_TRY(cudaStreamSynchronize(stream));
    for (int i = 0; i < RUNS; i++) {
        float t;
        CU_TRY(cudaEventElapsedTime(&t, at[i], at[i + 1]));
        each[i] = (double)t;
    }
    *ms = support_cuda_median(each, RUNS);
out:
    if (exec)
        (void)cudaGraphExecDestroy(exec);
    return rc;
}

static int measure(struct net_cuda *p, const struct net *net, const char *name, double copy_rate,
                   cudaStream_t stream, struct err *err)
{
    double flops = net_cuda_flops(p), weights = 2.0 * (double)net_weight_count(net);
    int rc = support_cuda_noise(net_cuda_input(p), (size_t)BATCH_MAX * HEIGHT * WIDTH,
                                net_input_channels(net), net_cuda_input_pitch(p), stream, err);
    printf("%s: %.2f GFLOP a picture, %.1f MB of weights (%.4f ms to read them), %.0f MB on the "
           "device\n",
           name, 1e-9 * flops, 1e-6 * weights, 1e3 * weights / copy_rate,
           1e-6 * (double)net_cuda_bytes(p));
    printf("@ net.%s.gflop %.4f GFLOP\n", name, 1e-9 * flops);
    printf("@ net.%s.weights %.5f ms\n", name, 1e3 * weights / copy_rate);
    for (int n = 1; n <= BATCH_MAX && rc == 0; n *= 2) {
        double ms = 0;
        rc = time_runs(p, n, &ms, stream, err);
        if (rc)
            break;
        printf("  batch %2d %9.4f ms %9.4f ms a picture %9.1f GFLOP/s\n", n, ms, ms / n,
               1e-6 * flops * n / ms);
        printf("@ net.%s.b%d %.5f ms\n", name, n, ms);
        printf("@ net.%s.b%d_rate %.1f GFLOP/s\n", name, n, 1e-6 * flops * n / ms);
    }
    return rc;
}

static int bench(const char *path, const char *cache_path, double copy_rate, cudaStream_t stream)
{
    struct net_cuda_config config = {
        .h = HEIGHT, .w = WIDTH, .max_batch = BATCH_MAX, .cache_path = cache_path, .tune = 1};
    struct err err = {0};
    struct net_cuda *p = NULL;
    struct net *net = NULL;
    char name[32];
    int rc;

    net_limits_default(&config.limits);
    short_name(path, name);
    rc = net_load(&net, path, NULL, NULL, NULL, &err);
    if (rc == 0)
        rc = net_cuda_new(&p, net, &config, stream, &err);
    if (rc == 0)
        rc = measure(p, net, name, copy_rate, stream, &err);
    if (rc)
        fprintf(stderr, "bench_cuda_net: %s: %s %s\n", path, err.where, err.text);
    net_cuda_free(&p);
    net_free(&net);
    return rc;
}

int main(int argc, char **argv)
{
    static const char *const shipped[] = {"gpu/models/depth.onnx", "gpu/models/motion.onnx"};
    struct support_cuda_card card;
    cudaStream_t stream;
    struct err err = {0};
    const char *cache_path = NULL;
    double copy_rate;
    int given = 0, rc = support_cuda_open(&card, &stream, &err);

    if (rc == 0)
        rc = support_cuda_copy_rate(&copy_rate, stream, &err);
    if (rc) {
        fprintf(stderr, "bench_cuda_net: %s\n", err.text);
        return rc == ERR_UNSUPPORTED ? SUPPORT_CUDA_SKIP : 1;
    }
    for (int i = 1; i < argc; i++) {
        size_t n = strlen(argv[i]);
        if (strcmp(argv[i], "--cache") == 0 && i + 1 < argc) {
            cache_path = argv[++i];
        } else if (n > 5 && strcmp(argv[i] + n - 5, ".onnx") == 0) {
            given = 1;
            rc |= bench(argv[i], cache_path, copy_rate, stream);
        }
    }
    for (int i = 0; !given && i < 2; i++)
        rc |= bench(shipped[i], cache_path, copy_rate, stream);
    (void)cudaStreamDestroy(stream);
    return rc ? 1 : 0;
}
