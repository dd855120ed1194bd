/*
 * state_walk.h - sessions on the CPU whose state has something of everything, and their bytes
 */
#ifndef RECOND_TESTS_SUPPORT_STATE_WALK_H
#define RECOND_TESTS_SUPPORT_STATE_WALK_H

#include "gpu/mono/state.h"
#include "proto/section.h"
#include "tests/support/line.h"
#include "tests/support/unit.h"

#include <unistd.h>

/* A walk past a box that is taken away on the way, so that points are carved, with few keyframes
 * and few slots, so that both are used again. */
static inline struct rigid pose_at(int i)
{
    float t = (float)i * 0.16f;
    return scene_pose(0.8f * sinf(t), 0.1f * sinf(0.7f * t), -1.2f + 0.02f * (float)i,
                      0.9f * sinf(0.5f * t));
}

static inline struct scene scene_at(int i)
{
    struct scene s = scene_make();
    if (i >= 18)
        s.box_lo.x = s.box_hi.x;
    return s;
}

static inline void walk(struct line *l, int i)
{
    struct scene s = scene_at(i);
    struct rigid T = pose_at(i);
    assert_int_equal(line_scene(l, &s, &T), 0);
}

static inline uint8_t *save(struct gpu_session *s, size_t *len)
{
    size_t cap = gpu_session_state_bytes(s);
    uint8_t *buf = malloc(cap);
    assert_non_null(buf);
    memset(buf, 0xa5, cap);
    assert_int_equal(gpu_session_save(s, buf, cap, len, NULL), 0);
    assert_int_equal(*len, cap);
    return buf;
}

/* By the paper's rules; small_cells_config(): by those of cubes. */
static inline struct gpu_session_config small_config(void)
{
    struct gpu_session_config c = line_config(16, 17);
    c.max_points = 700;
    c.fuse.max_keyframes = 6;
    c.fuse.grace_frames = 3;
    return c;
}

static inline struct gpu_session_config small_cells_config(void)
{
    struct gpu_session_config c = small_config();
    fuse_params_cells(&c.fuse);
    c.fuse.cell_m = 0.2f; /* pixels lie far apart */
    c.fuse.max_keyframes = 6;
    c.fuse.grace_frames = 3;
    return c;
}

static inline uint8_t *small_state(struct line *l, const struct gpu_session_config *c, size_t *len)
{
    assert_int_equal(line_open(l, c), 0);
    for (int i = 0; i < 9; i++)
        walk(l, 4 * i);
    assert_true(l->cpu->n_free && l->cpu->n_unstable && l->cpu->n_stable);
    return save(l->s, len);
}

/* Into a new session of the kind and on the device of `l`; if it is taken, three frames more.
 * Returns 1 if taken. */
static inline int try_state(struct line *l, const uint8_t *buf, size_t len)
{
    const struct gpu_session_config c = l->cpu->base.config;
    struct gpu_session *own = l->s;
    struct err err = {0};
    int rc;

    assert_int_equal(session_cpu_new(&l->s, l->g, &c, NULL), 0);
    rc = gpu_session_load(l->s, buf, len, &err);
    if (rc == 0)
        for (int i = 5; i < 8; i++)
            walk(l, 3 * i);
    else
        assert_true((rc == ERR_INPUT || rc == ERR_UNSUPPORTED) && err.text[0]);
    gpu_session_free(&l->s);
    l->s = own;
    return rc == 0;
}

/* A field of a section's head, `at` bytes behind its beginning. */
static inline uint8_t *field(uint8_t *buf, size_t len, const char *tag, size_t at)
{
    struct section s;
    assert_true(section_find(&s, buf, len, SECTION_TAG(tag[0], tag[1], tag[2], tag[3])));
    return (uint8_t *)(uintptr_t)s.body + at;
}

#endif
