/*
 * recogniser_none.c - stands in for CUDA's part of the recogniser in a build without it
 */
#include "gpu/recognise/recogniser_back.h"

#include <stddef.h>

const struct recogniser_back *const recogniser_cuda = NULL;
