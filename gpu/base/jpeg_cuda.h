/*
 * jpeg_cuda.h - JPEG on the card's own engines, through NVIDIA's nvJPEG, loaded at run time
 * (internal to gpu/ and its tests)
 *
 * The engines decode 720p in half a millisecond and need neither multiprocessors nor the host. They
 * hand out planes as they are coded, and a kernel makes RGB of them as libjpeg-turbo does: nvJPEG's
 * own RGB repeats colour samples where libjpeg-turbo interpolates. The same kernel shrinks to the
 * requested size, so the host gets no more than libjpeg-turbo would make. The pictures of one call
 * are decoded side by side, calls one after the other. So a thread that finds an engine batch free
 * also serves the requests that wait: a single picture waits for no other, and many pictures share
 * calls by fours. With two batches one call is prepared while the other is decoded.
 * Threads: any
 */
#pragma once

#include "gpu/gpu.h"
#include "gpu/base/jpeg_point.h"
#include "gpu/base/memory_cuda.h"

#include <cuda_runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

struct jpeg_cuda;

/* NULL: no nvJPEG, or the card has no engines. The calling thread's device is `device`. */
void jpeg_cuda_open(struct jpeg_cuda **j, int device, struct memory_cuda *memory);
void jpeg_cuda_close(struct jpeg_cuda **j);
/* 0 for NULL */
int jpeg_cuda_engines(const struct jpeg_cuda *j);

/* gpu_decode() of this back end */
MUST_CHECK int jpeg_cuda_decode(struct jpeg_cuda *j, const struct gpu_jpeg *jpeg, struct err *err);

/*
 * jpeg_cuda_rgb - planes, on the device, to a picture at 1/n of their size; n of 1, 2, 4, 8
 * Out:     out [ceil(height/n)][ceil(width/n)][3], device memory
 * Runs:    enqueues on stream, does not wait
 * Maths:   (I0) of MATH.md, jpeg_point.h
 */
MUST_CHECK int jpeg_cuda_rgb(uint8_t *out, const struct jpeg_planes *picture, int n,
                             cudaStream_t stream, struct err *err);

#ifdef __cplusplus
}
#endif
