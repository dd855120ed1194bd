/* What a restart gives back: killed processes, accounts, sessions at rest, tokens. */
#include "daemon/session/session_info.h"
#include "tests/support/store_rig.h"
#include "tests/support/unit.h"

/* ------------------------------------------------------------------------- killed */

static void kill_and_go_on(int every, uint64_t before)
{
    static struct rig_client c;
    struct session_info was = undisturbed(before), then = undisturbed(before + 10), info;
    char id[API_ID_CAP];

    assert_true(WIFSIGNALED(feed_and_kill(every, before, id)));
    info = come_back(every, id);
    assert_true(info.hash == was.hash);
    assert_int_equal(info.revision, was.revision);
    assert_int_equal(info.points, was.points);
    assert_int_equal(info.counts.used, before);
    assert_int_equal(info.counts.received, before);
    assert_int_equal(info.counts.keyframes, was.counts.keyframes);
    assert_int_equal(info.state, before ? SESSION_IDLE : SESSION_CREATED);
    balanced(&info);
    if (every && before > 2 * (uint64_t)every) /* only the tail went through the device again */
        assert_true(fake_gpu_plan.frames < (int)(2 * (uint64_t)every));
    rig_connect(&c, id, CONTROL_INGEST);
    if (before) { /* what was acknowledged is known, whichever client sends it again */
        send_one(&c, before);
        rig_wait_acks(&c, 1);
        assert_true(c.ready.any_seq && c.ready.last_seq == before);
        assert_true(c.acks[0].again && c.acks[0].status == CONTROL_USED && c.acks[0].placed);
        assert_float_equal(c.acks[0].pose[4], 0.01f * (float)before, 1e-6);
        assert_true(c.acks[0].revision > 0 && c.acks[0].revision <= was.revision);
        c.n_acks = 0;
    }
    feed(&c, before + 1, before + 10);
    info = rig_info(id);
    assert_true(info.hash == then.hash && c.sync.hash == then.hash);
    assert_int_equal(info.counts.used, before + 10);
    assert_int_equal(info.counts.refused, 0);
    assert_int_equal(info.counts.again, before ? 1 : 0);
    balanced(&info);
    rig_end(&c);
}

TEST_WITH(a_killed_process_loses_nothing, make_folder, remove_folder)
{
    kill_and_go_on(0, FRAMES);
}

TEST_WITH(a_checkpoint_shortens_the_replay, make_folder, remove_folder)
{
    kill_and_go_on(10, FRAMES + 3);
}

TEST_WITH(a_session_without_frames_is_back, make_folder, remove_folder)
{
    kill_and_go_on(10, 0);
}

/* ------------------------------------------------------------------------- dropped, refused */

#define N_ENDS 60

static struct ends {
    struct session_info info;
    struct control_ack acks[N_ENDS];
} ends; /* as they were told before the process died */

static void drop_and_refuse_and_be_killed(int out)
{
    static struct rig_client c;
    struct session_options o = options(SESSION_LIVE);

    open_rig(checkpoint_every);
    rig_join(&c, &o);
    feed(&c, 1, 12);
    fake_gpu_plan.delay_us = 20000;
    for (uint64_t seq = 13; seq <= 43; seq++) { /* more than the queue holds */
        send_one(&c, seq);
        if (seq % 5 == 0)
            usleep(30000);
    }
    rig_wait_acks(&c, 43);
    fake_gpu_plan.delay_us = 0;
    for (uint64_t seq = 44; seq <= 60; seq++) {
        struct frame f = rig_frame(seq);
        uint8_t broken[64];
        if (seq % 3 == 0) { /* no JPEG: the decoder finds out */
            memset(broken, 7, sizeof(broken));
            f.payload = broken;
            f.payload_len = sizeof(broken);
        }
        if (seq % 3 == 1) /* refused before the journal */
            f.flags = 0;
        rig_ask(&c, &f, (int)seq);
    }
    rig_step(&c, 60, 61);
    feed(&c, 61, 62);
    usleep(50000);
    ends.info = rig_info(c.id);
    tell_id(out, c.id);
    memcpy(ends.acks, c.acks, sizeof(ends.acks));
    if (write(out, &ends, sizeof(ends)) != sizeof(ends))
        _exit(98);
    raise(SIGKILL);
}

/* Each frame that was taken is told what it was told before the process died; one that was refused
 * at the door is judged anew, and as it was. */
static void assert_told_again(const char *id, const struct control_ack *before)
{
    static struct rig_client c;
    int known = 0;

    rig_connect(&c, id, CONTROL_INGEST);
    for (int i = 0; i < N_ENDS; i++) {
        const struct control_ack *was = &before[i], *now = &c.acks[i];

        struct frame f = rig_frame(was->seq);

        if (was->reason == CONTROL_BAD_POSE)
            f.flags = 0;
        rig_ask(&c, &f, i + 1);
        if (now->reason == CONTROL_DUPLICATE && was->status == CONTROL_DROPPED)
            continue; /* a full queue turned it away: the journal has not seen it */
        assert_int_equal(now->seq, was->seq);
        assert_int_equal(now->status, was->status);
        assert_int_equal(now->reason, was->reason);
        assert_true(now->again == (was->reason != CONTROL_BAD_POSE));
        assert_true(now->placed == was->placed && now->keyframe == was->keyframe);
        assert_true(now->revision == was->revision && now->quality == was->quality);
        assert_memory_equal(now->pose, was->pose, sizeof(was->pose));
        known += now->again;
    }
    assert_true(known > 40);
    rig_disconnect(&c);
}

static void the_accounting_survives(int every)
{
    struct session_info was, info;
    char id[API_ID_CAP];

    checkpoint_every = every;
    in_a_child_that_tells(drop_and_refuse_and_be_killed, id, &ends, sizeof(ends));
    was = ends.info;
    assert_true(was.counts.dropped > 5 && was.counts.refused > 5);
    for (int again = 0; again < 3; again++) { /* also after a start that nothing was sent to */
        info = come_back(every, id);
        assert_int_equal(info.counts.received, was.counts.received);
        assert_int_equal(info.counts.used, was.counts.used);
        assert_int_equal(info.counts.dropped, was.counts.dropped);
        assert_int_equal(info.counts.refused, was.counts.refused);
        assert_int_equal(info.counts.queued, 0);
        assert_true(info.hash == was.hash);
        assert_int_equal(info.revision, was.revision);
        if (again == 2)
            assert_told_again(id, ends.acks);
        rig_close();
    }
}

TEST_WITH(every_end_is_remembered, make_folder, remove_folder)
{
    the_accounting_survives(0);
}

TEST_WITH(every_end_is_remembered_behind_a_checkpoint, make_folder, remove_folder)
{
    the_accounting_survives(7);
}

/* ------------------------------------------------------------------------- sources */

/* Returns the submap that the frame was told. */
static uint32_t send_world(struct rig_client *c, uint64_t seq, uint32_t world)
{
    struct frame f = rig_frame(seq);
    int n = c->n_acks;

    f.world_epoch = world;
    assert_int_equal(rig_ask(c, &f, n + 1), 0);
    assert_int_equal(c->acks[n].status, CONTROL_USED);
    return c->acks[n].submap;
}

static void feed_two_and_be_killed(int out)
{
    static struct rig_client left, right;
    struct session_options o = options(SESSION_LOSSLESS);
    char id[API_ID_CAP];

    open_rig(checkpoint_every);
    rig_session(&o, id);
    rig_connect_source(&left, id, "left");
    rig_connect_source(&right, id, "right");
    for (uint64_t seq = 1; seq <= 6; seq++) {
        send_world(&left, seq, seq > 4 ? 9 : 0);
        send_world(&right, 50 + seq, 3);
    }
    usleep(50000);
    tell_id(out, id);
    raise(SIGKILL);
}

static void sources_survive(int every)
{
    static struct rig_client left, right;
    char id[API_ID_CAP];

    checkpoint_every = every;
    in_a_child(feed_two_and_be_killed, id);
    (void)come_back(every, id);
    rig_connect_source(&right, id, "right"); /* the other way round, this time */
    rig_connect_source(&left, id, "left");
    assert_int_equal(send_world(&right, 57, 3), 1);
    assert_int_equal(send_world(&left, 7, 0), 0);
    assert_int_equal(send_world(&left, 8, 9), 2);
    assert_int_equal(send_world(&right, 58, 9), 3); /* the same epoch is another's world */
    assert_int_equal(left.ready.last_seq, 6);
    assert_int_equal(right.ready.last_seq, 56);
    assert_int_equal(send_world(&left, 3, 0), 0); /* as it was told then */
    assert_true(left.acks[left.n_acks - 1].again);
    rig_disconnect(&left);
    rig_end(&right);
}

TEST_WITH(sources_and_their_worlds_come_back, make_folder, remove_folder)
{
    sources_survive(0);
}

TEST_WITH(sources_come_back_behind_a_checkpoint, make_folder, remove_folder)
{
    sources_survive(5);
}

/* ------------------------------------------------------------------------- rest, end, deletion */

TEST_WITH(stopped_sessions_start_from_a_checkpoint, make_folder, remove_folder)
{
    static struct rig_client c;
    struct session_options o = options(SESSION_LIVE);
    struct session_info then = undisturbed(30), was, info;
    char id[API_ID_CAP], closed[API_ID_CAP], deleted[API_ID_CAP];

    open_rig(0);
    rig_session(&o, id);
    rig_session(&o, closed);
    rig_session(&o, deleted);
    rig_connect(&c, id, CONTROL_INGEST);
    feed(&c, 1, 15);
    rig_disconnect(&c);
    rig_connect(&c, closed, CONTROL_INGEST);
    feed(&c, 1, 9);
    rig_disconnect(&c);
    assert_int_equal(core_ops.session_close(rig.core, closed, NULL), 0);
    assert_int_equal(core_ops.session_delete(rig.core, deleted, NULL), 0);
    was = rig_info(id);
    core_drain(rig.core);
    settle();
    rig_close();

    (void)come_back(0, id);
    wait_until_back(closed);
    info = rig_info(id);
    assert_true(info.hash == was.hash && info.epoch == was.epoch);
    assert_int_equal(info.state, SESSION_SUSPENDED);
    assert_int_equal(rig_info(closed).state, SESSION_CLOSED);
    assert_int_equal(rig_info(closed).counts.used, 9);
    assert_int_equal(core_ops.session_get(rig.core, deleted, &info, NULL), ERR_NOT_FOUND);
    assert_int_equal(fake_gpu_plan.frames, 0); /* nothing had to be replayed */
    assert_int_equal(fake_gpu_plan.sessions, 0);
    rig_connect(&c, id, CONTROL_INGEST);
    feed(&c, 16, 30);
    assert_true(rig_info(id).hash == then.hash);
    rig_end(&c);
}

TEST_WITH(an_idle_session_leaves_its_device, make_folder, remove_folder)
{
    static struct rig_client c;
    struct session_options o = options(SESSION_LIVE);
    struct session_info was;
    struct config fresh;
    char later[256];

    was = undisturbed(25);
    open_rig(0);
    fresh = core_config(rig.core);
    fresh.session.suspend_s = 0;
    core_reload(rig.core, &fresh, later, sizeof(later));
    rig_join(&c, &o);
    feed(&c, 1, 12);
    assert_int_equal(fake_gpu_plan.sessions, 1);
    rig_disconnect(&c);
    for (int i = 0; i < 60000 && fake_gpu_plan.sessions; i++) {
        core_sweep(rig.core);
        usleep(1000);
    }
    assert_int_equal(fake_gpu_plan.sessions, 0);
    assert_int_equal(rig_info(c.id).state, SESSION_SUSPENDED);
    rig_connect(&c, c.id, CONTROL_INGEST);
    feed(&c, 13, 25);
    assert_int_equal(fake_gpu_plan.sessions, 1);
    assert_true(rig_info(c.id).hash == was.hash);
    rig_end(&c);
}

TEST_WITH(tokens_and_ranks_are_kept, make_folder, remove_folder)
{
    struct session_options o = options(SESSION_LIVE);
    struct api_token token = {.scope = 1}, kept[SESSION_TOKENS_MAX];
    struct session_info infos[8];
    uint64_t cursor = 0;
    char id[5][API_ID_CAP];
    struct session *s;
    int n;

    open_rig(0);
    strcpy(o.name, "the \"west\" wing\n");
    for (int i = 0; i < 4; i++)
        rig_session(&o, id[i]);
    memset(token.sha256, 0xa5, sizeof(token.sha256));
    strcpy(token.session, id[2]);
    assert_int_equal(core_ops.tokens_keep(rig.core, id[2], &token, 1, NULL), 0);
    rig_close();
    open_rig(0);
    assert_int_equal(core_ops.session_list(rig.core, infos, 8, &n, &cursor, NULL), 0);
    assert_int_equal(n, 4);
    for (int i = 0; i < 4; i++)
        assert_string_equal(infos[i].id, id[i]);
    rig_session(&o, id[4]); /* made after the restart: behind all others, page by page */
    cursor = 0;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(core_ops.session_list(rig.core, infos, 1, &n, &cursor, NULL), 0);
        assert_int_equal(n, 1);
        assert_string_equal(infos[0].id, id[i]);
    }
    assert_string_equal(infos[0].options.name, o.name);
    s = registry_find(rig.core->registry, id[2]);
    assert_int_equal(session_get_tokens(s, kept), 1);
    assert_memory_equal(kept[0].sha256, token.sha256, 32);
    assert_string_equal(kept[0].session, id[2]);
    session_unref(s);
    rig_close();
}

/* What is being put together again is not handed out as if it were all. */
TEST_WITH(half_a_cloud_is_not_exported, make_folder, remove_folder)
{
    struct api_region region = {.size = {1, 1, 1}};
    const struct api_shape shape = {.region = &region};
    struct session_pose poses[64];
    struct api_object object;
    struct core_export *e;
    uint64_t total, hash;
    struct err err = {0};
    char id[API_ID_CAP];
    int n;

    feed_and_kill(0, 20, id);
    open_slow_rig(0, 20000);
    assert_int_equal(rig_info(id).state, SESSION_RECOVERING);
    assert_int_equal(core_ops.export_open(rig.core, id, "", false, &e, &total, &hash, &err),
                     ERR_BUSY);
    assert_int_equal(core_ops.trajectory(rig.core, id, 0, poses, 64, &n, &err), ERR_BUSY);
    memcpy(region.session, id, sizeof(region.session));
    assert_int_equal(core_ops.object_add(rig.core, "", "part", "", &shape, &object, &err),
                     ERR_BUSY);
    wait_until_back(id);
    assert_int_equal(core_ops.export_open(rig.core, id, "", false, &e, &total, &hash, &err), 0);
    assert_int_equal(hash, rig_info(id).hash);
    core_ops.export_close(e);
    assert_int_equal(core_ops.trajectory(rig.core, id, 0, poses, 64, &n, &err), 0);
    assert_int_equal(n, 20);
    rig_close();
}
