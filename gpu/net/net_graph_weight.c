#include "gpu/net/net_graph.h"

#include <math.h>

size_t net_graph_weight_count(const struct net_graph *g, const struct net_step *s)
{
    return g->net->consts[s->weight].count;
}

int net_graph_weight(const struct net_graph *g, const struct net_step *s, float *w, size_t count,
                     struct err *err)
{
    const struct net_const *c = &g->net->consts[s->weight];
    size_t in = (size_t)g->tensors[s->src[0]].d[1] / (size_t)s->group;
    size_t out = (size_t)g->tensors[s->dst].d[1] / (size_t)s->group;
    size_t area = (size_t)s->win.k[0] * (size_t)s->win.k[1], at = 0;
    int swapped = s->kind == NET_STEP_DECONV || s->transposed; /* input channels come first */
    if (count != c->count || count != (size_t)s->group * in * out * area)
        return net_op_fail(err, ERR_INPUT, s->node, "%zu weights", c->count);
    for (size_t gr = 0; gr < (size_t)s->group; gr++)
        for (size_t o = 0; o < out; o++) {
            float scale = s->scale ? s->scale[gr * out + o] : 1;
            for (size_t i = 0; i < in; i++)
                for (size_t k = 0; k < area; k++, at++) {
                    size_t from = swapped ? ((gr * in + i) * out + o) * area + k : at;
                    w[at] = (float)net_op_value(c, from) * scale;
                    if (!isfinite(w[at]))
                        return net_op_fail(err, ERR_INPUT, s->node, "weight %zu is not finite",
                                           from);
                }
        }
    return 0;
}
