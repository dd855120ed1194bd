/*
 * inertial.h - how a camera turned between two moments, by the samples of a gyroscope
 *
 * Units:   nanoseconds of one clock, radians a second about the camera's axes
 * Bounds:  samples are a stranger's. What is not finite or turns too fast, times that do not grow,
 *          a gap between two samples or at either end, and a turn of more than a quarter say
 *          nothing. Other clocks are seen by that: their samples leave a gap.
 * Maths:   MATH.md (P10)
 */
#ifndef RECOND_PROTO_INERTIAL_H
#define RECOND_PROTO_INERTIAL_H

#include "proto/types.h"

#include <stdbool.h>
#include <stdint.h>

#define INERTIAL_SPAN_NS 1000000000ll /* between the moments, at most */
#define INERTIAL_GAP_NS 50000000ll    /* without a sample, at most */
#define INERTIAL_RATE_MOST 35.0       /* 2000 degrees a second: what such units measure */

struct inertial_turn {
    uint64_t from_ns;
    int64_t span_ns, at_ns; /* at: of the last sample; both from from_ns on */
    double rate[3];         /* of the last sample */
    double q[4];            /* w x y z: from the camera now to that of from_ns */
    int n;
    bool is_bad;
};

void inertial_begin(struct inertial_turn *t, uint64_t from_ns, uint64_t to_ns);

/* The next sample: those before from_ns and behind the end are welcome. */
void inertial_add(struct inertial_turn *t, uint64_t at_ns, const float rate[3]);

/* Out: turn: the quaternion (1, turn/2), normalised, takes directions of the camera at the end to
 * those of the one at from_ns; seconds in between. Returns false, and leaves zeros, where samples
 * do not say it. */
bool inertial_end(struct inertial_turn *t, float turn[3], float *seconds);

#endif
