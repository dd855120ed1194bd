/*
 * gpu_depth - the line of depth maps on CUDA against the CPU: the map that was put in comes out of
 * both, frame by frame and in batches beside each other, and a session holds no more than it needs
 */
#include "gpu/base/ops.h"
#include "tests/support/gpu_case.h"
#include "tests/support/scene.h"
#include "tests/support/unit.h"

#include <string.h>

#define W 99
#define H 35
#define N 3
#define FRAMES 6

static float depth[N][W * H], out[N][W * H];
static uint8_t rgb[W * H * 3];

static struct gpu_session_config config_of(const struct gpu_line *line)
{
    struct gpu_session_config c = {.line = line,
                                   .net_w = W,
                                   .net_h = H,
                                   .max_image_w = W,
                                   .max_image_h = H,
                                   .step_m = 0.001f,
                                   .max_points = 1u << 16};

    fuse_params_default(&c.fuse);
    return c;
}

static void run(struct gpu *g)
{
    const struct gpu_session_config c = config_of(&gpu_line_depth);
    const struct gpu_session_ops *ops = g->ops->session(&gpu_line_depth);
    struct gpu_session *s[N];
    struct err err = {0};

    for (int i = 0; i < N; i++)
        if (gpu_session_make(&s[i], g, &c, &err))
            fail_msg("%s", err.text);
    for (int f = 0; f < FRAMES; f++) {
        struct gpu_frame frames[N];
        struct gpu_item *items[N];

        for (int i = 0; i < N; i++) {
            struct rigid T = scene_pose(0.02f * (float)f, 0.0f, -1.5f - 0.1f * (float)i, 0.0f);
            struct scene scene = scene_make();

            scene_draw(&scene, &T, scene_intrinsics(W, H), W, H, depth[i], rgb);
            frames[i] = (struct gpu_frame){.item.session = s[i],
                                           .rgb = rgb,
                                           .width = W,
                                           .height = H,
                                           .K = scene_intrinsics(W, H),
                                           .depth_out = out[i]};
            items[i] = &frames[i].item;
            memset(out[i], 0xff, sizeof out[i]);
            assert_int_equal(ops->put_depth(s[i], depth[i], &err), 0);
        }
        gpu_case_run(g, &gpu_line_depth, items, N);
        for (int i = 0; i < N; i++) {
            assert_memory_equal(out[i], depth[i], sizeof out[i]);
            assert_true(items[i]->n_passes >= 2 && items[i]->n_passes <= 4);
            assert_int_equal(frames[i].result.n_changes, 0);
        }
    }
    for (int i = 0; i < N; i++)
        gpu_session_free(&s[i]);
}

static void no_map_no_memory(const struct gpu *g)
{
    const struct gpu_session_config depth_config = config_of(&gpu_line_depth);
    const struct gpu_session_config mono_config = config_of(&gpu_line_mono);
    size_t small = g->ops->session(&gpu_line_depth)->bytes(&depth_config);

    assert_true(small < 64 * W * H);
    assert_true(small < g->ops->session(&gpu_line_mono)->bytes(&mono_config) / 10);
}

static void on_device(const char *device)
{
    const struct gpu_config config = {.device = device, .batch = 4};
    struct gpu *g = gpu_case_open(&config);

    run(g);
    no_map_no_memory(g);
    gpu_close(&g);
}

TEST(the_map_comes_out)
{
    on_device("cpu");
}

TEST(the_map_comes_out_of_cuda)
{
    on_device("cuda");
}
