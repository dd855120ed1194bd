/* line_depth_cuda.c - the line of depth maps on CUDA: the first passes of mono's */
#include "gpu/mono/session_cuda.h"

static pass_cuda_fn *const passes[] = {image_cuda, line_mono_cuda_depth, depth_end_cuda};

const struct line_cuda line_depth_cuda = {
    .line = &gpu_line_depth,
    .session = &line_mono_cuda_session,
    .arg_bytes = sizeof(struct frame_cuda),
    .passes = passes,
    .n_passes = sizeof passes / sizeof *passes,
    .describe = line_mono_cuda_describe,
    .upload = line_mono_cuda_upload,
    .take = line_mono_cuda_take,
};
