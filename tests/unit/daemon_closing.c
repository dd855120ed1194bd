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

static struct rig_client c;

/* Of a core that is open: its session has had its frames, and rounds are due. */
static void join(enum session_journal j)
{
    struct session_options o = options(SESSION_LOSSLESS);

    o.journal = j;
    atomic_store(&fake_gpu_plan.waiting, WAITING);
    rig_join(&c, &o);
    feed(&c, 1, SENT);
}

static void begin(void)
{
    rig_open();
    join(SESSION_JOURNAL_OFF);
}

/* The session of a process that nothing happened to. */
static struct session_info whole(void)
{
    struct session_info before, info;

    begin();
    before = rig_info(c.id);
    assert_int_equal(fake_gpu_plan.rounds, 0);
    close_it(c.id);
    info = wait_closed(c.id);
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
    (void)whole();
    begin();
    close_it(c.id);
    while (!c.session_closed)
        rig_read_all(&c);
    assert_int_equal(fake_gpu_plan.rounds, WAITING); /* all of it was sent by then */
    assert_int_equal(cloud_hash(c.cloud), wait_closed(c.id).hash);
    rig_end(&c);
}

/* A thread that was about to settle it when it was told to close. */
TEST(nothing_closes_it_before_its_rounds)
{
    struct session *s;

    begin();
    s = registry_find(rig.core->registry, c.id);
    assert_non_null(s);
    session_close(s);
    assert_false(session_settle(s));
    frame_end_settle(s);
    session_unref(s);
    (void)wait_closed(c.id);
    assert_int_equal(fake_gpu_plan.rounds, WAITING);
    rig_end(&c);
}

TEST(some_sessions_have_none)
{
    struct session_options o = rig_options();
    char id[API_ID_CAP];

    rig_open();
    atomic_store(&fake_gpu_plan.waiting, WAITING);
    rig_session(&o, id); /* it had no frame */
    close_it(id);
    (void)wait_closed(id);
    o.views = SESSION_VIEWS_OFF;
    rig_join(&c, &o);
    feed(&c, 1, 3);
    close_it(c.id);
    (void)wait_closed(c.id);
    assert_int_equal(fake_gpu_plan.rounds, 0);
    rig_end(&c);
}

static int rounds_before_death, checkpoint_frames;

static void close_and_be_killed(int out)
{
    open_rig(checkpoint_frames);
    join(SESSION_JOURNAL_SYNC);
    tell_id(out, c.id);
    if (rounds_before_death < WAITING)
        atomic_store(&fake_gpu_plan.wait_us, 20000);
    close_it(c.id);
    while (fake_gpu_plan.rounds < rounds_before_death)
        usleep(100);
    if (rounds_before_death >= WAITING) {
        (void)wait_closed(c.id);
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
    begin();
    atomic_store(&fake_gpu_plan.hold, true);
    close_it(c.id);
    while (fake_gpu_plan.busy == 0)
        usleep(100);
    core_hasten(rig.core);
    atomic_store(&fake_gpu_plan.hold, false);
    (void)wait_closed(c.id);
    assert_true(fake_gpu_plan.rounds <= 2);
    rig_end(&c);
}

TEST(a_round_that_fails_is_the_last)
{
    begin();
    atomic_store(&fake_gpu_plan.fail_with, ERR_INPUT);
    atomic_store(&fake_gpu_plan.fail_at, SENT + 1);
    close_it(c.id);
    (void)wait_closed(c.id);
    assert_int_equal(fake_gpu_plan.rounds, 0);
    rig_end(&c);
}

TEST(one_that_is_deleted_ends)
{
    struct err err = {0};

    begin();
    atomic_store(&fake_gpu_plan.hold, true);
    close_it(c.id);
    while (fake_gpu_plan.busy == 0)
        usleep(100);
    assert_int_equal(core_ops.session_delete(rig.core, c.id, &err), 0);
    atomic_store(&fake_gpu_plan.hold, false);
    rig_end(&c); /* every session is gone, or this does not end */
    assert_int_equal(fake_gpu_plan.sessions, 0);
    assert_int_equal(fake_gpu_plan.wrong, 0);
}
