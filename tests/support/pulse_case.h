/*
 * pulse_case.h - ask a device's pulse (gpu/base/pulse_cuda.h) from a test that knows nothing of
 * CUDA
 *
 * A test reaches it through a table, as it does fusion_cuda.h. Each case opens device 0 for itself
 * and is for a process of its own: after a fault there is nothing to go on with.
 */
#ifndef RECOND_TESTS_PULSE_CASE_H
#define RECOND_TESTS_PULSE_CASE_H

#include "proto/err.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pulse_case_api {
    /* n askings of a device with nothing to do; stops at the first error. */
    int (*idle)(int n, int answer_ms, struct err *err);
    /* Asked while a kernel of one thread runs for busy_ms. *busy: it still ran afterwards. */
    int (*busy)(int *busy, int busy_ms, int answer_ms, struct err *err);
    /* Asked 10 ms after a store to nobody's address. */
    int (*struck)(int answer_ms, struct err *err);
};

#ifdef __cplusplus
}
#endif
#endif
