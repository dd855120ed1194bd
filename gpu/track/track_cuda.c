#include "gpu/track/track_cuda.h"

int track_cuda_run(const struct track_batch *b, struct err *err)
{
    int rc = pyramid_cuda(b, err);

    if (rc == 0)
        rc = klt_cuda(b, err);
    return rc ? rc : corner_cuda(b, err);
}
