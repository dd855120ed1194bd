/*
 * result.h - what a frame became, as one message: a header of its kind, then two planes under a
 * codec
 *
 * Bytes:   docs/PROTOCOL.md, "Depth maps"; header_len - 4 is the length of both planes together
 * Limits:  RESULT_MESSAGE_MAX bytes a message; the decoder is told how many plain bytes it may make
 */
#pragma once

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
 * In:      plain [plain_len] well formed, codec 0
 * Out:     *msg, *len: borrowed from the scratch, or `plain` itself where it would not shrink
 * Returns: 0; ERR_MEMORY
 */
MUST_CHECK int result_pack(struct result_scratch *s, enum codec_kind codec, const uint8_t *plain,
                           size_t plain_len, const uint8_t **msg, size_t *len, struct err *err);

/*
 * result_unpack - its inverse, for bytes that cannot be trusted
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
