/* Quotas: what the sessions of one token may hold, and that its neighbours keep theirs. */
#include "tests/support/store_rig.h"
#include "tests/support/unit.h"

static int create(const char *owner, const struct session_options *o, struct session_info *info,
                  struct err *err)
{
    int retry = 0, rc = core_ops.session_create(rig.core, o, owner, info, &retry, err);

    assert_true(rc != ERR_BUSY || retry > 0);
    return rc;
}

static void set_quotas(const struct quota *a, const struct quota *b)
{
    struct api_tenant list[2] = {{"phone", *a}, {"wall", b ? *b : quota_none}};

    core_ops.tenants_set(rig.core, list, b ? 2 : 1);
}

/* A token that wants all sessions gets its own; the rest is there for others, at any moment. */
TEST(one_token_does_not_take_all_sessions)
{
    struct session_options o = rig_options();
    struct quota sixteen = quota_none;
    struct session_info info, last;
    struct err err;
    int made = 0;

    sixteen.sessions = 16;
    rig_open();
    set_quotas(&sixteen, &sixteen);
    for (int i = 0; i < 100; i++)
        if (create("phone", &o, &info, &err) == 0) {
            made++;
            last = info;
        }
    assert_int_equal(made, 16);
    assert_string_equal(last.owner, "phone");
    assert_non_null(strstr(err.text, "'phone' has its 16 sessions"));
    assert_int_equal(create("wall", &o, &info, &err), 0);
    assert_int_equal(create("boss", &o, &info, &err), 0); /* has no quota */
    assert_int_equal(core_ops.session_delete(rig.core, last.id, &err), 0);
    assert_int_equal(create("phone", &o, &info, &err), 0);
    assert_int_equal(create("phone", &o, &info, &err), ERR_BUSY);
    sixteen.sessions = 17; /* a new token file */
    set_quotas(&sixteen, NULL);
    assert_int_equal(create("phone", &o, &info, &err), 0);
    rig_close();
}

TEST(memory_is_bounded)
{
    struct session_options o = rig_options();
    struct quota q = quota_none;
    struct session_info info;
    struct err err;

    rig_open();
    assert_int_equal(create("phone", &o, &info, &err), 0);
    q.memory_bytes = 2 * info.memory_bytes + info.memory_bytes / 2;
    set_quotas(&q, NULL);
    assert_int_equal(create("phone", &o, &info, &err), 0);
    assert_int_equal(create("phone", &o, &info, &err), ERR_BUSY);
    assert_int_equal(core_ops.session_delete(rig.core, info.id, &err), 0);
    assert_int_equal(create("phone", &o, &info, &err), 0);
    rig_close();
}

TEST(options_beyond_the_quota_are_refused)
{
    struct quota q = {.retention_s = 600, .net_pixels = 256 * 192};
    struct session_options o = rig_options(), wanted;
    struct session_info info;
    struct err err;

    rig_open();
    set_quotas(&q, NULL);
    assert_int_equal(create("phone", &o, &info, &err), 0);
    assert_int_equal(info.options.retention_s, 600); /* the default is an hour */
    wanted = o;
    wanted.retention_s = -1;
    assert_int_equal(create("phone", &wanted, &info, &err), ERR_DENIED);
    assert_string_equal(err.where, "/retention_s");
    wanted.retention_s = 601;
    assert_int_equal(create("phone", &wanted, &info, &err), ERR_DENIED);
    wanted.retention_s = 60;
    assert_int_equal(create("phone", &wanted, &info, &err), 0);
    wanted = o;
    wanted.net_w = 256;
    wanted.net_h = 224;
    assert_int_equal(create("phone", &wanted, &info, &err), ERR_DENIED);
    assert_string_equal(err.where, "/net");
    assert_int_equal(create("boss", &wanted, &info, &err), 0);
    wanted.net_h = 192;
    assert_int_equal(create("phone", &wanted, &info, &err), 0);
    rig_close();
}

/* Slow readers of one token leave exports for others, whichever token made the session. */
TEST(exports_are_bounded)
{
    struct session_options o = rig_options();
    struct core_export *e[4] = {NULL};
    struct quota two = quota_none;
    struct session_info info;
    uint64_t total, hash;
    struct err err;

    two.exports = 2;
    rig_open();
    set_quotas(&two, &two);
    assert_int_equal(create("phone", &o, &info, &err), 0);
    assert_int_equal(
        core_ops.export_open(rig.core, info.id, "wall", false, &e[0], &total, &hash, &err), 0);
    assert_int_equal(
        core_ops.export_open(rig.core, info.id, "wall", false, &e[1], &total, &hash, &err), 0);
    assert_int_equal(
        core_ops.export_open(rig.core, info.id, "wall", false, &e[2], &total, &hash, &err),
        ERR_BUSY);
    assert_non_null(strstr(err.text, "'wall'"));
    assert_int_equal(core_ops.export_open(rig.core, info.id, "", false, &e[2], &total, &hash, &err),
                     0);
    core_ops.export_close(e[0]);
    assert_int_equal(
        core_ops.export_open(rig.core, info.id, "wall", false, &e[0], &total, &hash, &err), 0);
    for (int i = 0; i < 3; i++)
        core_ops.export_close(e[i]);
    rig_close();
}

/* However many sessions send, together they are asked to pause for as long as the rate wants. */
TEST(frames_of_all_sessions_share_a_rate)
{
    static struct rig_client c[2];
    struct session_options o = rig_options();
    struct quota slow = quota_none;
    struct session_info info;
    struct err err;

    slow.frames_per_s = 0.001f; /* a frame in 1000 s, so that the test's own time does not count */
    rig_open();
    set_quotas(&slow, NULL);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(create("phone", &o, &info, &err), 0);
        rig_connect(&c[i], info.id, CONTROL_INGEST);
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(rig_send(&c[i % 2], (uint64_t)i + 1), 0); /* none is refused */
        assert_in_range(core_ops.stream_ahead_us(c[i % 2].s), (uint64_t)i * 1000000000 + 1,
                        (uint64_t)(i + 1) * 1000000000 + 1000);
    }
    rig_wait_acks(&c[0], 2);
    rig_wait_acks(&c[1], 2);
    set_quotas(&quota_none, NULL);
    assert_int_equal(rig_send(&c[0], 9), 0);
    assert_int_equal(core_ops.stream_ahead_us(c[0].s), 0);
    rig_wait_acks(&c[0], 3);
    for (int i = 0; i < 2; i++)
        rig_disconnect(&c[i]);
    rig_close();
}

/* ------------------------------------------------------------------------- on disk */

TEST_WITH(journals_are_bounded, make_folder, remove_folder)
{
    static struct rig_client phone, wall;
    struct session_options o = options(SESSION_LOSSLESS);
    struct quota q = quota_none;
    struct session_info info;
    struct err err;

    open_rig(0);
    assert_int_equal(create("phone", &o, &info, &err), 0);
    rig_connect(&phone, info.id, CONTROL_INGEST);
    assert_int_equal(create("wall", &o, &info, &err), 0);
    rig_connect(&wall, info.id, CONTROL_INGEST);
    feed(&phone, 1, 5);
    q.disk_bytes = 1000; /* less than five frames */
    set_quotas(&q, &q);
    core_sweep(rig.core);
    send_one(&phone, 6);
    rig_wait_acks(&phone, 6);
    assert_int_equal(phone.acks[5].status, CONTROL_REFUSED);
    assert_int_equal(phone.acks[5].reason, CONTROL_STORAGE);
    assert_int_equal(create("phone", &o, &info, &err), ERR_BUSY);
    assert_non_null(strstr(err.text, "journals"));
    feed(&wall, 1, 1);
    assert_int_equal(wall.acks[0].status, CONTROL_USED);
    rig_disconnect(&phone);
    rig_end(&wall);
}

TEST_WITH(recording_is_a_right, make_folder, remove_folder)
{
    struct session_options o = options(SESSION_LIVE);
    struct quota q = quota_none;
    struct session_info info;
    struct err err;

    q.record = 0;
    o.record = true;
    open_rig(0);
    set_quotas(&q, NULL);
    assert_int_equal(create("phone", &o, &info, &err), ERR_DENIED);
    assert_string_equal(err.where, "/record");
    assert_int_equal(create("boss", &o, &info, &err), 0);
    rig_close();
}

/* A restart forgets neither whose a session is nor what it takes. */
TEST_WITH(a_restart_keeps_the_owner, make_folder, remove_folder)
{
    static struct rig_client c;
    struct session_options o = options(SESSION_LOSSLESS);
    struct quota q = quota_none;
    struct session_info info;
    char id[API_ID_CAP];
    struct err err;

    open_rig(0);
    assert_int_equal(create("phone", &o, &info, &err), 0);
    memcpy(id, info.id, sizeof(id));
    rig_connect(&c, id, CONTROL_INGEST);
    feed(&c, 1, 5);
    rig_end(&c);
    (void)come_back(0, id);
    assert_string_equal(rig_info(id).owner, "phone");
    q.sessions = 1;
    set_quotas(&q, NULL);
    assert_int_equal(create("phone", &o, &info, &err), ERR_BUSY);
    q.sessions = 0;
    q.disk_bytes = 1000;
    set_quotas(&q, NULL);
    core_sweep(rig.core);
    assert_int_equal(create("phone", &o, &info, &err), ERR_BUSY);
    assert_int_equal(core_ops.session_delete(rig.core, id, &err), 0);
    core_sweep(rig.core);
    assert_int_equal(create("phone", &o, &info, &err), 0);
    rig_close();
}
