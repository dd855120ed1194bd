/*
 * fuzz_case.h - a fuzz target: what it is called by, and check(), which ends it
 */
#ifndef RECOND_TESTS_SUPPORT_FUZZ_CASE_H
#define RECOND_TESTS_SUPPORT_FUZZ_CASE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void check(bool ok)
{
    if (!ok)
        abort();
}

#endif
