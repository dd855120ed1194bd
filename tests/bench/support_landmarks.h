/*
 * support_landmarks.h - a batch of landmarks as a file, for peers that optimise the same
 *
 * Text:    "landmarks cameras observations"; a line a camera: fx fy cx cy, nine of R, three of t;
 *          a line a landmark: where it started, how many observations, our mean residual in px;
 *          below it a line an observation: camera x y.
 */
#pragma once

#include "gpu/track/landmark_search.h"

#ifdef __cplusplus
extern "C" {
#endif

/* In: b, optimised; start: where its landmarks began. Returns: 0; ERR_IO */
MUST_CHECK int support_landmarks_write(const char *path, const struct landmark_search_batch *b,
                                       const struct landmark_search_landmark *start,
                                       struct err *err);

#ifdef __cplusplus
}
#endif
