#include "gpu/views/tell_point.h"

/* Samples of a keyframe's single-view depth, and how every other one sees them. */
static void look_from(struct plan_sight sight[VIEWS_KEPT], const struct views *v,
                      const float z[VIEWS_GRID], float median_m, const struct views_camera *view)
{
    for (int j = 0; j < VIEWS_KEPT; j++)
        sight[j] = plan_is_kept(v, j) ? plan_look(v, z, median_m, view, &v->kept[j].camera)
                                      : (struct plan_sight){0.0f, 0.0f};
}

static void look_from_kept(struct plan_sight sight[VIEWS_KEPT], const struct views *v, int place)
{
    const struct views_kept *k = &v->kept[place];
    float z[VIEWS_GRID];

    for (int i = 0; i < VIEWS_GRID; i++)
        z[i] = views_decode(v->single[views_at(v, place) + plan_pixel(i, v->w, v->h)]);
    look_from(sight, v, z, k->median_m, &k->camera);
}

static void keep(struct views *v, const struct views_frame *f)
{
    size_t at = views_at(v, v->plan.taken);

    memcpy(v->grey + at, v->grey_now, v->n_pixels);
    memcpy(v->rgb + 3 * at, f->rgb, 3 * (size_t)v->n_pixels);
    memset(v->own + at, 0, v->n_pixels * sizeof *v->own);
    memset(v->agree + at, 0, v->n_pixels);
    for (uint32_t i = 0; i < v->n_pixels; i++)
        v->single[at + i] = views_code(f->depth[i]);
}

void plan_cpu(struct views *v, const struct views_frame *f)
{
    struct plan_sight sight[VIEWS_KEPT];
    float z[VIEWS_GRID];
    uint8_t now[VIEWS_GRID];
    int n;

    plan_begin(v, f);
    v->plan.camera = views_camera_make(&f->T_wc, f->K);
    for (int i = 0; i < VIEWS_GRID; i++)
        z[i] = f->depth[plan_pixel(i, v->w, v->h)];
    n = plan_count(z);
    for (int i = 0; i < VIEWS_GRID; i++)
        plan_quantile(&v->plan, z, i, n);
    plan_decide(v);
    for (int i = 0; i < VIEWS_GRID; i++)
        now[i] = tell_level(v, f, i);
    tell_still(v, now);
    for (uint32_t i = 0; i < v->n_pixels; i++)
        v->grey_now[i] = views_grey(f->rgb + 3 * (size_t)i);
    if (v->plan.taken >= 0)
        keep(v, f);
    look_from(sight, v, z, v->plan.median_m, &v->plan.camera);
    plan_pool(v, sight, VIEWS_FRAME);
    if (v->plan.final >= 0) {
        look_from_kept(sight, v, v->plan.final);
        plan_pool(v, sight, VIEWS_FINAL);
    }
    if (v->plan.swept >= 0) {
        look_from_kept(sight, v, v->plan.swept);
        plan_sources(v, sight);
    }
}
