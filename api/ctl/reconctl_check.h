/*
 * reconctl_check.h - does a source send what a camera sees?
 *
 * Pictures that are black, or equal the one before to the last bit, give a cloud that is nothing,
 * and no frame of them is refused. A run of them is worth a remark.
 */
#ifndef RECOND_API_RECONCTL_CHECK_H
#define RECOND_API_RECONCTL_CHECK_H

#include "proto/wire/frame.h"

struct reconctl_check_run {
    uint64_t now, longest; /* lengths of runs of pictures */
};

struct reconctl_check {
    struct reconctl_check_run black, same;
    uint64_t n; /* pictures */
    uint32_t crc, len;
    struct jpeg_decoder *decoder;
};

/* Checks the next picture. A black one does not count as `same`. */
void reconctl_check_picture(struct reconctl_check *l, const struct frame *f);
/* Tells whether a run is worth a remark: it has ten pictures, or all there are. */
bool reconctl_check_tells(const struct reconctl_check *l, const struct reconctl_check_run *run);
void reconctl_check_end(struct reconctl_check *l);

#endif
