/*
 * object.h - an enrolled object: tensors and points of its views
 *
 * Frames:  T_oc takes a view's camera to the object's frame, which the caller chooses
 * Bytes:   a row of sections (proto/section.h) with tags "GOBJ" (what it is), "GOTE" (tensors),
 *          "GOPT" (points). A file of them has a check of its own (daemon/objects.h)
 */
#pragma once

#include "gpu/recognise/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OBJECT_NAME_CAP 64
#define OBJECT_VIEWS_MAX 64
#define OBJECT_TENSORS_MAX 65536
#define OBJECT_POINTS_MAX 65536
#define OBJECT_ENTRIES_MAX (16u << 20)
#define OBJECT_VIEW_POINTS 400 /* points kept of a view, about */

struct object_tensor {
    struct rigid T_ob; /* basis to object */
    float cosine;
    uint32_t bin;
    uint32_t view;
    uint32_t first, n; /* its entries */
};

struct object_point {
    struct vec3 p, normal;
};

struct object {
    char name[OBJECT_NAME_CAP];
    float unit_m, voxel; /* of tensor_params */
    uint32_t n_views;
    uint8_t is_coarse; /* 1: made of a cloud, whose points err by millimetres */
    size_t n_tensors, n_entries, n_points;
    size_t cap_tensors, cap_entries, cap_points;
    struct object_tensor *tensor;
    uint32_t *entry;
    struct object_point *point;
};

/* Letters, digits, '-', '_' and '.', not first; 1 to 63 of them. */
int object_name_valid(const char *name);

void object_free(struct object *o);
/* The box around its points, in its frame: least x, y, z, then largest; zeros without points. */
void object_box(float box[6], const struct object *o);

/*
 * object_add_view - enrol a view
 *
 * In:      depth [h][w] of the object alone, 0 elsewhere; T_oc; s and t are the
 *          parameters of all of the object's views, with a unit
 * Returns: 0, also where the view has no pair; ERR_INPUT: no depth at all, sides; ERR_LIMIT: this
 *          header's; ERR_MEMORY. After an error the object is as it was
 */
MUST_CHECK int object_add_view(struct object *o, const float *depth, int w, int h,
                               struct intrinsics K, const struct rigid *T_oc,
                               const struct surface_params *s, const struct tensor_params *t,
                               struct err *err);

/* Unchecked triangles, in metres; only each corner is known to be a point's index. */
struct object_mesh {
    const float *xyz; /* [n_points][3] */
    size_t n_points;
    const uint32_t *corner; /* [n_triangles][3] */
    size_t n_triangles;
    int sides; /* visible sides, 1 or 2 as in render.h */
};

/* Radii of the ball around a mesh that can be enrolled. */
#define OBJECT_RADIUS_MIN_M 0.02f
#define OBJECT_RADIUS_MAX_M 2.0f
#define OBJECT_MESH_VIEWS 14
#define OBJECT_MESH_W 320
#define OBJECT_MESH_H 240

/* The views that enrol a mesh or search it for objects: cameras of OBJECT_MESH_W x OBJECT_MESH_H
 * pixels all around it. T_oc takes the camera's points to the mesh's frame. Returns 0; ERR_INPUT:
 * its size. */
MUST_CHECK int object_mesh_views(struct intrinsics *K, struct rigid T_oc[OBJECT_MESH_VIEWS],
                                 const struct object_mesh *mesh, struct err *err);
/* Draws one of them: depth [OBJECT_MESH_H][OBJECT_MESH_W]. Returns 1; 0: it shows nothing;
 * ERR_LIMIT: it would take too long. */
MUST_CHECK int object_mesh_draw(float *depth, const struct object_mesh *mesh, struct intrinsics K,
                                const struct rigid *T_oc, struct err *err);
/* object_add_view() of all of them; the object's frame is the mesh's. Returns as that does, and
 * ERR_INPUT: no view shows anything. */
MUST_CHECK int object_add_mesh(struct object *o, const struct object_mesh *mesh,
                               const struct surface_params *s, const struct tensor_params *t,
                               struct err *err);

/*
 * object_add_cloud - object_add_mesh() of points on a surface, each drawn as a patch of it
 *
 * A surface that was seen from one side is enrolled from that side: the normals say which. Edges
 * between faces are where the planes of points on both sides meet.
 * In:      point [n] of the object alone, in its frame; normals of length 1, away from it. Points
 *          without a normal (0 0 0) say how densely the surface is covered, and are not drawn
 * Maths:   MATH.md (O19)
 * Returns: what object_add_mesh() does; ERR_INPUT: fewer than OBJECT_CLOUD_MIN points have normals;
 *          ERR_LIMIT: n > OBJECT_CLOUD_MAX
 * Cost:    half a kilobyte and 30 us a point beside the views
 */
#define OBJECT_CLOUD_MIN 100
#define OBJECT_CLOUD_MAX (1 << 17)
MUST_CHECK int object_add_cloud(struct object *o, const struct object_point *point, size_t n,
                                const struct surface_params *s, const struct tensor_params *t,
                                struct err *err);

size_t object_bytes(const struct object *o);
/* out [object_bytes()]. */
void object_pack(uint8_t *out, const struct object *o);
/*
 * object_unpack - the inverse, from untrusted bytes
 *
 * Returns: 0; ERR_INPUT: not such an object; ERR_UNSUPPORTED: another build's; ERR_LIMIT;
 *          ERR_MEMORY. After an error *o is empty
 */
MUST_CHECK int object_unpack(struct object *o, const uint8_t *row, size_t len, struct err *err);

#ifdef __cplusplus
}
#endif
