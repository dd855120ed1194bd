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

    open_slow_rig(0, 20000);
    rig_join(&c, &o);
    for (uint64_t seq = 1; seq <= 6; seq++)
        assert_int_equal(send_one(&c, seq), 0);
    core_drain(rig.core);
    send_one(&c, 7); /* crossed the end: its client sends it again */
    read_to_the_end(&c);
    assert_int_equal(c.n_acks, 6);
    for (int i = 0; i < 6; i++)
        assert_int_equal(c.acks[i].status, CONTROL_USED);
    assert_int_equal(c.n_bye, 1);
    assert_int_equal(c.bye.action, CONTROL_RESUME);
    rig_end(&c);

    (void)come_back(0, c.id);
    assert_int_equal(rig_info(c.id).counts.used, 6);
    rig_connect(&c, c.id, CONTROL_INGEST);
    send_one(&c, 7); /* its number was not used up */
    rig_wait_acks(&c, 1);
    assert_int_equal(c.acks[0].status, CONTROL_USED);
    rig_end(&c);
}

TEST_WITH(without_time_what_waits_is_answered_at_least, make_folder, remove_folder)
{
    static struct rig_client c;
    struct session_options o = options(SESSION_LOSSLESS);
    int used = 0, dropped = 0;

    o.journal = SESSION_JOURNAL_OFF;
    open_slow_rig(0, 100000);
    rig_join(&c, &o);
    for (uint64_t seq = 1; seq <= 8; seq++)
        assert_int_equal(send_one(&c, seq), 0);
    core_drain(rig.core);
    core_hasten(rig.core);
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
    rig_end(&c);
}

/* ------------------------------------------------------------------------- coming back */

static void feed_and_stop(char ids[3][API_ID_CAP])
{
    static struct rig_client c;
    struct session_options o = options(SESSION_LOSSLESS);
    struct config config;

    store_config(&config, 0, 0);
    rig_open_with(&config);
    for (int i = 0; i < 3; i++) {
        rig_session(&o, ids[i]);
        rig_connect(&c, ids[i], CONTROL_INGEST);
        feed(&c, 1, i < 2 ? LONG : 1);
        rig_disconnect(&c);
    }
    rig_close(); /* no drain, so no checkpoint */
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

    feed_and_stop(ids);
    store_config(&config, 0, 20000);
    rig_load_with(&config);
    assert_int_equal(core_ops.stream_expect(rig.core, asked, &retry_s, &err), ERR_BUSY);
    assert_true(retry_s >= 1 && err.text[0]);
    assert_int_equal(core_ops.stream_expect(rig.core, "nosuch", &retry_s, NULL), ERR_NOT_FOUND);
    /* all results say the same while it is not whole */
    assert_int_equal(core_ops.depth(rig.core, asked, NULL, 0, &w, &h, &seq, NULL), ERR_BUSY);
    assert_int_equal(core_ops.export_open(rig.core, asked, "", false, &e, &bytes, &hash, NULL),
                     ERR_BUSY);
    core_set_ready(rig.core);
    wait_until_back(asked);
    assert_int_equal(core_ops.stream_expect(rig.core, asked, &retry_s, NULL), 0);
    assert_int_equal(rig_info(asked).counts.used, LONG);
    info = rig_info(first); /* older, and not asked for */
    assert_int_equal(info.state, SESSION_RECOVERING);
    assert_true(info.counts.queued >= LONG - 20);
    wait_until_back(brief); /* nothing stands before a short journal but what is asked for */
    assert_int_equal(rig_info(first).state, SESSION_RECOVERING);
    wait_until_back(first);
    assert_int_equal(rig_info(first).counts.used, LONG);
    rig_close();
}
