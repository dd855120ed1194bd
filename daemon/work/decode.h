/*
 * decode.h - the pool of threads that turns JPEG into pictures
 *
 * A session's frames are decoded one at a time, in order; turn.h is fair to sessions. Each JPEG
 * is probed before anything is allocated, must have the size that its header claimed and the
 * session's other frames have, and is decoded at the smallest of libjpeg-turbo's scales that covers
 * the network's input: by the JPEG engines of the session's device if it has some and the picture
 * is worth the way there, else by the thread itself.
 */
#pragma once

#include "daemon/work/session_work.h"
#include "proto/image/jpeg.h"

struct decode;

/* threads 0 = one a core, at most eight a device; larger pictures than card_pixels go to the
 * card */
MUST_CHECK int decode_start(struct decode **d, int threads, int n_devices,
                            const struct jpeg_limits *limits, int64_t card_pixels, struct err *err);
/* Ends the threads; waiting frames stay where they are. */
void decode_stop(struct decode *d);
/* Frees it, when no session is left that may ask for a turn. */
void decode_free(struct decode **d);

/* The frame may be decoded, and the frame that was dropped for it ends. Any thread. */
void decode_admit(struct session *s, struct queue_item *item, const struct queue_dropped *d);
/* Function of struct session_work. */
struct turn *decode_turns(struct decode *d);

/* turn_pool_alive_us() of the threads */
uint64_t decode_alive_us(const struct decode *d);
