/*
 * line_cuda.c - the line of a frame on the device, recorded once a batch size and replayed
 *
 * A graph copies the batch's arguments to the device and runs every stage. What differs from batch
 * to batch is in the arguments alone: which sessions, which pictures, poses, where results go.
 * Recording is done on the stream `setup`: batches on the others are not caught by it.
 */
#include "gpu/base/cuda_try.h"
#include "gpu/base/plan_cuda.h"

#include <stdlib.h>
#include <string.h>

#define LINES_IDLE 2

static void line_free(struct line_cuda **link)
{
    struct line_cuda *line = *link;
    *link = line->next;
    for (int f = 0; f < GPU_FLIGHTS; f++)
        for (int i = 0; i < PLAN_CUDA_SIZES; i++)
            if (line->graphs[f][i])
                (void)cudaGraphExecDestroy(line->graphs[f][i]);
    (void)cudaFreeHost(line->args);
    (void)cudaFree(line->args_dev);
    if (line->depth)
        plan_cuda_put(line->depth_model, line->depth);
    if (line->motion)
        plan_cuda_put(line->motion_model, line->motion);
    free(line);
}

static struct frame_cuda *args_of(const struct line_cuda *line, struct frame_cuda *base, int batch,
                                  int flight)
{
    (void)line;
    return base + (size_t)flight * (size_t)batch;
}

/* The path of a batch, as one straight line. */
static int stages(struct gpu_cuda *g, struct line_cuda *line, int flight, int n, struct err *err)
{
    const struct frame_cuda *host = args_of(line, line->args, g->batch, flight);
    struct frame_cuda *frames = args_of(line, line->args_dev, g->batch, flight);
    uint32_t pixels = (uint32_t)line->w * (uint32_t)line->h;
    int rc;

    CU_TRY(cudaMemcpyAsync(frames, host, (size_t)n * sizeof *frames, cudaMemcpyHostToDevice,
                           g->setup));
    if ((rc = image_cuda(frames, n, pixels, g->setup, err)))
        goto out;
    if (line->depth && (rc = net_cuda_run(line->depth->exec, n, g->setup, err)))
        goto out;
    if ((rc = depth_cuda(frames, n, pixels, g->setup, err)))
        goto out;
    if (line->motion && (rc = net_cuda_run(line->motion->exec, n, g->setup, err)))
        goto out;
    if ((rc = covisible_cuda(frames, n, pixels, g->setup, err)) ||
        (rc = associate_cuda(frames, n, pixels, g->setup, err)) ||
        (rc = fuse_cuda(frames, n, pixels, g->setup, err)) ||
        (rc = remove_cuda(frames, n, pixels, g->setup, err)))
        goto out;
out:
    return rc;
}

static int record(struct gpu_cuda *g, struct line_cuda *line, int flight, int size, struct err *err)
{
    cudaGraph_t graph = NULL;
    int rc, ended;

    CU_TRY(cudaStreamBeginCapture(g->setup, cudaStreamCaptureModeThreadLocal));
    rc = stages(g, line, flight, 1 << size, err);
    ended = cuda_try_check(cudaStreamEndCapture(g->setup, &graph), "cudaStreamEndCapture",
                           rc ? NULL : err);
    rc = rc ? rc : ended;
    if (rc)
        goto out;
    CU_TRY(cudaGraphInstantiate(&line->graphs[flight][size], graph, 0));
    CU_TRY(cudaGraphUpload(line->graphs[flight][size], g->setup));
out:
    if (graph)
        (void)cudaGraphDestroy(graph);
    return rc;
}

static int line_new(struct line_cuda **out, struct gpu_cuda *g, const struct gpu_session_config *c,
                    struct err *err)
{
    struct line_cuda *line = (struct line_cuda *)calloc(1, sizeof *line);
    size_t bytes = GPU_FLIGHTS * (size_t)g->batch * sizeof *line->args;
    int rc = 0;

    if (!line)
        return err_set(err, ERR_MEMORY, "no memory for a line");
    line->w = c->net_w;
    line->h = c->net_h;
    line->depth_model = (struct model_cuda *)c->depth;
    line->motion_model = (struct model_cuda *)c->motion;
    if (c->depth)
        rc = plan_cuda_get(&line->depth, line->depth_model, c->net_w, c->net_h, err);
    if (rc == 0 && c->motion)
        rc = plan_cuda_get(&line->motion, line->motion_model, c->net_w, c->net_h, err);
    if (rc)
        goto out;
    CU_TRY(cudaMallocHost((void **)&line->args, bytes));
    CU_TRY(cudaMalloc((void **)&line->args_dev, bytes));
    memset(line->args, 0, bytes);
    for (int f = 0; f < GPU_FLIGHTS; f++)
        for (int i = 0; (1 << i) <= g->batch; i++)
            if ((rc = record(g, line, f, i, err)))
                goto out;
    CU_TRY(cudaStreamSynchronize(g->setup));
    line->next = g->lines;
    g->lines = line;
    *out = line;
    return 0;
out:
    line_free(&line);
    return rc;
}

int line_cuda_get(struct line_cuda **out, struct gpu_cuda *g, const struct gpu_session_config *c,
                  struct err *err)
{
    struct line_cuda *line = g->lines;
    int rc = 0;
    while (line && ((struct gpu_model *)line->depth_model != c->depth ||
                    (struct gpu_model *)line->motion_model != c->motion || line->w != c->net_w ||
                    line->h != c->net_h))
        line = line->next;
    if (!line)
        rc = line_new(&line, g, c, err);
    if (rc)
        return rc;
    line->users++;
    *out = line;
    return 0;
}

void line_cuda_put(struct gpu_cuda *g, struct line_cuda *line)
{
    struct line_cuda **oldest = NULL;
    int idle = 0;
    line->users--;
    line->used = ++g->clock;
    for (struct line_cuda **link = &g->lines; *link; link = &(*link)->next) {
        if ((*link)->users)
            continue;
        idle++;
        if (!oldest || (*link)->used < (*oldest)->used)
            oldest = link;
    }
    if (idle > LINES_IDLE)
        line_free(oldest);
}

void line_cuda_forget(struct gpu_cuda *g, const struct model_cuda *m)
{
    struct line_cuda **link = &g->lines;
    while (*link)
        if ((*link)->depth_model == m || (*link)->motion_model == m)
            line_free(link);
        else
            link = &(*link)->next;
}

void line_cuda_forget_all(struct gpu_cuda *g)
{
    while (g->lines)
        line_free(&g->lines);
}

static void put_networks(struct frame_cuda *a, const struct line_cuda *line, int at)
{
    size_t n = (size_t)line->w * (size_t)line->h, place = (size_t)at * n;
    if (line->depth) {
        const struct gpu_model_info *info = &line->depth_model->base.info;
        a->depth_pitch = net_cuda_input_pitch(line->depth->exec);
        a->depth_in = net_cuda_input(line->depth->exec) + place * (size_t)a->depth_pitch;
        a->depth_raw = net_cuda_output(line->depth->exec) + place;
        memcpy(a->mean[0], info->mean, sizeof info->mean);
        memcpy(a->std[0], info->std, sizeof info->std);
    }
    if (line->motion) {
        const struct gpu_model_info *info = &line->motion_model->base.info;
        a->motion_pitch = net_cuda_input_pitch(line->motion->exec);
        a->motion_in = net_cuda_input(line->motion->exec) + place * (size_t)a->motion_pitch;
        a->motion_raw = net_cuda_output(line->motion->exec) + 6 * (size_t)at;
        a->rays = info->rays;
        memcpy(a->mean[1], info->mean, sizeof info->mean);
        memcpy(a->std[1], info->std, sizeof info->std);
    }
}

void line_cuda_put_frame(struct line_cuda *line, int batch, int flight, int at,
                         const struct gpu_frame *f)
{
    struct frame_cuda *a = args_of(line, line->args, batch, flight) + at;
    const struct session_cuda *s = (const struct session_cuda *)f->session;
    memset(a, 0, sizeof *a);
    a->s = s->dev;
    a->width = f->width;
    a->height = f->height;
    a->K = f->K;
    a->T_wc = f->T_wc;
    a->has_pose = f->has_pose;
    a->restart = f->restart;
    put_networks(a, line, at);
    a->changes = s->changes_dev;
    a->result = s->result_dev;
    a->depth_out = f->depth_out ? s->depth_out_dev : NULL;
}

int line_cuda_launch(struct gpu_cuda *g, struct line_cuda *line, int flight, int n, struct err *err)
{
    struct frame_cuda *args = args_of(line, line->args, g->batch, flight);
    int size = 0, rc;
    while (1 << size < n)
        size++;
    for (int i = n; i < 1 << size; i++)
        args[i].s = NULL;
    CU_TRY(cudaGraphLaunch(line->graphs[flight][size], g->compute));
out:
    return rc;
}
