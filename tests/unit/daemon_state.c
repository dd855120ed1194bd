/*
 * daemon_state - mirror and trajectory as bytes: what a checkpoint keeps of a session's host side
 */
#include "daemon/session/mirror.h"
#include "daemon/session/trajectory.h"
#include "tests/support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS 5000u

static const struct cloud_limits limits = {.max_blocks = 64, .max_points = SLOTS};

/* What frame f changes. */
static void commit(struct mirror *m, uint32_t f)
{
    static struct gpu_change changes[300];
    struct mirror_commit out;

    for (uint32_t i = 0; i < 300; i++) {
        uint32_t v = (f * 300 + i) * 2654435761u;

        changes[i] = (struct gpu_change){.slot = v % SLOTS,
                                         .p_q = {(int32_t)(v >> 8 & 0xfff), (int32_t)(v >> 20), 7},
                                         .rgb = {(uint8_t)v, (uint8_t)(v >> 8), 30},
                                         .confidence = 1,
                                         .kind = v % 5 ? GPU_CHANGE_PUT : GPU_CHANGE_REMOVE};
    }
    mirror_commit(m, 0, changes, 300, &out);
}

TEST(a_mirror_comes_back)
{
    struct mirror *a, *b;
    struct mirror_summary x, y;
    struct mirror_copy copy = {0};
    size_t cap, len;
    uint8_t *buf;

    assert_int_equal(mirror_new(&a, &limits, NULL), 0);
    assert_int_equal(mirror_new(&b, &limits, NULL), 0);
    for (uint32_t f = 0; f < 20; f++)
        commit(a, f);
    cap = mirror_state_bytes(a);
    buf = malloc(cap);
    assert_non_null(buf);
    assert_int_equal(mirror_save(a, buf, cap - 1, &len, NULL), ERR_LIMIT);
    assert_int_equal(mirror_save(a, buf, cap, &len, NULL), 0);
    assert_int_equal(len, cap);
    buf[len / 2] ^= 1;
    assert_int_equal(mirror_load(b, buf, len, NULL), ERR_INPUT);
    buf[len / 2] ^= 1;
    assert_int_equal(mirror_load(b, buf, len, NULL), 0);
    assert_int_equal(mirror_load(b, buf, len, NULL), ERR_STATE);
    for (uint32_t f = 20; f < 30; f++) {
        mirror_summary(a, &x);
        mirror_summary(b, &y);
        assert_true(x.hash == y.hash && x.points == y.points && x.revision == y.revision &&
                    x.blocks == y.blocks && x.points > 0);
        commit(a, f);
        commit(b, f);
    }
    /* a client with revision 20 lacks what came after it, and no more */
    assert_int_equal(mirror_read(b, 0, x.revision + 1, &copy, NULL), ERR_END);
    assert_int_equal(mirror_read(b, 0, x.revision, &copy, NULL), 0);
    mirror_copy_free(&copy);
    free(buf);
    mirror_free(&a);
    mirror_free(&b);
}

static struct session_pose pose_at(uint32_t i)
{
    struct session_pose p = {
        .seq = i + 1, .t_capture_ns = 33333333ull * i, .T_wc = rigid_identity()};

    p.T_wc.t[1] = 0.01f * (float)i;
    p.source = i % API_SOURCES_MAX;
    p.submap = i / 3;
    return p;
}

TEST(poses_come_back)
{
    static const uint32_t counts[] = {0, 1, 1024, 2500};
    struct trajectory *a, *b;
    struct session_pose p, q;
    size_t cap, len;
    uint8_t *buf;

    for (size_t k = 0; k < sizeof(counts) / sizeof(*counts); k++) {
        assert_int_equal(trajectory_new(&a, NULL), 0);
        assert_int_equal(trajectory_new(&b, NULL), 0);
        for (uint32_t i = 0; i < counts[k]; i++) {
            p = pose_at(i);
            assert_int_equal(trajectory_append(a, &p, NULL), 0);
        }
        cap = trajectory_state_bytes(a);
        buf = malloc(cap);
        assert_non_null(buf);
        assert_int_equal(trajectory_save(a, buf, cap - 1, &len, NULL), ERR_LIMIT);
        assert_int_equal(trajectory_save(a, buf, cap, &len, NULL), 0);
        assert_int_equal(len, cap);
        for (size_t n = 0; n < len; n += n + 70 < len ? 61 : 1)
            assert_int_equal(trajectory_load(b, buf, n, NULL), ERR_INPUT);
        assert_int_equal(trajectory_load(b, buf, len, NULL), 0);
        p = pose_at(counts[k]);
        assert_int_equal(trajectory_append(b, &p, NULL), 0);
        for (uint32_t i = 0; i <= counts[k]; i++) {
            p = pose_at(i);
            assert_int_equal(trajectory_read(b, i, &q, 1), 1);
            assert_memory_equal(&p, &q, sizeof(p));
        }
        assert_int_equal(trajectory_load(b, buf, len, NULL), ERR_STATE);
        free(buf);
        trajectory_free(&a);
        trajectory_free(&b);
    }
}

TEST(poses_that_are_none_are_refused)
{
    struct trajectory *a, *b;
    struct session_pose p = pose_at(3);
    uint8_t buf[8 + 72];
    const float bad[] = {NAN, INFINITY, -INFINITY};
    size_t len;

    assert_int_equal(trajectory_new(&a, NULL), 0);
    assert_int_equal(trajectory_new(&b, NULL), 0);
    assert_int_equal(trajectory_append(a, &p, NULL), 0);
    assert_int_equal(trajectory_save(a, buf, sizeof(buf), &len, NULL), 0);
    for (size_t i = 0; i < 12; i++)
        for (size_t k = 0; k < 3; k++) {
            uint8_t was[4];

            memcpy(was, buf + 24 + 4 * i, 4);
            memcpy(buf + 24 + 4 * i, &bad[k], 4);
            assert_int_equal(trajectory_load(b, buf, len, NULL), ERR_INPUT);
            memcpy(buf + 24 + 4 * i, was, 4);
        }
    buf[4] = 2; /* two poses, and bytes for one */
    assert_int_equal(trajectory_load(b, buf, len, NULL), ERR_INPUT);
    memset(buf + 4, 0xff, 4);
    assert_int_equal(trajectory_load(b, buf, len, NULL), ERR_INPUT);
    assert_int_equal(trajectory_read(b, 0, &p, 1), 0);
    trajectory_free(&a);
    trajectory_free(&b);
}
