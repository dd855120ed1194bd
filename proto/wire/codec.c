#include "proto/wire/codec.h"

#include "proto/wire/deflate.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

/* Messages are deflated by deflate.c, because browsers inflate nothing else by themselves. Measured
 * (tests/bench/bench_proto_delta.c, zlib 1.2.13 and zstd 1.5.4): zlib's Z_RLE, a block for each
 * group of planes, makes whole clouds 2 to 4 % larger at six times the time; zstd on level 1 takes
 * one to four times as long as ours and would be a second codec for every client. Checkpoints use
 * zstd. */
#define RAW_DEFLATE_BITS (-15) /* no zlib header or check sum: browsers call it deflate-raw */
#define ZSTD_LEVEL 1
#define ZSTD_MATCH 7 /* shorter matches of noise cost more than they save */
/* bytes of a part; below it the header of a block of its own weighs more */
#define ZSTD_PART_MIN 512
#define PART_SLACK 64 /* bytes that ending a block early may cost, headers and tables included */

struct codec {
    ZSTD_CCtx *zstd_out;
    ZSTD_DCtx *zstd_in;
    z_stream inflate;
    int has_inflate;
    struct deflate deflate;
};

static const char *const codec_names[CODEC_KINDS] = {"raw", "deflate-raw", "zstd"};

const char *codec_name(enum codec_kind codec)
{
    return (unsigned)codec < CODEC_KINDS ? codec_names[codec] : "unknown";
}

int codec_parse(const char *name, enum codec_kind *codec, struct err *err)
{
    for (int i = 0; i < CODEC_WIRE_KINDS; i++) {
        if (strcmp(name, codec_names[i]) == 0) {
            *codec = (enum codec_kind)i;
            return 0;
        }
    }
    return err_set(err, ERR_INPUT, "codec \"%.32s\", allowed are raw, deflate-raw", name);
}

int codec_new(struct codec **c, struct err *err)
{
    *c = calloc(1, sizeof **c);
    return *c ? 0 : err_set(err, ERR_MEMORY, "no memory for a codec");
}

void codec_free(struct codec **c)
{
    if (!*c)
        return;
    ZSTD_freeCCtx((*c)->zstd_out);
    ZSTD_freeDCtx((*c)->zstd_in);
    if ((*c)->has_inflate)
        inflateEnd(&(*c)->inflate);
    free(*c);
    *c = NULL;
}

size_t codec_bound(enum codec_kind kind, size_t n, size_t n_parts)
{
    size_t slack = (n_parts + 1) * PART_SLACK;

    switch (kind) {
    case CODEC_DEFLATE:
        return deflate_bound(n, n_parts);
    case CODEC_ZSTD:
        return ZSTD_compressBound(n) + slack;
    default:
        return n;
    }
}

/* ------------------------------------------------------------------------- deflate */

static int unpack_inflate(struct codec *c, uint8_t *dst, size_t dst_len, const uint8_t *src,
                          size_t len, struct err *err)
{
    z_stream *z = &c->inflate;
    int rc;

    if (!c->has_inflate) {
        if (inflateInit2(z, RAW_DEFLATE_BITS) != Z_OK)
            return err_set(err, ERR_MEMORY, "no memory to decompress with deflate");
        c->has_inflate = 1;
    } else {
        inflateReset(z);
    }
    z->next_in = (Bytef *)src;
    z->avail_in = (uInt)len;
    z->next_out = dst;
    z->avail_out = (uInt)dst_len;
    rc = inflate(z, Z_FINISH);
    if (rc == Z_MEM_ERROR)
        return err_set(err, ERR_MEMORY, "no memory to decompress with deflate");
    if (rc != Z_STREAM_END || z->avail_out || z->avail_in)
        return err_set(err, ERR_INPUT, "deflate stream is damaged or not of %zu bytes", dst_len);
    return 0;
}

/* ------------------------------------------------------------------------- zstd */

static int pack_zstd(struct codec *c, uint8_t *dst, size_t cap, size_t *len, const uint8_t *src,
                     const size_t *part_len, size_t n_parts, struct err *err)
{
    ZSTD_outBuffer out = {dst, cap, 0};
    ZSTD_inBuffer in = {src, 0, 0};
    size_t total = 0, rc;

    if (!c->zstd_out) {
        c->zstd_out = ZSTD_createCCtx();
        if (!c->zstd_out ||
            ZSTD_isError(
                ZSTD_CCtx_setParameter(c->zstd_out, ZSTD_c_compressionLevel, ZSTD_LEVEL)) ||
            ZSTD_isError(ZSTD_CCtx_setParameter(c->zstd_out, ZSTD_c_minMatch, ZSTD_MATCH)))
            return err_set(err, ERR_MEMORY, "no memory to compress with zstd");
    }
    for (size_t i = 0; i < n_parts; i++)
        total += part_len[i];
    ZSTD_CCtx_reset(c->zstd_out, ZSTD_reset_session_only);
    rc = ZSTD_CCtx_setPledgedSrcSize(c->zstd_out, total);
    for (size_t i = 0; i < n_parts && rc == 0; i++) {
        in.size += part_len[i];
        if (part_len[i] >= ZSTD_PART_MIN)
            rc = ZSTD_compressStream2(c->zstd_out, &out, &in, ZSTD_e_flush);
    }
    if (rc == 0)
        rc = ZSTD_compressStream2(c->zstd_out, &out, &in, ZSTD_e_end);
    if (rc)
        return err_set(err, ERR_MEMORY, "zstd: %s",
                       ZSTD_isError(rc) ? ZSTD_getErrorName(rc) : "output buffer is too small");
    *len = out.pos;
    return 0;
}

static int unpack_zstd(struct codec *c, uint8_t *dst, size_t dst_len, const uint8_t *src,
                       size_t len, struct err *err)
{
    size_t n;

    if (!c->zstd_in) {
        c->zstd_in = ZSTD_createDCtx();
        if (!c->zstd_in)
            return err_set(err, ERR_MEMORY, "no memory to decompress with zstd");
    }
    /* The input must be exactly one frame. The decoder itself would accept skippable frames after
     * it. */
    n = ZSTD_findFrameCompressedSize(src, len);
    if (ZSTD_isError(n) || n != len)
        return err_set(err, ERR_INPUT, "body is not one zstd frame");
    n = ZSTD_decompressDCtx(c->zstd_in, dst, dst_len, src, len);
    if (ZSTD_isError(n) || n != dst_len)
        return err_set(err, ERR_INPUT, "zstd frame is damaged or not of %zu bytes", dst_len);
    return 0;
}

/* ------------------------------------------------------------------------- any */

int codec_pack(struct codec *c, enum codec_kind kind, uint8_t *dst, size_t cap, size_t *len,
               const uint8_t *src, const size_t *part_len, size_t n_parts, struct err *err)
{
    size_t total = 0;

    if (kind == CODEC_DEFLATE)
        return deflate_pack(&c->deflate, dst, cap, len, src, part_len, n_parts, err);
    if (kind == CODEC_ZSTD)
        return pack_zstd(c, dst, cap, len, src, part_len, n_parts, err);
    for (size_t i = 0; i < n_parts; i++)
        total += part_len[i];
    if (total > cap)
        return err_set(err, ERR_MEMORY, "%zu bytes do not fit %zu", total, cap);
    memcpy(dst, src, total);
    *len = total;
    return 0;
}

int codec_unpack(struct codec *c, enum codec_kind kind, uint8_t *dst, size_t dst_len,
                 const uint8_t *src, size_t len, struct err *err)
{
    if (kind == CODEC_DEFLATE)
        return unpack_inflate(c, dst, dst_len, src, len, err);
    if (kind == CODEC_ZSTD)
        return unpack_zstd(c, dst, dst_len, src, len, err);
    if (len != dst_len)
        return err_set(err, ERR_INPUT, "%zu raw bytes, %zu announced", len, dst_len);
    memcpy(dst, src, len);
    return 0;
}
