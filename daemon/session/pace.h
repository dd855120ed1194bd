/*
 * pace.h - how many frames a second a session can use, and how good their pictures need to be
 *
 * Three small estimators, fed by the session under its lock; none of them reads a clock.
 *   pace_clock   holds a session's `fps` by the capture times of one source: a frame that comes
 *                too early after the last one that was taken is left out. One that is late by
 *                less than two periods leaves its time to the next one; a pause leaves nothing
 *   pace         the rate that a client is told: `fps`, or a little less than what the device has
 *                lately used of this session while frames queued for it
 *   pace_link    the JPEG quality that a client is told: less while frames come late although none
 *                waits for the device, so that the line is what delays them
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PACE_JPEG_MAX 85 /* a network sees no difference above it */
#define PACE_JPEG_MIN 40
/* A camera of 30 frames/s may send 30.6: less than this share of a period is not thinned. */
#define PACE_SLACK 0.02

struct pace_clock {
    bool any;
    double due_ns; /* when the next frame is due */
    uint64_t last_ns;
};

/* Is a frame of this capture time taken? A time that does not rise is always taken. */
bool pace_takes(struct pace_clock *c, double fps, uint64_t t_capture_ns);

struct pace {
    double fps, rate;     /* the option; the rate that clients are told */
    double interval_us;   /* mean time between two answers while frames waited */
    uint64_t answered_us; /* time of the last answer, if it left frames waiting; else 0 */
};

struct pace pace_new(double fps);
/* A frame was used, and `waiting` others of the session wait or are computed. */
void pace_used(struct pace *p, uint64_t now_us, uint64_t waiting);

struct pace_link {
    bool any;
    int jpeg;
    double base_us;      /* the least delay, against the clock of the source */
    uint64_t changed_us; /* when the quality was last changed or checked */
};

struct pace_link pace_link_new(void);
/* A frame came in while `waiting` others of the session wait or are computed. */
void pace_arrived(struct pace_link *l, uint64_t t_capture_ns, uint64_t now_us, uint64_t waiting);

/* Does a rate differ enough from the last one that a client was told? `most`, the highest rate, is
 * told after any difference. */
bool pace_differs(double rate, double told, double most);
