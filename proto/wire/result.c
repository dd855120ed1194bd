#include "proto/wire/result.h"

#include "proto/array.h"
#include "proto/bytes.h"

#include <stdlib.h>
#include <string.h>

struct result_scratch {
    struct codec *codec;
    uint8_t *buf;
    size_t cap;
};

int result_scratch_new(struct result_scratch **s, struct err *err)
{
    int rc;

    *s = calloc(1, sizeof **s);
    if (!*s)
        return err_set(err, ERR_MEMORY, "no memory for results");
    rc = codec_new(&(*s)->codec, err);
    if (rc)
        result_scratch_free(s);
    return rc;
}

void result_scratch_free(struct result_scratch **s)
{
    if (!*s)
        return;
    codec_free(&(*s)->codec);
    free((*s)->buf);
    free(*s);
    *s = NULL;
}

static int result_reserve(struct result_scratch *s, size_t n, struct err *err)
{
    return array_grow(&s->buf, &s->cap, n + 1, 1)
               ? err_set(err, ERR_MEMORY, "no memory for a result of %zu bytes", n)
               : 0;
}

static uint32_t u32_at(const uint8_t *msg, size_t at)
{
    struct bytes_reader r = bytes_reader(msg + at, 4);

    return bytes_get_u32(&r);
}

int result_pack(struct result_scratch *s, enum codec_kind codec, const uint8_t *plain,
                size_t plain_len, const uint8_t **msg, size_t *len, struct err *err)
{
    size_t head = u32_at(plain, 4), n = plain_len - head, bound = codec_bound(codec, n, 2);
    const size_t part_len[2] = {n / 2, n / 2};
    int rc = 0;

    *msg = plain;
    *len = plain_len;
    if (codec == CODEC_RAW)
        return 0;
    rc = result_reserve(s, head + bound, err);
    if (rc == 0)
        rc = codec_pack(s->codec, codec, s->buf + head, bound, len, plain + head, part_len, 2, err);
    if (rc)
        return rc;
    if (*len >= n) {
        *len = plain_len;
        return 0;
    }
    memcpy(s->buf, plain, head);
    s->buf[2] = (uint8_t)codec;
    *msg = s->buf;
    *len += head;
    return 0;
}

int result_unpack(struct result_scratch *s, const struct result_kind *kind, const uint8_t *msg,
                  size_t len, size_t plain_max, const uint8_t **planes, size_t *planes_len,
                  struct err *err)
{
    size_t head = kind->header_len, n;
    int rc;

    if (len > RESULT_MESSAGE_MAX)
        return err_set(err, ERR_LIMIT, "a result of %zu bytes, at most %u", len,
                       RESULT_MESSAGE_MAX);
    if (len < head)
        return err_set(err, ERR_INPUT, "a result ends inside its header");
    if (msg[0] != kind->op || msg[1] != kind->version || u32_at(msg, 4) != head)
        return err_set(err, ERR_INPUT,
                       "opcode 0x%02x, version %u, header of %u bytes: not the result expected",
                       msg[0], msg[1], (unsigned)u32_at(msg, 4));
    if (msg[2] >= CODEC_WIRE_KINDS)
        return err_set(err, ERR_INPUT, "codec %u is unknown", msg[2]);
    n = u32_at(msg, head - 4);
    if (n > plain_max || n % 2)
        return err_set(err, ERR_LIMIT, "planes of %zu bytes, at most %zu", n, plain_max);
    rc = result_reserve(s, n, err);
    if (rc == 0)
        rc =
            codec_unpack(s->codec, (enum codec_kind)msg[2], s->buf, n, msg + head, len - head, err);
    *planes = s->buf;
    *planes_len = n;
    return rc;
}
