/* Bytes, markers, tables and headers of a JPEG, right unless told otherwise. */
#include "tests/support/bad_jpeg_internal.h"

#include <string.h>

uint32_t bad_jpeg_below(struct bad_jpeg *b, uint32_t n)
{
    uint64_t x = b->random += 0x9e3779b97f4a7c15ull; /* splitmix64 */

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return (uint32_t)(((x ^ x >> 31) >> 32) * n >> 32);
}

void bad_jpeg_u8(struct bad_jpeg *b, unsigned v)
{
    if (b->len < BAD_JPEG_BYTES_MAX)
        b->data[b->len++] = (uint8_t)v;
}

void bad_jpeg_u16(struct bad_jpeg *b, unsigned v)
{
    bad_jpeg_u8(b, v >> 8);
    bad_jpeg_u8(b, v);
}

void bad_jpeg_bytes(struct bad_jpeg *b, const void *data, size_t n)
{
    size_t room = BAD_JPEG_BYTES_MAX - b->len;

    n = n < room ? n : room;
    memcpy(b->data + b->len, data, n);
    b->len += n;
}

void bad_jpeg_fill(struct bad_jpeg *b, int value, size_t n)
{
    size_t room = BAD_JPEG_BYTES_MAX - b->len;

    n = n < room ? n : room;
    memset(b->data + b->len, value, n);
    b->len += n;
}

void bad_jpeg_noise(struct bad_jpeg *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned v = bad_jpeg_below(b, 256);

        bad_jpeg_u8(b, v);
        if (v == 0xff)
            bad_jpeg_u8(b, 0);
    }
}

void bad_jpeg_marker(struct bad_jpeg *b, unsigned marker)
{
    bad_jpeg_u8(b, 0xff);
    bad_jpeg_u8(b, marker);
}

void bad_jpeg_segment(struct bad_jpeg *b, unsigned marker, const void *body, size_t n)
{
    bad_jpeg_marker(b, marker);
    bad_jpeg_u16(b, (unsigned)n + 2);
    bad_jpeg_bytes(b, body, n);
}

void bad_jpeg_dqt(struct bad_jpeg *b, int id)
{
    uint8_t body[65];

    memset(body, 1, sizeof body);
    body[0] = (uint8_t)id;
    bad_jpeg_segment(b, 0xdb, body, sizeof body);
}

void bad_jpeg_dht(struct bad_jpeg *b, unsigned table, unsigned value)
{
    uint8_t body[18] = {(uint8_t)table, 1};

    body[17] = (uint8_t)value;
    bad_jpeg_segment(b, 0xc4, body, sizeof body);
}

void bad_jpeg_sof(struct bad_jpeg *b, unsigned marker, int w, int h, int components,
                  unsigned sampling)
{
    bad_jpeg_marker(b, marker);
    bad_jpeg_u16(b, 8 + 3 * (unsigned)components);
    bad_jpeg_u8(b, 8);
    bad_jpeg_u16(b, (unsigned)h);
    bad_jpeg_u16(b, (unsigned)w);
    bad_jpeg_u8(b, (unsigned)components);
    for (int i = 0; i < components; i++) {
        bad_jpeg_u8(b, (unsigned)i + 1);
        bad_jpeg_u8(b, i ? 0x11 : sampling);
        bad_jpeg_u8(b, i > 0);
    }
}

void bad_jpeg_sos(struct bad_jpeg *b, int first, int n, unsigned from, unsigned to, unsigned high,
                  unsigned low)
{
    bad_jpeg_marker(b, 0xda);
    bad_jpeg_u16(b, 6 + 2 * (unsigned)n);
    bad_jpeg_u8(b, (unsigned)n);
    for (int i = first; i < first + n; i++) {
        bad_jpeg_u8(b, (unsigned)i + 1);
        bad_jpeg_u8(b, i ? 0x11 : 0);
    }
    bad_jpeg_u8(b, from);
    bad_jpeg_u8(b, to);
    bad_jpeg_u8(b, high << 4 | low);
}
