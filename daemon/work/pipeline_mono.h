/*
 * pipeline_mono.h - the line that a frame of one camera runs through on its device
 */
#ifndef RECOND_DAEMON_PIPELINE_MONO_H
#define RECOND_DAEMON_PIPELINE_MONO_H

#include "gpu/gpu.h"

/*
 * pipeline_mono - a batch of frames, of different sessions, from pictures to changed points
 *
 * In/out:  items [n] of struct gpu_frame; results are valid after gpu_wait(g, items, n, err)
 * Returns: as gpu_submit(); when it fails the whole batch is lost and the sessions live on
 * Runs:    on the thread that owns g; enqueues, does not wait
 */
MUST_CHECK int pipeline_mono(struct gpu *g, struct gpu_item *const *items, int n, struct err *err);

#endif
