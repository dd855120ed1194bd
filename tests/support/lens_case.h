/*
 * lens_case.h - cameras of every model, for a picture of w x h
 */
#pragma once

#include "proto/geom/lens.h"

/* Pinhole, pinhole with stretched pixels, then the other models. Of the third the picture does not
 * show all. */
#define LENS_CASES 5

/* Case i: *K is what it is of the pinhole alone before the call. Returns lens_make()'s code. */
static inline int lens_case(int i, struct lens *l, struct intrinsics *K, int w, int h)
{
    static const float radial[5] = {0.2f, 0.05f, 0.002f, -0.001f, 0.01f};
    static const float fisheye[4] = {0.03f, -0.01f, 0.002f, 0.0f};
    struct err err = {0};

    l->model = LENS_PINHOLE;
    l->limit = 0.0f;
    for (int k = 0; k < LENS_PARAMS_MAX; k++)
        l->k[k] = 0.0f;
    if (i == 1) {
        K->fy *= 1.7f;
    } else if (i == 2) {
        return lens_make(l, LENS_RADIAL, radial, *K, w, h, &err);
    } else if (i == 3) {
        K->fx *= 0.8f;
        K->fy *= 0.8f;
        return lens_make(l, LENS_FISHEYE, fisheye, *K, w, h, &err);
    } else if (i == 4) {
        *K = lens_sphere_intrinsics(w, h);
        l->model = LENS_SPHERE;
    }
    return 0;
}
