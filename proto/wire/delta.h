/*
 * delta.h - block messages: how changes of the cloud travel to a client
 *
 * Bytes:   little-endian, every message starts with
 *             0 u8  op      0x10 put  0x11 patch  0x12 delete  0x13 clear  0x14 submap transform
 *                           0x15 object transform
 *             1 u8  version = 1    2 u8 codec (0 raw, 1 deflate-raw)
 *             3 u8  submap transform: bit 0 = unplaced, others are passed over; else 0
 *             4 u32 session epoch          8 u64 revision
 *          put, patch, delete:
 *            16 u32 submap                20 i32 x y z of the block
 *          put, patch:
 *            32 u32 n_points after the message is applied
 *            36 u32 n_removed             40 u32 n_added (put: n_added = n_points, n_removed = 0)
 *            44 u64 base_revision (put: 0)
 *            52 u32 plain_len: bytes of the planes before compression
 *            56 planes, compressed by the codec to the end of the message
 *          submap/object transform: 16 u32 id   20 f32 q x y z w   36 f32 t x y z   (48 bytes)
 *          clear: 16 bytes, empties the mirror and sets its epoch
 * Planes:  docs/PROTOCOL.md, "Planes": removed indices as differences, added keys Morton-sorted, as
 *          differences, split in byte planes; colours and confidence in planes of their own
 * Limits:  DELTA_POINTS_MAX points and DELTA_MESSAGE_MAX bytes a message, checked before anything
 *          is allocated or inflated; a decoder never writes past plain_len
 */
#ifndef RECOND_PROTO_DELTA_H
#define RECOND_PROTO_DELTA_H

#include "proto/cloud/key.h"
#include "proto/types.h"
#include "proto/wire/codec.h"

#define DELTA_VERSION 1
#define DELTA_POINTS_MAX (1u << 20)
#define DELTA_MESSAGE_MAX (16u << 20)

enum delta_op {
    DELTA_PUT = 0x10,
    DELTA_PATCH = 0x11,
    DELTA_DELETE = 0x12,
    DELTA_CLEAR = 0x13,
    DELTA_SUBMAP = 0x14,
    DELTA_OBJECT = 0x15
};

struct delta {
    enum delta_op op;
    enum codec_kind codec;
    uint32_t epoch;
    uint64_t revision, base_revision;
    struct cloud_name name; /* name of the block in put, patch, delete */
    uint32_t n_points;      /* points of the block after the message */
    uint32_t n_removed, n_added;
    const uint32_t *removed; /* planes. Encoder: given; decoder: inside the scratch */
    const uint64_t *added;
    uint32_t id;    /* transforms */
    float pose[7];  /* transforms: q x y z w, t x y z, as they travel */
    struct rigid T; /* decoder: the same */
    bool unplaced;  /* submap transform: the submap has no place */
};

/* Buffers of one encoder or decoder. They grow to the largest message and are used again. */
struct delta_scratch;
MUST_CHECK int delta_scratch_new(struct delta_scratch **s, struct err *err);
void delta_scratch_free(struct delta_scratch **s);

/*
 * delta_encode - one message
 *
 * Out:     *msg, *len: borrowed from the scratch until its next use
 * Returns: 0; ERR_LIMIT: too many points for a message, which no block of a cloud has;
 *          ERR_MEMORY
 */
MUST_CHECK int delta_encode(struct delta_scratch *s, const struct delta *d, const uint8_t **msg,
                            size_t *len, struct err *err);

/*
 * delta_decode - check and unpack one message
 *
 * Out:     *d, arrays borrowed from the scratch until its next use; removed indices strictly
 *          ascending, added keys ascending and of this block (verified)
 * Returns: 0; ERR_INPUT; ERR_LIMIT; ERR_MEMORY
 */
MUST_CHECK int delta_decode(struct delta_scratch *s, struct delta *d, const uint8_t *msg,
                            size_t len, struct err *err);

#endif
