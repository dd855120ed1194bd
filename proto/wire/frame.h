/*
 * frame.h - one picture from a phone: an 80-byte header and its JPEG, in one WebSocket message
 *
 * Bytes:   little-endian; the table stands in docs/PROTOCOL.md, "Frame"
 *            0 u8  op = 0x01          1 u8  version = 1      2 u16 header_len = 80
 *            4 u32 flags              8 u64 seq             16 u64 t_capture_ns
 *           24 u16 width             26 u16 height          28 f32 fx fy cx cy
 *           44 f32 q x y z w         60 f32 t x y z         72 u32 world_epoch
 *           76 u32 payload_len       80 payload
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
#include "proto/types.h"

#include <stdbool.h>

#define FRAME_OP 0x01
#define FRAME_VERSION 1
#define FRAME_HEADER_BYTES 80
#define FRAME_SIDE_MAX 8192      /* pixels, either side */
#define FRAME_FOCAL_MIN_PX 1.0f  /* shorter is no camera, and rays divide by it */
#define FRAME_COORD_MAX_M 1.0e5f /* |t| of a pose: a camera farther from its origin is an error */
#define FRAME_PAYLOAD_MAX (8u << 20)

enum frame_flag {
    FRAME_HAS_POSE = 1u << 0,
    FRAME_HAS_CAMERA = 1u << 1,    /* fx fy cx cy are valid; else the session's intrinsics hold */
    FRAME_TRACKING_MASK = 3u << 2, /* enum frame_tracking << 2 */
    FRAME_FLAGS_KNOWN = 0x0fu
};

enum frame_tracking {
    FRAME_TRACKING_NONE = 0, /* no tracker, or it does not say */
    FRAME_TRACKING_LOST = 1,
    FRAME_TRACKING_LIMITED = 2,
    FRAME_TRACKING_NORMAL = 3
};

enum frame_pose_convention { FRAME_POSE_OPENGL = 0, FRAME_POSE_CV = 1 };

struct frame {
    uint64_t seq; /* counts up by the client; an ack names it */
    uint64_t t_capture_ns;
    uint32_t flags;         /* enum frame_flag */
    uint32_t world_epoch;   /* the tracker's world; a relocalisation starts a new one */
    int width, height;      /* of the JPEG, as the header claims; jpeg_probe() checks it */
    struct intrinsics K;    /* of the JPEG's own size; zero without FRAME_HAS_CAMERA */
    struct rigid T_wc;      /* server's frame (OpenCV camera); identity without FRAME_HAS_POSE */
    const uint8_t *payload; /* borrowed from the message */
    uint32_t payload_len;
};

static inline enum frame_tracking frame_tracking(const struct frame *f)
{
    return (enum frame_tracking)((f->flags & FRAME_TRACKING_MASK) >> 2);
}

/*
 * frame_parse - check one binary message and give its fields
 *
 * In:      msg [len]; convention of the poses, from the client's `start`
 * Out:     *f; f->payload points into msg
 * Returns: 0; ERR_INPUT with the field in err->where: wrong length, opcode, version, unknown flags,
 *          a side out of 1...FRAME_SIDE_MAX, intrinsics not finite, focal length below
 *          FRAME_FOCAL_MIN_PX, pose not finite, quaternion off unit length by more than 1e-2 (it is
 *          normalised), |t| > FRAME_COORD_MAX_M. Where the pose is bad, err->where is "pose" and
 *          seq is filled all the same, so that the ack can name the frame.
 */
MUST_CHECK int frame_parse(struct frame *f, const uint8_t *msg, size_t len,
                           enum frame_pose_convention convention, struct err *err);

/* The number of a frame whose header is whole and of this version; the rest is not checked. */
bool frame_get_seq(uint64_t *seq, const uint8_t *msg, size_t len);

/*
 * frame_encode_header - the inverse, for clients and tests
 *
 * Out:     header [FRAME_HEADER_BYTES]; the payload is appended by the caller
 */
void frame_encode_header(uint8_t *header, const struct frame *f,
                         enum frame_pose_convention convention);

#endif
