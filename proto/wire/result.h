/*
 * result.h - what a frame became, as one message: a header of its kind, then two planes under a
 * codec
 *
 * Bytes:   little-endian
 *             0 u8  op      0x20 ... 0x2f, one for each kind of result
 *             1 u8  version of that kind    2 u8 codec (0 raw, 1 deflate-raw)
 *             3 u8  of the kind             4 u32 header_len     8 u64 seq of the frame
 *            16 fields of the kind
 *            header_len - 4 u32 plain_len: bytes of the two planes, which are equally long
 *            header_len planes, compressed by the codec to the end of the message
 * Limits:  RESULT_MESSAGE_MAX bytes a message; the decoder is told how many plain bytes it may make
 */
#ifndef RECOND_PROTO_RESULT_H
#define RECOND_PROTO_RESULT_H

#include "proto/wire/codec.h"

#define RESULT_OP_FIRST 0x20
#define RESULT_OP_LAST 0x2f
#define RESULT_MESSAGE_MAX (16u << 20)

/* Buffers of one encoder or decoder. They grow to the largest message and are used again. */
struct result_scratch;
MUST_CHECK int result_scratch_new(struct result_scratch **s, struct err *err);
void result_scratch_free(struct result_scratch **s);

/*
 * result_pack - a message whose planes are plain, for a client's codec
 *
 * In:      plain [plain_len] well formed, codec 0
 * Out:     *msg, *len: borrowed from the scratch, or `plain` itself where it would not shrink
 * Returns: 0; ERR_MEMORY
 */
MUST_CHECK int result_pack(struct result_scratch *s, enum codec_kind codec, const uint8_t *plain,
                           size_t plain_len, const uint8_t **msg, size_t *len, struct err *err);

/*
 * result_unpack - its inverse, for bytes that cannot be trusted
 *
 * In:      op, version, header_len: those of the kind that is expected; plain_max
 * Out:     *planes, *planes_len: borrowed from the scratch until its next use
 * Returns: 0; ERR_INPUT; ERR_LIMIT; ERR_MEMORY
 */
struct result_kind {
    uint8_t op, version;
    uint32_t header_len;
};
MUST_CHECK int result_unpack(struct result_scratch *s, const struct result_kind *kind,
                             const uint8_t *msg, size_t len, size_t plain_max,
                             const uint8_t **planes, size_t *planes_len, struct err *err);

#endif
