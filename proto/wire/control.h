/*
 * control.h - text messages of the stream: JSON objects with an `op`
 *
 * Client to server
 *   {"op":"start","role":"ingest"|"view","codecs":["zstd","deflate-raw","raw"],
 *    "pose":"opengl"|"cv","resume":{"epoch":E,"revision":R}}
 *                   first message; pose and resume are optional
 *   {"op":"need","submap":S,"x":X,"y":Y,"z":Z}  send this block whole (a patch did not fit)
 *   {"op":"end"}                               no more frames from this client
 * Server to client
 *   {"op":"ready","session":ID,"epoch":E,"revision":R,"codec":"zstd","step_m":0.001,"window":8,
 *    "max_frame_bytes":N,"net":[W,H]}
 *   {"op":"ack","seq":N,"status":"used"|"dropped"|"refused","reason":"...","keyframe":true}
 *   {"op":"sync","revision":R,"points":N,"hash":"16 hex digits","ended":true}
 *                   everything up to R has been sent; `ended`: all frames of this client are
 *                   answered
 *   {"op":"error","status":400,"title":"...","detail":"...","pointer":"/..."}   the client stays
 *   connected
 *   {"op":"bye","action":"resume"|"reconnect"|"disconnect","retry_ms":N,"reason":"..."}
 *
 * Limits:  CONTROL_TEXT_MAX bytes, object at top level, depth 8, valid UTF-8, no duplicate keys;
 *          unknown members are ignored, unknown ops are answered with `error`.
 */
#ifndef RECOND_PROTO_CONTROL_H
#define RECOND_PROTO_CONTROL_H

#include "proto/wire/delta.h"
#include "proto/err.h"
#include "proto/wire/frame.h"

#include <stdbool.h>

#define CONTROL_TEXT_MAX 4096
#define CONTROL_ID_CAP 32
#define CONTROL_SUBPROTOCOL "recon.v1"
#define CONTROL_BEARER_PREFIX "bearer.recon." /* + base64url(token): for browsers */

enum control_op {
    CONTROL_START,
    CONTROL_NEED,
    CONTROL_END,
    CONTROL_READY,
    CONTROL_ACK,
    CONTROL_SYNC,
    CONTROL_ERROR,
    CONTROL_BYE
};

enum control_role { CONTROL_INGEST, CONTROL_VIEW };
enum control_status { CONTROL_USED, CONTROL_DROPPED, CONTROL_REFUSED };
enum control_action { CONTROL_RESUME, CONTROL_RECONNECT, CONTROL_DISCONNECT };

/* Why a frame was not used, with the word that is sent. */
enum control_reason {
    CONTROL_REASON_NONE,
    CONTROL_DUPLICATE,    /* "duplicate": this seq was answered before */
    CONTROL_NO_MOTION,    /* "no_motion" */
    CONTROL_OVERLOAD,     /* "overload": the session's queue was full */
    CONTROL_BAD_POSE,     /* "bad_pose" */
    CONTROL_BAD_FRAME,    /* "bad_frame": header */
    CONTROL_DECODE_ERROR, /* "decode_error" */
    /* "tracking": the phone's tracker was lost, and the session needs its poses */
    CONTROL_TRACKING,
    CONTROL_NO_CAMERA, /* "no_camera": intrinsics in neither frame nor session */
    CONTROL_CLOSED,    /* "closed": the session takes no more frames */
    CONTROL_MEMORY,    /* "memory" */
    /* "fault": the device or a network failed; the session goes on if it can */
    CONTROL_FAULT,
    CONTROL_STORAGE, /* "storage": it could not be stored: disk full or failed */
    /* "poison": the process died twice while it worked on it; the frame is kept for the operator */
    CONTROL_POISON
};

struct control_start {
    enum control_role role;
    uint32_t codecs; /* bit mask of 1 << enum codec_kind */
    enum frame_pose_convention pose;
    bool resume;
    uint32_t epoch;
    uint64_t revision;
};

struct control_ready {
    char session[CONTROL_ID_CAP];
    uint32_t epoch;
    uint64_t revision;
    enum codec_kind codec;
    float step_m;
    uint32_t window, max_frame_bytes;
    int net_w, net_h;
};

struct control_ack {
    uint64_t seq;
    enum control_status status;
    enum control_reason reason;
    bool keyframe;
};

struct control_sync {
    uint64_t revision, points, hash;
    bool ended;
};

struct control_error {
    int status;
    char title[64], detail[ERR_TEXT_CAP], pointer[ERR_WHERE_CAP];
};

struct control_bye {
    enum control_action action;
    uint32_t retry_ms;
    char reason[64];
};

struct control_message {
    enum control_op op;
    union {
        struct control_start start;
        struct cloud_name need;
        struct control_ready ready;
        struct control_ack ack;
        struct control_sync sync;
        struct control_error error;
        struct control_bye bye;
    };
};

/* Returns 0; ERR_INPUT with where = JSON pointer of the bad member; ERR_LIMIT. Fills *m only on
 * 0. */
MUST_CHECK int control_parse(struct control_message *m, const char *text, size_t len,
                             struct err *err);

/* Writes m as JSON into buf and allocates nothing. Returns the length without the NUL, 0 if cap is
 * too small. */
size_t control_write(char *buf, size_t cap, const struct control_message *m);

const char *control_reason_name(enum control_reason r);

#endif
