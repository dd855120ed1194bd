/* The core from the edges' side: frames in, answers and blocks out, on a device that is a fake. */
#include "tests/support/core_rig.h"
#include "tests/support/unit.h"

TEST(frames_become_a_cloud)
{
    static struct rig_client in, out;
    struct session_info info;
    struct session_pose poses[30];
    int n;

    rig_begin(&in, NULL);
    rig_connect(&out, in.id, CONTROL_VIEW);
    assert_int_equal(rig_info(in.id).state, SESSION_STREAMING);
    rig_feed(&in, 1, 20);
    rig_read_all(&out);
    info = rig_info(in.id);
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
    assert_int_equal(core_ops.trajectory(rig.core, in.id, 5, poses, 30, &n, NULL), 0);
    assert_int_equal(n, 15);
    assert_int_equal(poses[0].seq, 6);
    assert_float_equal(poses[0].T_wc.t[0], 0.06, 1e-6);
    assert_true(rig.wakes > 20);
    rig_disconnect(&in);
    rig_end(&out);
}

/* A client that lost its connection sends again what was not answered: nothing is taken twice, and
 * it hears of each frame once, so that its window holds. */
TEST(a_frame_under_way_belongs_to_who_sent_it_last)
{
    static struct rig_client first, second;
    struct session_options o = rig_options();
    struct session_info info;

    o.mode = SESSION_LOSSLESS;
    rig_begin(&first, &o);
    fake_gpu_plan.delay_us = 20000;
    for (uint64_t seq = 1; seq <= 8; seq++)
        rig_send(&first, seq);
    rig_disconnect(&first);
    rig_connect(&second, first.id, CONTROL_INGEST);
    for (uint64_t seq = 1; seq <= 8; seq++)
        rig_send(&second, seq);
    assert_int_equal(rig_send(&second, 8), ERR_STATE); /* twice on one line is once too often */
    rig_wait_acks(&second, 9);
    fake_gpu_plan.delay_us = 0;
    rig_feed(&second, 9, 20);
    info = rig_info(first.id);
    assert_int_equal(info.counts.used, 20);
    assert_int_equal(info.counts.dropped, 0);
    assert_int_equal(info.counts.received, info.counts.used + info.counts.refused);
    for (int i = 0; i < 21; i++)
        assert_true(second.acks[i].status == CONTROL_USED ||
                    second.acks[i].reason == CONTROL_DUPLICATE);
    rig_end(&second);
}

/* A focal length that passes at the picture's own size is less than a pixel once it is scaled. */
TEST(a_focal_length_that_scaling_eats_is_refused)
{
    static struct rig_client c;
    struct frame f;

    rig_open();
    rig_picture(1280, 960, 40);
    rig_join(&c, NULL);
    f = rig_frame(1);
    f.width = 1280;
    f.height = 960;
    f.flags |= FRAME_HAS_CAMERA;
    f.K = (struct intrinsics){1.5f, 1.5f, 640, 480};
    assert_int_equal(rig_ask(&c, &f, 1), 0);
    assert_int_equal(c.acks[0].reason, CONTROL_BAD_FRAME);
    f.seq = 2;
    f.K.fx = f.K.fy = 1000;
    assert_int_equal(rig_ask(&c, &f, 2), 0);
    assert_int_equal(c.acks[1].status, CONTROL_USED);
    rig_end(&c);
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
        uint64_t on_card = cases[k].fail ? 0 : (uint64_t)cases[k].decoded;

        memset(&c, 0, sizeof(c));
        rig_open();
        fake_gpu_plan.engines = cases[k].engines;
        fake_gpu_plan.engines_fail = cases[k].fail;
        rig_picture(cases[k].w, cases[k].w / 4 * 3, 40);
        rig_join(&c, NULL);
        for (uint64_t seq = 1; seq <= 3; seq++) {
            struct frame f = rig_frame(seq);
            f.width = (uint16_t)cases[k].w;
            f.height = (uint16_t)(cases[k].w / 4 * 3);
            assert_int_equal(rig_ask(&c, &f, (int)seq), 0);
            assert_int_equal(c.acks[seq - 1].status, CONTROL_USED);
        }
        assert_int_equal(fake_gpu_plan.decoded, cases[k].decoded);
        assert_int_equal(atomic_load(&rig.core->metrics.counters[METRICS_CARD_PICTURES]), on_card);
        rig_end(&c);
        fake_gpu_plan.engines = fake_gpu_plan.engines_fail = fake_gpu_plan.decoded = 0;
    }
}

TEST(an_export_is_what_a_client_holds)
{
    static struct rig_client in;
    uint64_t total, hash, at = 0;
    struct core_export *e;
    char header[80] = "";
    uint8_t *file, piece[37];
    size_t n;

    rig_begin(&in, NULL);
    for (uint64_t seq = 1; seq <= 5; seq++)
        assert_int_equal(rig_send(&in, seq), 0);
    rig_wait_acks(&in, 5);
    assert_int_equal(core_ops.export_open(rig.core, in.id, "", false, &e, &total, &hash, NULL), 0);
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
    rig_end(&in);
}

/* Each kind of bad frame costs that frame alone and says why. */
TEST(bad_frames_are_refused_with_a_reason)
{
    static struct rig_client in;
    struct session_info info;
    struct frame f;
    int at = 0;

    rig_begin(&in, NULL);
#define REFUSED(expected)                                      \
    rig_send_frame(&in, &f, NULL);                             \
    rig_wait_acks(&in, ++at);                                  \
    assert_int_equal(in.acks[at - 1].status, CONTROL_REFUSED); \
    assert_int_equal(in.acks[at - 1].reason, expected)
    f = rig_frame(1);
    f.payload_len /= 2; /* truncated; the size of a first frame that is bad decides nothing */
    REFUSED(CONTROL_DECODE_ERROR);
    f = rig_frame(2);
    f.width = 321;
    REFUSED(CONTROL_BAD_FRAME);
    f = rig_frame(3);
    f.flags = 0;
    REFUSED(CONTROL_BAD_POSE);
    f = rig_frame(4);
    f.flags |= FRAME_TRACKING_LOST << 2;
    REFUSED(CONTROL_TRACKING);
    f = rig_frame(5);
    f.T_wc.t[1] = NAN;
    REFUSED(CONTROL_BAD_POSE);
    f = rig_frame(6);
    f.height = 100; /* the session's intrinsics are not of such a picture */
    REFUSED(CONTROL_NO_CAMERA);
    assert_int_equal(rig_step(&in, 7, ++at), 0);
    assert_int_equal(in.acks[at - 1].status, CONTROL_USED);
    f = rig_frame(6); /* below one that was used, and never taken */
    REFUSED(CONTROL_DUPLICATE);
    f = rig_frame(8); /* of another size than its entry says */
    f.width = 640;
    f.height = 480;
    REFUSED(CONTROL_BAD_FRAME);
#undef REFUSED
    info = rig_info(in.id);
    assert_int_equal(info.counts.received, 9);
    assert_int_equal(info.counts.used, 1);
    assert_int_equal(info.counts.refused, 8);
    assert_int_equal(info.counts.dropped + info.counts.queued, 0);
    rig_end(&in);
}

TEST(lost_tracking_and_new_worlds_restart)
{
    static struct rig_client in;
    struct frame f;

    rig_begin(&in, NULL);
    for (uint64_t seq = 1; seq <= 6; seq++) {
        f = rig_frame(seq);
        f.world_epoch = seq >= 5; /* a new world at 5 */
        if (seq == 3)
            f.flags |= FRAME_TRACKING_LOST << 2; /* so 4 starts afresh */
        rig_ask(&in, &f, (int)seq);
    }
    assert_int_equal(fake_gpu_plan.frames, 5);
    assert_int_equal(fake_gpu_plan.restarts, 2);
    rig_end(&in);
}

TEST(close_uses_what_is_queued)
{
    static struct rig_client in, late;

    rig_open();
    fake_gpu_plan.delay_us = 20000;
    rig_join(&in, NULL);
    for (uint64_t seq = 1; seq <= 6; seq++)
        assert_int_equal(rig_send(&in, seq), 0);
    assert_int_equal(core_ops.session_close(rig.core, in.id, NULL), 0);
    rig_step(&in, 7, 7);
    assert_int_equal(rig_info(in.id).counts.used, 6);
    assert_int_equal(rig_info(in.id).counts.refused, 1);
    while (!in.session_closed) /* after a closing round */
        rig_read_all(&in);
    assert_int_equal(rig_info(in.id).state, SESSION_CLOSED);
    assert_true(in.session_closed == 1 && in.ended == 0);
    for (int i = 0; i < 60000 && fake_gpu_plan.sessions; i++)
        usleep(1000);
    assert_int_equal(fake_gpu_plan.sessions,
                     0); /* the device has its memory back, the cloud is there */
    rig_connect(&late, in.id, CONTROL_INGEST); /* one that lost its connection before the end */
    rig_send(&late, 6);
    rig_send(&late, 7);
    rig_step(&late, 8, 3);
    assert_true(late.ready.last_seq == 6 && late.session_closed == 1);
    assert_true(late.acks[0].again && late.acks[0].status == CONTROL_USED);
    assert_int_equal(late.acks[1].reason, CONTROL_CLOSED);
    assert_int_equal(late.acks[2].reason, CONTROL_CLOSED);
    rig_disconnect(&late);
    rig_connect(&late, in.id, CONTROL_VIEW);
    rig_read_all(&late);
    assert_true(late.session_closed && late.sync.points > 100);
    rig_disconnect(&late);
    rig_end(&in);
}

TEST(deletion_at_any_moment)
{
    static struct rig_client in;

    rig_open();
    for (int round = 0; round < 30; round++) {
        fake_gpu_plan.delay_us = round % 3 * 1000;
        rig_join(&in, NULL);
        for (uint64_t seq = 1; seq <= 5; seq++)
            rig_send(&in, seq);
        usleep((useconds_t)(round * 300));
        assert_int_equal(core_ops.session_delete(rig.core, in.id, NULL), 0);
        assert_int_equal(core_ops.session_delete(rig.core, in.id, NULL), ERR_NOT_FOUND);
        rig_read_all(&in);
        assert_int_equal(in.n_bye, 1);
        assert_int_equal(in.bye.action, CONTROL_DISCONNECT);
        assert_true(in.closed);
        rig_disconnect(&in);
    }
    assert_int_equal(rig.gone, 30);
    rig_close();
}

TEST(a_second_sender_replaces_the_first)
{
    static struct rig_client first, second;

    rig_begin(&first, NULL);
    rig_connect(&second, first.id, CONTROL_INGEST);
    rig_read_all(&first);
    assert_int_equal(first.n_bye, 1);
    assert_true(first.closed);
    rig_disconnect(&first);
    assert_int_equal(rig_step(&second, 1, 1), 0);
    assert_int_equal(second.acks[0].status, CONTROL_USED);
    rig_disconnect(&second);
    assert_int_equal(rig_info(first.id).state, SESSION_IDLE);
    rig_close();
}

TEST(a_lost_device_answers_and_says_so)
{
    static struct rig_client in;
    char why[API_TEXT_CAP];

    rig_begin(&in, NULL);
    assert_int_equal(core_ops.health(rig.core, why), API_READY);
    fake_gpu_plan.fail_at = 3;
    fake_gpu_plan.fail_with = ERR_DEVICE;
    for (uint64_t seq = 1; seq <= 5; seq++)
        rig_send(&in, seq);
    rig_wait_acks(&in, 5);
    assert_int_equal(in.acks[1].status, CONTROL_USED);
    for (int i = 2; i < 5; i++)
        assert_int_equal(in.acks[i].reason, CONTROL_FAULT);
    assert_true(core_lost(rig.core));
    assert_int_equal(core_ops.health(rig.core, why), API_FAULT);
    core_stop(rig.core); /* what main does then: the client shall come back, nothing was deleted */
    rig_read_all(&in);
    assert_int_equal(in.bye.action, CONTROL_RECONNECT);
    rig_end(&in);
}

TEST(want_of_memory_costs_a_frame)
{
    static struct rig_client in;

    rig_begin(&in, NULL);
    fake_gpu_plan.session_fails = ERR_MEMORY;
    rig_step(&in, 1, 1);
    assert_int_equal(in.acks[0].reason, CONTROL_MEMORY);
    fake_gpu_plan.session_fails = 0;
    rig_step(&in, 2, 2);
    assert_int_equal(in.acks[1].status, CONTROL_USED);
    fake_gpu_plan.fail_at = 2;
    fake_gpu_plan.fail_with = ERR_MEMORY;
    rig_send(&in, 3);
    rig_step(&in, 4, 4);
    assert_int_equal(in.acks[2].reason, CONTROL_MEMORY);
    assert_int_equal(in.acks[3].status, CONTROL_USED);
    rig_end(&in);
}

TEST(retention_and_drain)
{
    static struct rig_client in;
    struct session_options o = rig_options();
    struct session_info info;
    char kept[API_ID_CAP], gone[API_ID_CAP];
    struct err err = {0};
    int retry;

    rig_open();
    o.retention_s = -1;
    rig_session(&o, kept);
    o.retention_s = 1;
    rig_session(&o, gone);
    core_sweep(rig.core);
    assert_int_equal(registry_count(rig.core->registry), 2);
    usleep(1100000);
    rig_connect(&in, gone, CONTROL_INGEST); /* a client is there: it stays */
    core_sweep(rig.core);
    assert_int_equal(registry_count(rig.core->registry), 2);
    rig_disconnect(&in);
    usleep(1100000);
    core_sweep(rig.core);
    assert_int_equal(core_ops.session_get(rig.core, gone, &info, NULL), ERR_NOT_FOUND);
    assert_int_equal(rig.gone, 1);

    fake_gpu_plan.delay_us = 20000;
    rig_connect(&in, kept, CONTROL_INGEST);
    for (uint64_t seq = 1; seq <= 4; seq++)
        rig_send(&in, seq);
    core_drain(rig.core);
    rig_step(&in, 5, 5);
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
    assert_int_equal(core_ops.session_create(rig.core, &o, "", &info, &retry, &err), ERR_BUSY);
    assert_int_equal(core_pending(rig.core), 1);
    rig_disconnect(&in);
    assert_int_equal(core_pending(rig.core), 0);
    rig_close();
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
    int w, h;

    o.preview = true;
    rig_open();
    rig_session(&o, id);
    assert_int_equal(core_ops.depth(rig.core, id, depth, 256 * 192, &w, &h, &seq, &err),
                     ERR_NOT_FOUND);
    rig_connect(&in, id, CONTROL_INGEST);
    rig_connect(&view, id, CONTROL_VIEW);
    rig_step(&in, 9, 1);
    assert_int_equal(core_ops.depth(rig.core, id, depth, 256 * 192, &w, &h, &seq, NULL), 0);
    assert_true(w == 256 && h == 192 && seq == 9 && depth[1000] == 1.5f);
    assert_int_equal(core_ops.depth(rig.core, id, depth, 100, &w, &h, &seq, NULL), ERR_LIMIT);

    rig_read_all(&view);
    assert_int_equal(core_ops.stream_control(view.s, &end, NULL), ERR_STATE);
    assert_int_equal(rig_send(&view, 1), ERR_DENIED);
    assert_int_equal(in.ended, 0);
    assert_int_equal(core_ops.stream_control(in.s, &end, NULL), 0);
    rig_read_all(&in);
    assert_true(in.ended == 1 && in.session_closed == 0);
    rig_send(&in, 10); /* after its own `end` a client sends nothing that counts */
    rig_step(&in, 11, 3);
    for (int i = 1; i < 3; i++) {
        assert_int_equal(in.acks[i].status, CONTROL_REFUSED);
        assert_int_equal(in.acks[i].reason, CONTROL_AFTER_END);
    }
    assert_int_equal(in.ended, 1);
    rig_disconnect(&in);
    rig_connect(&in, id, CONTROL_INGEST); /* their numbers are still free */
    rig_step(&in, 10, 1);
    assert_int_equal(in.acks[0].status, CONTROL_USED);
    rig_disconnect(&view);
    rig_end(&in);
}
