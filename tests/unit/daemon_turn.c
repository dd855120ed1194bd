/* Turns: shares of the servers' time, first come where nothing is charged, no credit, no lost
 * wake-up. */
#include "daemon/turn.h"
#include "tests/support/unit.h"

#include <stdatomic.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
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

static struct line l;

static int open_line(void **state)
{
    (void)state;
    line_open(&l);
    return 0;
}

static int close_line(void **state)
{
    (void)state;
    line_close(&l);
    return 0;
}

/* Serve the next one; `more` = it has work left. Returns which. */
static int serve(bool more)
{
    struct turn_entry *e;
    int i;

    assert_int_equal(turn_take(l.turn, &e, 1, 0), 1);
    i = (int)(e - l.e);
    turn_charge(l.turn, e, l.cost_us[i]);
    l.served[i]++;
    l.had_us[i] += l.cost_us[i];
    assert_int_equal(turn_done(l.turn, e, more), !more);
    return i;
}

/* All always have work, half of them cost ten times as much: equal time, a tenth of the frames. */
TEST_WITH(time_is_shared_equally, open_line, close_line)
{
    uint64_t least = UINT64_MAX, most = 0;

    for (int i = 0; i < N; i++) {
        l.cost_us[i] = i % 2 ? 10000 : 1000;
        assert_true(turn_kick(l.turn, &l.e[i]));
    }
    for (int k = 0; k < 100 * N; k++)
        serve(true);
    for (int i = 0; i < N; i++) {
        least = l.had_us[i] < least ? l.had_us[i] : least;
        most = l.had_us[i] > most ? l.had_us[i] : most;
    }
    assert_true(most - least <= 10000); /* one frame, which cannot be halved */
    assert_true(l.served[0] >= 9 * l.served[1] && l.served[0] <= 11 * l.served[1]);
}

/* Where nothing is charged they are served as they came, round and round. */
TEST_WITH(equals_go_in_order, open_line, close_line)
{
    memset(l.cost_us, 0, sizeof(l.cost_us));
    for (int i = 0; i < N; i++)
        turn_kick(l.turn, &l.e[N - 1 - i]);
    for (int k = 0; k < 3 * N; k++)
        assert_int_equal(serve(true), N - 1 - k % N);
}

/* ------------------------------------------------------------------------- ten times the rate */

#define PHONES 8
#define SIM_END_US 60000000

struct sim {
    struct line line;
    double next_us[PHONES], came_us[PHONES][8]; /* frames that wait, the oldest first */
    unsigned seed[PHONES];
    int waiting[PHONES];
    uint64_t sent[PHONES], used[PHONES], dropped[PHONES];
    uint32_t *took_us; /* from coming to done, of all phones but the first */
    int n;
};

/* Frames that have come by now; the ninth makes the oldest go, as in a live session. */
static void sim_come(struct sim *s, double now_us, double period_us, double greed)
{
    for (int i = 0; i < PHONES; i++)
        while (s->next_us[i] <= now_us) {
            if (s->waiting[i] == 8) {
                s->dropped[i]++;
                s->waiting[i]--;
                memmove(&s->came_us[i][0], &s->came_us[i][1], 7 * sizeof(double));
            }
            s->came_us[i][s->waiting[i]++] = s->next_us[i];
            s->sent[i]++;
            turn_kick(s->line.turn, &s->line.e[i]);
            s->next_us[i] +=
                period_us / (i ? 1 : greed) * (0.5 + (double)rand_r(&s->seed[i]) / RAND_MAX);
        }
}

/* When there is something to do: now, or when the next frame comes. */
static double sim_idle(const struct sim *s, double now_us)
{
    double next_us = SIM_END_US;

    for (int i = 0; i < PHONES; i++) {
        if (s->waiting[i])
            return now_us;
        next_us = s->next_us[i] < next_us ? s->next_us[i] : next_us;
    }
    return next_us > now_us ? next_us : now_us;
}

/* A device that takes up to `batch` frames for cost_us together, or a processor that needs cost_us
 * for each of them and has the results at the end; simulated time. */
static void simulate(struct sim *s, int batch, bool apart, double cost_us, double period_us,
                     double greed)
{
    struct turn_entry *e[8];
    double now_us = 0;
    int n;

    memset(s, 0, sizeof(*s));
    line_open(&s->line);
    turn_set_apart(s->line.turn, apart);
    s->took_us = calloc(PHONES * (SIM_END_US / 1000), sizeof(*s->took_us));
    assert_non_null(s->took_us);
    for (int i = 0; i < PHONES; i++) {
        s->seed[i] = (unsigned)i;
        s->next_us[i] = period_us * i / PHONES;
    }
    while (now_us < SIM_END_US) {
        now_us = sim_idle(s, now_us);
        sim_come(s, now_us, period_us, greed);
        n = turn_take(s->line.turn, e, batch, 0);
        now_us += apart && n ? n * cost_us : cost_us;
        sim_come(s, now_us, period_us, greed);
        for (int k = 0; k < n; k++) {
            int i = (int)(e[k] - s->line.e);
            if (i)
                s->took_us[s->n++] = (uint32_t)(now_us - s->came_us[i][0]);
            s->used[i]++;
            s->waiting[i]--;
            memmove(&s->came_us[i][0], &s->came_us[i][1], 7 * sizeof(double));
            turn_charge(s->line.turn, e[k], (uint64_t)(apart ? cost_us : cost_us / n));
            turn_done(s->line.turn, e[k], s->waiting[i] > 0);
        }
    }
    line_close(&s->line);
}

static int by_size(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static uint32_t p99(struct sim *s)
{
    qsort(s->took_us, (size_t)s->n, sizeof(*s->took_us), by_size);
    return s->took_us[(s->n * 99 + 99) / 100 - 1];
}

/* Eight phones, then one of them at ten times its rate: the others get every frame done, at most
 * 20 % later at the 99th percentile; the one has what is left, which is not all it wants. */
TEST(ten_times_the_rate_moves_nobody)
{
    static const struct {
        int batch;
        bool apart;
        double cost_us, period_us;
    } cases[] = {
        {4, false, 4000, 33333}, {4, false, 20000, 100000}, {1, false, 1700, 16667},
        {1, false, 2500, 33333}, {4, true, 3000, 33333},    {4, true, 2000, 33333},
        {4, true, 1500, 33333},  {4, true, 2000, 66667},
    };
    static struct sim calm, greedy;

    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        simulate(&calm, cases[k].batch, cases[k].apart, cases[k].cost_us, cases[k].period_us, 1);
        simulate(&greedy, cases[k].batch, cases[k].apart, cases[k].cost_us, cases[k].period_us, 10);
        print_message("# %zu: p99 %u us, beside the greedy one %u us; it has %llu, loses %llu\n", k,
                      p99(&calm), p99(&greedy), (unsigned long long)greedy.used[0],
                      (unsigned long long)greedy.dropped[0]);
        for (int i = 1; i < PHONES; i++) {
            assert_int_equal(greedy.dropped[i], 0);
            assert_true(greedy.used[i] >= calm.used[i] - 1);
        }
        assert_true(p99(&greedy) * 10 <= p99(&calm) * 12);
        assert_true(greedy.used[0] > 2 * calm.used[0]);
        free(calm.took_us);
        free(greedy.took_us);
    }
}

/* ------------------------------------------------------------------------- credit and debt */

/* An hour without work buys nothing; a newcomer is served next, and then in its turn. */
TEST_WITH(idleness_is_no_credit, open_line, close_line)
{
    turn_kick(l.turn, &l.e[0]);
    turn_kick(l.turn, &l.e[1]);
    for (int k = 0; k < 1000; k++)
        serve(true);
    turn_kick(l.turn, &l.e[2]);
    memset(l.served, 0, sizeof(l.served));
    for (int k = 0; k < 30; k++)
        serve(true);
    for (int i = 0; i < 3; i++)
        assert_in_range(l.served[i], 9, 11);
}

/* An entry that leaves the list in debt comes back in debt, however much that is. Where no other
 * entry waits it is served all the same. */
TEST_WITH(debts_are_kept_whole, open_line, close_line)
{
    int turns;

    l.cost_us[0] = 20000;
    turn_kick(l.turn, &l.e[0]);
    serve(false); /* 20 ms, and idle */
    turn_kick(l.turn, &l.e[1]);
    turn_kick(l.turn, &l.e[0]);
    for (turns = 0; serve(true) != 0; turns++)
        ;
    assert_in_range(turns, 20, 21);
    l.cost_us[0] = 10000000; /* ten seconds */
    while (serve(true) != 0)
        ;
    for (turns = 0; serve(true) != 0; turns++)
        ;
    assert_in_range(turns, 10000 - 1, 10000 + 20);
    assert_int_equal(serve(true), 1);
    serve(false); /* entry 1 leaves the list */
    assert_int_equal(serve(true), 0);
}

/* The sorted line against the plain rule: least first, then first come. */
TEST_WITH(order_is_least_first_then_first_come, open_line, close_line)
{
    uint64_t had[N] = {0}, arrival[N] = {0}, level = 0, clock = 0;
    bool listed[N] = {false};

    srand(5);
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
}

/* Work that is announced while the entry is served brings it back. */
TEST_WITH(work_announced_meanwhile_is_remembered, open_line, close_line)
{
    struct turn_entry *e;

    assert_true(turn_kick(l.turn, &l.e[0]));
    assert_int_equal(turn_take(l.turn, &e, 1, 0), 1);
    assert_false(turn_kick(l.turn, e)); /* the line has its reference already */
    assert_false(turn_done(l.turn, e, false));
    assert_int_equal(turn_take(l.turn, &e, 1, 0), 1);
    assert_true(turn_done(l.turn, e, false));
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
TEST(no_work_is_lost)
{
    static struct crew c;
    pthread_t threads[3];

    line_open(&c.line);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, crew_run, &c), 0);
    for (int k = 0; k < 100000; k++) {
        int i = k * 7 % N;
        atomic_fetch_add(&c.work[i], 1);
        turn_kick(c.line.turn, &c.line.e[i]);
    }
    for (int i = 0; i < N; i++)
        for (int wait = 0; atomic_load(&c.work[i]) && wait < 60000; wait++)
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

struct sleepers {
    struct line line;
    atomic_int served;
    atomic_long woken; /* how often they slept, all together */
};

static void *sleep_and_serve(void *arg)
{
    struct sleepers *s = arg;
    struct turn_entry *e;
    struct rusage use;
    int n;

    while ((n = turn_take(s->line.turn, &e, 1, 3600000000u)) >= 0)
        if (n) {
            turn_done(s->line.turn, e, false);
            atomic_fetch_add(&s->served, 1);
        }
    getrusage(RUSAGE_THREAD, &use);
    atomic_fetch_add(&s->woken, use.ru_nvcsw);
    return NULL;
}

/* Work for one wakes one: others would only find that there is none. */
TEST(one_kick_wakes_one)
{
    enum { KICKS = 400, SLEEPERS = 4 };
    static struct sleepers s;
    pthread_t threads[SLEEPERS];

    line_open(&s.line);
    for (int i = 0; i < SLEEPERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, sleep_and_serve, &s), 0);
    for (int k = 0; k < KICKS; k++) {
        usleep(200); /* until they sleep again */
        turn_kick(s.line.turn, &s.line.e[k % N]);
        for (int wait = 0; atomic_load(&s.served) <= k && wait < 600000; wait++)
            usleep(100);
    }
    turn_close(s.line.turn);
    for (int i = 0; i < SLEEPERS; i++)
        pthread_join(threads[i], NULL);
    print_message("# slept %ld times for %d kicks\n", atomic_load(&s.woken), KICKS);
    assert_int_equal(atomic_load(&s.served), KICKS);
    /* a sleep for work, now and then one for the lock */
    assert_in_range(atomic_load(&s.woken), KICKS / 2, 2 * KICKS + KICKS / 2);
    line_close(&s.line);
}

#define COMPANY_US \
    3600000000u /* for so long a flight would wait for company: longer than a test may take */

static void *wait_for_company(void *arg)
{
    struct turn_entry *e;

    (void)arg;
    return turn_take_more(l.turn, &e, 1, COMPANY_US, false) ? e : NULL;
}

/* A thread that waits for an entry which is due looks again when that is due no more, and takes it
 * when it comes. */
TEST_WITH(nobody_waits_for_one_that_will_not_come, open_line, close_line)
{
    void *got;

    for (int comes = 0; comes < 2; comes++) {
        pthread_t thread;

        turn_due(l.turn, &l.e[0], true);
        assert_int_equal(pthread_create(&thread, NULL, wait_for_company, NULL), 0);
        usleep(100000);
        if (comes)
            turn_kick(l.turn, &l.e[0]);
        else
            turn_due(l.turn, &l.e[0], false);
        pthread_join(thread, &got);
        assert_ptr_equal(got, comes ? &l.e[0] : NULL);
    }
}
