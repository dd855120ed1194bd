/*
 * gpu_sensor - a depth sensor's picture in the line: where its pixels fall in the colour camera's,
 * what they are worth, what fills its holes, what a mask takes away
 */
#include "gpu/mono/sensor_point.h"
#include "tests/support/line_case.h"
#include "tests/support/sensor_case.h"

#define W 96
#define H 72
#define N (W * H)

static struct gpu_session_config config(enum gpu_depth_source source)
{
    struct gpu_session_config c = line_config(W, H);
    fuse_params_cells(&c.fuse);
    c.depth_source = source;
    return c;
}

static struct rigid pose(int i)
{
    return scene_pose(0.02f * (float)i, 0.0f, -1.8f, 0.01f * (float)i);
}

/* A frame of the room with the network's depth `scale` times the true one. */
static void frame(struct line *l, const struct sensor_case *c, const struct scene *scene, int i,
                  float scale, const uint8_t *mask)
{
    struct gpu_item *item = &l->f.item;
    struct rigid T = pose(i);

    scene_draw(scene, &T, l->K, W, H, l->depth, l->rgb);
    for (int k = 0; k < N; k++)
        l->depth[k] *= scale;
    line_set_frame(l, &T);
    if (c)
        l->f.sensor = c->sensor;
    l->f.mask = mask;
    assert_int_equal(session_cpu_put_depth(l->s, l->depth, NULL), 0);
    assert_int_equal(gpu_submit(l->g, &gpu_line_mono, &item, 1, NULL), 0);
    assert_int_equal(gpu_wait(l->g, &item, 1, NULL), 0);
    for (int k = 0; k < N; k++)
        l->depth[k] /= scale;
}

/* Pixels whose depth is within 5 % of the true one, and those that have one: a coarse sensor makes
 * steps of walls that recede. */
static int count_right(const struct line *l, int *n_any)
{
    int n = 0;

    *n_any = 0;
    for (int k = 0; k < N; k++) {
        float z = l->cpu->depth[k];
        *n_any += z > 0.0f;
        n += fabsf(z - l->depth[k]) <= 0.05f * l->depth[k];
    }
    return n;
}

TEST(a_pixel_in_numbers)
{
    const struct sensor_camera c = {.K = {10, 10, 4.5f, 4.5f},
                                    .T_cs = rigid_identity(),
                                    .net_K = {20, 20, 9.5f, 9.5f},
                                    .w = 20,
                                    .h = 20};
    struct fuse_params p;
    struct sensor_box box;
    float z;

    fuse_params_default(&p);
    assert_true(sensor_metres(0, 1500) == 1.5f && sensor_metres(1, 6554) < 1.0f);
    assert_true(sensor_metres(0, 0) == 0.0f && sensor_metres(1, 0) == 0.0f);
    assert_int_equal(sensor_trust(1.0f, 255, &p), 255);
    assert_int_equal(sensor_trust(6.0f, 255, &p), 64);
    assert_int_equal(sensor_trust(1.0f, 128, &p), 128);
    assert_int_equal(sensor_trust(60.0f, 1, &p), 1);
    /* twice as coarse: 2 x 2 pixels each, none twice */
    assert_int_equal(sensor_cover(&c, 3, 4, 2.0f, &box, &z), 1);
    assert_true(z == 2.0f);
    assert_int_equal(box.x0, 6);
    assert_int_equal(box.x1, 8);
    assert_int_equal(box.y0, 8);
    assert_int_equal(box.y1, 10);
    assert_int_equal(sensor_cover(&c, 30, 4, 2.0f, &box, &z), 0);
    assert_int_equal(sensor_bin(2.0f, 2.0f), SENSOR_BINS / 2);
    assert_int_equal(sensor_bin(2.0f, 100.0f), -1);
    assert_int_equal(sensor_bin(2.0f, 0.0f), -1);
}

/* Coarser and finer than the network's picture, from the side, in both units. */
TEST(it_is_seen_from_the_colour_camera)
{
    static const struct {
        int w, h;
        float aside;
        int inverse;
    } rows[] = {{96, 72, 0, 0}, {40, 30, 0, 0}, {40, 30, 0.03f, 1}, {300, 200, -0.04f, 0}};
    struct scene scene = scene_make();
    struct gpu_session_config c = config(GPU_DEPTH_SENSOR);

    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        struct sensor_case sensor = {0};
        struct line l = {0};
        struct rigid T = pose(3);
        int right, any;

        assert_int_equal(line_open(&l, &c), 0);
        assert_int_equal(
            sensor_case_open(&sensor, rows[k].w, rows[k].h, rows[k].aside, rows[k].inverse), 0);
        sensor_case_draw(&sensor, &scene, &T);
        frame(&l, &sensor, &scene, 3, 1.5f, NULL);
        right = count_right(&l, &any);
        print_message("# %d x %d, %g m aside: %d of %d pixels, %d right\n", rows[k].w, rows[k].h,
                      (double)rows[k].aside, any, N, right);
        assert_true(any > 0.97 * N && right > 0.94 * any);
        assert_true((int)l.f.result.n_valid > 0.8 * N);
        sensor_case_close(&sensor);
        line_close(&l);
    }
}

TEST(unsure_and_masked_pixels_are_not_fused)
{
    static uint8_t mask[N];
    struct scene scene = scene_make();

    for (int k = 0; k < N; k++)
        mask[k] = k % W < W / 4;
    for (int source = GPU_DEPTH_NETWORK; source <= GPU_DEPTH_BOTH; source++) {
        struct gpu_session_config c = config((enum gpu_depth_source)source);
        struct sensor_case sensor = {0};
        struct line l = {0};
        struct rigid T = pose(0);

        assert_int_equal(line_open(&l, &c), 0);
        assert_int_equal(sensor_case_open(&sensor, W, H, 0, 0), 0);
        sensor.sensor.K = l.K;
        sensor_case_draw(&sensor, &scene, &T);
        for (int k = 0; k < N; k++)
            sensor.sure[k] = k / W < H / 2 ? 0 : 200;
        frame(&l, &sensor, &scene, 0, 1.0f, mask);
        for (int k = 0; k < N; k++) {
            int unsure = k / W < H / 2;
            assert_true((l.cpu->depth[k] > 0.0f) ==
                        (!mask[k] && (source != GPU_DEPTH_SENSOR || !unsure)));
            if (source == GPU_DEPTH_BOTH && !mask[k])
                assert_int_equal(l.cpu->trust[k],
                                 unsure ? c.fuse.mono.sensor_filled
                                        : sensor_trust(l.cpu->depth[k], 200, &c.fuse));
        }
        sensor_case_close(&sensor);
        line_close(&l);
    }
}

/* The network's depth, 1.3 times too far, is brought to the sensor's scale where that has holes. */
LINE_TEST(holes_are_filled_at_the_sensors_scale)
{
    struct gpu_session_config c = config(GPU_DEPTH_BOTH);
    struct sensor_case sensor = {0};
    struct rigid T = pose(0);
    int right, any;

    assert_int_equal(line_open(&line, &c), 0);
    assert_int_equal(sensor_case_open(&sensor, 48, 36, 0.02f, 0), 0);
    sensor_case_draw(&sensor, &drawn, &T);
    for (int i = 0; i < 48 * 36; i++)
        if (i % 48 > 30)
            sensor.values[i] = 0;
    frame(&line, &sensor, &drawn, 0, 1.3f, NULL);
    right = count_right(&line, &any);
    assert_int_equal(any, N);
    assert_true(right > 0.94 * N);
    /* a frame without a sensor's picture is the network's alone */
    frame(&line, NULL, &drawn, 1, 1.3f, NULL);
    for (int k = 0; k < N; k++)
        assert_true(fabsf(line.cpu->depth[k] - 1.3f * line.depth[k]) < 1e-4f);
    sensor_case_close(&sensor);
}

LINE_TEST(without_its_picture_nothing_is_fused)
{
    struct gpu_session_config c = config(GPU_DEPTH_SENSOR);

    assert_int_equal(line_open(&line, &c), 0);
    frame(&line, NULL, &drawn, 0, 1.0f, NULL);
    assert_int_equal(line.f.result.n_valid, 0);
    assert_int_equal(line.f.result.is_keyframe, 0);
}

/* A sure pixel nearby is three observations: two frames are enough for a stable point. */
TEST(sure_pixels_are_stable_sooner)
{
    struct scene scene = scene_make();
    uint32_t stable[2];

    for (int sure = 0; sure < 2; sure++) {
        struct gpu_session_config c = config(GPU_DEPTH_SENSOR);
        struct sensor_case sensor = {0};
        struct line l = {0};

        assert_int_equal(line_open(&l, &c), 0);
        assert_int_equal(sensor_case_open(&sensor, W, H, 0, 0), 0);
        memset(sensor.sure, sure ? 255 : 40, N);
        for (int i = 0; i < 2; i++) {
            struct rigid T = pose(0);
            sensor_case_draw(&sensor, &scene, &T);
            frame(&l, &sensor, &scene, 0, 1.0f, NULL);
        }
        stable[sure] = l.f.result.n_stable;
        sensor_case_close(&sensor);
        line_close(&l);
    }
    assert_int_equal(stable[0], 0);
    assert_true(stable[1] > N / 8);
}

LINE_TEST(what_is_no_sensor_is_refused)
{
    struct gpu_session_config c = config(GPU_DEPTH_SENSOR);
    struct gpu_session *refused = NULL;
    struct sensor_case sensor = {0};
    struct gpu_item *item = &line.f.item;
    struct rigid T = pose(0);

    assert_int_equal(line_open(&line, &c), 0);
    assert_int_equal(sensor_case_open(&sensor, 48, 36, 0.02f, 0), 0);
    frame(&line, &sensor, &drawn, 0, 1.0f, NULL);
    for (int k = 0; k < 5; k++) {
        line_set_frame(&line, &T);
        line.f.sensor = sensor.sensor;
        if (k == 0)
            line.f.sensor.width = 0;
        else if (k == 1)
            line.f.sensor.height = GPU_SENSOR_PIXELS;
        else if (k == 2)
            line.f.sensor.K.fx = NAN;
        else if (k == 3)
            line.f.sensor.T_cs.r[0] = 2.0f;
        else
            line.f.sensor.T_cs.t[2] = INFINITY;
        assert_int_equal(gpu_submit(line.g, &gpu_line_mono, &item, 1, NULL), ERR_INPUT);
    }
    c.views = 1;
    assert_int_equal(gpu_session_new(&refused, line.g, &c, NULL), ERR_INPUT);
    sensor_case_close(&sensor);
}
