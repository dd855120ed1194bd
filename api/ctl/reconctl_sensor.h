/* reconctl_sensor.h - the true depth of a folder's frame as a part of that frame: planes of
 * millimetres, deflated */
#pragma once

#include "proto/wire/frame.h"

struct reconctl_sensor; /* buffers, which grow to the largest picture */
MUST_CHECK int reconctl_sensor_new(struct reconctl_sensor **s, struct err *err);
void reconctl_sensor_free(struct reconctl_sensor **s);

/*
 * reconctl_sensor_add - the frame's depth behind its other parts
 * In:      depth [h][w] metres, 0 = none, seen by the picture's camera
 * In/out:  f; the part is borrowed until the next call
 * Returns: 0; ERR_LIMIT: larger than a part may be; ERR_MEMORY
 */
MUST_CHECK int reconctl_sensor_add(struct reconctl_sensor *s, struct frame *f, const float *depth,
                                   int w, int h, struct err *err);
