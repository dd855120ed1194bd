/* Worlds of a session: two rooms at one place of two worlds never touch, in both fusions. */
#include "proto/cloud/cloud.h"
#include "tests/support/line_case.h"

#define W 96
#define H 72
#define FRAMES 12

/* The points of a session as clients hold them, world by world. */
static void commit(struct cloud *c, const struct line *l)
{
    const uint32_t *changed;
    uint32_t n;

    for (uint32_t i = 0; i < l->f.result.n_changes; i++) {
        const struct gpu_change *k = &l->f.changes[i];
        struct key_look look = {{k->rgb[0], k->rgb[1], k->rgb[2]}, k->confidence, k->normal};

        if (k->kind == GPU_CHANGE_REMOVE)
            cloud_stage_remove(c, k->slot);
        else
            assert_int_equal(cloud_stage_put(c, k->slot, l->f.submap, k->p_q, &look, NULL), 0);
    }
    cloud_commit(c, &changed, &n);
}

static uint64_t points_of(const struct cloud *c, uint32_t submap)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < cloud_blocks(c); i++)
        n += cloud_block(c, i).name.submap == submap ? cloud_block(c, i).n : 0;
    return n;
}

static struct gpu_session_config config(int cells)
{
    struct gpu_session_config c = line_config(W, H);

    if (cells)
        fuse_params_cells(&c.fuse);
    return c;
}

/* Frame i of a walk through a scene, in a world. Each frame is the first that its world sees of the
 * other's. */
static void step(struct line *l, struct cloud *c, const struct scene *scene, int i, uint32_t submap,
                 int restart)
{
    struct rigid T = scene_pose(0.02f * (float)i, 0.1f, -2, 0.01f * (float)i);
    struct gpu_item *item = &l->f.item;

    scene_draw(scene, &T, l->K, W, H, l->depth, l->rgb);
    line_set_frame(l, &T);
    l->f.submap = submap;
    l->f.restart = restart;
    assert_int_equal(session_cpu_put_depth(l->s, l->depth, NULL), 0);
    assert_int_equal(gpu_submit(l->g, &gpu_line_mono, &item, 1, NULL), 0);
    assert_int_equal(gpu_wait(l->g, &item, 1, NULL), 0);
    commit(c, l);
}

/* The cloud of one scene alone. */
static struct cloud *alone(int cells, const struct scene *scene)
{
    const struct cloud_limits limits = {1024, 1u << 18};
    struct gpu_session_config c = config(cells);
    struct cloud *cloud;
    struct line l = {0};

    assert_int_equal(cloud_new(&cloud, &limits, NULL), 0);
    assert_int_equal(line_open(&l, &c), 0);
    for (int i = 0; i < FRAMES; i++)
        step(&l, cloud, scene, i, 0, 0);
    line_close(&l);
    return cloud;
}

/* Patience is counted in the session's frames, those of other worlds too: a few points differ. */
static void near(uint64_t a, uint64_t b)
{
    assert_true(a + b / 200 >= b && b + b / 200 >= a);
}

/* Two rooms, the second without the box, so that its frames see through the first one's points.
 * order: frames of both in turn, or one after the other. */
static void two_worlds(int cells, int in_turn)
{
    const struct cloud_limits limits = {1024, 1u << 18};
    struct gpu_session_config c = config(cells);
    struct scene first = scene_make(), second = first;
    struct cloud *cloud, *one, *two;
    struct line l = {0};

    second.box_lo.x = second.box_hi.x;
    one = alone(cells, &first);
    two = alone(cells, &second);
    assert_int_equal(cloud_new(&cloud, &limits, NULL), 0);
    assert_int_equal(line_open(&l, &c), 0);
    for (int i = 0; i < 2 * FRAMES; i++) {
        uint32_t submap = (uint32_t)(in_turn ? i & 1 : i / FRAMES);
        int at = in_turn ? i / 2 : i % FRAMES;

        step(&l, cloud, submap ? &second : &first, at, submap, i > 0 && (in_turn || at == 0));
        if (at == 0) { /* a new world begins with nothing around it */
            assert_true(l.f.result.is_keyframe);
            assert_int_equal(l.f.result.n_covisible, 0);
            assert_int_equal(l.f.result.n_associated, 0);
        }
        assert_int_equal(l.f.result.n_carved, 0);
    }
    near(points_of(cloud, 0), cloud_points(one));
    near(points_of(cloud, 1), cloud_points(two));
    assert_int_equal(points_of(cloud, 0) + points_of(cloud, 1), cloud_points(cloud));
    if (!in_turn) { /* the first world's points are those that it has alone */
        uint32_t n_same = 0;

        for (uint32_t i = 0; i < cloud_blocks(cloud); i++) {
            struct cloud_block b = cloud_block(cloud, i);

            for (uint32_t k = 0; k < cloud_blocks(one); k++) {
                struct cloud_block o = cloud_block(one, k);

                if (memcmp(&o.name, &b.name, sizeof b.name) != 0)
                    continue;
                assert_int_equal(o.n, b.n);
                assert_memory_equal(o.keys, b.keys, b.n * sizeof *b.keys);
                n_same++;
            }
        }
        assert_int_equal(n_same, cloud_blocks(one));
    }
    line_close(&l);
    cloud_free(&cloud);
    cloud_free(&one);
    cloud_free(&two);
}

TEST(a_new_world_touches_no_other)
{
    two_worlds(1, 0);
    two_worlds(0, 0);
}

TEST(worlds_in_turn_touch_none)
{
    two_worlds(1, 1);
    two_worlds(0, 1);
}

/* A session that was saved between two worlds' frames goes on in both. */
static void worlds_are_kept_with_a_state(int cells)
{
    const struct cloud_limits limits = {1024, 1u << 18};
    struct gpu_session_config c = config(cells);
    struct scene scene = scene_make();
    struct cloud *cloud;
    struct line l = {0}, again = {0};
    uint8_t *buf;
    size_t len;

    assert_int_equal(cloud_new(&cloud, &limits, NULL), 0);
    assert_int_equal(line_open(&l, &c), 0);
    assert_int_equal(line_open(&again, &c), 0);
    for (int i = 0; i < 2 * FRAMES; i++)
        step(&l, cloud, &scene, i / 2, (uint32_t)(i & 1), 0);
    len = gpu_session_state_bytes(l.s);
    buf = malloc(len);
    assert_int_equal(gpu_session_save(l.s, buf, len, &len, NULL), 0);
    assert_int_equal(gpu_session_load(again.s, buf, len, NULL), 0);
    for (uint32_t submap = 0; submap < 3; submap++) {
        struct cloud *scratch;

        assert_int_equal(cloud_new(&scratch, &limits, NULL), 0);
        step(&l, cloud, &scene, FRAMES, submap, 0);
        step(&again, scratch, &scene, FRAMES, submap, 0);
        assert_int_equal(again.f.result.n_covisible, l.f.result.n_covisible);
        assert_int_equal(again.f.result.n_associated, l.f.result.n_associated);
        assert_int_equal(again.f.result.n_changes, l.f.result.n_changes);
        assert_int_equal(again.f.result.n_covisible > 0, submap < 2);
        assert_memory_equal(again.f.changes, l.f.changes,
                            l.f.result.n_changes * sizeof *l.f.changes);
        cloud_free(&scratch);
    }
    free(buf);
    line_close(&l);
    line_close(&again);
    cloud_free(&cloud);
}

TEST(states_keep_worlds)
{
    worlds_are_kept_with_a_state(1);
    worlds_are_kept_with_a_state(0);
}

LINE_TEST(a_world_beyond_the_last_is_refused)
{
    struct gpu_session_config c = config(1);
    struct rigid T = rigid_identity();
    struct gpu_item *item;

    assert_int_equal(line_open(&line, &c), 0);
    line_set_frame(&line, &T);
    item = &line.f.item;
    line.f.submap = GPU_SUBMAPS_MAX;
    assert_int_equal(gpu_submit(line.g, &gpu_line_mono, &item, 1, NULL), ERR_INPUT);
}
