/*
 * fake_host.h - the network, the device, the objects and the slow work of the fake core
 */
#pragma once

#include "daemon/work/later.h"
#include "tests/support/fake_objects.h"

int fake_host_models(struct core *core, struct api_model *out, int cap, int *n, struct err *err);
int fake_host_devices(struct core *core, struct api_device *out, int cap, int *n, struct err *err);
size_t fake_host_metrics(struct core *core, char *buf, size_t cap);
int fake_host_task_new(struct core *core, struct later_task **t, const struct later_kind *kind,
                       void *ctx, const char *owner, struct err *err);

/* The host's part of struct core_ops. */
#define FAKE_HOST_OPS                                                                           \
    .object_add = fake_objects_add, .object_match = fake_objects_match,                         \
    .object_get = fake_objects_get, .object_list = fake_objects_list,                           \
    .object_delete = fake_objects_delete, .models = fake_host_models,                           \
    .devices = fake_host_devices, .metrics = fake_host_metrics, .task_new = fake_host_task_new, \
    .task_kick = later_kick, .task_free = later_free
