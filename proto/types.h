/*
 * types.h - the few types that every folder speaks: vectors, rigid transforms, pinhole intrinsics
 *
 * Frames:  camera frame x right, y down, z forward (OpenCV); world frame right-handed, as the first
 *          pose of the session defines it. T_wc takes camera points to world, T_cw = inverse.
 * Units:   metres, pixels (pixel centres at integer coordinates), radians.
 *
 * nvcc reads this header: plain C that is also C++, nothing else.
 */
#ifndef RECOND_PROTO_TYPES_H
#define RECOND_PROTO_TYPES_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __CUDACC__
#define GPU_HD __host__ __device__
#else
#define GPU_HD
#endif

/* The structure whose member `pointer` points to. */
#define CONTAINER_OF(pointer, type, member) \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

struct vec3 {
    float x, y, z;
};

/* p' = R p + t; r is row-major and orthonormal with determinant 1. */
struct rigid {
    float r[9];
    float t[3];
};

/* u = fx x/z + cx, v = fy y/z + cy. */
struct intrinsics {
    float fx, fy, cx, cy;
};

GPU_HD static inline struct vec3 vec3_make(float x, float y, float z)
{
    struct vec3 v;
    v.x = x;
    v.y = y;
    v.z = z;
    return v;
}

GPU_HD static inline struct vec3 vec3_sub(struct vec3 a, struct vec3 b)
{
    return vec3_make(a.x - b.x, a.y - b.y, a.z - b.z);
}

GPU_HD static inline float vec3_norm2(struct vec3 a)
{
    return a.x * a.x + a.y * a.y + a.z * a.z;
}

GPU_HD static inline struct rigid rigid_identity(void)
{
    struct rigid T = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}};
    return T;
}

GPU_HD static inline struct vec3 rigid_apply(const struct rigid *T, struct vec3 p)
{
    return vec3_make(T->r[0] * p.x + T->r[1] * p.y + T->r[2] * p.z + T->t[0],
                     T->r[3] * p.x + T->r[4] * p.y + T->r[5] * p.z + T->t[1],
                     T->r[6] * p.x + T->r[7] * p.y + T->r[8] * p.z + T->t[2]);
}

/* The inverse of an orthonormal transform. */
GPU_HD static inline struct rigid rigid_inverse(const struct rigid *T)
{
    struct rigid I;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            I.r[3 * i + j] = T->r[3 * j + i];
    for (int i = 0; i < 3; i++)
        I.t[i] = -(I.r[3 * i] * T->t[0] + I.r[3 * i + 1] * T->t[1] + I.r[3 * i + 2] * T->t[2]);
    return I;
}

/* a after b: (a*b)(p) = a(b(p)). */
GPU_HD static inline struct rigid rigid_mul(const struct rigid *a, const struct rigid *b)
{
    struct rigid T;
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++)
            T.r[3 * i + j] = a->r[3 * i] * b->r[j] + a->r[3 * i + 1] * b->r[3 + j] +
                             a->r[3 * i + 2] * b->r[6 + j];
        T.t[i] =
            a->r[3 * i] * b->t[0] + a->r[3 * i + 1] * b->t[1] + a->r[3 * i + 2] * b->t[2] + a->t[i];
    }
    return T;
}

/* Intrinsics of the same camera after its picture was resized from (w, h) to (w2, h2), pixel
 * centres at integers: u2 = (u + 1/2) w2/w - 1/2. */
GPU_HD static inline struct intrinsics intrinsics_scale(struct intrinsics K, int w, int h, int w2,
                                                        int h2)
{
    struct intrinsics S;
    float sx = (float)w2 / (float)w, sy = (float)h2 / (float)h;
    S.fx = K.fx * sx;
    S.fy = K.fy * sy;
    S.cx = (K.cx + 0.5f) * sx - 0.5f;
    S.cy = (K.cy + 0.5f) * sy - 0.5f;
    return S;
}

#endif
