#include "daemon/work/pipeline_mono.h"

int pipeline_mono(struct gpu *g, struct gpu_item *const *items, int n, struct err *err)
{
    return gpu_submit(g, &gpu_line_mono, items, n, err);
}
