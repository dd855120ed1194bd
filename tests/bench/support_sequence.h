/*
 * support_sequence.h - frames for the benchmarks: a drawn room, or a folder of sequences
 * (docs/TESTING.md)
 *
 * In:      folder with sequence.json, frames/, depth/ and perhaps poses.txt (without it every pose
 *          is the identity); w = h = 0: depth at the picture's own size. Or NULL: a camera
 *          that walks through the room of tests/support/scene.h, its depth with smooth and with
 *          pixel noise
 * Out:     colours at the picture's own size, depth at w x h (nearest pixel; 0 = no reading)
 */
#pragma once

#include "proto/err.h"
#include "proto/types.h"

struct support_sequence;

struct support_frame {
    const uint8_t *rgb; /* [height][width][3] */
    int width, height;
    struct intrinsics K; /* of rgb */
    struct rigid T_wc;
    int posed;    /* T_wc is known; else the identity stands in */
    float *depth; /* [h][w] */
};

MUST_CHECK int support_sequence_open(struct support_sequence **s, const char *folder, int w, int h,
                                     struct err *err);
void support_sequence_close(struct support_sequence **s);
/* Returns: 0; ERR_END after the last frame; ERR_IO, ERR_INPUT. *f is borrowed until the next
 * call. */
MUST_CHECK int support_sequence_next(struct support_sequence *s, struct support_frame *f,
                                     struct err *err);
