/* How things end and come back: a stop with frames under way, sessions after a restart. */
#include "tests/support/store_rig.h"
#include "tests/support/unit.h"

#define LONG 60 /* frames of a journal that takes its time */

static void read_to_the_end(struct rig_client *c)
{
    for (int i = 0; i < 60000 && !c->closed; i++) {
        rig_read_all(c);
        usleep(1000);
    }
    assert_int_equal(c->closed, 1);
}

/* ------------------------------------------------------------------------- a stop */

TEST_WITH(what_was_taken_is_answered_before_the_farewell, make_folder, remove_folder)
{
    static struct rig_client c;
    struct session_options o = options(SESSION_LOSSLESS);
    char id[API_ID_CAP];
    struct rig r;

    open_slow_rig(&r, 0, 20000);
    rig_session(&r, &o, id);
    rig_connect(&r, &c, id, CONTROL_INGEST);
    for (uint64_t seq = 1; seq <= 6; seq++)
        assert_int_equal(send_one(&r, &c, seq), 0);
    core_drain(r.core);
    send_one(&r, &c, 7); /* crossed the end: its client sends it again */
    read_to_the_end(&c);
    assert_int_equal(c.n_acks, 6);
    for (int i = 0; i < 6; i++)
        assert_int_equal(c.acks[i].status, CONTROL_USED);
    assert_int_equal(c.n_bye, 1);
    assert_int_equal(c.bye.action, CONTROL_RESUME);
    rig_disconnect(&c);
    rig_close(&r);

    open_rig(&r, 0);
    wait_until_back(&r, id);
    assert_int_equal(rig_info(&r, id).counts.used, 6);
    rig_connect(&r, &c, id, CONTROL_INGEST);
    send_one(&r, &c, 7); /* its number was not used up */
    rig_wait_acks(&c, 1);
    assert_int_equal(c.acks[0].status, CONTROL_USED);
    rig_disconnect(&c);
    rig_close(&r);
}

TEST_WITH(without_time_what_waits_is_answered_at_least, make_folder, remove_folder)
{
    static struct rig_client c;
    struct session_options o = options(SESSION_LOSSLESS);
    int used = 0, dropped = 0;
    char id[API_ID_CAP];
    struct rig r;

    o.journal = SESSION_JOURNAL_OFF;
    open_slow_rig(&r, 0, 100000);
    rig_session(&r, &o, id);
    rig_connect(&r, &c, id, CONTROL_INGEST);
    for (uint64_t seq = 1; seq <= 8; seq++)
        assert_int_equal(send_one(&r, &c, seq), 0);
    core_drain(r.core);
    core_hasten(r.core);
    read_to_the_end(&c);
    assert_int_equal(c.n_acks, 8);
    for (int i = 0; i < 8; i++) {
        used += c.acks[i].status == CONTROL_USED;
        dropped += c.acks[i].status == CONTROL_DROPPED && c.acks[i].reason == CONTROL_SHUTDOWN;
    }
    assert_int_equal(used + dropped, 8);
    assert_true(dropped >= 4);
    assert_int_equal(c.bye.action, CONTROL_RECONNECT);
    assert_non_null(strstr(c.bye.reason, "journal")); /* it will not be there */
    rig_disconnect(&c);
    rig_close(&r);
}

/* ------------------------------------------------------------------------- coming back */

static void feed_and_stop(char ids[3][API_ID_CAP])
{
    static struct rig_client c;
    struct session_options o = options(SESSION_LOSSLESS);
    struct config config;
    struct rig r;

    store_config(&r, &config, 0, 0);
    rig_open_with(&r, &config);
    for (int i = 0; i < 3; i++) {
        rig_session(&r, &o, ids[i]);
        rig_connect(&r, &c, ids[i], CONTROL_INGEST);
        feed(&r, &c, 1, i < 2 ? LONG : 1);
        rig_disconnect(&c);
    }
    rig_close(&r); /* no drain, so no checkpoint */
}

TEST_WITH(the_session_asked_for_comes_back_first, make_folder, remove_folder)
{
    char ids[3][API_ID_CAP], *first = ids[0], *asked = ids[1], *brief = ids[2];
    struct session_info info;
    struct core_export *e;
    struct config config;
    uint64_t bytes, hash, seq;
    struct err err = {0};
    int retry_s = 0, w, h;
    struct rig r;

    feed_and_stop(ids);
    store_config(&r, &config, 0, 20000);
    rig_load_with(&r, &config);
    assert_int_equal(core_ops.stream_expect(r.core, asked, &retry_s, &err), ERR_BUSY);
    assert_true(retry_s >= 1 && err.text[0]);
    assert_int_equal(core_ops.stream_expect(r.core, "nosuch", &retry_s, NULL), ERR_NOT_FOUND);
    /* all results say the same while it is not whole */
    assert_int_equal(core_ops.depth(r.core, asked, NULL, 0, &w, &h, &seq, NULL), ERR_BUSY);
    assert_int_equal(core_ops.export_open(r.core, asked, "", false, &e, &bytes, &hash, NULL),
                     ERR_BUSY);
    core_set_ready(r.core);
    wait_until_back(&r, asked);
    assert_int_equal(core_ops.stream_expect(r.core, asked, &retry_s, NULL), 0);
    assert_int_equal(rig_info(&r, asked).counts.used, LONG);
    info = rig_info(&r, first); /* older, and not asked for */
    assert_int_equal(info.state, SESSION_RECOVERING);
    assert_true(info.counts.queued >= LONG - 20);
    wait_until_back(&r, brief); /* nothing stands before a short journal but what is asked for */
    assert_int_equal(rig_info(&r, first).state, SESSION_RECOVERING);
    wait_until_back(&r, first);
    assert_int_equal(rig_info(&r, first).counts.used, LONG);
    rig_close(&r);
}
