/*
 * devices.h - which devices `device.use` asks for
 *
 *     auto            every CUDA device if the first works, else the processor
 *     cpu             the processor
 *     cuda            every CUDA device; at least one has to work
 *     cuda:N  cuda:N,M,...   these; each of them has to work
 *
 * Several words may follow each other, separated by blanks or commas; what is named twice is used
 * once.
 */
#pragma once

#include "proto/err.h"

#include <stdbool.h>

#define DEVICES_MAX 16
#define DEVICES_NAME_CAP 24

struct devices {
    int n;
    struct {
        char name[DEVICES_NAME_CAP]; /* as in gpu_config */
        bool needed;                 /* without it the service is not ready */
    } of[DEVICES_MAX];
    bool all_cuda; /* "cuda": at least one of the others has to open */
    bool others;   /* "auto": if it turns out to be CUDA, the other devices too */
};

/*
 * devices_resolve - the devices to open
 *
 * In:      n_cuda: gpu_cuda_count(). Where it is 0, "cuda" stays as it is, for gpu_open() to say
 *          why
 * Returns: 0; ERR_INPUT, ERR_LIMIT with where = "device.use"
 */
MUST_CHECK int devices_resolve(struct devices *d, const char *use, int n_cuda, struct err *err);

/* Adds a device, unless it is there. Returns 0; ERR_LIMIT. */
MUST_CHECK int devices_add(struct devices *d, const char *name, bool needed, struct err *err);
