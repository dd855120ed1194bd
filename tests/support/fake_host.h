/*
 * fake_host.h - the network and the device that the fake core shows
 */
#ifndef RECOND_TESTS_SUPPORT_FAKE_HOST_H
#define RECOND_TESTS_SUPPORT_FAKE_HOST_H

#include "api/api.h"

int fake_host_models(struct core *core, struct api_model *out, int cap, int *n, struct err *err);
int fake_host_devices(struct core *core, struct api_device *out, int cap, int *n, struct err *err);

#endif
