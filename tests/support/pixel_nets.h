/*
 * pixel_nets.h - a depth and a motion network whose answers follow from pixels by hand
 *
 * depth = red + 1; each of the six values of the motion is the mean of weighted planes: three of
 * the previous picture, three of this one, the ray's x and y.
 */
#ifndef RECOND_TESTS_SUPPORT_PIXEL_NETS_H
#define RECOND_TESTS_SUPPORT_PIXEL_NETS_H

#include "tests/support/onnx_build.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <unistd.h>

static inline void pixel_net_write(struct onnx_build *b, const char *result, char *path)
{
    int fd = mkstemp(path);

    onnx_end(b, result);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, b->file.p, b->file.n), (ssize_t)b->file.n);
    close(fd);
    onnx_free(b);
}

/* Paths end in XXXXXX and become the files' names. */
static inline void pixel_nets_write(char *depth_path, char *motion_path, const float motion_w[48])
{
    const int64_t dw[4] = {1, 3, 1, 1}, mw[4] = {6, 8, 1, 1}, one = 1;
    const float depth_w[3] = {1, 0, 0}, depth_b = 1;
    struct onnx_build b;

    onnx_begin(&b, 13);
    onnx_input(&b, "picture", 1, 3, -1, -1);
    onnx_f32(&b, "w", 4, dw, depth_w);
    onnx_f32(&b, "b", 1, &one, &depth_b);
    onnx_node(&b, "Conv", "picture w b", "metres");
    pixel_net_write(&b, "metres", depth_path);
    onnx_begin(&b, 13);
    onnx_input(&b, "pair", 1, 8, -1, -1);
    onnx_f32(&b, "w", 4, mw, motion_w);
    onnx_node(&b, "Conv", "pair w", "planes");
    onnx_node(&b, "GlobalAveragePool", "planes", "motion");
    pixel_net_write(&b, "motion", motion_path);
}

#endif
