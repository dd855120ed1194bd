/*
 * sensor_case.h - what a depth sensor beside the colour camera sees of the drawn room
 */
#pragma once

#include "gpu/gpu.h"
#include "tests/support/scene.h"

#include <stdlib.h>
#include <string.h>

struct sensor_case {
    struct gpu_sensor sensor;
    uint16_t *values;
    uint8_t *sure;
    float *depth;
};

/* A sensor of w x h pixels and 70 degrees, `aside` metres to the right of the colour camera and
 * turned a little. */
static inline int sensor_case_open(struct sensor_case *c, int w, int h, float aside, int inverse)
{
    size_t n = (size_t)w * (size_t)h;
    struct rigid T_cs = scene_pose(aside, 0.0f, 0.0f, aside);

    c->values = (uint16_t *)calloc(n, sizeof *c->values);
    c->sure = (uint8_t *)malloc(n);
    c->depth = (float *)malloc(n * sizeof *c->depth);
    if (!c->values || !c->sure || !c->depth)
        return -1;
    memset(c->sure, 255, n);
    c->sensor.values = c->values;
    c->sensor.sure = c->sure;
    c->sensor.width = w;
    c->sensor.height = h;
    c->sensor.inverse = inverse;
    c->sensor.K = scene_intrinsics(w, h);
    c->sensor.K.fx *= 0.86f;
    c->sensor.K.fy *= 0.86f;
    c->sensor.T_cs = T_cs;
    return 0;
}

static inline void sensor_case_close(struct sensor_case *c)
{
    free(c->values);
    free(c->sure);
    free(c->depth);
}

/* What it sees when the colour camera is at T_wc. */
static inline void sensor_case_draw(struct sensor_case *c, const struct scene *scene,
                                    const struct rigid *T_wc)
{
    struct rigid T_ws = rigid_mul(T_wc, &c->sensor.T_cs);
    int w = c->sensor.width, h = c->sensor.height;

    scene_draw(scene, &T_ws, c->sensor.K, w, h, c->depth, NULL);
    for (int i = 0; i < w * h; i++)
        c->values[i] =
            (uint16_t)((c->sensor.inverse ? 6553.5f / c->depth[i] : c->depth[i] * 1000.0f) + 0.5f);
}
