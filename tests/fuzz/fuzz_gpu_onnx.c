/*
 * fuzz_gpu_onnx - any bytes as a model: load, shapes, and for small ones plan and run
 *
 * Bounds are small so that a run is short; what they refuse is refused before it is allocated.
 */
#include "gpu/net/net_graph.h"
#include "tests/support/fuzz_case.h"

#define SIDE 16
#define FLOPS_MAX 1e7

static void run(const struct net *net, const struct net_limits *limits, const int shape[4])
{
    size_t count = (size_t)shape[0] * (size_t)shape[1] * (size_t)shape[2] * (size_t)shape[3];
    float *in = calloc((size_t)net_input_channels(net) * SIDE * SIDE, sizeof *in);
    float *out = calloc(count, sizeof *out);
    struct net_dnnl *p = NULL;
    struct err err;
    if (in && out && net_dnnl_new(&p, net, 1, SIDE, SIDE, limits, &err) == 0 &&
        net_dnnl_run(p, in, out, &err) != 0)
        abort(); /* what was planned must run */
    net_dnnl_free(&p);
    free(in);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct net_limits limits = {1 << 20, 1 << 20, 4 << 20, 48};
    struct net_graph *g = NULL;
    struct net *net = NULL;
    struct err err = {0};
    int shape[4], rc = net_load_bytes(&net, data, size, NULL, NULL, &limits, &err);
    if (rc) {
        if (net || err.code != rc || !err.text[0])
            abort(); /* every refusal says why and leaves nothing behind */
        return 0;
    }
    if (net_graph_new(&g, net, 1, SIDE, SIDE, NULL, &err) == 0) {
        double flops = g->flops;
        net_graph_free(&g);
        if (net_output_shape(net, 1, SIDE, SIDE, shape, &err))
            abort();
        if (flops < FLOPS_MAX)
            run(net, &limits, shape);
    }
    net_free(&net);
    return 0;
}
