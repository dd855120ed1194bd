/*
 * support_model_cuda.h - a session on the device whose model is large before the first frame
 */
#pragma once

#include "gpu/mono/session_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A new session of n + room slots gets n points that no frame sees. The free slots are strewn among
 * them in random order, so that new points land anywhere in the arena. */
MUST_CHECK int support_model_fill(struct session_cuda *s, uint32_t n, uint32_t room,
                                  cudaStream_t stream, struct err *err);

#ifdef __cplusplus
}
#endif
