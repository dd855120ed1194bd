#include "daemon/disk/journal_internal.h"

#include "proto/bytes.h"
#include "proto/crc32c.h"

#include <string.h>

#define AT_CRC 12

static const char base32[] = "abcdefghijklmnopqrstuvwxyz234567";

void journal_record_encode(uint8_t *head, enum journal_type type, uint8_t flags, uint64_t number,
                           const struct iovec *part, int n_parts, uint32_t length)
{
    struct bytes_writer w = bytes_writer(head, JOURNAL_HEADER_BYTES);
    uint32_t crc;

    bytes_put_u32(&w, JOURNAL_MAGIC);
    bytes_put_u8(&w, (uint8_t)type);
    bytes_put_u8(&w, flags);
    bytes_put_u16(&w, 0);
    bytes_put_u32(&w, length);
    bytes_put_u32(&w, 0);
    bytes_put_u64(&w, number);
    crc = crc32c(0, head, JOURNAL_HEADER_BYTES);
    for (int i = 0; i < n_parts; i++)
        crc = crc32c(crc, part[i].iov_base, part[i].iov_len);
    w = bytes_writer(head + AT_CRC, 4);
    bytes_put_u32(&w, crc);
}

bool journal_record_parse(struct journal_head *h, const uint8_t *head)
{
    struct bytes_reader r = bytes_reader(head, JOURNAL_HEADER_BYTES);
    uint32_t magic = bytes_get_u32(&r);
    uint8_t type = bytes_get_u8(&r);
    uint16_t zero;

    h->type = (enum journal_type)type;
    h->flags = bytes_get_u8(&r);
    zero = bytes_get_u16(&r);
    h->length = bytes_get_u32(&r);
    h->crc = bytes_get_u32(&r);
    h->number = bytes_get_u64(&r);
    return magic == JOURNAL_MAGIC && h->flags <= JOURNAL_FLAG_GROUP && zero == 0 &&
           h->length <= JOURNAL_BODY_MAX && h->number > 0;
}

bool journal_record_whole(const struct journal_head *h, const uint8_t *record)
{
    static const uint8_t none[4];
    uint32_t crc = crc32c(0, record, AT_CRC);

    crc = crc32c(crc, none, sizeof(none));
    crc = crc32c(crc, record + AT_CRC + 4, JOURNAL_HEADER_BYTES - AT_CRC - 4 + (size_t)h->length);
    return crc == h->crc;
}

void journal_record_segment_body(uint8_t *body, const char *id)
{
    struct bytes_writer w = bytes_writer(body, JOURNAL_SEGMENT_BODY);

    bytes_put_u32(&w, JOURNAL_VERSION);
    memcpy(body + 4, id, JOURNAL_ID_LEN);
    memset(body + 4 + JOURNAL_ID_LEN, 0, JOURNAL_SEGMENT_BODY - 4 - JOURNAL_ID_LEN);
}

bool journal_record_is_segment_of(const struct journal_head *h, const uint8_t *record,
                                  const char *id)
{
    uint8_t body[JOURNAL_SEGMENT_BODY];

    journal_record_segment_body(body, id);
    return h->type == JOURNAL_SEGMENT && h->length == JOURNAL_SEGMENT_BODY &&
           memcmp(record + JOURNAL_HEADER_BYTES, body, sizeof(body)) == 0;
}

bool journal_id_valid(const char *id)
{
    return strlen(id) == JOURNAL_ID_LEN && strspn(id, base32) == JOURNAL_ID_LEN;
}
