/*
 * codec.h - raw, deflate-raw and zstd with bounded output, contexts reused
 *
 * The packer may end a compressed block at the end of each part, so that planes of a message that
 * differ get entropy tables of their own; a decoder need not know of it. The unpacker writes at
 * most the announced size, takes no window or dictionary from the stream and accepts exactly one
 * complete stream.
 */
#ifndef RECOND_PROTO_CODEC_H
#define RECOND_PROTO_CODEC_H

#include "proto/err.h"

#include <stddef.h>
#include <stdint.h>

/* Kinds below CODEC_WIRE_KINDS travel on the wire; zstd is for checkpoints. */
enum codec_kind {
    CODEC_RAW = 0,
    CODEC_DEFLATE = 1,
    CODEC_WIRE_KINDS = 2,
    CODEC_ZSTD = 2,
    CODEC_KINDS
};

/* The name of a codec: "raw", "deflate-raw", "zstd". */
const char *codec_name(enum codec_kind codec);
/* Reads the name of a codec of the wire. */
MUST_CHECK int codec_parse(const char *name, enum codec_kind *codec, struct err *err);

struct codec; /* Contexts of one encoder or decoder, made when first needed. */
MUST_CHECK int codec_new(struct codec **c, struct err *err);
void codec_free(struct codec **c);

/* The most bytes that n plain bytes in n_parts parts can become. */
size_t codec_bound(enum codec_kind kind, size_t n, size_t n_parts);

/*
 * codec_pack - compress
 *
 * In:      src, parts in a row, part i part_len[i] bytes long
 * Out:     dst [cap >= codec_bound()], *len
 * Returns: 0; ERR_MEMORY
 */
MUST_CHECK int codec_pack(struct codec *c, enum codec_kind kind, uint8_t *dst, size_t cap,
                          size_t *len, const uint8_t *src, const size_t *part_len, size_t n_parts,
                          struct err *err);

/*
 * codec_unpack - decompress bytes that cannot be trusted
 *
 * Out:     dst [dst_len], filled completely on success, unspecified on failure
 * Returns: 0; ERR_INPUT: damaged, truncated, longer or shorter than dst_len, or bytes after the
 *          stream; ERR_MEMORY
 */
MUST_CHECK int codec_unpack(struct codec *c, enum codec_kind kind, uint8_t *dst, size_t dst_len,
                            const uint8_t *src, size_t len, struct err *err);

#endif
