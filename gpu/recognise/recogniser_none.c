/*
 * recogniser_none.c - stands in for recogniser_cuda.c in a build without CUDA
 */
#include "gpu/recognise/recogniser_back.h"

#include <stddef.h>

const struct recogniser_back *const recogniser_cuda = NULL;
