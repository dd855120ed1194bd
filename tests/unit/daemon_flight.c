/* Two batches on a device at once: overlap, order, waiting for company, frames that are left
 * behind, faults in flight, and the end of a session that is in the air. */
#include "tests/support/bound.h"
#include "tests/support/core_rig.h"
#include "tests/support/unit.h"

#include "daemon/config_table.h"

#define SESSIONS 6

struct fleet {
    struct rig_client c[SESSIONS];
    char id[SESSIONS][API_ID_CAP];
    int n;
};

static struct fleet f;

static void fleet_open_with(int n, const char *key, const char *value)
{
    struct config_key k;
    struct session_options o = rig_options();
    struct config config;

    rig_prepare(&config);
    assert_true(config_table_find(&k, "device", key, &(const char *){NULL}));
    assert_int_equal(config_table_set(&config, &k, value, NULL), 0);
    rig_open_with(&config);
    f.n = n;
    for (int i = 0; i < n; i++) {
        rig_session(&o, f.id[i]);
        rig_connect(&f.c[i], f.id[i], CONTROL_INGEST);
    }
}

static void fleet_close(void)
{
    for (int i = 0; i < f.n; i++)
        rig_disconnect(&f.c[i]);
    rig_close();
}

/* One frame of each. */
static void fleet_send(uint64_t seq)
{
    for (int i = 0; i < f.n; i++)
        assert_int_equal(rig_send(&f.c[i], seq), 0);
}

static void fleet_wait(int n)
{
    for (int i = 0; i < f.n; i++)
        rig_wait_acks(&f.c[i], n);
}

/* At most so many of the client's frames are unanswered. */
static void keep_up(struct rig_client *c, int sent, int unanswered)
{
    for (int i = 0; i < 120000 && c->n_acks < sent - unanswered; i++) {
        rig_read_all(c);
        usleep(500);
    }
    assert_true(c->n_acks >= sent - unanswered);
}

/* Busy sessions fill both flights; frames of one stay in order, and its cloud is what it would be
 * alone. The fake counts a session that flies twice. */
TEST(a_batch_is_enqueued_while_one_computes)
{
    uint64_t hash;

    fleet_open_with(1, "batch", "2");
    rig_feed(&f.c[0], 1, 20);
    hash = rig_info(f.id[0]).hash;
    fleet_close();
    fleet_open_with(SESSIONS, "batch", "2");
    fake_gpu_plan.wait_us = 3000;
    for (uint64_t seq = 1; seq <= 20; seq++) {
        fleet_send(seq);
        for (int i = 0; i < SESSIONS; i++)
            keep_up(&f.c[i], (int)seq, 3);
    }
    for (int i = 0; i < SESSIONS; i++) {
        rig_wait_acks(&f.c[i], 20);
        for (int k = 0; k < 20; k++) {
            assert_int_equal(f.c[i].acks[k].status, CONTROL_USED);
            assert_int_equal(f.c[i].acks[k].seq, k + 1);
        }
        assert_true(rig_info(f.id[i]).hash == hash);
    }
    assert_int_equal(fake_gpu_plan.most_flights, GPU_BATCHES);
    assert_true(fake_gpu_plan.overlapped > 10);
    assert_int_equal(fake_gpu_plan.largest_batch, 2);
    fleet_close();
}

/* A frame that comes while a batch computes is enqueued before that is done, not after it, and
 * another may join it until then. The second part depends on time: the test thread may be late, but
 * not in every attempt. */
TEST(a_late_frame_need_not_wait_for_the_device)
{
    bool joined = false;

    fleet_open_with(3, "batch", "4");
    for (int i = 1; i < 3; i++) { /* their device state is there */
        rig_feed(&f.c[i], 1, 1);
    }
    fake_gpu_plan.wait_us = 100000;
    for (uint64_t seq = 1; seq <= 8; seq++) { /* the worker learns how long a batch takes */
        assert_int_equal(rig_step(&f.c[0], seq, (int)seq), 0);
    }
    for (uint64_t k = 0; k < 20 && !joined; k++) {
        int batches = fake_gpu_plan.batches, overlapped = fake_gpu_plan.overlapped;

        fake_gpu_plan.hold = true;
        assert_int_equal(rig_send(&f.c[0], 9 + k), 0);
        rig_wait_count(&fake_gpu_plan.batches, batches + 1);
        for (int i = 1; i < 3; i++)
            assert_int_equal(rig_send(&f.c[i], 2 + k), 0);
        for (int i = 0; i < 120000 && fake_gpu_plan.overlapped == overlapped; i++)
            usleep(500);
        assert_int_equal(fake_gpu_plan.overlapped, overlapped + 1); /* the first is not done */
        fake_gpu_plan.hold = false;
        rig_wait_acks(&f.c[0], (int)(9 + k));
        for (int i = 1; i < 3; i++)
            rig_wait_acks(&f.c[i], (int)(2 + k));
        joined = fake_gpu_plan.largest_batch == 2;
    }
    assert_true(joined);
    fleet_close();
}

/* A batch that took far longer than others do holds up the answers of no more than a few: the
 * worker would wait with a frame for others as long as it thinks that the device has work. */
TEST(one_slow_batch_is_forgotten)
{
    uint64_t start_us = 0;

    fleet_open_with(1, "batch", "4");
    fake_gpu_plan.wait_us = 2000;
    for (uint64_t seq = 1; seq <= 20; seq++) {
        if (seq == 10)
            fake_gpu_plan.wait_us = 700000;
        assert_int_equal(rig_step(&f.c[0], seq, (int)seq), 0);
        if (seq == 10)
            start_us = clock_us();
        fake_gpu_plan.wait_us = 2000;
    }
    assert_true(bound_at_most("ten frames after a slow one", (double)(clock_us() - start_us) * 1e-3,
                              400, "ms"));
    fleet_close();
}

/* A back end that computes while it enqueues has its results out before the next batch begins. */
TEST(a_back_end_that_is_done_at_once_is_not_kept)
{
    fleet_open_with(4, "batch", "1");
    fake_gpu_plan.delay_us = 2000;
    for (uint64_t seq = 1; seq <= 10; seq++)
        fleet_send(seq);
    fleet_wait(10);
    assert_int_equal(fake_gpu_plan.overlapped, 0);
    fleet_close();
}

TEST(the_device_fails_with_two_batches_under_way)
{
    char why[API_TEXT_CAP];
    int faults = 0;

    fleet_open_with(SESSIONS, "batch", "2");
    fake_gpu_plan.wait_us = 5000;
    fake_gpu_plan.fail_with = ERR_DEVICE;
    fake_gpu_plan.fail_wait = 3;
    for (uint64_t seq = 1; seq <= 3; seq++)
        fleet_send(seq);
    for (int i = 0; i < SESSIONS; i++) {
        rig_wait_acks(&f.c[i], 3); /* every frame has its answer */
        for (int k = 0; k < 3; k++)
            faults += f.c[i].acks[k].reason == CONTROL_FAULT;
        assert_true(f.c[i].sync.hash == rig_info(f.id[i]).hash); /* what was used stays */
    }
    assert_in_range(faults, 3 * SESSIONS - 2 * 2 * 2, 3 * SESSIONS - 2);
    assert_true(core_lost(rig.core)); /* main ends the process with 70 */
    assert_int_equal(core_ops.health(rig.core, why), API_FAULT);
    fleet_close();
}

/* A batch that fails with its context whole costs its frames; the one beside it arrives. */
TEST(one_of_two_batches_fails)
{
    int used = 0, failed = 0;

    fleet_open_with(4, "batch", "2");
    fake_gpu_plan.wait_us = 5000;
    fake_gpu_plan.fail_with = ERR_MEMORY;
    fake_gpu_plan.fail_wait = 2;
    for (uint64_t seq = 1; seq <= 3; seq++)
        fleet_send(seq);
    for (int i = 0; i < 4; i++) {
        rig_wait_acks(&f.c[i], 3);
        for (int k = 0; k < 3; k++) {
            used += f.c[i].acks[k].status == CONTROL_USED;
            failed += f.c[i].acks[k].reason == CONTROL_MEMORY;
        }
    }
    assert_in_range(failed, 1, 2);
    assert_int_equal(used + failed, 12);
    assert_false(core_lost(rig.core));
    fleet_close();
}

/* A batch of three costs many times what one of two does. */
static void three_do_not_pay(void)
{
    fake_gpu_plan.size_us[0] = 1500;
    fake_gpu_plan.size_us[1] = 2000;
    fake_gpu_plan.size_us[2] = 30000;
}

TEST(those_left_behind_fly_next)
{
    int batches = 0;

    fleet_open_with(3, "batch_wait_us", "10000"); /* all three board */
    for (uint64_t seq = 1; seq <= 60; seq++) {
        if (seq == 2)
            three_do_not_pay();
        if (seq == 40)
            batches = fake_gpu_plan.batches;
        fleet_send(seq);
        fleet_wait((int)seq);
    }
    for (int i = 0; i < 3; i++) {
        rig_wait_acks(&f.c[i], 60);
        for (int k = 0; k < 60; k++) {
            assert_int_equal(f.c[i].acks[k].status, CONTROL_USED);
            assert_int_equal(f.c[i].acks[k].seq, k + 1);
        }
        assert_true(rig_info(f.id[i]).hash == rig_info(f.id[0]).hash);
    }
    batches = fake_gpu_plan.batches - batches;
    print_message("# 63 frames in %d batches\n", batches);
    assert_true(batches >= 32); /* by threes it is 21; one is tried again now and then */
    fleet_close();
}

/* Deleted, closed and stopped while on the device, or left behind: the fake counts a session
 * that is freed in flight, and a device that is closed with work on it. */
TEST(sessions_end_in_the_air)
{
    for (int round = 0; round < 24; round++) {
        fleet_open_with(SESSIONS, "batch", round % 2 ? "3" : "2");
        fake_gpu_plan.wait_us = 2000;
        if (round % 2)
            three_do_not_pay();
        for (uint64_t seq = 1; seq <= 8; seq++) {
            fleet_send(seq);
            for (int i = 0; i < f.n; i++)
                keep_up(&f.c[i], (int)seq, 2);
        }
        usleep((useconds_t)(round * 250));
        assert_int_equal(core_ops.session_delete(rig.core, f.id[0], NULL), 0);
        assert_int_equal(core_ops.session_close(rig.core, f.id[1], NULL), 0);
        if (round % 3 == 0)
            core_stop(rig.core);
        fleet_close();
    }
}

/* The device fails while frames are left behind: these are answered, too. */
TEST(the_device_fails_with_some_left_behind)
{
    for (int round = 0; round < 8; round++) {
        fleet_open_with(3, "batch", "4");
        three_do_not_pay();
        fake_gpu_plan.fail_with = ERR_DEVICE;
        fake_gpu_plan.fail_wait = 16 + round;
        for (uint64_t seq = 1; seq <= 20; seq++) {
            fleet_send(seq);
            for (int i = 0; i < 3; i++)
                keep_up(&f.c[i], (int)seq, 2);
        }
        for (int i = 0; i < 3; i++) {
            rig_wait_acks(&f.c[i], 20);
            assert_int_equal(f.c[i].acks[19].reason, CONTROL_FAULT);
        }
        assert_true(core_lost(rig.core));
        fleet_close();
    }
}

/* The device state of a session takes its time to make: frames of others are used meanwhile, and
 * its own wait for it. */
TEST(making_a_session_holds_up_nobody)
{
    uint64_t worst_us = 0;

    fleet_open_with(2, "batch", "2");
    rig_feed(&f.c[0], 1, 1);
    fake_gpu_plan.hold_make = true;
    for (uint64_t seq = 1; seq <= 3; seq++)
        assert_int_equal(rig_send(&f.c[1], seq), 0);
    for (uint64_t seq = 2; seq <= 100; seq++) {
        uint64_t sent_us = clock_us();
        assert_int_equal(rig_step(&f.c[0], seq, (int)seq), 0);
        worst_us = clock_us() - sent_us > worst_us ? clock_us() - sent_us : worst_us;
    }
    assert_true(bound_at_most("the slowest of 99 frames", (double)worst_us * 1e-3, 250, "ms"));
    fake_gpu_plan.hold_make = false;
    rig_wait_acks(&f.c[1], 3);
    for (int k = 0; k < 3; k++) {
        assert_int_equal(f.c[1].acks[k].status, CONTROL_USED);
        assert_int_equal(f.c[1].acks[k].seq, k + 1);
    }
    fleet_close();
}

/* A session is deleted, and the core stopped, while its device state is being made. */
TEST(a_session_ends_while_it_is_made)
{
    for (int round = 0; round < 4; round++) {
        fleet_open_with(4, "batch", "2");
        fake_gpu_plan.make_us = 30000;
        fleet_send(1);
        usleep(20000);
        assert_int_equal(core_ops.session_delete(rig.core, f.id[0], NULL), 0);
        assert_int_equal(core_ops.session_delete(rig.core, f.id[3], NULL), 0);
        if (round % 2)
            core_stop(rig.core);
        fleet_close(); /* counts what was not given back */
    }
}

/* The context is found lost when a session is made. */
TEST(the_device_fails_where_sessions_are_made)
{
    fleet_open_with(2, "batch", "2");
    rig_feed(&f.c[0], 1, 1);
    fake_gpu_plan.session_fails = ERR_DEVICE;
    rig_feed(&f.c[1], 1, 1);
    assert_int_equal(f.c[1].acks[0].reason, CONTROL_FAULT);
    assert_true(core_lost(rig.core));
    fleet_close();
}

/* -------------------------------------------------------------------- company */

struct entries {
    struct turn *t;
    struct turn_entry e[3];
};

#define HOUR_US 3600000000u

static uint64_t timed_take_of(struct entries *x, int *n, uint64_t timeout_us, bool anybody)
{
    struct turn_entry *got[3];
    uint64_t start_us = clock_us();

    *n = turn_take_more(x->t, got, 3, timeout_us, anybody);
    return clock_us() - start_us;
}

static uint64_t timed_take(struct entries *x, int *n, uint64_t timeout_us)
{
    return timed_take_of(x, n, timeout_us, false);
}

/* Returns how many came; a call that waited for more than what happens here would take an hour. */
static int take_at_once(struct entries *x)
{
    int n;

    timed_take(x, &n, HOUR_US);
    return n;
}

static void *announce_soon(void *arg)
{
    struct entries *x = arg;

    usleep(20000);
    turn_kick(x->t, &x->e[1]);
    turn_due(x->t, &x->e[1], false);
    return NULL;
}

static void *give_up_soon(void *arg)
{
    struct entries *x = arg;

    usleep(20000);
    turn_due(x->t, &x->e[1], false);
    return NULL;
}

static void *finish_soon(void *arg)
{
    struct entries *x = arg;

    usleep(20000);
    turn_done(x->t, &x->e[1], false);
    return NULL;
}

/* One that has been served but for its last steps, and has more work, is company, too; not before
 * that, and not where company costs what it saves. */
TEST(company_may_be_at_its_last_steps)
{
    struct entries x = {.t = NULL};
    struct turn_entry *got[2];
    pthread_t thread;
    int n;

    assert_int_equal(turn_new(&x.t, NULL), 0);
    turn_kick(x.t, &x.e[0]);
    turn_kick(x.t, &x.e[1]);
    assert_int_equal(turn_take(x.t, got, 2, 0), 2);
    assert_false(turn_kick(x.t, &x.e[1])); /* it has more, but is in the middle of it */
    assert_int_equal(take_at_once(&x), 0);
    turn_charge(x.t, &x.e[1], 1000);
    assert_true(timed_take(&x, &n, 30000) >= 30000 && n == 0);
    turn_set_apart(x.t, true);
    assert_int_equal(take_at_once(&x), 0);
    turn_set_apart(x.t, false);
    turn_charge(x.t, &x.e[0], 1000); /* this one has no more: it is not counted */
    assert_int_equal(pthread_create(&thread, NULL, finish_soon, &x), 0);
    assert_int_equal(take_at_once(&x), 1);
    pthread_join(thread, NULL);
    assert_int_equal(take_at_once(&x), 0); /* it is being served again */
    assert_true(turn_done(x.t, &x.e[0], false));
    assert_true(turn_done(x.t, &x.e[1], false));
    turn_free(&x.t);
}

static void *come_unannounced(void *arg)
{
    struct entries *x = arg;

    usleep(20000);
    turn_kick(x->t, &x->e[1]);
    return NULL;
}

/* Where waiting costs nothing, any entry that comes is company. */
TEST(anybody_may_be_waited_for)
{
    struct entries x = {.t = NULL};
    struct turn_entry *got;
    pthread_t thread;
    int n;

    assert_int_equal(turn_new(&x.t, NULL), 0);
    turn_kick(x.t, &x.e[0]);
    assert_int_equal(turn_take(x.t, &got, 1, 0), 1);
    assert_true(timed_take_of(&x, &n, 30000, true) >= 30000 && n == 0);
    assert_int_equal(pthread_create(&thread, NULL, come_unannounced, &x), 0);
    timed_take_of(&x, &n, HOUR_US, true);
    assert_int_equal(n, 1);
    pthread_join(thread, NULL);
    turn_close(x.t);
    timed_take_of(&x, &n, HOUR_US, true);
    assert_int_equal(n, 0);
    turn_free(&x.t);
}

TEST(company_is_waited_for_only_if_it_is_due)
{
    struct entries x = {.t = NULL};
    struct turn_entry *got;
    pthread_t thread;
    int n;

    assert_int_equal(turn_new(&x.t, NULL), 0);
    turn_kick(x.t, &x.e[0]);
    assert_int_equal(turn_take(x.t, &got, 1, 0), 1);
    assert_int_equal(take_at_once(&x), 0); /* none is due */
    turn_due(x.t, &x.e[0], true);          /* its own next frame cannot come along */
    assert_int_equal(take_at_once(&x), 0);
    turn_due(x.t, &x.e[1], true);
    assert_true(timed_take(&x, &n, 30000) >= 30000 && n == 0); /* the bound */
    assert_int_equal(pthread_create(&thread, NULL, announce_soon, &x), 0);
    assert_int_equal(take_at_once(&x), 1);
    pthread_join(thread, NULL);
    assert_true(turn_done(x.t, &x.e[1], false));
    turn_due(x.t, &x.e[1], true);
    assert_int_equal(pthread_create(&thread, NULL, give_up_soon, &x), 0);
    assert_int_equal(take_at_once(&x), 0); /* it comes to nothing */
    pthread_join(thread, NULL);
    turn_kick(x.t, &x.e[1]);
    turn_kick(x.t, &x.e[2]);
    assert_true(timed_take(&x, &n, 0) < HOUR_US && n == 2); /* those that are there anyway */
    assert_true(turn_done(x.t, &x.e[0], false)); /* due and idle again: it may be waited for */
    assert_true(timed_take(&x, &n, 10000) >= 10000 && n == 0);
    turn_close(x.t);
    assert_int_equal(take_at_once(&x), 0);
    turn_free(&x.t);
}

/* Frames of four cameras that come together make few batches when there is time to wait. */
static int batches_of(const char *wait_us)
{
    int batches;

    fleet_open_with(4, "batch_wait_us", wait_us);
    fleet_send(1);
    fleet_wait(1);
    batches = fake_gpu_plan.batches;
    for (uint64_t seq = 2; seq <= 21; seq++) {
        fleet_send(seq);
        fleet_wait((int)seq);
    }
    batches = fake_gpu_plan.batches - batches;
    fleet_close();
    return batches;
}

/* A machine with other work may spoil one attempt, not all. */
TEST(waiting_makes_batches_larger)
{
    int with = 1, without = 0;

    for (int i = 0; i < 5 && with >= without; i++) {
        with = batches_of("10000");
        without = batches_of("0");
        print_message("# 80 frames in %d batches, without waiting %d\n", with, without);
    }
    assert_true(with < without);
}
