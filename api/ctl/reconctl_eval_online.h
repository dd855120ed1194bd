/*
 * reconctl_eval_online.h - the online scale (eval_scale.h) of a sequence's frames, which are JPEGs
 */
#ifndef RECOND_API_RECONCTL_EVAL_ONLINE_H
#define RECOND_API_RECONCTL_EVAL_ONLINE_H

#include "api/eval/eval_scale.h"
#include "proto/wire/frame.h"

struct reconctl_eval_online;

MUST_CHECK int reconctl_eval_online_new(struct reconctl_eval_online **o, struct err *err);
void reconctl_eval_online_free(struct reconctl_eval_online **o);

/*
 * reconctl_eval_online_frame - the scale of one frame's network depth
 *
 * In:      f with its pose and camera; a frame without pose, or of another size than the first one,
 *          gets the last answer; depth [dh][dw]
 * Returns: 0; ERR_INPUT, ERR_LIMIT: no picture; ERR_MEMORY
 */
MUST_CHECK int reconctl_eval_online_frame(struct reconctl_eval_online *o,
                                          struct eval_scale_answer *a, const struct frame *f,
                                          const float *depth, int dw, int dh, struct err *err);
/* Returns how many frames had a pose. */
int reconctl_eval_online_posed(const struct reconctl_eval_online *o);

#endif
