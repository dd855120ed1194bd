/*
 * support_load.h - one phone that costs little: a WebSocket that sends the same picture at times of
 * its own and looks at nothing but the answers
 *
 * Frames go out unmasked (a mask of zeros) straight from the picture's memory; block messages are
 * passed over unread. Nothing waits: a socket that takes no more has its frame finished later.
 * Threads: one.
 */
#pragma once

#include "proto/wire/control.h"

#define SUPPORT_LOAD_SEQS 1024 /* frames whose times are remembered, more than can be unanswered */

struct support_load_picture {
    const uint8_t *jpeg;
    size_t len;
    int width, height;
};

/* An answer to a frame that was due at due_us, in phase `phase` of the sender. */
typedef void support_load_ack(void *ctx, const struct control_ack *ack, uint64_t due_us, int phase);

struct support_load;

/*
 * support_load_open - connect, say `start`, wait for `ready`
 *
 * In:      url as the session told it; token; picture outlives the stream
 * Returns: 0; ERR_IO, ERR_DENIED with what the server answered; ERR_MEMORY
 */
MUST_CHECK int support_load_open(struct support_load **l, const char *url, const char *token,
                                 const struct support_load_picture *picture,
                                 support_load_ack *on_ack, void *ctx, struct err *err);
void support_load_close(struct support_load **l);

int support_load_fd(const struct support_load *l);
/* Something waits to be written. */
bool support_load_pending(const struct support_load *l);
/* Frames sent, and those not answered. */
uint64_t support_load_sent(const struct support_load *l);
int support_load_unanswered(const struct support_load *l);
int support_load_window(const struct support_load *l);

/* The hand holds still for so many frames of each pose (1). */
void support_load_hold(struct support_load *l, int frames);

/* The next frame, due at due_us. Returns false if the one before is still being written, or as many
 * are unanswered as the server may tolerate. */
bool support_load_frame(struct support_load *l, uint64_t due_us, int phase);
/* The same with a picture and a pose (OpenCV axes) of its own; both stay until it is written. */
bool support_load_frame_of(struct support_load *l, const struct support_load_picture *picture,
                           const struct rigid *T_wc, uint64_t due_us, int phase);
/* When the last byte of the newest frame had gone out, and when the first byte of the first block
 * message after that came in; 0 = not yet. Microseconds of CLOCK_MONOTONIC. */
void support_load_moments(const struct support_load *l, uint64_t *out_us, uint64_t *in_us);
/* Write and read what is possible now. Returns 0; ERR_END, ERR_IO: the connection is over. */
MUST_CHECK int support_load_run(struct support_load *l, struct err *err);
