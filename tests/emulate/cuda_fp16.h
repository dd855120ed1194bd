/*
 * cuda_fp16.h - halves, as the picture's kernel and the state's repacking use them
 */
#pragma once

#include <string.h>

typedef struct {
    unsigned short x;
} __half_raw;

#ifdef __cplusplus
typedef _Float16 __half;

static inline __half __float2half_rn(float f)
{
    return (_Float16)f;
}

static inline float __half2float(__half h)
{
    return (float)h;
}

static inline unsigned short __half_as_ushort(__half h)
{
    unsigned short bits;
    memcpy(&bits, &h, sizeof bits);
    return bits;
}
#endif
