/*
 * pipeline.h - a kind of session: the processing of its frames, and their results
 *
 * A kind is one file, daemon/work/pipeline_<name>.c. Where line->has_map is 0, a session's cloud
 * and trajectory stay empty, and requests for them are refused.
 */
#pragma once

#include "api/api.h"
#include "gpu/gpu.h"

struct job; /* daemon/work/session_work.h */

struct pipeline {
    const char *name;
    const struct gpu_line *line; /* the device's stages for its items */
    /* Inputs of a session's device state; networks are NULL where bytes are counted. */
    void (*device_config)(struct gpu_session_config *c, const struct session_options *o,
                          struct gpu_model *depth, struct gpu_model *motion);
    /* Turns job->item, a decoded frame, into the device's input; worker's thread. */
    void (*open)(struct job *job);
    /* Puts the device's result into the session and tells its clients; called by a committer for a
     * session's jobs in their order. Fills in the answer to the frame's sender. */
    void (*finish)(struct job *job, struct control_ack *ack);
    /* Can a frame from this place be used? Called before a frame with a pose is queued; else it is
     * refused as `bad_pose`. NULL: any pose is good. */
    bool (*takes_pose)(const struct session_options *o, const struct frame *f);
    /* Does a session that is closed run closing rounds (daemon/work/closing.h)? NULL: no. finish()
     * sets job->unfinished if another one follows. */
    bool (*has_rounds)(const struct session_options *o);
    bool has_one_submap; /* frames of other submaps than the first frame's are refused, `worlds` */
    bool wants_depth;    /* clients get every frame's depth without asking for it */
    /* Proposes options of a session that needs a little less memory, and says what it changed;
     * false: there are none. NULL: nothing is proposed. */
    bool (*smaller)(struct session_options *o, char what[API_NAME_CAP]);
    /* The most bytes of a used frame's result (session_show()); NULL: it has none. */
    size_t (*result_bytes)(const struct session_options *o);
};

#define PIPELINE_DECLARE(WORD, word) extern const struct pipeline pipeline_##word;
SESSION_KINDS(PIPELINE_DECLARE)
#undef PIPELINE_DECLARE
