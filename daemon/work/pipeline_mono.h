/*
 * pipeline_mono.h - the line that a frame of one camera runs through on its device
 */
#ifndef RECOND_DAEMON_PIPELINE_MONO_H
#define RECOND_DAEMON_PIPELINE_MONO_H

#include "gpu/gpu.h"

/*
 * pipeline_mono - a batch of frames, of different sessions, from pictures to changed points
 *
 * In/out:  frames [n]; result and changes are valid after gpu_wait(g, frames, n, err)
 * Returns: 0: the batch is under way; ERR_DEVICE: the context is lost; else what the stage said:
 *          the whole batch is lost and the sessions live on, but part of it may be under way until
 *          gpu_wait()
 * Runs:    on the thread that owns g; enqueues, does not wait
 */
MUST_CHECK int pipeline_mono(struct gpu *g, struct gpu_frame *const *frames, int n,
                             struct err *err);

#endif
