/*
 * gpu_sessions - the CUDA back end over time: sessions leave nothing behind, frames allocate
 * nothing, two batches may be under way and no third; sessions are made by one thread while another
 * runs frames (gpu_threads does that with networks). The device's memory is looked at as a whole:
 * no other process may use the card meanwhile.
 */
#include "gpu/base/ops.h"
#include "tests/support/count_malloc.h"
#include "tests/support/gpu_case.h"
#include "tests/support/scene.h"
#include "tests/support/unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* of tests/emulate, where kernels run on the host */
extern void _Z15emulate_barrierj(unsigned) __attribute__((weak));

#define W 64
#define H 48

static const struct gpu_config cuda = {.device = "cuda", .batch = 4};

static struct gpu_session *open_session_of(struct gpu *g, int w, int h)
{
    struct gpu_session_config c = {.line = &gpu_line_mono,
                                   .net_w = w,
                                   .net_h = h,
                                   .max_image_w = W,
                                   .max_image_h = H,
                                   .step_m = 0.001f,
                                   .max_points = 1u << 16};
    struct gpu_session *s = NULL;
    struct err err = {0};
    fuse_params_default(&c.fuse);
    if (gpu_session_make(&s, g, &c, &err)) {
        print_error("%s\n", err.text); /* perhaps in another thread than the test's */
        abort();
    }
    return s;
}

static struct gpu_session *open_session(struct gpu *g)
{
    return open_session_of(g, W, H);
}

static struct gpu_frame frame_of(struct gpu_session *s, const uint8_t *rgb, int i)
{
    struct gpu_frame f = {
        .item.session = s, .rgb = rgb, .width = W, .height = H, .K = scene_intrinsics(W, H)};
    f.has_pose = 1;
    f.T_wc = scene_pose(0.01f * (float)i, 0.0f, -1.5f, 0.0f);
    return f;
}

/* Enqueue a batch of one. */
static int start(struct gpu *g, struct gpu_frame *f, const float *depth)
{
    struct gpu_item *batch = &f->item;
    struct err err = {0};
    int rc;

    if (g->ops->session(&gpu_line_mono)->put_depth(batch->session, depth, &err))
        fail_msg("%s", err.text);
    rc = gpu_submit(g, &gpu_line_mono, &batch, 1, &err);
    if (rc && rc != ERR_STATE)
        fail_msg("%s", err.text);
    return rc;
}

static void draw(uint8_t *rgb, float *depth)
{
    struct scene scene = scene_make();
    struct rigid T = scene_pose(0.0f, 0.0f, -1.5f, 0.0f);
    scene_draw(&scene, &T, scene_intrinsics(W, H), W, H, depth, rgb);
}

static uint64_t used_bytes(const struct gpu *g)
{
    struct gpu_info info;
    gpu_get_info(g, &info);
    return info.memory_used_bytes;
}

TEST(a_thousand_sessions_leave_nothing)
{
    struct gpu *g = gpu_case_open(&cuda);
    struct gpu_session *s;
    uint64_t before;
    for (int i = 0; i < 8; i++) { /* the line and its graphs stay; so do the driver's own pools */
        s = open_session(g);
        gpu_session_free(&s);
    }
    before = used_bytes(g);
    for (int i = 0; i < 1000; i++) {
        s = open_session(g);
        gpu_session_free(&s);
    }
    print_message("# device memory: %llu bytes before, %llu after\n", (unsigned long long)before,
                  (unsigned long long)used_bytes(g));
    assert_true(used_bytes(g) <= before);
    gpu_close(&g);
}

TEST(frames_allocate_nothing)
{
    struct gpu *g = gpu_case_open(&cuda);
    struct gpu_session *s = open_session(g);
    uint8_t *rgb = (uint8_t *)gpu_host_get(g, W * H * 3);
    float depth[W * H];
    size_t own = 0;
    uint64_t device = 0;
    assert_non_null(rgb);
    draw(rgb, depth);
    for (int i = 0; i < 60; i++) {
        struct gpu_frame f = frame_of(s, rgb, i);
        struct gpu_item *batch = &f.item;
        if (i == 10) {
            own = count_malloc_own;
            device = used_bytes(g);
        }
        assert_int_equal(start(g, &f, depth), 0);
        assert_int_equal(gpu_wait(g, &batch, 1, NULL), 0);
        assert_true(f.result.n_valid > 0);
    }
    if (!_Z15emulate_barrierj) /* the emulator's run-time is ours, and allocates */
        assert_int_equal(count_malloc_own - own, 0);
    assert_true(used_bytes(g) == device);
    gpu_host_put(g, rgb, W * H * 3);
    gpu_session_free(&s);
    gpu_close(&g);
}

TEST(two_batches_and_no_third)
{
    struct gpu *g = gpu_case_open(&cuda);
    struct gpu_session *s[3] = {open_session(g), open_session(g), open_session(g)};
    uint8_t rgb[W * H * 3];
    float depth[W * H];
    struct gpu_frame f[3];
    draw(rgb, depth);
    for (int i = 0; i < 3; i++)
        f[i] = frame_of(s[i], rgb, 0);
    assert_int_equal(start(g, &f[0], depth), 0);
    assert_int_equal(start(g, &f[1], depth), 0);
    assert_int_equal(start(g, &f[2], depth), ERR_STATE);
    for (int i = 0; i < 2; i++) {
        struct gpu_item *batch = &f[i].item;
        assert_int_equal(gpu_wait(g, &batch, 1, NULL), 0);
    }
    assert_int_equal(f[0].result.n_inserted, f[1].result.n_inserted);
    assert_true(f[0].result.n_inserted > 1000);
    assert_int_equal(start(g, &f[2], depth), 0);
    {
        struct gpu_item *batch = &f[2].item;
        assert_int_equal(gpu_wait(g, &batch, 1, NULL), 0);
    }
    for (int i = 0; i < 3; i++)
        gpu_session_free(&s[i]);
    gpu_close(&g);
}

struct maker {
    struct gpu *g;
    atomic_int made, over;
};

/* More sizes than lines are kept for, so graphs are recorded and freed all the time. */
static void *make_others(void *arg)
{
    struct maker *m = arg;

    for (int k = 0; !m->over; k++) {
        struct gpu_session *s = open_session_of(m->g, 32 * (1 + k % 5), 32);
        gpu_session_free(&s);
        m->made++;
    }
    return NULL;
}

/* The sum of all results and changes of a walk. */
static uint64_t walk(int disturbed)
{
    struct maker m = {.g = gpu_case_open(&cuda)};
    struct gpu_session *s = open_session(m.g);
    uint8_t rgb[W * H * 3];
    float depth[W * H];
    uint64_t sum = 0;
    pthread_t thread;

    draw(rgb, depth);
    if (disturbed)
        assert_int_equal(pthread_create(&thread, NULL, make_others, &m), 0);
    for (int i = 0; i < 20; i++) {
        struct gpu_frame f = frame_of(s, rgb, i);
        struct gpu_item *batch = &f.item;
        int made = m.made;
        assert_int_equal(start(m.g, &f, depth), 0);
        assert_int_equal(gpu_wait(m.g, &batch, 1, NULL), 0);
        assert_true(f.result.n_valid > 0);
        sum = sum * 31 + f.result.n_points;
        sum = sum * 31 + f.result.n_associated;
        for (uint32_t k = 0; k < f.result.n_changes; k++)
            sum = sum * 31 + f.changes[k].id * 7 + (uint64_t)(int64_t)f.changes[k].p_q[2];
        for (int k = 0; disturbed && k < 500 && m.made < made + 2; k++)
            usleep(1000);
    }
    m.over = 1;
    if (disturbed) {
        pthread_join(thread, NULL);
        print_message("# %d sessions of other sizes were made meanwhile\n", m.made);
        assert_true(m.made >= 20);
    }
    gpu_session_free(&s);
    gpu_close(&m.g);
    return sum;
}

TEST(sessions_are_made_beside_frames)
{
    uint64_t alone = walk(0);

    assert_true(walk(0) == alone);
    assert_true(walk(1) == alone);
}
