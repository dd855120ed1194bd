#include "gpu/gpu.h"

#include <stddef.h>
#include <string.h>

#define ADDRESS(name) &gpu_line_##name,
static const struct gpu_line *const lines[] = {GPU_LINES(ADDRESS)};

#define LINES ((int)(sizeof lines / sizeof *lines))

const struct gpu_line *gpu_line_at(int i)
{
    return i >= 0 && i < LINES ? lines[i] : NULL;
}

const struct gpu_line *gpu_line_find(const char *name)
{
    for (int i = 0; i < LINES; i++)
        if (!strcmp(lines[i]->name, name))
            return lines[i];
    return NULL;
}
