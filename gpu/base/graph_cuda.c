#include "gpu/base/graph_cuda.h"

#include "gpu/base/cuda_try.h"

#include <stdlib.h>
#include <string.h>

struct key {
    const struct gpu_session *session;
    int sideways;
};

/* The network does not run if a sensor gives all depth. */
static struct gpu_model *depth_of(const struct gpu_session_config *c)
{
    return c->depth_source == GPU_DEPTH_SENSOR ? NULL : c->depth;
}

static int same(const struct shared *s, const void *key)
{
    const struct graph_cuda *g = (const struct graph_cuda *)s;
    const struct key *k = (const struct key *)key;
    const struct gpu_session_config *c = &k->session->config;

    return g->sideways == k->sideways && g->views == c->views && g->tracks == c->tracks &&
           g->depth_source == c->depth_source && g->line->line == c->line &&
           g->models[GPU_MODEL_DEPTH] == depth_of(c) && g->models[GPU_MODEL_MOTION] == c->motion &&
           g->w == c->net_w && g->h == c->net_h;
}

static void free_graph(struct shared *s)
{
    struct graph_cuda *g = (struct graph_cuda *)s;

    for (int b = 0; b < GPU_BATCHES; b++)
        for (int i = 0; i < GRAPH_CUDA_SIZES; i++)
            if (g->graphs[b][i])
                (void)cudaGraphExecDestroy(g->graphs[b][i]);
    (void)cudaFreeHost(g->args);
    (void)cudaFree(g->args_dev);
    for (int kind = 0; kind < GPU_MODEL_KINDS; kind++)
        network_put(g->networks[kind]);
    free(g);
}

static size_t args_bytes(const struct graph_cuda *g)
{
    return (size_t)g->gpu->batch * g->line->arg_bytes;
}

/* Records a batch of 1 << size items, from its arguments to its last pass. */
static int enqueue(struct graph_cuda *g, int batch, int size, struct err *err)
{
    size_t at = (size_t)batch * args_bytes(g);
    struct pass_cuda pass = {.args = g->args_dev + at,
                             .n = 1 << size,
                             .pixels_max = (uint32_t)g->w * (uint32_t)g->h,
                             .views = g->views,
                             .tracks = g->tracks,
                             .depth_source = g->depth_source,
                             .w_max = g->w,
                             .h_max = g->h,
                             .stream = g->gpu->setup};
    int rc;

    for (int kind = 0; kind < GPU_MODEL_KINDS; kind++)
        if (g->networks[kind])
            pass.networks[kind] = (struct net_cuda *)g->networks[kind]->exec;
    CU_TRY(cudaMemcpyAsync(g->args_dev + at, g->args + at, (size_t)pass.n * g->line->arg_bytes,
                           cudaMemcpyHostToDevice, pass.stream));
    for (int i = 0; i < g->line->n_passes && rc == 0; i++)
        rc = g->line->passes[i](&pass, err);
out:
    return rc;
}

static int record(struct graph_cuda *g, int batch, int size, struct err *err)
{
    cudaStream_t stream = g->gpu->setup;
    cudaGraph_t graph = NULL;
    int rc, ended;

    CU_TRY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    rc = enqueue(g, batch, size, err);
    ended = cuda_try_check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture",
                           rc ? NULL : err);
    rc = rc ? rc : ended;
    if (rc)
        goto out;
    CU_TRY(cudaGraphInstantiate(&g->graphs[batch][size], graph, 0));
    CU_TRY(cudaGraphUpload(g->graphs[batch][size], stream));
out:
    if (graph)
        (void)cudaGraphDestroy(graph);
    return rc;
}

static int graph_make(struct shared **out, const void *key, struct err *err)
{
    const struct key *k = (const struct key *)key;
    const struct gpu_session *s = k->session;
    const struct gpu_session_config *c = &s->config;
    struct graph_cuda *g = calloc(1, sizeof *g);
    int rc = 0;

    if (!g)
        return err_set(err, ERR_MEMORY, "no memory for a recorded line");
    g->gpu = gpu_cuda_of(s->gpu);
    g->line = line_cuda_of(c->line);
    g->w = c->net_w;
    g->h = c->net_h;
    g->sideways = k->sideways;
    g->views = c->views;
    g->tracks = c->tracks;
    g->depth_source = c->depth_source;
    g->models[GPU_MODEL_DEPTH] = depth_of(c);
    g->models[GPU_MODEL_MOTION] = c->motion;
    for (int kind = 0; kind < GPU_MODEL_KINDS && rc == 0; kind++) {
        int turned = g->sideways && kind == GPU_MODEL_DEPTH;

        rc = network_get(&g->networks[kind], g->models[kind], turned ? g->h : g->w,
                         turned ? g->w : g->h, err);
    }
    if (rc)
        goto out;
    CU_TRY(cudaMallocHost((void **)&g->args, GPU_BATCHES * args_bytes(g)));
    CU_TRY(cudaMalloc((void **)&g->args_dev, GPU_BATCHES * args_bytes(g)));
    memset(g->args, 0, GPU_BATCHES * args_bytes(g));
    for (int b = 0; b < GPU_BATCHES; b++)
        for (int i = 0; (1 << i) <= g->gpu->batch; i++)
            if ((rc = record(g, b, i, err)))
                goto out;
    CU_TRY(cudaStreamSynchronize(g->gpu->setup));
out:
    if (rc)
        free_graph(&g->shared);
    else
        *out = &g->shared;
    return rc;
}

const struct shared_list graph_cuda_list = {.same = same, .make = graph_make, .free = free_graph};

int graph_cuda_get(struct gpu_session *s, int sideways, struct err *err)
{
    const struct key key = {s, sideways};
    struct shared *graph = NULL;
    int rc = shared_get(&graph, &gpu_cuda_of(s->gpu)->graphs, &key, err);

    *(sideways ? &s->graph_sideways : &s->graph) = (struct graph_cuda *)graph;
    return rc;
}

struct graph_cuda *graph_cuda_of(const struct gpu_item *item)
{
    return item->turn & 1 ? item->session->graph_sideways : item->session->graph;
}

void graph_cuda_put(struct gpu_session *s)
{
    if (s->graph)
        shared_put(&gpu_cuda_of(s->gpu)->graphs, &s->graph->shared);
    if (s->graph_sideways)
        shared_put(&gpu_cuda_of(s->gpu)->graphs, &s->graph_sideways->shared);
}

static int of_model(const struct shared *s, const void *m)
{
    const struct graph_cuda *g = (const struct graph_cuda *)s;

    return g->models[GPU_MODEL_DEPTH] == m || g->models[GPU_MODEL_MOTION] == m;
}

void graph_cuda_free(struct gpu_cuda *g, const struct gpu_model *m)
{
    shared_free(&g->graphs, m ? of_model : NULL, m);
}

static uint8_t *arg_of(const struct graph_cuda *g, int batch, int at)
{
    return g->args + (size_t)batch * args_bytes(g) + (size_t)at * g->line->arg_bytes;
}

void graph_cuda_put_item(struct graph_cuda *g, int batch, int at, const struct gpu_item *item)
{
    uint8_t *arg = arg_of(g, batch, at);

    memset(arg, 0, g->line->arg_bytes);
    g->line->describe(arg, g, at, item);
}

/* Places behind the last item are empty: all zero. */
int graph_cuda_launch(struct graph_cuda *g, int batch, int n, struct err *err)
{
    int size = 0, rc;

    while (1 << size < n)
        size++;
    memset(arg_of(g, batch, n), 0, (size_t)((1 << size) - n) * g->line->arg_bytes);
    CU_TRY(cudaGraphLaunch(g->graphs[batch][size], g->gpu->compute));
out:
    return rc;
}
