/*
 * Merging steps. Each pass is one sweep in order of execution; a step that was merged becomes
 * NET_STEP_NONE and its tensor is never written.
 */
#include "gpu/net/net_graph.h"

#include <string.h>

struct uses {
    int count;    /* readers, the output counts as one */
    int reader;   /* one of them */
    int producer; /* step, -1 = the input */
};

static void count_uses(const struct net_graph *g, struct uses *u)
{
    for (int t = 0; t < g->n_tensors; t++)
        u[t] = (struct uses){0, -1, -1};
    for (int i = 0; i < g->n_steps; i++) {
        const struct net_step *s = &g->steps[i];
        if (s->kind == NET_STEP_NONE)
            continue;
        u[s->dst].producer = i;
        for (int k = 0; k < s->n_src; k++) {
            u[s->src[k]].count++;
            u[s->src[k]].reader = i;
        }
        if (s->residual >= 0) {
            u[s->residual].count++;
            u[s->residual].reader = i;
        }
    }
    u[g->output].count++;
}

/* Removes steps that the output does not need, for instance a branch of another output. */
static void drop_unused(struct net_graph *g, struct uses *u)
{
    count_uses(g, u);
    for (int i = g->n_steps - 1; i >= 0; i--) {
        struct net_step *s = &g->steps[i];
        if (s->kind == NET_STEP_NONE || u[s->dst].count)
            continue;
        for (int k = 0; k < s->n_src; k++)
            u[s->src[k]].count--;
        s->kind = NET_STEP_NONE;
    }
}

static int is_conv(const struct net_step *s)
{
    return s->kind == NET_STEP_CONV || s->kind == NET_STEP_DECONV;
}

static int same_shape(const struct net_graph *g, int a, int b)
{
    return !memcmp(g->tensors[a].d, g->tensors[b].d, sizeof g->tensors[a].d);
}

/* scale (W x) + bias, then a y + b: (a scale) (W x) + (a bias + b) */
static int merge_affine(struct net_graph *g, struct net_step *conv, const struct net_step *affine)
{
    size_t channels = (size_t)g->tensors[conv->dst].d[1];
    int had_bias = conv->bias != NULL, had_scale = conv->scale != NULL;
    if (!conv->scale)
        conv->scale = net_mem_get(&g->mem, channels, sizeof(float));
    if (!conv->bias)
        conv->bias = net_mem_get(&g->mem, channels, sizeof(float));
    if (!conv->scale || !conv->bias)
        return -1;
    for (size_t c = 0; c < channels; c++) {
        conv->scale[c] = (had_scale ? conv->scale[c] : 1) * affine->scale[c];
        conv->bias[c] = (had_bias ? conv->bias[c] : 0) * affine->scale[c] + affine->bias[c];
    }
    return 0;
}

/* Executors apply the activation of these steps in the same pass, behind the residual. */
static int takes_act(const struct net_step *s)
{
    return (is_conv(s) || s->kind == NET_STEP_BINARY) && s->act.kind == NET_ACT_NONE;
}

/* Merges step j, the only reader of step i's result, into i if they fit. Returns 1: merged; 0: they
 * do not fit; -1: no memory. */
static int merge(struct net_graph *g, int i, int j, const struct uses *u)
{
    struct net_step *s = &g->steps[i], *next = &g->steps[j];
    if (is_conv(s) && s->act.kind == NET_ACT_NONE && s->residual < 0) {
        if (next->kind == NET_STEP_AFFINE && same_shape(g, s->dst, next->dst))
            return merge_affine(g, s, next) ? -1 : 1;
        if (next->kind == NET_STEP_BINARY && next->binary == NET_ADD && s->kind == NET_STEP_CONV) {
            int other = next->src[next->src[0] == s->dst];
            /* the other operand must have been computed when the convolution runs */
            if (other == s->dst || !same_shape(g, other, s->dst) || u[other].producer > i)
                return 0;
            s->residual = other;
            s->act = next->act;
            return 1;
        }
    }
    if (takes_act(s) && next->kind == NET_STEP_ACT) {
        s->act = next->act;
        return 1;
    }
    return 0;
}

static void pad_into_conv(struct net_step *pad, struct net_step *conv)
{
    for (int a = 0; a < 2; a++) {
        conv->win.lo[a] += pad->win.lo[a];
        conv->win.hi[a] += pad->win.hi[a];
    }
    conv->src[0] = pad->src[0];
    pad->kind = NET_STEP_NONE;
}

int net_graph_fuse(struct net_graph *g, struct err *err)
{
    struct uses *u = net_mem_get(&g->mem, (size_t)g->n_tensors, sizeof *u);
    if (!u)
        return err_set(err, ERR_MEMORY, "no memory for a plan");
    drop_unused(g, u);
    for (int i = 0; i < g->n_steps; i++) {
        for (;;) {
            struct net_step *s = &g->steps[i];
            int j, merged;
            count_uses(g, u);
            if (s->kind == NET_STEP_NONE || u[s->dst].count != 1 || s->dst == g->output)
                break;
            j = u[s->dst].reader;
            if (s->zero_pad && g->steps[j].kind == NET_STEP_CONV) {
                pad_into_conv(s, &g->steps[j]);
                break;
            }
            merged = merge(g, i, j, u);
            if (merged < 0)
                return err_set(err, ERR_MEMORY, "no memory for a plan");
            if (!merged)
                break;
            s->dst = g->steps[j].dst;
            g->steps[j].kind = NET_STEP_NONE;
        }
    }
    return 0;
}
