/*
 * control.h - text messages of the stream: JSON objects with an `op`
 *
 * Client to server
 *   {"op":"start","role":"ingest"|"view","codecs":["deflate-raw","raw"],
 *    "source":"main","pose":"opengl"|"cv","features":["parts"],"depth":true|{"every":N},
 *    "resume":{"epoch":E,"revision":R,"block":[submap,x,y,z]}}
 *                   first message; all but role and codecs are optional
 *   {"op":"camera","id":1,"model":"pinhole","width":W,"height":H,"params":[fx,fy,cx,cy],
 *    "rig":[qx,qy,qz,qw,tx,ty,tz]}             what parts name by its id; rig is optional
 *   {"op":"end"}                               no more frames from this client
 *   {"op":"ping","t":T}                        what time is it?
 * Server to client
 *   {"op":"ready","session":ID,"epoch":E,"revision":R,"codec":"deflate-raw","step_m":0.001,
 *    "limits":{"window":8,"max_frame_bytes":N,"message_s":10,"rate":60},"net":[W,H],"rate":30,
 *    "jpeg":85,"features":["parts"],"resumed":true,"last_seq":N}
 *   {"op":"ack","seq":N,"status":"used"|"dropped"|"refused"|"later","reason":"...",
 *    "detail":"bit 17","again":true,"keyframe":true,"revision":R,"submap":S,
 *    "pose":[qx,qy,qz,qw,tx,ty,tz],"quality":0.87,"scale":1.043,"sigma":0.012,"server_us":N,
 *    "retry_ms":N,"rate":12.5,"jpeg":75}   revision, submap, pose and quality of a frame that was
 *                   used for a cloud; scale and sigma where they are known
 *   {"op":"poses","revision":R,"seqs":[N,...],"poses":[[qx,qy,qz,qw,tx,ty,tz],...]}
 *                   at most 24 frames of the client's source whose poses are others now
 *   {"op":"objects","objects":[{"id":1,"object":"mug","class":"cup","state":"new"|"seen"|"lost",
 *    "submap":S,"pose":[qx,qy,qz,qw,tx,ty,tz],"box":[x,y,z,x,y,z],"score":0.97,"support":0.61,
 *    "seq":N,"revision":R},...]}   at most 6 things that were recognised, as they are now
 *   {"op":"sync","revision":R,"points":N,"hash":"16 hex digits"}   all up to R has been sent
 *   {"op":"ended","revision":R}    the answer to `end`: all frames of this client are answered
 *   {"op":"closed","revision":R}   the session takes no more frames, and all of it has been sent
 *   {"op":"pong","t":T,"server_us":N}
 *   {"op":"error","type":"...","status":400,"title":"...","detail":"...","pointer":"/...",
 *    "retry_ms":N}   refusal.h says which types there are, and which close the connection
 *   {"op":"bye","action":"resume"|"reconnect"|"disconnect","retry_ms":N,"reason":"..."}
 *
 * Limits:  CONTROL_TEXT_MAX bytes, object at top level, depth 8, valid UTF-8, no duplicate keys;
 *          unknown members and words of features are ignored, unknown ops are ERR_UNSUPPORTED:
 *          a server answers them with `error`, a client passes over them.
 */
#ifndef RECOND_PROTO_CONTROL_H
#define RECOND_PROTO_CONTROL_H

#include "proto/wire/cameras.h"
#include "proto/wire/delta.h"
#include "proto/err.h"
#include "proto/wire/frame.h"

#include <stdbool.h>

#define CONTROL_TEXT_MAX 4096
#define CONTROL_ID_CAP 32
#define CONTROL_TYPE_CAP 24
#define CONTROL_SOURCE_CAP 33 /* of a source: 1 ... 32 of a-z, 0-9 and - */
#define CONTROL_SOURCE_MAIN "main"
#define CONTROL_SUBPROTOCOL "recon.v1"
#define CONTROL_BEARER_PREFIX "bearer.recon." /* + base64url(token): for browsers */

enum control_op {
    CONTROL_START,
    CONTROL_END,
    CONTROL_PING,
    CONTROL_READY,
    CONTROL_ACK,
    CONTROL_SYNC,
    CONTROL_ENDED,
    CONTROL_SESSION_CLOSED,
    CONTROL_PONG,
    CONTROL_ERROR,
    CONTROL_BYE,
    CONTROL_CAMERA,
    CONTROL_POSES,
    CONTROL_OBJECTS
};
#define CONTROL_OPS (CONTROL_OBJECTS + 1)

/* What a side of a stream can do beyond the first form of the protocol, with the word that is
 * sent. */
enum control_feature {
    CONTROL_PARTS,     /* "parts": frames with more than a picture */
    CONTROL_DEPTH_OUT, /* "depth_out": the depth of frames is sent to clients that ask for it */
    CONTROL_PACE,      /* "pace": rate and jpeg are told; in `lossless` the answer `later` */
    CONTROL_DEPTH_IN,  /* "depth_in": depth, confidence and masks of frames are used */
    CONTROL_SOURCES,   /* "sources": several clients feed a session, each a source of its own */
    CONTROL_POSES_OUT, /* "poses": poses that are corrected later are told */
    CONTROL_PLACES,    /* "worlds": where submaps lie is told, and which have no place */
    CONTROL_LENSES,    /* "lenses": cameras of every model are computed */
    CONTROL_ORDER,     /* "order": blocks come in order, so `resume` may name one */
    CONTROL_FEATURES
};
#define CONTROL_FEATURES_HERE ((1u << CONTROL_FEATURES) - 1)

enum control_role { CONTROL_INGEST, CONTROL_VIEW };
/* LATER is no end: the frame was not taken, and comes again under its seq. */
enum control_status { CONTROL_USED, CONTROL_DROPPED, CONTROL_REFUSED, CONTROL_LATER };
enum control_action { CONTROL_RESUME, CONTROL_RECONNECT, CONTROL_DISCONNECT };

/* Why a frame was not used, or not for more than its pose, with the word that is sent. */
enum control_reason {
    CONTROL_REASON_NONE,
    CONTROL_DUPLICATE,    /* "duplicate": this seq was answered before */
    CONTROL_NO_MOTION,    /* "no_motion": it was used, and shows nothing new */
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
    CONTROL_POISON,
    CONTROL_AFTER_END, /* "ended": it came after the client's `end` */
    CONTROL_SHUTDOWN,  /* "shutdown": the server stops before its turn came */
    /* "unsupported": something in it must be understood and is not */
    CONTROL_UNSUPPORTED,
    CONTROL_TOO_SOON, /* "pace": sooner after the frame before it than the session's `fps` has it */
    CONTROL_WORLDS,   /* "worlds": it would begin one world too many */
    CONTROL_REASONS
};

/* How much of a cloud a client holds: the blocks that changed last up to `revision`; in part: of
 * that revision those up to `block`, in the order of their names. */
struct control_reach {
    uint64_t revision;
    bool part;
    struct cloud_name block;
};

struct control_start {
    enum control_role role;
    char source[CONTROL_SOURCE_CAP]; /* whose frames an ingest client sends; "" = "main" */
    uint32_t codecs;                 /* bit mask of 1 << enum codec_kind */
    enum frame_pose_convention pose;
    uint32_t features; /* bit mask of 1 << enum control_feature */
    /* the depth of every n-th used frame is asked for; 0 = not said: what the session's kind has */
    uint32_t depth_every;
    bool resume;
    uint32_t epoch;
    struct control_reach reach;
};

struct control_ready {
    char session[CONTROL_ID_CAP];
    uint32_t epoch;
    uint64_t revision;
    enum codec_kind codec;
    float step_m;
    uint32_t window, max_frame_bytes;
    uint32_t message_s;  /* from a message's first byte to its last; 0 = not said */
    uint32_t cameras;    /* that may be declared; 0 = not said */
    uint32_t quota_rate; /* frames a second that the owner's quota allows; 0 = no bound */
    int net_w, net_h;
    float rate;        /* frames a second that are of use; 0 = not said */
    uint8_t jpeg;      /* quality that is of use, 0 = not said */
    bool resumed;      /* the server goes on from the revision that `resume` named */
    bool any_seq;      /* to an ingest client: */
    uint64_t last_seq; /* the highest of its source that was used or dropped, or is under way */
    uint32_t features;
};

struct control_ack {
    uint64_t seq;
    enum control_status status;
    enum control_reason reason;
    uint8_t bit; /* CONTROL_UNSUPPORTED: frame.unknown_bit */
    /* CONTROL_BAD_FRAME: the type of the part that is wrong or missing, 0: none is */
    uint8_t part;
    bool keyframe;
    bool again;        /* what the frame was told when it came first */
    bool lost;         /* its pose is a guess: the tracks that poses follow from were lost */
    uint32_t retry_ms; /* CONTROL_LATER */
    float rate;        /* as in `ready`, where they differ from what the client was told; else 0 */
    uint8_t jpeg;
    /* what follows, where `placed`: the frame's pose is one of a map */
    bool placed;
    uint32_t submap;
    uint64_t revision; /* of the cloud, with this frame's points in it */
    /* q x y z w and t, camera to world. In the daemon with OpenCV axes until it is written, on the
     * wire as the client's convention has them. */
    float pose[7];
    float quality; /* 0 ... 1: share of the pixels with depth that the map confirms */
    /* Depths of what tracks or keyframes measured over those that the frame alone says, and the
     * standard error of its logarithm; 0, 0: nothing was measured. */
    float scale, sigma;
    uint64_t server_us; /* when this was said, on a clock that never steps; 0 = it is not */
};

#define CONTROL_POSES_MAX 24 /* of a message */

struct control_poses {
    uint64_t revision; /* of the cloud, from which on they hold */
    int n;
    uint64_t seq[CONTROL_POSES_MAX];
    float pose[CONTROL_POSES_MAX][7]; /* as control_ack.pose */
};

#define CONTROL_OBJECTS_MAX 6 /* of a message */
#define CONTROL_OBJECT_CAP 64 /* of a name, a class */

/* What is known of a thing that was recognised. */
enum control_object_state {
    CONTROL_OBJECT_NEW,  /* "new": seen for the first time */
    CONTROL_OBJECT_SEEN, /* "seen": again, perhaps elsewhere */
    CONTROL_OBJECT_LOST  /* "lost": what is seen where it was says that it is there no more */
};

/* A thing in the world that an enrolled object was recognised in. */
struct control_object {
    uint32_t id; /* of the session, from 1 on; never used again */
    char object[CONTROL_OBJECT_CAP], class_name[CONTROL_OBJECT_CAP]; /* class: "" = not said */
    enum control_object_state state;
    uint32_t submap;   /* whose world `pose` is in */
    float pose[7];     /* T_wo: q x y z w and t, from the object's own axes to that world */
    float box[6];      /* the object in its own axes, metres: lowest corner, highest corner */
    float score;       /* of its points that can be judged, the share that the picture confirms */
    float support;     /* of those that face the camera, the share that it confirms */
    uint64_t seq;      /* of the frame that says so, of its source */
    uint64_t revision; /* of the cloud, with that frame's points in it */
};

struct control_objects {
    int n;
    struct control_object at[CONTROL_OBJECTS_MAX];
};

struct control_sync {
    uint64_t revision, points, hash;
};

struct control_ended { /* of a client's frames, or of the session */
    uint64_t revision;
};

struct control_pong {   /* and ping */
    uint64_t t;         /* the client's own, below 2^53 */
    uint64_t server_us; /* of a clock that never steps */
};

struct control_error {
    char type[CONTROL_TYPE_CAP];
    int status;
    uint32_t retry_ms; /* 0 = not said */
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
        struct control_ready ready;
        struct control_ack ack;
        struct control_poses poses;
        struct control_objects objects;
        struct control_sync sync;
        struct control_ended ended;
        struct control_pong pong;
        struct control_error error;
        struct control_bye bye;
        struct cameras_entry camera;
    };
};

/* Returns 0; ERR_INPUT with where = JSON pointer of the bad member; ERR_UNSUPPORTED: an op that
 * this build does not know; ERR_LIMIT. Fills *m only on 0. */
MUST_CHECK int control_parse(struct control_message *m, const char *text, size_t len,
                             struct err *err);

/* Writes m as JSON into buf and allocates nothing. Returns the length without the NUL, 0 if cap is
 * too small. */
size_t control_write(char *buf, size_t cap, const struct control_message *m);

/* The members of an item of `objects`, in a map that the caller opened. */
struct json_writer;
void control_object_write(struct json_writer *w, const struct control_object *o);

const char *control_reason_name(enum control_reason r);
const char *control_object_state_name(enum control_object_state s);
bool control_source_valid(const char *name);
/* Does a client that holds so much hold this block, which changed last at `revision`? */
bool control_reaches(const struct control_reach *r, uint64_t revision,
                     const struct cloud_name *name);

/* A pose q x y z w, t with OpenCV camera axes becomes one with OpenGL's, and back. */
void control_pose_swap_axes(float pose[7]);

#endif
