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

#include "proto/geom/lens.h"

#include <stdbool.h>

#define FRAME_OP 0x01
/* opcodes 0x02 ... 0x0f: messages of clients that this build does not know */
#define FRAME_OP_LAST 0x0f
#define FRAME_VERSION 1
#define FRAME_HEADER_BYTES 80
#define FRAME_PART_BYTES 16 /* of an entry */
/* the layout before parts: a picture alone */
#define FRAME_HEAD_BYTES (FRAME_HEADER_BYTES + FRAME_PART_BYTES)
#define FRAME_PARTS_MAX 16
#define FRAME_SIDE_MIN 16            /* longest side of a picture, pixels */
#define FRAME_SIDE_MAX 8192          /* largest area of a picture and of every other map, pixels */
#define FRAME_MAP_PIXELS (1u << 21)  /* largest size of a part other than the picture, bytes */
#define FRAME_FOCAL_MIN_PX 1.0f      /* least focal length, since rays divide by it */
#define FRAME_COORD_MAX_M 1.0e5f     /* metres; a pose farther from its origin is an error */
#define FRAME_PAYLOAD_MAX (8u << 20) /* most bytes behind the header */
#define FRAME_IMU_BYTES 32           /* i64 t_ns, f32 x 3 gyro rad/s, f32 x 3 accelerometer m/s2 */
#define FRAME_GPS_BYTES 24           /* f64 latitude, longitude, f32 altitude, accuracy */

enum frame_flag {
    FRAME_HAS_POSE = 1u << 0,
    FRAME_HAS_CAMERA = 1u << 1, /* fx fy cx cy are valid; otherwise the session's intrinsics hold */
    FRAME_TRACKING_MASK = 3u << 2,  /* enum frame_tracking << 2 */
    FRAME_FLAGS_VITAL = 0xffff0000u /* flags that must be understood; there are none so far */
};

enum frame_tracking {
    FRAME_TRACKING_NONE = 0, /* there is no tracker, or it does not say */
    FRAME_TRACKING_LOST = 1,
    FRAME_TRACKING_LIMITED = 2,
    FRAME_TRACKING_NORMAL = 3
};

enum frame_pose_convention { FRAME_POSE_OPENGL = 0, FRAME_POSE_CV = 1 };

enum frame_part_type {
    FRAME_COLOUR = 1,
    FRAME_DEPTH = 2,      /* 16 bits a pixel, enum depth_unit; 0 = none */
    FRAME_CONFIDENCE = 3, /* 8 bits a pixel, confidence of the depth before it */
    FRAME_MASK = 4,       /* 1 bit a pixel: persons; rows in whole bytes, the highest bit first */
    FRAME_IMU = 5,        /* samples since the frame before, FRAME_IMU_BYTES each */
    FRAME_GPS = 6
};

enum frame_codec {
    FRAME_RAW = 0, /* codec of depth's planes or of plain bytes: 0 and 1 are enum codec_kind */
    FRAME_DEFLATE = 1,
    FRAME_JPEG = 3,
    FRAME_PNG = 4
};

#define FRAME_PART_VITAL_BIT 15 /* flag of a part that must be understood */

struct frame_part {
    enum frame_part_type type;
    enum frame_codec codec;
    uint16_t flags;
    int width, height; /* size as the part claims it; 0 for types without one */
    unsigned camera;   /* id that the op `camera` declared; 0 = the picture's camera */
    unsigned unit;
    const uint8_t *data; /* borrowed from the message */
    uint32_t len;
};

/* The camera of the first depth part, if it names one. */
struct frame_rig {
    bool known;
    struct intrinsics K; /* intrinsics at the depth's own size */
    struct rigid T_cd;   /* takes its points to the picture's camera; axes are OpenCV's */
    struct lens lens;
};
#define FRAME_RIG_BYTES 44 /* bytes of K and T_cd in a journal */
/* bytes of the lenses of picture and depth, in a journal */
#define FRAME_LENSES_BYTES (2 * LENS_BYTES)

struct frame {
    uint64_t seq; /* number that the client counts up; an ack names it */
    uint64_t t_capture_ns;
    uint32_t flags;       /* enum frame_flag */
    uint32_t world_epoch; /* the tracker's world; a relocalisation starts a new one */
    struct intrinsics K;  /* intrinsics at the picture's own size; zero without FRAME_HAS_CAMERA */
    struct rigid T_wc;    /* pose with OpenCV camera axes; identity without FRAME_HAS_POSE */
    /* the picture, which is the first part of colour */
    int width, height; /* size that the JPEG claims; jpeg_probe() checks it */
    unsigned camera; /* id that the op `camera` declared; 0 = the frame's or the session's camera */
    const uint8_t *payload; /* borrowed from the message, as all payloads of parts are */
    uint32_t payload_len;
    /* the other parts that this build understands, in their order */
    int n_parts;
    struct frame_part parts[FRAME_PARTS_MAX - 1];
    /* The stream fills in these members, because it knows the declared cameras; frame_parse()
     * leaves zeros. */
    struct frame_rig rig;
    struct lens lens; /* lens of the picture */
    /* everything behind the header's 80 bytes; frame_encode() ignores it */
    const uint8_t *body;
    uint32_t body_len;
    /* flag for which frame_parse() answered ERR_UNSUPPORTED; FRAME_PART_VITAL_BIT stands for a
     * part's flag */
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

/* Reads the number of a frame whose header is whole and of this version, and checks nothing
 * else. */
bool frame_get_seq(uint64_t *seq, const uint8_t *msg, size_t len);

/* Reads world_epoch from a header without checking the rest. */
uint32_t frame_get_world_epoch(const uint8_t header[FRAME_HEADER_BYTES]);

/* Moves what f points to into a copy of its body. */
void frame_move(struct frame *f, const uint8_t *body);

/* Writes the frame's intrinsics into the header of a message, as if the client had sent them. */
void frame_put_camera(uint8_t header[FRAME_HEADER_BYTES], const struct intrinsics *K);

/* A rig as a journal keeps it. frame_rig_get() answers 0 or ERR_INPUT. */
void frame_rig_put(uint8_t out[FRAME_RIG_BYTES], const struct frame_rig *rig);
MUST_CHECK int frame_rig_get(struct frame_rig *rig, const uint8_t in[FRAME_RIG_BYTES],
                             struct err *err);

/* The same for both lenses, if one of them is not pinhole. */
bool frame_has_lenses(const struct frame *f);
void frame_lenses_put(uint8_t out[FRAME_LENSES_BYTES], const struct frame *f);
MUST_CHECK int frame_lenses_get(struct frame *f, const uint8_t in[FRAME_LENSES_BYTES],
                                struct err *err);

/* The first part of a type beside the picture, NULL if there is none. */
const struct frame_part *frame_find(const struct frame *f, enum frame_part_type type);

/* A place on the Earth. */
struct frame_position {
    double latitude, longitude; /* degrees */
    float altitude_m, accuracy_m;
};
#define FRAME_POSITION_BYTES FRAME_GPS_BYTES

/* Returns false and leaves *p untouched if bytes [FRAME_POSITION_BYTES] are no place. */
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

/* Multiplies by diag(1, -1, -1) from the right, which converts OpenGL camera axes into OpenCV ones
 * and back. */
void frame_swap_axes(struct rigid *T);

#endif
