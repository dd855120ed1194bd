/*
 * plan_cpu.c - models of the CPU back end: weights once, a plan for each input size, shared by
 * sessions
 *
 * Plans stay after their last session, so that the next one of that size starts at once; beyond
 * PLANS_IDLE of them the one used longest ago is freed, so that odd sizes cannot pile up.
 */
#include "gpu/mono/session_cpu.h"

#include <stdio.h>
#include <stdlib.h>

#define PLANS_IDLE 2

static struct gpu_cpu *device_of(struct model_cpu *m)
{
    return (struct gpu_cpu *)m->base.gpu;
}

static void plan_free(struct model_cpu *m, struct plan_cpu **link)
{
    struct plan_cpu *plan = *link;
    *link = plan->next;
    device_of(m)->used_bytes -= plan->bytes;
    net_dnnl_free(&plan->exec);
    free(plan);
}

/* Depth maps come out as [1][1][h][w], motions as six values. */
static int check_shape(const struct model_cpu *m, int w, int h, struct err *err)
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

static int plan_new(struct plan_cpu **out, struct model_cpu *m, int w, int h, struct err *err)
{
    struct plan_cpu *plan = calloc(1, sizeof *plan);
    struct net_limits limits;
    int rc;

    if (!plan)
        return err_set(err, ERR_MEMORY, "no memory for a plan");
    net_limits_default(&limits);
    rc = check_shape(m, w, h, err);
    if (rc == 0)
        rc = net_dnnl_new(&plan->exec, m->net, 1, h, w, &limits, err);
    if (rc) {
        free(plan);
        return rc;
    }
    plan->w = w;
    plan->h = h;
    plan->bytes = net_dnnl_bytes(plan->exec);
    device_of(m)->used_bytes += plan->bytes;
    plan->next = m->plans;
    m->plans = plan;
    *out = plan;
    return 0;
}

int plan_cpu_get(struct plan_cpu **out, struct model_cpu *m, int w, int h, struct err *err)
{
    struct plan_cpu *plan = m->plans;
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

void plan_cpu_put(struct model_cpu *m, struct plan_cpu *plan)
{
    struct plan_cpu **oldest = NULL;
    int idle = 0;
    plan->users--;
    plan->used = ++device_of(m)->clock;
    for (struct plan_cpu **link = &m->plans; *link; link = &(*link)->next) {
        if ((*link)->users)
            continue;
        idle++;
        if (!oldest || (*link)->used < (*oldest)->used)
            oldest = link;
    }
    if (idle > PLANS_IDLE)
        plan_free(m, oldest);
}

int plan_cpu_model_open(struct gpu_model **out, struct gpu *g, const struct gpu_model_info *info,
                        struct err *err)
{
    struct model_cpu *m = calloc(1, sizeof *m);
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
    m->bytes = net_weight_count(m->net) * sizeof(float);
    device_of(m)->used_bytes += m->bytes;
    *out = &m->base;
    return 0;
}

void plan_cpu_model_close(struct gpu_model *base)
{
    struct model_cpu *m = (struct model_cpu *)base;
    while (m->plans)
        plan_free(m, &m->plans);
    device_of(m)->used_bytes -= m->bytes;
    net_free(&m->net);
    free(m);
}
