/*
 * daemon_mirror - voxels that are removed make room for those that are put
 */
#include "daemon/session/mirror.h"
#include "tests/support/unit.h"

#include <stdlib.h>

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

/* A view takes every point of a full cloud and puts as many; `first`: what its list begins with. */
static void replace_all(uint8_t first)
{
    const struct cloud_limits limits = {.max_blocks = 64, .max_points = MOST};
    struct gpu_voxel_change changes[2 * MOST], *end;
    struct mirror_summary full, after;
    struct mirror_commit out;
    struct mirror *m;
    struct err err;

    assert_int_equal(mirror_new(&m, &limits, &err), 0);
    (void)list(changes, 1, GPU_CHANGE_PUT);
    mirror_commit_voxels(m, &volume, changes, MOST, &out);
    assert_int_equal(out.n_left_out, 0);
    mirror_summary(m, &full);
    assert_int_equal(full.points, MOST);

    end = list(changes, first == GPU_CHANGE_PUT ? 0 : 1, first);
    (void)list(end, first == GPU_CHANGE_PUT ? 1 : 0,
               first == GPU_CHANGE_PUT ? GPU_CHANGE_REMOVE : GPU_CHANGE_PUT);
    mirror_commit_voxels(m, &volume, changes, 2 * MOST, &out);
    assert_int_equal(out.n_left_out, 0);
    mirror_summary(m, &after);
    assert_int_equal(after.points, MOST);
    assert_true(after.hash != full.hash);

    /* where there is no room it is told */
    (void)list(changes, 1, GPU_CHANGE_PUT);
    mirror_commit_voxels(m, &volume, changes, MOST, &out);
    assert_int_equal(out.n_left_out, MOST);
    mirror_free(&m);
}

TEST(removals_make_room)
{
    replace_all(GPU_CHANGE_REMOVE);
    replace_all(GPU_CHANGE_PUT);
}
