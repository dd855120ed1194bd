/* Depth of frames for clients. Sessions of kind depth: each used frame has its map before its ack,
 * viewers have the newest, and what only a map of points needs is refused. Sessions with a cloud:
 * clients that ask have it beside the cloud, and the device copies none where no client asks. */
#include "tests/support/core_rig.h"
#include "tests/support/unit.h"

#define FRAMES 12

static struct session_options depth_options(void)
{
    struct session_options o = rig_options();

    o.kind = SESSION_DEPTH;
    o.max_points = 0;
    return o;
}

TEST(each_frame_has_its_map)
{
    static struct rig_client in;
    struct session_options o = depth_options();
    struct session_info info;
    struct frame f;

    rig_begin(&in, &o);
    for (uint64_t seq = 1; seq <= FRAMES; seq++) {
        f = rig_frame(seq);
        if (seq % 2)
            f.flags &= ~(uint32_t)FRAME_HAS_POSE; /* with a pose or without one: both are used */
        assert_int_equal(rig_ask(&in, &f, (int)seq), 0);
        assert_int_equal(in.acks[seq - 1].status, CONTROL_USED);
        assert_int_equal(in.n_maps, (int)seq);
        assert_true(in.maps[seq - 1] == seq);
        assert_int_equal(in.acks_before[seq - 1], (int)seq - 1);
        assert_int_equal(in.map.has_pose, seq % 2 == 0);
        assert_int_equal(in.map.w, 256);
        assert_int_equal(in.map.h, 192);
        assert_float_equal(in.map.K.fx, 300.0f * 256 / 320, 1e-3);
        for (int i = 0; i < 256 * 192; i++) /* what the fake device says everywhere */
            assert_int_equal(in.map.values[i], 1500);
    }
    info = rig_info(in.id);
    assert_int_equal(info.counts.used, FRAMES);
    assert_int_equal(info.points, 0);
    assert_int_equal(info.options.kind, SESSION_DEPTH);
    assert_int_equal(info.options.journal, SESSION_JOURNAL_OFF);
    assert_true(info.memory_bytes > 0);
    rig_end(&in);
}

TEST(a_slow_viewer_has_the_newest)
{
    static struct rig_client in, view;
    struct session_options o = depth_options();

    o.depth_unit = SESSION_DEPTH_UNIT_INVERSE;
    rig_begin(&in, &o);
    rig_connect(&view, in.id, CONTROL_VIEW);
    rig_feed(&in, 1, FRAMES);
    rig_read_all(&view);
    assert_int_equal(in.n_maps, FRAMES);
    assert_int_equal(view.n_maps, 1);
    assert_true(view.map.seq == FRAMES && view.map.unit == DEPTH_INVERSE);
    assert_int_equal(view.map.values[9], 4369); /* 6553.5 / 1.5 m */
    rig_disconnect(&in);
    rig_end(&view);
}

/* A sender that does not read gets each map when it does, and holds nothing up. */
TEST(a_slow_sender_misses_nothing)
{
    static struct rig_client in;
    struct session_options o = depth_options();

    o.mode = SESSION_LOSSLESS;
    rig_begin(&in, &o);
    for (uint64_t seq = 1; seq <= 8; seq++)
        assert_int_equal(rig_send(&in, seq), 0);
    while (rig_info(in.id).counts.queued)
        usleep(1000);
    assert_int_equal(in.n_maps, 0);
    rig_wait_acks(&in, 8);
    assert_int_equal(in.n_maps, 8);
    for (int i = 0; i < 8; i++)
        assert_true(in.maps[i] == (uint64_t)i + 1 && in.acks[i].seq == (uint64_t)i + 1);
    rig_end(&in);
}

TEST(a_depth_session_is_small)
{
    struct session_options o = depth_options(), mono = rig_options();
    char id[API_ID_CAP];
    uint64_t small;

    rig_open();
    rig_session(&o, id);
    small = rig_info(id).memory_bytes;
    mono.max_points = 1000000;
    rig_session(&mono, id);
    assert_true(small < rig_info(id).memory_bytes / 2);
    rig_close();
}

TEST(what_needs_a_map_is_refused)
{
    struct session_options o = depth_options();
    struct session_pose poses[4];
    struct core_export *e;
    char id[API_ID_CAP];
    uint64_t bytes, hash;
    struct err err = {0};
    int n;

    rig_open();
    rig_session(&o, id);
    assert_int_equal(core_ops.export_open(rig.core, id, "", false, &e, &bytes, &hash, &err),
                     ERR_STATE);
    assert_non_null(strstr(err.text, "kind depth has no map"));
    assert_int_equal(core_ops.trajectory(rig.core, id, 0, poses, 4, &n, &err), ERR_STATE);
    rig_close();
}

/* One frame at a time, each read by all three before the next. */
TEST(clouds_give_depth_to_those_that_ask)
{
    static struct rig_client in, all, third, none;
    struct session_options o = rig_options();
    struct rig_client *const clients[] = {&in, &all, &third, &none};
    char id[API_ID_CAP];

    rig_open();
    rig_session(&o, id);
    rig_connect_depth(&in, id, CONTROL_INGEST, 1);
    rig_connect_depth(&all, id, CONTROL_VIEW, 1);
    rig_connect_depth(&third, id, CONTROL_VIEW, 3);
    rig_connect(&none, id, CONTROL_VIEW);
    for (uint64_t seq = 1; seq <= FRAMES; seq++) {
        struct frame f = rig_frame(seq);

        assert_int_equal(rig_ask(&in, &f, (int)seq), 0);
        for (int i = 1; i < 4; i++)
            rig_read_all(clients[i]);
        assert_true(in.n_maps == (int)seq && in.maps[seq - 1] == seq);
        assert_int_equal(in.acks_before[seq - 1], (int)seq - 1);
        assert_true(all.n_maps == (int)seq && all.maps[seq - 1] == seq);
        assert_true(in.map.has_pose && in.map.T_wc.t[0] == f.T_wc.t[0]);
        assert_true(in.map.w == 256 && in.map.h == 192 && in.map.unit == DEPTH_MILLIMETRES);
        assert_int_equal(in.map.values[77], 1500);
    }
    assert_int_equal(third.n_maps, FRAMES / 3);
    for (int i = 0; i < FRAMES / 3; i++)
        assert_true(third.maps[i] == (uint64_t)i * 3 + 1);
    assert_int_equal(none.n_maps, 0);
    assert_true(none.n_sync > 0 && none.sync.hash == all.sync.hash && all.sync.points > 0);
    for (int i = 0; i < 4; i++)
        rig_disconnect(clients[i]);
    rig_close();
}

/* A copy of depth is asked of the device for frames that a client is told of, and for no others; of
 * a session that ties worlds for its keyframes as well. */
TEST(depth_is_not_copied_unasked)
{
    static struct rig_client in, view;
    struct session_options o = rig_options();

    o.ties = SESSION_TIES_OFF;
    rig_begin(&in, &o);
    for (uint64_t seq = 1; seq <= 2 * FRAMES; seq++) {
        if (seq == FRAMES + 1)
            rig_connect_depth(&view, in.id, CONTROL_VIEW, 4);
        rig_step(&in, seq, (int)seq);
        assert_int_equal(fake_gpu_plan.depths, seq <= FRAMES ? 0 : (seq - FRAMES + 3) / 4);
    }
    assert_int_equal(in.n_maps, 0);
    rig_disconnect(&view);
    rig_step(&in, 2 * FRAMES + 1, 2 * FRAMES + 1);
    assert_int_equal(fake_gpu_plan.depths, FRAMES / 4);
    rig_end(&in);
}

/* A client that reads one message for each frame that comes gets blocks between the maps. */
TEST(depth_does_not_hold_the_cloud_up)
{
    static struct rig_client in, view;

    rig_begin(&in, NULL);
    rig_connect_depth(&view, in.id, CONTROL_VIEW, 1);
    rig_read_all(&view);
    for (uint64_t seq = 1; seq <= 2 * FRAMES; seq++) {
        rig_step(&in, seq, (int)seq);
        rig_read(&view);
    }
    assert_true(view.n_maps >= FRAMES && view.n_blocks >= FRAMES - 1);
    assert_true(view.map.seq >= 2 * FRAMES - 1);
    rig_disconnect(&in);
    rig_end(&view);
}
