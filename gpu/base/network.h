/*
 * network.h - the models of a device: an ONNX file that was read and checked once, and its network
 * planned for each input size, shared by sessions (internal to gpu/)
 *
 * Owner:   the thread that makes sessions (gpu.h). The thread that runs items reads the networks of
 *          its sessions.
 */
#pragma once

#include "gpu/base/ops.h"
#include "gpu/base/shared.h"
#include "gpu/net/net.h"

#ifdef __cplusplus
extern "C" {
#endif

struct network_model {
    struct gpu_model base;
    struct net *net;
    struct shared_list networks;
    size_t bytes; /* weights */
};

/* A model's network for one input size. */
struct network {
    struct shared shared;
    struct network_model *model;
    void *exec; /* struct net_dnnl or net_cuda: ops.network_make()'s */
    int w, h;
    size_t bytes;
};

/* As gpu_model_open() and gpu_model_close(). No session may use a model that is closed. */
MUST_CHECK int network_model_open(struct gpu_model **m, struct gpu *g,
                                  const struct gpu_model_info *info, struct err *err);
void network_model_close(struct gpu_model *m);
/* Out: *n, or NULL where m is NULL. Pair get with put, which also takes NULL. */
MUST_CHECK int network_get(struct network **n, struct gpu_model *m, int w, int h, struct err *err);
void network_put(struct network *n);

#ifdef __cplusplus
}
#endif
