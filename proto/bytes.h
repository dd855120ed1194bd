/*
 * bytes.h - bounded little-endian reading and writing
 *
 * A reader or writer carries a sticky error: the first access past the end sets `bad`, reads answer
 * zero from then on and writes are dropped, so a parser reads all its fields and looks at `bad`
 * once, at the end. Nothing is ever read or written outside [data, data + len).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct bytes_reader {
    const uint8_t *data; /* borrowed */
    size_t len, at;
    int bad;
};

struct bytes_writer {
    uint8_t *data; /* borrowed */
    size_t len, at;
    int bad;
};

struct bytes_reader bytes_reader(const uint8_t *data, size_t len);
struct bytes_writer bytes_writer(uint8_t *data, size_t len);

uint8_t bytes_get_u8(struct bytes_reader *r);
uint16_t bytes_get_u16(struct bytes_reader *r);
uint32_t bytes_get_u32(struct bytes_reader *r);
uint64_t bytes_get_u64(struct bytes_reader *r);
int32_t bytes_get_i32(struct bytes_reader *r);
float bytes_get_f32(struct bytes_reader *r); /* any bit pattern; the caller checks isfinite() */

/* The next n bytes in place, or NULL (and bad) when fewer are left. */
const uint8_t *bytes_get_span(struct bytes_reader *r, size_t n);
size_t bytes_left(const struct bytes_reader *r);

void bytes_put_u8(struct bytes_writer *w, uint8_t v);
void bytes_put_u16(struct bytes_writer *w, uint16_t v);
void bytes_put_u32(struct bytes_writer *w, uint32_t v);
void bytes_put_u64(struct bytes_writer *w, uint64_t v);
void bytes_put_i32(struct bytes_writer *w, int32_t v);
void bytes_put_f32(struct bytes_writer *w, float v);
