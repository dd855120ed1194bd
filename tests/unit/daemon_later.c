/* The pool of slow work: order, fair shares, bounds, ends; and one long slice keeps nothing else
 * waiting. */
#include "daemon/clock.h"
#include "daemon/work/later.h"
#include "tests/support/unit.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MANY 40

static struct later *later;

/* While it is set, a thread's clock stands still but for what slices add. */
static atomic_bool virtual_time;
static _Thread_local uint64_t thread_us;

int clock_gettime(clockid_t id, struct timespec *t)
{
    if (id != CLOCK_MONOTONIC || !atomic_load(&virtual_time))
        return (int)syscall(SYS_clock_gettime, id, t);
    t->tv_sec = (time_t)(1 + thread_us / 1000000);
    t->tv_nsec = (long)(thread_us % 1000000) * 1000;
    return 0;
}

/* A task whose slices take what the test says, and that looks at what must hold. */
struct slow {
    struct later_task *task;
    atomic_int left, running, ran, held, abandoned, ends;
    atomic_bool wait; /* a slice does not end before it is false */
    int slice_us;
    int seen[MANY];      /* what `ran` was at each slice */
    struct slow *rival;  /* NULL, or one whose slices are counted */
    int rival_ran[MANY]; /* at each slice */
};

static atomic_int at_work, most_at_work, broken;

static bool run(void *ctx, void *room)
{
    struct slow *s = ctx;
    int n = atomic_fetch_add(&at_work, 1) + 1, most = atomic_load(&most_at_work);

    atomic_fetch_add(&broken, atomic_fetch_add(&s->running, 1) != 0); /* one thread at a time */
    atomic_fetch_add(&broken, getpriority(PRIO_PROCESS, 0) != 10);
    while (n > most && !atomic_compare_exchange_weak(&most_at_work, &most, n))
        ;
    memset(room, n, LATER_ROOM_BYTES); /* it is this thread's alone */
    while (atomic_load(&s->wait))
        usleep(200);
    thread_us += (uint64_t)s->slice_us;
    if (!atomic_load(&virtual_time))
        usleep((useconds_t)s->slice_us);
    n = atomic_fetch_add(&s->ran, 1);
    if (n < MANY) {
        s->seen[n] = n;
        s->rival_ran[n] = s->rival ? atomic_load(&s->rival->ran) : 0;
    }
    atomic_fetch_sub(&s->running, 1);
    atomic_fetch_sub(&at_work, 1);
    return atomic_fetch_sub(&s->left, 1) > 1;
}

static void abandon(void *ctx)
{
    atomic_fetch_add(&((struct slow *)ctx)->abandoned, 1);
}

static void hold(void *ctx)
{
    atomic_fetch_add(&((struct slow *)ctx)->held, 1);
}

static void let_go(void *ctx)
{
    struct slow *s = ctx;

    atomic_fetch_sub(&s->held, 1);
    atomic_fetch_add(&s->ends, 1);
}

static const struct later_kind plain = {"slices", run, abandon, hold, let_go, .patience_s = 0};
static const struct later_kind lasting = {
    "long slices", run, abandon, hold, let_go, 4, 2, .is_long = true, .patience_s = 600};

static int open_pool(void **state)
{
    (void)state;
    atomic_store(&most_at_work, 0);
    return later_start(&later, NULL);
}

static int close_pool(void **state)
{
    (void)state;
    later_close(&later);
    return atomic_load(&broken);
}

static void slow_new(struct slow *s, const struct later_kind *kind, const char *owner, int slices)
{
    memset(s, 0, sizeof(*s));
    atomic_store(&s->left, slices);
    assert_int_equal(later_new(later, &s->task, kind, s, owner, NULL), 0);
}

static void wait_for(atomic_int *count, int n)
{
    while (atomic_load(count) < n)
        usleep(200);
}

TEST_WITH(slices_follow_each_other, open_pool, close_pool)
{
    static struct slow s[8];

    for (int i = 0; i < 8; i++) {
        slow_new(&s[i], &plain, NULL, MANY);
        s[i].slice_us = 50;
        later_kick(s[i].task);
    }
    for (int i = 0; i < 8; i++) {
        later_settle(s[i].task);
        assert_int_equal(s[i].ran, MANY);
        for (int k = 0; k < MANY; k++)
            assert_int_equal(s[i].seen[k], k);
        later_free(&s[i].task);
        assert_null(s[i].task);
        assert_true(s[i].held == 0 && s[i].ends == 1 && s[i].abandoned == 0);
    }
    assert_true(most_at_work <= LATER_THREADS);
}

/* Work that is announced while a slice runs is not lost, and runs behind it. */
TEST_WITH(kicked_while_it_runs, open_pool, close_pool)
{
    static struct slow s;

    slow_new(&s, &plain, NULL, 1);
    atomic_store(&s.wait, true);
    later_kick(s.task);
    wait_for(&s.running, 1);
    for (int i = 0; i < 5; i++)
        later_kick(s.task);
    atomic_store(&s.wait, false);
    later_settle(s.task);
    assert_int_equal(s.ran, 2);
    assert_int_equal(s.held, 0);
    later_free(&s.task);
}

/* Ones with slices ten times as long, which came first and never end, get as much time, so a tenth
 * of the slices. One thread serves them, so that their order is always the same. */
TEST_WITH(time_is_shared, open_pool, close_pool)
{
    static const struct later_kind kind = {"long slices", run,    abandon,
                                           hold,          let_go, .is_long = true};
    static struct slow heavy[4], light;

    atomic_store(&virtual_time, true);
    for (int i = 0; i < 4; i++) {
        slow_new(&heavy[i], &kind, NULL, 1 << 30);
        heavy[i].slice_us = 10000;
        later_kick(heavy[i].task);
    }
    for (int i = 0; i < 4; i++)
        wait_for(&heavy[i].ran, 2);
    slow_new(&light, &kind, NULL, MANY);
    light.slice_us = 1000;
    light.rival = &heavy[2];
    later_kick(light.task);
    later_settle(light.task);
    assert_in_range(light.rival_ran[MANY - 1] - light.rival_ran[0], MANY / 10 - 1, MANY / 10 + 1);
    for (int i = 0; i < 4; i++) {
        later_free(&heavy[i].task);
        assert_int_equal(heavy[i].abandoned, 1);
    }
    later_free(&light.task);
    atomic_store(&virtual_time, false);
}

/* Half of the places are one owner's; what is freed makes room. */
TEST_WITH(places_are_bounded, open_pool, close_pool)
{
    static struct slow s[4], more;
    struct err err = {0};

    for (int i = 0; i < 4; i++) {
        slow_new(&s[i], &lasting, i < 2 ? "one" : "two", 1);
        if (i == 1)
            assert_int_equal(later_new(later, &more.task, &lasting, &more, "one", &err), ERR_BUSY);
    }
    assert_string_equal(err.text, "other long slices are being worked on");
    assert_int_equal(later_new(later, &more.task, &lasting, &more, "three", NULL), ERR_BUSY);
    slow_new(&more, &plain, "one", 1); /* another kind has places of its own */
    later_free(&more.task);
    later_free(&s[3].task);
    slow_new(&s[3], &lasting, "three", 1);
    for (int i = 0; i < 4; i++)
        later_free(&s[i].task);
}

/* While a long slice lasts, and others of its kind wait, the rest goes on. */
TEST_WITH(a_long_slice_delays_no_other_task, open_pool, close_pool)
{
    static struct slow s[3], others[MANY];

    for (int i = 0; i < 3; i++) {
        slow_new(&s[i], &lasting, i < 2 ? "one" : "two", 2);
        atomic_store(&s[i].wait, true);
        later_kick(s[i].task);
    }
    wait_for(&at_work, 1);
    for (int i = 0; i < MANY; i++) {
        slow_new(&others[i], &plain, NULL, 3);
        later_kick(others[i].task);
    }
    for (int i = 0; i < MANY; i++) {
        later_settle(others[i].task);
        later_free(&others[i].task);
    }
    assert_int_equal(s[0].running + s[1].running + s[2].running, 1);
    assert_int_equal(s[0].ran + s[1].ran + s[2].ran, 0);
    for (int i = 0; i < 3; i++)
        atomic_store(&s[i].wait, false);
    for (int i = 0; i < 3; i++) {
        later_settle(s[i].task);
        assert_int_equal(s[i].ran, 2);
        later_free(&s[i].task);
    }
}

/* A free waits for the slice that runs, and no other follows; one that waits does not run at
 * all. */
TEST_WITH(freed_while_it_runs, open_pool, close_pool)
{
    static struct slow runs, waits;

    slow_new(&runs, &lasting, "one", 1 << 30);
    slow_new(&waits, &lasting, "one", 1);
    runs.slice_us = 20000;
    later_kick(runs.task);
    wait_for(&runs.running, 1);
    later_kick(waits.task);
    later_free(&runs.task);
    assert_true(runs.running == 0 && runs.held == 0 && runs.abandoned == 1 && runs.ends == 1);
    later_settle(waits.task);
    later_free(&waits.task);
    assert_true(waits.ran == 1 && waits.abandoned == 0);
}

static void *free_it(void *arg)
{
    later_free(&((struct slow *)arg)->task);
    return NULL;
}

/* Whether the free or the slice comes first is not ours to say, so it is tried again. */
TEST_WITH(freed_while_it_waits, open_pool, close_pool)
{
    static struct slow runs, waits;
    pthread_t thread;
    int tries = 0;

    do {
        slow_new(&runs, &lasting, "one", 1);
        slow_new(&waits, &lasting, "one", 1);
        atomic_store(&runs.wait, true);
        later_kick(runs.task);
        wait_for(&runs.running, 1);
        later_kick(waits.task);
        assert_int_equal(pthread_create(&thread, NULL, free_it, &waits), 0);
        usleep(10000);
        atomic_store(&runs.wait, false);
        pthread_join(thread, NULL);
        assert_true(waits.ran + waits.abandoned == 1 && waits.held == 0);
        later_free(&runs.task);
        assert_int_equal(runs.ran, 1);
    } while (waits.ran && tries++ < 100);
    assert_int_equal(waits.abandoned, 1);
}

/* What runs ends its slice, everything else is abandoned: listed, cancelled, new. */
TEST_WITH(a_stop_abandons_what_waits, open_pool, close_pool)
{
    static struct slow s[4], plains[2 * LATER_THREADS];
    struct slow late;

    for (int i = 0; i < 4; i++) {
        slow_new(&s[i], &lasting, i < 2 ? "one" : "two", 1 << 30);
        s[i].slice_us = 20000;
        later_kick(s[i].task);
    }
    for (int i = 0; i < 2 * LATER_THREADS; i++) {
        slow_new(&plains[i], &plain, NULL, 1 << 30);
        plains[i].slice_us = 5000;
        later_kick(plains[i].task);
    }
    slow_new(&late, &plain, NULL, 1);
    wait_for(&at_work, LATER_THREADS);
    later_stop(later);
    later_kick(late.task);
    assert_true(late.abandoned == 1 && late.ran == 0 && late.held == 0);
    later_free(&late.task);
    assert_int_equal(later_new(later, &late.task, &plain, &late, NULL, NULL), ERR_BUSY);
    for (int i = 0; i < 4; i++) {
        assert_true(s[i].abandoned == 1 && s[i].held == 0 && s[i].ends == 1);
        later_free(&s[i].task);
    }
    for (int i = 0; i < 2 * LATER_THREADS; i++) {
        assert_true(plains[i].abandoned == 1 && plains[i].held == 0);
        later_free(&plains[i].task);
    }
    assert_int_equal(at_work, 0);
}

/* The watchdog gives a thread ten seconds. Each idle thread shows itself twice a second. */
TEST_WITH(a_slice_that_does_not_end_is_noticed, open_pool, close_pool)
{
    static struct slow s, patient;
    uint64_t since_us, alive_us;
    const char *what;

    slow_new(&patient, &lasting, "one", 1);
    slow_new(&s, &plain, NULL, 1);
    atomic_store(&patient.wait, true);
    atomic_store(&s.wait, true);
    later_kick(patient.task);
    wait_for(&patient.running, 1);
    since_us = clock_us();
    while (later_alive_us(later, &what) <= since_us) /* a long slice has its time */
        usleep(10000);
    later_kick(s.task);
    wait_for(&s.running, 1);
    since_us = clock_us();
    do { /* the other threads go on to show themselves */
        usleep(10000);
        alive_us = later_alive_us(later, &what);
        assert_true(alive_us <= since_us);
    } while (strcmp(what, "slices") != 0 || clock_us() < since_us + 1500000);
    atomic_store(&s.wait, false);
    later_free(&s.task);
    while (later_alive_us(later, &what) <= since_us)
        usleep(10000);
    atomic_store(&patient.wait, false);
    later_free(&patient.task);
}
