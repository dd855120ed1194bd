/*
 * pipeline.h - a kind of session: what a frame of it goes through, and what comes of it
 *
 * A kind is one file, daemon/work/pipeline_<name>.c. Nothing outside that file knows what its
 * frames are for: where line->has_map is 0 a session's cloud and trajectory stay empty, and
 * requests for them are refused.
 */
#ifndef RECOND_DAEMON_PIPELINE_H
#define RECOND_DAEMON_PIPELINE_H

#include "api/api.h"
#include "gpu/gpu.h"

struct job; /* daemon/work/session_work.h */

struct pipeline {
    const char *name;
    const struct gpu_line *line; /* what its items run through on the device */
    /* What a session's device state is made from; networks are NULL where bytes are counted. */
    void (*device_config)(struct gpu_session_config *c, const struct session_options *o,
                          struct gpu_model *depth, struct gpu_model *motion);
    /* On the worker's thread, between two frames: job->item, a decoded frame, becomes what the
     * device is given. */
    void (*open)(struct job *job);
    /* On a committer, a session's jobs in their order: the device's result goes into the session
     * and to its clients. Fills in what the frame's sender is answered. */
    void (*finish)(struct job *job, struct control_ack *ack);
    /* Can a frame from this place be used? Asked of one with a pose before it is queued; else it is
     * refused, `bad_pose`. NULL: from any. */
    bool (*takes_pose)(const struct session_options *o, const struct frame *f);
    /* Does a session that is closed run closing rounds (daemon/work/closing.h)? NULL: none does.
     * What finish() does with one it says in job->unfinished. */
    bool (*has_rounds)(const struct session_options *o);
    bool has_one_world; /* that of the first frame: frames of others are refused, `worlds` */
    bool wants_depth;   /* every frame's: clients get it without asking for it */
    /* Options of a session that needs a little less memory, and what changed in them, for one that
     * does not fit; false: it cannot. NULL: nothing is proposed. */
    bool (*smaller)(struct session_options *o, char what[API_NAME_CAP]);
    /* The most bytes of the result that a used frame has (session_show()); NULL: it has none */
    size_t (*result_bytes)(const struct session_options *o);
};

#define PIPELINE_DECLARE(WORD, word) extern const struct pipeline pipeline_##word;
SESSION_KINDS(PIPELINE_DECLARE)
#undef PIPELINE_DECLARE

#endif
