/*
 * comeback.h - when a session whose journal is replayed will be there, for Retry-After
 *
 * The time of a frame is the mean over the frames that ended last. The wait for the first one is
 * left out: networks are opened in it, which is not done again for the others. The caller has the
 * lock, and says what the time is.
 */
#ifndef RECOND_DAEMON_COMEBACK_H
#define RECOND_DAEMON_COMEBACK_H

#include <stdint.h>

#define COMEBACK_ENDS 64
#define COMEBACK_LIMIT_S 60 /* the longest that a client is asked to stay away */

struct comeback {
    uint64_t ends_us[COMEBACK_ENDS]; /* ring: when frames of journals ended */
    uint64_t ended;                  /* frames, in all */
    /* Sessions that clients have asked for are replayed side by side, before all others. */
    uint64_t asked, asked_frames; /* such sessions, and the frames that they lack */
    uint64_t other_frames;        /* of others, on their way through the device already */
};

void comeback_ended(struct comeback *c, uint64_t now_us);

/* Seconds, 1 ... COMEBACK_LIMIT_S, until a session that lacks so many frames and is asked for has
 * them. 1 while nothing was measured. */
int comeback_s(const struct comeback *c, uint64_t frames);

#endif
