/*
 * shelf.h - a device's copies of the networks, made when the first session needs them, shared by
 * all
 *
 * Threads: the worker that owns the device.
 */
#ifndef RECOND_DAEMON_SHELF_H
#define RECOND_DAEMON_SHELF_H

#include "daemon/work/models.h"

struct shelf {
    struct gpu *gpu;             /* borrowed */
    const struct models *models; /* borrowed */
    struct gpu_model *open[MODELS_MAX];
};

/* Out: *model, the shelf's until shelf_close(). Returns what gpu_model_open() says. */
MUST_CHECK int shelf_get(struct shelf *s, const struct gpu_model_info *info,
                         struct gpu_model **model, struct err *err);
void shelf_close(struct shelf *s);

#endif
