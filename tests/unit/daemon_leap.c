/* A pose that leaps: in sessions without ties what was seen before is no neighbour of what comes
 * behind, though the world is the same; with ties another world begins. A restart between two
 * frames changes nothing of that, whether checkpoint or journal has what was before it. */
#include "tests/support/store_rig.h"

#define LEAP_AT 6
#define STEPS 12

/* One walk, and what is expected of it; a child reads it, too. */
static struct {
    enum session_ties ties;
    uint32_t breaks, submap; /* of the frames behind the leap */
    bool broken;             /* the frame that leaps is no JPEG: it is refused behind the journal */
    int restart_at; /* the frame before which a process ends and the next begins; 0 = none */
} plan;

/* Two centimetres a frame, and 0.6 m besides from frame LEAP_AT on. */
static void step(struct rig_client *c, int i)
{
    const struct fake_seen *seen = &fake_gpu_plan.seen;
    bool behind = i >= LEAP_AT, broken = plan.broken && i == LEAP_AT;
    struct frame f = rig_frame((uint64_t)i);
    uint8_t no_jpeg[64];
    int had = c->n_acks;

    f.T_wc.t[0] = 0.02f * (float)i + (behind ? 0.6f : 0.0f);
    if (broken) {
        memset(no_jpeg, 7, sizeof no_jpeg);
        f.payload = no_jpeg;
        f.payload_len = sizeof no_jpeg;
    }
    assert_int_equal(rig_ask(c, &f, had + 1), 0);
    assert_int_equal(c->acks[had].status, broken ? CONTROL_REFUSED : CONTROL_USED);
    if (broken)
        return;
    assert_int_equal(seen->breaks, behind ? plan.breaks : 0);
    assert_int_equal(seen->submap, behind ? plan.submap : 0);
}

static void walk(const char *id, int first, int last)
{
    static struct rig_client c;

    rig_connect(&c, id, CONTROL_INGEST);
    for (int i = first; i <= last; i++)
        step(&c, i);
    rig_disconnect(&c);
}

static void begin(char id[API_ID_CAP])
{
    struct session_options o = options(SESSION_LOSSLESS);

    o.ties = plan.ties;
    open_rig(checkpoint_every);
    rig_session(&o, id);
    walk(id, 1, plan.restart_at ? plan.restart_at - 1 : STEPS);
}

static void go_on(const char *id, int replayed)
{
    (void)come_back(checkpoint_every, id);
    if (replayed >= 0)
        assert_int_equal(fake_gpu_plan.frames, replayed);
    walk(id, plan.restart_at, STEPS);
    rig_close();
}

static void begin_and_be_killed(int out)
{
    char id[API_ID_CAP];

    begin(id);
    tell_id(out, id);
    raise(SIGKILL);
}

static void stop(int restart_at)
{
    char id[API_ID_CAP];

    plan.restart_at = restart_at;
    begin(id);
    core_drain(rig.core);
    settle();
    rig_close();
    if (restart_at) /* from the checkpoint that a stop leaves */
        go_on(id, 0);
}

static void be_killed(int restart_at, int every)
{
    char id[API_ID_CAP];

    plan.restart_at = restart_at;
    checkpoint_every = every;
    assert_true(WIFSIGNALED(in_a_child(begin_and_be_killed, id)));
    go_on(id, every ? -1 : restart_at - 1 - plan.broken);
}

/* ------------------------------------------------------------------------- tests */

static int break_without_ties(void **state)
{
    memset(&plan, 0, sizeof plan);
    checkpoint_every = 0;
    plan.ties = SESSION_TIES_OFF;
    plan.breaks = 1;
    return make_folder(state);
}

static int world_with_ties(void **state)
{
    memset(&plan, 0, sizeof plan);
    checkpoint_every = 0;
    plan.ties = SESSION_TIES_ON;
    plan.submap = 1;
    return make_folder(state);
}

static void in_one_process(void **state)
{
    (void)state;
    stop(0);
}

static void across_a_stop(void **state)
{
    (void)state;
    stop(LEAP_AT);
}

static void behind_a_stop(void **state)
{
    (void)state;
    stop(LEAP_AT + 1);
}

static void across_a_kill(void **state)
{
    (void)state;
    be_killed(LEAP_AT, 0);
}

static void across_a_kill_behind_a_checkpoint(void **state)
{
    (void)state;
    be_killed(LEAP_AT, 3);
}

static void by_a_refused_frame_before_a_kill(void **state)
{
    (void)state;
    plan.broken = true;
    be_killed(LEAP_AT + 1, 0);
}

static void by_a_refused_frame_before_a_stop(void **state)
{
    (void)state;
    plan.broken = true;
    stop(LEAP_AT + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(in_one_process, break_without_ties, remove_folder),
        cmocka_unit_test_setup_teardown(across_a_stop, break_without_ties, remove_folder),
        cmocka_unit_test_setup_teardown(behind_a_stop, break_without_ties, remove_folder),
        cmocka_unit_test_setup_teardown(across_a_kill, break_without_ties, remove_folder),
        cmocka_unit_test_setup_teardown(across_a_kill_behind_a_checkpoint, break_without_ties,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(by_a_refused_frame_before_a_kill, break_without_ties,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(by_a_refused_frame_before_a_stop, break_without_ties,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(in_one_process, world_with_ties, remove_folder),
        cmocka_unit_test_setup_teardown(across_a_stop, world_with_ties, remove_folder),
        cmocka_unit_test_setup_teardown(across_a_kill, world_with_ties, remove_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
