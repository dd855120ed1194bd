/* A session that is closed goes through its closing rounds before it says so: in a process that
 * nothing happens to, in one that dies meanwhile, in one that has no time, on a device that
 * fails. */
#include "daemon/core_internal.h"
#include "daemon/session/session_ends.h"
#include "daemon/work/frame_end.h"
#include "tests/support/store_rig.h"
#include "tests/support/unit.h"

#define WAITING 12 /* keyframes, in each session */
#define SENT 9     /* frames */

static void close_it(const char *id)
{
    struct err err = {0};

    assert_int_equal(core_ops.session_close(rig.core, id, &err), 0);
}

static struct session_info wait_closed(const char *id)
{
    for (int i = 0; i < 60000 && rig_info(id).state != SESSION_CLOSED; i++)
        usleep(1000);
    assert_int_equal(rig_info(id).state, SESSION_CLOSED);
    return rig_info(id);
}

static void begin(struct rig_client *c, char id[API_ID_CAP], enum session_journal j)
{
    struct session_options o = options(SESSION_LOSSLESS);

    o.journal = j;
    rig_session(&o, id);
    rig_connect(c, id, CONTROL_INGEST);
    feed(c, 1, SENT);
}

/* The session of a process that nothing happened to. */
static struct session_info whole(void)
{
    static struct rig_client c;
    struct session_info before, info;
    char id[API_ID_CAP];

    rig_open();
    atomic_store(&fake_gpu_plan.waiting, WAITING);
    begin(&c, id, SESSION_JOURNAL_OFF);
    before = rig_info(id);
    assert_int_equal(fake_gpu_plan.rounds, 0);
    close_it(id);
    info = wait_closed(id);
    assert_int_equal(fake_gpu_plan.rounds, WAITING);
    assert_int_equal(info.revision, before.revision + WAITING);
    assert_true(info.hash != before.hash);
    assert_int_equal(info.views.keyframes, WAITING);
    assert_int_equal(info.views.refined, WAITING);
    assert_int_equal(info.counts.used, SENT);
    assert_int_equal(info.counts.received, SENT);
    balanced(&info);
    rig_end(&c);
    return info;
}

TEST(rounds_come_before_closed)
{
    static struct rig_client c;
    char id[API_ID_CAP];

    (void)whole();
    rig_open();
    atomic_store(&fake_gpu_plan.waiting, WAITING);
    begin(&c, id, SESSION_JOURNAL_OFF);
    close_it(id);
    while (!c.session_closed)
        rig_read_all(&c);
    assert_int_equal(fake_gpu_plan.rounds, WAITING); /* all of it was sent by then */
    assert_int_equal(cloud_hash(c.cloud), wait_closed(id).hash);
    rig_end(&c);
}

/* A thread that was about to settle it when it was told to close. */
TEST(nothing_closes_it_before_its_rounds)
{
    static struct rig_client c;
    struct session *s;
    char id[API_ID_CAP];

    rig_open();
    atomic_store(&fake_gpu_plan.waiting, WAITING);
    begin(&c, id, SESSION_JOURNAL_OFF);
    s = registry_find(rig.core->registry, id);
    assert_non_null(s);
    session_close(s);
    assert_false(session_settle(s));
    frame_end_settle(s);
    session_unref(s);
    (void)wait_closed(id);
    assert_int_equal(fake_gpu_plan.rounds, WAITING);
    rig_end(&c);
}

TEST(some_sessions_have_none)
{
    static struct rig_client c;
    struct session_options o = rig_options();
    char id[API_ID_CAP];

    rig_open();
    atomic_store(&fake_gpu_plan.waiting, WAITING);
    rig_session(&o, id); /* it had no frame */
    close_it(id);
    (void)wait_closed(id);
    o.views = SESSION_VIEWS_OFF;
    rig_session(&o, id);
    rig_connect(&c, id, CONTROL_INGEST);
    feed(&c, 1, 3);
    close_it(id);
    (void)wait_closed(id);
    assert_int_equal(fake_gpu_plan.rounds, 0);
    rig_end(&c);
}

static int rounds_before_death, checkpoint_frames;

static void close_and_be_killed(int out)
{
    static struct rig_client c;
    char id[API_ID_CAP];

    open_rig(checkpoint_frames);
    atomic_store(&fake_gpu_plan.waiting, WAITING);
    begin(&c, id, SESSION_JOURNAL_SYNC);
    tell_id(out, id);
    if (rounds_before_death < WAITING)
        atomic_store(&fake_gpu_plan.wait_us, 20000);
    close_it(id);
    while (fake_gpu_plan.rounds < rounds_before_death)
        usleep(100);
    if (rounds_before_death >= WAITING) {
        (void)wait_closed(id);
        while (core_unsettled(rig.core))
            usleep(1000);
    }
    raise(SIGKILL);
}

TEST_WITH(a_death_changes_nothing, make_folder, remove_folder)
{
    /* with a checkpoint after each frame the first round comes behind one of all frames */
    static const struct {
        int rounds, checkpoint_frames;
    } deaths[] = {{0, 2}, {1, 2}, {5, 2}, {WAITING, 2}, {WAITING, 1}};
    struct session_info want = whole(), info;
    struct config config;
    char id[API_ID_CAP];

    for (size_t i = 0; i < sizeof deaths / sizeof *deaths; i++) {
        rounds_before_death = deaths[i].rounds;
        checkpoint_frames = deaths[i].checkpoint_frames;
        assert_true(WIFSIGNALED(in_a_child(close_and_be_killed, id)));
        store_config(&config, 2, 0);
        atomic_store(&fake_gpu_plan.waiting, WAITING); /* before rounds of the replay begin */
        rig_open_with(&config);
        wait_until_back(id);
        info = rig_info(id);
        assert_int_equal(info.state, SESSION_CLOSED); /* not before it is whole */
        print_message("# killed after %d rounds: %d more\n", deaths[i].rounds,
                      fake_gpu_plan.rounds);
        if (deaths[i].rounds == WAITING)
            assert_int_equal(fake_gpu_plan.rounds, 0);
        assert_int_equal(info.hash, want.hash);
        assert_int_equal(info.revision, want.revision);
        balanced(&info);
        rig_close();
        assert_int_equal(remove_folder(state), 0);
        assert_int_equal(make_folder(state), 0);
    }
}

TEST(who_has_no_time_does_without)
{
    static struct rig_client c;
    char id[API_ID_CAP];

    rig_open();
    atomic_store(&fake_gpu_plan.waiting, WAITING);
    begin(&c, id, SESSION_JOURNAL_OFF);
    atomic_store(&fake_gpu_plan.hold, true);
    close_it(id);
    while (fake_gpu_plan.busy == 0)
        usleep(100);
    core_hasten(rig.core);
    atomic_store(&fake_gpu_plan.hold, false);
    (void)wait_closed(id);
    assert_true(fake_gpu_plan.rounds <= 2);
    rig_end(&c);
}

TEST(a_round_that_fails_is_the_last)
{
    static struct rig_client c;
    char id[API_ID_CAP];

    rig_open();
    atomic_store(&fake_gpu_plan.waiting, WAITING);
    begin(&c, id, SESSION_JOURNAL_OFF);
    atomic_store(&fake_gpu_plan.fail_with, ERR_INPUT);
    atomic_store(&fake_gpu_plan.fail_at, SENT + 1);
    close_it(id);
    (void)wait_closed(id);
    assert_int_equal(fake_gpu_plan.rounds, 0);
    rig_end(&c);
}

TEST(one_that_is_deleted_ends)
{
    static struct rig_client c;
    char id[API_ID_CAP];
    struct err err = {0};

    rig_open();
    atomic_store(&fake_gpu_plan.waiting, WAITING);
    begin(&c, id, SESSION_JOURNAL_OFF);
    atomic_store(&fake_gpu_plan.hold, true);
    close_it(id);
    while (fake_gpu_plan.busy == 0)
        usleep(100);
    assert_int_equal(core_ops.session_delete(rig.core, id, &err), 0);
    atomic_store(&fake_gpu_plan.hold, false);
    rig_end(&c); /* every session is gone, or this does not end */
    assert_int_equal(fake_gpu_plan.sessions, 0);
    assert_int_equal(fake_gpu_plan.wrong, 0);
}
