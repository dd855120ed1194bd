/*
 * parts.h - the parts of a frame beside its picture, as its device reads them: depth, confidence,
 * mask
 *
 * Memory:  behind each picture of a session's queue lies room for these maps, parts_bytes(); a
 *          decoder's buffers grow to the largest part that it has unpacked.
 * Sizes:   a depth picture of more than GPU_SENSOR_PIXELS is thinned to every n-th pixel; a mask
 *          takes the size of the network's picture, whose pixels are masked if any of the mask's
 *          pixels in them is.
 * Threads: a struct parts belongs to one decoder.
 */
#pragma once

#include "api/session_options.h"
#include "daemon/session/queue.h"

struct parts;
MUST_CHECK int parts_new(struct parts **p, struct err *err);
void parts_free(struct parts **p);

/* Where the maps begin behind a picture of `bytes`, and their bytes; net_w, net_h: the
 * network's. */
size_t parts_at(size_t picture_bytes);
size_t parts_bytes(const struct session_options *o, int net_w, int net_h);

/*
 * parts_decode - item->sensor and item->mask out of the frame's parts
 *
 * In:      room [parts_bytes()], aligned to 64
 * Returns: 0; ERR_INPUT: a part is damaged, or the session needs depth and there is none
 *          (item->bad_part says which); ERR_MEMORY
 */
MUST_CHECK int parts_decode(struct parts *p, struct queue_item *item, uint8_t *room,
                            const struct session_options *o, int net_w, int net_h, struct err *err);
