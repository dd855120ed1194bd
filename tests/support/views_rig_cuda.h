/*
 * views_rig_cuda.h - the stages of many views on a CUDA device, without a line around them
 *
 * A test reaches it through a table, as it does fusion_cuda.h's.
 */
#pragma once

#include "gpu/views/views.h"
#include "proto/err.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VIEWS_RIG_MAX 4

struct views_rig;

struct views_rig_api {
    /* n sessions with pictures of w[i] x h[i]. Returns: 0; ERR_UNSUPPORTED: no device; others */
    int (*open)(struct views_rig **r, const int *w, const int *h, int n, struct err *err);
    void (*close)(struct views_rig **r);
    /* A frame of each session as a batch; one whose rgb is NULL leaves its place empty. Waits. */
    int (*run)(struct views_rig *r, const struct views_frame *f, struct err *err);
    /* What session i holds, in host memory that is the rig's until the next call. */
    int (*read)(struct views_rig *r, int i, struct views *v, struct err *err);
};

extern const struct views_rig_api *views_rig_cuda;

#ifdef __cplusplus
}
#endif
