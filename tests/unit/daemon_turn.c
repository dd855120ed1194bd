/* Turns: shares of the servers' time, first come where nothing is charged, no credit, no lost
 * wake-up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "daemon/turn.h"
#include "daemon/worker.h"

#include <stdatomic.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N 64

struct line {
    struct turn *turn;
    struct turn_entry e[N];
    uint64_t cost_us[N], served[N], had_us[N];
};

static void line_open(struct line *l)
{
    memset(l, 0, sizeof(*l));
    assert_int_equal(turn_new(&l->turn, NULL), 0);
    for (int i = 0; i < N; i++)
        l->cost_us[i] = 1000;
}

static void line_close(struct line *l)
{
    turn_close(l->turn);
    while (turn_drop(l->turn))
        ;
    turn_free(&l->turn);
}

/* Serve the next one; `more` = it has work left. Returns which. */
static int serve(struct line *l, bool more)
{
    struct turn_entry *e;
    int i;

    assert_int_equal(turn_take(l->turn, &e, 1, 0), 1);
    i = (int)(e - l->e);
    turn_charge(l->turn, e, l->cost_us[i]);
    l->served[i]++;
    l->had_us[i] += l->cost_us[i];
    assert_int_equal(turn_done(l->turn, e, more), !more);
    return i;
}

/* All always have work, half of them cost ten times as much: equal time, a tenth of the frames. */
static void time_is_shared_equally(void **state)
{
    struct line l;
    uint64_t least = UINT64_MAX, most = 0;

    (void)state;
    line_open(&l);
    for (int i = 0; i < N; i++) {
        l.cost_us[i] = i % 2 ? 10000 : 1000;
        assert_true(turn_kick(l.turn, &l.e[i]));
    }
    for (int k = 0; k < 100 * N; k++)
        serve(&l, true);
    for (int i = 0; i < N; i++) {
        least = l.had_us[i] < least ? l.had_us[i] : least;
        most = l.had_us[i] > most ? l.had_us[i] : most;
    }
    assert_true(most - least <= 10000); /* one frame, which nobody can halve */
    assert_true(l.served[0] >= 9 * l.served[1] && l.served[0] <= 11 * l.served[1]);
    line_close(&l);
}

/* Where nothing is charged they are served as they came, round and round. */
static void equals_go_in_order(void **state)
{
    struct line l;

    (void)state;
    line_open(&l);
    memset(l.cost_us, 0, sizeof(l.cost_us));
    for (int i = 0; i < N; i++)
        turn_kick(l.turn, &l.e[N - 1 - i]);
    for (int k = 0; k < 3 * N; k++)
        assert_int_equal(serve(&l, true), N - 1 - k % N);
    line_close(&l);
}

/* Seven have a frame every 16 ms, one has ten times as many; together they ask for more than there
 * is. The seven get all of theirs, none waits for more than the rest of a frame and the other six,
 * and the eighth has what is left. */
static void ten_times_the_rate_moves_nobody(void **state)
{
    static const uint64_t period_us = 16000, end_us = 16000000;
    uint64_t now_us = 0, next_us[8], came_us[8], waited_us = 0, calm = 0, dropped = 0;
    uint64_t waiting[8] = {0};
    struct turn_entry *e;
    struct line l;

    (void)state;
    line_open(&l);
    for (uint64_t i = 0; i < 8; i++)
        next_us[i] = i * 1700;
    while (now_us < end_us) {
        for (int i = 0; i < 8; i++)
            for (; next_us[i] <= now_us; next_us[i] += i ? period_us : period_us / 10) {
                if (waiting[i] == 0)
                    came_us[i] = next_us[i];
                else if (waiting[i] == 8)
                    dropped++;
                waiting[i] += waiting[i] < 8;
                turn_kick(l.turn, &l.e[i]);
            }
        if (turn_take(l.turn, &e, 1, 0) == 0) {
            now_us += 100;
            continue;
        }
        int i = (int)(e - l.e);
        if (i) {
            waited_us = now_us - came_us[i] > waited_us ? now_us - came_us[i] : waited_us;
            calm++;
        }
        now_us += 1800;
        waiting[i]--;
        l.had_us[i] += 1800;
        turn_charge(l.turn, e, 1800);
        turn_done(l.turn, e, waiting[i] > 0);
    }
    assert_in_range(calm, 7 * (end_us / period_us) - 7, 7 * (end_us / period_us) + 7);
    assert_true(waited_us <= 7 * 1800);
    assert_true(dropped > 1000);
    assert_true(l.had_us[0] > end_us / 100 * 20); /* the servers never stood still for it */
    line_close(&l);
}

/* An hour without work buys nothing; a newcomer is served next, and then in its turn. */
static void idleness_is_no_credit(void **state)
{
    struct line l;

    (void)state;
    line_open(&l);
    turn_kick(l.turn, &l.e[0]);
    turn_kick(l.turn, &l.e[1]);
    for (int k = 0; k < 1000; k++)
        serve(&l, true);
    turn_kick(l.turn, &l.e[2]);
    memset(l.served, 0, sizeof(l.served));
    for (int k = 0; k < 30; k++)
        serve(&l, true);
    for (int i = 0; i < 3; i++)
        assert_in_range(l.served[i], 9, 11);
    line_close(&l);
}

/* Who leaves the line in debt comes back in debt; one that is beyond all measure is forgotten. */
static void debts_are_kept_and_bounded(void **state)
{
    struct line l;
    int turns;

    (void)state;
    line_open(&l);
    l.cost_us[0] = 20000;
    turn_kick(l.turn, &l.e[0]);
    serve(&l, false); /* 20 ms, and idle */
    turn_kick(l.turn, &l.e[1]);
    turn_kick(l.turn, &l.e[0]);
    for (turns = 0; serve(&l, true) != 0; turns++)
        ;
    assert_in_range(turns, 20, 21);
    l.cost_us[0] = 3600000000; /* an hour */
    while (serve(&l, true) != 0)
        ;
    for (turns = 0; serve(&l, true) != 0; turns++)
        ;
    assert_in_range(turns, TURN_DEBT_US / 1000 - 1, TURN_DEBT_US / 1000 + 20);
    line_close(&l);
}

/* The sorted line against the plain rule: least first, then first come. */
static void order_is_least_first_then_first_come(void **state)
{
    struct line l;
    uint64_t had[N] = {0}, arrival[N] = {0}, level = 0, clock = 0;
    bool listed[N] = {false};

    (void)state;
    srand(5);
    line_open(&l);
    for (int k = 0; k < 200000; k++) {
        int i = rand() % N, best = -1;
        struct turn_entry *e;
        if (rand() % 2) {
            assert_int_equal(turn_kick(l.turn, &l.e[i]), !listed[i]);
            if (!listed[i]) {
                had[i] = had[i] < level ? level : had[i];
                arrival[i] = ++clock;
                listed[i] = true;
            }
            continue;
        }
        for (int j = 0; j < N; j++)
            if (listed[j] && (best < 0 || had[j] < had[best] ||
                              (had[j] == had[best] && arrival[j] < arrival[best])))
                best = j;
        if (best < 0) {
            assert_int_equal(turn_take(l.turn, &e, 1, 0), 0);
            continue;
        }
        assert_int_equal(turn_take(l.turn, &e, 1, 0), 1);
        assert_ptr_equal(e, &l.e[best]);
        level = had[best] > level ? had[best] : level;
        listed[best] = rand() % 3 == 0;
        had[best] += (uint64_t)(rand() % 8);
        arrival[best] = ++clock;
        turn_charge(l.turn, e, had[best] - e->had_us);
        turn_done(l.turn, e, listed[best]);
    }
    line_close(&l);
}

/* Work that is announced while the entry is served brings it back. */
static void work_announced_meanwhile_is_remembered(void **state)
{
    struct turn_entry *e;
    struct line l;

    (void)state;
    line_open(&l);
    assert_true(turn_kick(l.turn, &l.e[0]));
    assert_int_equal(turn_take(l.turn, &e, 1, 0), 1);
    assert_false(turn_kick(l.turn, e)); /* the line has its reference already */
    assert_false(turn_done(l.turn, e, false));
    assert_int_equal(turn_take(l.turn, &e, 1, 0), 1);
    assert_true(turn_done(l.turn, e, false));
    line_close(&l);
}

/* What a flight took goes to its sessions by the sizes of their networks, and all of it does. */
static void a_flight_is_paid_by_the_pixel(void **state)
{
    static struct session s[3];
    struct job jobs[3], *list[3];
    struct turn_entry *e[3];
    struct line l;

    (void)state;
    line_open(&l);
    for (int i = 0; i < 3; i++) {
        pthread_mutex_init(&s[i].lock, NULL);
        s[i].net_w = i == 2 ? 640 : 64;
        s[i].net_h = 64;
        jobs[i].session = &s[i];
        list[i] = &jobs[i];
        turn_kick(l.turn, &s[i].work_turn);
    }
    assert_int_equal(turn_take(l.turn, e, 3, 0), 3);
    worker_charge(l.turn, list, 3, 12000);
    assert_in_range(s[0].work_turn.had_us, 999, 1001);
    assert_in_range(s[1].work_turn.had_us, 999, 1001);
    assert_in_range(s[2].work_turn.had_us, 9997, 10000);
    for (int i = 0; i < 3; i++)
        turn_done(l.turn, e[i], false);
    line_close(&l);
}

struct crew {
    struct line line;
    atomic_int work[N], done[N], busy[N];
    atomic_bool bad;
};

static void *crew_run(void *arg)
{
    struct crew *c = arg;
    struct turn_entry *e;
    int n;

    while ((n = turn_take(c->line.turn, &e, 1, 100000)) >= 0) {
        int i = (int)(e - c->line.e);
        if (n == 0)
            continue;
        if (atomic_fetch_add(&c->busy[i], 1))
            atomic_store(&c->bad, true);
        if (atomic_load(&c->work[i]) > 0) {
            atomic_fetch_sub(&c->work[i], 1);
            atomic_fetch_add(&c->done[i], 1);
        }
        atomic_fetch_sub(&c->busy[i], 1);
        turn_charge(c->line.turn, e, (uint64_t)(i + 1));
        turn_done(c->line.turn, e, atomic_load(&c->work[i]) > 0);
    }
    return NULL;
}

/* Three servers, work announced from outside: all of it is done, no entry by two at once. */
static void no_work_is_lost(void **state)
{
    static struct crew c;
    pthread_t threads[3];

    (void)state;
    line_open(&c.line);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, crew_run, &c), 0);
    for (int k = 0; k < 100000; k++) {
        int i = k * 7 % N;
        atomic_fetch_add(&c.work[i], 1);
        turn_kick(c.line.turn, &c.line.e[i]);
    }
    for (int i = 0; i < N; i++)
        for (int wait = 0; atomic_load(&c.work[i]) && wait < 5000; wait++)
            usleep(1000);
    turn_close(c.line.turn);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0, all = 0; i < N; i++) {
        assert_int_equal(atomic_load(&c.work[i]), 0);
        all += atomic_load(&c.done[i]);
        if (i == N - 1)
            assert_int_equal(all, 100000);
    }
    assert_false(atomic_load(&c.bad));
    line_close(&c.line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_is_shared_equally),
        cmocka_unit_test(equals_go_in_order),
        cmocka_unit_test(ten_times_the_rate_moves_nobody),
        cmocka_unit_test(idleness_is_no_credit),
        cmocka_unit_test(debts_are_kept_and_bounded),
        cmocka_unit_test(order_is_least_first_then_first_come),
        cmocka_unit_test(work_announced_meanwhile_is_remembered),
        cmocka_unit_test(a_flight_is_paid_by_the_pixel),
        cmocka_unit_test(no_work_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
