/*
 * daemon_mirror - voxels that are removed make room for those that are put
 */
#include "daemon/session/mirror.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define MOST 100u

static const struct gpu_volume volume = {.n = {10, 10, 20}, .up = 2, .voxel_m = 0.05f};

/* Fills changes [MOST] with those of voxels first, first + 2, ...; returns the end. */
static struct gpu_voxel_change *list(struct gpu_voxel_change *changes, uint32_t first, uint8_t kind)
{
    for (uint32_t i = 0; i < MOST; i++)
        changes[i] =
            (struct gpu_voxel_change){.voxel = first + 2 * i, .rgb = {9, 8, 7}, .kind = kind};
    return changes + MOST;
}

/* All portions of a list; returns what was left out. */
static uint32_t commit(struct mirror *m, const struct gpu_volume *v,
                       const struct gpu_voxel_change *changes, uint32_t n, int *portions)
{
    struct mirror_commit out;
    uint32_t left_out = 0;
    uint64_t at = 0;
    bool more;

    *portions = 0;
    do {
        more = mirror_commit_voxels(m, v, changes, n, &at, &out);
        left_out += out.n_left_out;
        ++*portions;
    } while (more);
    return left_out;
}

/* A view takes every point of a full cloud and puts as many; `first`: what its list begins with. */
static void replace_all(uint8_t first)
{
    const struct cloud_limits limits = {.max_blocks = 64, .max_points = MOST};
    struct gpu_voxel_change changes[2 * MOST], *end;
    struct mirror_summary full, after;
    int portions;
    struct mirror *m;
    struct err err;

    assert_int_equal(mirror_new(&m, &limits, &err), 0);
    (void)list(changes, 1, GPU_CHANGE_PUT);
    assert_int_equal(commit(m, &volume, changes, MOST, &portions), 0);
    mirror_summary(m, &full);
    assert_int_equal(full.points, MOST);

    end = list(changes, first == GPU_CHANGE_PUT ? 0 : 1, first);
    (void)list(end, first == GPU_CHANGE_PUT ? 1 : 0,
               first == GPU_CHANGE_PUT ? GPU_CHANGE_REMOVE : GPU_CHANGE_PUT);
    assert_int_equal(commit(m, &volume, changes, 2 * MOST, &portions), 0);
    assert_int_equal(portions, 1);
    mirror_summary(m, &after);
    assert_int_equal(after.points, MOST);
    assert_true(after.hash != full.hash);

    /* where there is no room it is told */
    (void)list(changes, 1, GPU_CHANGE_PUT);
    assert_int_equal(commit(m, &volume, changes, MOST, &portions), MOST);
    mirror_free(&m);
}

static void removals_make_room(void **state)
{
    (void)state;
    replace_all(GPU_CHANGE_REMOVE);
    replace_all(GPU_CHANGE_PUT);
}

/* A list of several portions, puts first: all of it is there, each portion a revision. */
static void long_lists_have_portions(void **state)
{
    const struct gpu_volume large = {.n = {100, 100, 20}, .up = 2, .voxel_m = 0.05f};
    const uint32_t n = 2 * MIRROR_PORTION + 5;
    const struct cloud_limits limits = {.max_blocks = 4096, .max_points = n};
    struct gpu_voxel_change *changes = calloc(2 * (size_t)n, sizeof(*changes));
    struct mirror_summary first, after;
    struct mirror *m;
    struct err err;
    int portions;

    (void)state;
    assert_non_null(changes);
    assert_int_equal(mirror_new(&m, &limits, &err), 0);
    for (uint32_t i = 0; i < n; i++)
        changes[i] = (struct gpu_voxel_change){.voxel = 2 * i, .kind = GPU_CHANGE_PUT};
    assert_int_equal(commit(m, &large, changes, n, &portions), 0);
    assert_int_equal(portions, 6); /* three that look for removals, three for puts */
    mirror_summary(m, &first);
    assert_int_equal(first.points, n);
    for (uint32_t i = 0; i < n; i++) {
        changes[i] = (struct gpu_voxel_change){.voxel = 2 * i + 1, .kind = GPU_CHANGE_PUT};
        changes[n + i] = (struct gpu_voxel_change){.voxel = 2 * i, .kind = GPU_CHANGE_REMOVE};
    }
    assert_int_equal(commit(m, &large, changes, 2 * n, &portions), 0);
    mirror_summary(m, &after);
    assert_int_equal(after.points, n);
    assert_true(after.hash != first.hash && after.revision > first.revision + 4);
    mirror_free(&m);
    free(changes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(removals_make_room),
                                       cmocka_unit_test(long_lists_have_portions)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
