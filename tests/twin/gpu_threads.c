/*
 * Two threads on one device, as gpu.h allows: one runs frames, the other opens networks, makes
 * sessions of sizes that were never there, and frees them. The frames' results are what they are
 * when no other session is there, bit for bit. On the CPU, and on CUDA where there is a device.
 */
#include "gpu/gpu.h"
#include "tests/support/gpu_case.h"
#include "tests/support/scene.h"
#include "tests/support/tiny_model.h"
#include "tests/support/unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define W 64
#define H 64
#define SESSIONS 2
#define FRAMES 60

struct rig {
    struct gpu *g;
    char models[64];
    struct gpu_model *depth, *motion;
    struct gpu_session *s[SESSIONS];
    uint8_t *rgb;
    uint64_t sum; /* of all results */
    atomic_bool over;
    atomic_int made;
};

/* In either thread, so it cannot be an assertion's. */
static void must(int rc, const struct err *err)
{
    if (rc == 0)
        return;
    print_error("%s: %s\n", err->where, err->text);
    abort();
}

static struct gpu_model *open_model(struct rig *r, enum gpu_model_kind kind)
{
    struct gpu_model_info info = {.kind = kind,
                                  .std = {1.0f, 1.0f, 1.0f},
                                  .output = GPU_OUTPUT_DEPTH,
                                  .min_depth_m = 0.1f,
                                  .max_depth_m = 50.0f,
                                  .multiple = 32};
    struct gpu_model *m = NULL;
    struct err err = {0};

    snprintf(info.name, sizeof info.name, "%s", kind == GPU_MODEL_DEPTH ? "flat" : "still");
    snprintf(info.path, sizeof info.path, "%s/%s.onnx", r->models, info.name);
    must(gpu_model_open(&m, r->g, &info, &err), &err);
    return m;
}

static struct gpu_session *open_session(struct rig *r, struct gpu_model *depth,
                                        struct gpu_model *motion, int w, int h)
{
    struct gpu_session_config c = {.line = &gpu_line_mono,
                                   .net_w = w,
                                   .net_h = h,
                                   .max_image_w = W,
                                   .max_image_h = H,
                                   .depth = depth,
                                   .motion = motion,
                                   .step_m = 0.001f,
                                   .max_points = 1u << 15};
    struct gpu_session *s = NULL;
    struct err err = {0};

    fuse_params_default(&c.fuse);
    must(gpu_session_new(&s, r->g, &c, &err), &err);
    return s;
}

static void open_rig(struct rig *r, const char *device)
{
    const struct gpu_config config = {.device = device, .threads = 2, .batch = 2};

    memset(r, 0, sizeof *r);
    r->g = gpu_case_open(&config);
    tiny_models(r->models);
    r->depth = open_model(r, GPU_MODEL_DEPTH);
    r->motion = open_model(r, GPU_MODEL_MOTION);
    for (int i = 0; i < SESSIONS; i++)
        r->s[i] = open_session(r, r->depth, r->motion, W, H);
    r->rgb = gpu_host_get(r->g, W * H * 3);
    assert_non_null(r->rgb);
    for (int i = 0; i < W * H * 3; i++)
        r->rgb[i] = (uint8_t)(i * 7 % 251);
}

static void close_rig(struct rig *r)
{
    gpu_host_put(r->g, r->rgb, W * H * 3);
    for (int i = 0; i < SESSIONS; i++)
        gpu_session_free(&r->s[i]);
    gpu_model_close(&r->depth);
    gpu_model_close(&r->motion);
    gpu_close(&r->g);
    tiny_models_remove(r->models);
}

static void add(uint64_t *sum, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;

    for (size_t i = 0; i < n; i++)
        *sum = (*sum ^ p[i]) * 1099511628211u;
}

/* Everything of a result but its times. */
static void add_result(struct rig *r, struct gpu_frame *f)
{
    assert_true(f->result.n_valid > 0);
    add(&r->sum, &f->result, sizeof f->result);
    add(&r->sum, f->changes, f->result.n_changes * sizeof *f->changes);
}

static void run_frame(struct rig *r, int k)
{
    struct gpu_item *batch[SESSIONS];
    struct gpu_frame f[SESSIONS];
    struct gpu *g = r->g;
    struct err err = {0};

    for (int i = 0; i < SESSIONS; i++) {
        batch[i] = &f[i].item;
        f[i] = (struct gpu_frame){.item.session = r->s[i],
                                  .rgb = r->rgb,
                                  .width = W,
                                  .height = H,
                                  .K = scene_intrinsics(W, H),
                                  .has_pose = (k + i) % 3 != 0,
                                  .T_wc = scene_pose(0.02f * (float)k, 0.0f, 0.0f, 0.0f)};
    }
    if (gpu_submit(g, &gpu_line_mono, batch, SESSIONS, &err) || gpu_wait(g, batch, SESSIONS, &err))
        fail_msg("%s: %s", err.where, err.text);
    for (int i = 0; i < SESSIONS; i++)
        add_result(r, &f[i]);
}

/* More sizes than are kept for later, so networks go, too; and sessions of the size that runs. */
static void *disturb(void *arg)
{
    struct rig *r = arg;
    struct gpu_session *s[3];
    struct gpu_model *depth;
    struct gpu_info info;

    for (int k = 0; !atomic_load(&r->over); k++) {
        depth = open_model(r, GPU_MODEL_DEPTH);
        s[0] = open_session(r, r->depth, r->motion, W, H);
        s[1] = open_session(r, r->depth, NULL, 32 * (1 + k % 5), 32);
        s[2] = open_session(r, depth, r->motion, 32, 32 * (1 + k % 4));
        gpu_get_info(r->g, &info);
        for (int i = 0; i < 3; i++)
            gpu_session_free(&s[i]);
        gpu_model_close(&depth);
        atomic_fetch_add(&r->made, 3);
    }
    return NULL;
}

static uint64_t sum_of(const char *device, bool disturbed)
{
    static struct rig r;
    pthread_t thread;

    open_rig(&r, device);
    if (disturbed)
        assert_int_equal(pthread_create(&thread, NULL, disturb, &r), 0);
    for (int k = 0; k < FRAMES; k++) {
        run_frame(&r, k);
        for (int made = r.made, i = 0; disturbed && i < 200 && r.made == made; i++)
            usleep(500); /* the other one gets its time, and is at work when the next frame runs */
    }
    atomic_store(&r.over, true);
    if (disturbed) {
        pthread_join(thread, NULL);
        print_message("# %s: %d sessions were made beside %d frames\n", device, r.made,
                      SESSIONS * FRAMES);
        assert_true(r.made >= 30);
    }
    close_rig(&r);
    return r.sum;
}

static void check(const char *device)
{
    uint64_t alone = sum_of(device, false);

    assert_true(sum_of(device, false) == alone);
    assert_true(sum_of(device, true) == alone);
}

TEST(on_the_cpu)
{
    check("cpu");
}

TEST(on_cuda)
{
    check("cuda");
}
