/*
 * png.h - pictures and depth maps as PNG, for clients, benches and tests
 *
 * Reading is bounded: sides are checked against the caller's limit before pixels are allocated,
 * memory for compressed chunks is capped, and a damaged file is an error.
 */
#ifndef RECOND_PROTO_PNG_H
#define RECOND_PROTO_PNG_H

#include "proto/err.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Packed RGB8 [h][w][3] to a stream, which stays open. Returns 0; ERR_INPUT; ERR_MEMORY; ERR_IO. */
MUST_CHECK int png_write(FILE *f, const uint8_t *rgb, int w, int h, struct err *err);
/* The same to a file (written beside it and renamed). Returns 0; ERR_INPUT;
 * ERR_MEMORY; ERR_IO. */
MUST_CHECK int png_write_file(const char *path, const uint8_t *rgb, int w, int h, struct err *err);

/*
 * png_encode_gray16 - gray [h][w] of 16 bits as a PNG in memory
 *
 * Out:     *png, *len: free() it; NULL on an error
 * Returns: 0; ERR_INPUT; ERR_MEMORY
 */
MUST_CHECK int png_encode_gray16(uint8_t **png, size_t *len, const uint16_t *gray, int w, int h,
                                 struct err *err);

/*
 * png_read_rgb - any PNG as packed RGB8; what is transparent becomes black
 *
 * Out:     *rgb [*h][*w][3], free() it; NULL on an error
 * Returns: 0; ERR_NOT_FOUND; ERR_INPUT: damaged; ERR_LIMIT: a side over max_side; ERR_MEMORY
 */
MUST_CHECK int png_read_rgb(const char *path, uint8_t **rgb, int *w, int *h, int max_side,
                            struct err *err);

/*
 * png_read_gray16 - a gray PNG of 8 or 16 bits with its values as they are (a depth map)
 *
 * Out:     *gray [*h][*w], free() it; NULL on an error
 * Returns: 0; ERR_NOT_FOUND; ERR_INPUT: damaged; ERR_LIMIT: a side over max_side;
 *          ERR_UNSUPPORTED: colours, alpha or fewer than 8 bits; ERR_MEMORY; ERR_IO
 */
MUST_CHECK int png_read_gray16(const char *path, uint16_t **gray, int *w, int *h, int max_side,
                               struct err *err);

/*
 * png_decode_gray - a gray PNG in memory of a size that is known, its values as they are
 *
 * In:      png [len], which cannot be trusted; bits 8 or 16: what it must have; not interlaced
 * Out:     gray [h][w] of uint8_t or uint16_t; unspecified on an error
 * Returns: 0; ERR_INPUT: damaged, or another kind, depth or size; ERR_MEMORY
 */
MUST_CHECK int png_decode_gray(void *gray, const uint8_t *png, size_t len, int bits, int w, int h,
                               struct err *err);

/* Reads the sides of a PNG in memory from its header alone. Returns: 0; ERR_INPUT: it is no PNG, or
 * a side is 0 or above 2^31 - 1 */
MUST_CHECK int png_probe(const uint8_t *png, size_t len, int *w, int *h, struct err *err);

#endif
