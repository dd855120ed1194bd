#include "gpu/base/network.h"

#include <stdlib.h>

struct key {
    struct network_model *model;
    int w, h;
};

static int same(const struct shared *s, const void *key)
{
    const struct network *n = (const struct network *)s;
    const struct key *k = key;

    return n->w == k->w && n->h == k->h;
}

/* Depth maps come out as [1][1][h][w], motions as six values. */
static int check_shape(const struct network_model *m, int w, int h, struct err *err)
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

static int network_make_one(struct shared **out, const void *key, struct err *err)
{
    const struct key *k = key;
    struct gpu *g = k->model->base.gpu;
    struct network *n = calloc(1, sizeof *n);
    int rc;

    if (!n)
        return err_set(err, ERR_MEMORY, "no memory for a network");
    n->model = k->model;
    n->w = k->w;
    n->h = k->h;
    rc = check_shape(k->model, k->w, k->h, err);
    if (rc == 0)
        rc = g->ops->network_make(&n->exec, &n->bytes, g, k->model->net, k->w, k->h, err);
    if (rc) {
        free(n);
        return rc;
    }
    g->used_bytes += n->bytes;
    *out = &n->shared;
    return 0;
}

static void free_network(struct shared *s)
{
    struct network *n = (struct network *)s;
    struct gpu *g = n->model->base.gpu;

    g->used_bytes -= n->bytes;
    g->ops->network_free(n->exec);
    free(n);
}

int network_get(struct network **n, struct gpu_model *base, int w, int h, struct err *err)
{
    struct network_model *m = (struct network_model *)base;
    const struct key key = {m, w, h};
    struct shared *s = NULL;
    int rc = m ? shared_get(&s, &m->networks, &key, err) : 0;

    *n = (struct network *)s;
    return rc;
}

void network_put(struct network *n)
{
    if (n)
        shared_put(&n->model->networks, &n->shared);
}

int network_model_open(struct gpu_model **out, struct gpu *g, const struct gpu_model_info *info,
                       struct err *err)
{
    struct network_model *m = calloc(1, sizeof *m);
    int rc, channels = info->kind == GPU_MODEL_DEPTH ? 3 : info->rays ? 8 : 6;

    *out = NULL;
    if (!m)
        return err_set(err, ERR_MEMORY, "no memory for a model");
    m->base.gpu = g;
    m->base.info = *info;
    m->networks =
        (struct shared_list){.same = same, .make = network_make_one, .free = free_network};
    rc = net_load(&m->net, info->path, info->input, info->output_name, NULL, err);
    if (rc == 0 && net_input_channels(m->net) != channels)
        rc = err_at(err, ERR_UNSUPPORTED, info->name, "the network takes %d planes, expected %d",
                    net_input_channels(m->net), channels);
    if (rc) {
        net_free(&m->net);
        free(m);
        return rc;
    }
    m->bytes = net_weight_count(m->net) * sizeof(float);
    g->used_bytes += m->bytes;
    *out = &m->base;
    return 0;
}

void network_model_close(struct gpu_model *base)
{
    struct network_model *m = (struct network_model *)base;

    shared_free(&m->networks, NULL, NULL);
    base->gpu->used_bytes -= m->bytes;
    net_free(&m->net);
    free(m);
}
