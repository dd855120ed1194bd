#include "gpu/views/fine_point.h"

void fine_cpu(struct views *v)
{
    agree_own_cpu(v);
    fine_decide(v, fine_is_wanted(v));
    if (!v->plan.fine)
        return;
    field_guide_cpu(v);
    sweep_fine_cpu(v);
}
