/*
 * jpeg.h - JPEG through libjpeg-turbo, checked before anything is allocated
 *
 * A 214-byte file can ask for 8 GB and 25 s. Therefore jpeg_probe() walks the markers by itself and
 * refuses everything but baseline, extended or progressive Huffman JPEG (SOF0, SOF1, SOF2) with 8
 * bits and 1 or 3 components, sides within the limits, one frame header, a bounded number of scans;
 * decoding then runs with libjpeg-turbo's scan limit and stops on warnings, into buffers of a size
 * known before.
 *
 * Time:    what decoding will cost is estimated from the headers and the bytes of each scan, at the
 *          rates below, and a picture that would take too long is refused before it is begun: the
 *          same file is refused or taken on every try, on a busy machine and on an idle one. Behind
 *          that stands a last resort, JPEG_PATIENCE times as much of the thread's own processor
 *          time, which a virtual processor that stands still uses up. It is no verdict: the caller
 *          tries again.
 * Memory:  a picture of several scans is kept as coefficients until the last one; they have a limit
 *          of their own.
 */
#ifndef RECOND_PROTO_JPEG_H
#define RECOND_PROTO_JPEG_H

#include "proto/err.h"
#include "proto/types.h"

/* pixels of one picture: 11 million at half resolution of colour, 5 million at full */
#define JPEG_COEFFICIENT_BYTES_MAX (32u << 20)

#define JPEG_PATIENCE 50

struct jpeg_limits {
    int max_width, max_height; /* pixels */
    int max_scans;             /* scans of a progressive file */
    uint32_t max_bytes;        /* of the file */
    /* estimated milliseconds of decoding beyond which a picture is refused (checked by
     * jpeg_decode() alone) */
    int deadline_ms;
};

struct jpeg_info {
    int width, height, components;
    int progressive; /* SOF2 */
    int turn;  /* clockwise quarters that put the picture upright, as its Exif says; 0 without */
    int scans; /* SOS markers seen */
    /* A form that every decoder reads alike: baseline (SOF0) in one scan, YCbCr as JFIF has it,
     * colour at full size, half the width or half of both sides. */
    int plain;
    /* bytes kept between scans: 0 for a picture of one scan */
    uint64_t coefficient_bytes;
    uint64_t cost_ns; /* estimated cost of decoding without that of the output pixels */
};

/*
 * jpeg_probe - read the header, walk the markers, add up the work; allocates nothing
 * Returns: 0; ERR_INPUT: not such a JPEG (err says which marker at which byte); ERR_LIMIT
 */
MUST_CHECK int jpeg_probe(struct jpeg_info *info, const uint8_t *data, size_t len,
                          const struct jpeg_limits *limits, struct err *err);

/* Reads jpeg_info.turn from an APP1 segment; 0 if it is no Exif, is damaged or mirrors. */
int jpeg_exif_turn(const uint8_t *segment, size_t len);

/*
 * jpeg_scaled_size - the smallest size we decode to that still covers min_w x min_h
 * Scales: 1/8, 1/4, 1/2, 1: those that libjpeg-turbo has vector code for. The odd eighths lie
 *         between them in size alone: 720p takes 1.80 ms at 3/8, 1.58 at 1/2, 2.97 to 4.5 at 5/8 to
 *         7/8, 1.77 at 1. Never larger than the picture itself.
 */
void jpeg_scaled_size(const struct jpeg_info *info, int min_w, int min_h, int *w, int *h);

struct jpeg_decoder; /* One decoder serves one thread. */
MUST_CHECK int jpeg_decoder_new(struct jpeg_decoder **d, struct err *err);
void jpeg_decoder_free(struct jpeg_decoder **d);

/*
 * jpeg_decode - decode to packed RGB8 of exactly w x h (a size from jpeg_scaled_size)
 * Out:     rgb [h][w][3]
 * Returns: 0; ERR_INPUT: damaged or truncated; ERR_LIMIT: estimate or another limit; ERR_BUSY:
 *          stopped after JPEG_PATIENCE, nothing is known of the picture
 */
MUST_CHECK int jpeg_decode(struct jpeg_decoder *d, uint8_t *rgb, int w, int h, const uint8_t *data,
                           size_t len, const struct jpeg_limits *limits, struct err *err);

/*
 * jpeg_encode - packed RGB8 [h][w][3] as a JPEG, its colour at half size
 * Out:     *data [*len], free() it; NULL on an error
 * Returns: 0; ERR_INPUT: no such size or quality (1...100); ERR_MEMORY
 */
MUST_CHECK int jpeg_encode(uint8_t **data, size_t *len, const uint8_t *rgb, int w, int h,
                           int quality, struct err *err);

#endif
