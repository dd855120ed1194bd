/*
 * reconctl_eval_picture.h - a cloud beside the true one, seen from the same place
 *
 * Three pictures side by side: what the camera saw in a frame, the true cloud and the cloud, both
 * from a little behind the camera.
 */
#ifndef RECOND_API_RECONCTL_EVAL_PICTURE_H
#define RECOND_API_RECONCTL_EVAL_PICTURE_H

#include "proto/cloud/ply.h"
#include "proto/wire/frame.h"

#include <stdbool.h>

struct reconctl_eval_picture;

MUST_CHECK int reconctl_eval_picture_new(struct reconctl_eval_picture **p, struct err *err);
void reconctl_eval_picture_free(struct reconctl_eval_picture **p);

/*
 * reconctl_eval_picture_frame - decode a frame's picture
 *
 * In:      shown: the clouds are seen from here, unless a later frame is shown
 * Out:     *rgb [*h][*w][3], valid until the next frame
 * Returns: 0; as jpeg_decode()
 */
MUST_CHECK int reconctl_eval_picture_frame(struct reconctl_eval_picture *p, const uint8_t **rgb,
                                           int *w, int *h, const struct frame *f, bool shown,
                                           struct err *err);

/* Returns: 0; ERR_STATE: no frame was shown; as client_splat_draw() and png_write_file() */
MUST_CHECK int reconctl_eval_picture_write(struct reconctl_eval_picture *p, const char *path,
                                           const struct ply_cloud *truth,
                                           const struct ply_cloud *cloud, struct err *err);

#endif
