#include "daemon/objects_job.h"

#include "gpu/recognise/recogniser.h"
#include "proto/cloud/mesh.h"
#include "proto/geom/pose.h"
#include "proto/image/png.h"

#include <stdlib.h>
#include <string.h>

#define FAR_M 100.0f /* metres: the largest distance of a camera from its object */
#define SAME_M 0.05f /* metres between poses of one object in two views of a mesh */

static struct tensor_params objects_job_params(void)
{
    struct tensor_params p = tensor_params_library();
    p.unit_m = OBJECTS_JOB_UNIT_M;
    return p;
}

static int job_stopped(objects_job_stop *stop, struct err *err)
{
    return atomic_load(stop) ? err_set(err, ERR_BUSY, "the server is stopping") : 0;
}

/* ------------------------------------------------------------------------- pictures */

/* Returns the depth of a picture [h][w] in metres; the caller calls free(). */
static int picture_decode(float **out, int *w, int *h, const struct api_depth_picture *p,
                          struct err *err)
{
    uint16_t *mm = NULL;
    size_t pixels;
    int rc = png_probe(p->png, p->len, w, h, err);

    *out = NULL;
    if (rc == 0)
        rc = surface_check(*w, *h, &p->camera, err);
    if (rc)
        return rc;
    pixels = (size_t)*w * (size_t)*h;
    mm = malloc(pixels * sizeof *mm);
    *out = malloc(pixels * sizeof **out);
    if (!mm || !*out)
        rc = err_set(err, ERR_MEMORY, "no memory for a picture of %d x %d pixels", *w, *h);
    if (rc == 0)
        rc = png_decode_gray(mm, p->png, p->len, 16, *w, *h, err);
    for (size_t i = 0; i < pixels && rc == 0; i++)
        (*out)[i] = (float)mm[i] * 1e-3f;
    free(mm);
    if (rc) {
        free(*out);
        *out = NULL;
    }
    return rc;
}

static int read_mesh(struct mesh *m, struct object_mesh *view, const struct api_shape *shape,
                     struct err *err)
{
    int rc = mesh_read(m, shape->mesh, shape->mesh_len, shape->mesh_scale, err);

    *view = (struct object_mesh){m->xyz, m->n_points, m->corner, m->n_triangles, 2};
    return rc;
}

/* Says where in the request an error lies, unless it lies outside the request. */
static int lies_at(int rc, struct err *err, const char *where, int i)
{
    if ((rc == ERR_INPUT || rc == ERR_LIMIT || rc == ERR_UNSUPPORTED) && err) {
        if (i >= 0)
            snprintf(err->where, sizeof err->where, "/views/%d/%s", i, where);
        else
            snprintf(err->where, sizeof err->where, "/%s", where);
    }
    return rc;
}

/* ------------------------------------------------------------------------- enrolment */

static int add_picture(struct object *o, const struct api_depth_picture *p,
                       const struct surface_params *sp, const struct tensor_params *tp,
                       struct err *err)
{
    struct rigid T_oc;
    float *depth;
    int w, h, rc = picture_decode(&depth, &w, &h, p, err);

    if (rc == 0)
        rc = pose_from_numbers(&T_oc, p->pose, FAR_M, err);
    if (rc == 0)
        rc = object_add_view(o, depth, w, h, p->camera, &T_oc, sp, tp, err);
    free(depth);
    return rc;
}

static int add_mesh(struct object *o, const struct api_shape *shape,
                    const struct surface_params *sp, const struct tensor_params *tp,
                    struct err *err)
{
    struct object_mesh view;
    struct mesh m;
    int rc = read_mesh(&m, &view, shape, err);

    if (rc == 0)
        rc = object_add_mesh(o, &view, sp, tp, err);
    mesh_free(&m);
    return rc;
}

static int has_tensors(const struct object *o, struct err *err)
{
    return o->n_tensors ? 0
                        : err_set(err, ERR_INPUT,
                                  "nothing of it can be recognised: its surface is flat, or "
                                  "smaller than %.0f mm",
                                  5e3 * (double)OBJECTS_JOB_UNIT_M);
}

int objects_job_enrol(struct object *o, const struct api_shape *shape, objects_job_stop *stop,
                      struct err *err)
{
    const struct surface_params sp = surface_params_default();
    const struct tensor_params tp = objects_job_params();
    int rc = 0;

    *o = (struct object){0};
    if (shape->mesh)
        rc = lies_at(add_mesh(o, shape, &sp, &tp, err), err, "mesh", -1);
    for (int i = 0; !shape->mesh && i < shape->n_pictures && rc == 0; i++) {
        rc = job_stopped(stop, err);
        if (rc == 0)
            rc = lies_at(add_picture(o, &shape->picture[i], &sp, &tp, err), err, "depth", i);
    }
    return rc ? rc : lies_at(has_tensors(o, err), err, shape->mesh ? "mesh" : "views", -1);
}

int objects_job_enrol_cloud(struct object *o, const struct object_point *point, size_t n,
                            struct err *err)
{
    const struct surface_params sp = surface_params_default();
    const struct tensor_params tp = objects_job_params();
    int rc;

    *o = (struct object){0};
    rc = object_add_cloud(o, point, n, &sp, &tp, err);
    if (rc == 0)
        rc = has_tensors(o, err);
    return lies_at(rc, err, "region", -1);
}

/* ------------------------------------------------------------------------- search */

/* The objects found so far, in the frame of the picture or the mesh. */
struct search {
    const struct library *library;
    objects_job_stop *stop;
    struct hypothesis found[API_MATCHES_MAX];
    int n;
};

static float hypothesis_worth(const struct hypothesis *h)
{
    return h->score * (float)h->points;
}

/* Adds an object to the list. Of an object in two views the better pose is kept. */
static void sightings_add(struct search *s, const struct hypothesis *h)
{
    int i = 0;

    while (i < s->n && (s->found[i].object != h->object ||
                        pose_distance2(&s->found[i].T_co, &h->T_co) > SAME_M * SAME_M))
        i++;
    if (i == API_MATCHES_MAX || (i < s->n && hypothesis_worth(&s->found[i]) >= hypothesis_worth(h)))
        return;
    s->n += i == s->n;
    s->found[i] = *h;
}

/* In: T_fc takes the camera to the frame of the list. */
static int search_picture(struct search *s, struct recogniser *r, const float *depth,
                          struct intrinsics K, const struct rigid *T_fc, struct err *err)
{
    struct hypothesis found[HYPOTHESES_MAX];
    uint32_t n = 0;
    int rc = job_stopped(s->stop, err);

    if (rc == 0)
        rc = recogniser_run(r, depth, K, found, &n, err);
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        found[i].T_co = rigid_mul(T_fc, &found[i].T_co);
        sightings_add(s, &found[i]);
    }
    return rc;
}

static int search_mesh(struct search *s, const struct api_shape *shape, struct err *err)
{
    float *depth = malloc(sizeof *depth * OBJECT_MESH_W * OBJECT_MESH_H);
    struct rigid T_oc[OBJECT_MESH_VIEWS];
    struct recogniser *r = NULL;
    struct object_mesh view;
    struct intrinsics K;
    struct mesh m = {0};
    int rc = depth ? read_mesh(&m, &view, shape, err)
                   : err_set(err, ERR_MEMORY, "no memory for a view of the mesh");

    if (rc == 0)
        rc = object_mesh_views(&K, T_oc, &view, err);
    if (rc == 0)
        rc = recogniser_open(&r, "cpu", OBJECT_MESH_W, OBJECT_MESH_H, s->library, err);
    for (int i = 0; i < OBJECT_MESH_VIEWS && rc == 0; i++) {
        rc = object_mesh_draw(depth, &view, K, &T_oc[i], err);
        if (rc == 1)
            rc = search_picture(s, r, depth, K, &T_oc[i], err);
    }
    recogniser_close(&r);
    mesh_free(&m);
    free(depth);
    return rc;
}

static int views_search(struct search *s, const struct api_shape *shape, struct err *err)
{
    const struct rigid here = rigid_identity();
    struct recogniser *r = NULL;
    float *depth;
    int w, h, rc;

    if (shape->mesh)
        return lies_at(search_mesh(s, shape, err), err, "mesh", -1);
    rc = picture_decode(&depth, &w, &h, &shape->picture[0], err);
    if (rc == 0)
        rc = recogniser_open(&r, "cpu", w, h, s->library, err);
    if (rc == 0)
        rc = search_picture(s, r, depth, shape->picture[0].camera, &here, err);
    recogniser_close(&r);
    free(depth);
    return lies_at(rc, err, "depth", -1);
}

static int by_worth(const void *a, const void *b)
{
    float x = hypothesis_worth(a), y = hypothesis_worth(b);
    return x > y ? -1 : x < y;
}

static void match_tell(struct api_match *to, const struct hypothesis *h, const struct enrolled *e)
{
    *to = (struct api_match){
        .score = h->score, .support = h->support, .points = h->points, .votes = h->votes};
    memcpy(to->name, e->object.name, sizeof to->name);
    memcpy(to->class_name, e->class_name, sizeof to->class_name);
    pose_numbers(to->pose, &h->T_co);
}

int objects_job_match(struct api_match *list, int *found, const struct enrolled *const *enrolled,
                      int n, const struct api_shape *shape, objects_job_stop *stop, struct err *err)
{
    const struct object **objects = calloc((size_t)n + 1, sizeof *objects);
    struct search *s = calloc(1, sizeof *s);
    struct library library = {0};
    int rc = 0;

    *found = 0;
    if (!objects || !s)
        rc = err_set(err, ERR_MEMORY, "no memory to search for objects");
    for (int i = 0; i < n && rc == 0; i++)
        objects[i] = &enrolled[i]->object;
    if (rc == 0 && n > 0)
        rc = library_new(&library, objects, (uint32_t)n, err);
    if (rc == 0 && n > 0) {
        s->library = &library;
        s->stop = stop;
        rc = views_search(s, shape, err);
    }
    if (rc == 0 && n > 0) {
        qsort(s->found, (size_t)s->n, sizeof *s->found, by_worth);
        for (int i = 0; i < s->n; i++)
            match_tell(&list[i], &s->found[i], enrolled[s->found[i].object]);
        *found = s->n;
    }
    library_free(&library);
    free(objects);
    free(s);
    return rc;
}
