/*
 * half_cuda.h - __half in C too: NVIDIA's header names the type in C++ alone, and C files only pass
 * pointers to it
 */
#pragma once

#include <cuda_fp16.h>

#ifndef __cplusplus
typedef __half_raw __half;
#endif
