/*
 * backend_cuda.c - the CUDA back end: one stream uploads pictures while another computes; a batch
 * is one graph launch for each recorded line of its sessions (graph_cuda.h) and one mark to wait
 * for (wait_cuda.h)
 */
#include "gpu/base/cuda_try.h"
#include "gpu/base/device_cuda.h"
#include "gpu/base/fault_cuda.h"
#include "gpu/base/graph_cuda.h"
#include "gpu/base/jpeg_cuda.h"
#include "gpu/base/nvml_cuda.h"
#include "gpu/base/wait_cuda.h"
#include "gpu/net/net_cuda.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------- device */

int backend_cuda_count(void)
{
    int n = 0;
    return cudaGetDeviceCount(&n) == cudaSuccess ? n : 0;
}

static int choose_device(struct gpu_cuda *g, const char *device, struct err *err)
{
    struct cudaDeviceProp prop;
    int n = 0, rc;
    cudaError_t e = cudaGetDeviceCount(&n);

    if (e != cudaSuccess || n == 0)
        return err_at(err, ERR_UNSUPPORTED, "/device", "no CUDA device: %s",
                      e == cudaSuccess ? "the driver shows none" : cudaGetErrorString(e));
    g->device = !strncmp(device, "cuda:", 5) ? atoi(device + 5) : 0;
    if (g->device >= n)
        return err_at(err, ERR_UNSUPPORTED, "/device", "device \"%s\": there are %d", device, n);
    CU_TRY(cudaSetDevice(g->device));
    CU_TRY(cudaGetDeviceProperties(&prop, g->device));
    if (prop.major < 8)
        return err_at(err, ERR_UNSUPPORTED, "/device",
                      "%s has compute capability %d.%d, needed is 8.0", prop.name, prop.major,
                      prop.minor);
    snprintf(g->name, sizeof g->name, "%.63s", prop.name);
out:
    return rc;
}

static void cuda_close(struct gpu *base)
{
    struct gpu_cuda *g = gpu_cuda_of(base);
    (void)cudaSetDevice(g->device);
    wait_cuda_close(&g->wait);
    graph_cuda_free(g, NULL);
    jpeg_cuda_close(&g->jpeg);
    for (int i = 0; i < GPU_BATCHES; i++)
        if (g->batches[i].uploaded)
            (void)cudaEventDestroy(g->batches[i].uploaded);
    if (g->compute)
        (void)cudaStreamDestroy(g->compute);
    if (g->copy)
        (void)cudaStreamDestroy(g->copy);
    if (g->setup)
        (void)cudaStreamDestroy(g->setup);
    memory_cuda_close(&g->memory);
    nvml_cuda_close(&g->nvml);
    free(g);
}

static int cuda_open(struct gpu **out, const struct gpu_config *config, struct err *err)
{
    struct gpu_cuda *g = (struct gpu_cuda *)calloc(1, sizeof *g);
    int rc,
        batch = config->batch > 0 && config->batch < GPU_BATCH_MAX ? config->batch : GPU_BATCH_MAX;

    *out = NULL;
    if (!g)
        return err_set(err, ERR_MEMORY, "no memory for the CUDA back end");
    g->base.ops = backend_cuda;
    for (g->batch = 1; g->batch < batch;)
        g->batch *= 2;
    snprintf(g->cache_path, sizeof g->cache_path, "%s",
             config->cache_path ? config->cache_path : "");
    rc = choose_device(g, config->device ? config->device : "cuda", err);
    if (rc)
        goto out;
    CU_TRY(cudaStreamCreateWithFlags(&g->compute, cudaStreamNonBlocking));
    CU_TRY(cudaStreamCreateWithFlags(&g->copy, cudaStreamNonBlocking));
    CU_TRY(cudaStreamCreateWithFlags(&g->setup, cudaStreamNonBlocking));
    for (int i = 0; i < GPU_BATCHES; i++)
        CU_TRY(cudaEventCreateWithFlags(&g->batches[i].uploaded, cudaEventDisableTiming));
    if ((rc = wait_cuda_open(&g->wait, err)))
        goto out;
    rc = memory_cuda_open(&g->memory, g->device, config->reserve_bytes, err);
    if (rc)
        goto out;
    nvml_cuda_open(&g->nvml, g->device);
    jpeg_cuda_open(&g->jpeg, g->device, g->memory);
    g->fault_in = fault_cuda_asked();
    g->graphs = graph_cuda_list;
    *out = &g->base;
    return 0;
out:
    cuda_close(&g->base);
    return rc;
}

static void cuda_get_info(const struct gpu *base, struct gpu_info *info)
{
    const struct gpu_cuda *g = gpu_cuda_of(base);
    size_t unused = 0, total = 0;

    memset(info, 0, sizeof *info);
    snprintf(info->backend, sizeof info->backend, "cuda");
    snprintf(info->device, sizeof info->device, "cuda:%d", g->device);
    snprintf(info->model, sizeof info->model, "%s", g->name);
    snprintf(info->why, sizeof info->why, "%s", g->base.why);
    if (cudaSetDevice(g->device) == cudaSuccess && cudaMemGetInfo(&unused, &total) == cudaSuccess) {
        info->memory_total_bytes = total;
        info->memory_used_bytes = total - unused;
    }
    info->threads = 1;
    info->temperature_c = nvml_cuda_temperature(g->nvml);
    info->jpeg_engines = jpeg_cuda_engines(g->jpeg);
}

static void *cuda_host_get(struct gpu *g, size_t bytes)
{
    void *p = NULL;
    int rc = memory_cuda_get(gpu_cuda_of(g)->memory, MEMORY_CUDA_PINNED, &p, bytes, NULL);
    return rc ? NULL : p;
}

static void cuda_host_put(struct gpu *g, void *memory, size_t bytes)
{
    (void)bytes;
    memory_cuda_put(gpu_cuda_of(g)->memory, MEMORY_CUDA_PINNED, memory);
}

static int cuda_decode(struct gpu *g, const struct gpu_jpeg *jpeg, struct err *err)
{
    return jpeg_cuda_decode(gpu_cuda_of(g)->jpeg, jpeg, err);
}

/* ------------------------------------------------------------------------- sessions */

static void cuda_model_close(struct gpu_model *m)
{
    graph_cuda_free(gpu_cuda_of(m->gpu), m);
    network_model_close(m);
}

static int cuda_network_make(void **exec, size_t *bytes, struct gpu *base, const struct net *net,
                             int w, int h, struct err *err)
{
    struct gpu_cuda *g = gpu_cuda_of(base);
    struct net_cuda_config config = {h, w, g->batch, g->cache_path, 1, {0}};
    struct net_cuda *n = NULL;
    int rc = net_cuda_new(&n, net, &config, g->setup, err);

    *exec = n;
    *bytes = 0;
    return rc;
}

static void cuda_network_free(void *exec)
{
    struct net_cuda *n = (struct net_cuda *)exec;

    net_cuda_free(&n);
}

static const struct gpu_session_ops *cuda_session(const struct gpu_line *line)
{
    const struct line_cuda *l = line_cuda_of(line);

    return l ? l->session : NULL;
}

static int cuda_attach(struct gpu_session *s, struct err *err)
{
    int rc;

    CU_TRY(cudaSetDevice(gpu_cuda_of(s->gpu)->device));
    rc = graph_cuda_get(s, 0, err);
out:
    return rc;
}

static int cuda_attach_sideways(struct gpu_session *s, struct err *err)
{
    int rc;

    CU_TRY(cudaSetDevice(gpu_cuda_of(s->gpu)->device));
    rc = graph_cuda_get(s, 1, err);
out:
    return rc;
}

static void cuda_detach(struct gpu_session *s)
{
    (void)cudaSetDevice(gpu_cuda_of(s->gpu)->device);
    graph_cuda_put(s);
}

/* Frees memory that is kept for later sessions, as their networks may need it. */
static void cuda_trim(struct gpu *g)
{
    memory_cuda_trim(gpu_cuda_of(g)->memory);
}

/* ------------------------------------------------------------------------- batches */

/* The group of the batch whose sessions have this graph; a new one is empty. */
static struct group_cuda *group_of(struct batch_cuda *b, struct graph_cuda *graph)
{
    int i = 0;

    while (i < b->n_groups && b->groups[i].graph != graph)
        i++;
    if (i == b->n_groups)
        b->groups[b->n_groups++] = (struct group_cuda){graph, 0};
    return &b->groups[i];
}

/* Enqueues everything of the batch, on both streams. */
static int enqueue(struct gpu_cuda *g, const struct line_cuda *line, int batch,
                   struct gpu_item *const *items, int n, struct err *err)
{
    struct batch_cuda *b = &g->batches[batch];
    int rc;

    b->n_groups = 0;
    for (int i = 0; i < n; i++) {
        struct group_cuda *group = group_of(b, graph_cuda_of(items[i]));

        items[i]->batch = batch;
        graph_cuda_put_item(group->graph, batch, group->n++, items[i]);
        if ((rc = line->upload(items[i], g->copy, err)))
            goto out;
    }
    CU_TRY(cudaEventRecord(b->uploaded, g->copy));
    CU_TRY(cudaStreamWaitEvent(g->compute, b->uploaded, 0));
    for (int i = 0; i < b->n_groups; i++)
        if ((rc = graph_cuda_launch(b->groups[i].graph, batch, b->groups[i].n, err)))
            goto out;
    if (g->fault_in && --g->fault_in == 0 && (rc = fault_cuda_strike(g->compute, err)))
        goto out;
    rc = wait_cuda_mark(g->wait, batch, g->compute, err);
out:
    return rc;
}

static int cuda_submit(struct gpu *base, const struct gpu_line *line, struct gpu_item *const *items,
                       int n, struct err *err)
{
    struct gpu_cuda *g = gpu_cuda_of(base);
    int batch = g->next_batch, rc = wait_cuda_lost(g->wait, err);

    if (rc)
        return rc;
    if (g->batches[batch].busy)
        return err_set(err, ERR_STATE, "%d batches are under way", GPU_BATCHES);
    if (n > g->batch)
        return err_set(err, ERR_INPUT, "a batch of %d items on a device opened for %d", n,
                       g->batch);
    rc = enqueue(g, line_cuda_of(line), batch, items, n, err);
    if (rc == 0) {
        g->batches[batch].busy = 1;
        g->next_batch = (batch + 1) % GPU_BATCHES;
    } else if (cudaStreamSynchronize(g->copy) != cudaSuccess ||
               cudaStreamSynchronize(g->compute) != cudaSuccess) {
        rc = ERR_DEVICE;
    }
    return rc;
}

static int cuda_wait(struct gpu *base, struct gpu_item *const *items, int n, struct err *err)
{
    struct gpu_cuda *g = gpu_cuda_of(base);
    struct batch_cuda *b = &g->batches[items[0]->batch];
    int rc = wait_cuda_batch(g->wait, items[0]->batch, err);

    b->busy = 0;
    for (int i = 0; i < n && rc == 0; i++) {
        struct graph_cuda *graph = graph_cuda_of(items[i]);

        graph->line->take(items[i]);
        items[i]->device_us /= (float)group_of(b, graph)->n;
    }
    return rc;
}

static const struct gpu_ops table = {
    .name = "cuda",
    .open = cuda_open,
    .close = cuda_close,
    .get_info = cuda_get_info,
    .model_open = network_model_open,
    .model_close = cuda_model_close,
    .network_make = cuda_network_make,
    .network_free = cuda_network_free,
    .session = cuda_session,
    .attach = cuda_attach,
    .attach_sideways = cuda_attach_sideways,
    .detach = cuda_detach,
    .trim = cuda_trim,
    .submit = cuda_submit,
    .wait = cuda_wait,
    .host_get = cuda_host_get,
    .host_put = cuda_host_put,
    .decode = cuda_decode,
};

const struct gpu_ops *const backend_cuda = &table;
