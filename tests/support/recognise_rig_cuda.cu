#include "tests/support/recognise_rig_cuda.h"

static const struct recognise_rig_api api = {recognise_cuda_open, recognise_cuda_close,
                                             recognise_cuda_run, recognise_cuda_get};

const struct recognise_rig_api *recognise_rig_cuda = &api;
