/*
 * backend_cpu.c - the CPU back end: gpu_submit() runs the line's stages, each for all items of the
 * batch in turn, and returns when they are done
 */
#include "gpu/base/network.h"
#include "gpu/net/net_dnnl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Sets how many threads the calling thread's next parallel region may use. oneDNN's OpenMP run-time
 * has it; the header is the compiler's own. */
void omp_set_num_threads(int n);

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

struct gpu_cpu {
    struct gpu base;
    char model[GPU_NAME_CAP];
    int threads;
};

/* ------------------------------------------------------------------------- device */

static void processor_name(char name[GPU_NAME_CAP])
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "re");
    snprintf(name, GPU_NAME_CAP, "unknown");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "model name : %63[^\n]", name) == 1)
            break;
    if (f)
        fclose(f);
}

static int cpu_open(struct gpu **out, const struct gpu_config *config, struct err *err)
{
    struct gpu_cpu *g = calloc(1, sizeof *g);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    *out = NULL;
    if (!g)
        return err_set(err, ERR_MEMORY, "no memory for the CPU back end");
    g->base.ops = &backend_cpu;
    g->threads = config->threads > 0 ? config->threads : cores > 0 ? (int)cores : 1;
    processor_name(g->model);
    *out = &g->base;
    return 0;
}

static void cpu_close(struct gpu *g)
{
    free(g);
}

static void cpu_get_info(const struct gpu *base, struct gpu_info *info)
{
    const struct gpu_cpu *g = (const struct gpu_cpu *)base;
    memset(info, 0, sizeof *info);
    snprintf(info->backend, sizeof info->backend, "cpu");
    snprintf(info->device, sizeof info->device, "cpu");
    snprintf(info->model, sizeof info->model, "%s", g->model);
    snprintf(info->why, sizeof info->why, "%s", g->base.why);
    info->memory_total_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    info->memory_used_bytes = base->used_bytes;
    info->threads = g->threads;
    info->temperature_c = NAN;
}

/* ------------------------------------------------------------------------- sessions */

/* A network is planned for the number of threads that it will run with, and the thread that makes
 * sessions need not be the one that runs them. */
static int cpu_network_make(void **exec, size_t *bytes, struct gpu *g, const struct net *net, int w,
                            int h, struct err *err)
{
    struct net_dnnl *dnnl = NULL;
    int rc;

    omp_set_num_threads(((struct gpu_cpu *)g)->threads);
    rc = net_dnnl_new(&dnnl, net, 1, h, w, NULL, err);
    if (rc == 0)
        *bytes = net_dnnl_bytes(dnnl);
    *exec = dnnl;
    return rc;
}

static void cpu_network_free(void *exec)
{
    struct net_dnnl *dnnl = exec;

    net_dnnl_free(&dnnl);
}

static const struct gpu_session_ops *cpu_session(const struct gpu_line *line)
{
    return line->cpu;
}

static int cpu_attach(struct gpu_session *s, struct err *err)
{
    const struct gpu_session_config *c = &s->config;
    struct gpu_model *const models[GPU_MODEL_KINDS] = {
        c->depth_source == GPU_DEPTH_SENSOR ? NULL : c->depth, c->motion};
    int rc = 0;

    for (int kind = 0; kind < GPU_MODEL_KINDS && rc == 0; kind++)
        rc = network_get(&s->networks[kind], models[kind], c->net_w, c->net_h, err);
    return rc;
}

static int cpu_attach_sideways(struct gpu_session *s, struct err *err)
{
    const struct gpu_session_config *c = &s->config;

    return network_get(&s->network_sideways, c->depth_source == GPU_DEPTH_SENSOR ? NULL : c->depth,
                       c->net_h, c->net_w, err);
}

static void cpu_detach(struct gpu_session *s)
{
    network_put(s->network_sideways);
    for (int kind = 0; kind < GPU_MODEL_KINDS; kind++)
        network_put(s->networks[kind]);
}

/* ------------------------------------------------------------------------- batches */

static int cpu_submit(struct gpu *g, const struct gpu_line *line, struct gpu_item *const *items,
                      int n, struct err *err)
{
    int rc = 0;

    omp_set_num_threads(((struct gpu_cpu *)g)->threads);
    for (int k = 0; k < line->n_stages; k++)
        for (int i = 0; i < n && rc == 0; i++) {
            struct gpu_item *item = items[i];
            double since_us = now_us();
            float us;

            rc = line->stages[k].run(item, err);
            us = (float)(now_us() - since_us);
            item->passes[item->n_passes++] = (struct gpu_pass_time){line->stages[k].name, us};
            item->device_us += us;
        }
    return rc;
}

const struct gpu_ops backend_cpu = {
    .name = "cpu",
    .open = cpu_open,
    .close = cpu_close,
    .get_info = cpu_get_info,
    .model_open = network_model_open,
    .model_close = network_model_close,
    .network_make = cpu_network_make,
    .network_free = cpu_network_free,
    .session = cpu_session,
    .attach = cpu_attach,
    .attach_sideways = cpu_attach_sideways,
    .detach = cpu_detach,
    .submit = cpu_submit,
};
