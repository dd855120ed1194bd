#include "proto/bytes.h"

#include <string.h>

struct bytes_reader bytes_reader(const uint8_t *data, size_t len)
{
    return (struct bytes_reader){.data = data, .len = len};
}

struct bytes_writer bytes_writer(uint8_t *data, size_t len)
{
    return (struct bytes_writer){.data = data, .len = len};
}

const uint8_t *bytes_get_span(struct bytes_reader *r, size_t n)
{
    const uint8_t *p;

    if (r->bad || n > r->len - r->at) {
        r->bad = 1;
        return NULL;
    }
    p = r->data + r->at;
    r->at += n;
    return p;
}

size_t bytes_left(const struct bytes_reader *r)
{
    return r->bad ? 0 : r->len - r->at;
}

static uint64_t bytes_get(struct bytes_reader *r, int n)
{
    const uint8_t *p = bytes_get_span(r, (size_t)n);
    uint64_t v = 0;

    for (int i = 0; p && i < n; i++)
        v |= (uint64_t)p[i] << (8 * i);
    return v;
}

uint8_t bytes_get_u8(struct bytes_reader *r)
{
    return (uint8_t)bytes_get(r, 1);
}

uint16_t bytes_get_u16(struct bytes_reader *r)
{
    return (uint16_t)bytes_get(r, 2);
}

uint32_t bytes_get_u32(struct bytes_reader *r)
{
    return (uint32_t)bytes_get(r, 4);
}

uint64_t bytes_get_u64(struct bytes_reader *r)
{
    return bytes_get(r, 8);
}

int32_t bytes_get_i32(struct bytes_reader *r)
{
    return (int32_t)(uint32_t)bytes_get(r, 4);
}

float bytes_get_f32(struct bytes_reader *r)
{
    uint32_t bits = bytes_get_u32(r);
    float v;

    memcpy(&v, &bits, sizeof v);
    return v;
}

static void bytes_put(struct bytes_writer *w, uint64_t v, int n)
{
    if (w->bad || (size_t)n > w->len - w->at) {
        w->bad = 1;
        return;
    }
    for (int i = 0; i < n; i++)
        w->data[w->at++] = (uint8_t)(v >> (8 * i));
}

void bytes_put_u8(struct bytes_writer *w, uint8_t v)
{
    bytes_put(w, v, 1);
}

void bytes_put_u16(struct bytes_writer *w, uint16_t v)
{
    bytes_put(w, v, 2);
}

void bytes_put_u32(struct bytes_writer *w, uint32_t v)
{
    bytes_put(w, v, 4);
}

void bytes_put_u64(struct bytes_writer *w, uint64_t v)
{
    bytes_put(w, v, 8);
}

void bytes_put_i32(struct bytes_writer *w, int32_t v)
{
    bytes_put(w, (uint32_t)v, 4);
}

void bytes_put_f32(struct bytes_writer *w, float v)
{
    uint32_t bits;

    memcpy(&bits, &v, sizeof bits);
    bytes_put(w, bits, 4);
}
