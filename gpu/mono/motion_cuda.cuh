/*
 * motion_cuda.cuh - the pose of a frame: given, or the last one moved by the network's answer
 * (internal to covisible_cuda.cu)
 *
 * Order:   image_cuda() has already stored the next frame's previous picture, but has_previous
 *          refers to this frame until it is set here.
 */
#pragma once

#include "gpu/mono/session_cuda.h"

#include "gpu/mono/motion_point.h"

/* (M2) The last pose, moved by the network's answer; (M4) or turned by inertial samples. */
static __device__ inline struct rigid motion_guess(const struct frame_cuda *f,
                                                   const struct session_dev *s)
{
    struct rigid last = motion_last(s->has_last, &s->T_last, f->has_start, &f->T_wc), T = last;
    if (s->has_previous && !f->restart && f->motion_raw)
        T = motion_compose(&last, f->motion_raw);
    if (s->has_last && !f->restart && f->turn_s > 0.0f)
        motion_turn(&T, &last, f->camera_turn);
    return T;
}

/* Called by one thread, as it is a chain of some hundred operations. Returns the frame's camera. */
static __device__ inline struct camera motion_camera(const struct frame_cuda *f,
                                                     struct session_dev *s)
{
    struct camera c;
    struct rigid T;
    int has_previous = s->has_previous && !f->restart;
    if (f->has_pose) {
        T = f->T_wc;
    } else if (f->path.p) {
        T = s->stand.T_wc;
    } else {
        T = motion_guess(f, s);
    }
    s->has_previous = s->previous ? 1 : has_previous;
    s->T_last = T;
    s->has_last = 1;
    c = camera_make(&T, s->camera.K, s->w, s->h);
    s->camera = c;
    return c;
}
