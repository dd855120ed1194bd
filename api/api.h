/*
 * api.h - the two tables between the edges (HTTP, WebSocket) and the core (sessions, workers)
 *
 * The edges know bytes, tokens and HTTP; the core knows sessions and devices; they meet here alone.
 *   struct core_ops   what an edge may ask of the core: thread-safe, never blocks on a device or a
 *                     disk for long, answers with structs of this header
 *   struct edge_ops   what the core may tell the edges: callable from any thread, with no core lock
 *                     held
 *
 * Strings in these structs are NUL-terminated, valid UTF-8, bounded by their arrays.
 */
#ifndef RECOND_API_API_H
#define RECOND_API_API_H

#include "api/quota.h"
#include "api/session_options.h"
#include "proto/wire/control.h"

#define API_ID_CAP 32 /* session id: 26 characters of base32, 130 random bits */
#define API_TEXT_CAP 160
#define API_SOURCES_MAX 8 /* sources that feed a session in its whole life */

/* ------------------------------------------------------------------------------- sessions */

enum session_state {
    SESSION_CREATED,    /* no frame came yet */
    SESSION_STREAMING,  /* an ingest client is connected */
    SESSION_IDLE,       /* no ingest client is connected; frames may come again */
    SESSION_SUSPENDED,  /* idle for long: its device state lies in a checkpoint */
    SESSION_RECOVERING, /* after a start: its journal is being replayed, clients come back later */
    /* takes no more frames: readable until it is deleted or its retention ends */
    SESSION_CLOSED,
    SESSION_STATES
};
const char *api_state_name(enum session_state s); /* The name of a state: "created" ... */

#define API_SESSION_TOKENS 24 /* tokens of one session */

/* A token of one session as it is kept: its hash and its rights. */
struct api_token {
    char session[API_ID_CAP];
    char
        /* name of the token that the session was made with; without that one this token is void */
        owner[API_NAME_CAP];
    int scope; /* enum auth_scope */
    uint8_t sha256[32];
};

/* A token of the token file as the core knows it; the sessions made with it belong to it. */
struct api_tenant {
    char name[API_NAME_CAP];
    struct quota quota;
};

/* Counters of one session. When nothing is under way, received = used + dropped + refused and
 * queued = 0. */
struct session_counts {
    uint64_t received, used, dropped, refused, queued;
    uint64_t again; /* frames that came again and got the answer of before */
    uint64_t keyframes, bytes_in, bytes_out, blocks_out, points_out;
};

/* What the pictures say about the poses, in sessions with the option `views`. */
enum api_views_state {
    API_VIEWS_OFF,
    API_VIEWS_WAITING, /* too little is known */
    API_VIEWS_OK,
    API_VIEWS_POSES_DISAGREE,
    API_VIEWS_STATES
};
const char *api_views_state_name(enum api_views_state s); /* "off" ... */

struct api_views {
    enum api_views_state state;
    uint32_t keyframes, refined; /* keyframes; number of final ones */
    float scale;                 /* measured depth over the network's; 1: nothing was measured */
    float agreement; /* share of the kept keyframes' measurements that other keyframes confirm */
};

/* How the last used frame of a session came to its pose, if poses are learned. */
enum api_tracks_state {
    API_TRACKS_NONE,  /* poses are not learned, or no frame was used */
    API_TRACKS_BEGUN, /* nothing connected the frame with the one before it */
    API_TRACKS_FOUND, /* corners were followed */
    API_TRACKS_LOST,  /* the pose is a guess: too few corners agreed */
    API_TRACKS_STATES
};
const char *api_tracks_state_name(enum api_tracks_state s); /* "none" ... */

/* Depths that tracks or keyframes measured over depths of the frame alone, and the standard errors
 * of their logarithms: of the last measured frame, and the medians of the last ones. */
struct api_scale {
    bool known; /* number since the process began */
    float last, sigma, median, median_sigma;
};

/* Results of bundling the session, since the process began. */
enum api_bundle_state {
    API_BUNDLE_NONE,
    API_BUNDLE_RUNNING,
    API_BUNDLE_UNSEEN,    /* no place was seen again */
    API_BUNDLE_RIGHT,     /* the poses are as right as pictures can tell */
    API_BUNDLE_CONTRARY,  /* pictures contradict each other, so nothing was changed */
    API_BUNDLE_CORRECTED, /* path and cloud were changed */
    API_BUNDLE_FAILED,    /* memory or disk failed */
    API_BUNDLE_STATES
};
const char *api_bundle_state_name(enum api_bundle_state s); /* "none" ... */

struct api_bundle {
    enum api_bundle_state state;
    uint32_t keyframes, pairs;
    float moved_m; /* most correction of a keyframe */
};

/* A phone that feeds a session. */
struct api_source {
    char name[CONTROL_SOURCE_CAP]; /* "" = none */
    bool connected, any_seq;
    uint64_t last_seq;    /* highest seq that was used, dropped or is under way, if any_seq */
    uint32_t world_epoch; /* time of the frame that was taken last */
    struct api_views views;
};

#define API_SUBMAPS_MAX 256

/* A submap of a session, and the place of its points. */
struct api_submap {
    uint32_t submap;
    char source[CONTROL_SOURCE_CAP];
    uint32_t world_epoch;
    /* pose is known: the first submap's from the start, others' when they are placed */
    bool placed;
    float pose[7]; /* q x y z w, t x y z: from the submap to the session's world */
    bool tied;     /* the server itself found the place */
};

#define API_OBJECTS_MAX 64          /* tracked objects of a session at a time */
#define API_OBJECTS_HISTORY_MAX 256 /* remembered changes of tracked objects */

/* Tracked objects of a session. */
struct api_objects {
    uint64_t looks, skipped; /* pictures that were searched, and due pictures that were skipped */
    int n, n_history;
    struct control_object list[API_OBJECTS_MAX];
    struct control_object history[API_OBJECTS_HISTORY_MAX]; /* oldest first */
};

/* Names a cloud's file: the cloud's hash, unless submaps were moved or `unplaced` was asked for. */
static inline uint64_t api_cloud_tag(uint64_t hash, uint64_t places, bool unplaced)
{
    return hash ^ places ^ (unplaced ? 1u : 0u);
}

struct session_info {
    char id[API_ID_CAP];
    char owner[API_NAME_CAP];       /* name of the token that it was made with */
    struct session_options options; /* resolved values, none left at "default" */
    enum session_state state;
    char device[API_NAME_CAP];
    char fault[API_TEXT_CAP]; /* why it can no longer take frames, or "" */
    /* what of its journal could not be read, or ""; the session is then read-only */
    char damaged[API_TEXT_CAP];
    double created_s, changed_s; /* Unix time */
    uint32_t epoch;              /* epoch of the cloud: new after a restart */
    uint64_t revision, points, hash;
    /* number that changes when a submap is placed; 0: all are at their first places */
    uint64_t places;
    uint32_t blocks, keyframes_kept;
    uint32_t model_points, model_stable; /* bytes on the device */
    struct api_views views;              /* sum over all sources */
    const char *bad_pose; /* what poses mean if not what they should; NULL = they do */
    struct api_bundle bundle;
    enum api_tracks_state tracks;
    uint64_t lost_frames; /* used frames whose pose is a guess, since the process began */
    struct api_scale scale;
    uint64_t memory_bytes;
    struct session_counts counts;
    uint32_t ingest_clients, view_clients;
    struct api_source sources[API_SOURCES_MAX];
    float fps;        /* used frames a second, over the last two seconds */
    float latency_ms; /* microseconds from receipt to ack, of the last frame */
    /* last one that a used frame brought */
    bool has_position;
    struct frame_position position;
};

/* One row of the trajectory: camera-to-world, OpenCV axes. */
struct session_pose {
    uint64_t seq, t_capture_ns;
    struct rigid T_wc;
    uint32_t source, submap; /* index into session_info.sources, and the submap of the pose */
};

struct api_model {
    char name[API_NAME_CAP], kind[16], output[16], licence[API_NAME_CAP];
    int multiple;
    float focal_px, min_depth_m, max_depth_m;
    uint64_t weights;
    bool is_default;
};

struct api_device {
    char name[API_NAME_CAP], backend[8], model[API_NAME_CAP], why[API_TEXT_CAP];
    uint32_t sessions, queued_frames, threads;
    uint64_t memory_total_bytes, memory_used_bytes, memory_budget_bytes;
    float busy; /* share of the last seconds in which it computed */
    /* frames a second that its sessions ask for; new sessions go where this is low */
    float load_fps;
    float temperature_c; /* NAN = not known */
    uint32_t jpeg_engines;
    uint64_t frames, errors;
};

/* ------------------------------------------------------------------------------- objects */

#define API_OBJECT_CAP 64       /* bytes of an object's name or class with its NUL */
#define API_OBJECT_VIEWS_MAX 64 /* pictures of an object */
#define API_MATCHES_MAX 64      /* objects found in one search */

/* A depth picture as it came: a grey PNG of 16 bits, millimetres, 0 = nothing. */
struct api_depth_picture {
    const uint8_t *png; /* borrowed */
    size_t len;
    struct intrinsics camera;
    float pose[7]; /* camera to object, OpenCV axes; identity where the picture is the only one */
};

/* A box in a session's world, rotated right-handed about the axis that points up there. An object
 * made of it has its origin in the middle of the box and its axes along the sides. */
#define API_REGION_SIDE_MIN_M 0.01f
#define API_REGION_SIDE_MAX_M 4.0f
struct api_region {
    char session[API_ID_CAP];
    float centre[3], size[3]; /* metres */
    float turn_deg;
};

/* Input of an enrolment or a search: pictures, the bytes of a PLY or OBJ file, or a region. A
 * region is only for enrolment. */
struct api_shape {
    int n_pictures;
    const struct api_depth_picture *picture;
    const uint8_t *mesh; /* mesh file; NULL: pictures, or a region */
    size_t mesh_len;
    float mesh_scale;                /* metres of one of its units */
    const struct api_region *region; /* region; NULL: pictures, or a mesh */
};

struct api_object {
    char name[API_OBJECT_CAP], class_name[API_OBJECT_CAP]; /* class "" = not said */
    double created_s;                                      /* Unix time */
    uint32_t views, tensors, points;
    uint64_t bytes;  /* views that are kept of it */
    float box[2][3]; /* bounds of its points in its own frame: least and largest x, y, z */
};

/* An object that a search found. */
struct api_match {
    char name[API_OBJECT_CAP], class_name[API_OBJECT_CAP];
    float pose[7]; /* object to camera; in a mesh: object to the mesh's frame */
    float score, support;
    uint32_t points, votes;
};

enum api_health { API_READY, API_STARTING, API_DRAINING, API_FULL, API_FAULT };

/* ------------------------------------------------------------------------------- slow work */

/* A kind of slow task. A pool of threads of low priority (daemon/work/later.h) runs it in slices,
 * one at a time. A NULL function does nothing; no lock is held over any. */
struct later_task;
struct later_kind {
    const char *name; /* plural name of such tasks for people: "depth maps" */
    /* Runs one slice; room: LATER_ROOM_BYTES of the thread. Returns whether there are more. */
    bool (*run)(void *ctx, void *room);
    void (*abandon)(void *ctx); /* called in place of all slices that are left */
    void (*hold)(void *ctx);    /* the pool will use ctx from now on */
    void (*let_go)(void *ctx);  /* the pool no longer uses ctx: the task has no slices left */
    int most, most_of_owner;    /* tasks at once; 0 = any number */
    bool is_long;               /* a slice may take seconds */
    int patience_s; /* time beyond which a slice counts as a fault, even at low priority */
};

/* ------------------------------------------------------------------------------- the core */

struct core;
struct stream;      /* one WebSocket client of one session */
struct core_export; /* a snapshot being read */

enum stream_kind { STREAM_NONE, STREAM_TEXT, STREAM_BINARY, STREAM_CLOSE };

struct core_ops {
    /* Returns ERR_INPUT (where = JSON pointer), ERR_NOT_FOUND (no such model), ERR_DENIED (the
     * owner's quota forbids an option), ERR_BUSY (budgets and quotas; the client may come again
     * after *retry_after_s), ERR_MEMORY. */
    int (*session_create)(struct core *c, const struct session_options *options, const char *owner,
                          struct session_info *info, int *retry_after_s, struct err *err);
    int (*session_get)(struct core *c, const char *id, struct session_info *info, struct err *err);
    /* Sessions in order of creation, from the first with a creation rank > *cursor; fills at most
     * cap, sets *n and moves the cursor. */
    int (*session_list)(struct core *c, struct session_info *infos, int cap, int *n,
                        uint64_t *cursor, struct err *err);
    /* Ends the input; queued frames are still used. Answers at once; the state is CLOSED when they
     * are done. */
    int (*session_close)(struct core *c, const char *id, struct err *err);
    /* Corrects path and cloud of a closed session by the places that it saw again, in the
     * background. A session in correction gets the same answer. ERR_STATE: it is not closed, or
     * keeps no keyframes */
    int (*session_refine)(struct core *c, const char *id, struct err *err);
    int (*session_delete)(struct core *c, const char *id, struct err *err);
    /* Tells all stream clients of a session to leave and not to come back by themselves. */
    int (*session_kick)(struct core *c, const char *id, struct err *err);
    /* Keeps these tokens, in place of earlier ones, as long as the session, over restarts. */
    int (*tokens_keep)(struct core *c, const char *id, const struct api_token *tokens, int n,
                       struct err *err);
    /* Calls `each` once for every kept token, in the calling thread. */
    void (*tokens_each)(struct core *c, void (*each)(void *ctx, const struct api_token *token),
                        void *ctx);

    /* Announces the present tokens, at the start and after the token file was read again. */
    void (*tenants_set)(struct core *c, const struct api_tenant *tenants, int n);

    /* A consistent snapshot of the cloud as PLY, read piece by piece by one thread. It counts
     * against `reader`, a token's name; "" = the session's owner. Submaps lie at their places;
     * submaps without a place are left out unless `unplaced` asks for them in their own
     * coordinates. ERR_BUSY: too many snapshots are being read, or the session's journal is being
     * replayed. */
    int (*export_open)(struct core *c, const char *id, const char *reader, bool unplaced,
                       struct core_export **e, uint64_t *total_bytes, uint64_t *hash,
                       struct err *err);
    /* Returns bytes written to buf, 0 at the end. */
    size_t (*export_read)(struct core_export *e, uint64_t offset, uint8_t *buf, size_t cap);
    void (*export_close)(struct core_export *e);

    /* Fills list [API_SUBMAPS_MAX] with the submaps of a session in the order of their numbers. */
    int (*submaps)(struct core *c, const char *id, struct api_submap *list, int *n,
                   struct err *err);
    /* Places a submap from now on, over restarts as well. ERR_NOT_FOUND: there is no such submap */
    int (*submap_place)(struct core *c, const char *id, uint32_t submap, const float pose[7],
                        struct err *err);
    /* The tracked objects of a session; all zeros if it searches for none. */
    int (*recognised)(struct core *c, const char *id, struct api_objects *o, struct err *err);
    /* Poses from index `first` on; *n is at most cap. */
    int (*trajectory)(struct core *c, const char *id, uint64_t first, struct session_pose *poses,
                      int cap, int *n, struct err *err);
    /* The latest depth map (sessions with preview): metres, 0 = none; buf holds cap pixels. With
     * cap 0 only w, h and seq. */
    int (*depth)(struct core *c, const char *id, float *buf, size_t cap, int *w, int *h,
                 uint64_t *seq, struct err *err);

    /* Objects belong to an owner, as sessions do. The next two calls compute for up to some
     * seconds, so they are for slices of the pool. ERR_INPUT: a shape without surface or without
     * pairs; ERR_STATE: the name is taken, or the region's session has no map; ERR_LIMIT;
     * ERR_NOT_FOUND: the region's session; ERR_BUSY: the owner has as many as it may, or that
     * session is coming back; ERR_IO */
    int (*object_add)(struct core *c, const char *owner, const char *name, const char *class_name,
                      const struct api_shape *shape, struct api_object *object, struct err *err);
    /* Searches for the owner's objects: those of names [n_names], or all of them with 0. Fills list
     * [API_MATCHES_MAX], the best supported first. ERR_NOT_FOUND: no object of that name */
    int (*object_match)(struct core *c, const char *owner, const char (*names)[API_OBJECT_CAP],
                        int n_names, const struct api_shape *shape, struct api_match *list, int *n,
                        struct err *err);
    int (*object_get)(struct core *c, const char *owner, const char *name,
                      struct api_object *object, struct err *err);
    /* Objects by name, from behind `after` ("" = from the first). */
    int (*object_list)(struct core *c, const char *owner, const char *after,
                       struct api_object *list, int cap, int *n, struct err *err);
    int (*object_delete)(struct core *c, const char *owner, const char *name, struct err *err);

    /* Slow work of an edge: later_new(), later_kick(), later_free(). ERR_BUSY: the kind's bounds
     * are reached, or the server stops */
    int (*task_new)(struct core *c, struct later_task **t, const struct later_kind *kind, void *ctx,
                    const char *owner, struct err *err);
    void (*task_kick)(struct later_task *t);
    void (*task_free)(struct later_task **t);

    int (*models)(struct core *c, struct api_model *models, int cap, int *n, struct err *err);
    int (*devices)(struct core *c, struct api_device *devices, int cap, int *n, struct err *err);
    enum api_health (*health)(struct core *c, char why[API_TEXT_CAP]);
    /* Prometheus text exposition; returns its length, or the length needed if larger than cap. */
    size_t (*metrics)(struct core *c, char *buf, size_t cap);

    /* Streams. All calls for one stream come from one thread, calls for other streams perhaps from
     * another. `cookie` is the edge's own name for the connection; the core hands it to
     * edge_ops.wake. */

    /* Tells whether a client may come to the session's stream. ERR_NOT_FOUND; ERR_BUSY: not before
     * *retry_after_s. A session that comes back after a restart and is asked for here goes before
     * others. */
    int (*stream_expect)(struct core *c, const char *id, int *retry_after_s, struct err *err);
    int (*stream_open)(struct core *c, const char *id, enum control_role role, void *cookie,
                       struct stream **s, struct err *err);
    /* The client's `start`; the answer (`ready`) is the first message of stream_next(). */
    int (*stream_start)(struct stream *s, const struct control_start *start, struct err *err);
    /* One whole binary message, copied before it returns; the edge has checked opcode, version,
     * header_len, that the whole header is there and that seq < 2^53, so an `ack` can name it.
     * ERR_INPUT/ERR_LIMIT/ERR_BUSY/ERR_STATE have already been turned into an `ack`; the edge
     * tells of ERR_DENIED (a viewer sent a frame) and closes on ERR_LIMIT with where = "flood"
     * (window overrun by far). */
    int (*stream_frame)(struct stream *s, const uint8_t *msg, size_t len, struct err *err);
    /* Microseconds by which the session's owner is ahead of its quota's frame rate. The edge stops
     * reading this stream until less than a moment is left. */
    uint64_t (*stream_ahead_us)(struct stream *s);
    /* Any other control message of the client. */
    int (*stream_control)(struct stream *s, const struct control_message *m, struct err *err);
    /* The next message for this client, borrowed until the next call on this stream; STREAM_NONE
     * when there is nothing to send now, STREAM_CLOSE after the last (a `bye` went before). */
    enum stream_kind (*stream_next)(struct stream *s, const uint8_t **msg, size_t *len);
    void (*stream_close)(struct stream *s);
};

/* ------------------------------------------------------------------------------- the edges */

struct edge_ops {
    /* stream_next() of this connection has something to send. May be called from any thread, is
     * cheap, may be spurious. */
    void (*wake)(void *edge, void *cookie);
    /* A session is gone: its tokens are void. */
    void (*session_gone)(void *edge, const char *id);
};

/* core_set_edges() is the core's side of these; see daemon/core.h. */

/* ------------------------------------------------------------ how edges are started */

enum api_auth_mode { API_AUTH_TOKEN, API_AUTH_NONE };

struct tls;

struct api_config {
    const struct core_ops *ops;
    struct core *core;
    const char *http_host, *ws_host; /* numeric addresses */
    /* 0 = any; http_start() must be told the port that ws_port() says, stream URLs name it */
    int http_port, ws_port;
    /* listening sockets that the service manager holds; -1 = make our own */
    int http_fd, ws_fd;
    const char *public_ws_url;    /* prefix of stream URLs; "" = ws://host:port */
    enum api_auth_mode auth_mode; /* NONE is for loopback only */
    const char *token_file;       /* see api/token.h; mode 0600 */
    struct quota quota; /* quotas of tokens that are not admin's, if their line says nothing */
    /* allowed Origin values, NULL-terminated; empty = only requests without Origin */
    const char *const *origins;
    size_t max_body_bytes, max_message_bytes;
    size_t max_task_bytes; /* bound of a body with pictures or a mesh */
    int max_connections, max_per_address;
    int header_timeout_s, message_timeout_s, ping_s, hangup_s;
    struct tls *tls;   /* TLS of both edges; NULL = plain text */
    bool behind_proxy; /* a proxy is in front: plain text off loopback, X-Forwarded-For counts */
    const char *version;
    /* One line about a request or a connection; never holds a token. level as syslog(3). */
    void (*log)(void *log_ctx, int level, const char *fields_json, const char *text);
    /* One line about a change that a token's holder has made or begun. No such line is left out.
     * NULL: they go to log. */
    void (*audit)(void *log_ctx, const char *fields_json, const char *text);
    void *log_ctx;
};

#endif
