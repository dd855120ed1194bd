/*
 * pipeline_mono.h - sessions of one camera: each frame is fused into the session's cloud
 */
#ifndef RECOND_DAEMON_PIPELINE_MONO_H
#define RECOND_DAEMON_PIPELINE_MONO_H

#include "daemon/session/pipeline.h"

extern const struct pipeline pipeline_mono;

#endif
