#include "gpu/views/contrast_point.h"
#include "gpu/views/pose_check_point.h"

static struct plan_sight plan_look(const struct views *v, const float z[VIEWS_GRID], float median_m,
                                   const struct views_camera *view,
                                   const struct views_camera *other)
{
    const struct plan_between between = plan_between(view, other);
    float sines[VIEWS_GRID];

    for (int i = 0; i < VIEWS_GRID; i++)
        sines[i] = plan_sine(v, i, z[i], median_m, view, other, &between);
    return plan_sight(sines);
}

/* Samples a keyframe's single-view depth, and how every other keyframe sees the samples. */
static void look_from(struct plan_sight sight[VIEWS_KEPT], const struct views *v,
                      const float z[VIEWS_GRID], float median_m, const struct views_camera *view)
{
    for (int j = 0; j < VIEWS_KEPT; j++) {
        const struct views_camera *other = &v->kept[j].camera;
        const struct plan_between between = plan_between(view, other);
        sight[j] = plan_is_kept(v, j) && plan_faces(v, &between)
                       ? plan_look(v, z, median_m, view, other)
                       : (struct plan_sight){0.0f, 0.0f};
    }
}

static void look_from_kept(struct plan_sight sight[VIEWS_KEPT], const struct views *v, int place)
{
    const struct views_kept *k = &v->kept[place];
    float z[VIEWS_GRID];

    for (int i = 0; i < VIEWS_GRID; i++)
        z[i] = views_decode(v->single[views_at(v, place) + plan_pixel(i, v->w, v->h)]);
    look_from(sight, v, z, k->median_m, &k->camera);
}

static void choose_sources(struct views *v, const struct plan_sight *sight)
{
    struct views_plan *p = &v->plan;
    float worth[VIEWS_KEPT];

    for (int j = 0; j < VIEWS_KEPT; j++)
        worth[j] = plan_worth(v, j, &sight[j]);
    while (p->n_sources < VIEWS_SOURCES) {
        int best = 0;
        for (int j = 1; j < VIEWS_KEPT; j++)
            if (worth[j] > worth[best])
                best = j;
        if (!(worth[best] > 0.0f))
            break;
        p->source[p->n_sources] = best;
        p->pose[p->n_sources++] = plan_pose(v, best);
        for (int j = 0; j < VIEWS_KEPT; j++)
            worth[j] = plan_worth_left(v, j, best, worth[j]);
    }
}

static void choose_pool(struct views *v, const struct plan_sight *sight, int target)
{
    struct views_plan *p = &v->plan;
    float share[VIEWS_KEPT];

    for (int j = 0; j < VIEWS_KEPT; j++)
        share[j] = plan_share(v, j, target, &sight[j]);
    while (p->n_pool[target] < VIEWS_POOL) {
        int best = 0;
        for (int j = 1; j < VIEWS_KEPT; j++)
            if (share[j] > share[best] ||
                (share[j] == share[best] && v->kept[j].index > v->kept[best].index))
                best = j;
        if (!(share[best] > 0.0f))
            break;
        p->pool[target][p->n_pool[target]++] = best;
        share[best] = 0.0f;
    }
}

static void plan_keep(struct views *v, const struct views_frame *f)
{
    size_t at = views_at(v, v->plan.taken);

    memcpy(v->grey + at, v->grey_now, v->n_pixels);
    memcpy(v->rgb + 3 * at, f->rgb, 3 * (size_t)v->n_pixels);
    memset(v->own + at, 0, v->n_pixels * sizeof *v->own);
    memset(v->agree + at, 0, v->n_pixels);
    for (uint32_t i = 0; i < v->n_pixels; i++)
        v->single[at + i] = views_code(f->depth[i]);
    for (uint32_t i = 0; i < v->n_pixels; i++)
        v->contrast[at + i] =
            contrast_at(&v->params, f->level, v->w, v->h, (int)i % v->w, (int)i / v->w);
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
        now[i] = pose_check_level(v, f, i);
    pose_check_still(v, now);
    for (uint32_t i = 0; i < v->n_pixels; i++)
        v->grey_now[i] = views_grey(f->rgb + 3 * (size_t)i);
    if (v->plan.taken >= 0)
        plan_keep(v, f);
    look_from(sight, v, z, v->plan.median_m, &v->plan.camera);
    choose_pool(v, sight, VIEWS_FRAME);
    if (v->plan.final >= 0) {
        look_from_kept(sight, v, v->plan.final);
        choose_pool(v, sight, VIEWS_FINAL);
    }
    if (v->plan.swept >= 0) {
        look_from_kept(sight, v, v->plan.swept);
        choose_sources(v, sight);
    }
}
