/* shape_case.h - libraries and scenes of the shapes, for tests and benches of recognition */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/recognise/hypothesis.h"
#include "tests/support/shape.h"

#define SHAPE_VIEWS 6

/* A camera of a width, with the field of view of 525 pixels at 640. */
static inline struct intrinsics shape_camera_of(int w, int h)
{
    float f = 525.0f * (float)w / 640.0f;
    return (struct intrinsics){f, f, 0.5f * (float)(w - 1), 0.5f * (float)(h - 1)};
}

/* The camera of the library's view v of a shape: SHAPE_VIEWS all around it, 30 degrees above it. */
static inline struct rigid shape_enrolled_pose(int v)
{
    return shape_around(vec3_make(0, 0, 0), 360.0f / SHAPE_VIEWS * (float)v, 30, 0.8f);
}

/* What it sees, with noise. */
static inline void shape_enrolled_view(float *depth, enum shape shape, int v, int w, int h)
{
    struct shape_place place = {shape, rigid_identity()};
    struct rigid T_oc = shape_enrolled_pose(v);

    shape_draw(depth, NULL, w, h, shape_camera_of(w, h), &T_oc, &place, 1);
    shape_noise(depth, w * h, (uint32_t)(100 * (int)shape + v));
}

/* Enrols a shape by these views. */
static inline int shape_enrol(struct object *o, enum shape shape, int w, int h, int tensors,
                              struct err *err)
{
    struct surface_params sp = surface_params_default();
    struct tensor_params tp = tensor_params_library();
    float *depth = malloc((size_t)w * (size_t)h * sizeof *depth);
    int rc = depth ? 0 : err_set(err, ERR_MEMORY, "no memory");

    *o = (struct object){0};
    snprintf(o->name, sizeof o->name, "%s", shape_name[shape]);
    tp.unit_m = 0.004f;
    tp.n = tensors;
    for (int v = 0; v < SHAPE_VIEWS && rc == 0; v++) {
        struct rigid T_oc = shape_enrolled_pose(v);
        shape_enrolled_view(depth, shape, v, w, h);
        rc = object_add_view(o, depth, w, h, shape_camera_of(w, h), &T_oc, &sp, &tp, err);
    }
    free(depth);
    return rc;
}

/* What is computed of a picture. */
struct shape_case {
    int w, h;
    float *depth;
    struct surface surface;
    struct tensors tensors;
    struct surface_params sp;
    struct tensor_params tp;
    struct match_params mp;
    struct hypothesis_params hp;
    uint64_t *best;
    struct hypotheses hypotheses;
    struct hypothesis *found; /* of hypotheses */
    uint32_t n_found;
};

static inline int shape_case_open(struct shape_case *c, int w, int h, const struct library *l,
                                  int n_tensors, struct err *err)
{
    *c = (struct shape_case){.w = w, .h = h};
    c->sp = surface_params_default();
    c->tp = tensor_params_default();
    c->mp = match_params_default();
    c->hp = hypothesis_params_default();
    c->tp.unit_m = l->unit_m;
    c->tp.voxel = l->voxel;
    c->tp.seed = 99;
    c->tp.n = n_tensors;
    c->depth = malloc((size_t)w * (size_t)h * sizeof *c->depth);
    c->best = malloc((size_t)c->tp.n * l->n_objects * sizeof *c->best);
    if (!c->depth || !c->best)
        return err_set(err, ERR_MEMORY, "no memory");
    if (surface_new(&c->surface, w, h, shape_camera_of(w, h), surface_step(w, h), err))
        return err->code;
    c->surface.depth = c->depth;
    if (hypothesis_new(&c->hypotheses, &c->surface, (uint32_t)c->tp.n, l, &c->hp, err))
        return err->code;
    c->found = c->hypotheses.found;
    return tensor_new(&c->tensors, &c->surface, &c->tp, err);
}

static inline void shape_case_close(struct shape_case *c)
{
    hypothesis_free(&c->hypotheses);
    tensor_free(&c->tensors);
    surface_free(&c->surface);
    free(c->depth);
    free(c->best);
}

/* From c->depth to tensors and their best matches. */
static inline void shape_case_match(struct shape_case *c, const struct library *l)
{
    surface_cpu_run(&c->surface, &c->sp);
    tensor_cpu_run(&c->tensors, &c->tp);
    match_cpu_run(c->best, c->tensors.tensor, *c->tensors.n_tensors, l, &c->mp);
}

static inline void shape_case_find(struct shape_case *c, const struct library *l)
{
    shape_case_match(c, l);
    hypothesis_cpu_run(&c->hypotheses, &c->tensors, c->best, l, &c->hp);
    c->n_found = *c->hypotheses.n_found;
}

/* How far a pose is off another one: degrees and metres. */
static inline void shape_off(float *degrees, float *metres, const struct rigid *a,
                             const struct rigid *b)
{
    float trace = 0, d2 = 0, cosine;
    for (int i = 0; i < 9; i++)
        trace += a->r[i] * b->r[i];
    for (int i = 0; i < 3; i++)
        d2 += (a->t[i] - b->t[i]) * (a->t[i] - b->t[i]);
    cosine = 0.5f * (trace - 1);
    *degrees = acosf(cosine < 1 ? cosine : 1) * 57.29578f;
    *metres = sqrtf(d2);
}
