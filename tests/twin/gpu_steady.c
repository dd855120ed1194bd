/*
 * gpu_steady - what the CUDA run-time is asked for while frames run: no allocation and nothing on
 * the default stream; and while sessions come and go beside a warm one: no allocation either
 *
 * Whole frames with both networks, two batches under way. The calls are watched where they leave
 * our objects (tests/support/watch_cuda.h).
 */
#include "gpu/gpu.h"
#include "tests/support/gpu_case.h"
#include "tests/support/scene.h"
#include "tests/support/tiny_model.h"
#include "tests/support/watch_cuda.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

#define W 64
#define H 64
#define SESSIONS 4 /* two in each of two batches */

struct rig {
    struct gpu *g;
    struct gpu_model *depth, *motion;
    struct gpu_session *s[SESSIONS];
    struct gpu_frame f[SESSIONS];
    uint8_t *rgb;
    int next; /* of the walk */
};

static struct gpu_model *open_model(struct gpu *g, const char *dir, const char *file,
                                    enum gpu_model_kind kind)
{
    struct gpu_model_info info = {.kind = kind,
                                  .std = {1.0f, 1.0f, 1.0f},
                                  .output = GPU_OUTPUT_DEPTH,
                                  .min_depth_m = 0.1f,
                                  .max_depth_m = 50.0f,
                                  .multiple = 32};

    snprintf(info.name, sizeof info.name, "%s", file);
    snprintf(info.path, sizeof info.path, "%s/%s", dir, file);
    return gpu_case_model(g, &info);
}

static struct gpu_session *open_session(struct rig *r)
{
    struct gpu_session_config c = {.line = &gpu_line_mono,
                                   .net_w = W,
                                   .net_h = H,
                                   .max_image_w = W,
                                   .max_image_h = H,
                                   .depth = r->depth,
                                   .motion = r->motion,
                                   .step_m = 0.001f,
                                   .max_points = 1u << 16};

    fuse_params_default(&c.fuse);
    return gpu_case_session(r->g, &c);
}

static void open_rig(struct rig *r)
{
    const struct gpu_config config = {.device = "cuda", .batch = 4, .reserve_bytes = 1u << 30};
    char dir[64];

    memset(r, 0, sizeof *r);
    r->g = gpu_case_open(&config);
    tiny_models(dir);
    r->depth = open_model(r->g, dir, "flat.onnx", GPU_MODEL_DEPTH);
    r->motion = open_model(r->g, dir, "still.onnx", GPU_MODEL_MOTION);
    tiny_models_remove(dir);
    for (int i = 0; i < SESSIONS; i++)
        r->s[i] = open_session(r);
    r->rgb = (uint8_t *)gpu_host_get(r->g, W * H * 3);
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
}

/* Two sessions' next frames. */
static void start(struct rig *r, int first)
{
    struct gpu_item *batch[2];
    struct err err = {0};

    for (int i = 0; i < 2; i++) {
        struct gpu_frame *f = &r->f[first + i];

        *f = (struct gpu_frame){.item.session = r->s[first + i],
                                .rgb = r->rgb,
                                .width = W,
                                .height = H,
                                .K = scene_intrinsics(W, H),
                                .has_pose = r->next % 2,
                                .T_wc = scene_pose(0.01f * (float)r->next, 0, -1.5f, 0)};
        batch[i] = &f->item;
    }
    r->next++;
    if (gpu_submit(r->g, &gpu_line_mono, batch, 2, &err))
        fail_msg("%s", err.text);
}

static void finish(struct rig *r, int first)
{
    struct gpu_item *batch[2] = {&r->f[first].item, &r->f[first + 1].item};
    struct err err = {0};

    if (gpu_wait(r->g, batch, 2, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < 2; i++) {
        assert_true(r->f[first + i].result.n_valid > 0);
        assert_true(batch[i]->device_us > 0.0f);
    }
}

static void run(struct rig *r, int frames)
{
    start(r, 0);
    for (int i = 1; i < frames; i++) {
        start(r, i % 2 * 2);
        finish(r, (i + 1) % 2 * 2);
    }
    finish(r, (frames + 1) % 2 * 2);
}

TEST(the_watch_sees_what_it_is_there_for)
{
    struct watch_cuda w;

    gpu_case_need_cuda();
    watch_cuda_begin();
    assert_int_equal(watch_cuda_misbehave(), 0);
    w = watch_cuda_end();
    assert_int_equal(w.made, 1);
    assert_int_equal(w.streamless, 3);
    assert_string_equal(w.offender, "cudaMalloc");
}

TEST(frames_allocate_nothing_and_name_their_streams)
{
    struct watch_cuda w;
    struct rig r;

    gpu_case_need_cuda();
    watch_cuda_begin();
    open_rig(&r);
    w = watch_cuda_end();
    print_message("# to open: %d things made, %d calls with a stream\n", w.made, w.streamed);
    assert_true(w.made > 10 && w.streamed > 20); /* our objects' calls do come by */
    assert_int_equal(w.streamless, 0);
    run(&r, 20);
    watch_cuda_begin();
    run(&r, 100);
    w = watch_cuda_end();
    print_message("# 100 batches: %d calls with a stream\n", w.streamed);
    if (w.made || w.streamless)
        fail_msg("%d made, %d without a stream; the first: %s", w.made, w.streamless, w.offender);
    /* two copies, two events, a wait, a graph; a second wait and what tells the host */
    assert_true(w.streamed >= 100 * 8);
    close_rig(&r);
}

TEST(sessions_come_and_go_without_the_driver)
{
    struct gpu_session *s;
    struct watch_cuda w;
    struct rig r;

    gpu_case_need_cuda();
    open_rig(&r);
    start(&r, 0);
    watch_cuda_begin();
    for (int i = 0; i < 20; i++) {
        s = open_session(&r);
        gpu_session_free(&s);
    }
    w = watch_cuda_end();
    finish(&r, 0);
    if (w.made || w.streamless)
        fail_msg("%d made, %d without a stream; the first: %s", w.made, w.streamless, w.offender);
    assert_true(w.streamed >= 20 * 4);
    close_rig(&r);
}
