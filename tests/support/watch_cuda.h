/*
 * watch_cuda.h - what a program asks of the CUDA run-time: allocations, and work without a stream
 *
 * Calls of our objects come here first, because the test is linked with --wrap for each of them
 * (Makefile, WATCHED); the run-time is linked statically, so they are ours to wrap. Work counts as
 * without a stream if its stream is the default one, by any of its names, or if the call has no
 * stream at all and waits for the device.
 */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

struct watch_cuda {
    int made;          /* memory, graphs, streams, events: allocated or freed */
    int streamed;      /* calls that name a stream */
    int streamless;    /* work on the default stream */
    char offender[64]; /* the first call that was counted as made or streamless; "" = none */
};

/* Counts from here on, in all threads; begin and end are for when no other thread calls. */
void watch_cuda_begin(void);
struct watch_cuda watch_cuda_end(void);

/* Allocates once, enqueues twice on the default stream, as two of its names. Returns 0, or what the
 * run-time says. */
int watch_cuda_misbehave(void);

#ifdef __cplusplus
}
#endif
