/*
 * crc32c_cpu.h - the processor's instruction for CRC-32C, chosen by architecture; for crc32c.c
 * alone
 *
 * crc32c_cpu_has() tells whether the processor has the instruction; crc32c_cpu() may be called only
 * then. It works on the inverted sum: the caller inverts before and after.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)

static inline bool crc32c_cpu_has(void)
{
    return __builtin_cpu_supports("sse4.2");
}

#define CRC32C_CPU_FN __attribute__((target("sse4.2")))
#define CRC32C_CPU_U64(crc, v) ((uint32_t)__builtin_ia32_crc32di(crc, v))
#define CRC32C_CPU_U8(crc, v) __builtin_ia32_crc32qi(crc, v)

#elif defined(__aarch64__)

#include <sys/auxv.h>

static inline bool crc32c_cpu_has(void)
{
    return (getauxval(AT_HWCAP) & (1u << 7)) != 0; /* HWCAP_CRC32 */
}

#define CRC32C_CPU_FN __attribute__((target("+crc")))
#define CRC32C_CPU_U64(crc, v) __builtin_aarch64_crc32cx(crc, v)
#define CRC32C_CPU_U8(crc, v) __builtin_aarch64_crc32cb(crc, v)

#else

static inline bool crc32c_cpu_has(void)
{
    return false;
}

#define CRC32C_CPU_FN
#define CRC32C_CPU_U64(crc, v) ((void)(v), crc)
#define CRC32C_CPU_U8(crc, v) ((void)(v), crc)

#endif

CRC32C_CPU_FN static inline uint32_t crc32c_cpu(uint32_t crc, const uint8_t *p, size_t len)
{
    uint64_t v;

    for (; len >= 8; len -= 8, p += 8) {
        memcpy(&v, p, 8);
        crc = CRC32C_CPU_U64(crc, v);
    }
    for (; len; len--, p++)
        crc = CRC32C_CPU_U8(crc, *p);
    return crc;
}
