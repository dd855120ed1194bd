/*
 * decode.h - the pool of threads that turns JPEG into pictures
 *
 * A session's frames are decoded one at a time, in order; sessions take turns (turn.h). Each JPEG
 * is probed before anything is allocated, must have the size that its header claimed and the
 * session's other frames have, and is decoded at the smallest of libjpeg-turbo's scales that covers
 * the network's input: by the JPEG engines of the session's device if it has some and the picture
 * is worth the way there, else by the thread itself.
 * Threads: decode_kick() by any.
 */
#ifndef RECOND_DAEMON_DECODE_H
#define RECOND_DAEMON_DECODE_H

#include "daemon/session/session.h"
#include "proto/image/jpeg.h"

struct decode;

/* threads 0 = one a core, at most eight for each of n_devices; card_pixels: pictures of so many go
 * to the card, 0 = none */
MUST_CHECK int decode_start(struct decode **d, int threads, int n_devices,
                            const struct jpeg_limits *limits, int64_t card_pixels, struct err *err);
/* Ends the threads; frames in line stay where they are. decode_kick() does nothing from now on. */
void decode_stop(struct decode *d);
/* When nobody can call decode_kick() any more. */
void decode_free(struct decode **d);

/* The session has frames to decode, or room for decoded ones. */
void decode_kick(struct session *s);

/* clock_us() of the thread that showed itself longest ago: at most half a second old when all is
 * well. */
uint64_t decode_alive_us(const struct decode *d);

#endif
