/*
 * client.h - the client library: create a session, push frames, mirror the cloud
 *
 * One struct client is one REST connection (libcurl); one struct client_stream is one WebSocket of
 * a session (libwebsockets), which works in the caller's thread inside client_stream_run(). A
 * stream keeps the cloud's mirror (proto/cloud), never sends more unanswered frames than the
 * server's window allows, and checks its hash against every `sync`. It keeps every frame until its
 * ack, and with `reconnect_s` it connects again by itself; where a patch does not fit, without the
 * mirror.
 */
#ifndef RECOND_API_CLIENT_H
#define RECOND_API_CLIENT_H

#include "proto/cloud/cloud.h"
#include "proto/wire/control.h"

#include <stdio.h>

struct client;

/* Remedies for errors in words of the program's own options, which end the sentence. Each may be
 * NULL. */
struct client_hints {
    const char *no_server; /* nothing listens there */
    const char *untrusted; /* no trusted authority signed the certificate */
    const char *no_token;  /* 401 */
};

struct client_config {
    const char *url;   /* http://host:port */
    const char *token; /* bearer token; NULL = none */
    const char *agent; /* User-Agent */
    /* PEM file of trusted authorities; NULL = the system's. The connection is refused unless one of
     * them has signed the server's certificate for its name. */
    const char *ca_file;
    int timeout_s;
    /* Seconds during which a request is repeated while the server is away or busy; 0 = never. GET
     * and DELETE may always be repeated; any other request only if it was not sent at all or was
     * answered with 429 or 503. The pause is at least the server's Retry-After. */
    double retry_s;
    const struct client_hints *hints; /* stays valid; or NULL */
    void *ctx;
    /* Each may be NULL. on_retry is called before a pause, `stopped` many times a second during it;
     * true ends the pause. */
    void (*on_retry)(void *ctx, const struct err *why, int wait_ms);
    bool (*stopped)(void *ctx);
};

MUST_CHECK int client_open(struct client **c, const struct client_config *config, struct err *err);
void client_close(struct client **c);

/*
 * client_request - any REST call
 *
 * In:      path from the root ("/v1/sessions"); json body or NULL
 * Out:     *body (NUL-terminated, free()), *body_len and *status; each may be NULL. Set on errors
 *          that the server answered, too
 * Returns: 0 for 2xx. ERR_IO: no answer at all; ERR_DENIED: no trusted authority signed the
 *          server's certificate; ERR_INPUT: ca_file is none. From the status: ERR_DENIED 401 403,
 *          ERR_NOT_FOUND 404 410, ERR_STATE 409, ERR_LIMIT 413, ERR_BUSY 408 429 502 503 504,
 *          ERR_DEVICE other 5xx, ERR_INPUT all others; the text is the problem document's detail
 *          and where its pointer
 */
MUST_CHECK int client_request(struct client *c, const char *method, const char *path,
                              const char *json, char **body, size_t *body_len, int *status,
                              struct err *err);
/* GET into a file (written beside it and renamed). ERR_FILE: it cannot be written. */
MUST_CHECK int client_download(struct client *c, const char *path, const char *file,
                               struct err *err);
/* GET into an open stream, which stays open. */
MUST_CHECK int client_download_to(struct client *c, const char *path, FILE *to, struct err *err);
/* From now on downloads report their progress, 0 ... 1, or < 0 if the size is unknown. */
void client_on_bytes(struct client *c, void (*on_bytes)(void *ctx, double done), void *ctx);
/* GET that ends after the first cap bytes; used to read the header of an export. */
MUST_CHECK int client_peek(struct client *c, const char *path, char *buf, size_t cap, size_t *len,
                           struct err *err);

/*
 * client_depth - the depth map of the frame that a session used last (sessions with preview)
 *
 * Out:     *depth [*h][*w] metres, 0 = none, free() it; *seq of its frame
 * Returns: as client_request(); ERR_INPUT: the answer is no such map; ERR_MEMORY
 */
MUST_CHECK int client_depth(struct client *c, const char *session, float **depth, int *w, int *h,
                            uint64_t *seq, struct err *err);

struct client_session {
    char id[CONTROL_ID_CAP];
    char stream_url[256];
    char ingest_token[64], view_token[64];
    char up[3];   /* the world's axis that points up ("+y"), from the PLY's header; or "" */
    bool guessed; /* poses are learned: the world is the camera of the first frame */
};
/* options: the JSON body of POST /v1/sessions. */
MUST_CHECK int client_session_create(struct client *c, const char *options_json,
                                     struct client_session *s, struct err *err);
/* Opens an existing session, without tokens. */
MUST_CHECK int client_session_find(struct client *c, const char *id, struct client_session *s,
                                   struct err *err);

/* ------------------------------------------------------------------------------------ streams */

#define CLIENT_WINDOW_MAX 64 /* bound of frames in flight, whatever the server grants */

struct client_stream;

struct client_stream_config {
    const char *url, *token; /* copied */
    const char *ca_file;     /* as in struct client_config; stays valid */
    enum control_role role;
    const char *source; /* source of the frames, NULL = "main"; copied */
    uint32_t codecs;    /* mask of 1 << enum codec_kind; 0 = all */
    enum frame_pose_convention pose;
    /* The depth of every n-th used frame is asked for (on_result, proto/wire/depth.h). 0 = not
     * asked for: sessions of kind depth send every frame's, others none. */
    uint32_t depth_every;
    struct cloud_limits limits; /* limits of the mirror; zeros = the defaults in client_stream.c */
    int connect_timeout_s;      /* 0 = 10 */
    /* client_stream_run() makes a new connection when one ends and a new one may help: at first
     * after 0.1 s, then after pauses that double to 5 s and are at least `retry_ms` of a `bye` or
     * Retry-After of a 503. The stream gives up when nothing has worked for reconnect_s, or after
     * reconnect_attempts in a row; and at once after `bye` with `disconnect`, 401, 403, 404, 410 or
     * an error in the protocol. */
    double reconnect_s;     /* 0 = never: client_stream_run() fails */
    int reconnect_attempts; /* 0 = no bound */
    int ping_ms, hangup_ms; /* 0 = 3 s and 8 s, see client_ws.h */
    void *ctx;
    /* Callbacks. Each may be NULL; all are called inside client_stream_run(). */
    void (*on_ready)(void *ctx, const struct control_ready *ready);
    /* not called for `later`, which does not end a frame */
    void (*on_ack)(void *ctx, const struct control_ack *ack);
    /* Answered frames have new poses, in the stream's convention. */
    void (*on_poses)(void *ctx, const struct control_poses *poses);
    /* Tracked objects that changed; all of them with each connection. */
    void (*on_objects)(void *ctx, const struct control_objects *objects);
    void (*on_cloud)(void *ctx, const struct cloud *cloud); /* called after blocks were applied */
    /* hash_equal: points and hash of the mirror equal the server's. */
    void (*on_sync)(void *ctx, const struct control_sync *sync, bool hash_equal);
    /* All frames are answered and everything was sent: of this client, after its `end`, or, with
     * `closed`, of the session, which takes no more frames. */
    void (*on_ended)(void *ctx, bool closed);
    void (*on_error)(void *ctx, const struct control_error *error);
    /* The result of a frame, before its on_ack: a message of proto/wire/result.h, whose first byte
     * tells its kind. Returns 0, or an error that ends the connection. */
    int (*on_result)(void *ctx, const uint8_t *msg, size_t len, struct err *err);
    /* The connection ended; the next one is made in retry_ms. */
    void (*on_lost)(void *ctx, const struct err *why, int retry_ms);
};

struct client_stream_stats {
    /* frames sent for the first time */
    uint64_t frames_sent, frames_answered, bytes_sent, bytes_received;
    uint64_t reconnects, frames_resent; /* frames sent again on a later connection */
    uint64_t duplicates;                /* resent frames that the server had answered already */
    /* `later` answers of a lossless session without room; their frames are sent again */
    uint64_t frames_later;
    uint64_t blocks, points_received, block_bytes;
    uint64_t results, result_bytes; /* on_result */
};

MUST_CHECK int client_stream_open(struct client_stream **s,
                                  const struct client_stream_config *config, struct err *err);
void client_stream_close(struct client_stream **s);

/*
 * client_stream_reopen - connect again after client_stream_run() has failed
 *
 * The mirror stays: the server is told the revision of the last `sync` and sends what is newer.
 * Frames that were not answered are sent again, under the same seq, and `end` with them; after the
 * `end` a client whose frames are all answered comes back as a viewer, and on_ended is called with
 * each `sync`. With reconnect_s the stream does all this by itself.
 */
MUST_CHECK int client_stream_reopen(struct client_stream *s, const char *url, const char *token,
                                    struct err *err);
/* Tells whether there is a connection on which `ready` came. */
bool client_stream_connected(const struct client_stream *s);

/* A number for a new frame if the caller counts none: above all numbers that the server knows of
 * the source, as its `ready` said, and all that were sent. */
uint64_t client_stream_next_seq(const struct client_stream *s);
/* Number of frames that may be sent now without overrunning the window; 0 while not connected. */
int client_stream_window(const struct client_stream *s);
int client_stream_unanswered(const struct client_stream *s); /* number of kept frames */
/* Useful frames a second and JPEG quality 1 ... 100, as the server said last; 0 = it did not say. A
 * program that takes and encodes pictures follows them. */
void client_stream_pace(const struct client_stream *s, float *rate, int *jpeg);
/*
 * client_stream_send - queue one frame
 *
 * In:      fields of f, its picture and its parts, copied; T_wc with OpenCV camera axes (converted
 *          if need be)
 * Returns: 0; ERR_BUSY: window is used up; ERR_LIMIT: larger than the server takes; ERR_INPUT: seq
 *          is not above the last one; ERR_STATE: after end, or a viewer
 */
MUST_CHECK int client_stream_send(struct client_stream *s, const struct frame *f, struct err *err);
/*
 * client_stream_camera - declare a camera, or another one by the same id, before frames name it
 *
 * In:      T_rc with OpenCV camera axes
 * Returns: 0; ERR_LIMIT: CAMERAS_MAX are declared; ERR_STATE: a viewer
 */
MUST_CHECK int client_stream_camera(struct client_stream *s, const struct cameras_entry *camera,
                                    struct err *err);
/* Tells the server, after the queued frames, that no more will come. */
MUST_CHECK int client_stream_end(struct client_stream *s, struct err *err);
/*
 * client_stream_run - let the connection work until something happened, at most timeout_ms
 * Returns: 0; ERR_END: closed by the server (reason in err); ERR_IO: no connection, or it was lost;
 *          ERR_DENIED, ERR_NOT_FOUND, ERR_BUSY, ERR_STATE, ERR_DEVICE: the connection or its
 *          `start` was refused, as of client_request(); ERR_INPUT, ERR_LIMIT: the server broke the
 *          protocol. With reconnect_s an error means that the stream has given up; it is returned
 *          again from then on
 */
MUST_CHECK int client_stream_run(struct client_stream *s, int timeout_ms, struct err *err);
/* Stop and start reading, with which tests make a slow reader. */
void client_stream_pause(struct client_stream *s, bool paused);

const struct cloud *client_stream_cloud(const struct client_stream *s);
/* The last `ready` of the server, and the `bye` of this connection; NULL if there was none. */
const struct control_ready *client_stream_ready(const struct client_stream *s);
const struct control_bye *client_stream_bye(const struct client_stream *s);
void client_stream_get_stats(const struct client_stream *s, struct client_stream_stats *stats);

#endif
