/* The core from the edges' side: frames in, answers and blocks out, on a device that is a fake. */
#include "tests/support/core_rig.h"
#include "tests/support/unit.h"

TEST(frames_become_a_cloud)
{
    static struct rig_client in, out;
    struct session_options o = rig_options();
    struct session_info info;
    struct session_pose poses[30];
    char id[API_ID_CAP];
    struct rig r;
    int n;

    rig_open(&r);
    rig_session(&r, &o, id);
    rig_connect(&r, &in, id, CONTROL_INGEST);
    rig_connect(&r, &out, id, CONTROL_VIEW);
    assert_int_equal(rig_info(&r, id).state, SESSION_STREAMING);
    for (uint64_t seq = 1; seq <= 20; seq++) {
        assert_int_equal(rig_send(&r, &in, seq), 0);
        rig_wait_acks(&in, (int)seq);
    }
    rig_read_all(&out);
    info = rig_info(&r, id);
    assert_int_equal(info.counts.received, 20);
    assert_int_equal(info.counts.used, 20);
    assert_int_equal(info.counts.queued, 0);
    assert_int_equal(info.counts.keyframes, 5);
    assert_true(info.points > 500);
    assert_int_equal(in.n_ready, 1);
    assert_int_equal(in.ready.window, 8);
    assert_int_equal(in.ready.net_w, 256);
    assert_int_equal(in.ready.net_h, 192);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(in.acks[i].seq, i + 1);
        assert_int_equal(in.acks[i].status, CONTROL_USED);
        assert_int_equal(in.acks[i].keyframe, i % 4 == 0);
    }
    assert_true(in.sync.hash == info.hash && out.sync.hash == info.hash);
    assert_int_equal(out.sync.revision, 20);
    assert_int_equal(core_ops.trajectory(r.core, id, 5, poses, 30, &n, NULL), 0);
    assert_int_equal(n, 15);
    assert_int_equal(poses[0].seq, 6);
    assert_float_equal(poses[0].T_wc.t[0], 0.06, 1e-6);
    assert_true(r.wakes > 20);
    rig_disconnect(&in);
    rig_disconnect(&out);
    rig_close(&r);
}

/* A client that lost its connection sends again what was not answered: nothing is taken twice, and
 * it hears of each frame once, so that its window holds. */
TEST(a_frame_under_way_belongs_to_who_sent_it_last)
{
    static struct rig_client first, second;
    struct session_options o = rig_options();
    struct session_info info;
    char id[API_ID_CAP];
    struct rig r;

    o.mode = SESSION_LOSSLESS;
    rig_open(&r);
    rig_session(&r, &o, id);
    rig_connect(&r, &first, id, CONTROL_INGEST);
    fake_gpu_plan.delay_us = 20000;
    for (uint64_t seq = 1; seq <= 8; seq++)
        rig_send(&r, &first, seq);
    rig_disconnect(&first);
    rig_connect(&r, &second, id, CONTROL_INGEST);
    for (uint64_t seq = 1; seq <= 8; seq++)
        rig_send(&r, &second, seq);
    assert_int_equal(rig_send(&r, &second, 8), ERR_STATE); /* twice on one line is once too often */
    rig_wait_acks(&second, 9);
    fake_gpu_plan.delay_us = 0;
    for (uint64_t seq = 9; seq <= 20; seq++) {
        rig_send(&r, &second, seq);
        rig_wait_acks(&second, (int)seq + 1);
    }
    info = rig_info(&r, id);
    assert_int_equal(info.counts.used, 20);
    assert_int_equal(info.counts.dropped, 0);
    assert_int_equal(info.counts.received, info.counts.used + info.counts.refused);
    for (int i = 0; i < 21; i++)
        assert_true(second.acks[i].status == CONTROL_USED ||
                    second.acks[i].reason == CONTROL_DUPLICATE);
    rig_disconnect(&second);
    rig_close(&r);
}

/* A focal length that passes at the picture's own size is less than a pixel once it is scaled. */
TEST(a_focal_length_that_scaling_eats_is_refused)
{
    static struct rig_client c;
    struct session_options o = rig_options();
    char id[API_ID_CAP];
    struct frame f;
    struct rig r;

    rig_open(&r);
    rig_picture(&r, 1280, 960, 40);
    rig_session(&r, &o, id);
    rig_connect(&r, &c, id, CONTROL_INGEST);
    f = rig_frame(&r, 1);
    f.width = 1280;
    f.height = 960;
    f.flags |= FRAME_HAS_CAMERA;
    f.K = (struct intrinsics){1.5f, 1.5f, 640, 480};
    assert_int_equal(rig_send_frame(&c, &f, NULL), 0);
    rig_wait_acks(&c, 1);
    assert_int_equal(c.acks[0].reason, CONTROL_BAD_FRAME);
    f.seq = 2;
    f.K.fx = f.K.fy = 1000;
    assert_int_equal(rig_send_frame(&c, &f, NULL), 0);
    rig_wait_acks(&c, 2);
    assert_int_equal(c.acks[1].status, CONTROL_USED);
    rig_disconnect(&c);
    rig_close(&r);
}

/* Large pictures go to the card's engines; what they will not have is decoded here. */
TEST(large_pictures_go_to_the_card)
{
    static const struct {
        int engines, fail, w, decoded;
    } cases[] = {{0, 0, 1280, 0},
                 {7, 0, 1280, 3},
                 {7, ERR_UNSUPPORTED, 1280, 3},
                 {7, ERR_MEMORY, 1280, 3},
                 {7, 0, 320, 0}};

    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        static struct rig_client c;
        struct session_options o = rig_options();
        char id[API_ID_CAP];
        uint64_t on_card = cases[k].fail ? 0 : (uint64_t)cases[k].decoded;
        struct rig r;

        memset(&c, 0, sizeof(c));
        rig_open(&r);
        fake_gpu_plan.engines = cases[k].engines;
        fake_gpu_plan.engines_fail = cases[k].fail;
        rig_picture(&r, cases[k].w, cases[k].w / 4 * 3, 40);
        rig_session(&r, &o, id);
        rig_connect(&r, &c, id, CONTROL_INGEST);
        for (uint64_t seq = 1; seq <= 3; seq++) {
            struct frame f = rig_frame(&r, seq);
            f.width = (uint16_t)cases[k].w;
            f.height = (uint16_t)(cases[k].w / 4 * 3);
            assert_int_equal(rig_send_frame(&c, &f, NULL), 0);
            rig_wait_acks(&c, (int)seq);
            assert_int_equal(c.acks[seq - 1].status, CONTROL_USED);
        }
        assert_int_equal(fake_gpu_plan.decoded, cases[k].decoded);
        assert_int_equal(atomic_load(&r.core->metrics.counters[METRICS_CARD_PICTURES]), on_card);
        rig_disconnect(&c);
        rig_close(&r);
        fake_gpu_plan.engines = fake_gpu_plan.engines_fail = fake_gpu_plan.decoded = 0;
    }
}

TEST(an_export_is_what_a_client_holds)
{
    static struct rig_client in;
    struct session_options o = rig_options();
    uint64_t total, hash, at = 0;
    struct core_export *e;
    char id[API_ID_CAP], header[80] = "";
    uint8_t *file, piece[37];
    struct rig r;
    size_t n;

    rig_open(&r);
    rig_session(&r, &o, id);
    rig_connect(&r, &in, id, CONTROL_INGEST);
    for (uint64_t seq = 1; seq <= 5; seq++)
        assert_int_equal(rig_send(&r, &in, seq), 0);
    rig_wait_acks(&in, 5);
    assert_int_equal(core_ops.export_open(r.core, id, "", false, &e, &total, &hash, NULL), 0);
    assert_true(hash == cloud_hash(in.cloud));
    file = malloc(total);
    assert_int_equal(core_ops.export_read(e, 0, file, total), total);
    while ((n = core_ops.export_read(e, at, piece, sizeof(piece))) > 0) { /* cuts every point */
        assert_memory_equal(piece, file + at, n);
        at += n;
    }
    assert_true(at == total);
    snprintf(header, sizeof(header), "element vertex %llu\n",
             (unsigned long long)cloud_points(in.cloud));
    assert_non_null(memmem(file, 512 < total ? 512 : total, header, strlen(header)));
    core_ops.export_close(e);
    free(file);
    rig_disconnect(&in);
    rig_close(&r);
}

/* Each kind of bad frame costs that frame alone and says why. */
TEST(bad_frames_are_refused_with_a_reason)
{
    static struct rig_client in;
    struct session_options o = rig_options();
    struct session_info info;
    char id[API_ID_CAP];
    struct frame f;
    struct rig r;
    int at = 0;

    rig_open(&r);
    rig_session(&r, &o, id);
    rig_connect(&r, &in, id, CONTROL_INGEST);
#define REFUSED(expected)                                      \
    rig_send_frame(&in, &f, NULL);                             \
    rig_wait_acks(&in, ++at);                                  \
    assert_int_equal(in.acks[at - 1].status, CONTROL_REFUSED); \
    assert_int_equal(in.acks[at - 1].reason, expected)
    f = rig_frame(&r, 1);
    f.payload_len /= 2; /* truncated; the size of a first frame that is bad decides nothing */
    REFUSED(CONTROL_DECODE_ERROR);
    f = rig_frame(&r, 2);
    f.width = 321;
    REFUSED(CONTROL_BAD_FRAME);
    f = rig_frame(&r, 3);
    f.flags = 0;
    REFUSED(CONTROL_BAD_POSE);
    f = rig_frame(&r, 4);
    f.flags |= FRAME_TRACKING_LOST << 2;
    REFUSED(CONTROL_TRACKING);
    f = rig_frame(&r, 5);
    f.T_wc.t[1] = NAN;
    REFUSED(CONTROL_BAD_POSE);
    f = rig_frame(&r, 6);
    f.height = 100; /* the session's intrinsics are not of such a picture */
    REFUSED(CONTROL_NO_CAMERA);
    assert_int_equal(rig_send(&r, &in, 7), 0);
    rig_wait_acks(&in, ++at);
    assert_int_equal(in.acks[at - 1].status, CONTROL_USED);
    f = rig_frame(&r, 6); /* below one that was used, and never taken */
    REFUSED(CONTROL_DUPLICATE);
    f = rig_frame(&r, 8); /* of another size than its entry says */
    f.width = 640;
    f.height = 480;
    REFUSED(CONTROL_BAD_FRAME);
#undef REFUSED
    info = rig_info(&r, id);
    assert_int_equal(info.counts.received, 9);
    assert_int_equal(info.counts.used, 1);
    assert_int_equal(info.counts.refused, 8);
    assert_int_equal(info.counts.dropped + info.counts.queued, 0);
    rig_disconnect(&in);
    rig_close(&r);
}

TEST(lost_tracking_and_new_worlds_restart)
{
    static struct rig_client in;
    struct session_options o = rig_options();
    char id[API_ID_CAP];
    struct frame f;
    struct rig r;

    rig_open(&r);
    rig_session(&r, &o, id);
    rig_connect(&r, &in, id, CONTROL_INGEST);
    for (uint64_t seq = 1; seq <= 6; seq++) {
        f = rig_frame(&r, seq);
        f.world_epoch = seq >= 5; /* a new world at 5 */
        if (seq == 3)
            f.flags |= FRAME_TRACKING_LOST << 2; /* so 4 starts afresh */
        rig_send_frame(&in, &f, NULL);
        rig_wait_acks(&in, (int)seq);
    }
    assert_int_equal(fake_gpu_plan.frames, 5);
    assert_int_equal(fake_gpu_plan.restarts, 2);
    rig_disconnect(&in);
    rig_close(&r);
}

TEST(close_uses_what_is_queued)
{
    static struct rig_client in, late;
    struct session_options o = rig_options();
    char id[API_ID_CAP];
    struct rig r;

    rig_open(&r);
    fake_gpu_plan.delay_us = 20000;
    rig_session(&r, &o, id);
    rig_connect(&r, &in, id, CONTROL_INGEST);
    for (uint64_t seq = 1; seq <= 6; seq++)
        assert_int_equal(rig_send(&r, &in, seq), 0);
    assert_int_equal(core_ops.session_close(r.core, id, NULL), 0);
    rig_send(&r, &in, 7);
    rig_wait_acks(&in, 7);
    assert_int_equal(rig_info(&r, id).counts.used, 6);
    assert_int_equal(rig_info(&r, id).counts.refused, 1);
    while (!in.session_closed) /* after a closing round */
        rig_read_all(&in);
    assert_int_equal(rig_info(&r, id).state, SESSION_CLOSED);
    assert_true(in.session_closed == 1 && in.ended == 0);
    for (int i = 0; i < 60000 && fake_gpu_plan.sessions; i++)
        usleep(1000);
    assert_int_equal(fake_gpu_plan.sessions,
                     0); /* the device has its memory back, the cloud is there */
    rig_connect(&r, &late, id, CONTROL_INGEST); /* one that lost its connection before the end */
    rig_send(&r, &late, 6);
    rig_send(&r, &late, 7);
    rig_send(&r, &late, 8);
    rig_wait_acks(&late, 3);
    assert_true(late.ready.last_seq == 6 && late.session_closed == 1);
    assert_true(late.acks[0].again && late.acks[0].status == CONTROL_USED);
    assert_int_equal(late.acks[1].reason, CONTROL_CLOSED);
    assert_int_equal(late.acks[2].reason, CONTROL_CLOSED);
    rig_disconnect(&late);
    rig_connect(&r, &late, id, CONTROL_VIEW);
    rig_read_all(&late);
    assert_true(late.session_closed && late.sync.points > 100);
    rig_disconnect(&late);
    rig_disconnect(&in);
    rig_close(&r);
}

TEST(deletion_at_any_moment)
{
    static struct rig_client in;
    struct session_options o = rig_options();
    char id[API_ID_CAP];
    struct rig r;

    rig_open(&r);
    for (int round = 0; round < 30; round++) {
        fake_gpu_plan.delay_us = round % 3 * 1000;
        rig_session(&r, &o, id);
        rig_connect(&r, &in, id, CONTROL_INGEST);
        for (uint64_t seq = 1; seq <= 5; seq++)
            rig_send(&r, &in, seq);
        usleep((useconds_t)(round * 300));
        assert_int_equal(core_ops.session_delete(r.core, id, NULL), 0);
        assert_int_equal(core_ops.session_delete(r.core, id, NULL), ERR_NOT_FOUND);
        rig_read_all(&in);
        assert_int_equal(in.n_bye, 1);
        assert_int_equal(in.bye.action, CONTROL_DISCONNECT);
        assert_true(in.closed);
        rig_disconnect(&in);
    }
    assert_int_equal(r.gone, 30);
    rig_close(&r);
}

TEST(a_second_sender_replaces_the_first)
{
    static struct rig_client first, second;
    struct session_options o = rig_options();
    char id[API_ID_CAP];
    struct rig r;

    rig_open(&r);
    rig_session(&r, &o, id);
    rig_connect(&r, &first, id, CONTROL_INGEST);
    rig_connect(&r, &second, id, CONTROL_INGEST);
    rig_read_all(&first);
    assert_int_equal(first.n_bye, 1);
    assert_true(first.closed);
    rig_disconnect(&first);
    assert_int_equal(rig_send(&r, &second, 1), 0);
    rig_wait_acks(&second, 1);
    assert_int_equal(second.acks[0].status, CONTROL_USED);
    rig_disconnect(&second);
    assert_int_equal(rig_info(&r, id).state, SESSION_IDLE);
    rig_close(&r);
}

TEST(a_lost_device_answers_and_says_so)
{
    static struct rig_client in;
    struct session_options o = rig_options();
    char id[API_ID_CAP], why[API_TEXT_CAP];
    struct rig r;

    rig_open(&r);
    rig_session(&r, &o, id);
    rig_connect(&r, &in, id, CONTROL_INGEST);
    assert_int_equal(core_ops.health(r.core, why), API_READY);
    fake_gpu_plan.fail_at = 3;
    fake_gpu_plan.fail_with = ERR_DEVICE;
    for (uint64_t seq = 1; seq <= 5; seq++)
        rig_send(&r, &in, seq);
    rig_wait_acks(&in, 5);
    assert_int_equal(in.acks[1].status, CONTROL_USED);
    for (int i = 2; i < 5; i++)
        assert_int_equal(in.acks[i].reason, CONTROL_FAULT);
    assert_true(core_lost(r.core));
    assert_int_equal(core_ops.health(r.core, why), API_FAULT);
    core_stop(r.core); /* what main does then: the client shall come back, nothing was deleted */
    rig_read_all(&in);
    assert_int_equal(in.bye.action, CONTROL_RECONNECT);
    rig_disconnect(&in);
    rig_close(&r);
}

TEST(want_of_memory_costs_a_frame)
{
    static struct rig_client in;
    struct session_options o = rig_options();
    char id[API_ID_CAP];
    struct rig r;

    rig_open(&r);
    rig_session(&r, &o, id);
    rig_connect(&r, &in, id, CONTROL_INGEST);
    fake_gpu_plan.session_fails = ERR_MEMORY;
    rig_send(&r, &in, 1);
    rig_wait_acks(&in, 1);
    assert_int_equal(in.acks[0].reason, CONTROL_MEMORY);
    fake_gpu_plan.session_fails = 0;
    rig_send(&r, &in, 2);
    rig_wait_acks(&in, 2);
    assert_int_equal(in.acks[1].status, CONTROL_USED);
    fake_gpu_plan.fail_at = 2;
    fake_gpu_plan.fail_with = ERR_MEMORY;
    rig_send(&r, &in, 3);
    rig_send(&r, &in, 4);
    rig_wait_acks(&in, 4);
    assert_int_equal(in.acks[2].reason, CONTROL_MEMORY);
    assert_int_equal(in.acks[3].status, CONTROL_USED);
    rig_disconnect(&in);
    rig_close(&r);
}

TEST(retention_and_drain)
{
    static struct rig_client in;
    struct session_options o = rig_options();
    struct session_info info;
    char kept[API_ID_CAP], gone[API_ID_CAP];
    struct err err = {0};
    struct rig r;
    int retry;

    rig_open(&r);
    o.retention_s = -1;
    rig_session(&r, &o, kept);
    o.retention_s = 1;
    rig_session(&r, &o, gone);
    core_sweep(r.core);
    assert_int_equal(registry_count(r.core->registry), 2);
    usleep(1100000);
    rig_connect(&r, &in, gone, CONTROL_INGEST); /* a client is there: it stays */
    core_sweep(r.core);
    assert_int_equal(registry_count(r.core->registry), 2);
    rig_disconnect(&in);
    usleep(1100000);
    core_sweep(r.core);
    assert_int_equal(core_ops.session_get(r.core, gone, &info, NULL), ERR_NOT_FOUND);
    assert_int_equal(r.gone, 1);

    fake_gpu_plan.delay_us = 20000;
    rig_connect(&r, &in, kept, CONTROL_INGEST);
    for (uint64_t seq = 1; seq <= 4; seq++)
        rig_send(&r, &in, seq);
    core_drain(r.core);
    rig_send(&r, &in, 5);
    rig_wait_acks(&in, 5);
    for (int i = 0; i < 60000 && !in.closed; i++) {
        rig_read_all(&in);
        usleep(1000);
    }
    assert_true(in.closed);
    assert_int_equal(in.bye.action, CONTROL_RECONNECT);
    assert_true(in.session_closed); /* everything was told before the farewell */
    for (int i = 0; i < 5; i++)     /* the late one is answered before those in the queue */
        assert_int_equal(in.acks[i].reason,
                         in.acks[i].seq == 5 ? CONTROL_SHUTDOWN : CONTROL_REASON_NONE);
    assert_int_equal(core_ops.session_create(r.core, &o, "", &info, &retry, &err), ERR_BUSY);
    assert_int_equal(core_pending(r.core), 1);
    rig_disconnect(&in);
    assert_int_equal(core_pending(r.core), 0);
    rig_close(&r);
}

TEST(previews_and_control)
{
    static struct rig_client in, view;
    struct control_message end = {.op = CONTROL_END};
    struct session_options o = rig_options();
    static float depth[256 * 192];
    char id[API_ID_CAP];
    struct err err = {0};
    uint64_t seq;
    struct rig r;
    int w, h;

    rig_open(&r);
    o.preview = true;
    rig_session(&r, &o, id);
    assert_int_equal(core_ops.depth(r.core, id, depth, 256 * 192, &w, &h, &seq, &err),
                     ERR_NOT_FOUND);
    rig_connect(&r, &in, id, CONTROL_INGEST);
    rig_connect(&r, &view, id, CONTROL_VIEW);
    rig_send(&r, &in, 9);
    rig_wait_acks(&in, 1);
    assert_int_equal(core_ops.depth(r.core, id, depth, 256 * 192, &w, &h, &seq, NULL), 0);
    assert_true(w == 256 && h == 192 && seq == 9 && depth[1000] == 1.5f);
    assert_int_equal(core_ops.depth(r.core, id, depth, 100, &w, &h, &seq, NULL), ERR_LIMIT);

    rig_read_all(&view);
    assert_int_equal(core_ops.stream_control(view.s, &end, NULL), ERR_STATE);
    assert_int_equal(rig_send(&r, &view, 1), ERR_DENIED);
    assert_int_equal(in.ended, 0);
    assert_int_equal(core_ops.stream_control(in.s, &end, NULL), 0);
    rig_read_all(&in);
    assert_true(in.ended == 1 && in.session_closed == 0);
    rig_send(&r, &in, 10); /* after its own `end` a client sends nothing that counts */
    rig_send(&r, &in, 11);
    rig_wait_acks(&in, 3);
    for (int i = 1; i < 3; i++) {
        assert_int_equal(in.acks[i].status, CONTROL_REFUSED);
        assert_int_equal(in.acks[i].reason, CONTROL_AFTER_END);
    }
    assert_int_equal(in.ended, 1);
    rig_disconnect(&in);
    rig_connect(&r, &in, id, CONTROL_INGEST); /* their numbers are still free */
    rig_send(&r, &in, 10);
    rig_wait_acks(&in, 1);
    assert_int_equal(in.acks[0].status, CONTROL_USED);
    rig_disconnect(&view);
    rig_disconnect(&in);
    rig_close(&r);
}
