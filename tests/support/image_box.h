/*
 * image_box.h - the area-averaged resize written as plainly as can be, for tests to compare with
 */
#pragma once

#include "gpu/mono/image_point.h"

/* The integer sum of box (x, y) of channel ch; divided by w*h of the source it is the average. */
static inline uint64_t image_box(const uint8_t *rgb, int w, int h, int out_w, int out_h, int x,
                                 int y, int ch)
{
    uint64_t sum = 0;
    for (int j = image_first(x, out_w, w); j < image_end(x, out_w, w); j++) {
        uint32_t column = 0;
        for (int i = image_first(y, out_h, h); i < image_end(y, out_h, h); i++)
            column += image_overlap(y, i, out_h, h) * rgb[((size_t)i * w + j) * 3 + ch];
        sum += (uint64_t)image_overlap(x, j, out_w, w) * column;
    }
    return sum;
}
