/*
 * plan_cuda.c - models of the CUDA back end: the file once, a network for each input size, shared
 * by sessions
 *
 * Networks stay after their last session, so that the next one of that size starts at once; beyond
 * PLANS_IDLE of them the one used longest ago is freed, so that odd sizes cannot pile up.
 */
#include "gpu/base/plan_cuda.h"

#include <stdlib.h>
#include <string.h>

#define PLANS_IDLE 2

static void plan_free(struct plan_cuda **link)
{
    struct plan_cuda *plan = *link;
    *link = plan->next;
    net_cuda_free(&plan->exec);
    free(plan);
}

/* Depth maps come out as [1][1][h][w], motions as six values. */
static int check_shape(const struct model_cuda *m, int w, int h, struct err *err)
{
    int shape[4], rc = net_output_shape(m->net, 1, h, w, shape, err);
    int depth = m->base.info.kind == GPU_MODEL_DEPTH;
    if (rc)
        return rc;
    if (depth ? shape[1] == 1 && shape[2] == h && shape[3] == w
              : shape[1] * shape[2] * shape[3] == 6)
        return 0;
    return err_at(err, ERR_UNSUPPORTED, m->base.info.name,
                  "for an input of %dx%d the network answers %dx%dx%d, expected %s", w, h, shape[1],
                  shape[2], shape[3], depth ? "one value a pixel" : "six values");
}

static int plan_new(struct plan_cuda **out, struct model_cuda *m, int w, int h, struct err *err)
{
    struct gpu_cuda *g = gpu_cuda_of(m->base.gpu);
    struct net_cuda_config config = {h, w, g->batch, g->cache_path, 1, {0}};
    struct plan_cuda *plan = (struct plan_cuda *)calloc(1, sizeof *plan);
    int rc;

    if (!plan)
        return err_set(err, ERR_MEMORY, "no memory for a plan");
    net_limits_default(&config.limits);
    rc = check_shape(m, w, h, err);
    if (rc == 0)
        rc = net_cuda_new(&plan->exec, m->net, &config, g->setup, err);
    if (rc) {
        free(plan);
        return rc;
    }
    plan->w = w;
    plan->h = h;
    plan->next = m->plans;
    m->plans = plan;
    *out = plan;
    return 0;
}

int plan_cuda_get(struct plan_cuda **out, struct model_cuda *m, int w, int h, struct err *err)
{
    struct plan_cuda *plan = m->plans;
    int rc = 0;
    while (plan && (plan->w != w || plan->h != h))
        plan = plan->next;
    if (!plan)
        rc = plan_new(&plan, m, w, h, err);
    if (rc)
        return rc;
    plan->users++;
    *out = plan;
    return 0;
}

void plan_cuda_put(struct model_cuda *m, struct plan_cuda *plan)
{
    struct plan_cuda **oldest = NULL;
    int idle = 0;
    plan->users--;
    plan->used = ++gpu_cuda_of(m->base.gpu)->clock;
    for (struct plan_cuda **link = &m->plans; *link; link = &(*link)->next) {
        if ((*link)->users)
            continue;
        idle++;
        if (!oldest || (*link)->used < (*oldest)->used)
            oldest = link;
    }
    if (idle > PLANS_IDLE)
        plan_free(oldest);
}

int plan_cuda_model_open(struct gpu_model **out, struct gpu *g, const struct gpu_model_info *info,
                         struct err *err)
{
    struct model_cuda *m = (struct model_cuda *)calloc(1, sizeof *m);
    struct net_limits limits;
    int rc, channels = info->kind == GPU_MODEL_DEPTH ? 3 : info->rays ? 8 : 6;

    *out = NULL;
    if (!m)
        return err_set(err, ERR_MEMORY, "no memory for a model");
    m->base.gpu = g;
    m->base.info = *info;
    net_limits_default(&limits);
    rc = net_load(&m->net, info->path, info->input, info->output_name, &limits, err);
    if (rc == 0 && net_input_channels(m->net) != channels)
        rc = err_at(err, ERR_UNSUPPORTED, info->name, "the network takes %d planes, expected %d",
                    net_input_channels(m->net), channels);
    if (rc) {
        net_free(&m->net);
        free(m);
        return rc;
    }
    *out = &m->base;
    return 0;
}

void plan_cuda_model_close(struct gpu_model *base)
{
    struct model_cuda *m = (struct model_cuda *)base;
    line_cuda_forget(gpu_cuda_of(base->gpu), m);
    while (m->plans)
        plan_free(&m->plans);
    net_free(&m->net);
    free(m);
}
