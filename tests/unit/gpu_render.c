/* Depth drawn of triangles, by hand and beside rays; meshes that are objects, and those that are
 * none. */
#include "gpu/recognise/object.h"
#include "gpu/recognise/render.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>

#define W 64
#define H 48

static const struct intrinsics K = {60, 60, 31.5f, 23.5f};
static float depth[W * H];

/* A slanted square before the camera: z = 2 + x / 2. Its depth is that of the plane at each pixel's
 * ray, exactly 2 / (1 - x / 2) of it, and it covers what the square projects to. */
TEST(slanted)
{
    static const float xyz[] = {-0.5f, -0.5f, 1.75f, 0.5f,  -0.5f, 2.25f,
                                0.5f,  0.5f,  2.25f, -0.5f, 0.5f,  1.75f};
    static const uint32_t corner[] = {0, 1, 2, 2, 0, 3}; /* each turned another way */
    const struct rigid T = rigid_identity();
    size_t n = render_depth(depth, W, H, K, &T, xyz, corner, 2, 2), seen = 0;
    for (int v = 0; v < H; v++)
        for (int u = 0; u < W; u++) {
            float x = ((float)u - K.cx) / K.fx, y = ((float)v - K.cy) / K.fy;
            float z = 2.0f / (1.0f - x / 2.0f);
            int in = fabsf(x * z) < 0.5f && fabsf(y * z) < 0.5f;
            if (in)
                assert_float_equal(depth[v * W + u], z, 1e-5f);
            else
                assert_true(depth[v * W + u] == 0);
            seen += (size_t)in;
        }
    assert_true(n == seen && seen > 500);
}

/* The nearer of two stays, in either order; what has a corner behind the camera is left out. */
TEST(order)
{
    static const float xyz[] = {-5, -5, 2, 5, -5, 2,  0, 9, 2,  -5, -5, 3, 5, -5,
                                3,  0,  9, 3, -5, -5, 1, 5, -5, 1,  0,  9, -1};
    static const uint32_t a[] = {0, 1, 2, 3, 4, 5}, b[] = {3, 4, 5, 0, 1, 2}, c[] = {6, 7, 8};
    const struct rigid T = rigid_identity();
    assert_true(render_depth(depth, W, H, K, &T, xyz, a, 2, 2) > 0);
    assert_float_equal(depth[24 * W + 32], 2, 1e-5f);
    assert_true(render_depth(depth, W, H, K, &T, xyz, b, 2, 2) > 0);
    assert_float_equal(depth[24 * W + 32], 2, 1e-5f);
    assert_int_equal(render_depth(depth, W, H, K, &T, xyz, c, 1, 2), 0);
}

/* A camera that looks at a point has it in the middle, ahead, and `up` above it. */
TEST(looks)
{
    const struct vec3 at = {1, 2, 3}, up = {0, 0, 1};
    const struct vec3 from[] = {{4, 2, 3}, {1, -2, 5}, {1, 2, 9}, {1, 2, -3}};
    for (int i = 0; i < 4; i++) {
        struct rigid T = render_look(from[i], at, up), back = rigid_inverse(&T);
        struct vec3 p = rigid_apply(&back, at);
        struct vec3 q = rigid_apply(&back, vec3_make(at.x, at.y, at.z + 0.1f));
        assert_float_equal(p.x, 0, 1e-5f);
        assert_float_equal(p.y, 0, 1e-5f);
        assert_float_equal(p.z, sqrtf(vec3_norm2(vec3_sub(at, from[i]))), 1e-5f);
        assert_true(i > 1 || q.y < -0.01f);
        assert_float_equal(T.r[0] * (T.r[4] * T.r[8] - T.r[5] * T.r[7]) -
                               T.r[1] * (T.r[3] * T.r[8] - T.r[5] * T.r[6]) +
                               T.r[2] * (T.r[3] * T.r[7] - T.r[4] * T.r[6]),
                           1, 1e-5f);
    }
}

/* A box of these sides, around a point. */
static struct object_mesh box(float xyz[24], uint32_t corner[36], float side, float at)
{
    static const uint32_t faces[] = {0, 2, 3, 0, 3, 1, 4, 5, 7, 4, 7, 6, 0, 1, 5, 0, 5, 4,
                                     2, 6, 7, 2, 7, 3, 0, 4, 6, 0, 6, 2, 1, 3, 7, 1, 7, 5};
    for (size_t i = 0; i < 8; i++)
        for (size_t k = 0; k < 3; k++)
            xyz[3 * i + k] = at + (i >> k & 1 ? 0.5f : -0.5f) * side;
    memcpy(corner, faces, sizeof faces);
    return (struct object_mesh){xyz, 8, corner, 12};
}

TEST(views)
{
    struct surface_params sp = surface_params_default();
    struct tensor_params tp = tensor_params_default();
    struct rigid T_oc[OBJECT_MESH_VIEWS];
    struct object o = {0};
    struct intrinsics camera;
    struct object_mesh m;
    struct err err;
    uint32_t corner[36];
    float xyz[24], *big = malloc(sizeof *big * OBJECT_MESH_W * OBJECT_MESH_H);
    assert_non_null(big);
    for (float side = 0.05f; side < 2; side *= 3) { /* all of it is seen, from all sides */
        m = box(xyz, corner, side, 7);
        assert_int_equal(object_mesh_views(&camera, T_oc, &m, &err), 0);
        for (int i = 0; i < OBJECT_MESH_VIEWS; i++) {
            assert_true(render_depth(big, OBJECT_MESH_W, OBJECT_MESH_H, camera, &T_oc[i], m.xyz,
                                     m.corner, m.n_triangles, 2) > 100);
            for (int k = 0; k < OBJECT_MESH_W; k++)
                assert_true(big[k] == 0 && big[(OBJECT_MESH_H - 1) * OBJECT_MESH_W + k] == 0);
        }
    }
    tp.unit_m = 0.004f;
    m = box(xyz, corner, 0.1f, 0);
    assert_int_equal(object_add_mesh(&o, &m, &sp, &tp, &err), 0);
    assert_true(o.n_views == OBJECT_MESH_VIEWS && o.n_tensors > 100);
    for (size_t i = 0; i < o.n_points; i++) { /* on the box's surface, and facing out of it */
        const float p[3] = {o.point[i].p.x, o.point[i].p.y, o.point[i].p.z};
        float far = fmaxf(fabsf(p[0]), fmaxf(fabsf(p[1]), fabsf(p[2])));
        assert_float_equal(far, 0.05f, 0.004f);
        assert_true(o.point[i].normal.x * p[0] + o.point[i].normal.y * p[1] +
                        o.point[i].normal.z * p[2] >
                    0);
    }
    object_free(&o);
    m = box(xyz, corner, 0.01f, 0);
    assert_int_equal(object_add_mesh(&o, &m, &sp, &tp, &err), ERR_INPUT);
    m = box(xyz, corner, 10, 0);
    assert_int_equal(object_add_mesh(&o, &m, &sp, &tp, &err), ERR_INPUT);
    m = box(xyz, corner, 0.1f, 3e38f); /* coordinates that are lost in their own size */
    assert_int_equal(object_add_mesh(&o, &m, &sp, &tp, &err), ERR_INPUT);
    free(big);
}

/* Many triangles that all fill the picture are given up in time. */
TEST(too_much)
{
    enum { N = 40000 };
    struct surface_params sp = surface_params_default();
    struct tensor_params tp = tensor_params_default();
    static const float xyz[] = {-0.1f, 0, -0.1f, 0.1f, 0, -0.1f, 0, 0.1f, 0.1f};
    uint32_t *corner = malloc(3 * N * sizeof *corner);
    struct object_mesh m = {xyz, 3, corner, N};
    struct object o = {0};
    struct err err;
    assert_non_null(corner);
    for (uint32_t i = 0; i < 3 * N; i++)
        corner[i] = i % 3;
    tp.unit_m = 0.004f;
    assert_int_equal(object_add_mesh(&o, &m, &sp, &tp, &err), ERR_LIMIT);
    assert_non_null(strstr(err.text, "over each other"));
    object_free(&o);
    free(corner);
}

/* Coordinates far outside of the picture, and beyond what a float holds, are drawn as nothing. */
TEST(far_away)
{
    static const float xyz[] = {1e30f,  0,      2, 1e30f, 1,   2, 1e30f, 0,     3,
                                -3e38f, -3e38f, 1, 3e38f, 0,   1, 0,     3e38f, 1,
                                100,    100,    1, 101,   100, 1, 100,   101,   1};
    static const uint32_t corner[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    const struct rigid T = rigid_identity();
    assert_int_equal(render_depth(depth, W, H, K, &T, xyz, corner, 1, 2), 0);
    assert_true(render_depth(depth, W, H, K, &T, xyz, corner + 3, 1, 2) <= W * H);
    assert_int_equal(render_depth(depth, W, H, K, &T, xyz, corner + 6, 1, 2), 0);
}

/* Of a triangle that is seen from one side the other one hides what is behind it. */
TEST(one_sided)
{
    static const float xyz[] = {-5, -5, 2, 5, -5, 2, 0, 9, 2, -5, -5, 3, 5, -5, 3, 0, 9, 3};
    static const uint32_t towards[] = {0, 2, 1}, away[] = {0, 1, 2}, both[] = {0, 1, 2, 3, 5, 4},
                          other[] = {3, 5, 4, 0, 1, 2};
    const struct rigid T = rigid_identity();
    assert_true(render_depth(depth, W, H, K, &T, xyz, towards, 1, 1) > 0);
    assert_float_equal(depth[24 * W + 32], 2, 1e-5f);
    assert_int_equal(render_depth(depth, W, H, K, &T, xyz, away, 1, 1), 0);
    assert_true(render_depth(depth, W, H, K, &T, xyz, away, 1, 2) > 0);
    assert_true(render_depth(depth, W, H, K, &T, xyz, both + 3, 1, 1) > 0);
    (void)render_depth(depth, W, H, K, &T, xyz, both, 2, 1);
    assert_true(depth[24 * W + 32] == 0);
    (void)render_depth(depth, W, H, K, &T, xyz, other, 2, 1);
    assert_true(depth[24 * W + 32] == 0);
}

/* Points `step` apart on the sides of a box but its lower one, with their normals. */
static size_t cover(struct object_point *out, float side, float step)
{
    int last = (int)lroundf(side / step), n = 0;

    for (int axis = 0; axis < 3; axis++)
        for (int far = axis == 2; far < 2; far++)
            for (int i = 0; i < last; i++)
                for (int k = 0; k < last; k++) {
                    float p[3], normal[3] = {0};
                    p[axis] = (far ? 0.5f : -0.5f) * side;
                    p[(axis + 1) % 3] = step * ((float)i + 0.5f) - 0.5f * side;
                    p[(axis + 2) % 3] = step * ((float)k + 0.5f) - 0.5f * side;
                    normal[axis] = far ? 1 : -1;
                    out[n++] = (struct object_point){vec3_make(p[0], p[1], p[2]),
                                                     vec3_make(normal[0], normal[1], normal[2])};
                }
    return (size_t)n;
}

/* Points on a box's sides become these sides: even, up to the edges and not over them, seen from
 * without. */
TEST(cloud)
{
    struct surface_params sp = surface_params_default();
    struct tensor_params tp = tensor_params_default();
    struct object_point *p = calloc(OBJECT_CLOUD_MAX + 1, sizeof *p);
    struct object o = {0};
    struct err err;
    size_t n, edge = 0;
    assert_non_null(p);
    tp.unit_m = 0.004f;
    n = cover(p, 0.2f, 0.02f);
    assert_int_equal(object_add_cloud(&o, p, n, &sp, &tp, &err), 0);
    assert_true(o.n_views >= 7 && o.n_tensors > 100 && o.n_points > 1000);
    for (size_t i = 0; i < o.n_points; i++) {
        const float q[3] = {o.point[i].p.x, o.point[i].p.y, o.point[i].p.z};
        const float m[3] = {o.point[i].normal.x, o.point[i].normal.y, o.point[i].normal.z};
        float far = fmaxf(fabsf(q[0]), fmaxf(fabsf(q[1]), fabsf(q[2])));
        assert_true(q[2] < -0.1f || fabsf(far - 0.1f) < 0.003f);
        assert_true(q[2] > -0.109f); /* a quarter of the usual reach, 28 mm, over the open rim */
        assert_true(m[0] * q[0] + m[1] * q[1] + m[2] * q[2] > 0);
        edge += fabsf(q[0]) > 0.09f && fabsf(q[1]) > 0.09f;
    }
    assert_true(edge > 10);
    object_free(&o);
    for (size_t i = 0; i < n; i++) /* a room: seen from within, so from no view outside of it */
        p[i].normal = vec3_make(-p[i].normal.x, -p[i].normal.y, -p[i].normal.z);
    assert_int_equal(object_add_cloud(&o, p, n, &sp, &tp, &err), 0);
    edge = 0;
    for (size_t i = 0; i < o.n_points; i++) /* but through its open lower side */
        edge += o.point[i].normal.x * o.point[i].p.x + o.point[i].normal.y * o.point[i].p.y +
                    o.point[i].normal.z * o.point[i].p.z <
                0;
    assert_true(o.n_points > 300 && edge > o.n_points * 9 / 10);
    object_free(&o);
    n = cover(p, 0.08f, 0.02f);
    for (size_t i = 0; i < n; i++)
        p[i].normal = i % 5 ? vec3_make(0, 0, 0) : p[i].normal;
    assert_int_equal(object_add_cloud(&o, p, n, &sp, &tp, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "16 points of a surface are too few"));
    n = cover(p, 6, 0.25f);
    assert_int_equal(object_add_cloud(&o, p, n, &sp, &tp, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "radius"));
    assert_int_equal(object_add_cloud(&o, p, OBJECT_CLOUD_MAX + 1, &sp, &tp, &err), ERR_LIMIT);
    for (size_t i = 0; i < 1000; i++) /* many at one place */
        p[i] = (struct object_point){vec3_make(0, 0, 0), vec3_make(0, 0, 1)};
    assert_int_equal(object_add_cloud(&o, p, 1000, &sp, &tp, &err), ERR_INPUT);
    assert_true(o.n_views == 0 && o.n_points == 0);
    object_free(&o);
    free(p);
}

/* Normals that are 10 degrees off leave the sides as even as they are. */
TEST(coarse_normals)
{
    struct surface_params sp = surface_params_default();
    struct tensor_params tp = tensor_params_default();
    struct object_point *p = calloc(1000, sizeof *p);
    struct object o = {0};
    struct err err;
    size_t n, off = 0;
    assert_non_null(p);
    tp.unit_m = 0.004f;
    n = cover(p, 0.2f, 0.02f);
    for (size_t i = 0; i < n; i++) {
        float tilt = i % 3 == 0 ? 0.1736f : -0.1736f;
        struct vec3 m = p[i].normal;
        p[i].normal = fabsf(m.x) > 0.5f ? vec3_make(0.9848f * m.x, tilt, 0)
                                        : vec3_make(tilt, 0.9848f * m.y, 0.9848f * m.z);
    }
    assert_int_equal(object_add_cloud(&o, p, n, &sp, &tp, &err), 0);
    for (size_t i = 0; i < o.n_points; i++) {
        const float q[3] = {o.point[i].p.x, o.point[i].p.y, o.point[i].p.z};
        float far = fmaxf(fabsf(q[0]), fmaxf(fabsf(q[1]), fabsf(q[2])));
        off += fabsf(far - 0.1f) > 0.001f;
    }
    print_message("# %zu of %zu points are a millimetre off\n", off, o.n_points);
    assert_true(o.n_points > 1000 && off < o.n_points / 8);
    object_free(&o);
    free(p);
}
