/* object_mesh.c - the views by which a mesh is enrolled */
#include "gpu/recognise/object.h"
#include "gpu/recognise/render.h"

#include <stdlib.h>

#define FOCAL 262.5f   /* focal length in pixels: structured light's at 320 x 240 */
#define NEAREST_M 0.8f /* a usual distance of such a camera */
#define ROOM 2.5f      /* distance in radii of the mesh's ball; it fills the picture at 2.41 */
#define ROW 6          /* views around it, above and below */
#define LIFT 0.5f      /* sine of their elevation */
#define LEVEL 0.8660254f

/* The middle of the box around a mesh, and the distance of the farthest point from it. */
static float ball(struct vec3 *middle, const struct object_mesh *mesh)
{
    float low[3], high[3], far = 0;

    for (int k = 0; k < 3; k++)
        low[k] = high[k] = mesh->xyz[3 * (size_t)mesh->corner[0] + (size_t)k];
    for (size_t i = 0; i < 3 * mesh->n_triangles; i++)
        for (int k = 0; k < 3; k++) {
            float x = mesh->xyz[3 * (size_t)mesh->corner[i] + (size_t)k];
            low[k] = x < low[k] ? x : low[k];
            high[k] = x > high[k] ? x : high[k];
        }
    *middle =
        vec3_make(0.5f * (low[0] + high[0]), 0.5f * (low[1] + high[1]), 0.5f * (low[2] + high[2]));
    for (size_t i = 0; i < 3 * mesh->n_triangles; i++) {
        const float *p = mesh->xyz + 3 * (size_t)mesh->corner[i];
        float d2 = vec3_norm2(vec3_sub(vec3_make(p[0], p[1], p[2]), *middle));
        far = d2 > far ? d2 : far;
    }
    return sqrtf(far);
}

int object_mesh_views(struct intrinsics *K, struct rigid T_oc[OBJECT_MESH_VIEWS],
                      const struct object_mesh *mesh, struct err *err)
{
    const struct vec3 up = {0, 0, 1};
    struct vec3 middle;
    float radius = ball(&middle, mesh), far = ROOM * radius;

    if (!(radius >= OBJECT_RADIUS_MIN_M && radius <= OBJECT_RADIUS_MAX_M))
        return err_set(err, ERR_INPUT,
                       "its surface has a radius of %.3g m, objects have %.2g to %.2g m; is it in "
                       "metres?",
                       (double)radius, (double)OBJECT_RADIUS_MIN_M, (double)OBJECT_RADIUS_MAX_M);
    far = far > NEAREST_M ? far : NEAREST_M;
    *K = (struct intrinsics){FOCAL, FOCAL, 0.5f * (OBJECT_MESH_W - 1), 0.5f * (OBJECT_MESH_H - 1)};
    for (int i = 0; i < OBJECT_MESH_VIEWS; i++) {
        float angle = 6.2831853f * ((float)(i % ROW) + (i < ROW ? 0.0f : 0.5f)) / ROW;
        float lift = i < ROW ? LIFT : i < 2 * ROW ? -LIFT : i == 2 * ROW ? 1.0f : -1.0f;
        float level = i < 2 * ROW ? LEVEL : 0.0f;
        struct vec3 from = {middle.x + far * level * cosf(angle),
                            middle.y + far * level * sinf(angle), middle.z + far * lift};
        T_oc[i] = render_look(from, middle, up);
    }
    return 0;
}

int object_mesh_draw(float *depth, const struct object_mesh *mesh, struct intrinsics K,
                     const struct rigid *T_oc, struct err *err)
{
    size_t seen = render_depth(depth, OBJECT_MESH_W, OBJECT_MESH_H, K, T_oc, mesh->xyz,
                               mesh->corner, mesh->n_triangles, mesh->sides);

    if (seen == RENDER_TOO_MUCH)
        return err_set(err, ERR_LIMIT, "its triangles lie over each other too often");
    return seen > 0;
}

int object_add_mesh(struct object *o, const struct object_mesh *mesh,
                    const struct surface_params *s, const struct tensor_params *t, struct err *err)
{
    struct rigid T_oc[OBJECT_MESH_VIEWS];
    struct intrinsics K;
    float *depth = malloc(sizeof *depth * OBJECT_MESH_W * OBJECT_MESH_H);
    int rc = depth ? object_mesh_views(&K, T_oc, mesh, err)
                   : err_set(err, ERR_MEMORY, "no memory for a view of the mesh");
    uint32_t before = o->n_views;

    for (int i = 0; i < OBJECT_MESH_VIEWS && rc == 0; i++) {
        rc = object_mesh_draw(depth, mesh, K, &T_oc[i], err);
        if (rc == 1)
            rc = object_add_view(o, depth, OBJECT_MESH_W, OBJECT_MESH_H, K, &T_oc[i], s, t, err);
        if (rc == ERR_INPUT) /* this view shows too little; others may show more */
            rc = 0;
    }
    free(depth);
    if (rc == 0 && o->n_views == before)
        rc = err_set(err, ERR_INPUT, "it shows no surface from anywhere");
    return rc;
}
