/*
 * landmark_point.h - the point that is nearest to all rays of a track
 *
 * Maths:   MATH.md (T6)
 */
#pragma once

#include "gpu/track/landmark.h"

/* Sums over rays: A = I - v v^T (xx xy xz yy yz zz), and A times the camera's place. */
struct landmark_sum {
    double a[6], b[3];
};

GPU_HD static inline void landmark_add(struct landmark_sum *s,
                                       const struct landmark_search_camera *c, const float *seen)
{
    const float *r = c->T_cw.r, *t = c->T_cw.t;
    double x = ((double)seen[0] - (double)c->K.cx) / (double)c->K.fx;
    double y = ((double)seen[1] - (double)c->K.cy) / (double)c->K.fy;
    double n = 1.0 / sqrt(x * x + y * y + 1.0), v[3], o[3], along = 0.0;
    for (int i = 0; i < 3; i++) {
        v[i] = ((double)r[i] * x + (double)r[3 + i] * y + (double)r[6 + i]) * n;
        o[i] = -((double)r[i] * (double)t[0] + (double)r[3 + i] * (double)t[1] +
                 (double)r[6 + i] * (double)t[2]);
        along += v[i] * o[i];
    }
    s->a[0] += 1.0 - v[0] * v[0];
    s->a[1] -= v[0] * v[1];
    s->a[2] -= v[0] * v[2];
    s->a[3] += 1.0 - v[1] * v[1];
    s->a[4] -= v[1] * v[2];
    s->a[5] += 1.0 - v[2] * v[2];
    for (int i = 0; i < 3; i++)
        s->b[i] += o[i] - v[i] * along;
}

/* (T6) Returns 0 where the rays are too near to parallel. */
GPU_HD static inline int landmark_solve(struct vec3 *p, const struct landmark_sum *s, uint32_t n,
                                        float parallax)
{
    const double *a = s->a, *b = s->b;
    double c00 = a[3] * a[5] - a[4] * a[4], c01 = a[2] * a[4] - a[1] * a[5];
    double c02 = a[1] * a[4] - a[2] * a[3], c11 = a[0] * a[5] - a[2] * a[2];
    double c12 = a[1] * a[2] - a[0] * a[4], c22 = a[0] * a[3] - a[1] * a[1];
    double det = a[0] * c00 + a[1] * c01 + a[2] * c02, m = n;
    if (!(det >= m * m * m * (double)parallax * (double)parallax))
        return 0;
    p->x = (float)((c00 * b[0] + c01 * b[1] + c02 * b[2]) / det);
    p->y = (float)((c01 * b[0] + c11 * b[1] + c12 * b[2]) / det);
    p->z = (float)((c02 * b[0] + c12 * b[1] + c22 * b[2]) / det);
    return fabsf(p->x) + fabsf(p->y) + fabsf(p->z) < 1e6f;
}

/* Makes a slot's landmark of its last observations, the newest first. Returns 1 if there is one. */
GPU_HD static inline int landmark_of(const struct landmark_session *s,
                                     const struct landmark_params *p, uint32_t slot)
{
    const struct track *t = s->track;
    struct landmark_search_landmark *m = &s->landmark[slot];
    struct landmark_search_observation *out = s->observation + (size_t)slot * TRACK_KEPT;
    struct landmark_sum sum = {{0, 0, 0, 0, 0, 0}, {0, 0, 0}};
    uint32_t length = track_length(t, &t->slot[slot]), n = length < p->most ? length : p->most;
    m->p = vec3_make(0.0f, 0.0f, 0.0f);
    m->first = s->first_observation + slot * TRACK_KEPT;
    m->n = 0;
    m->prior_px = m->residual_px = INFINITY;
    if (length < p->least)
        return 0;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t f = t->n_frames - 1 - k, at = f % TRACK_KEPT;
        const float *seen = track_seen(t, slot, f);
        out[k].camera = s->first_camera + at;
        out[k].x = seen[0];
        out[k].y = seen[1];
        landmark_add(&sum, &s->camera[at], seen);
    }
    if (!landmark_solve(&m->p, &sum, n, p->parallax))
        return 0;
    m->n = n;
    return 1;
}
