/*
 * recogniser.h - from a depth picture to the objects that it shows, on a device
 *
 * One call runs the whole chain: surface, tensors, matches with a library, poses. It is no line of
 * gpu.h, since on a processor it would hold up a line for as long as many frames take. A recogniser
 * has its own stream and memory, so a thread of low priority can run it beside the device's lines.
 *
 * Frames:  T_co takes the object's points to the camera
 * Owner:   one thread at a time
 * Order:   the same picture gives the same answer, bit for bit
 * Maths:   MATH.md (O1)-(O17)
 * Twins:   recogniser.c, recogniser_cuda.c (tests/twin/gpu_recognise.c)
 */
#pragma once

#include "gpu/recognise/hypothesis.h"

#ifdef __cplusplus
extern "C" {
#endif

struct recogniser;

/* Bytes of a recogniser for pictures of w x h, on device or host. Of the library it reads only the
 * counts (n_...). */
size_t recogniser_bytes(int w, int h, const struct library *l);
/*
 * recogniser_open - set aside all memory that a recogniser will use
 *
 * In:      device: "cpu", "cuda:N"; the library is borrowed until close
 * Returns: 0; ERR_INPUT: sides; ERR_UNSUPPORTED: no such device; ERR_MEMORY; ERR_DEVICE
 */
MUST_CHECK int recogniser_open(struct recogniser **r, const char *device, int w, int h,
                               const struct library *l, struct err *err);
void recogniser_close(struct recogniser **r);

/*
 * recogniser_run - the objects that a picture shows, the best supported first
 *
 * In:      depth [h][w], host, metres along +z; 0 or NaN = none
 * Out:     found [HYPOTHESES_MAX]; *n
 * Returns: 0, also where nothing is recognised; ERR_INPUT: intrinsics; ERR_MEMORY; ERR_DEVICE
 * Runs:    waits
 */
MUST_CHECK int recogniser_run(struct recogniser *r, const float *depth, struct intrinsics K,
                              struct hypothesis *found, uint32_t *n, struct err *err);
/* Judges an object at a pose by the last picture: MATH.md (O17), without refinement. */
struct hypothesis_view recogniser_judge(const struct recogniser *r, uint32_t object,
                                        const struct rigid *T_co);

#ifdef __cplusplus
}
#endif
