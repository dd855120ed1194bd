/*
 * comeback.h - when the replay of a session's journal will be done, for Retry-After
 *
 * The time of a frame is the mean over the frames that ended last. The first one is left out,
 * because networks are opened then. The caller has the lock, and passes the time.
 */
#pragma once

#include <stdint.h>

#define COMEBACK_ENDS 64
#define COMEBACK_LIMIT_S 60 /* the longest wait that a client is told */

struct comeback {
    uint64_t ends_us[COMEBACK_ENDS]; /* ring: when frames of journals ended */
    uint64_t ended;                  /* number of frames that ended */
    /* Sessions that clients have asked for are replayed side by side, before all others. */
    uint64_t asked, asked_frames; /* such sessions, and the frames that they lack */
    uint64_t other_frames;        /* frames of others that are on the device already */
};

void comeback_ended(struct comeback *c, uint64_t now_us);

/* Returns the seconds, 1 ... COMEBACK_LIMIT_S, until a session that lacks so many frames and is
 * asked for has them; 1 while nothing was measured. */
int comeback_s(const struct comeback *c, uint64_t frames);
