/*
 * gpu_sensor - depth sensors on CUDA against the CPU twin: depth, trust by what it changes, points
 *
 * Bound:   equal bits, the points' among them: claims are minima, the common ratio is read off
 *          counts, the rest is float arithmetic in the same order, and logarithms are our own.
 */
#include "tests/support/fusion_case.h"
#include "tests/support/line.h"
#include "tests/support/lens_case.h"
#include "tests/support/sensor_case.h"
#include "tests/support/unit.h"

#define W 99
#define H 35
#define N (W * H)
#define FRAMES 16

/* Noise, holes, unsure pixels; every fifth frame has no sensor's picture, every third a mask. */
static void draw(struct line *l, struct sensor_case *c, uint8_t *mask, int i, uint32_t *random)
{
    struct scene scene = scene_make();
    struct rigid T = scene_pose(0.03f * (float)i, 0.0f, -1.8f, 0.02f * (float)i);
    int n = c->sensor.width * c->sensor.height;

    scene_draw(&scene, &T, l->K, W, H, l->depth, l->rgb);
    sensor_case_draw(c, &scene, &T);
    for (int k = 0; k < n; k++) {
        c->values[k] = (uint16_t)((float)c->values[k] * (0.97f + 0.06f * scene_random(random)));
        c->sure[k] = (uint8_t)(scene_random(random) * 255.9f);
        if (k % 48 < i)
            c->values[k] = 0;
    }
    for (int k = 0; k < N; k++) {
        l->depth[k] *= 1.2f + 0.1f * scene_random(random);
        mask[k] = (k + 5 * i) % 13 < 3;
    }
    line_set_frame(l, &T);
    if (i % 5 != 4)
        l->f.sensor = c->sensor;
    if (i % 2)
        l->f.sensor.sure = NULL;
    l->f.mask = i % 3 ? NULL : mask;
}

static void compare(const struct gpu_frame *a, const struct gpu_frame *b)
{
    assert_int_equal(a->result.n_valid, b->result.n_valid);
    assert_int_equal(a->result.n_updated, b->result.n_updated);
    assert_int_equal(a->result.n_inserted, b->result.n_inserted);
    assert_int_equal(a->result.n_stable, b->result.n_stable);
    assert_true(a->result.median_depth_m == b->result.median_depth_m);
    assert_int_equal(a->result.n_changes, b->result.n_changes);
    assert_memory_equal(a->changes, b->changes, a->result.n_changes * sizeof *a->changes);
}

/* lenses: frame and sensor have cameras of every model in turn. */
static void a_session(enum gpu_depth_source source, int cells, int lenses)
{
    struct gpu_session_config c = line_config(W, H);
    static float here[N], there[N];
    static uint8_t mask[N];
    struct fusion_rig *r;
    struct sensor_case sensor = {0};
    struct line l = {0};
    struct gpu_item *item = &l.f.item;
    uint32_t random = 7, changes = 0;

    if (cells)
        fuse_params_cells(&c.fuse);
    c.depth_source = source;
    r = fusion_case_open(&c, 1);
    assert_int_equal(line_open(&l, &c), 0);
    assert_int_equal(sensor_case_open(&sensor, 131, 61, -0.03f, cells), 0);
    for (int i = 0; i < FRAMES; i++) {
        struct gpu_frame f;
        const float *depth = l.depth;

        draw(&l, &sensor, mask, i, &random);
        if (lenses) {
            struct gpu_sensor *s = &l.f.sensor;
            assert_int_equal(lens_case(i % LENS_CASES, &l.f.lens, &l.f.K, W, H), 0);
            if (s->values)
                assert_int_equal(
                    lens_case(i / 2 % LENS_CASES, &s->lens, &s->K, s->width, s->height), 0);
        }
        f = l.f;
        l.f.depth_out = here;
        f.depth_out = there;
        assert_int_equal(session_cpu_put_depth(l.s, l.depth, NULL), 0);
        assert_int_equal(gpu_submit(l.g, &gpu_line_mono, &item, 1, NULL), 0);
        assert_int_equal(gpu_wait(l.g, &item, 1, NULL), 0);
        assert_int_equal(fusion_cuda->run(r, &f, &depth, NULL), 0);
        assert_memory_equal(here, there, sizeof here);
        compare(&f, &l.f);
        changes += f.result.n_changes;
    }
    assert_true(changes > N / 4);
    sensor_case_close(&sensor);
    line_close(&l);
    fusion_cuda->close(&r);
}

TEST(sensors_are_the_cpu_twins)
{
    for (int source = GPU_DEPTH_NETWORK; source <= GPU_DEPTH_BOTH; source++)
        for (int cells = 0; cells < 2; cells++)
            a_session((enum gpu_depth_source)source, cells, 0);
}

TEST(so_they_are_through_other_models)
{
    for (int source = GPU_DEPTH_NETWORK; source <= GPU_DEPTH_BOTH; source++)
        a_session((enum gpu_depth_source)source, 1, 1);
}
