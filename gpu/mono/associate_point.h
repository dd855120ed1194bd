/*
 * associate_point.h - whether a pixel is fused, and which points it observes and sees through
 *
 * Maths:   MATH.md (E1), (1), (2), (A1), (A3)
 */
#pragma once

#include "gpu/gpu.h"
#include "gpu/base/point.h"

/* The median depth comes from a histogram of float bits, which does not depend on the order of
 * pixels: 128 bins an octave from 2^-7 m to 2^9 m. */
#define ASSOCIATE_BINS 2048
#define ASSOCIATE_BIN_SHIFT 16
#define ASSOCIATE_BIN_FIRST ((127 - 7) << 7)

GPU_HD static inline int associate_step(float z, float neighbour, float edge_rel)
{
    float nearer = z < neighbour ? z : neighbour;
    return neighbour > 0.0f && fabsf(z - neighbour) > edge_rel * nearer;
}

/*
 * (E1) The depth that pixel (x, y) is fused with. It is 0 = not fused without depth, outside the
 * range, without trust (trust may be NULL), or beside a step, because networks blur edges and
 * blurred edges become points in the air.
 */
GPU_HD static inline float associate_depth(const float *depth, const uint8_t *trust, int x, int y,
                                           int w, int h, float edge_rel,
                                           const struct fuse_params *p)
{
    const float *d = depth + (size_t)y * w + x;
    float z = *d;
    if (!(z >= p->min_depth_m && z <= p->max_depth_m) || (trust && trust[(size_t)y * w + x] == 0))
        return 0.0f;
    if (edge_rel > 0.0f && ((x > 0 && associate_step(z, d[-1], edge_rel)) ||
                            (x + 1 < w && associate_step(z, d[1], edge_rel)) ||
                            (y > 0 && associate_step(z, d[-w], edge_rel)) ||
                            (y + 1 < h && associate_step(z, d[w], edge_rel))))
        return 0.0f;
    return z;
}

GPU_HD static inline int associate_bin(float z)
{
    int b = (int)(point_float_bits(z) >> ASSOCIATE_BIN_SHIFT) - ASSOCIATE_BIN_FIRST;
    return b < 0 ? 0 : b >= ASSOCIATE_BINS ? ASSOCIATE_BINS - 1 : b;
}

/* The depth in the middle of a bin. */
GPU_HD static inline float associate_bin_depth(int bin)
{
    uint32_t bits = ((uint32_t)(bin + ASSOCIATE_BIN_FIRST) << ASSOCIATE_BIN_SHIFT) |
                    1u << (ASSOCIATE_BIN_SHIFT - 1);
    float z;
    memcpy(&z, &bits, sizeof z);
    return z;
}

/* (A1) A candidate farther than the gate is another surface. */
GPU_HD static inline int associate_in_gate(float distance2, float z, float gate_rel)
{
    float gate = gate_rel * z;
    return distance2 <= gate * gate;
}

/*
 * (A3) Does the frame see through p? Its projection must meet usable depth that lies behind it by
 * more than carve_rel of that depth.
 * Out:     z depth of p in the frame, if so
 */
GPU_HD static inline int associate_through(const struct camera *c, const float *usable,
                                           struct vec3 p, float carve_rel, float *z)
{
    uint32_t pixel;
    if (!point_project(c, p, &pixel, z))
        return 0;
    return usable[pixel] > 0.0f && *z < usable[pixel] * (1.0f - carve_rel);
}
