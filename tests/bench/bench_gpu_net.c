/*
 * bench_gpu_net - what a network costs on the CPU back end, and what oneDNN alone would need for it
 *
 *     bench_gpu_net [MODEL.onnx...]        default: gpu/models/depth.onnx gpu/models/motion.onnx
 *
 * Each model at 256x192 and 416x128, one picture. `best` and `median` are of whole runs, everything
 * included. `conv alone` sums the fastest run of every convolution by itself, with its input warm
 * in the cache: no plan of these primitives can be faster, and the share says how near it comes.
 */
#include "gpu/net/net_dnnl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RUNS 60

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + 1e-6 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* "depth" of "gpu/models/depth.onnx" */
static void short_name(const char *path, char name[32])
{
    const char *base = strrchr(path, '/');
    snprintf(name, 32, "%s", base ? base + 1 : path);
    name[strcspn(name, ".")] = 0;
}

static int time_runs(struct net_dnnl *p, const float *in, float *out, double ms[RUNS],
                     struct err *err)
{
    for (int i = -3; i < RUNS; i++) { /* three to warm up */
        double t = now_ms();
        int rc = net_dnnl_run(p, in, out, err);
        if (rc)
            return rc;
        if (i >= 0)
            ms[i] = now_ms() - t;
    }
    qsort(ms, RUNS, sizeof *ms, by_value);
    return 0;
}

/* What a plan is made of and where its time goes. */
struct profile {
    double conv_s; /* the convolutions, each run alone `repeats` times: the sum of the fastest */
    int n_conv, n_other; /* primitives and loops of one run */
};

static int get_profile(struct net_dnnl *p, int repeats, struct profile *out, struct err *err)
{
    dnnl_status_t st = dnnl_success;
    *out = (struct profile){0};
    for (int i = 0; !st && i < p->n_jobs; i++) {
        const struct job *j = &p->jobs[i];
        double best = 1e30;
        if (!j->step || (j->step->kind != NET_STEP_CONV && j->step->kind != NET_STEP_DECONV)) {
            out->n_other++;
            continue;
        }
        for (int k = 0; !st && k < repeats; k++) {
            double t = now_ms();
            st = dnnl_primitive_execute(j->prim, p->stream, j->n_args, j->args);
            if (!st)
                st = dnnl_stream_wait(p->stream);
            t = now_ms() - t;
            best = t < best ? t : best;
        }
        out->n_conv++;
        out->conv_s += best * 1e-3;
    }
    return st ? net_dnnl_emit_fail(err, NULL, "to run", st) : 0;
}

static void print_row(const char *name, int w, int h, const double ms[RUNS], double plan_ms,
                      const struct net_dnnl *p, const struct profile *f)
{
    double best = ms[0], conv = f->conv_s * 1e3;
    printf("%-16s %4dx%-4d %8.2f %8.2f %8.1f %10.2f %6.0f%% %4d+%-3d %7.1f %7.1f %7.0f\n", name, w,
           h, best, ms[RUNS / 2], p->g->flops / best * 1e-6, conv, 100 * conv / best, f->n_conv,
           f->n_other, (double)p->blob_bytes / 1048576,
           (double)(p->arena_bytes + p->scratch_bytes) / 1048576, plan_ms);
    printf("@ %s_%dx%d_median %.3f ms\n", name, w, h, ms[RUNS / 2]);
    printf("@ %s_%dx%d_rate %.1f GFLOP/s\n", name, w, h, p->g->flops / best * 1e-6);
    printf("@ %s_%dx%d_share %.3f of_conv_alone\n", name, w, h, conv / best);
}

static int measure(const struct net *net, const char *path, int w, int h, struct err *err)
{
    struct profile profile;
    struct net_dnnl *p = NULL;
    float *in = NULL, *out = NULL;
    double ms[RUNS], plan_ms = now_ms();
    char name[32];
    int shape[4], rc;
    size_t n_in = (size_t)net_input_channels(net) * (size_t)h * (size_t)w;
    if ((rc = net_output_shape(net, 1, h, w, shape, err)) ||
        (rc = net_dnnl_new(&p, net, 1, h, w, NULL, err)))
        goto done;
    plan_ms = now_ms() - plan_ms;
    in = malloc(n_in * sizeof *in);
    out = malloc((size_t)shape[0] * (size_t)shape[1] * (size_t)shape[2] * (size_t)shape[3] *
                 sizeof *out);
    if (!in || !out) {
        rc = err_set(err, ERR_MEMORY, "no memory for a picture");
        goto done;
    }
    for (size_t i = 0; i < n_in; i++)
        in[i] = sinf((float)i * 0.37f);
    if ((rc = time_runs(p, in, out, ms, err)) || (rc = get_profile(p, 20, &profile, err)))
        goto done;
    short_name(path, name);
    print_row(name, w, h, ms, plan_ms, p, &profile);
done:
    free(in);
    free(out);
    net_dnnl_free(&p);
    return rc;
}

static int bench(const char *path)
{
    static const int size[2][2] = {{256, 192}, {416, 128}};
    struct err err = {0};
    struct net *net;
    double ms = now_ms();
    char name[32];
    int rc = net_load(&net, path, NULL, NULL, NULL, &err);
    if (!rc) {
        short_name(path, name);
        printf("@ %s_load %.1f ms\n", name, now_ms() - ms);
    }
    for (int i = 0; !rc && i < 2; i++)
        rc = measure(net, path, size[i][0], size[i][1], &err);
    if (rc)
        fprintf(stderr, "bench_gpu_net: %s: %s %s\n", path, err.where, err.text);
    net_free(&net);
    return rc;
}

int main(int argc, char **argv)
{
    static const char *const shipped[] = {"gpu/models/depth.onnx", "gpu/models/motion.onnx"};
    int given = 0, rc = 0;
    printf("%-16s %9s %8s %8s %8s %10s %7s %8s %7s %7s %7s\n", "network", "input", "best ms",
           "median", "GFLOP/s", "conv alone", "share", "steps", "weights", "buffers", "plan");
    for (int i = 1; i < argc; i++) { /* the bench runner also passes folders */
        size_t n = strlen(argv[i]);
        if (n < 5 || strcmp(argv[i] + n - 5, ".onnx"))
            continue;
        given = 1;
        rc |= bench(argv[i]);
    }
    for (int i = 0; !given && i < 2; i++)
        rc |= bench(shipped[i]);
    return rc ? 1 : 0;
}
