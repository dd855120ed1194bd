/* fusion_case.h - a rig of sessions on CUDA (fusion_cuda.h), for one test program */
#ifndef RECOND_TESTS_SUPPORT_FUSION_CASE_H
#define RECOND_TESTS_SUPPORT_FUSION_CASE_H

#include "tests/support/fusion_cuda.h"
#include "tests/support/gpu_case.h"

/* A tentative definition: in a build with CUDA the linker takes that of fusion_cuda.cu. */
const struct fusion_api *fusion_cuda __attribute__((common));

static inline struct fusion_rig *fusion_case_open(const struct gpu_session_config *c, int n)
{
    struct fusion_rig *r;
    struct err err = {0};

    gpu_case_need(fusion_cuda ? fusion_cuda->open(&r, c, n, &err)
                              : err_set(&err, ERR_UNSUPPORTED, "this build has no CUDA"),
                  &err);
    return r;
}

#endif
