#include "gpu/views/agree_point.h"

/* Returns how many pixels of a row keyframe `to` confirms. */
static uint32_t count_row(const struct views *v, int from, int to, const struct rigid *T, int y)
{
    uint8_t *agree = v->agree + views_at(v, from);
    uint32_t first = (uint32_t)y * (uint32_t)v->w, n = 0;

    for (uint32_t i = first; i < first + (uint32_t)v->w; i++)
        n += (uint32_t)agree_count(v, &agree[i], agree_pixel(v, from, to, T, i));
    return n;
}

static struct rigid agree_between(const struct views *v, int from, int to)
{
    return rigid_mul(&v->kept[to].camera.T_cw, &v->kept[from].camera.T_wc);
}

/* Each row is compared with all other keyframes in turn. */
void agree_own_cpu(struct views *v)
{
    int swept = v->plan.swept;
    struct rigid T[VIEWS_KEPT];
    uint32_t n = 0;

    if (swept < 0)
        return;
    memset(v->agree + views_at(v, swept), 0, v->n_pixels);
    for (int j = 0; j < VIEWS_KEPT; j++)
        T[j] = agree_between(v, swept, j);
#pragma omp parallel for schedule(static) reduction(+ : n)
    for (int y = 0; y < v->h; y++)
        for (int j = 0; j < VIEWS_KEPT; j++)
            if (agree_is_other(v, j))
                n += count_row(v, swept, j, &T[j], y);
    v->kept[swept].n_confirmed += n;
}

void agree_cpu(struct views *v)
{
    int swept = v->plan.swept;

    agree_own_cpu(v);
    if (swept < 0)
        return;
#pragma omp parallel for schedule(dynamic)
    for (int j = 0; j < VIEWS_KEPT; j++) {
        if (!agree_is_other(v, j))
            continue;
        struct rigid T = agree_between(v, j, swept);
        uint32_t n = 0;
        for (int y = 0; y < v->h; y++)
            n += count_row(v, j, swept, &T, y);
        v->kept[j].n_confirmed += n;
    }
}
