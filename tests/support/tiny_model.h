/*
 * tiny_model.h - a folder with a depth and a motion network of one convolution each, with sidecars
 *
 * The depth network answers TINY_DEPTH_M everywhere, the motion network no motion.
 */
#pragma once

#include "tests/support/onnx_build.h"
#include "tests/support/scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TINY_DEPTH_M 2.0f

static inline void tiny_write(const char *dir, const char *name, const void *data, size_t len)
{
    char path[512];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    f = fopen(path, "wb");
    if (!f || fwrite(data, 1, len, f) != len || fclose(f))
        abort();
}

static inline void tiny_net(const char *dir, const char *name, int channels, int out,
                            float bias_value)
{
    float w[6 * 8] = {0}, bias[6];
    struct onnx_build b;

    for (int i = 0; i < 6; i++)
        bias[i] = bias_value;
    onnx_begin(&b, 13);
    onnx_input(&b, "x", -1, channels, -1, -1);
    onnx_f32(&b, "w", 4, (const int64_t[]){out, channels, 1, 1}, w);
    onnx_f32(&b, "b", 1, (const int64_t[]){out}, bias);
    onnx_node(&b, "Conv", "x w b", out == 1 ? "y" : "c");
    if (out == 6)
        onnx_node(&b, "GlobalAveragePool", "c", "y");
    onnx_end(&b, "y");
    tiny_write(dir, name, b.file.p, b.file.n);
    onnx_free(&b);
}

/* Out: dir, the new folder's path. */
static inline void tiny_models(char dir[SCRATCH_CAP])
{
    static const char depth[] =
        "[model]\nkind = depth\noutput = depth\nmultiple = 32\nlicence = none\n";
    static const char motion[] = "[model]\nkind = motion\nlicence = none\n";

    scratch_path(dir, "models");
    if (!mkdtemp(dir))
        abort();
    tiny_net(dir, "flat.onnx", 3, 1, TINY_DEPTH_M);
    tiny_net(dir, "still.onnx", 6, 6, 0);
    tiny_write(dir, "flat.ini", depth, sizeof(depth) - 1);
    tiny_write(dir, "still.ini", motion, sizeof(motion) - 1);
}

static inline void tiny_models_remove(const char *dir)
{
    static const char *const names[] = {"flat.onnx", "flat.ini", "still.onnx", "still.ini"};
    char path[512];

    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        unlink(path);
    }
    rmdir(dir);
}
