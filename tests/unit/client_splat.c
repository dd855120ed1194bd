/* Pictures of clouds: what is nearer hides, discs have the size that they should, cameras look
 * where they are told to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/client/client_splat.h"

#define W 64
#define H 48

static const struct client_splat_view front = {
    .T_cw = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}},
    .K = {50, 50, 31.5f, 23.5f},
    .w = W,
    .h = H,
    .disc_m = 0.4f,
};

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
static void a_disc_has_its_size(void **state)
{
    const float xyz[] = {0, 0, 2};
    const uint8_t red[] = {250, 0, 0};
    uint8_t picture[3 * W * H];
    int n = 0;

    (void)state;
    assert_int_equal(client_splat_draw(picture, &front, xyz, red, 1, NULL), 0);
    for (int i = 0; i < W * H; i++)
        n += is_red(picture + 3 * i);
    /* area pi 25 = 78.5; the rim is averaged with the background */
    assert_in_range(n, 60, 90);
    assert_true(is_red(pixel(picture, 31, 23)) && is_red(pixel(picture, 28, 23)));
    assert_false(is_red(pixel(picture, 25, 23)) || is_red(pixel(picture, 31, 30)));
}

/* The nearer one wins in any order, and what is behind the camera is not drawn. */
static void the_nearer_hides(void **state)
{
    const float near_last[] = {0, 0, 4, 0, 0, 2, 0, 0, -1};
    const float near_first[] = {0, 0, 2, 0, 0, 4, 0, 0, -1};
    const uint8_t blue_red[] = {0, 0, 250, 250, 0, 0, 0, 250, 0};
    const uint8_t red_blue[] = {250, 0, 0, 0, 0, 250, 0, 250, 0};
    uint8_t a[3 * W * H], b[3 * W * H];

    (void)state;
    assert_int_equal(client_splat_draw(a, &front, near_last, blue_red, 3, NULL), 0);
    assert_int_equal(client_splat_draw(b, &front, near_first, red_blue, 3, NULL), 0);
    assert_memory_equal(a, b, sizeof a);
    assert_true(is_red(pixel(a, 31, 23)));
    for (int i = 0; i < W * H; i++)
        assert_true(a[3 * i + 1] < 60);
}

static void x_is_right_and_y_is_down(void **state)
{
    const float xyz[] = {0.5f, 0, 2, 0, 0.5f, 2};
    const uint8_t rgb[] = {250, 0, 0, 0, 0, 250};
    uint8_t picture[3 * W * H];

    (void)state;
    assert_int_equal(client_splat_draw(picture, &front, xyz, rgb, 2, NULL), 0);
    assert_true(is_red(pixel(picture, 44, 23)));  /* 31.5 + 50 * 0.5 / 2 */
    assert_true(is_blue(pixel(picture, 31, 36))); /* 23.5 + 12.5 */
}

/* A pixel behind its neighbours is darker than one on a flat wall. */
static void steps_are_shaded(void **state)
{
    enum { N = 128 };
    static float xyz[3 * N * N];
    static uint8_t rgb[3 * N * N];
    uint8_t picture[3 * W * H];
    struct client_splat_view view = front;

    (void)state;
    view.disc_m = 0.08f;
    memset(rgb, 200, sizeof rgb);
    for (int i = 0; i < N * N; i++) {
        float x = (float)(i % N - N / 2) / 32, y = (float)(i / N - N / 2) / 32;

        xyz[3 * i] = x;
        xyz[3 * i + 1] = y;
        xyz[3 * i + 2] = x < 0 ? 2.0f : 2.3f; /* a step in the middle, the right side behind */
    }
    assert_int_equal(client_splat_draw(picture, &view, xyz, rgb, N * N, NULL), 0);
    assert_int_equal(pixel(picture, 10, 24)[0], 200);
    assert_int_equal(pixel(picture, 55, 24)[0], 200);
    assert_true(pixel(picture, 31, 24)[0] > 190 || pixel(picture, 30, 24)[0] > 190);
    assert_true(pixel(picture, 32, 24)[0] < 185);
}

/* Yaw 0, pitch 0 looks along the base camera's axis at the middle; pitch lifts the camera. */
static void an_orbit_looks_at_the_middle(void **state)
{
    static const float base[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    float xyz[3 * 1000];
    struct client_splat_view view;
    struct rigid T_wc;
    struct vec3 p;
    int n;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        xyz[3 * i] = 5 + (float)(i % 10) / 10 - 0.45f;
        xyz[3 * i + 1] = -3 + (float)(i / 10 % 10) / 10 - 0.45f;
        xyz[3 * i + 2] = 1 + (float)(i / 100) / 10 - 0.45f;
    }
    for (int k = 0; k < 4; k++) {
        client_splat_orbit(&view, xyz, 1000, base, 1.5707963f * (float)k, 0.5f, 1, W, H);
        p = rigid_apply(&view.T_cw, vec3_make(5, -3, 1));
        assert_true(fabsf(p.x) < 0.02f && fabsf(p.y) < 0.02f && p.z > 1);
        n = 0;
        for (int i = 0; i < 1000; i++) {
            p = rigid_apply(&view.T_cw, vec3_make(xyz[3 * i], xyz[3 * i + 1], xyz[3 * i + 2]));
            assert_true(p.z > 0);
            n += fabsf(p.x / p.z * view.K.fx) < W / 2 && fabsf(p.y / p.z * view.K.fy) < H / 2;
        }
        assert_in_range(n, 900, 1000); /* nine of ten are in the picture, and it is not far off */
        client_splat_orbit(&view, xyz, 1000, base, 1.5707963f * (float)k, 0.5f, 2, W, H);
        T_wc = rigid_inverse(&view.T_cw);
        assert_true(T_wc.t[1] < -3.2f); /* y points down: the camera stands above */
    }
    client_splat_orbit(&view, xyz, 1000, base, 0, 0, 1, W, H);
    T_wc = rigid_inverse(&view.T_cw);
    assert_true(T_wc.t[2] < 0 && fabsf(T_wc.t[0] - 5) < 0.02f && fabsf(T_wc.t[1] + 3) < 0.02f);
    client_splat_orbit(&view, xyz, 0, base, 0, 0, 1, W, H); /* no points: no crash */
    assert_true(isfinite(view.T_cw.t[2]));
}

static void depth_is_coloured(void **state)
{
    const uint16_t depth[] = {0, 500, 1000, 1001, 60000};
    uint8_t rgb[15];

    (void)state;
    client_splat_depth_colours(rgb, depth, 5, 0.5f, 8.0f);
    assert_int_equal(rgb[0], 60);
    assert_int_equal(rgb[3], 250); /* the nearest is the first colour */
    assert_int_equal(rgb[4], 240);
    assert_in_range(abs(rgb[6] - rgb[9]), 0, 1);
    assert_true(rgb[12] < 20 && rgb[14] > 40); /* the farthest, clamped, is the last */
}

static void hostile_numbers_draw_nothing(void **state)
{
    const float xyz[] = {NAN, 0, 2, 0, INFINITY, 2, 1e30f, 1e30f, 1e-3f, 0, 0, INFINITY, 0, 0, 0};
    const uint8_t rgb[15] = {0};
    uint8_t picture[3 * W * H], empty[3 * W * H];
    struct client_splat_view view = front;

    (void)state;
    assert_int_equal(client_splat_draw(empty, &front, xyz, rgb, 0, NULL), 0);
    assert_int_equal(client_splat_draw(picture, &front, xyz, rgb, 5, NULL), 0);
    assert_memory_equal(picture, empty, sizeof empty);
    view.w = 0;
    assert_int_equal(client_splat_draw(picture, &view, xyz, rgb, 0, NULL), ERR_INPUT);
    view.w = CLIENT_SPLAT_SIDE_MAX + 1;
    assert_int_equal(client_splat_draw(picture, &view, xyz, rgb, 0, NULL), ERR_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_disc_has_its_size),          cmocka_unit_test(the_nearer_hides),
        cmocka_unit_test(x_is_right_and_y_is_down),     cmocka_unit_test(steps_are_shaded),
        cmocka_unit_test(an_orbit_looks_at_the_middle), cmocka_unit_test(depth_is_coloured),
        cmocka_unit_test(hostile_numbers_draw_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
