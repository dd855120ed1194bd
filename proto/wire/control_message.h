/* control_message.h - what the text messages of the stream say, as structs (control.h) */
#ifndef RECOND_PROTO_CONTROL_MESSAGE_H
#define RECOND_PROTO_CONTROL_MESSAGE_H

#include "proto/wire/cameras.h"
#include "proto/wire/delta.h"
#include "proto/wire/frame.h"

#define CONTROL_TEXT_MAX 4096
#define CONTROL_ID_CAP 32
#define CONTROL_TYPE_CAP 24
#define CONTROL_SOURCE_CAP 33 /* name of a source: 1 ... 32 of a-z, 0-9 and - */
#define CONTROL_SOURCE_MAIN "main"
#define CONTROL_SUBPROTOCOL "recon.v1"
#define CONTROL_BEARER_PREFIX "bearer.recon." /* for browsers: base64url(token) follows */

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

/* Features that a side of a stream can have beyond the first form of the protocol, each with the
 * word that is sent. */
enum control_feature {
    CONTROL_PARTS,     /* "parts": frames may hold more than a picture */
    CONTROL_DEPTH_OUT, /* "depth_out": the depth of frames is sent to clients that ask for it */
    /* "pace": the server tells rate and jpeg; in `lossless` sessions it may answer `later` */
    CONTROL_PACE,
    CONTROL_DEPTH_IN,  /* "depth_in": depth, confidence and masks of frames are used */
    CONTROL_SOURCES,   /* "sources": several clients feed a session, each as a source of its own */
    CONTROL_POSES_OUT, /* "poses": corrected poses are sent */
    CONTROL_PLACES,    /* "worlds": the server tells which submaps have a place, and where */
    CONTROL_LENSES,    /* "lenses": cameras of every model are supported */
    CONTROL_ORDER,     /* "order": blocks come in order, so `resume` may name one */
    CONTROL_FEATURES
};
#define CONTROL_FEATURES_HERE ((1u << CONTROL_FEATURES) - 1)

enum control_role { CONTROL_INGEST, CONTROL_VIEW };
/* LATER does not end a frame: it was not taken, and comes again under its seq. */
enum control_status { CONTROL_USED, CONTROL_DROPPED, CONTROL_REFUSED, CONTROL_LATER };
enum control_action { CONTROL_RESUME, CONTROL_RECONNECT, CONTROL_DISCONNECT };

/* Reasons why a frame was not used, or used for its pose alone, each with the word that is sent. */
enum control_reason {
    CONTROL_REASON_NONE,
    CONTROL_DUPLICATE,    /* "duplicate": this seq was answered before */
    CONTROL_NO_MOTION,    /* "no_motion": it was used, but shows nothing new */
    CONTROL_OVERLOAD,     /* "overload": the session's queue was full */
    CONTROL_BAD_POSE,     /* "bad_pose" */
    CONTROL_BAD_FRAME,    /* "bad_frame": the header is wrong */
    CONTROL_DECODE_ERROR, /* "decode_error" */
    /* "tracking": the phone's tracker was lost, and the session needs its poses */
    CONTROL_TRACKING,
    CONTROL_NO_CAMERA, /* "no_camera": neither the frame nor the session has intrinsics */
    CONTROL_CLOSED,    /* "closed": the session takes no more frames */
    CONTROL_MEMORY,    /* "memory" */
    /* "fault": the device or a network failed; the session goes on if it can */
    CONTROL_FAULT,
    CONTROL_STORAGE, /* "storage": it could not be stored, because the disk is full or failed */
    /* "poison": the process died twice while it worked on the frame, which is kept for the
     * operator */
    CONTROL_POISON,
    CONTROL_AFTER_END, /* "ended": it came after the client's `end` */
    CONTROL_SHUTDOWN,  /* "shutdown": the server stops before it could use the frame */
    /* "unsupported": the frame has a part that must be understood and is not */
    CONTROL_UNSUPPORTED,
    /* "pace": it came sooner after the frame before it than the session's `fps` allows */
    CONTROL_TOO_SOON,
    CONTROL_WORLDS, /* "worlds": it would begin one submap too many */
    CONTROL_REASONS
};

/* How much of a cloud a client holds: all blocks whose last change is before `revision`, and those
 * of `revision` itself, or, in part, only the ones up to `block` in the order of names. */
struct control_reach {
    uint64_t revision;
    bool part;
    struct cloud_name block;
};

struct control_start {
    enum control_role role;
    char source[CONTROL_SOURCE_CAP]; /* source of an ingest client's frames; "" = "main" */
    uint32_t codecs;                 /* bit mask of 1 << enum codec_kind */
    enum frame_pose_convention pose;
    uint32_t features; /* bit mask of 1 << enum control_feature */
    /* the depth of every n-th used frame is asked for; 0 = not said: the default of the session's
     * kind */
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
    uint32_t message_s;  /* longest time of one message in seconds; 0 = not said */
    uint32_t cameras;    /* number of cameras that may be declared; 0 = not said */
    uint32_t quota_rate; /* frames a second that the owner's quota allows; 0 = no bound */
    int net_w, net_h;
    float rate;        /* useful frames a second; 0 = not said */
    uint8_t jpeg;      /* useful JPEG quality; 0 = not said */
    bool resumed;      /* the server goes on from the revision that `resume` named */
    bool any_seq;      /* last_seq is valid (for ingest clients) */
    uint64_t last_seq; /* highest seq of the source that was used, dropped or is under way */
    uint32_t features;
};

struct control_ack {
    uint64_t seq;
    enum control_status status;
    enum control_reason reason;
    uint8_t bit; /* CONTROL_UNSUPPORTED: frame.unknown_bit */
    /* CONTROL_BAD_FRAME: type of the wrong or missing part; 0 = none */
    uint8_t part;
    bool keyframe;
    bool again;        /* the answer repeats the frame's first one */
    bool lost;         /* the pose is a guess: the tracks that poses follow from were lost */
    uint32_t retry_ms; /* CONTROL_LATER */
    float rate;        /* as in `ready`, if they differ from what the client was told; else 0 */
    uint8_t jpeg;
    /* the members below are valid if `placed`: the frame's pose belongs to a map */
    bool placed;
    uint32_t submap;
    uint64_t revision; /* revision of the cloud that has this frame's points */
    /* q x y z w and t, camera to world. In the daemon the axes are OpenCV's; on the wire they
     * follow the client's convention. */
    float pose[7];
    float quality; /* 0 ... 1: share of the pixels with depth that the map confirms */
    /* Depths that tracks or keyframes measured over depths of the frame alone, and the standard
     * error of the ratio's logarithm; 0, 0: nothing was measured. */
    float scale, sigma;
    uint64_t server_us; /* time of the answer on a monotonic clock; 0 = not said */
};

#define CONTROL_POSES_MAX 24 /* poses of a message */

struct control_poses {
    uint64_t revision; /* revision of the cloud from which on the poses hold */
    int n;
    uint64_t seq[CONTROL_POSES_MAX];
    float pose[CONTROL_POSES_MAX][7]; /* as control_ack.pose */
};

#define CONTROL_OBJECTS_MAX 6 /* objects of a message */
#define CONTROL_OBJECT_CAP 64 /* bytes of a name or class with its NUL */

/* State of a tracked object. */
enum control_object_state {
    CONTROL_OBJECT_NEW,  /* "new": seen for the first time */
    CONTROL_OBJECT_SEEN, /* "seen": seen again, perhaps elsewhere */
    CONTROL_OBJECT_LOST  /* "lost": pictures of its place show that it is gone */
};

/* A tracked object: an enrolled object at its place in the world. */
struct control_object {
    uint32_t id; /* number in the session, from 1 on; never used again */
    char object[CONTROL_OBJECT_CAP], class_name[CONTROL_OBJECT_CAP]; /* class_name: "" = not said */
    enum control_object_state state;
    uint32_t submap; /* submap whose world `pose` is in */
    float pose[7];   /* T_wo: q x y z w and t, from the object's own axes to that world */
    float box[6];    /* box of the object in its own axes, metres: lowest corner, highest corner */
    float score;     /* share of the points that can be judged which the picture confirms */
    float support;   /* share of the points that face the camera which the picture confirms */
    uint64_t seq;    /* seq of the frame that shows it, in the frame's source */
    uint64_t revision; /* revision of the cloud that has that frame's points */
};

struct control_objects {
    int n;
    struct control_object at[CONTROL_OBJECTS_MAX];
};

struct control_sync {
    uint64_t revision, points, hash;
};

struct control_ended { /* end of a client's frames, or of the session */
    uint64_t revision;
};

struct control_pong {   /* and ping */
    uint64_t t;         /* time of the client's own clock, below 2^53 */
    uint64_t server_us; /* time of the server's monotonic clock */
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

#endif
