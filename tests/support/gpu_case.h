/*
 * gpu_case.h - a device, its sessions and their batches, for tests that are about something else:
 * a failure of these fails the test, and where there is no such device it is skipped
 */
#ifndef RECOND_TESTS_SUPPORT_GPU_CASE_H
#define RECOND_TESTS_SUPPORT_GPU_CASE_H

#include "gpu/gpu.h"
#include "tests/support/unit.h"

#include <string.h>

/* rc of what opens something on a device. */
static inline void gpu_case_need(int rc, const struct err *err)
{
    if (rc)
        print_message("# %s%s\n", rc == ERR_UNSUPPORTED ? "hardware: " : "", err->text);
    if (rc == ERR_UNSUPPORTED)
        skip();
    assert_int_equal(rc, 0);
}

static inline void gpu_case_need_cuda(void)
{
    if (gpu_cuda_count() == 0) {
        print_message("# hardware: no CUDA device, or a build without CUDA\n");
        skip();
    }
}

static inline struct gpu *gpu_case_open(const struct gpu_config *config)
{
    struct gpu *g = NULL;
    struct err err = {0};

    if (strcmp(config->device, "cpu"))
        gpu_case_need_cuda();
    if (gpu_open(&g, config, &err))
        fail_msg("%s", err.text);
    return g;
}

static inline struct gpu_session *gpu_case_session(struct gpu *g,
                                                   const struct gpu_session_config *c)
{
    struct gpu_session *s;
    struct err err = {0};

    if (gpu_session_new(&s, g, c, &err))
        fail_msg("%s: %s", err.where, err.text);
    return s;
}

static inline struct gpu_model *gpu_case_model(struct gpu *g, const struct gpu_model_info *info)
{
    struct gpu_model *m = NULL;
    struct err err = {0};

    if (gpu_model_open(&m, g, info, &err))
        fail_msg("%s: %s", err.where, err.text);
    return m;
}

/* A batch of n of one line, until it is done. */
static inline void gpu_case_run(struct gpu *g, const struct gpu_line *line, struct gpu_item **items,
                                int n)
{
    struct err err = {0};

    if (gpu_submit(g, line, items, n, &err) || gpu_wait(g, items, n, &err))
        fail_msg("%s", err.text);
}

#endif
