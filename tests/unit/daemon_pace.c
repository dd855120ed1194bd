/* daemon_pace.c - what a session takes by its fps; the rate and quality that a client is told */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "daemon/session/pace.h"
#include "tests/support/unit.h"

/* Frames that are taken of a camera with so many a second, over `seconds`; jitter in ms, to and
 * fro. */
static int taken(double fps, double camera, double seconds, double jitter_ms)
{
    struct pace_clock c = {0};
    int n = 0;

    for (int i = 0; i < (int)(camera * seconds); i++) {
        double t_s = 5 + i / camera + (i % 2 ? 1e-3 : -1e-3) * jitter_ms;
        n += pace_takes(&c, fps, (uint64_t)(t_s * 1e9));
    }
    return n;
}

TEST(fps_is_held_by_capture_time)
{
    assert_in_range(taken(1, 30, 4.4, 0), 5, 5); /* 0, 1, 2, 3 and 4 s */
    assert_in_range(taken(1, 30, 600, 0), 600, 613);
    assert_in_range(taken(1, 30, 600, 5), 600, 613);
    assert_in_range(taken(10, 30, 60, 5), 600, 613);
    assert_in_range(taken(7, 30, 60, 5), 420, 430); /* that does not divide it */
    assert_in_range(taken(30, 60, 60, 3), 1800, 1838);
    /* a camera that keeps to it loses nothing, whatever its clock's quartz and the jitter do */
    assert_int_equal(taken(30, 30, 600, 0), 18000);
    assert_int_equal(taken(30, 30, 600, 4), 18000);
    assert_int_equal(taken(30, 30.3, 600, 4), 18180);
    assert_int_equal(taken(30, 15, 60, 10), 900);
}

/* A phone that was busy for a moment: its next two pictures come close to each other. */
TEST(a_late_frame_leaves_its_time_to_the_next)
{
    static const double at_s[] = {0, 0.1, 0.2, 0.385, 0.4, 0.5, 0.6};
    struct pace_clock c = {0};

    for (size_t i = 0; i < sizeof at_s / sizeof *at_s; i++)
        assert_true(pace_takes(&c, 10, (uint64_t)(at_s[i] * 1e9)));
    assert_false(pace_takes(&c, 10, 620000000));
}

TEST(a_clock_that_stands_or_jumps_back_takes_all)
{
    struct pace_clock c = {0};

    for (int i = 0; i < 10; i++)
        assert_true(pace_takes(&c, 1, 0));
    assert_true(pace_takes(&c, 1, UINT64_C(10000000000)));
    assert_false(pace_takes(&c, 1, UINT64_C(10500000000)));
    assert_true(pace_takes(&c, 1, 7)); /* began anew */
    assert_false(pace_takes(&c, 1, 500000000));
    assert_true(pace_takes(&c, 1, 1000000007));
    assert_true(pace_takes(&c, 1, UINT64_MAX)); /* a pause gives no credit */
    assert_true(pace_takes(&c, 1, 0));
    assert_false(pace_takes(&c, 1, 100000000));
}

/* ------------------------------------------------------------------------- a device and phones */

#define SESSIONS_MAX 64
#define QUEUE 8
#define CAMERA 30.0

/*
 * A device that computes batches: of each session one frame at a time. Frames come to it and their
 * answers to their clients after a while, in which others are computed.
 */
struct world {
    int sessions;
    double capacity;          /* frames/s of a device that is never idle */
    double lag_ms;            /* decoding and committing, half of it each, beside the device */
    double net_ms;            /* until a client hears what it is told */
    double stall_ms, stall_s; /* so long nothing is computed, from then on */
    double seconds;           /* how long all lasts */
    int batch;
};

struct phone {
    struct pace pace;
    double before, told, heard_ms; /* what it was told counts from then on */
    double next_ms;                /* when its camera looks */
    double at_ms[QUEUE], done_ms;  /* when frames came; when the first of them will be done */
    int n, used;
    bool computed; /* the first one */
};

/* What came of it, in the second half of the time. */
struct outcome {
    double used_s, least, most; /* frames/s of all, and of sessions */
    double p50_ms;              /* from a frame's arrival to its answer */
    double back_s; /* after the stall, until all are told CAMERA for good; < 0: never */
    int dropped;   /* all the time */
};

#define DELAYS 5000 /* ms */

static struct {
    struct world w;
    struct outcome o;
    struct phone phones[SESSIONS_MAX];
    int delays[DELAYS]; /* how many answers took so many ms */
    double done_ms;     /* of the batch under way */
    int first;          /* whose turn it is */
    bool half;          /* of the time is over: what is used now counts */
} play;

static void phone_looks(struct phone *p, double now_ms)
{
    double rate = now_ms >= p->heard_ms ? p->told : p->before;

    if (now_ms < p->next_ms)
        return;
    p->next_ms += 1000 / rate;
    if (p->next_ms < now_ms) /* nothing is made up for */
        p->next_ms = now_ms + 1000 / rate;
    if (p->n == QUEUE)
        play.o.dropped++;
    else
        p->at_ms[p->n++] = now_ms;
}

static void phone_hears(struct phone *p, double now_ms)
{
    double took_ms = now_ms - p->at_ms[0];

    for (int i = 1; i < p->n; i++)
        p->at_ms[i - 1] = p->at_ms[i];
    p->n--;
    p->computed = false;
    p->used += play.half;
    play.delays[took_ms < DELAYS ? (int)took_ms : DELAYS - 1] += play.half;
    pace_used(&p->pace, (uint64_t)(1000 * now_ms) + 1, (uint64_t)p->n);
    if (pace_differs(p->pace.rate, p->told, CAMERA)) {
        p->before = now_ms >= p->heard_ms ? p->told : p->before;
        p->told = p->pace.rate;
        p->heard_ms = now_ms + play.w.net_ms;
    }
}

/* A batch leaves, of sessions in turn: the next one begins with the first that did not fit. */
static void device_takes(double now_ms)
{
    const struct world *w = &play.w;
    struct phone *taken[SESSIONS_MAX];
    int n = 0, k = 0;

    for (; k < w->sessions && n < w->batch; k++) {
        struct phone *p = &play.phones[(play.first + k) % w->sessions];
        if (p->n && !p->computed && p->at_ms[0] + w->lag_ms / 2 <= now_ms)
            taken[n++] = p;
    }
    play.first = (play.first + k) % w->sessions;
    play.done_ms = (play.done_ms > now_ms - 1 ? play.done_ms : now_ms) + 1000 * n / w->capacity;
    for (int i = 0; i < n; i++) {
        taken[i]->computed = true;
        taken[i]->done_ms = play.done_ms + w->lag_ms / 2;
    }
}

static void millisecond(double now_ms)
{
    double since_ms = now_ms - 1000 * play.w.stall_s;
    bool all = true;

    play.half = now_ms >= 500 * play.w.seconds;
    for (int i = 0; i < play.w.sessions; i++) {
        struct phone *p = &play.phones[i];
        phone_looks(p, now_ms);
        if (p->computed && now_ms >= p->done_ms)
            phone_hears(p, now_ms);
        all &= p->told == CAMERA;
    }
    if (now_ms >= play.done_ms && (since_ms < 0 || since_ms >= play.w.stall_ms))
        device_takes(now_ms);
    if (!all || since_ms < play.w.stall_ms)
        play.o.back_s = -1;
    else if (play.o.back_s < 0)
        play.o.back_s = (since_ms - play.w.stall_ms) / 1000;
}

static struct outcome played(const struct world *w)
{
    double seconds = w->seconds / 2;
    struct outcome *o = &play.o;
    int used = 0, seen = 0;

    memset(&play, 0, sizeof play);
    play.w = *w;
    for (int i = 0; i < w->sessions; i++)
        play.phones[i] = (struct phone){.pace = pace_new(CAMERA),
                                        .told = CAMERA,
                                        .before = CAMERA,
                                        .next_ms = i * 1000 / CAMERA / w->sessions};
    for (int ms = 0; ms < (int)(1000 * w->seconds); ms++)
        millisecond(ms);
    o->least = INFINITY;
    for (int i = 0; i < w->sessions; i++) {
        used += play.phones[i].used;
        o->least = fmin(o->least, play.phones[i].used / seconds);
        o->most = fmax(o->most, play.phones[i].used / seconds);
    }
    o->used_s = used / seconds;
    while (2 * seen < used)
        seen += play.delays[(int)o->p50_ms++];
    print_message("# %2d phones, %4.0f frames/s: used %6.1f, of one %.1f to %.1f, p50 %.0f ms, all "
                  "told %.0f %.1f s after the stall, %d dropped\n",
                  w->sessions, w->capacity, o->used_s, o->least, o->most, o->p50_ms, CAMERA,
                  o->back_s, o->dropped);
    return *o;
}

/* Graphs are recorded when sessions begin, and for seconds nothing is computed. */
TEST(after_a_stall_all_are_told_what_is_of_use)
{
    struct outcome o;

    o = played(&(struct world){64, 2500, 20, 20, 3000, 0, 20, 32});
    assert_true(o.back_s >= 0 && o.back_s < 1 && o.used_s >= 0.999 * 64 * CAMERA && o.p50_ms < 50);
    o = played(&(struct world){64, 2500, 20, 20, 3000, 5, 20, 32});
    assert_true(o.back_s >= 0 && o.back_s < 1 && o.used_s >= 0.999 * 64 * CAMERA && o.p50_ms < 50);
    o = played(&(struct world){1, 60, 10, 5, 3000, 5, 20, 32});
    assert_true(o.back_s >= 0 && o.back_s < 1 && o.used_s >= CAMERA);
}

/* Whatever it is that holds a session: a device that is full, or that computes one frame at a time
 * of each session (854 frames/s are 64 times one in 75 ms, and 32 of them take 46 ms). */
TEST(a_full_device_stays_full_and_queues_short)
{
    struct outcome o;

    o = played(&(struct world){64, 700, 20, 20, 3000, 0, 40, 32});
    assert_true(o.used_s >= 0.99 * 700 && o.least > 0.9 * o.most && o.p50_ms < 250);
    o = played(&(struct world){64, 1800, 20, 20, 3000, 0, 40, 32});
    assert_true(o.used_s >= 0.99 * 1800 && o.least > 0.9 * o.most && o.p50_ms < 100);
    o = played(&(struct world){64, 130, 20, 20, 3000, 0, 80, 32});
    assert_true(o.used_s >= 0.99 * 130 && o.least > 0.9 * o.most && o.p50_ms < 1500);
    o = played(&(struct world){64, 2500, 150, 20, 3000, 0, 40, 32});
    assert_true(o.used_s >= 0.93 * 854 && o.least > 0.9 * o.most && o.p50_ms < 200);
    o = played(&(struct world){64, 700, 150, 20, 3000, 0, 40, 32});
    assert_true(o.used_s >= 0.97 * 700 && o.least > 0.9 * o.most && o.p50_ms < 250);
}

TEST(one_phone_has_what_the_device_can_do)
{
    struct outcome o;

    o = played(&(struct world){1, 200, 0, 5, 0, 0, 20, 32});
    assert_true(o.used_s == CAMERA && o.dropped == 0);
    o = played(&(struct world){1, 10, 0, 5, 0, 0, 60, 32});
    assert_true(o.used_s >= 9.9 && o.dropped < 20); /* of 1,800 of the camera */
    o = played(&(struct world){1, 2, 0, 5, 0, 0, 120, 32});
    assert_true(o.used_s >= 1.9 && o.p50_ms < 1500);
    o = played(&(struct world){4, 60, 10, 5, 0, 0, 60, 32});
    assert_true(o.used_s >= 0.99 * 60 && o.least > 0.9 * o.most && o.dropped == 0);
}

TEST(a_full_line_asks_for_less_and_a_free_one_for_more)
{
    struct pace_link l = pace_link_new();
    uint64_t t_ns = 0, now_us = UINT64_C(7000000000);

    for (int i = 0; i < 300; i++, t_ns += 33333333, now_us += 33333)
        pace_arrived(&l, t_ns, now_us, 0);
    assert_int_equal(l.jpeg, PACE_JPEG_MAX);
    for (int i = 0; i < 300; i++, t_ns += 33333333, now_us += 50000) /* falls behind: the device */
        pace_arrived(&l, t_ns, now_us, 5);
    assert_int_equal(l.jpeg, PACE_JPEG_MAX);
    for (int i = 0; i < 300; i++, t_ns += 33333333, now_us += 50000) /* and now the line */
        pace_arrived(&l, t_ns, now_us, 0);
    assert_int_equal(l.jpeg, PACE_JPEG_MIN);
    now_us = UINT64_C(7000000000) + t_ns / 1000; /* caught up */
    for (int i = 0; i < 3000; i++, t_ns += 33333333, now_us += 33333)
        pace_arrived(&l, t_ns, now_us, 0);
    assert_int_equal(l.jpeg, PACE_JPEG_MAX);
}
