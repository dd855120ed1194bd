/*
 * ws_frame.h - the frames of RFC 6455, as a server reads and writes them
 *
 * What a client may not send ends the connection with 1002 (sections 5.1 to 5.5): a frame that is
 * not masked, reserved bits and opcodes, control frames that are longer than 125 bytes or come in
 * fragments, a fragment that continues nothing, a message in the middle of another, a length that
 * is written with more bytes than it needs.
 */
#ifndef RECOND_API_WS_FRAME_H
#define RECOND_API_WS_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WS_FRAME_HEAD_MAX 10 /* bytes of the head of a server's frame */
#define WS_FRAME_CONTROL_MAX 125

enum ws_frame_op {
    WS_FRAME_MORE = 0,
    WS_FRAME_TEXT = 1,
    WS_FRAME_BINARY = 2,
    WS_FRAME_CLOSE = 8,
    WS_FRAME_PING = 9,
    WS_FRAME_PONG = 10
};

struct ws_frame_reader { /* State of a reader; zeros before the first frame. */
    uint8_t head[14], control[WS_FRAME_CONTROL_MAX];
    size_t head_len, control_len;
    uint64_t left; /* payload that has not come */
    unsigned key_at;
    bool in_payload;
    bool in_message; /* a message is open: its last fragment has not ended */
    bool begun;      /* a part of the message was returned */
    bool binary;
};

enum ws_frame_event {
    WS_FRAME_NONE, /* all bytes are taken, there is no event */
    WS_FRAME_PART, /* a part of a message */
    WS_FRAME_CONTROL,
    WS_FRAME_BROKEN
};

struct ws_frame {
    enum ws_frame_event event;
    enum ws_frame_op op; /* code and payload of a control frame */
    const uint8_t *data; /* unmasked */
    size_t len;
    uint64_t remaining; /* announced bytes of the part's frame that have not come */
    bool first, final;  /* part of the message */
    bool binary;
    const char *why; /* the error */
};

/*
 * ws_frame_read - the next that there is to tell of some bytes
 *
 * In/out:  data [len] is unmasked in place
 * Out:     out, which points into data or r until the next call
 * Returns: how many bytes were taken; call again with the rest
 */
size_t ws_frame_read(struct ws_frame_reader *r, struct ws_frame *out, uint8_t *data, size_t len);

/* Writes the head of a whole message or control frame; returns its length. */
size_t ws_frame_head(uint8_t head[WS_FRAME_HEAD_MAX], enum ws_frame_op op, size_t len);

#endif
