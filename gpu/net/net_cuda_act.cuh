/*
 * net_cuda_act.cuh - the activations of enum net_act_kind, for the kernels of net_cuda_conv.cu and
 * net_cuda_move.cu
 */
#pragma once

#include "gpu/net/net_graph.h"

#include <cuda_runtime.h>

/* All activations but NET_ACT_RELU. */
static __device__ __forceinline__ float net_cuda_act_rare(int kind, float a, float b, float x)
{
    switch (kind) {
    case NET_ACT_CLIP:
        return fminf(fmaxf(x, a), b);
    case NET_ACT_ELU:
        return x < 0.0f ? a * expm1f(x) : x;
    case NET_ACT_SIGMOID:
        return 1.0f / (1.0f + expf(-x));
    case NET_ACT_TANH:
        return tanhf(x);
    case NET_ACT_SOFTPLUS:
        return x > 20.0f ? x : log1pf(expf(x));
    case NET_ACT_EXP:
        return expf(x);
    case NET_ACT_LOG:
        return logf(x);
    case NET_ACT_SQRT:
        return sqrtf(x);
    case NET_ACT_ABS:
        return fabsf(x);
    case NET_ACT_HARDSWISH:
        return x * fminf(fmaxf(x / 6.0f + 0.5f, 0.0f), 1.0f);
    case NET_ACT_POW:
        return a * powf(x, b);
    case NET_ACT_LINEAR:
        return a * x + b;
    default:
        return x;
    }
}

static __device__ __forceinline__ float net_cuda_act(const net_act &act, float x)
{
    if (act.kind == NET_ACT_RELU)
        return x < 0.0f ? act.a * x : x;
    return net_cuda_act_rare(act.kind, act.a, act.b, x);
}
