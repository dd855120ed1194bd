/*
 * gpu_lost - a batch whose device takes a fault is lost, and so is every later one; the device can
 * still be closed. In a process of its own, and nothing is asked of CUDA in the one that forks.
 */
#include "gpu/gpu.h"
#include "tests/support/scene.h"
#include "tests/support/tiny_model.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define W 64
#define H 64
#define NO_DEVICE 77

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Runs a case in a child: 0 is well. */
static void in_a_child(int (*run)(void))
{
    int status = 0;
    pid_t child;

    fflush(NULL);
    child = fork();
    if (child == 0) {
        status = gpu_cuda_count() ? run() : NO_DEVICE;
        fflush(NULL);
        _exit(status);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_DEVICE) {
        print_message("# hardware: no CUDA device, or a build without CUDA\n");
        skip();
    }
    assert_int_equal(status, 0);
}

/* In a child, where an assertion would return to the parent's place. */
static int not_well(const char *what, const struct err *err)
{
    printf("# %s: %s\n", what, err->text);
    return 1;
}

static int open_model(struct gpu_model **m, struct gpu *g, struct err *err)
{
    struct gpu_model_info info = {.kind = GPU_MODEL_DEPTH,
                                  .name = "flat",
                                  .std = {1.0f, 1.0f, 1.0f},
                                  .output = GPU_OUTPUT_DEPTH,
                                  .min_depth_m = 0.1f,
                                  .max_depth_m = 50.0f,
                                  .multiple = 32};
    char dir[64];
    int rc;

    tiny_models(dir);
    snprintf(info.path, sizeof info.path, "%s/flat.onnx", dir);
    rc = gpu_model_open(m, g, &info, err);
    tiny_models_remove(dir);
    return rc;
}

static int open_session(struct gpu_session **s, struct gpu *g, struct gpu_model *depth,
                        struct err *err)
{
    struct gpu_session_config c = {.line = &gpu_line_mono,
                                   .net_w = W,
                                   .net_h = H,
                                   .max_image_w = W,
                                   .max_image_h = H,
                                   .depth = depth,
                                   .step_m = 0.001f,
                                   .max_points = 1u << 16};

    fuse_params_default(&c.fuse);
    return gpu_session_new(s, g, &c, err);
}

/* A batch of one. *took_ms: from its begin until gpu_wait() returned. */
static int run_batch(double *took_ms, struct gpu *g, struct gpu_session *s, const uint8_t *rgb,
                     struct err *err)
{
    struct gpu_frame f = {.item.session = s,
                          .rgb = rgb,
                          .width = W,
                          .height = H,
                          .K = scene_intrinsics(W, H),
                          .has_pose = 1,
                          .T_wc = scene_pose(0.0f, 0.0f, -1.5f, 0.0f)};
    struct gpu_item *batch = &f.item;
    double begin_ms = now_ms();
    int rc;

    rc = gpu_submit(g, &gpu_line_mono, &batch, 1, err);
    if (rc == 0)
        rc = gpu_wait(g, &batch, 1, err);
    *took_ms = now_ms() - begin_ms;
    return rc;
}

/* The first batch is well, the second one's device is lost; then nothing is waited for any more. */
static int lose_a_batch(void)
{
    const struct gpu_config config = {.device = "cuda", .batch = 4};
    struct gpu_model *depth = NULL;
    struct gpu_session *s = NULL;
    struct gpu *g = NULL;
    struct err err = {0}, again = {0};
    double took_ms = 0.0;
    uint8_t *rgb;
    int rc;

    setenv("RECOND_TEST_DEVICE_FAULT", "2", 1);
    if (gpu_open(&g, &config, &err) || open_model(&depth, g, &err) ||
        open_session(&s, g, depth, &err))
        return not_well("open", &err);
    rgb = (uint8_t *)gpu_host_get(g, W * H * 3);
    if (!rgb)
        return not_well("no memory for a picture", &err);
    memset(rgb, 100, W * H * 3);
    if (run_batch(&took_ms, g, s, rgb, &err))
        return not_well("the first batch", &err);
    rc = run_batch(&took_ms, g, s, rgb, &err);
    printf("# found after %.1f ms: %s\n", took_ms, err.text);
    if (rc != ERR_DEVICE)
        return not_well("the batch was not lost", &err);
    if (run_batch(&took_ms, g, s, rgb, &again) != ERR_DEVICE || strcmp(again.text, err.text))
        return not_well("a later batch was not refused for the same reason", &again);
    if (gpu_session_state_bytes(s))
        return not_well("the session has a state", &err);
    gpu_host_put(g, rgb, W * H * 3);
    gpu_session_free(&s);
    gpu_model_close(&depth);
    gpu_close(&g); /* comes back */
    return 0;
}

TEST(a_lost_batch_is_known_and_nothing_follows_it)
{
    in_a_child(lose_a_batch);
}
