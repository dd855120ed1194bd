/*
 * job.h - one frame on its way through a device, from the queue to its answer
 *
 * Holder:  the worker from job_open() until the device is done, then a committer up to
 *          job_finish(); or who refuses it.
 */
#ifndef RECOND_DAEMON_JOB_H
#define RECOND_DAEMON_JOB_H

#include "daemon/session/session.h"
#include "daemon/work/session_work.h"
#include "daemon/work/shelf.h"

/*
 * job_make - the session's device state, for the frame that waits for it
 *
 * It may take seconds where it is the first of its size on the device. Nothing is done where there
 * is no decoded frame.
 * Out:     reason: why the frame has to be refused (the caller does it)
 * Returns: 0; what the device says, reason is not CONTROL_REASON_NONE then
 * Runs:    thread that makes sessions (worker.h), in the session's turn
 */
MUST_CHECK int job_make(struct session *s, struct shelf *shelf, enum control_reason *reason);
/* Fill in the device's frame. The session has its device state. */
void job_open(struct job *job, struct session *s, struct queue_item *item);
/* After the device: changes into the mirror, pose into the trajectory, clients told, slot free.
 * Any thread, one session's jobs in their order. */
void job_finish(struct job *job);
/* The frame ends here: slot free, client told. Any thread that holds the item. */
void job_end(struct session *s, struct queue_item *item, const struct control_ack *end);
/* The same with a refusal, once that is on the disk. */
void job_refuse(struct session *s, struct queue_item *item, enum control_reason reason);
/* What the device will be asked for; networks may be NULL where only bytes are counted. */
void job_device_config(struct gpu_session_config *c, const struct session_options *o,
                       struct gpu_model *depth, struct gpu_model *motion);

#endif
