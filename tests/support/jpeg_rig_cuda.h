/*
 * jpeg_rig_cuda.h - the kernel that makes pictures of planes, on planes of the test's own
 *
 * A test reaches it through a table, as it does views_rig_cuda.h's.
 */
#pragma once

#include "gpu/base/jpeg_point.h"
#include "proto/err.h"

#ifdef __cplusplus
extern "C" {
#endif

struct jpeg_rig_api {
    /* 0 = no device */
    int (*devices)(void);
    /* As jpeg_cuda_rgb(), but everything is host memory, and it waits. What lies behind the picture
     * goes to the device and back: out has `bytes`. */
    int (*rgb)(uint8_t *out, size_t bytes, const struct jpeg_planes *picture, int n,
               struct err *err);
};

extern const struct jpeg_rig_api *jpeg_rig_cuda;

#ifdef __cplusplus
}
#endif
