/* A depth picture's surface: (O1)-(O6) by hand, against a general solver, and on noise. */
#include <stdlib.h>
#include <string.h>

#include "gpu/recognise/surface_point.h"
#include "proto/geom/solve.h"
#include "tests/support/shape.h"
#include "tests/support/shape_random.h"
#include "tests/support/unit.h"

static const struct intrinsics K = {525, 525, 319.5f, 239.5f};

static void open_surface(struct surface *s, float **depth, int w, int h, int step)
{
    struct err err;
    struct intrinsics camera = {K.fx, K.fy, 0.5f * (float)(w - 1), 0.5f * (float)(h - 1)};
    *depth = calloc((size_t)w * (size_t)h, sizeof **depth);
    assert_non_null(*depth);
    assert_int_equal(surface_check(w, h, &camera, &err), 0);
    assert_int_equal(surface_new(s, w, h, camera, step, &err), 0);
    s->depth = *depth;
}

static void close_surface(struct surface *s, float *depth)
{
    free(depth);
    surface_free(s);
}

/* exp(-x) within 0.5 % of it, relatively, in the range that the filter asks for. */
TEST(decay_is_exp)
{
    for (float x = 0; x < 9; x += 0.01f)
        assert_float_equal(surface_decay(x) / expf(-x), 1, 5e-3f);
}

/* The least eigenvector of matrices of points about a plane is that of Jacobi's rotations. */
TEST(least_eigenvector)
{
    uint32_t lot = 5;
    for (int k = 0; k < 1000; k++) {
        float c[6] = {0};
        double a[9], value[3], vector[9], dot;
        struct vec3 n = {shape_normal(&lot), shape_normal(&lot), shape_normal(&lot)}, v;
        n = surface_scale(n, 1 / sqrtf(vec3_norm2(n)));
        for (int i = 0; i < 30; i++) {
            struct vec3 p = {shape_normal(&lot), shape_normal(&lot), shape_normal(&lot)};
            float off = surface_dot(p, n) * 0.7f;
            p = vec3_sub(p, surface_scale(n, off));
            c[0] += p.x * p.x;
            c[1] += p.x * p.y;
            c[2] += p.x * p.z;
            c[3] += p.y * p.y;
            c[4] += p.y * p.z;
            c[5] += p.z * p.z;
        }
        memcpy(a, (double[9]){c[0], c[1], c[2], c[1], c[3], c[4], c[2], c[4], c[5]}, sizeof a);
        solve_eigen(value, vector, a, 3);
        v = surface_least(c);
        dot = fabs((double)v.x * vector[6] + (double)v.y * vector[7] + (double)v.z * vector[8]);
        assert_float_equal(dot, 1, 1e-4);
    }
}

/* A wall 1 m in front of a camera of 500 pixels: neighbours are 2 mm apart, all of their normals
 * are (0, 0, -1), and every pixel but those of the last row and column has two triangles. */
TEST(wall)
{
    struct surface s;
    struct surface_params p = surface_params_default();
    float *depth;
    open_surface(&s, &depth, 41, 31, 1);
    s.K.fx = s.K.fy = 500;
    for (int i = 0; i < 41 * 31; i++)
        depth[i] = 1;
    surface_cpu_run(&s, &p);
    assert_float_equal(s.limits->resolution_m, 0.002f, 2e-6f);
    for (int y = 0; y < 31; y++)
        for (int x = 0; x < 41; x++) {
            assert_float_equal(s.normal[y * 41 + x].z, -1, 1e-5f);
            assert_int_equal(s.mesh[y * 41 + x], x < 40 && y < 30 ? SURFACE_NEAR | SURFACE_FAR : 0);
        }
    close_surface(&s, depth);
}

/* Two walls 20 cm apart: the filter mixes them nowhere, no triangle joins them. A pixel without
 * depth takes the six triangles around it along. */
TEST(step_and_hole)
{
    struct surface s;
    struct surface_params p = surface_params_default();
    float *depth;
    int gone = 0;
    open_surface(&s, &depth, 60, 40, 1);
    for (int i = 0; i < 60 * 40; i++)
        depth[i] = i % 60 < 30 ? 1.0f : 1.2f;
    depth[20 * 60 + 10] = 0;
    depth[3] = NAN;
    depth[4] = -1;
    depth[5] = INFINITY;
    surface_cpu_run(&s, &p);
    for (int i = 0; i < 60 * 40; i++)
        if (s.filtered[i] > 0)
            assert_float_equal(s.filtered[i], depth[i], 1e-5f);
    for (int y = 0; y < 39; y++)
        assert_int_equal(s.mesh[y * 60 + 29], 0);
    for (int y = 18; y < 23; y++)
        for (int x = 8; x < 13; x++)
            gone += !(s.mesh[y * 60 + x] & SURFACE_NEAR) + !(s.mesh[y * 60 + x] & SURFACE_FAR);
    assert_int_equal(gone, 6);
    for (int x = 3; x < 6; x++)
        assert_true(s.filtered[x] == 0);
    close_surface(&s, depth);
}

/*
 * Table 1 of the paper: a wall at right angles to the camera, with the noise of shape.h. Its means
 * are 4.84 and 13.89 degrees on a real sensor; bounds are 2 and 5.
 */
TEST(noisy_wall)
{
    const float far[2] = {1.5f, 3.5f}, bound[2] = {2, 5};
    struct surface_params p = surface_params_default();
    for (int k = 0; k < 2; k++) {
        struct surface s;
        float *depth;
        double sum = 0;
        int n = 0;
        open_surface(&s, &depth, 320, 240, 2);
        for (int i = 0; i < 320 * 240; i++)
            depth[i] = far[k];
        shape_noise(depth, 320 * 240, (uint32_t)k);
        surface_cpu_run(&s, &p);
        for (int i = 0; i < s.w * s.h; i++) {
            float cosine = -s.normal[i].z;
            sum += acos(cosine < 1 ? (double)cosine : 1.0) * 180 / M_PI;
            n++;
        }
        print_message("# wall at %.1f m: normals %.2f degrees off in the mean\n", (double)far[k],
                      sum / n);
        assert_true(sum / n <= (double)bound[k]);
        close_surface(&s, depth);
    }
}

/* Nothing, one pixel, numbers of chance: whatever comes out is finite, and nothing has no
 * surface. */
TEST(wild)
{
    struct surface s;
    struct surface_params p = surface_params_default();
    float *depth;
    uint32_t lot = 9;
    open_surface(&s, &depth, 50, 40, 1);
    surface_cpu_run(&s, &p);
    assert_true(s.sums->n == 0 && s.limits->resolution_m == 0);
    depth[777] = 1;
    surface_cpu_run(&s, &p);
    assert_true(s.sums->n == 0);
    for (int k = 0; k < 50; k++) {
        for (int i = 0; i < 50 * 40; i++) {
            uint32_t bits = shape_draw_lot(&lot);
            memcpy(&depth[i], &bits, 4);
        }
        surface_cpu_run(&s, &p);
        for (int i = 0; i < 50 * 40; i++)
            assert_true(isfinite(s.point[i].x) && isfinite(s.normal[i].x) &&
                        isfinite(s.filtered[i]));
        assert_true(isfinite(s.limits->length) && isfinite(s.limits->chord));
    }
    close_surface(&s, depth);
}
