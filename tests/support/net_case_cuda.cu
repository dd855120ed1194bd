/* net.h is C's alone: C++ has to be told, before net_case.h brings it in */
extern "C" {
#include "gpu/net/net.h"
}
#include "tests/support/net_case.h"

#include "gpu/base/cuda_try.h"
#include "gpu/net/net_cuda.h"

#include <stdlib.h>
#include <string.h>

struct net_case {
    struct net_cuda *exec;
    cudaStream_t stream;
    int c, h, w, pitch, max_batch;
    size_t out_count; /* of one picture */
    __half *in;       /* host [max_batch][h][w][pitch] */
};

static const char *why_not(void)
{
    int n = 0;
    cudaError_t e = cudaGetDeviceCount(&n);
    if (e == cudaSuccess && n > 0)
        return NULL;
    return e == cudaSuccess ? "no CUDA device" : cudaGetErrorString(e);
}

static void close_case(struct net_case **c)
{
    if (!*c)
        return;
    net_cuda_free(&(*c)->exec);
    if ((*c)->stream)
        (void)cudaStreamDestroy((*c)->stream);
    free((*c)->in);
    free(*c);
    *c = NULL;
}

static int open_case(struct net_case **out, const struct net *net, int h, int w, int max_batch,
                     int tune, struct err *err)
{
    struct net_cuda_config config;
    struct net_case *c = (struct net_case *)calloc(1, sizeof *c);
    int shape[4], rc;
    *out = NULL;
    if (!c)
        return err_set(err, ERR_MEMORY, "no memory for a test");
    memset(&config, 0, sizeof config);
    config.h = h;
    config.w = w;
    config.max_batch = max_batch;
    config.tune = tune;
    net_limits_default(&config.limits);
    c->c = net_input_channels(net);
    c->h = h;
    c->w = w;
    c->max_batch = max_batch;
    CU_TRY(cudaStreamCreateWithFlags(&c->stream, cudaStreamNonBlocking));
    if ((rc = net_output_shape(net, 1, h, w, shape, err)) ||
        (rc = net_cuda_new(&c->exec, net, &config, c->stream, err)))
        goto out;
    c->out_count = (size_t)shape[0] * shape[1] * shape[2] * shape[3];
    c->pitch = net_cuda_input_pitch(c->exec);
    c->in = (__half *)calloc((size_t)max_batch * h * w * c->pitch, sizeof *c->in);
    if (!c->in)
        rc = err_set(err, ERR_MEMORY, "no memory for a test");
out:
    if (rc)
        close_case(&c);
    *out = c;
    return rc;
}

static int launch(struct net_case *c, int n, int replay, struct err *err)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    int rc = 0;
    if (!replay)
        return net_cuda_run(c->exec, n, c->stream, err);
    CU_TRY(cudaStreamBeginCapture(c->stream, cudaStreamCaptureModeThreadLocal));
    rc = net_cuda_run(c->exec, n, c->stream, err);
    if (rc)
        goto out;
    CU_TRY(cudaStreamEndCapture(c->stream, &graph));
    CU_TRY(cudaGraphInstantiate(&exec, graph, 0));
    CU_TRY(cudaGraphLaunch(exec, c->stream));
    CU_TRY(cudaStreamSynchronize(c->stream));
out:
    if (exec)
        (void)cudaGraphExecDestroy(exec);
    if (graph)
        (void)cudaGraphDestroy(graph);
    return rc;
}

static int run_case(struct net_case *c, const float *in, float *out, int n, int replay,
                    struct err *err)
{
    size_t plane = (size_t)c->h * c->w, bytes = n * plane * c->pitch * sizeof(__half);
    int rc;
    for (size_t i = 0; i < n * plane; i++)
        for (int k = 0; k < c->c; k++)
            c->in[i * c->pitch + k] =
                __float2half_rn(in[(i / plane * c->c + k) * plane + i % plane]);
    CU_TRY(
        cudaMemcpyAsync(net_cuda_input(c->exec), c->in, bytes, cudaMemcpyHostToDevice, c->stream));
    rc = launch(c, n, replay, err);
    if (rc)
        goto out;
    CU_TRY(cudaMemcpyAsync(out, net_cuda_output(c->exec), n * c->out_count * sizeof *out,
                           cudaMemcpyDeviceToHost, c->stream));
    CU_TRY(cudaStreamSynchronize(c->stream));
out:
    return rc;
}

static const struct net_case_api api = {why_not, open_case, run_case, close_case};
extern "C" {
extern const struct net_case_api *net_case_cuda;
const struct net_case_api *net_case_cuda = &api;
}
