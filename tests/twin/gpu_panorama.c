/*
 * The line of pairs on CUDA against the CPU. Both compute with the same functions, which use
 * nothing but arithmetic and are rounded alike, so every change, every voxel and every bit of what
 * clients hold must be equal.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/pair_scene.h"

#include <stdlib.h>

static struct gpu *open_or_skip(const char *device)
{
    const struct gpu_config config = {.device = device, .batch = 2};
    struct gpu *g = NULL;
    struct err err = {0};

    if (strcmp(device, "cpu") && gpu_cuda_count() == 0) {
        print_message("# no CUDA device, or a build without CUDA\n");
        skip();
    }
    if (gpu_open(&g, &config, &err))
        fail_msg("%s", err.text);
    return g;
}

static void look(struct gpu *g, struct pair_scene *scene, struct gpu_session *s, float x, float y)
{
    struct gpu_item *item = &scene->pair.item;
    struct err err = {0};

    pair_look(scene, s, x, y);
    if (gpu_submit(g, &gpu_line_panorama, &item, 1, &err) || gpu_wait(g, &item, 1, &err))
        fail_msg("%s", err.text);
}

/* The same session once more, without a view. */
static void rest(struct gpu *g, struct pair_scene *scene)
{
    struct gpu_item *item = &scene->pair.item;
    struct err err = {0};

    scene->pair.rest = 1;
    if (gpu_submit(g, &gpu_line_panorama, &item, 1, &err) || gpu_wait(g, &item, 1, &err))
        fail_msg("%s", err.text);
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

/* Odd sizes: columns that are no whole number of words, up axes, a list that is too short. */
static void both_do_the_same(enum gpu_consistency consistency)
{
    static const float path[3][2] = {{-0.5f, -0.5f}, {0.7f, 0.1f}, {0.2f, 0.7f}};
    static struct pair_scene scene[2];
    struct gpu *g[2] = {open_or_skip("cuda"), open_or_skip("cpu")};
    struct err err = {0};

    for (int up = 1; up < 3; up++) {
        struct gpu_session_config c = pair_config();
        struct gpu_session *s[2], *again;
        uint8_t *bytes[2];
        size_t len[2];

        c.consistency = consistency;
        c.volume.up = up;
        c.volume.n[0] = up == 2 ? 99 : 43;
        c.volume.n[1] = 97;
        c.volume.n[2] = up == 2 ? 43 : 99;
        c.max_points = up == 2 ? 1u << 20 : 9999;
        for (int i = 0; i < 2; i++)
            if (gpu_session_new(&s[i], g[i], &c, &err))
                fail_msg("%s: %s", err.where, err.text);
        for (int k = 0; k < 3; k++) {
            for (int i = 0; i < 2; i++)
                look(g[i], &scene[i], s[i], path[k][0], path[k][1]);
            assert_memory_equal(&scene[0].pair.result, &scene[1].pair.result,
                                sizeof scene[0].pair.result);
            assert_true(scene[0].pair.result.n_changes > 0);
            assert_memory_equal(scene[0].pair.changes, scene[1].pair.changes,
                                scene[0].pair.result.n_changes * sizeof *scene[0].pair.changes);
            if (k == 1) { /* the CPU's session goes on upon the device */
                bytes[0] = state_of(s[1], &len[0]);
                assert_int_equal(gpu_session_new(&again, g[0], &c, &err), 0);
                assert_int_equal(gpu_session_load(again, bytes[0], len[0], &err), 0);
                gpu_session_free(&s[0]);
                s[0] = again;
                free(bytes[0]);
            }
        }
        do { /* what a short list had no room for */
            for (int i = 0; i < 2; i++)
                rest(g[i], &scene[i]);
            assert_memory_equal(&scene[0].pair.result, &scene[1].pair.result,
                                sizeof scene[0].pair.result);
            assert_memory_equal(scene[0].pair.changes, scene[1].pair.changes,
                                scene[0].pair.result.n_changes * sizeof *scene[0].pair.changes);
        } while (scene[0].pair.result.n_waiting);
        for (int i = 0; i < 2; i++)
            bytes[i] = state_of(s[i], &len[i]);
        assert_int_equal(len[0], len[1]);
        assert_memory_equal(bytes[0], bytes[1], len[0]);
        for (int i = 0; i < 2; i++) {
            free(bytes[i]);
            gpu_session_free(&s[i]);
        }
    }
    gpu_close(&g[0]);
    gpu_close(&g[1]);
}

static void both_carve_the_same(void **state)
{
    (void)state;
    both_do_the_same(GPU_CONSISTENCY_PAPER);
}

static void both_find_the_same_distances(void **state)
{
    (void)state;
    both_do_the_same(GPU_CONSISTENCY_PATCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(both_carve_the_same),
                                       cmocka_unit_test(both_find_the_same_distances)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
