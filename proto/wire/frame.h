/*
 * frame.h - one moment of a phone: a header of 80 bytes, a list of parts, and their payloads, in
 * one WebSocket message
 *
 * Bytes:   little-endian; the tables stand in docs/PROTOCOL.md, "Frame"
 *            0 u8  op = 0x01          1 u8  version = 1      2 u16 header_len, 80 or more
 *            4 u32 flags              8 u64 seq             16 u64 t_capture_ns
 *           24 u32 world_epoch       28 u16 n_parts         30 u16 part_len, 16 or more
 *           32 f32 fx fy cx cy       48 f32 q x y z w       64 f32 t x y z     76 u32 0
 *          header_len: n_parts entries of part_len bytes
 *            0 u8  type    1 u8  codec    2 u16 flags    4 u16 width    6 u16 height
 *            8 u16 camera 10 u16 unit    12 u32 bytes
 *          then the payloads in the order of their entries, to the end of the message
 * Growth:  a longer header or entry is read as far as it is known. Of the frame's flags those from
 *          bit 16 on must be understood; of a part's, bit 15 says that the part must be.
 * Frames:  the pose on the wire is camera-to-world in metres. Convention `opengl` (what ARKit,
 *          ARCore and WebXR give): world right-handed y-up, camera x right, y up, looking along -z;
 *          `cv`: camera x right, y down, z forward. frame_parse() answers the server's own frame:
 *          camera axes OpenCV, world axes as the phone has them. An OpenGL camera is converted by
 *          right-multiplying with diag(1, -1, -1).
 * Units:   pixels of the JPEG as it is stored (sensor orientation), metres, nanoseconds of any
 *          clock
 */
#ifndef RECOND_PROTO_FRAME_H
#define RECOND_PROTO_FRAME_H

#include "proto/err.h"
#include "proto/geom/lens.h"
#include "proto/types.h"

#include <stdbool.h>

#define FRAME_OP 0x01
#define FRAME_OP_LAST 0x0f /* 0x02 ... 0x0f: messages of clients that this build does not know */
#define FRAME_VERSION 1
#define FRAME_HEADER_BYTES 80
#define FRAME_PART_BYTES 16                                      /* of an entry */
#define FRAME_HEAD_BYTES (FRAME_HEADER_BYTES + FRAME_PART_BYTES) /* before a picture alone */
#define FRAME_PARTS_MAX 16
#define FRAME_SIDE_MIN 16           /* pixels, either side of a picture */
#define FRAME_SIDE_MAX 8192         /* of a picture and of every other map */
#define FRAME_MAP_PIXELS (1u << 21) /* of a part that is no picture, at most */
#define FRAME_FOCAL_MIN_PX 1.0f     /* shorter is no camera, and rays divide by it */
#define FRAME_COORD_MAX_M 1.0e5f /* |t| of a pose: a camera farther from its origin is an error */
#define FRAME_PAYLOAD_MAX (8u << 20) /* of all that is behind the header */
#define FRAME_IMU_BYTES 32           /* i64 t_ns, f32 x 3 gyro rad/s, f32 x 3 accelerometer m/s2 */
#define FRAME_GPS_BYTES 24           /* f64 latitude, longitude, f32 altitude, accuracy */

enum frame_flag {
    FRAME_HAS_POSE = 1u << 0,
    FRAME_HAS_CAMERA = 1u << 1,     /* fx fy cx cy are valid; else the session's intrinsics hold */
    FRAME_TRACKING_MASK = 3u << 2,  /* enum frame_tracking << 2 */
    FRAME_FLAGS_VITAL = 0xffff0000u /* those that must be understood; there is none so far */
};

enum frame_tracking {
    FRAME_TRACKING_NONE = 0, /* no tracker, or it does not say */
    FRAME_TRACKING_LOST = 1,
    FRAME_TRACKING_LIMITED = 2,
    FRAME_TRACKING_NORMAL = 3
};

enum frame_pose_convention { FRAME_POSE_OPENGL = 0, FRAME_POSE_CV = 1 };

enum frame_part_type {
    FRAME_COLOUR = 1,
    FRAME_DEPTH = 2,      /* 16 bits a pixel, enum depth_unit; 0 = none */
    FRAME_CONFIDENCE = 3, /* 8 bits a pixel, of the depth before it */
    FRAME_MASK = 4,       /* 1 bit a pixel: persons; rows in whole bytes, the highest bit first */
    FRAME_IMU = 5,        /* samples since the frame before, FRAME_IMU_BYTES each */
    FRAME_GPS = 6
};

enum frame_codec {
    FRAME_RAW = 0, /* 0 and 1 are enum codec_kind, of depth's planes or of plain bytes */
    FRAME_DEFLATE = 1,
    FRAME_JPEG = 3,
    FRAME_PNG = 4
};

#define FRAME_PART_VITAL_BIT 15 /* of a part's flags: it must be understood */

struct frame_part {
    enum frame_part_type type;
    enum frame_codec codec;
    uint16_t flags;
    int width, height; /* as it claims; 0 where the type has none */
    unsigned camera;   /* declared by the op `camera`; 0 = as the picture */
    unsigned unit;
    const uint8_t *data; /* borrowed from the message */
    uint32_t len;
};

/* The camera of the first part of depth, where that names one. */
struct frame_rig {
    bool known;
    struct intrinsics K; /* of the depth's own size */
    struct rigid T_cd;   /* takes its points to the picture's camera; axes are OpenCV's */
    struct lens lens;
};
#define FRAME_RIG_BYTES 44                  /* of K and T_cd in a journal */
#define FRAME_LENSES_BYTES (2 * LENS_BYTES) /* of the picture and of its depth, in a journal */

struct frame {
    uint64_t seq; /* counts up by the client; an ack names it */
    uint64_t t_capture_ns;
    uint32_t flags;       /* enum frame_flag */
    uint32_t world_epoch; /* the tracker's world; a relocalisation starts a new one */
    struct intrinsics K;  /* of the picture's own size; zero without FRAME_HAS_CAMERA */
    struct rigid T_wc;    /* server's frame (OpenCV camera); identity without FRAME_HAS_POSE */
    /* the picture, which is the first part of colour */
    int width, height;      /* of the JPEG, as it claims; jpeg_probe() checks it */
    unsigned camera;        /* declared by the op `camera`; 0 = the frame's or the session's */
    const uint8_t *payload; /* borrowed from the message, as all that parts point to */
    uint32_t payload_len;
    /* the other parts that this build understands, in their order */
    int n_parts;
    struct frame_part parts[FRAME_PARTS_MAX - 1];
    /* filled in by the stream, which knows the cameras that were declared, not by frame_parse(),
     * which leaves zeros: */
    struct frame_rig rig;
    struct lens lens; /* of the picture */
    /* all that is behind the header's 80 bytes; frame_encode() does not look at it */
    const uint8_t *body;
    uint32_t body_len;
    /* frame_parse(): the flag for which it answered ERR_UNSUPPORTED; FRAME_PART_VITAL_BIT is of a
     * part */
    int unknown_bit;
};

static inline enum frame_tracking frame_tracking(const struct frame *f)
{
    return (enum frame_tracking)((f->flags & FRAME_TRACKING_MASK) >> 2);
}

/*
 * frame_parse - check one binary message and give its fields
 *
 * In:      msg [len]; convention of the poses, from the client's `start`
 * Out:     *f; what it points to lies in msg
 * Returns: 0; ERR_INPUT with the field in err->where: a length, a sum of lengths, opcode, version,
 *          number of parts, no picture, a side of a known part out of bounds, intrinsics not
 *          finite, focal length below FRAME_FOCAL_MIN_PX, pose not finite, quaternion off unit
 *          length by more than 1e-2 (it is normalised), |t| > FRAME_COORD_MAX_M;
 *          ERR_UNSUPPORTED: something that must be understood and is not. Where the pose is bad,
 *          err->where is "pose". seq is filled all the same, so that the ack can name the frame.
 */
MUST_CHECK int frame_parse(struct frame *f, const uint8_t *msg, size_t len,
                           enum frame_pose_convention convention, struct err *err);

/* The number of a frame whose header is whole and of this version; the rest is not checked. */
bool frame_get_seq(uint64_t *seq, const uint8_t *msg, size_t len);

/* world_epoch of a header, whatever the rest says. */
uint32_t frame_get_world_epoch(const uint8_t header[FRAME_HEADER_BYTES]);

/* What f points to lies in a copy of its body from now on. */
void frame_move(struct frame *f, const uint8_t *body);

/* The frame's intrinsics in the header of a message: as if the client had sent them there. */
void frame_put_camera(uint8_t header[FRAME_HEADER_BYTES], const struct intrinsics *K);

/* A rig that is known, as a journal keeps it. frame_rig_get() answers 0 or ERR_INPUT. */
void frame_rig_put(uint8_t out[FRAME_RIG_BYTES], const struct frame_rig *rig);
MUST_CHECK int frame_rig_get(struct frame_rig *rig, const uint8_t in[FRAME_RIG_BYTES],
                             struct err *err);

/* The same of both models, where one of them is not pinhole. */
bool frame_has_lenses(const struct frame *f);
void frame_lenses_put(uint8_t out[FRAME_LENSES_BYTES], const struct frame *f);
MUST_CHECK int frame_lenses_get(struct frame *f, const uint8_t in[FRAME_LENSES_BYTES],
                                struct err *err);

/* The first part of a type beside the picture, NULL if there is none. */
const struct frame_part *frame_find(const struct frame *f, enum frame_part_type type);

/* Where on the Earth. */
struct frame_position {
    double latitude, longitude; /* degrees */
    float altitude_m, accuracy_m;
};
#define FRAME_POSITION_BYTES FRAME_GPS_BYTES

/* Returns false where bytes [FRAME_POSITION_BYTES] are no place: *p is untouched. */
bool frame_position_get(struct frame_position *p, const uint8_t *bytes);
void frame_position_put(uint8_t *bytes, const struct frame_position *p);

/*
 * frame_up - which way is up, by the mean of the frame's accelerometer
 *
 * In:      convention of the client's camera axes
 * Out:     *up in the OpenCV axes of the picture's camera, length 1
 * Returns: false: there are no samples, or their mean is not about as long as gravity
 */
bool frame_up(const struct frame *f, enum frame_pose_convention convention, struct vec3 *up);

/*
 * frame_turn - how the camera turned since before_ns, by the gyroscope of the frame
 *
 * In:      convention of the client's camera axes
 * Out:     turn, seconds: as of inertial_end(), in the OpenCV axes of the picture's camera
 * Returns: false, and zeros: there are no samples, or they do not say it
 */
bool frame_turn(const struct frame *f, enum frame_pose_convention convention, uint64_t before_ns,
                float turn[3], float *seconds);

/*
 * frame_encode_head - header and entries of the parts, for clients and tests
 *
 * Out:     head [FRAME_HEAD_BYTES + f->n_parts * FRAME_PART_BYTES]; payloads follow: the picture's,
 *          then those of f->parts
 * Returns: its length
 */
size_t frame_encode_head(uint8_t *head, const struct frame *f,
                         enum frame_pose_convention convention);

/* A whole message: its length, and its bytes [frame_bytes()]. */
size_t frame_bytes(const struct frame *f);
void frame_encode(uint8_t *msg, const struct frame *f, enum frame_pose_convention convention);

/* Right-multiplication by diag(1, -1, -1): turns OpenGL camera axes into OpenCV ones and back. */
void frame_swap_axes(struct rigid *T);

#endif
