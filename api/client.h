/*
 * client.h - the client library: create a session, push frames, mirror the cloud
 *
 * One struct client is one REST connection (libcurl); one struct client_stream is one WebSocket of
 * a session (libwebsockets), run by the caller's thread through client_stream_run(). A stream
 * keeps the cloud's mirror (proto/cloud), never sends more unanswered frames than the server's
 * window, asks again for a block whose patch did not fit, and checks its hash against every `sync`.
 */
#ifndef RECOND_API_CLIENT_H
#define RECOND_API_CLIENT_H

#include "proto/cloud.h"
#include "proto/control.h"
#include "proto/err.h"
#include "proto/frame.h"

#include <stdbool.h>

struct client;

struct client_config {
    const char *url;   /* http://host:port */
    const char *token; /* bearer token, NULL = none */
    const char *agent; /* User-Agent */
    /* PEM file of the authorities that may vouch for a server, NULL = the system's. A server that
     * none of them vouches for, or under another name, is not talked to. */
    const char *ca_file;
    int timeout_s;
};

MUST_CHECK int client_open(struct client **c, const struct client_config *config, struct err *err);
void client_close(struct client **c);

/*
 * client_request - any REST call
 *
 * In:      path from the root ("/v1/sessions"); json body or NULL
 * Out:     *body (NUL-terminated, free()), *body_len and *status; each may be NULL. Set on errors
 *          that the server answered, too
 * Returns: 0 for 2xx. ERR_IO: no answer at all. From the status: ERR_DENIED 401 403, ERR_NOT_FOUND
 *          404 410, ERR_STATE 409, ERR_LIMIT 413, ERR_BUSY 429 503, ERR_DEVICE other 5xx,
 *          ERR_INPUT other 4xx; the text is the problem document's detail and where its pointer
 */
MUST_CHECK int client_request(struct client *c, const char *method, const char *path,
                              const char *json, char **body, size_t *body_len, int *status,
                              struct err *err);
/* GET into a file (written beside it and renamed). */
MUST_CHECK int client_download(struct client *c, const char *path, const char *file,
                               struct err *err);
/* GET, but leave after the first cap bytes: the header of an export. */
MUST_CHECK int client_peek(struct client *c, const char *path, char *buf, size_t cap, size_t *len,
                           struct err *err);

struct client_session {
    char id[CONTROL_ID_CAP];
    char stream_url[256];
    char ingest_token[64], view_token[64];
};
/* options: the JSON body of POST /v1/sessions. */
MUST_CHECK int client_session_create(struct client *c, const char *options_json,
                                     struct client_session *s, struct err *err);

/* ------------------------------------------------------------------------------------ streams */

#define CLIENT_WINDOW_MAX 64 /* frames in flight, whatever the server grants */

struct client_stream;

struct client_stream_config {
    const char *url, *token; /* copied */
    const char *ca_file;     /* as in struct client_config; stays valid */
    enum control_role role;
    uint32_t codecs; /* mask of 1 << enum delta_codec; 0 = all */
    enum frame_pose_convention pose;
    struct cloud_limits limits; /* of the mirror; zeros = the defaults in client_stream.c */
    int connect_timeout_s;      /* 0 = 10 */
    void *ctx;
    /* Any of them may be NULL. All are called inside client_stream_run(). */
    void (*on_ready)(void *ctx, const struct control_ready *ready);
    void (*on_ack)(void *ctx, const struct control_ack *ack);
    void (*on_cloud)(void *ctx, const struct cloud *cloud); /* after blocks were applied */
    /* hash_equal: points and hash of the mirror are those of the server. Not called while a block
     * that was asked for again is outstanding: another sync follows it. */
    void (*on_sync)(void *ctx, const struct control_sync *sync, bool hash_equal);
    void (*on_error)(void *ctx, const struct control_error *error);
};

struct client_stream_stats {
    uint64_t frames_sent, frames_answered, bytes_sent, bytes_received;
    uint64_t blocks, points_received, block_bytes, resyncs;
};

MUST_CHECK int client_stream_open(struct client_stream **s,
                                  const struct client_stream_config *config, struct err *err);
void client_stream_close(struct client_stream **s);

/*
 * client_stream_reopen - connect again after client_stream_run() has failed
 *
 * The mirror stays: the server is told the revision of the last `sync` and sends what is newer.
 * Frames that were not answered are sent again, under the same seq, and `end` with them.
 */
MUST_CHECK int client_stream_reopen(struct client_stream *s, const char *url, const char *token,
                                    struct err *err);

/* Frames that may be sent now without overrunning the window; 0 before `ready`. */
int client_stream_window(const struct client_stream *s);
/*
 * client_stream_send - queue one frame
 *
 * In:      header fields of f and its payload, copied; T_wc with OpenCV camera axes (converted if
 *          need be)
 * Returns: 0; ERR_BUSY: window is used up; ERR_LIMIT: larger than the server takes; ERR_STATE:
 *          after end
 */
MUST_CHECK int client_stream_send(struct client_stream *s, const struct frame *f, struct err *err);
/* No more frames: told to the server after those that are queued. */
MUST_CHECK int client_stream_end(struct client_stream *s, struct err *err);
/*
 * client_stream_run - let the connection work for at most timeout_ms, or until something happened
 * Returns: 0; ERR_END: closed by the server (reason in err); ERR_IO: no connection, or it was lost;
 *          ERR_DENIED, ERR_NOT_FOUND, ERR_BUSY: refused at the door; ERR_INPUT, ERR_LIMIT: the
 *          server broke the protocol
 */
MUST_CHECK int client_stream_run(struct client_stream *s, int timeout_ms, struct err *err);
/* Stop and start reading: a slow reader on purpose, for tests. */
void client_stream_pause(struct client_stream *s, bool paused);

const struct cloud *client_stream_cloud(const struct client_stream *s);
/* What the server said at the start and at the end; NULL before it did. */
const struct control_ready *client_stream_ready(const struct client_stream *s);
const struct control_bye *client_stream_bye(const struct client_stream *s);
void client_stream_get_stats(const struct client_stream *s, struct client_stream_stats *stats);

#endif
