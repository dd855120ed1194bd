#include "gpu/views/draw_point.h"

static void draw_front(struct views_target *t, const struct views *v, const struct draw_source *s)
{
    uint32_t at;
    float z;

    for (uint32_t i = 0; i < v->n_pixels; i++)
        if (draw_pixel(s, v->w, v->h, i, &at, &z) && power_bits(z) < t->front[at])
            t->front[at] = power_bits(z);
}

static void draw_sum(struct views_target *t, const struct views *v, const struct draw_source *s)
{
    uint32_t at;
    float z;

    for (uint32_t i = 0; i < v->n_pixels; i++)
        if (draw_pixel(s, v->w, v->h, i, &at, &z) && draw_is_front(v, t->front[at], z)) {
            uint32_t w = draw_weight(s->agree[i]);
            t->weight[at] += w;
            t->sum[at] += draw_term(w, z);
        }
}

static void draw_draw(struct views *v, int target)
{
    struct views_target *t = &v->target[target];

    memset(t->front, 0xff, v->n_pixels * sizeof *t->front);
    memset(t->weight, 0, v->n_pixels * sizeof *t->weight);
    memset(t->sum, 0, v->n_pixels * sizeof *t->sum);
    for (int i = 0; i < draw_count(v, target); i++) {
        struct draw_source s = draw_source_of(v, target, i);
        draw_front(t, v, &s);
    }
    for (int i = 0; i < draw_count(v, target); i++) {
        struct draw_source s = draw_source_of(v, target, i);
        draw_sum(t, v, &s);
    }
}

void draw_cpu(struct views *v)
{
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < VIEWS_TARGETS; i++)
        if (draw_is_wanted(v, i))
            draw_draw(v, i);
}
