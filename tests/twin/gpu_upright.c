/*
 * gpu_upright - a picture that lies on its side and is put upright for the depth network has, pixel
 * by pixel, the depth of the same picture that was turned before it came
 *
 * Bound:   equal bits: sums of boxes are whole numbers, the network's input is the same, and its
 *          focal length is (fx = fy)
 */
#include <stdlib.h>
#include <string.h>

#include "gpu/base/ops.h"
#include "gpu/mono/image_point.h"
#include "tests/support/gpu_case.h"
#include "tests/support/unit.h"

#define NET_W 96
#define NET_H 64
#define W 150 /* of the picture, whose boxes cut pixels */
#define H 100

static const struct intrinsics K = {120, 120, 70.5f, 52};

static struct gpu_session *session_of(struct gpu *g, struct gpu_model *m, int w, int h)
{
    const struct gpu_session_config c = {.line = &gpu_line_depth,
                                         .net_w = w,
                                         .net_h = h,
                                         .max_image_w = W > H ? W : H,
                                         .max_image_h = W > H ? W : H,
                                         .depth = m};

    return gpu_case_session(g, &c);
}

static int run(struct gpu *g, struct gpu_session *s, float *out, const uint8_t *rgb, int w, int h,
               int turn)
{
    struct gpu_frame f = {.item = {.session = s, .turn = turn},
                          .rgb = rgb,
                          .width = w,
                          .height = h,
                          .K = K,
                          .depth_out = out};
    struct gpu_item *item = &f.item;
    int rc = gpu_submit(g, &gpu_line_depth, &item, 1, NULL);

    return rc ? rc : gpu_wait(g, &item, 1, NULL);
}

static void on_device(const char *device)
{
    static uint8_t rgb[W * H * 3], turned[W * H * 3];
    static float depth[NET_W * NET_H], want[NET_W * NET_H];
    const struct gpu_config config = {.device = device, .batch = 4};
    const struct gpu_model_info info = {.kind = GPU_MODEL_DEPTH,
                                        .path = "gpu/models/depth.onnx",
                                        .std = {1, 1, 1},
                                        .output = GPU_OUTPUT_LOG,
                                        .focal_px = 100,
                                        .min_depth_m = 0.05f,
                                        .max_depth_m = 200,
                                        .multiple = 32};
    struct gpu_session *lying, *standing[2];
    struct gpu *g = gpu_case_open(&config);
    struct gpu_model *model = gpu_case_model(g, &info);

    for (int i = 0; i < W * H * 3; i++)
        rgb[i] = (uint8_t)(i / 3 % W + i / 3 / W / 2 + 40 * (i % 3) + (i * 37 & 31));
    lying = session_of(g, model, NET_W, NET_H);
    standing[0] = session_of(g, model, NET_W, NET_H);
    standing[1] = session_of(g, model, NET_H, NET_W);
    assert_int_equal(run(g, lying, depth, rgb, W, H, 1), ERR_INPUT);
    assert_false(gpu_session_is_sideways(lying));
    assert_int_equal(gpu_session_sideways(lying, NULL), 0);
    assert_int_equal(gpu_session_sideways(lying, NULL), 0);
    for (int turn = 0; turn < 4; turn++) {
        for (int i = 0; i < W * H; i++)
            memcpy(turned + 3 * (size_t)image_turned(i % W, i / W, W, H, turn), rgb + 3 * i, 3);
        assert_int_equal(run(g, lying, depth, rgb, W, H, turn), 0);
        assert_int_equal(
            run(g, standing[turn & 1], want, turned, turn & 1 ? H : W, turn & 1 ? W : H, 0), 0);
        for (int i = 0; i < NET_W * NET_H; i++) {
            float d = want[image_turned(i % NET_W, i / NET_W, NET_W, NET_H, turn)];

            assert_true(depth[i] > 0 && memcmp(&depth[i], &d, sizeof d) == 0);
        }
        assert_true(want[0] != want[NET_W * NET_H - 1]);
    }
    assert_int_equal(run(g, lying, depth, rgb, W, H, 4), ERR_INPUT);
    gpu_session_free(&lying);
    gpu_session_free(&standing[0]);
    gpu_session_free(&standing[1]);
    gpu_model_close(&model);
    gpu_close(&g);
}

TEST(as_if_it_had_come_upright)
{
    on_device("cpu");
}

TEST(and_on_cuda)
{
    on_device("cuda");
}

/* A corner of a 3 x 2 picture by hand, and four quarters that are none. */
TEST(quarters_turn_clockwise)
{
    assert_int_equal(image_turned(0, 0, 3, 2, 1), 1); /* top left goes to the top right of 2 x 3 */
    assert_int_equal(image_turned(0, 0, 3, 2, 2), 5);
    assert_int_equal(image_turned(0, 0, 3, 2, 3), 4);
    assert_int_equal(image_turned(2, 0, 3, 2, 1), 5);
    for (int i = 0; i < 6; i++) {
        int at = (int)image_turned(i % 3, i / 3, 3, 2, 1);

        assert_int_equal(image_turned(at % 2, at / 2, 2, 3, 3), i);
        at = (int)image_turned(i % 3, i / 3, 3, 2, 2);
        assert_int_equal(image_turned(at % 3, at / 3, 3, 2, 2), i);
    }
}
