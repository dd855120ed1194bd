/* daemon_sources.c - what feeders are told of their frames, and how several share a session */
#include "daemon/session/session_sources.h"
#include "tests/support/core_rig.h"
#include "tests/support/unit.h"

#include "daemon/core_internal.h"

/* A quarter turn to the left about the camera's own y axis, of which OpenCV's points down. */
static const struct rigid quarter = {{0, 0, 1, 0, 1, 0, -1, 0, 0}, {1, 2, -3}};
static const float half = 0.70710678f;

static void assert_pose(const struct control_ack *ack, const float expected[7])
{
    assert_true(ack->placed);
    for (int i = 0; i < 7; i++)
        assert_float_equal(ack->pose[i], expected[i], 1e-6);
}

/* The pose that was used comes back in the axes in which the client sends its own. */
TEST(an_ack_says_where_the_frame_was)
{
    const float as_sent[7] = {0, half, 0, half, 1, 2, -3};
    struct control_start start = {.role = CONTROL_INGEST, .codecs = 7, .pose = FRAME_POSE_CV};
    struct session_options o = rig_options();
    static struct rig_client in;
    char id[API_ID_CAP];
    struct frame f;

    rig_open();
    rig_session(&o, id);
    f = rig_frame(1);
    f.T_wc = quarter;
    assert_int_equal(rig_connect_as(&in, id, &start, NULL), 0);
    assert_int_equal(rig_ask(&in, &f, 1), 0);
    assert_int_equal(in.acks[0].status, CONTROL_USED);
    assert_pose(&in.acks[0], as_sent);
    assert_int_equal(in.acks[0].revision, in.sync.revision);
    assert_true(in.acks[0].server_us > 0 && in.acks[0].server_us <= clock_us());
    rig_disconnect(&in);

    start.pose = FRAME_POSE_OPENGL;
    assert_int_equal(rig_connect_as(&in, id, &start, NULL), 0);
    f.seq = 2; /* rig_send_frame() writes OpenCV's axes, the server reads them as OpenGL's */
    assert_int_equal(rig_send_frame(&in, &f, NULL), 0);
    f.seq = 3;
    f.flags = 0; /* no pose, which this session needs */
    assert_int_equal(rig_send_frame(&in, &f, NULL), ERR_INPUT);
    rig_wait_acks(&in, 2);
    for (int i = 0; i < 2; i++)
        if (in.acks[i].status == CONTROL_USED)
            assert_pose(&in.acks[i], as_sent);
        else
            assert_false(in.acks[i].placed);
    rig_end(&in);
}

/* Sent again, a frame is told what it was told, whatever that was, and counts once. */
TEST(a_frame_has_one_verdict)
{
    static struct rig_client in;
    struct session_info info;
    struct frame f;

    rig_begin(&in, NULL);
    assert_false(in.ready.any_seq);
    rig_feed(&in, 5, 7);
    f = rig_frame(8);
    f.payload_len /= 2; /* no JPEG: taken, and refused by the decoder */
    rig_ask(&in, &f, 4);
    assert_int_equal(in.acks[3].reason, CONTROL_DECODE_ERROR);
    rig_disconnect(&in);

    rig_connect(&in, in.id, CONTROL_INGEST);
    for (uint64_t seq = 5; seq <= 8; seq++)
        rig_send(&in, seq);
    rig_wait_acks(&in, 4);
    assert_true(in.ready.any_seq && in.ready.last_seq == 7);
    for (int i = 0; i < 4; i++) {
        assert_true(in.acks[i].again && in.acks[i].server_us > 0);
        assert_int_equal(in.acks[i].seq, 5 + i);
        assert_int_equal(in.acks[i].status, i < 3 ? CONTROL_USED : CONTROL_REFUSED);
        assert_true(in.acks[i].placed == (i < 3));
        if (i < 3)
            assert_float_equal(in.acks[i].pose[4], 0.01f * (float)(5 + i), 1e-6);
    }
    assert_true(in.acks[0].keyframe && !in.acks[1].keyframe);
    assert_int_equal(in.acks[0].revision, 1);
    assert_int_equal(in.acks[2].revision, 3);
    info = rig_info(in.id);
    assert_int_equal(info.counts.received, 4);
    assert_int_equal(info.counts.used, 3);
    assert_int_equal(info.counts.refused, 1);
    assert_int_equal(info.counts.again, 4);
    f = rig_frame(8); /* another frame under the number that was refused */
    f.t_capture_ns += 33333333;
    rig_ask(&in, &f, 5);
    assert_int_equal(in.acks[4].status, CONTROL_USED);
    assert_false(in.acks[4].again);
    rig_end(&in);
}

/* A refused frame leaves its number free, and one with the highest that there is ends nothing. */
TEST(a_refused_frame_uses_no_number_up)
{
    const uint64_t highest = (UINT64_C(1) << 53) - 1;
    static struct rig_client in;
    struct frame f;

    rig_begin(&in, NULL);
    f = rig_frame(highest);
    f.flags = 0; /* no pose: refused before it is taken */
    rig_send_frame(&in, &f, NULL);
    f = rig_frame(highest);
    f.T_wc.t[0] = 0;
    f.payload_len /= 2; /* no JPEG: refused behind it */
    rig_ask(&in, &f, 2);
    assert_int_equal(in.acks[0].reason, CONTROL_BAD_POSE);
    assert_int_equal(in.acks[1].reason, CONTROL_DECODE_ERROR);
    f = rig_frame(1);
    f.flags = 0;
    rig_ask(&in, &f, 3);
    for (uint64_t seq = 1; seq <= 3; seq++) {
        rig_step(&in, seq, (int)seq + 3);
        assert_int_equal(in.acks[seq + 2].status, CONTROL_USED);
        assert_false(in.acks[seq + 2].again);
    }
    rig_disconnect(&in);
    rig_connect(&in, in.id, CONTROL_INGEST);
    rig_read_all(&in);
    assert_int_equal(in.ready.last_seq, 3);
    rig_end(&in);
}

static struct control_start feeder(const char *source)
{
    struct control_start start = {.role = CONTROL_INGEST, .codecs = 7, .pose = FRAME_POSE_CV};

    snprintf(start.source, sizeof(start.source), "%s", source);
    return start;
}

static void begin_two(struct rig_client *left, const struct control_start *a,
                      struct rig_client *right, const struct control_start *b)
{
    const struct session_options o = rig_options();
    char id[API_ID_CAP];

    rig_open();
    rig_session(&o, id);
    assert_int_equal(rig_connect_as(left, id, a, NULL), 0);
    assert_int_equal(rig_connect_as(right, id, b, NULL), 0);
}

/* Numbers, worlds and connections of two phones do not meet. */
TEST(two_sources_feed_one_session)
{
    const struct control_start a = feeder("left"), b = feeder("right");
    static struct rig_client left, right, again;
    struct session_info info;
    struct frame f;

    begin_two(&left, &a, &right, &b);
    for (uint64_t seq = 1; seq <= 3; seq++) { /* the same numbers from both */
        rig_step(&left, seq, (int)seq);
        rig_step(&right, seq, (int)seq);
    }
    f = rig_frame(4);
    f.world_epoch = 9;
    rig_ask(&left, &f, 4);
    f.seq = 5; /* and back to its first one */
    f.world_epoch = 0;
    rig_ask(&left, &f, 5);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(left.acks[i].status, CONTROL_USED);
        assert_int_equal(right.acks[i].status, CONTROL_USED);
        assert_int_equal(left.acks[i].submap, 0);
        assert_int_equal(right.acks[i].submap, 1);
    }
    assert_int_equal(left.acks[3].submap, 2);
    assert_int_equal(left.acks[4].submap, 0);
    assert_int_equal(rig_connect_as(&again, left.id, &b, NULL), 0); /* takes its own source over */
    rig_read_all(&left);
    rig_read_all(&right);
    rig_read_all(&again);
    assert_true(right.n_bye == 1 && left.n_bye == 0);
    assert_int_equal(again.ready.last_seq, 3);
    info = rig_info(left.id);
    assert_string_equal(info.sources[0].name, "left");
    assert_string_equal(info.sources[1].name, "right");
    assert_int_equal(info.sources[0].last_seq, 5);
    assert_int_equal(info.sources[1].last_seq, 3);
    assert_true(info.sources[0].connected && info.sources[1].connected);
    assert_string_equal(info.sources[2].name, "");
    assert_int_equal(info.counts.used, 8);
    rig_disconnect(&left);
    rig_disconnect(&right);
    rig_disconnect(&again);
    assert_false(rig_info(left.id).sources[0].connected);
    rig_close();
}

/* A phone that loses its tracking begins anew by itself; and each is told of by itself. */
TEST(lost_tracking_is_a_source_s_own)
{
    const struct control_start a = feeder("left"), b = feeder("right");
    static struct rig_client left, right;
    struct session_info info;
    struct frame f;

    begin_two(&left, &a, &right, &b);
    for (uint64_t seq = 1; seq <= 3; seq++) {
        f = rig_frame(seq);
        if (seq == 2)
            f.flags |= FRAME_TRACKING_LOST << 2;
        rig_ask(&left, &f, (int)seq);
        rig_step(&right, seq, (int)seq);
    }
    assert_int_equal(left.acks[1].reason, CONTROL_TRACKING);
    assert_int_equal(fake_gpu_plan.breaks[0], 1);
    assert_int_equal(fake_gpu_plan.breaks[1], 0);
    info = rig_info(left.id);
    assert_int_equal(info.sources[0].views.keyframes, 10);
    assert_int_equal(info.sources[1].views.keyframes, 20);
    assert_int_equal(info.views.keyframes, 30);
    rig_disconnect(&left);
    rig_end(&right);
}

/* A device that stands still; one phone sends far more than fits, the other within its share. */
TEST(a_busy_source_loses_its_own_frames_alone)
{
    const struct control_start a = feeder("busy"), b = feeder("calm");
    static struct rig_client busy, calm;
    int lost = 0;

    begin_two(&busy, &a, &calm, &b);
    fake_gpu_plan.hold = true;
    for (uint64_t seq = 1; seq <= 12; seq++)
        rig_send(&busy, seq);
    for (uint64_t seq = 1; seq <= 4; seq++)
        rig_send(&calm, seq);
    for (uint64_t seq = 13; seq <= 24; seq++)
        rig_send(&busy, seq);
    fake_gpu_plan.hold = false;
    rig_wait_acks(&busy, 24);
    rig_wait_acks(&calm, 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(calm.acks[i].status, CONTROL_USED);
    for (int i = 0; i < 24; i++)
        lost += busy.acks[i].status == CONTROL_DROPPED;
    assert_in_range(lost, 24 - 8, 24 - 4);
    rig_disconnect(&busy);
    rig_end(&calm);
}

/* A feeder hears which poses of its own frames are others now, and of no other's. */
TEST(corrected_poses_are_told)
{
    struct control_start a = feeder("left"), b = feeder("right");
    static struct rig_client left, right, view;
    struct rigid T[60];
    struct session_pose row;
    struct session *s;
    int n;

    b.pose = FRAME_POSE_OPENGL;
    begin_two(&left, &a, &right, &b);
    rig_connect(&view, left.id, CONTROL_VIEW);
    for (uint64_t seq = 1; seq <= 30; seq++) { /* rows 0, 2, 4 ... are the left one's */
        rig_step(&left, seq, (int)seq);
        rig_step(&right, 100 + seq, (int)seq);
    }
    for (int i = 0; i < 60; i++)
        T[i] = quarter;
    s = registry_find(rig.core->registry, left.id);
    session_correct_poses(s, 3, T, 2, 7); /* the right one's frame 102, the left one's 3 */
    rig_read_all(&left);
    rig_read_all(&right);
    rig_read_all(&view);
    assert_true(left.n_poses == 1 && left.poses.seq[0] == 3 && left.poses.revision == 7);
    assert_true(right.n_poses == 1 && right.poses.seq[0] == 102);
    assert_int_equal(view.n_poses, 0);
    for (int i = 0; i < 7; i++) {
        assert_float_equal(left.poses.pose[0][i], ((const float[7]){0, half, 0, half, 1, 2, -3})[i],
                           1e-6);
        assert_float_equal(right.poses.pose[0][i],
                           ((const float[7]){half, 0, -half, 0, 1, 2, -3})[i], 1e-6);
    }
    assert_int_equal(core_ops.trajectory(rig.core, left.id, 4, &row, 1, &n, NULL), 0);
    assert_true(row.source == 0 && row.submap == 0 && row.T_wc.t[1] == 2);
    session_correct_poses(s, 0, T, 60, 8); /* all, told in pieces; and rows that there are not */
    session_correct_poses(s, 59, T, 60, 9);
    session_unref(s);
    rig_read_all(&left);
    assert_true(left.n_poses == 31 && left.poses.revision == 9);
    rig_disconnect(&left);
    rig_disconnect(&right);
    rig_end(&view);
}

/* `ready` says whether the revision that the client named is gone on from. */
TEST(a_resume_is_granted_or_not)
{
    struct control_start start = feeder("main");
    struct session_options o = rig_options();
    static struct rig_client in;
    char id[API_ID_CAP];

    rig_open();
    rig_session(&o, id);
    assert_int_equal(rig_connect_as(&in, id, &start, NULL), 0);
    rig_step(&in, 1, 1);
    assert_false(in.ready.resumed);
    start.resume = true;
    start.epoch = in.ready.epoch;
    start.reach.revision = in.sync.revision;
    rig_disconnect(&in);
    for (int i = 0; i < 2; i++, start.reach.revision += 1000) { /* its own; one of the future */
        assert_int_equal(rig_connect_as(&in, id, &start, NULL), 0);
        assert_int_equal(rig_read(&in), STREAM_TEXT);
        assert_true(in.ready.resumed == (i == 0));
        rig_disconnect(&in);
    }
    rig_close();
}

/* Eight sources there are; the ninth is told so. One that sent nothing leaves its place. */
TEST(sources_are_bounded)
{
    struct session_options o = rig_options();
    static struct rig_client in;
    struct control_start start;
    char id[API_ID_CAP], name[8];
    struct err err = {0};

    rig_open();
    rig_session(&o, id);
    for (int i = 0; i < 20; i++) { /* none of them sends anything */
        snprintf(name, sizeof(name), "idle-%d", i);
        start = feeder(name);
        assert_int_equal(rig_connect_as(&in, id, &start, NULL), 0);
        rig_disconnect(&in);
    }
    for (int i = 0; i < API_SOURCES_MAX; i++) {
        snprintf(name, sizeof(name), "s%d", i);
        start = feeder(name);
        assert_int_equal(rig_connect_as(&in, id, &start, NULL), 0);
        rig_step(&in, 1, 1);
        assert_int_equal(in.acks[0].submap, i);
        rig_disconnect(&in);
    }
    start = feeder("ninth");
    assert_int_equal(rig_connect_as(&in, id, &start, &err), ERR_LIMIT);
    assert_string_equal(err.where, "/source");
    rig_disconnect(&in);
    start = feeder("s3");
    assert_int_equal(rig_connect_as(&in, id, &start, NULL), 0);
    for (uint64_t k = 1; k <= GPU_SUBMAPS_MAX; k++) {
        struct frame f = rig_frame(1 + k);
        f.world_epoch = (uint32_t)k;
        rig_ask(&in, &f, (int)k);
        if (k + API_SOURCES_MAX <= GPU_SUBMAPS_MAX)
            assert_int_equal(in.acks[k - 1].submap, API_SOURCES_MAX + k - 1);
        else
            assert_int_equal(in.acks[k - 1].reason, CONTROL_WORLDS);
    }
    rig_end(&in);
}

/* Blocks name the world of the frames that made them, at clients as well. */
TEST(worlds_have_blocks_of_their_own)
{
    static struct rig_client in;
    uint32_t seen = 0;
    struct frame f;

    rig_begin(&in, NULL);
    for (uint64_t seq = 1; seq <= 4; seq++) {
        f = rig_frame(seq);
        f.world_epoch = seq < 3 ? 7 : 9;
        assert_int_equal(rig_ask(&in, &f, (int)seq), 0);
        assert_int_equal(in.acks[seq - 1].submap, seq < 3 ? 0 : 1);
    }
    rig_read_all(&in);
    for (uint32_t i = 0; i < cloud_blocks(in.cloud); i++)
        if (cloud_block(in.cloud, i).n)
            seen |= 1u << cloud_block(in.cloud, i).name.submap;
    assert_int_equal(seen, 3);
    assert_int_equal(cloud_hash(in.cloud), in.sync.hash);
    rig_end(&in);
}

/* Of learned poses each ack says whether it is a guess, also when it is told again, and the session
 * says how many were. */
TEST(lost_tracks_are_said)
{
    struct session_options o = rig_options();
    static struct rig_client in;
    char id[API_ID_CAP];

    o.pose_source = SESSION_POSE_LEARNED;
    o.mode = SESSION_LOSSLESS;
    rig_open();
    rig_session(&o, id);
    assert_int_equal(rig_info(id).tracks, API_TRACKS_NONE);
    rig_connect(&in, id, CONTROL_INGEST);
    for (uint64_t seq = 0; seq < 6; seq++) {
        fake_gpu_plan.lost = seq == 2 || seq == 3;
        rig_step(&in, seq, (int)seq + 1);
        assert_int_equal(in.acks[seq].lost, seq == 2 || seq == 3);
        assert_true(in.acks[seq].sigma == (in.acks[seq].lost ? 0 : 0.063f));
        assert_int_equal(rig_info(id).tracks,
                         in.acks[seq].lost ? API_TRACKS_LOST : API_TRACKS_FOUND);
    }
    assert_int_equal(rig_info(id).lost_frames, 2);
    assert_true(rig_info(id).scale.known && rig_info(id).scale.median_sigma == 0.0625f);
    assert_float_equal(rig_info(id).scale.last, 1.284025f, 1e-5f);
    rig_send(&in, 3);
    rig_step(&in, 4, 8);
    assert_true(in.acks[6].again && in.acks[6].lost && in.acks[7].again && !in.acks[7].lost);
    assert_true(in.acks[6].sigma == 0 && in.acks[7].scale == in.acks[4].scale);
    fake_gpu_plan.lost = false;
    rig_end(&in);
}

/* A frame that was never taken, whatever its pose says, opens no world. */
TEST(a_refused_frame_is_no_jump)
{
    struct session_options o = rig_options();
    static struct rig_client in;
    struct frame f;

    o.ties = SESSION_TIES_ON;
    o.mode = SESSION_LOSSLESS; /* whose frames may come as fast as they will */
    rig_begin(&in, &o);
    rig_feed(&in, 5, 7);
    f = rig_frame(4); /* its number is used up, its time is not */
    f.t_capture_ns = 7 * 33333333 + 11111111;
    f.T_wc.t[0] = 1;
    assert_int_not_equal(rig_send_frame(&in, &f, NULL), 0);
    rig_wait_acks(&in, 4);
    assert_int_equal(in.acks[3].reason, CONTROL_DUPLICATE);
    for (uint64_t seq = 8; seq <= 10; seq++) {
        rig_step(&in, seq, (int)seq - 3);
        assert_int_equal(in.acks[seq - 4].status, CONTROL_USED);
        assert_int_equal(in.acks[seq - 4].submap, 0);
    }
    f = rig_frame(11);
    f.T_wc.t[0] = 1; /* one that is taken is a jump */
    rig_ask(&in, &f, 8);
    assert_int_equal(in.acks[7].submap, 1);
    rig_end(&in);
}
