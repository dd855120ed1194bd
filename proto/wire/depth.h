/*
 * depth.h - a frame's depth map as it travels: 16 bits a pixel, a result (result.h)
 *
 * Bytes:   little-endian
 *             0 u8 op 0x20   1 u8 version = 1   2 u8 codec   3 u8 unit
 *             4 u32 header_len = 68             8 u64 seq of the frame
 *            16 u16 width height               20 f32 fx fy cx cy of the map's pixels
 *            36 f32 q x y z w, t x y z: the frame's pose with OpenCV axes; q = 0: it had none
 *            64 u32 plain_len = 2 * width * height
 *            68 planes: low bytes of all differences by rows, then high bytes
 * Values:  unit 0: round(1000 z); unit 1: round(6553.5 / z); z in metres along the camera's axis.
 *          0 = no depth, or one that the unit cannot hold: unit 0 ends at 65.535 m, unit 1 begins
 *          at 0.1 m
 * Planes:  each value less its left neighbour, modulo 2^16; the first of a row less the one above,
 *          the first of all less 0
 */
#ifndef RECOND_PROTO_DEPTH_H
#define RECOND_PROTO_DEPTH_H

#include "proto/types.h"
#include "proto/wire/result.h"

#include <stdbool.h>

#define DEPTH_OP 0x20
#define DEPTH_VERSION 1
#define DEPTH_HEADER_BYTES 68
#define DEPTH_SIDE_MAX 2048

enum depth_unit { DEPTH_MILLIMETRES, DEPTH_INVERSE, DEPTH_UNITS };

struct depth_map {
    uint64_t seq;
    enum depth_unit unit;
    int w, h;
    struct intrinsics K; /* of the map */
    bool has_pose;
    struct rigid T_wc;
    const uint16_t *values; /* [h][w] inside the decoder */
};

uint16_t depth_quantise(enum depth_unit unit, float z_m);
/* 0 for 0. */
float depth_value_m(enum depth_unit unit, uint16_t value);

static inline size_t depth_message_bytes(int w, int h)
{
    return DEPTH_HEADER_BYTES + 2 * (size_t)w * (size_t)h;
}

/*
 * depth_encode - a message with plain planes, for result_pack()
 *
 * In:      d without values, w and h 1 ... DEPTH_SIDE_MAX; z [h][w] metres, those outside of
 *          min_m ... max_m and what is no number count as none
 * Out:     msg [depth_message_bytes()]
 */
void depth_encode(uint8_t *msg, const struct depth_map *d, const float *z, float min_m,
                  float max_m);

/* Plain planes [2 n] of n values in rows of w, as maps and parts of frames have them; any bytes are
 * some values. */
void depth_join_planes(uint16_t *values, const uint8_t *planes, size_t w, size_t n);
void depth_split_planes(uint8_t *planes, const uint16_t *values, size_t w, size_t n);

/* Buffers of one decoder, which grow to the largest map. */
struct depth_decoder;
MUST_CHECK int depth_decoder_new(struct depth_decoder **d, struct err *err);
void depth_decoder_free(struct depth_decoder **d);

/*
 * depth_decode - check and unpack one message, which cannot be trusted
 *
 * Out:     *map, values borrowed from the decoder until its next use
 * Returns: 0; ERR_INPUT; ERR_LIMIT; ERR_MEMORY
 */
MUST_CHECK int depth_decode(struct depth_decoder *d, struct depth_map *map, const uint8_t *msg,
                            size_t len, struct err *err);

#endif
