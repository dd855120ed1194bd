/*
 * net_case.h - run a network on the CUDA executor from a test that knows nothing of CUDA
 */
#pragma once

#include "gpu/net/net.h"

#ifdef __cplusplus
extern "C" {
#endif

struct net_case;

struct net_case_api {
    /* NULL: there is a device; else why there is none */
    const char *(*why_not)(void);
    /* Tile shapes by rule, unless `tune`. */
    int (*open)(struct net_case **c, const struct net *net, int h, int w, int max_batch, int tune,
                struct err *err);
    /* in [n][channels][h][w], rounded to halves; out [n] answers; host memory. `replay`: the
     * launches are captured into a graph, which then runs. */
    int (*run)(struct net_case *c, const float *in, float *out, int n, int replay, struct err *err);
    void (*close)(struct net_case **c);
};

#ifdef __cplusplus
}
#endif
