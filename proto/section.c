#include "proto/section.h"

#include "proto/bytes.h"

#include <string.h>

size_t section_bytes(size_t len)
{
    return SECTION_HEAD_BYTES + (len + SECTION_ALIGN - 1) / SECTION_ALIGN * SECTION_ALIGN;
}

uint8_t *section_open(uint8_t *row, size_t row_cap, size_t at, size_t cap)
{
    return at > row_cap || cap > row_cap || section_bytes(cap) > row_cap - at
               ? NULL
               : row + at + SECTION_HEAD_BYTES;
}

void section_close(uint8_t *row, size_t *at, uint32_t tag, unsigned version, unsigned flags,
                   size_t len)
{
    struct bytes_writer w = bytes_writer(row + *at, SECTION_HEAD_BYTES);
    size_t end = *at + section_bytes(len), used = *at + SECTION_HEAD_BYTES + len;

    bytes_put_u32(&w, tag);
    bytes_put_u16(&w, (uint16_t)version);
    bytes_put_u16(&w, (uint16_t)flags);
    bytes_put_u64(&w, len);
    memset(row + used, 0, end - used);
    *at = end;
}

int section_next(struct section *s, const uint8_t *row, size_t len, size_t *at, struct err *err)
{
    struct bytes_reader r = bytes_reader(row + *at, len - *at);
    uint64_t body;

    if (*at == len)
        return 0;
    s->tag = bytes_get_u32(&r);
    s->version = bytes_get_u16(&r);
    s->flags = bytes_get_u16(&r);
    body = bytes_get_u64(&r);
    if (r.bad || body > bytes_left(&r) || section_bytes((size_t)body) > len - *at)
        return err_set(err, ERR_INPUT, "a section is cut short");
    s->body = row + *at + SECTION_HEAD_BYTES;
    s->len = (size_t)body;
    *at += section_bytes(s->len);
    return 1;
}

int section_find(struct section *s, const uint8_t *row, size_t len, uint32_t tag)
{
    size_t at = 0;

    while (section_next(s, row, len, &at, NULL) == 1)
        if (s->tag == tag)
            return 1;
    return 0;
}

const char *section_name(char name[5], uint32_t tag)
{
    for (int i = 0; i < 4; i++) {
        char c = (char)(tag >> 8 * i);
        name[i] = c > ' ' && c <= '~' ? c : '?';
    }
    name[4] = '\0';
    return name;
}

int section_use(const struct section *s, unsigned reads, struct err *err)
{
    char name[5];

    if (s->version >= 1 && s->version <= reads)
        return 1;
    if (s->flags & SECTION_OPTIONAL)
        return 0;
    return err_set(err, ERR_UNSUPPORTED, "its section %s has version %u, this build reads %u",
                   section_name(name, s->tag), (unsigned)s->version, reads);
}
