/*
 * wide_cpu.h - vectors of 32 bytes, where the processor has them
 *
 * A function marked WIDE_CPU_FN is compiled for AVX2, with all that it calls, and may be called
 * only if wide_cpu_has() returns 1. AVX2 fuses no multiplication with an addition, so the results
 * have the same bits as without the mark.
 */
#pragma once

#if defined(__x86_64__)

#define WIDE_CPU_FN __attribute__((target("avx2"), flatten))

static inline int wide_cpu_has(void)
{
    return __builtin_cpu_supports("avx2") != 0;
}

#else

#define WIDE_CPU_FN

static inline int wide_cpu_has(void)
{
    return 0;
}

#endif
