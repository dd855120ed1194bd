/*
 * motion_point.h - from the six values of an ego-motion network to the pose of a frame
 *
 * In:      m = (t, r): T_prev<-cur = [exp(r^) | t], the current camera seen from the previous one,
 *          metres and radians. The translation stands as it is (not multiplied by the left Jacobian
 *          of SE(3)).
 * Maths:   MATH.md (M1)-(M4). In double: this runs once a frame, and errors add up over a session.
 */
#pragma once

#include "gpu/base/point.h"
#include "gpu/gpu.h"
#include "gpu/track/path_point.h"

/* (M1) Rodrigues: R = I + a r^ + b r^ r^, a = sin(t)/t, b = (1 - cos(t))/t^2, by series near
 * zero. */
GPU_HD static inline void motion_rotation(const double r[3], double R[9])
{
    double t2 = r[0] * r[0] + r[1] * r[1] + r[2] * r[2], t = sqrt(t2), a, b;
    if (t < 1e-4) {
        a = 1.0 - t2 / 6.0;
        b = 0.5 - t2 / 24.0;
    } else {
        a = sin(t) / t;
        b = (1.0 - cos(t)) / t2;
    }
    R[0] = 1.0 - b * (r[1] * r[1] + r[2] * r[2]);
    R[1] = b * r[0] * r[1] - a * r[2];
    R[2] = b * r[0] * r[2] + a * r[1];
    R[3] = b * r[0] * r[1] + a * r[2];
    R[4] = 1.0 - b * (r[0] * r[0] + r[2] * r[2]);
    R[5] = b * r[1] * r[2] - a * r[0];
    R[6] = b * r[0] * r[2] - a * r[1];
    R[7] = b * r[1] * r[2] + a * r[0];
    R[8] = 1.0 - b * (r[0] * r[0] + r[1] * r[1]);
}

/* (M3) Makes the rows orthonormal (Gram-Schmidt); the third is the cross product, so det = +1. */
GPU_HD static inline void motion_orthonormalise(double R[9])
{
    double n = sqrt(R[0] * R[0] + R[1] * R[1] + R[2] * R[2]), d;
    for (int i = 0; i < 3; i++)
        R[i] /= n;
    d = R[0] * R[3] + R[1] * R[4] + R[2] * R[5];
    for (int i = 0; i < 3; i++)
        R[3 + i] -= d * R[i];
    n = sqrt(R[3] * R[3] + R[4] * R[4] + R[5] * R[5]);
    for (int i = 0; i < 3; i++)
        R[3 + i] /= n;
    R[6] = R[1] * R[5] - R[2] * R[4];
    R[7] = R[2] * R[3] - R[0] * R[5];
    R[8] = R[0] * R[4] - R[1] * R[3];
}

/* (M2) T_wc = T_wc(previous) * [exp(r^) | t]. A motion that is not finite counts as none. */
GPU_HD static inline struct rigid motion_compose(const struct rigid *previous, const float m[6])
{
    double step[9], R[9], r[3];
    struct rigid T;
    for (int i = 0; i < 6; i++)
        if (!(m[i] > -1e4f && m[i] < 1e4f))
            return *previous;
    for (int i = 0; i < 3; i++)
        r[i] = (double)m[3 + i];
    motion_rotation(r, step);
    for (int i = 0; i < 3; i++) {
        const float *p = previous->r + 3 * i;
        for (int j = 0; j < 3; j++)
            R[3 * i + j] =
                (double)p[0] * step[j] + (double)p[1] * step[3 + j] + (double)p[2] * step[6 + j];
        T.t[i] = (float)((double)p[0] * m[0] + (double)p[1] * m[1] + (double)p[2] * m[2] +
                         (double)previous->t[i]);
    }
    motion_orthonormalise(R);
    for (int i = 0; i < 9; i++)
        T.r[i] = (float)R[i];
    return T;
}

/* The last frame's pose; before the first frame, the pose where the session begins. */
GPU_HD static inline struct rigid motion_last(int has_last, const struct rigid *T_last,
                                              int has_start, const struct rigid *T_start)
{
    return has_last ? *T_last : has_start ? *T_start : rigid_identity();
}

/* (M4) Sets the rotation of *T to the last frame's, turned by inertial samples. */
GPU_HD static inline void motion_turn(struct rigid *T, const struct rigid *last,
                                      const float turn[3])
{
    struct path_pose step = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}};
    double d[6], R[9], before[9];
    path_turn_step(d, turn);
    for (int i = 3; i < 6; i++)
        d[i] = -d[i];
    path_move(&step, d);
    for (int i = 0; i < 9; i++)
        before[i] = (double)last->r[i];
    path_compose(R, before, step.r);
    motion_orthonormalise(R);
    for (int i = 0; i < 9; i++)
        T->r[i] = (float)R[i];
}

/* Copies the tracks' answer; *T_wc, the guess, becomes their pose if they have one. */
GPU_HD static inline void motion_follow(struct rigid *T_wc, struct gpu_tracks *told,
                                        const struct path *p)
{
    told->state = (enum gpu_tracks_state)p->told.state;
    told->n_landmarks = p->told.n_landmarks;
    told->n_inliers = p->told.n_inliers;
    told->error_px = p->told.error_px;
    told->log_scale = p->told.log_scale;
    told->log_sigma = p->told.log_sigma;
    if (p->told.state == PATH_FOUND)
        *T_wc = path_T_wc_of(&p->T);
}

/* (V3) Do tracks fail to connect the frame's pose with the previous one? */
GPU_HD static inline uint32_t motion_begins(const struct gpu_tracks *told)
{
    return told->state == GPU_TRACKS_BEGUN || told->state == GPU_TRACKS_LOST;
}
