/*
 * The line of pairs on CUDA against the CPU. Both compute with the same functions, which use
 * nothing but arithmetic and are rounded alike, so every change, every voxel and every bit of what
 * clients hold must be equal.
 *
 * timeout: 400
 */
#include "tests/support/gpu_case.h"
#include "tests/support/pair_scene.h"
#include "tests/support/unit.h"

#include <stdlib.h>

static const struct gpu_config cuda = {.device = "cuda", .batch = 2},
                               cpu = {.device = "cpu", .batch = 2};

/* The rig at a place; with baseline_m one camera there. */
static void look(struct gpu *g, struct pair_scene *scene, struct gpu_session *s,
                 const struct gpu_session_config *c, const float at[3])
{
    if (c->baseline_m > 0)
        pair_stand(scene, s, at[0], at[1], at[2]);
    else
        pair_look(scene, s, at[0], at[1]);
    pair_compute(g, scene);
}

/* The same session once more, without a view. */
static void rest(struct gpu *g, struct pair_scene *scene)
{
    scene->pair.rest = 1;
    pair_compute(g, scene);
}

static void same_answers(const struct pair_scene scene[2])
{
    assert_memory_equal(&scene[0].pair.result, &scene[1].pair.result, sizeof scene[0].pair.result);
    assert_memory_equal(scene[0].pair.changes, scene[1].pair.changes,
                        scene[0].pair.result.n_changes * sizeof *scene[0].pair.changes);
}

static uint8_t *state_of(struct gpu_session *s, size_t *len)
{
    size_t cap = gpu_session_state_bytes(s);
    uint8_t *buf = aligned_alloc(16, cap);
    struct err err = {0};

    assert_non_null(buf);
    if (gpu_session_save(s, buf, cap, len, &err))
        fail_msg("%s", err.text);
    return buf;
}

/* The CPU's session goes on upon the device. */
static void go_on(struct gpu *g, struct gpu_session *s[2], const struct gpu_session_config *c)
{
    struct err err = {0};
    size_t len;
    uint8_t *bytes = state_of(s[1], &len);

    gpu_session_free(&s[0]);
    assert_int_equal(gpu_session_new(&s[0], g, c, &err), 0);
    assert_int_equal(gpu_session_load(s[0], bytes, len, &err), 0);
    free(bytes);
}

static void same_states(struct gpu_session *const s[2])
{
    size_t len[2];
    uint8_t *bytes[2];

    for (int i = 0; i < 2; i++)
        bytes[i] = state_of(s[i], &len[i]);
    assert_int_equal(len[0], len[1]);
    assert_memory_equal(bytes[0], bytes[1], len[0]);
    free(bytes[0]);
    free(bytes[1]);
}

/* Sessions of one configuration on both back ends, n places long; the device's is the CPU's from
 * the second place on. */
static void both_do(const struct gpu_session_config *c, const float path[][3],
                    const enum gpu_paired *paired, int n)
{
    static struct pair_scene scene[2];
    struct gpu *g[2] = {gpu_case_open(&cuda), gpu_case_open(&cpu)};
    struct gpu_session *s[2] = {gpu_case_session(g[0], c), gpu_case_session(g[1], c)};

    for (int k = 0; k < n; k++) {
        for (int i = 0; i < 2; i++)
            look(g[i], &scene[i], s[i], c, path[k]);
        same_answers(scene);
        assert_int_equal(scene[1].pair.result.paired, paired[k]);
        assert_true(scene[0].pair.result.n_changes > 0 || paired[k] != GPU_PAIRED_LAID);
        if (k == 1)
            go_on(g[0], s, c);
    }
    do { /* what a short list had no room for */
        for (int i = 0; i < 2; i++)
            rest(g[i], &scene[i]);
        same_answers(scene);
    } while (scene[0].pair.result.n_waiting);
    same_states(s);
    for (int i = 0; i < 2; i++)
        gpu_session_free(&s[i]);
    gpu_close(&g[0]);
    gpu_close(&g[1]);
}

/* Odd sizes: columns that are no whole number of words, up axes, a list that is too short. */
static struct gpu_session_config odd_config(enum gpu_consistency consistency, int up)
{
    struct gpu_session_config c = pair_config();

    c.consistency = consistency;
    c.volume.up = up;
    c.volume.n[0] = up == 2 ? 99 : 43;
    c.volume.n[1] = 97;
    c.volume.n[2] = up == 2 ? 43 : 99;
    c.max_points = up == 2 ? 1u << 20 : 9999;
    return c;
}

static void both_do_the_same(enum gpu_consistency consistency)
{
    static const float path[3][3] = {{-0.5f, -0.5f}, {0.7f, 0.1f}, {0.2f, 0.7f}};
    static const enum gpu_paired all[3] = {GPU_PAIRED_LAID, GPU_PAIRED_LAID, GPU_PAIRED_LAID};

    for (int up = 1; up < 3; up++) {
        const struct gpu_session_config c = odd_config(consistency, up);

        both_do(&c, path, all, 3);
    }
}

TEST(both_carve_the_same)
{
    both_do_the_same(GPU_CONSISTENCY_PAPER);
}

TEST(both_find_the_same_distances)
{
    both_do_the_same(GPU_CONSISTENCY_PATCH);
}

/* One camera: a first picture, a pair, too near, a pair across the first one's direction, too far,
 * and a pair upwards. */
TEST(both_pair_the_same)
{
    static const float path[6][3] = {{-0.6f, -0.5f, 0.5f},  {-0.4f, -0.5f, 0.5f},
                                     {-0.3f, -0.45f, 0.5f}, {-0.35f, -0.25f, 0.55f},
                                     {0.7f, 0.1f, 0.5f},    {0.7f, 0.1f, 0.7f}};
    static const enum gpu_paired what[6] = {GPU_PAIRED_KEPT, GPU_PAIRED_LAID, GPU_PAIRED_NONE,
                                            GPU_PAIRED_LAID, GPU_PAIRED_KEPT, GPU_PAIRED_LAID};

    for (int i = 0; i < 2; i++) {
        struct gpu_session_config c =
            odd_config(i ? GPU_CONSISTENCY_PATCH : GPU_CONSISTENCY_PAPER, 2);

        c.baseline_m = 0.15f;
        both_do(&c, path, what, 6);
    }
}
