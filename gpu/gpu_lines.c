/*
 * gpu_lines.c - the lines of this build; the CUDA back end's tables for them are listed in
 * gpu/base/line_cuda.c
 */
#include "gpu/gpu.h"

#include <stddef.h>
#include <string.h>

static const struct gpu_line *const lines[] = {&gpu_line_mono};

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
