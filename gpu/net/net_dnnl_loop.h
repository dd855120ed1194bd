/*
 * net_dnnl_loop.h - the loops that oneDNN has no primitive for: table-driven resize, pad and crop,
 * shuffle
 *
 * A plane view covers every layout: `outer` planes of [rows][columns], each element `inner` floats
 * side by side (1 = plain, the channels = channels last, 8 or 16 = a block of channels).
 */
#pragma once

#include "gpu/net/net_graph.h"

struct net_dnnl_loop {
    const struct net_step *step; /* NET_STEP_REMAP, _LERP or _SHUFFLE */
    int outer, inner;
    int in[2], out[2];
    int channels; /* of the result; shuffle only */
};

void net_dnnl_loop_run(const struct net_dnnl_loop *l, const float *src, float *dst);
