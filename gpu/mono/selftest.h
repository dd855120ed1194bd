/*
 * selftest.h - does a back end compute here what the CPU computes? It is asked once, before `auto`
 * takes it
 */
#ifndef RECOND_GPU_SELFTEST_H
#define RECOND_GPU_SELFTEST_H

#include "gpu/gpu.h"

/*
 * selftest_run - a few frames of a drawn scene through all stages but the networks, on g and on the
 * CPU back end
 *
 * Returns: 0: counts and changed points agree; ERR_UNSUPPORTED: they do not, err says where;
 *          ERR_MEMORY, ERR_DEVICE
 */
MUST_CHECK int selftest_run(struct gpu *g, struct gpu *cpu, struct err *err);

#endif
