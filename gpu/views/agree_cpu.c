#include "gpu/views/agree_point.h"

static void count(struct views *v, int from, int to)
{
    struct rigid T = rigid_mul(&v->kept[to].camera.T_cw, &v->kept[from].camera.T_wc);
    uint8_t *agree = v->agree + views_at(v, from);

    for (uint32_t i = 0; i < v->n_pixels; i++)
        v->kept[from].n_confirmed +=
            (uint32_t)agree_count(&agree[i], agree_pixel(v, from, to, &T, i));
}

void agree_own_cpu(struct views *v)
{
    if (v->plan.swept < 0)
        return;
    memset(v->agree + views_at(v, v->plan.swept), 0, v->n_pixels);
    for (int j = 0; j < VIEWS_KEPT; j++)
        if (agree_is_other(v, j))
            count(v, v->plan.swept, j);
}

void agree_cpu(struct views *v)
{
    agree_own_cpu(v);
    for (int j = 0; j < VIEWS_KEPT && v->plan.swept >= 0; j++)
        if (agree_is_other(v, j))
            count(v, j, v->plan.swept);
}
