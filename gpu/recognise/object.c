#include "gpu/recognise/object.h"

#include "proto/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int object_name_valid(const char *name)
{
    size_t n = strlen(name);
    if (n < 1 || n >= OBJECT_NAME_CAP || name[0] == '.')
        return 0;
    for (size_t i = 0; i < n; i++) {
        char c = name[i];
        int ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 c == '-' || c == '_' || c == '.';
        if (!ok)
            return 0;
    }
    return 1;
}

void object_box(float box[6], const struct object *o)
{
    for (int i = 0; i < 3; i++) {
        box[i] = o->n_points ? INFINITY : 0;
        box[3 + i] = o->n_points ? -INFINITY : 0;
    }
    for (size_t k = 0; k < o->n_points; k++) {
        const float p[3] = {o->point[k].p.x, o->point[k].p.y, o->point[k].p.z};

        for (int i = 0; i < 3; i++) {
            box[i] = fminf(box[i], p[i]);
            box[3 + i] = fmaxf(box[3 + i], p[i]);
        }
    }
}

void object_free(struct object *o)
{
    free(o->tensor);
    free(o->entry);
    free(o->point);
    *o = (struct object){0};
}

static struct vec3 turned(const struct rigid *T, struct vec3 n)
{
    struct rigid R = *T;
    memset(R.t, 0, sizeof R.t);
    return rigid_apply(&R, n);
}

/* Takes points on a lattice of pixels, about OBJECT_VIEW_POINTS of them on the object. */
static int add_points(struct object *o, const struct surface *s, const struct rigid *T_oc,
                      struct err *err)
{
    size_t pixels = (size_t)s->w * (size_t)s->h, seen = 0, step = 1;

    for (size_t i = 0; i < pixels; i++)
        seen += vec3_norm2(s->normal[i]) > 0.0f;
    while (seen / (step * step) > OBJECT_VIEW_POINTS)
        step++;
    if (o->n_points + pixels / (step * step) + (size_t)(s->w + s->h) > OBJECT_POINTS_MAX + pixels)
        return err_set(err, ERR_LIMIT, "an object has at most %d points", OBJECT_POINTS_MAX);
    for (size_t y = step / 2; y < (size_t)s->h; y += step)
        for (size_t x = step / 2; x < (size_t)s->w; x += step) {
            size_t at = y * (size_t)s->w + x;
            if (!(vec3_norm2(s->normal[at]) > 0.0f))
                continue;
            if (o->n_points == OBJECT_POINTS_MAX)
                return err_set(err, ERR_LIMIT, "an object has at most %d points",
                               OBJECT_POINTS_MAX);
            if (array_grow(&o->point, &o->cap_points, o->n_points + 1, sizeof *o->point))
                return err_set(err, ERR_MEMORY, "no memory for an object's points");
            o->point[o->n_points++] =
                (struct object_point){rigid_apply(T_oc, s->point[at]), turned(T_oc, s->normal[at])};
        }
    return 0;
}

static int add_tensors(struct object *o, const struct tensors *t, const struct rigid *T_oc,
                       struct err *err)
{
    for (uint32_t i = 0; i < *t->n_tensors; i++) {
        const struct tensor *from = &t->tensor[i];
        if (from->n == 0)
            continue;
        if (o->n_tensors == OBJECT_TENSORS_MAX || o->n_entries + from->n > OBJECT_ENTRIES_MAX)
            return err_set(err, ERR_LIMIT, "an object has at most %d tensors", OBJECT_TENSORS_MAX);
        if (array_grow(&o->tensor, &o->cap_tensors, o->n_tensors + 1, sizeof *o->tensor) ||
            array_grow(&o->entry, &o->cap_entries, o->n_entries + from->n, sizeof *o->entry))
            return err_set(err, ERR_MEMORY, "no memory for an object's tensors");
        o->tensor[o->n_tensors++] = (struct object_tensor){
            rigid_mul(T_oc, &from->T_cb), from->cosine, from->bin, o->n_views,
            (uint32_t)o->n_entries,       from->n};
        memcpy(o->entry + o->n_entries, from->entry, from->n * sizeof *o->entry);
        o->n_entries += from->n;
    }
    return 0;
}

int object_add_view(struct object *o, const float *depth, int w, int h, struct intrinsics K,
                    const struct rigid *T_oc, const struct surface_params *sp,
                    const struct tensor_params *tp, struct err *err)
{
    size_t n_tensors = o->n_tensors, n_entries = o->n_entries, n_points = o->n_points;
    struct surface s = {0};
    struct tensors t = {0};
    int rc;

    if (o->n_views == OBJECT_VIEWS_MAX)
        return err_set(err, ERR_LIMIT, "an object has at most %d views", OBJECT_VIEWS_MAX);
    if ((rc = surface_check(w, h, &K, err)) || (rc = tensor_check(tp, err)) ||
        (rc = surface_new(&s, w, h, K, surface_step(w, h), err)) ||
        (rc = tensor_new(&t, &s, tp, err)))
        goto out;
    if (!(tp->unit_m > 0)) {
        rc = err_set(err, ERR_INPUT, "tensors of an object need a unit");
        goto out;
    }
    s.depth = depth;
    surface_cpu_run(&s, sp);
    if (s.sums->n == 0) {
        rc = err_set(err, ERR_INPUT, "the view shows no surface");
        goto out;
    }
    tensor_cpu_run(&t, tp);
    if ((rc = add_tensors(o, &t, T_oc, err)) || (rc = add_points(o, &s, T_oc, err)))
        goto out;
    o->unit_m = tp->unit_m;
    o->voxel = tp->voxel;
    o->n_views++;
out:
    if (rc) {
        o->n_tensors = n_tensors;
        o->n_entries = n_entries;
        o->n_points = n_points;
    }
    tensor_free(&t);
    surface_free(&s);
    return rc;
}
