/* The contract's front: devices, models and sessions that are refused, frames that do not fit, and
 * the network stages with two networks small enough to know their answers. */
#include <stdio.h>
#include <unistd.h>

#include "gpu/mono/image_point.h"
#include "gpu/mono/session_cpu.h"
#include "tests/support/passes.h"
#include "tests/support/pixel_nets.h"
#include "tests/support/scene.h"
#include "tests/support/unit.h"

#define W 64
#define H 48

static struct world {
    struct gpu *g;
    struct gpu_model_info depth_info, motion_info;
    struct gpu_model *depth, *motion;
    uint8_t rgb[W * H * 3];
} world;

/* Depth of 1...2 m for std 1; t = (previous red, current green, ray x), r = 0.1 (ray y, 0, 0). */
FIXTURE(set_up)
{
    const float motion_w[48] = {[0] = 1, [8 + 4] = 1, [16 + 6] = 1, [24 + 7] = 0.1f};
    const struct gpu_model_info depth = {.kind = GPU_MODEL_DEPTH,
                                         .name = "tiny depth",
                                         .path = "/tmp/gpu_open_depth_XXXXXX",
                                         .std = {1, 1, 1},
                                         .min_depth_m = 0.5f,
                                         .max_depth_m = 1.99f,
                                         .multiple = 8};
    const struct gpu_model_info motion = {.kind = GPU_MODEL_MOTION,
                                          .name = "tiny motion",
                                          .path = "/tmp/gpu_open_motion_XXXXXX",
                                          .std = {1, 1, 1},
                                          .rays = 1,
                                          .multiple = 16};
    const struct gpu_config device = {.device = "cpu", .threads = 1};
    memset(&world, 0, sizeof world);
    world.depth_info = depth;
    world.motion_info = motion;
    pixel_nets_write(world.depth_info.path, world.motion_info.path, motion_w);
    assert_int_equal(gpu_open(&world.g, &device, NULL), 0);
    assert_int_equal(gpu_model_open(&world.depth, world.g, &world.depth_info, NULL), 0);
    assert_int_equal(gpu_model_open(&world.motion, world.g, &world.motion_info, NULL), 0);
    return 0;
}

FIXTURE(tear_down)
{
    gpu_model_close(&world.depth);
    gpu_model_close(&world.motion);
    gpu_close(&world.g);
    unlink(world.depth_info.path);
    unlink(world.motion_info.path);
    return 0;
}

static struct gpu_session_config session_config(void)
{
    struct gpu_session_config c = {.line = &gpu_line_mono,
                                   .net_w = W,
                                   .net_h = H,
                                   .max_image_w = W,
                                   .max_image_h = H,
                                   .depth = world.depth,
                                   .motion = world.motion,
                                   .step_m = 0.001f,
                                   .max_points = 10000};
    fuse_params_default(&c.fuse);
    return c;
}

static struct gpu_frame frame_of(struct gpu_session *s)
{
    struct gpu_frame f = {
        .item.session = s, .rgb = world.rgb, .width = W, .height = H, .K = {50, 50, 21.5f, 28.5f}};
    return f;
}

static void fill(uint8_t r, uint8_t g)
{
    for (int i = 0; i < W * H; i++) {
        world.rgb[3 * i] = r;
        world.rgb[3 * i + 1] = g;
    }
}

TEST(devices_are_named_or_refused)
{
    static const char *const wrong[] = {"gpu", "cuda:", "cuda:x", "cuda:1234", "", "CPU"};
    struct gpu_config config = {.device = "auto", .threads = 1};
    struct gpu_info info;
    struct err err = {0};
    struct gpu *g;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        config.device = wrong[i];
        assert_int_equal(gpu_open(&g, &config, &err), ERR_INPUT);
        assert_string_equal(err.where, "/device");
        assert_null(g);
    }
    config.device = "cpu";
    config.threads = -1;
    assert_int_equal(gpu_open(&g, &config, &err), ERR_INPUT);
    assert_string_equal(err.where, "/threads");
    config.threads = 1;
    config.device = "auto";
    assert_int_equal(gpu_open(&g, &config, &err), 0);
    gpu_get_info(g, &info);
    assert_true(strstr(info.why, "auto: ") == info.why && strlen(info.why) > 20);
    assert_true(info.memory_total_bytes > 1u << 26);
    if (!backend_cuda) {
        assert_string_equal(info.backend, "cpu");
        assert_non_null(strstr(info.why, "no CUDA"));
        assert_int_equal(info.memory_used_bytes, 0);
        assert_true(isnan(info.temperature_c));
    }
    gpu_close(&g);
    assert_null(g);
    config.device = "cuda:0";
    if (!backend_cuda) {
        assert_int_equal(gpu_open(&g, &config, &err), ERR_UNSUPPORTED);
        assert_non_null(strstr(err.text, "CUDA=1"));
    }
}

TEST_WITH(models_are_checked, set_up, tear_down)
{
    struct gpu_model_info info;
    struct gpu_model *m;
    struct err err = {0};
    info = world.depth_info;
    info.std[1] = 0.0f;
    assert_int_equal(gpu_model_open(&m, world.g, &info, &err), ERR_INPUT);
    assert_string_equal(err.where, "/std");
    info = world.depth_info;
    info.output = GPU_OUTPUT_DISPARITY; /* without a range */
    assert_int_equal(gpu_model_open(&m, world.g, &info, &err), ERR_INPUT);
    assert_string_equal(err.where, "/disparity_range");
    info = world.depth_info;
    info.max_depth_m = 0.1f;
    assert_int_equal(gpu_model_open(&m, world.g, &info, &err), ERR_INPUT);
    assert_string_equal(err.where, "/min_depth");
    info = world.depth_info;
    snprintf(info.path, sizeof info.path, "/nonexistent/model.onnx");
    assert_int_not_equal(gpu_model_open(&m, world.g, &info, &err), 0);
    assert_null(m);
    info = world.motion_info; /* eight planes into a network that is said to take six */
    info.rays = 0;
    assert_int_equal(gpu_model_open(&m, world.g, &info, &err), ERR_UNSUPPORTED);
    info = world.motion_info;
    info.kind = GPU_MODEL_DEPTH;
    info.min_depth_m = 1.0f;
    info.max_depth_m = 2.0f;
    assert_int_equal(gpu_model_open(&m, world.g, &info, &err), ERR_UNSUPPORTED);
}

TEST_WITH(sessions_are_checked_and_counted, set_up, tear_down)
{
    struct gpu_session_config c;
    struct gpu_session *s = NULL, *t = NULL;
    struct gpu_info before, after;
    struct err err = {0};
    size_t bytes;
    c = session_config();
    c.net_h = 40; /* of 8, but not of 16 as the motion network asks */
    assert_int_equal(gpu_session_new(&s, world.g, &c, &err), ERR_INPUT);
    assert_string_equal(err.where, "/net_h");
    c = session_config();
    c.depth = NULL;
    assert_int_equal(gpu_session_new(&s, world.g, &c, &err), ERR_INPUT);
    c = session_config();
    c.depth = world.motion;
    assert_int_equal(gpu_session_new(&s, world.g, &c, &err), ERR_INPUT);
    c = session_config();
    c.step_m = 0.0f;
    assert_int_equal(gpu_session_new(&s, world.g, &c, &err), ERR_INPUT);
    assert_string_equal(err.where, "/step");
    c = session_config();
    c.max_points = 0;
    assert_int_equal(gpu_session_new(&s, world.g, &c, &err), ERR_INPUT);
    c = session_config();
    c.fuse.w0 = 0.0f;
    assert_int_equal(gpu_session_new(&s, world.g, &c, &err), ERR_INPUT);
    assert_string_equal(err.where, "/fusion/w0");
    assert_null(s);
    /* what admission counts is what is held; the second session shares the plans of the first */
    c = session_config();
    bytes = gpu_session_bytes(&c);
    assert_int_equal(gpu_session_new(&s, world.g, &c, &err), 0);
    gpu_get_info(world.g, &before);
    assert_true(before.memory_used_bytes > bytes);
    assert_int_equal(gpu_session_new(&t, world.g, &c, &err), 0);
    gpu_get_info(world.g, &after);
    assert_int_equal(after.memory_used_bytes - before.memory_used_bytes, bytes);
    c.max_points *= 3;
    assert_true(gpu_session_bytes(&c) >= bytes + 20000 * 72);
    gpu_session_free(&s);
    gpu_session_free(&s);
    gpu_session_free(&t);
}

/* Plans of sizes that no session uses do not pile up. */
TEST_WITH(unused_plans_are_given_back, set_up, tear_down)
{
    struct gpu_info first, last;
    for (int i = 1; i <= 12; i++) {
        struct gpu_session_config c = session_config();
        struct gpu_session *s;
        c.net_w = 16 * i;
        c.net_h = 16 * (13 - i);
        assert_int_equal(gpu_session_new(&s, world.g, &c, NULL), 0);
        gpu_session_free(&s);
        gpu_get_info(world.g, i == 3 ? &first : &last);
    }
    assert_true(last.memory_used_bytes < 3 * first.memory_used_bytes);
}

TEST_WITH(frames_that_do_not_fit_are_refused, set_up, tear_down)
{
    struct gpu_session_config c;
    struct gpu_session *s;
    struct gpu_frame f, g;
    struct gpu_item *batch[2] = {&f.item, &g.item};
    const struct gpu_line other = gpu_line_mono;
    struct err err = {0};
    c = session_config();
    c.motion = NULL;
    assert_int_equal(gpu_session_new(&s, world.g, &c, &err), 0);
    f = frame_of(s);
    assert_int_equal(gpu_submit(world.g, &gpu_line_mono, batch, 1, &err),
                     ERR_INPUT); /* no pose, no network for it */
    f.has_pose = 1;
    f.T_wc = rigid_identity();
    assert_int_equal(gpu_submit(world.g, &gpu_line_mono, batch, 1, &err), 0);
    assert_int_equal(gpu_submit(world.g, &gpu_line_mono, batch, 0, &err), ERR_INPUT);
    assert_int_equal(gpu_submit(world.g, &gpu_line_mono, batch, GPU_BATCH_MAX + 1, &err),
                     ERR_INPUT);
    assert_int_equal(gpu_submit(world.g, &other, batch, 1, &err), ERR_INPUT); /* not its line */
    g = f;
    assert_int_equal(gpu_submit(world.g, &gpu_line_mono, batch, 2, &err),
                     ERR_INPUT); /* one session twice */
    f.width = W + 1;
    assert_int_equal(gpu_submit(world.g, &gpu_line_mono, batch, 1, &err), ERR_INPUT);
    f = g;
    f.rgb = NULL;
    assert_int_equal(gpu_submit(world.g, &gpu_line_mono, batch, 1, &err), ERR_INPUT);
    f = g;
    f.item.session = NULL;
    assert_int_equal(gpu_submit(world.g, &gpu_line_mono, batch, 1, &err), ERR_INPUT);
    f = g;
    f.K.fx = NAN;
    assert_int_equal(gpu_submit(world.g, &gpu_line_mono, batch, 1, &err), ERR_INPUT);
    f.K.fx = 1e-30f; /* its rays would be infinite */
    assert_int_equal(gpu_submit(world.g, &gpu_line_mono, batch, 1, &err), ERR_INPUT);
    f = g;
    f.T_wc.t[1] = INFINITY;
    assert_int_equal(gpu_submit(world.g, &gpu_line_mono, batch, 1, &err), ERR_INPUT);
    f = g;
    f.T_wc.t[1] = 2e6f;
    assert_int_equal(gpu_submit(world.g, &gpu_line_mono, batch, 1, &err), ERR_INPUT);
    f = g;
    f.T_wc.r[0] = 1.1f;
    assert_int_equal(gpu_submit(world.g, &gpu_line_mono, batch, 1, &err), ERR_INPUT);
    f.T_wc.r[0] = -1.0f; /* a mirror */
    assert_int_equal(gpu_submit(world.g, &gpu_line_mono, batch, 1, &err), ERR_INPUT);
    assert_int_equal(gpu_submit(world.g, &gpu_line_mono, NULL, 1, &err), ERR_INPUT);
    gpu_session_free(&s);
}

static int run_frame(struct gpu_frame *f)
{
    struct gpu_item *item = &f->item;
    int rc = gpu_submit(world.g, &gpu_line_mono, &item, 1, NULL);

    return rc ? rc : gpu_wait(world.g, &item, 1, NULL);
}

/* Red 51 of 255: depth 1.2 m; red 254: 1.996 m, beyond max_depth_m, so none. */
TEST_WITH(depth_comes_from_the_network, set_up, tear_down)
{
    static float depth[W * H];
    struct gpu_session_config c;
    struct gpu_session *s;
    struct gpu_frame f;
    c = session_config();
    assert_int_equal(gpu_session_new(&s, world.g, &c, NULL), 0);
    f = frame_of(s);
    f.depth_out = depth;
    fill(51, 0);
    world.rgb[3 * (5 * W + 7)] = 254;
    assert_int_equal(run_frame(&f), 0);
    for (int i = 0; i < W * H; i++)
        assert_true(fabsf(depth[i] - (i == 5 * W + 7 ? 0.0f : 1.0f + image_half(0.2f))) < 1e-5f);
    assert_true(pass_us(&f.item, "depth") > 0.0f);
    gpu_session_free(&s);
}

/* Rows of mono's, the first ones and the last. */
static struct gpu_stage flat_stages[4];

static int any_picture_fits(const struct gpu_item *item, struct err *err)
{
    (void)item;
    (void)err;
    return 0;
}

/* A line of its own, made of stages that are there: depth alone, and no map. */
TEST_WITH(a_line_without_a_map_needs_no_memory_for_one, set_up, tear_down)
{
    static const char *const names[4] = {"upload", "image", "depth", "download"};
    const struct gpu_session_ops ops = {.bytes = gpu_line_mono.cpu->bytes,
                                        .make = gpu_line_mono.cpu->make,
                                        .free = gpu_line_mono.cpu->free};
    const struct gpu_line flat = {.name = "flat",
                                  .stages = flat_stages,
                                  .n_stages = 4,
                                  .needs = 1u << GPU_MODEL_DEPTH,
                                  .check = any_picture_fits,
                                  .cpu = &ops};
    static float depth[W * H];
    uint8_t nothing = 0;
    size_t len = 1;
    struct gpu_session_config c;
    struct gpu_session *s;
    struct gpu_frame f;
    struct gpu_item *item = &f.item;

    for (int i = 0, k = 0; i < gpu_line_mono.n_stages; i++)
        if (!strcmp(gpu_line_mono.stages[i].name, names[k]))
            flat_stages[k++] = gpu_line_mono.stages[i];
    c = session_config();
    assert_int_equal(gpu_session_new(&s, world.g, &c, NULL), 0);
    gpu_session_free(&s);
    c.line = &flat;
    assert_int_equal(gpu_session_new(&s, world.g, &c, NULL),
                     ERR_INPUT); /* it takes no motion network */
    c.motion = NULL;
    c.max_points = 0; /* is not looked at */
    assert_true(gpu_session_bytes(&c) < 100 * W * H);
    assert_int_equal(gpu_session_new(&s, world.g, &c, NULL), 0);
    f = frame_of(s);
    f.depth_out = depth;
    fill(51, 0);
    assert_int_equal(gpu_submit(world.g, &gpu_line_mono, &item, 1, NULL), ERR_INPUT);
    assert_int_equal(gpu_submit(world.g, &flat, &item, 1, NULL), 0);
    assert_int_equal(gpu_wait(world.g, &item, 1, NULL), 0);
    assert_true(fabsf(depth[W] - 1.0f - image_half(0.2f)) < 1e-5f);
    assert_int_equal(f.item.n_passes, 4);
    assert_string_equal(f.item.passes[3].name, "download");
    assert_int_equal(gpu_session_state_bytes(s), 0);
    assert_int_equal(gpu_session_save(s, &nothing, 0, &len, NULL), 0);
    assert_int_equal(len, 0);
    assert_int_equal(gpu_session_load(s, &nothing, 0, NULL), 0);
    assert_int_equal(gpu_session_load(s, &nothing, 1, NULL), ERR_INPUT);
    gpu_session_free(&s);
}

TEST(lines_are_found_by_name)
{
    assert_ptr_equal(gpu_line_at(0), &gpu_line_mono);
    assert_ptr_equal(gpu_line_find("mono"), &gpu_line_mono);
    assert_null(gpu_line_find("stereo"));
    assert_null(gpu_line_at(-1));
    assert_null(gpu_line_at(1000));
}

/* Mean ray: (31.5 - 21.5)/50 = 0.2 across, (23.5 - 28.5)/50 = -0.1 down. */
TEST_WITH(motion_comes_from_the_network, set_up, tear_down)
{
    struct rigid I = rigid_identity(), first;
    struct gpu_session_config c;
    struct gpu_session *s;
    struct gpu_frame f;
    c = session_config();
    assert_int_equal(gpu_session_new(&s, world.g, &c, NULL), 0);
    f = frame_of(s);
    fill(51, 102);
    assert_int_equal(run_frame(&f), 0);
    assert_memory_equal(&f.result.T_wc, &I, sizeof I); /* nothing before it */
    fill(153, 204);
    assert_int_equal(run_frame(&f), 0);
    first = f.result.T_wc;
    assert_true(fabsf(first.t[0] - image_half(0.2f)) < 1e-4f); /* red of the previous picture */
    assert_true(fabsf(first.t[1] - image_half(0.8f)) < 1e-4f); /* green of this one */
    assert_true(fabsf(first.t[2] - 0.2f) < 1e-4f);
    assert_true(fabsf(first.r[7] - sinf(-0.01f)) < 1e-5f); /* turned by -0.01 about x */
    f.restart = 1;
    assert_int_equal(run_frame(&f), 0);
    assert_memory_equal(&f.result.T_wc, &first, sizeof first); /* the picture before says nothing */
    f.restart = 0;
    assert_int_equal(run_frame(&f), 0); /* previous red 0.6 */
    assert_true(fabsf(f.result.T_wc.t[0] - 0.8f) < 1e-4f);
    assert_true(fabsf(f.result.T_wc.r[7] - sinf(-0.02f)) < 1e-5f);
    f.has_pose = 1; /* a pose that came with the frame takes its place, and is built upon */
    f.T_wc = scene_pose(5, 0, 0, 0);
    assert_int_equal(run_frame(&f), 0);
    assert_memory_equal(&f.result.T_wc, &f.T_wc, sizeof f.T_wc);
    f.has_pose = 0;
    assert_int_equal(run_frame(&f), 0);
    assert_true(fabsf(f.result.T_wc.t[0] - 5.6f) < 1e-4f);
    gpu_session_free(&s);
}
