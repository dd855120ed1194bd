/*
 * bad_jpeg.h - JPEG files that were made to hurt: file n is the same in every run
 *
 * Bombs (little to send, much to do), headers that lie, scans and tables without end, files cut or
 * flipped anywhere. Many are in order as far as a decoder can tell, and only cost; a few are right
 * altogether. Numbers n, n + bad_jpeg_kinds(), ... are of one kind.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The largest file: what a frame message of 2 MiB has room for. */
#define BAD_JPEG_BYTES_MAX ((2u << 20) - 80u)

struct bad_jpeg;

/* Files claim, unless they lie, a picture of w x h. NULL: no memory. */
struct bad_jpeg *bad_jpeg_new(int w, int h);
void bad_jpeg_free(struct bad_jpeg **b);

/* Returns the file, the generator's own until the next call. */
const uint8_t *bad_jpeg_make(struct bad_jpeg *b, uint32_t number, size_t *len);

uint32_t bad_jpeg_kinds(void);
const char *bad_jpeg_kind(uint32_t number);
