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

#define INERTIAL_SPAN_NS 1000000000ll /* longest time between the moments */
#define INERTIAL_GAP_NS 50000000ll    /* longest time without a sample */
#define INERTIAL_RATE_MOST 35.0       /* 2000 degrees a second, the range of such sensors */

struct inertial_turn {
    uint64_t from_ns;
    int64_t span_ns, at_ns; /* time of the last sample; both are from from_ns on */
    double rate[3];         /* rate of the last sample */
    double q[4];            /* w x y z: rotation from the present camera to that of from_ns */
    int n;
    bool is_bad;
};

void inertial_begin(struct inertial_turn *t, uint64_t from_ns, uint64_t to_ns);

/* Adds the next sample. Samples before from_ns and behind the end are allowed. */
void inertial_add(struct inertial_turn *t, uint64_t at_ns, const float rate[3]);

/* Out: turn: the quaternion (1, turn/2), normalised, takes directions of the camera at the end to
 * directions of the camera at from_ns; seconds: the time in between. Returns false and zeros if the
 * samples do not determine it. */
bool inertial_end(struct inertial_turn *t, float turn[3], float *seconds);

#endif
