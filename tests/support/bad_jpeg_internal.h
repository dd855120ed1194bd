/*
 * bad_jpeg_internal.h - the pen (bad_jpeg_pen.c) that bad_jpeg.c and bad_jpeg_bomb.c write with
 */
#pragma once

#include "tests/support/bad_jpeg.h"

#define BAD_JPEG_BASES 6

struct bad_jpeg_base {
    uint8_t *data;
    size_t len;
};

struct bad_jpeg {
    uint8_t *data; /* [BAD_JPEG_BYTES_MAX] */
    size_t len;
    uint64_t random;
    int w, h;
    /* right pictures of w x h as libjpeg-turbo writes them, see bad_jpeg_new() */
    struct bad_jpeg_base base[BAD_JPEG_BASES];
};

enum { BASE_420, BASE_444, BASE_PROGRESSIVE, BASE_GRAY, BASE_CMYK, BASE_ARITHMETIC };

typedef void bad_jpeg_write_fn(struct bad_jpeg *b);
struct bad_jpeg_row {
    const char *name;
    bad_jpeg_write_fn *write;
};
extern const struct bad_jpeg_row bad_jpeg_bombs[];
extern const uint32_t bad_jpeg_n_bombs;

/* 0...n - 1 */
uint32_t bad_jpeg_below(struct bad_jpeg *b, uint32_t n);
/* Past the largest size, bytes are left out: the file is then a truncated one. */
void bad_jpeg_u8(struct bad_jpeg *b, unsigned v);
void bad_jpeg_u16(struct bad_jpeg *b, unsigned v);
void bad_jpeg_bytes(struct bad_jpeg *b, const void *data, size_t n);
void bad_jpeg_fill(struct bad_jpeg *b, int value, size_t n);
/* Entropy-coded bytes of chance, each 0xff with the 0 behind it. */
void bad_jpeg_noise(struct bad_jpeg *b, size_t n);
void bad_jpeg_marker(struct bad_jpeg *b, unsigned marker);
/* Marker, length, body. */
void bad_jpeg_segment(struct bad_jpeg *b, unsigned marker, const void *body, size_t n);
void bad_jpeg_dqt(struct bad_jpeg *b, int id);
/* A table of the one code 0. table: class << 4 | id */
void bad_jpeg_dht(struct bad_jpeg *b, unsigned table, unsigned value);
/* sampling: 0xHV of the first component, the others have 0x11 */
void bad_jpeg_sof(struct bad_jpeg *b, unsigned marker, int w, int h, int components,
                  unsigned sampling);
/* A scan of the components first...first + n - 1; tables 0 for the first of all, else 1. */
void bad_jpeg_sos(struct bad_jpeg *b, int first, int n, unsigned from, unsigned to, unsigned high,
                  unsigned low);
