/*
 * client_mjpeg.h - cut a byte stream of JPEG pictures, one after the other, into pictures
 *
 * The cut follows the markers: segments are skipped by their length, so that a thumbnail inside an
 * EXIF segment does not end a picture, and inside a scan only a real marker counts. Bytes between
 * pictures (the boundaries of a multipart stream) are skipped. Bytes that are no JPEG, and pictures
 * larger than the bound, are counted and skipped up to the next start of a picture. The content of
 * the pictures is not looked at.
 */
#ifndef RECOND_API_CLIENT_MJPEG_H
#define RECOND_API_CLIENT_MJPEG_H

#include "proto/err.h"

#include <stddef.h>
#include <stdint.h>

struct client_mjpeg;

/* fd is borrowed; max_bytes of one picture. */
MUST_CHECK int client_mjpeg_new(struct client_mjpeg **m, int fd, size_t max_bytes, struct err *err);
void client_mjpeg_free(struct client_mjpeg **m);

/*
 * client_mjpeg_next - the next picture
 *
 * In:      timeout_ms to wait for bytes; 0 = take what is there
 * Out:     *data [*len], borrowed until the next call
 * Returns: 0; ERR_BUSY: no whole picture yet; ERR_END: the stream is over; ERR_IO
 */
MUST_CHECK int client_mjpeg_next(struct client_mjpeg *m, int timeout_ms, const uint8_t **data,
                                 size_t *len, struct err *err);

/* Pictures that were left out: cut off by the end, too large, or damaged between their markers. */
uint64_t client_mjpeg_broken(const struct client_mjpeg *m);

#endif
