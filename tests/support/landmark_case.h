/*
 * landmark_case.h - landmarks that a walking camera saw, with their truth, and Levenberg-Marquardt
 * as the judge of what optimises them
 */
#pragma once

#include "gpu/track/landmark_search_point.h"

#include <stdlib.h>

struct landmark_case {
    struct landmark_search_batch b;
    struct vec3 *truth;
    uint32_t seed;
};

/* -1 ... 1 */
static inline float landmark_case_random(struct landmark_case *c)
{
    c->seed = c->seed * 1664525u + 1013904223u;
    return (float)(c->seed >> 8) / 8388608.0f - 1.0f;
}

/* A camera that walks sideways by 4 cm a frame, and turns towards what it passes. */
static inline struct landmark_search_camera landmark_case_camera(int k)
{
    float a = -0.01f * (float)k, s = sinf(a), co = cosf(a);
    struct rigid T_wc = {{co, 0, s, 0, 1, 0, -s, 0, co},
                         {0.04f * (float)k, 0.02f * sinf((float)k), 0.01f * (float)k}};
    struct landmark_search_camera c = {rigid_inverse(&T_wc), {220.0f, 221.0f, 127.5f, 95.5f}};
    return c;
}

/* n landmarks, 1.5 to 4 m away, each seen by all of n_frames cameras with an error of at most
 * noise_px; their places start off_m off the truth. */
static inline void landmark_case_open(struct landmark_case *c, int n, int n_frames, float noise_px,
                                      float off_m)
{
    struct landmark_search_landmark *m = calloc((size_t)n, sizeof *m);
    struct landmark_search_camera *camera = calloc((size_t)n_frames, sizeof *camera);
    struct landmark_search_observation *o = calloc((size_t)(n * n_frames), sizeof *o);

    *c = (struct landmark_case){{m, o, camera, n, n * n_frames, n_frames}, NULL, 1u};
    c->truth = calloc((size_t)n, sizeof *c->truth);
    for (int k = 0; k < n_frames; k++)
        camera[k] = landmark_case_camera(k);
    for (int i = 0; i < n; i++) {
        float z = 2.75f + 1.25f * landmark_case_random(c);
        struct vec3 p = vec3_make(0.4f * z * landmark_case_random(c) + 0.02f * (float)n_frames,
                                  0.4f * z * landmark_case_random(c), z);
        c->truth[i] = p;
        m[i].first = (uint32_t)(i * n_frames);
        m[i].n = (uint32_t)n_frames;
        for (int k = 0; k < n_frames; k++) {
            struct vec3 q = rigid_apply(&camera[k].T_cw, p);
            o[i * n_frames + k] = (struct landmark_search_observation){
                (uint32_t)k,
                camera[k].K.fx * q.x / q.z + camera[k].K.cx + noise_px * landmark_case_random(c),
                camera[k].K.fy * q.y / q.z + camera[k].K.cy + noise_px * landmark_case_random(c)};
        }
        m[i].p =
            vec3_make(p.x + off_m * landmark_case_random(c), p.y + off_m * landmark_case_random(c),
                      p.z + 2.0f * off_m * landmark_case_random(c));
    }
}

static inline void landmark_case_close(struct landmark_case *c)
{
    free(c->b.landmark);
    free((void *)(uintptr_t)c->b.observation);
    free((void *)(uintptr_t)c->b.camera);
    free(c->truth);
}

/* Mean reprojection error at p, in double and straight from the pinhole equations. */
static inline double landmark_case_residual(const struct landmark_search_batch *b,
                                            const struct landmark_search_landmark *m,
                                            const double p[3])
{
    double sum = 0;
    for (uint32_t k = 0; k < m->n; k++) {
        const struct landmark_search_observation *o = &b->observation[m->first + k];
        const struct landmark_search_camera *c = &b->camera[o->camera];
        const float *r = c->T_cw.r, *t = c->T_cw.t;
        double x = r[0] * p[0] + r[1] * p[1] + r[2] * p[2] + t[0];
        double y = r[3] * p[0] + r[4] * p[1] + r[5] * p[2] + t[1];
        double z = r[6] * p[0] + r[7] * p[1] + r[8] * p[2] + t[2];
        sum += hypot(c->K.fx * x / z + c->K.cx - o->x, c->K.fy * y / z + c->K.cy - o->y);
    }
    return sum / m->n;
}

/* Normal equations of the squared errors at p. Returns their sum. */
static inline double landmark_case_normal(const struct landmark_search_batch *b,
                                          const struct landmark_search_landmark *m,
                                          const double p[3], double A[3][3], double g[3])
{
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        g[i] = 0;
        for (int j = 0; j < 3; j++)
            A[i][j] = 0;
    }
    for (uint32_t k = 0; k < m->n; k++) {
        const struct landmark_search_observation *o = &b->observation[m->first + k];
        const struct landmark_search_camera *c = &b->camera[o->camera];
        const float *r = c->T_cw.r, *t = c->T_cw.t;
        double q[3], J[2][3], e[2];
        for (int i = 0; i < 3; i++)
            q[i] = r[3 * i] * p[0] + r[3 * i + 1] * p[1] + r[3 * i + 2] * p[2] + t[i];
        e[0] = c->K.fx * q[0] / q[2] + c->K.cx - o->x;
        e[1] = c->K.fy * q[1] / q[2] + c->K.cy - o->y;
        for (int i = 0; i < 3; i++) {
            J[0][i] = c->K.fx * (r[i] - q[0] / q[2] * r[6 + i]) / q[2];
            J[1][i] = c->K.fy * (r[3 + i] - q[1] / q[2] * r[6 + i]) / q[2];
        }
        for (int i = 0; i < 3; i++) {
            g[i] += J[0][i] * e[0] + J[1][i] * e[1];
            for (int j = 0; j < 3; j++)
                A[i][j] += J[0][i] * J[0][j] + J[1][i] * J[1][j];
        }
        sum += e[0] * e[0] + e[1] * e[1];
    }
    return sum;
}

static inline double landmark_case_det(double M[3][3])
{
    return M[0][0] * (M[1][1] * M[2][2] - M[1][2] * M[2][1]) -
           M[0][1] * (M[1][0] * M[2][2] - M[1][2] * M[2][0]) +
           M[0][2] * (M[1][0] * M[2][1] - M[1][1] * M[2][0]);
}

/* Levenberg-Marquardt, 200 iterations at most, as the paper's judge. In/out: p. */
static inline void landmark_case_lm(const struct landmark_search_batch *b,
                                    const struct landmark_search_landmark *m, double p[3])
{
    double A[3][3], g[3], mu = 1e-3, cost = landmark_case_normal(b, m, p, A, g);
    for (int n = 0; n < 200 && mu < 1e12; n++) {
        double D[3][3], C[3][3], det, q[3], A2[3][3], g2[3], next;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                D[i][j] = A[i][j] * (i == j ? 1 + mu : 1);
        det = landmark_case_det(D);
        for (int i = 0; i < 3; i++) { /* Cramer's rule */
            for (int j = 0; j < 3; j++)
                for (int k = 0; k < 3; k++)
                    C[j][k] = k == i ? -g[j] : D[j][k];
            q[i] = p[i] + landmark_case_det(C) / det;
        }
        next = landmark_case_normal(b, m, q, A2, g2);
        if (!(next < cost)) {
            mu *= 10;
            continue;
        }
        for (int i = 0; i < 3; i++) {
            p[i] = q[i];
            g[i] = g2[i];
            for (int j = 0; j < 3; j++)
                A[i][j] = A2[i][j];
        }
        if (cost - next < 1e-14 * cost)
            break;
        cost = next;
        mu *= 0.1;
    }
}
