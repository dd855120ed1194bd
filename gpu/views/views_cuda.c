#include "gpu/views/views_cuda.h"

int views_cuda_run(const struct views_batch *b, struct err *err)
{
    int rc = plan_cuda(b, err);

    if (rc == 0)
        rc = sweep_cuda(b, err);
    if (rc == 0 && b->refines)
        rc = refine_cuda(b, err);
    if (rc == 0)
        rc = agree_cuda_own(b, err);
    if (rc == 0)
        rc = field_cuda_guide(b, err);
    if (rc == 0)
        rc = sweep_cuda_fine(b, err);
    if (rc == 0)
        rc = agree_cuda(b, err);
    if (rc == 0)
        rc = draw_cuda(b, err);
    return rc ? rc : field_cuda(b, err);
}
