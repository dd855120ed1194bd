/*
 * bench_gpu_fuse - what fusion costs on the CPU, stage by stage, and the paper's algorithm beside
 * it
 *
 *     bench_gpu_fuse [FOLDER...]
 *
 * Depth is given (a drawn room's; and that of each folder in the layout of docs/TESTING.md that has
 * depth and poses), so no network runs. Both algorithms get the same frames at PAPER_W x PAPER_H,
 * where a linear search ends in seconds, and the same number of keyframes.
 */
#include "gpu/mono/session_cpu.h"
#include "tests/bench/support_paper.h"
#include "tests/bench/support_sequence.h"

#include <stdio.h>

#define WIDTH 256
#define HEIGHT 192
#define FRAMES 240
#define PAPER_W 128
#define PAPER_H 96
#define PAPER_FRAMES 6
#define MAX_POINTS (1u << 20)
#define STEP_M 0.001f

struct totals {
    double pass_us[GPU_PASSES_MAX]; /* of the line's stages */
    uint64_t changes, inserted, removed, carved, left_out;
    struct gpu_result last;
    int frames, keyframes;
};

/* FNV-1a over the changes: two runs must agree. */
static uint64_t hash_changes(uint64_t h, const struct gpu_change *c, uint32_t n)
{
    const uint8_t *b = (const uint8_t *)c;
    for (size_t i = 0; i < n * sizeof *c; i++)
        h = (h ^ b[i]) * 1099511628211ull;
    return h;
}

static int fuse_frame(struct gpu *g, struct gpu_session *s, const struct support_frame *in,
                      struct totals *t, uint64_t *hash, struct err *err)
{
    struct gpu_frame f = {.item.session = s,
                          .rgb = in->rgb,
                          .width = in->width,
                          .height = in->height,
                          .K = in->K,
                          .has_pose = 1,
                          .T_wc = in->T_wc};
    struct gpu_item *batch = &f.item;
    int rc = session_cpu_put_depth(s, in->depth, err);

    if (rc || (rc = gpu_submit(g, &gpu_line_mono, &batch, 1, err)) ||
        (rc = gpu_wait(g, &batch, 1, err)))
        return rc;
    for (int i = 0; i < f.item.n_passes; i++)
        t->pass_us[i] += (double)f.item.passes[i].us;
    t->changes += f.result.n_changes;
    t->inserted += f.result.n_inserted;
    t->removed += f.result.n_removed;
    t->carved += f.result.n_carved;
    t->left_out += f.result.n_left_out;
    t->keyframes += f.result.is_keyframe;
    t->last = f.result;
    t->frames++;
    *hash = hash_changes(*hash, f.changes, f.result.n_changes);
    return 0;
}

static int run_ours(struct gpu *g, const struct fuse_params *params, const char *folder, int frames,
                    int w, int h, struct totals *t, uint64_t *hash, struct err *err)
{
    struct gpu_session_config c = {.line = &gpu_line_mono,
                                   .net_w = w,
                                   .net_h = h,
                                   .max_image_w = 8192,
                                   .max_image_h = 8192,
                                   .step_m = STEP_M,
                                   .max_points = MAX_POINTS,
                                   .fuse = *params};
    struct support_sequence *in = NULL;
    struct gpu_session *s = NULL;
    struct support_frame f;
    int rc;

    memset(t, 0, sizeof *t);
    *hash = 14695981039346656037ull;
    rc = support_sequence_open(&in, folder, w, h, err);
    if (rc == 0)
        rc = session_cpu_new(&s, g, &c, err);
    for (int i = 0; i < frames && rc == 0; i++) {
        rc = support_sequence_next(in, &f, err);
        if (rc == 0 && !f.posed)
            rc = err_set(err, ERR_INPUT, "it has no poses");
        if (rc == 0)
            rc = fuse_frame(g, s, &f, t, hash, err);
    }
    gpu_session_free(&s);
    support_sequence_close(&in);
    return rc == ERR_END ? 0 : rc;
}

static double print_ours(const char *rules, const struct totals *t, int w, int h, uint64_t hash)
{
    static const char *const fused[] = {"covisible", "associate", "keyframe",
                                        "fuse",      "remove",    "change"};
    double fusion = 0;
    printf("  ours, fusion = %s, %dx%d, %d frames, CPU, one thread\n", rules, w, h, t->frames);
    for (int i = 0; i < gpu_line_mono.n_stages; i++) {
        const char *name = gpu_line_mono.stages[i].name;
        double us = t->pass_us[i] / t->frames;

        for (size_t k = 0; k < sizeof fused / sizeof *fused; k++)
            fusion += strcmp(name, fused[k]) ? 0 : us;
        printf("    %-12s %9.1f us a frame\n", name, us);
    }
    printf("    %-12s %9.1f us a frame, covisible to change\n", "fusion", fusion);
    printf("    %d keyframes; points %u, stable %u; inserted %llu, expired %llu, carved %llu, left "
           "out %llu\n",
           t->keyframes, t->last.n_points, t->last.n_stable, (unsigned long long)t->inserted,
           (unsigned long long)t->removed, (unsigned long long)t->carved,
           (unsigned long long)t->left_out);
    printf("    %.0f changes a frame; hash of all changes %016llx\n",
           (double)t->changes / t->frames, (unsigned long long)hash);
    return fusion;
}

/* The paper's algorithm: the keyframes are the first frame and those after it, up to
 * n_covisible. */
static int run_paper(const char *folder, double *us, struct err *err)
{
    struct camera keyframes[GPU_COVISIBLE_MAX];
    struct support_sequence *in = NULL;
    struct support_paper *p = NULL;
    struct support_paper_result r;
    struct support_frame f;
    struct fuse_params params;
    double total = 0;
    int n = 0, frames = 0, rc;

    fuse_params_default(&params);
    rc = support_sequence_open(&in, folder, PAPER_W, PAPER_H, err);
    if (rc == 0)
        rc = support_paper_new(&p, MAX_POINTS, &params, err);
    printf("  the paper's serial algorithm (linear search), %dx%d\n", PAPER_W, PAPER_H);
    for (int i = 0; i < PAPER_FRAMES && rc == 0; i++) {
        struct camera c;
        rc = support_sequence_next(in, &f, err);
        if (rc)
            break;
        c = camera_make(&f.T_wc, intrinsics_scale(f.K, f.width, f.height, PAPER_W, PAPER_H),
                        PAPER_W, PAPER_H);
        if (n < params.n_covisible)
            keyframes[n++] = c;
        support_paper_frame(p, f.depth, &c, keyframes, n, &r);
        total += r.search_us + r.update_us + r.remove_us;
        frames++;
        printf(
            "    frame %d, %d keyframes: search %.0f ms (%.0f M compared), update %.1f ms, remove "
            "%.2f ms, %u points\n",
            i + 1, n, r.search_us * 1e-3, (double)r.n_compared * 1e-6, r.update_us * 1e-3,
            r.remove_us * 1e-3, r.n_points);
    }
    *us = frames ? total / frames : 0;
    printf("    %-12s %9.1f us a frame\n", "fusion", *us);
    support_paper_free(&p);
    support_sequence_close(&in);
    return rc == ERR_END ? 0 : rc;
}

static int measure(struct gpu *g, const char *folder, struct err *err)
{
    const char *name = folder ? strrchr(folder, '/') ? strrchr(folder, '/') + 1 : folder : "drawn";
    struct fuse_params params, cells;
    struct totals t;
    uint64_t hash;
    double ours, cubes, small, paper = 0;
    int rc;

    fuse_params_default(&params);
    fuse_params_cells(&cells);
    rc = run_ours(g, &params, folder, FRAMES, WIDTH, HEIGHT, &t, &hash, err);
    if (rc || t.frames == 0)
        return rc;
    printf("%s\n", folder ? folder : "a drawn room");
    ours = print_ours("paper", &t, WIDTH, HEIGHT, hash);
    rc = run_ours(g, &cells, folder, FRAMES, WIDTH, HEIGHT, &t, &hash, err);
    if (rc)
        return rc;
    cubes = print_ours("cells", &t, WIDTH, HEIGHT, hash);
    rc = run_ours(g, &params, folder, PAPER_FRAMES, PAPER_W, PAPER_H, &t, &hash, err);
    if (rc)
        return rc;
    small = print_ours("paper", &t, PAPER_W, PAPER_H, hash);
    rc = run_paper(folder, &paper, err);
    if (rc)
        return rc;
    printf("    the same frames: ours %.0f times as fast\n", paper / small);
    printf("@ fuse.%s.fusion %.1f us\n", name, ours);
    printf("@ fuse.%s.cells %.1f us\n", name, cubes);
    printf("@ fuse.%s.fusion_%dx%d %.1f us\n", name, PAPER_W, PAPER_H, small);
    printf("@ fuse.%s.paper_serial_%dx%d %.1f us\n", name, PAPER_W, PAPER_H, paper);
    return 0;
}

int main(int argc, char **argv)
{
    struct gpu_config config = {.device = "cpu", .threads = 1};
    struct gpu *g = NULL;
    struct err err = {0};
    int rc = gpu_open(&g, &config, &err);

    if (rc == 0)
        rc = measure(g, NULL, &err);
    for (int i = 1; i < argc && rc == 0; i++)
        if (measure(g, argv[i], &err))
            printf("%s: left out, %s\n", argv[i], err.text);
    printf(
        "the paper's Table 3, a frame of 416x128, 5 keyframes: serial 30 min, with its first CUDA "
        "kernel 31 s, with all three 0.039 s (Tesla V100)\n");
    if (rc)
        fprintf(stderr, "bench_gpu_fuse: %s\n", err.text);
    gpu_close(&g);
    return rc ? 1 : 0;
}
