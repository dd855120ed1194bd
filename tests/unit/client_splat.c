/* Pictures of clouds: what is nearer hides, discs have the size that they should, cameras look
 * where they are told to. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/client/client_splat.h"
#include "tests/support/unit.h"

#define W 64
#define H 48

static const struct client_splat_view front = {
    .T_cw = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}},
    .K = {50, 50, 31.5f, 23.5f},
    .w = W,
    .h = H,
    .disc_m = 0.4f,
};

static int draw(uint8_t *picture, const struct client_splat_view *view, const float *xyz,
                const uint8_t *rgb, size_t n)
{
    const struct client_splat_cloud cloud = {.n = n, .xyz = xyz, .rgb = rgb};

    return client_splat_draw(picture, view, &cloud, NULL);
}

static const uint8_t *pixel(const uint8_t *picture, int x, int y)
{
    return picture + 3 * (y * W + x);
}

static int is_red(const uint8_t *p)
{
    return p[0] > 120 && p[1] < 60 && p[2] < 60;
}

static int is_blue(const uint8_t *p)
{
    return p[2] > 120 && p[0] < 60 && p[1] < 60;
}

/* A disc of 0.4 m at 2 m is 10 px wide at f = 50, centred on the axis: radius 5. */
TEST(a_disc_has_its_size)
{
    const float xyz[] = {0, 0, 2};
    const uint8_t red[] = {250, 0, 0};
    uint8_t picture[3 * W * H];
    int n = 0;

    assert_int_equal(draw(picture, &front, xyz, red, 1), 0);
    for (int i = 0; i < W * H; i++)
        n += is_red(picture + 3 * i);
    /* area pi 25 = 78.5; the rim is averaged with the background */
    assert_in_range(n, 60, 90);
    assert_true(is_red(pixel(picture, 31, 23)) && is_red(pixel(picture, 28, 23)));
    assert_false(is_red(pixel(picture, 25, 23)) || is_red(pixel(picture, 31, 30)));
}

/* A view is told how far off what it shows is. */
TEST(depth_is_told)
{
    const float xyz[] = {0, 0, 4, 0, 0, 2};
    const uint8_t grey[] = {9, 9, 9, 9, 9, 9};
    struct client_splat_view view = front;
    uint8_t picture[3 * W * H];
    float depth[W * H];

    view.depth = depth;
    assert_int_equal(draw(picture, &view, xyz, grey, 2), 0);
    assert_true(depth[23 * W + 31] == 2 && depth[23 * W + 28] == 2);
    assert_true(depth[0] == 0 && depth[23 * W + 40] == 0);
}

/* The nearer one wins in any order, and what is behind the camera is not drawn. */
TEST(the_nearer_hides)
{
    const float near_last[] = {0, 0, 4, 0, 0, 2, 0, 0, -1};
    const float near_first[] = {0, 0, 2, 0, 0, 4, 0, 0, -1};
    const uint8_t blue_red[] = {0, 0, 250, 250, 0, 0, 0, 250, 0};
    const uint8_t red_blue[] = {250, 0, 0, 0, 0, 250, 0, 250, 0};
    uint8_t a[3 * W * H], b[3 * W * H];

    assert_int_equal(draw(a, &front, near_last, blue_red, 3), 0);
    assert_int_equal(draw(b, &front, near_first, red_blue, 3), 0);
    assert_memory_equal(a, b, sizeof a);
    assert_true(is_red(pixel(a, 31, 23)));
    for (int i = 0; i < W * H; i++)
        assert_true(a[3 * i + 1] < 60);
}

TEST(x_is_right_and_y_is_down)
{
    const float xyz[] = {0.5f, 0, 2, 0, 0.5f, 2};
    const uint8_t rgb[] = {250, 0, 0, 0, 0, 250};
    uint8_t picture[3 * W * H];

    assert_int_equal(draw(picture, &front, xyz, rgb, 2), 0);
    assert_true(is_red(pixel(picture, 44, 23)));  /* 31.5 + 50 * 0.5 / 2 */
    assert_true(is_blue(pixel(picture, 31, 36))); /* 23.5 + 12.5 */
}

/* A pixel behind its neighbours is darker than one on a flat wall. */
TEST(steps_are_shaded)
{
    enum { N = 128 };
    static float xyz[3 * N * N];
    static uint8_t rgb[3 * N * N];
    uint8_t picture[3 * W * H];
    struct client_splat_view view = front;

    view.disc_m = 0.08f;
    memset(rgb, 200, sizeof rgb);
    for (int i = 0; i < N * N; i++) {
        float x = (float)(i % N - N / 2) / 32, y = (float)(i / N - N / 2) / 32;

        xyz[3 * i] = x;
        xyz[3 * i + 1] = y;
        xyz[3 * i + 2] = x < 0 ? 2.0f : 2.3f; /* a step in the middle, the right side behind */
    }
    assert_int_equal(draw(picture, &view, xyz, rgb, N * N), 0);
    assert_int_equal(pixel(picture, 10, 24)[0], 200);
    assert_int_equal(pixel(picture, 55, 24)[0], 200);
    assert_true(pixel(picture, 31, 24)[0] > 190 || pixel(picture, 30, 24)[0] > 190);
    assert_true(pixel(picture, 32, 24)[0] < 185);
}

/* Counts the points that a view has within its picture. */
static int inside(const struct client_splat_view *view, const struct client_splat_cloud *cloud)
{
    int n = 0;

    for (size_t i = 0; i < cloud->n; i++) {
        const float *at = cloud->xyz + 3 * i;
        struct vec3 p = rigid_apply(&view->T_cw, vec3_make(at[0], at[1], at[2]));

        assert_true(p.z > 0);
        n += fabsf(p.x / p.z * view->K.fx) < W / 2 && fabsf(p.y / p.z * view->K.fy) < H / 2;
    }
    return n;
}

/* Yaw 0, pitch 0 looks along the base camera's axis at the middle; pitch lifts the camera. */
TEST(an_orbit_looks_at_the_middle)
{
    const float yaws[] = {0, 1.5707963f, 3.1415927f, 4.712389f};
    struct client_splat_orbit o = {.R_wc = {1, 0, 0, 0, 1, 0, 0, 0, 1}, .w = W, .h = H};
    float xyz[3 * 1000];
    struct client_splat_cloud cloud = {.n = 1000, .xyz = xyz};
    struct client_splat_view view;
    struct rigid T_wc;
    struct vec3 p;

    for (int i = 0; i < 1000; i++) {
        xyz[3 * i] = 5 + (float)(i % 10) / 10 - 0.45f;
        xyz[3 * i + 1] = -3 + (float)(i / 10 % 10) / 10 - 0.45f;
        xyz[3 * i + 2] = 1 + (float)(i / 100) / 10 - 0.45f;
    }
    o.pitch = 0.5f;
    client_splat_frame(&o, &cloud, yaws, 4);
    for (int k = 0; k < 4; k++) {
        view = client_splat_at(&o, yaws[k], 1);
        p = rigid_apply(&view.T_cw, vec3_make(5, -3, 1));
        assert_true(fabsf(p.x) < 0.02f && fabsf(p.y) < 0.02f && p.z > 1);
        assert_int_equal(inside(&view, &cloud), 1000);
        view = client_splat_at(&o, yaws[k], 1.5f);
        assert_true(inside(&view, &cloud) < 1000); /* it is not far off */
        T_wc = rigid_inverse(&view.T_cw);
        assert_true(T_wc.t[1] < -3.2f); /* y points down: the camera stands above */
        client_splat_frame(&o, &cloud, &yaws[k], 1);
        view = client_splat_at(&o, yaws[k], 1);
        assert_int_equal(inside(&view, &cloud), 1000);
        view = client_splat_at(&o, yaws[k], 1.1f);
        assert_true(inside(&view, &cloud) < 1000); /* one side fills the picture more closely */
        client_splat_frame(&o, &cloud, yaws, 4);
    }
    o.pitch = 0;
    client_splat_frame(&o, &cloud, yaws, 1);
    view = client_splat_at(&o, 0, 1);
    T_wc = rigid_inverse(&view.T_cw);
    assert_true(T_wc.t[2] < 0 && fabsf(T_wc.t[0] - 5) < 0.02f && fabsf(T_wc.t[1] + 3) < 0.02f);
    cloud.n = 0; /* no points: no crash */
    client_splat_frame(&o, &cloud, yaws, 1);
    assert_true(isfinite(client_splat_at(&o, 0, 1).T_cw.t[2]));
}

/* A box without its front, which is open towards -z: seen from behind, its back hides the rest. */
TEST(an_open_room_is_seen_from_its_open_side)
{
    enum { N = 40 };
    static float xyz[3 * 4 * N * N];
    struct client_splat_cloud cloud = {.xyz = xyz};
    struct client_splat_orbit o = {.R_wc = {-1, 0, 0, 0, 1, 0, 0, 0, -1}, .w = W, .h = H};
    float yaw;

    o.pitch = 0.4f;
    for (int i = 0; i < N * N; i++) {
        float a = (float)(i % N) / N - 0.5f, b = (float)(i / N) / N - 0.5f;
        const float walls[4][3] = {{a, b, 0.5f}, {-0.5f, b, a}, {0.5f, b, a}, {a, 0.5f, b}};

        memcpy(xyz + 3 * cloud.n, walls, sizeof walls);
        cloud.n += 4;
    }
    yaw = client_splat_side(&o, &cloud); /* yaw 0 looks along -z, at the back of the back wall */
    assert_true(fabsf(yaw - 3.1415927f) < 0.8f);
    o.R_wc[0] = o.R_wc[8] = 1;
    assert_true(client_splat_side(&o, &cloud) == 0);
}

/* Of a ball and a few points far off, and of one that is no number, the ball is left. */
TEST(far_off_points_are_left_out)
{
    enum { N = 100 };
    float xyz[3 * N];
    uint8_t rgb[3 * N];

    for (int i = 0; i < N; i++) {
        float a = (float)i * 2.4f, z = 2 * (float)i / N - 1, r = sqrtf(1 - z * z);

        xyz[3 * i] = r * cosf(a);
        xyz[3 * i + 1] = r * sinf(a);
        xyz[3 * i + 2] = i % 10 == 3 ? 40 : z;
        memset(rgb + 3 * i, i, 3);
    }
    xyz[3 * 7] = NAN;
    assert_int_equal(client_splat_crop(xyz, rgb, N), N - 11);
    assert_int_equal(rgb[0], 0);
    assert_int_equal(rgb[3 * 3], 4); /* 3 was far off */
    assert_int_equal(rgb[3 * (N - 12)], 99);
    assert_int_equal(client_splat_crop(xyz, rgb, 0), 0);
}

/* Discs are as wide as the gaps: of a sparse half wider than of a dense one; a lone point is a
 * speck. */
TEST(discs_close_gaps)
{
    enum { N = 20 };
    static float xyz[3 * (2 * N * N + 1)], disc_m[2 * N * N + 1];
    struct client_splat_cloud cloud = {.n = 2 * N * N + 1, .xyz = xyz};

    for (int i = 0; i < 2 * N * N; i++) {
        float step = i < N * N ? 0.01f : 0.015f;

        xyz[3 * i] = step * (float)(i % N) + (i < N * N ? 0 : 1);
        xyz[3 * i + 1] = step * (float)(i / N % N);
    }
    xyz[3 * 2 * N * N] = 9;
    assert_int_equal(client_splat_discs(disc_m, &cloud, NULL), 0);
    assert_true(disc_m[N * 5 + 5] > 0.0141f && disc_m[N * 5 + 5] < 0.017f);
    assert_true(disc_m[N * N + N * 5 + 5] > 0.0212f && disc_m[N * N + N * 5 + 5] < 0.025f);
    assert_true(disc_m[2 * N * N] < 0.014f);
    cloud.n = 0;
    assert_int_equal(client_splat_discs(disc_m, &cloud, NULL), 0);
}

/* Without colours, faces are told apart by how they are turned. */
TEST(grey_is_lit)
{
    enum { N = 128 };
    static float xyz[3 * N * N];
    uint8_t picture[3 * W * H];
    struct client_splat_view view = front;

    view.disc_m = 0.08f;
    for (int i = 0; i < N * N; i++) {
        float x = (float)(i % N - N / 2) / 32, y = (float)(i / N - N / 2) / 32;

        xyz[3 * i] = x;
        xyz[3 * i + 1] = y;
        xyz[3 * i + 2] = 3 - 0.8f * fabsf(x); /* a corner, whose walls face left and right */
    }
    assert_int_equal(draw(picture, &view, xyz, NULL, N * N), 0);
    assert_true(pixel(picture, 38, 24)[0] > pixel(picture, 18, 24)[0] + 20);
    assert_true(pixel(picture, 18, 24)[0] > 100);
}

TEST(depth_is_coloured)
{
    const uint16_t depth[] = {0, 500, 1000, 1001, 60000};
    uint8_t rgb[15];

    client_splat_depth_colours(rgb, depth, 5, 0.5f, 8.0f);
    assert_int_equal(rgb[0], 60);
    assert_int_equal(rgb[3], 250); /* the nearest is the first colour */
    assert_int_equal(rgb[4], 240);
    assert_in_range(abs(rgb[6] - rgb[9]), 0, 1);
    assert_true(rgb[12] < 20 && rgb[14] > 40); /* the farthest, clamped, is the last */
}

TEST(hostile_numbers_draw_nothing)
{
    const float xyz[] = {NAN, 0, 2, 0, INFINITY, 2, 1e30f, 1e30f, 1e-3f, 0, 0, INFINITY, 0, 0, 0};
    const uint8_t rgb[15] = {0};
    uint8_t picture[3 * W * H], empty[3 * W * H];
    struct client_splat_view view = front;

    assert_int_equal(draw(empty, &front, xyz, rgb, 0), 0);
    assert_int_equal(draw(picture, &front, xyz, rgb, 5), 0);
    assert_memory_equal(picture, empty, sizeof empty);
    view.w = 0;
    assert_int_equal(draw(picture, &view, xyz, rgb, 0), ERR_INPUT);
    view.w = CLIENT_SPLAT_SIDE_MAX + 1;
    assert_int_equal(draw(picture, &view, xyz, rgb, 0), ERR_INPUT);
}
