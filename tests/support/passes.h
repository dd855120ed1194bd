/*
 * passes.h - how long a pass of an item took, by its name
 */
#pragma once

#include "gpu/gpu.h"

#include <string.h>

/* 0: the back end has no pass of this name. */
static inline float pass_us(const struct gpu_item *item, const char *name)
{
    for (int i = 0; i < item->n_passes; i++)
        if (!strcmp(item->passes[i].name, name))
            return item->passes[i].us;
    return 0.0f;
}
