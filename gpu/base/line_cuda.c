#include "gpu/base/line_cuda.h"

#include <stddef.h>

static const struct line_cuda *const lines[] = {&line_mono_cuda};

const struct line_cuda *line_cuda_of(const struct gpu_line *line)
{
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (lines[i]->line == line)
            return lines[i];
    return NULL;
}
