/*
 * delta.h - block messages: how changes of the cloud travel to a client
 *
 * Bytes:   docs/PROTOCOL.md, "Block messages"; of the planes "Planes"
 * Limits:  DELTA_POINTS_MAX points and DELTA_MESSAGE_MAX bytes a message, checked before anything
 *          is allocated or inflated; a decoder never writes past plain_len
 */
#pragma once

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
 * Out:     *msg, *len: borrowed from the scratch until its next use
 * Returns: 0; ERR_LIMIT: too many points for a message, which no block of a cloud has;
 *          ERR_MEMORY
 */
MUST_CHECK int delta_encode(struct delta_scratch *s, const struct delta *d, const uint8_t **msg,
                            size_t *len, struct err *err);

/*
 * delta_decode - check and unpack one message
 * Out:     *d, arrays borrowed from the scratch until its next use; removed indices strictly
 *          ascending, added keys ascending and of this block (verified)
 * Returns: 0; ERR_INPUT; ERR_LIMIT; ERR_MEMORY
 */
MUST_CHECK int delta_decode(struct delta_scratch *s, struct delta *d, const uint8_t *msg,
                            size_t len, struct err *err);
