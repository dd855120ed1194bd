/*
 * line_depth.c - the line of frames that need only depth: each picture becomes a
 * depth map, and nothing is kept between two of them
 */
#include "gpu/mono/session_cpu.h"

static const struct gpu_stage stages[] = {
    {"upload", line_mono_upload, "the frame", "an empty result"},
    {"image", image_cpu_run, "the picture", "the network's input, K"}, /* (I1)-(I3) */
    {"depth", depth_cpu_run, "the network's input", "depth"},          /* (D1)-(D4) */
    {"download", line_mono_download, "depth", "a copy of it, if wanted"},
};

static const struct gpu_session_ops session = {
    .bytes = session_cpu_bytes,
    .make = session_cpu_new,
    .free = session_cpu_free,
    .put_depth = session_cpu_put_depth,
};

const struct gpu_line gpu_line_depth = {
    .name = "depth",
    .stages = stages,
    .n_stages = sizeof stages / sizeof *stages,
    .priority = -1, /* a map that comes late hides the wrong things */
    .weight = 1.0f,
    .needs = 1u << GPU_MODEL_DEPTH,
    .check = line_mono_check_picture,
    .cpu = &session,
};
