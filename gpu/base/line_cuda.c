#include "gpu/base/line_cuda.h"

#include <stddef.h>

#define ADDRESS(name) &line_##name##_cuda,
static const struct line_cuda *const lines[] = {GPU_LINES(ADDRESS)};

const struct line_cuda *line_cuda_of(const struct gpu_line *line)
{
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (lines[i]->line == line)
            return lines[i];
    return NULL;
}
