/* Tensors: pairs, bases and areas by hand, growing, and what moving a scene changes. */
#include <stdlib.h>
#include <string.h>

#include "gpu/recognise/tensor_point.h"
#include "tests/support/shape.h"
#include "tests/support/shape_random.h"
#include "tests/support/unit.h"

#define ADD(sum, area) (*(sum) += (area))
TENSOR_CLIP_DEFINE(clip, ADD)

static double total(const uint32_t *sum)
{
    double all = 0;
    for (int i = 0; i < TENSOR_VOXELS; i++)
        all += sum[i];
    return all / (double)TENSOR_FINE;
}

static struct vec3 lot_in(uint32_t *lot, float from, float to)
{
    struct vec3 v;
    v.x = from + (to - from) * shape_uniform(lot);
    v.y = from + (to - from) * shape_uniform(lot);
    v.z = from + (to - from) * shape_uniform(lot);
    return v;
}

static double area_of(const struct vec3 v[3])
{
    struct vec3 c = surface_cross(vec3_sub(v[1], v[0]), vec3_sub(v[2], v[0]));
    return 0.5 * sqrt((double)vec3_norm2(c));
}

/* Areas of triangles that lie in the grid add up to their area within 1e-5; those outside add
 * nothing. */
TEST(areas_add_up)
{
    uint32_t lot = 1, sum[TENSOR_VOXELS] = {0}, none[TENSOR_VOXELS] = {0};
    double area = 0;
    for (int k = 0; k < 40; k++) {
        struct vec3 v[3] = {lot_in(&lot, 0, 10), lot_in(&lot, 0, 10), lot_in(&lot, 0, 10)};
        struct vec3 out[3] = {lot_in(&lot, 0, 10), lot_in(&lot, 0, 10), lot_in(&lot, 0, 10)};
        clip(sum, v);
        area += area_of(v);
        for (int i = 0; i < 3; i++)
            out[i].x = out[i].x + 10.5f;
        clip(none, out);
    }
    assert_float_equal(total(sum) / area, 1, 1e-5);
    assert_true(total(none) == 0);
}

/* Small triangles, as those of a picture: ten thousand of a third of a voxel. */
TEST(small_areas_add_up)
{
    uint32_t lot = 2, sum[TENSOR_VOXELS] = {0};
    double area = 0;
    for (int k = 0; k < 10000; k++) {
        struct vec3 at = lot_in(&lot, 1, 9), v[3];
        for (int i = 0; i < 3; i++) {
            struct vec3 d = lot_in(&lot, -0.3f, 0.3f);
            v[i] = vec3_make(at.x + d.x, at.y + d.y, at.z + d.z);
        }
        clip(sum, v);
        area += area_of(v);
    }
    assert_float_equal(total(sum) / area, 1, 1e-5);
}

/* The square 0 <= x, y <= 2 at z = 5.5, as two triangles, is one in each of four voxels; at z = 5,
 * the face between two voxels, it counts once. What sticks out of the grid does not count. */
TEST(squares_by_hand)
{
    const float heights[2] = {5.5f, 5.0f};
    for (int k = 0; k < 2; k++) {
        uint32_t sum[TENSOR_VOXELS] = {0};
        float z = heights[k];
        struct vec3 a[3] = {{0, 0, z}, {2, 0, z}, {0, 2, z}},
                    b[3] = {{2, 2, z}, {0, 2, z}, {2, 0, z}};
        clip(sum, a);
        clip(sum, b);
        for (int i = 0; i < TENSOR_VOXELS; i++) {
            int x = i % 10, y = i / 10 % 10, in = x < 2 && y < 2 && i / 100 == 5;
            assert_float_equal(sum[i] / (double)TENSOR_FINE, in, 1e-6);
        }
    }
    {
        uint32_t sum[TENSOR_VOXELS] = {0};
        struct vec3 v[3] = {{-5, 0.5f, 0.5f}, {5, 0.5f, 0.5f}, {-5, 0.5f, 10.5f}};
        clip(sum, v);
        assert_float_equal(total(sum), 12.5, 1e-4);
        assert_int_equal(tensor_value(sum[0]), 128); /* the half above z = 0.5 */
    }
}

/* Two points 2 m away, 2 cm apart along x, with normals 60 degrees apart. */
TEST(basis_by_hand)
{
    struct vec3 point[2] = {{-0.01f, 0, 2}, {0.01f, 0, 2}};
    struct vec3 normal[2] = {{-0.5f, 0, -sqrtf(0.75f)}, {0.5f, 0, -sqrtf(0.75f)}};
    struct surface s = {.w = 2, .h = 1, .point = point, .normal = normal};
    struct tensor t;
    const float r[9] = {0, -1, 0, 1, 0, 0, 0, 0, -1}; /* by columns x, y, z: see below */
    tensor_basis(&t, &s, 1);
    assert_float_equal(t.T_cb.t[0], 0, 1e-7f);
    assert_float_equal(t.T_cb.t[2], 2, 1e-7f);
    assert_float_equal(t.cosine, 0.5f, 1e-6f);
    /* z = (0, 0, -1); x = n x m / | | = (0, -1, 0); y = z x x = (-1, 0, 0) */
    assert_float_equal(t.T_cb.r[8], r[8], 1e-6f);
    assert_float_equal(t.T_cb.r[3], -1, 1e-6f);
    assert_float_equal(t.T_cb.r[1], -1, 1e-6f);
    assert_true(tensor_bin(TENSOR_BIN_COS_0) == 0 && tensor_bin(-1) < TENSOR_BINS);
}

/* A grid of voxels of 10 cm around a point 2 m away, behind a pixel at 2 m: layers 0 to 5 begin at
 * 2.05 m at most and are seen, 6 begins at 2.1 m. Nothing measured hides nothing, and what lies
 * beside the picture is hidden. */
TEST(hidden_by_hand)
{
    struct vec3 point = {0, 0, 2};
    struct surface s = {.w = 1, .h = 1, .K = {1, 1, 0, 0}, .point = &point};
    struct tensor_params p = tensor_params_default();
    struct tensor t = {.T_cb = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 2}}};
    struct tensor_grid g;
    p.unit_m = 0.1f;
    p.voxel = 1;
    for (uint32_t layer = 0; layer < 10; layer++) {
        uint32_t voxel = (layer * 10 + 5) * 10 + 5;
        s.K.fx = 1;
        point.z = 2;
        g = tensor_grid(&t, &s, &p);
        assert_int_equal(tensor_hidden(&g, &t, voxel), layer >= 6);
        point.z = 0;
        assert_int_equal(tensor_hidden(&g, &t, voxel), 0);
        s.K.fx = 100; /* 5 cm beside the axis */
        assert_int_equal(tensor_hidden(&g, &t, voxel), 1);
    }
}

/* A mesh of 8 x 8 squares joins all; without the squares of a column it does not join what lies on
 * its two sides, and without one square it still does. */
TEST(joined_by_hand)
{
    uint8_t mesh[64];
    struct surface s = {.w = 8, .h = 8, .mesh = mesh};
    memset(mesh, SURFACE_NEAR | SURFACE_FAR, sizeof mesh);
    assert_true(tensor_joined(&s, 1 * 8 + 1, 4 * 8 + 6) && tensor_joined(&s, 4 * 8 + 6, 1 * 8 + 1));
    assert_true(tensor_joined(&s, 6 * 8 + 2, 1 * 8 + 2));
    mesh[2 * 8 + 3] = 0;
    assert_true(tensor_joined(&s, 1 * 8 + 1, 4 * 8 + 6));
    for (int y = 0; y < 8; y++)
        mesh[y * 8 + 3] = 0;
    assert_false(tensor_joined(&s, 1 * 8 + 1, 4 * 8 + 6) || tensor_joined(&s, 4 * 8 + 6, 8 + 1));
    assert_true(tensor_joined(&s, 6 * 8 + 2, 1 * 8 + 2) || tensor_joined(&s, 6 * 8 + 1, 1 * 8 + 1));
}

struct scene {
    float *depth;
    struct surface s;
    struct tensors t;
    struct tensor_params p;
};

static void open_scene(struct scene *c, const struct shape_place *place, int n,
                       const struct rigid *T_wc)
{
    struct intrinsics K = {262, 262, 159.5f, 119.5f};
    struct surface_params sp = surface_params_default();
    struct err err;
    c->p = tensor_params_default();
    c->p.unit_m = 0.004f;
    c->p.n = 60;
    c->depth = malloc(sizeof(float) * 320 * 240);
    assert_non_null(c->depth);
    shape_draw(c->depth, NULL, 320, 240, K, T_wc, place, n);
    assert_int_equal(surface_new(&c->s, 320, 240, K, 1, &err), 0);
    assert_int_equal(tensor_new(&c->t, &c->s, &c->p, &err), 0);
    c->s.depth = c->depth;
    surface_cpu_run(&c->s, &sp);
    tensor_cpu_run(&c->t, &c->p);
}

static void close_scene(struct scene *c)
{
    tensor_free(&c->t);
    surface_free(&c->s);
    free(c->depth);
}

/* A plane has no pair, and so no tensor. */
TEST(planes_have_none)
{
    struct shape_place table = {SHAPE_TABLE, rigid_identity()};
    struct rigid T_wc = shape_around(vec3_make(0, 0, 0), 10, 40, 0.8f);
    struct scene c;
    open_scene(&c, &table, 1, &T_wc);
    assert_true(c.s.sums->n > 100000);
    assert_int_equal(*c.t.n_pairs, 0);
    assert_int_equal(*c.t.n_tensors, 0);
    close_scene(&c);
}

/* Pairs are what (O7) says, and most of their tensors are not empty. */
TEST(pairs_are_valid)
{
    struct shape_place tortoise = {SHAPE_TORTOISE, rigid_identity()};
    struct rigid T_wc = shape_around(vec3_make(0, 0, 0), 30, 35, 0.7f);
    struct scene c;
    uint32_t joined = 0;
    int full = 0;
    open_scene(&c, &tortoise, 1, &T_wc);
    assert_int_equal(*c.t.n_tensors, 60);
    for (uint32_t i = 0; i < tensor_cells(&c.p, 320, 240); i++)
        joined += (uint32_t)tensor_is(c.t.pair[i], 0);
    assert_true(joined > 0 && joined < *c.t.n_pairs);
    for (uint32_t i = 0; i < *c.t.n_tensors; i++) {
        const struct tensor *t = &c.t.tensor[i];
        struct vec3 a = c.s.point[t->pixel[0]], b = c.s.point[t->pixel[1]];
        float d = sqrtf(vec3_norm2(vec3_sub(a, b)));
        /* those that are joined come first */
        assert_true(tensor_is(c.t.pair[c.t.picked[i]], i >= joined));
        assert_int_equal(tensor_joined(&c.s, t->pixel[0], t->pixel[1]), i < joined);
        assert_true(d >= 5 * 0.004f * 0.999f && d <= 14 * 0.004f * 1.001f);
        assert_true(t->cosine < TENSOR_BIN_COS_0);
        assert_true(t->n == 0 || t->n >= TENSOR_LEAST);
        full += t->n > 0;
        for (uint32_t k = 1; k < t->n; k++)
            assert_true(TENSOR_VOXEL_OF(t->entry[k]) > TENSOR_VOXEL_OF(t->entry[k - 1]));
    }
    print_message("# %d of 60 tensors say enough\n", full);
    assert_true(full >= 30);
    close_scene(&c);
}

/*
 * The same surface, moved: all points and normals of a picture are turned and shifted, and the
 * tensor of the same pair is made anew.
 */
TEST(moving_changes_little)
{
    struct shape_place figure = {SHAPE_FIGURE, rigid_identity()};
    struct rigid T_wc = shape_around(vec3_make(0, 0, 0), 30, 35, 0.7f);
    struct rigid T = {{0.8f, -0.6f, 0, 0.6f, 0.8f, 0, 0, 0, 1}, {0.013f, -0.007f, 0.021f}};
    struct scene c;
    struct tensor *before;
    uint64_t moved = 0, all = 0;
    open_scene(&c, &figure, 1, &T_wc);
    before = malloc(sizeof *before * 60);
    assert_non_null(before);
    memcpy(before, c.t.tensor, sizeof *before * *c.t.n_tensors);
    for (int i = 0; i < 320 * 240; i++) {
        struct rigid R = T;
        memset(R.t, 0, sizeof R.t);
        if (!(c.s.point[i].z > 0))
            continue;
        c.s.point[i] = rigid_apply(&T, c.s.point[i]);
        c.s.normal[i] = rigid_apply(&R, c.s.normal[i]);
    }
    for (uint32_t i = 0; i < *c.t.n_tensors; i++) {
        uint32_t a[TENSOR_VOXELS] = {0}, b[TENSOR_VOXELS] = {0};
        struct tensor *t = &c.t.tensor[i];
        for (uint32_t k = 0; k < before[i].n; k++)
            a[TENSOR_VOXEL_OF(before[i].entry[k])] = TENSOR_AREA_OF(before[i].entry[k]);
        tensor_basis(t, &c.s, (uint64_t)t->pixel[0] << 32 | t->pixel[1]);
        tensor_cpu_fill(t, &c.s, &c.p);
        for (uint32_t k = 0; k < t->n; k++)
            b[TENSOR_VOXEL_OF(t->entry[k])] = TENSOR_AREA_OF(t->entry[k]);
        for (int k = 0; k < TENSOR_VOXELS; k++) {
            moved += a[k] > b[k] ? a[k] - b[k] : b[k] - a[k];
            all += a[k];
        }
    }
    print_message("# a move changes %.3f %% of the areas\n", 100.0 * (double)moved / (double)all);
    assert_true(all > 0 && moved * 50 <= all);
    free(before);
    close_scene(&c);
}

/* What is in the grid but not joined to the pair does not count: a ball beside the object, 2 cm in
 * front of it in the picture, changes no tensor that it does not hide a part of. */
TEST(grows_only_along_the_surface)
{
    struct shape_place place[2] = {{SHAPE_PYRAMID, rigid_identity()},
                                   {SHAPE_BALL, shape_put(0, 0, 0, 0.18f)}};
    struct rigid T_wc = shape_around(vec3_make(0, 0, 0), 30, 35, 0.7f);
    struct scene alone, both;
    struct surface_params sp = surface_params_default();
    uint32_t same = 0, hidden = 0;
    open_scene(&alone, place, 1, &T_wc);
    open_scene(&both, place, 2, &T_wc);
    *both.s.limits = *alone.s.limits; /* so that only the ball itself makes a difference */
    for (int i = 0; i < 320 * 240; i++)
        both.s.mesh[i] = surface_triangles(&both.s, &sp, i % 320, i / 320);
    for (uint32_t i = 0; i < *alone.t.n_tensors; i++) {
        struct tensor t = alone.t.tensor[i];
        uint32_t a = t.pixel[0], b = t.pixel[1];
        if (both.depth[a] != alone.depth[a] || both.depth[b] != alone.depth[b]) {
            hidden++;
            continue;
        }
        tensor_cpu_fill(&t, &both.s, &both.p);
        same += t.n <= alone.t.tensor[i].n + 2; /* the filter mixes a pixel at the seam */
    }
    assert_int_equal(same + hidden, *alone.t.n_tensors);
    assert_true(same > 20);
    close_scene(&alone);
    close_scene(&both);
}
