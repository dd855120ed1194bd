/* Turns and the frame queue: fairness, order, what is dropped, and that no work is forgotten. */
#include "daemon/session/queue.h"
#include "daemon/turn.h"
#include "tests/support/unit.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAYLOAD 5000

static struct frame frame(uint64_t seq, uint8_t *payload)
{
    memset(payload, (int)seq, PAYLOAD);
    return (struct frame){.seq = seq,
                          .width = 64,
                          .height = 64,
                          .payload = payload,
                          .payload_len = PAYLOAD,
                          .body = payload,
                          .body_len = PAYLOAD};
}

/* One that is not on the disk yet, beside sources that are connected. */
static int push_beside(struct queue *q, int source, uint32_t feeders, uint64_t seq,
                       struct queue_item **item, struct queue_dropped *dropped)
{
    uint8_t payload[PAYLOAD];
    struct frame f = frame(seq, payload);
    const struct queue_arrival a = {
        .frame = &f, .stream = 7, .source = source, .feeders = feeders, .received_us = seq * 10};

    return queue_push(q, &a, item, dropped, NULL);
}

static int push_of(struct queue *q, int source, uint64_t seq, struct queue_dropped *dropped)
{
    struct queue_item *item;
    int rc = push_beside(q, source, 0, seq, &item, dropped);

    if (rc == 0)
        queue_stored(q, item);
    return rc;
}

static int push(struct queue *q, uint64_t seq, struct queue_dropped *dropped)
{
    return push_of(q, 0, seq, dropped);
}

static struct queue *new_queue(int n)
{
    struct queue *q;

    assert_int_equal(queue_new(&q, n, PAYLOAD, NULL), 0);
    return q;
}

/* ------------------------------------------------------------------------- queue */

TEST(frames_come_out_in_order_and_whole)
{
    struct queue *q = new_queue(4);
    struct queue_dropped dropped;
    struct queue_item *item;

    for (uint64_t seq = 1; seq <= 9; seq++) {
        assert_int_equal(push(q, seq, &dropped), 0);
        assert_false(dropped.any);
        item = queue_take_waiting(q);
        assert_non_null(item);
        assert_int_equal(item->frame.seq, seq);
        assert_int_equal(item->stream, 7);
        assert_int_equal(item->received_us, seq * 10);
        for (int i = 0; i < PAYLOAD; i++)
            assert_int_equal(item->frame.payload[i], seq);
        queue_ready(q, item);
        assert_ptr_equal(queue_take_ready(q), item);
        assert_int_equal(queue_used(q), 1);
        queue_release(q, item);
        assert_int_equal(queue_used(q), 0);
    }
    queue_free(&q);
    assert_null(q);
}

/* One that sends too much loses its own frames, though another's are older. */
TEST(the_source_with_the_most_makes_room)
{
    struct queue *q = new_queue(4);
    struct queue_dropped d;

    assert_int_equal(push_of(q, 1, 100, &d), 0);
    for (uint64_t seq = 1; seq <= 3; seq++)
        assert_int_equal(push_of(q, 0, seq, &d), 0);
    for (uint64_t seq = 4; seq <= 9; seq++) {
        assert_int_equal(push_of(q, 0, seq, &d), 0);
        assert_true(d.any && d.source == 0 && d.seq == seq - 3);
    }
    assert_int_equal(push_of(q, 1, 101, &d), 0);
    assert_true(d.source == 0 && d.seq == 7);
    assert_int_equal(queue_take_waiting(q)->frame.seq, 100);
    queue_free(&q);
}

#define BOTH 3u /* sources 0 and 1 are connected */

/* Where the busy one's frames all wait for the disk, or are decoded or run, none of them can make
 * room; the calm one's slots are there nevertheless. */
TEST(a_source_in_work_leaves_slots_to_others)
{
    struct queue *q = new_queue(8);
    struct queue_item *item, *calm[2];
    struct queue_dropped d;
    uint64_t seq = 1;

    while (push_beside(q, 0, BOTH, seq, &item, &d) == 0)
        seq++;
    assert_int_equal(queue_used(q), 8 - QUEUE_RESERVE);
    assert_true(d.any && d.source == 0 && d.seq == seq);
    for (uint64_t k = 0; k < QUEUE_RESERVE; k++) {
        assert_int_equal(push_beside(q, 1, BOTH, 100 + k, &calm[k], &d), 0);
        assert_false(d.any);
        queue_stored(q, calm[k]);
    }
    for (; seq < 20; seq++) {
        assert_int_equal(push_beside(q, 0, BOTH, seq, &item, &d), ERR_BUSY);
        assert_int_equal(d.source, 0);
    }
    assert_ptr_equal(queue_take_waiting(q), calm[0]);
    queue_free(&q);
}

/* One that has the device to itself has nearly all slots, and gives them back one by one. */
TEST(shares_are_taken_back)
{
    struct queue *q = new_queue(8);
    struct queue_item *item;
    struct queue_dropped d;

    for (uint64_t seq = 1; seq <= 8; seq++)
        assert_int_equal(push_of(q, 0, seq, &d), 0);
    for (uint64_t seq = 101; seq <= 104; seq++) { /* another comes: up to its share */
        assert_int_equal(push_beside(q, 1, BOTH, seq, &item, &d), 0);
        assert_true(d.any && d.source == 0 && d.seq == seq - 100);
        queue_stored(q, item);
    }
    assert_int_equal(push_beside(q, 1, BOTH, 105, &item, &d), 0);
    assert_true(d.any && d.source == 1 && d.seq == 101);
    queue_stored(q, item);
    assert_int_equal(push_beside(q, 0, BOTH, 9, &item, &d), 0);
    assert_true(d.any && d.source == 0 && d.seq == 5);
    queue_free(&q);
}

/* A device that takes every third frame, a disk that is late by as many as there are; one source
 * sends all the time, one seldom and now and then two. Whatever is lost is the busy one's. */
TEST(a_calm_source_loses_nothing_to_a_busy_one)
{
    struct queue *q = new_queue(8);
    struct queue_item *storing[8], *item;
    struct queue_dropped d;
    int n_storing = 0, lost[2] = {0, 0}, used[2] = {0, 0}, calm = 0;
    uint32_t random = 1;

    for (uint64_t t = 0; t < 3000; t++) {
        int pushes = t % 23 == 0 || t % 23 == 1, source = 0;
        for (int k = 0; k <= pushes; k++, source = 1) {
            random = random * 1664525u + 1013904223u;
            calm += source;
            if (push_beside(q, source, BOTH, t + 1, &item, &d) == 0)
                storing[n_storing++] = item;
            if (d.any)
                lost[d.source]++;
            while (n_storing && (random >> 24 < 90 || n_storing == 6)) {
                queue_stored(q, storing[0]);
                memmove(storing, storing + 1, (size_t)--n_storing * sizeof *storing);
                random = random * 1664525u + 1013904223u;
            }
        }
        if (t % 3 == 0 && (item = queue_take_waiting(q)) != NULL)
            queue_ready(q, item);
        if (t % 3 == 1 && (item = queue_take_ready(q)) != NULL) {
            used[item->source]++;
            queue_release(q, item);
        }
    }
    print_message("# used %d and %d, lost %d and %d of %d\n", used[0], used[1], lost[0], lost[1],
                  calm);
    assert_int_equal(lost[1], 0);
    assert_true(lost[0] > 1000 && used[0] > 400 && calm > 200);
    queue_free(&q);
}

TEST(the_oldest_that_nobody_works_on_goes)
{
    struct queue *q = new_queue(4);
    struct queue_dropped d;
    struct queue_item *a, *b, *c;

    for (uint64_t seq = 1; seq <= 4; seq++)
        assert_int_equal(push(q, seq, &d), 0);
    a = queue_take_waiting(q); /* 1 is being decoded: 2 is the oldest that waits */
    assert_int_equal(push(q, 5, &d), 0);
    assert_true(d.any && d.seq == 2 && d.stream == 7);
    queue_ready(q, a);
    b = queue_take_waiting(q);
    assert_int_equal(b->frame.seq, 3);
    queue_ready(q, b); /* ready: 1 3, waiting: 4 5 */
    assert_int_equal(push(q, 6, &d), 0);
    assert_int_equal(d.seq, 4); /* undecoded before decoded */
    assert_int_equal(push(q, 7, &d), 0);
    assert_int_equal(d.seq, 5);
    c = queue_take_ready(q);
    assert_int_equal(c->frame.seq, 1); /* running: 1, ready: 3, waiting: 6 7 */
    queue_release(q, c);
    assert_ptr_equal(queue_take_ready(q)->frame.payload, b->frame.payload);
    queue_free(&q);
}

TEST(a_new_frame_goes_when_all_are_in_work)
{
    struct queue *q = new_queue(2);
    struct queue_dropped d;
    struct queue_item *a;

    assert_int_equal(push(q, 1, &d), 0);
    queue_ready(q, queue_take_waiting(q));
    a = queue_take_ready(q);
    assert_non_null(a);
    assert_int_equal(push(q, 2, &d), 0);
    assert_non_null(queue_take_waiting(q));
    assert_int_equal(push(q, 3, &d), ERR_BUSY);
    assert_true(d.any && d.seq == 3);
    assert_int_equal(queue_used(q), 2);
    queue_free(&q);
}

TEST(decoding_runs_ahead_by_two)
{
    struct queue *q = new_queue(8);
    struct queue_dropped d;
    struct queue_item *item;

    for (uint64_t seq = 1; seq <= 6; seq++)
        assert_int_equal(push(q, seq, &d), 0);
    item = queue_take_waiting(q);
    assert_null(item->rgb);
    assert_int_equal(queue_set_pictures(q, item, 300, NULL), 0);
    assert_non_null(item->rgb);
    assert_null(queue_take_waiting(q)); /* one at a time */
    queue_ready(q, item);
    item = queue_take_waiting(q);
    assert_non_null(item->rgb);
    queue_ready(q, item);
    assert_false(queue_can_decode(q));
    assert_null(queue_take_waiting(q));
    item = queue_take_ready(q);
    assert_int_equal(item->frame.seq, 1);
    assert_true(queue_can_decode(q));
    queue_ready(q, queue_take_waiting(q));
    assert_null(queue_take_waiting(q));
    queue_release(q, item);
    assert_false(queue_can_decode(q)); /* two are ready */
    assert_int_equal(queue_take_ready(q)->frame.seq, 2);
    assert_true(queue_has_ready(q));
    queue_free(&q);
}

TEST(too_long_a_payload_changes_nothing)
{
    struct queue *q = new_queue(2);
    static uint8_t payload[20000];
    struct frame f = frame(1, payload);
    const struct queue_arrival a = {.frame = &f, .stream = 1};
    struct queue_item *item;
    struct queue_dropped d;

    f.body_len = sizeof(payload);
    assert_int_equal(queue_push(q, &a, &item, &d, NULL), ERR_LIMIT);
    assert_null(item);
    assert_false(d.any);
    assert_int_equal(queue_used(q), 0);
    queue_free(&q);
    assert_int_equal(queue_new(&q, 0, PAYLOAD, NULL), ERR_INPUT);
    assert_int_equal(queue_new(&q, QUEUE_FRAMES_MAX + 1, PAYLOAD, NULL), ERR_INPUT);
}

TEST(what_is_being_stored_is_out_of_reach)
{
    struct queue *q = new_queue(2);
    uint8_t payload[PAYLOAD], header[FRAME_HEADER_BYTES];
    struct frame f = frame(1, payload);
    struct queue_arrival a = {.frame = &f, .header = header, .stream = 1};
    struct queue_item *first, *second, *third;
    struct queue_dropped d;

    memset(header, 0x5a, sizeof(header));
    assert_int_equal(queue_push(q, &a, &first, &d, NULL), 0);
    f.seq = 2;
    assert_int_equal(queue_push(q, &a, &second, &d, NULL), 0);
    assert_memory_equal(second->header, header, sizeof(header));
    assert_null(queue_take_waiting(q)); /* not on the disk yet */
    f.seq = 3;
    assert_int_equal(queue_push(q, &a, &third, &d, NULL), ERR_BUSY);
    assert_true(d.any && d.seq == 3 && d.number == 0);
    second->number = 12;
    queue_stored(q, second); /* it overtakes no frame, and may be dropped now */
    assert_int_equal(queue_push(q, &a, &third, &d, NULL), 0);
    assert_true(d.any && d.seq == 2 && d.number == 12);
    queue_stored(q, first);
    queue_stored(q, third);
    assert_ptr_equal(queue_take_waiting(q), first);
    queue_ending(q, first); /* it was no JPEG, and that is being stored */
    assert_ptr_equal(queue_take_waiting(q), third);
    assert_int_equal(queue_used(q), 2);
    queue_release(q, first);
    queue_release(q, third);
    assert_int_equal(queue_used(q), 0);
    queue_free(&q);
}

TEST(nobody_makes_room_where_nothing_may_be_lost)
{
    struct queue *q = new_queue(2);
    struct queue_dropped d;

    queue_set_lossless(q);
    assert_int_equal(push(q, 1, &d), 0);
    assert_int_equal(push(q, 2, &d), 0);
    assert_int_equal(push(q, 3, &d), ERR_BUSY);
    assert_true(d.any && d.seq == 3);
    queue_release(q, queue_take_waiting(q));
    assert_int_equal(push(q, 4, &d), 0);
    assert_false(d.any);
    queue_free(&q);
}

/* Whatever happens in whatever order: pushed = dropped + turned away + released + held, and order
 * holds. */
TEST(the_sum_is_always_right)
{
    struct queue *q = new_queue(5);
    struct queue_item *decoding = NULL, *running = NULL;
    uint64_t seq = 0, last = 0, gone = 0, released = 0;
    struct queue_dropped d;

    srand(5);
    for (int i = 0; i < 20000; i++) {
        switch (rand() % 4) {
        case 0:
            push(q, ++seq, &d);
            gone += d.any;
            break;
        case 1:
            if (!decoding)
                decoding = queue_take_waiting(q);
            else if (rand() % 8) {
                queue_ready(q, decoding);
                decoding = NULL;
            } else {
                queue_release(q, decoding); /* it was no JPEG */
                decoding = NULL;
                released++;
            }
            break;
        case 2:
            if (!running && (running = queue_take_ready(q))) {
                assert_true(running->frame.seq > last);
                last = running->frame.seq;
            }
            break;
        default:
            if (running) {
                queue_release(q, running);
                running = NULL;
                released++;
            }
        }
        assert_int_equal(seq, gone + released + (uint64_t)queue_used(q));
    }
    assert_true(gone > 100 && released > 1000);
    queue_free(&q);
}

/* ------------------------------------------------------------------------- turns */

TEST(each_is_served_once_a_round)
{
    struct turn_entry e[4] = {{0}}, *got;
    int served[4] = {0};
    struct turn *t;

    assert_int_equal(turn_new(&t, NULL), 0);
    for (int i = 0; i < 4; i++)
        assert_true(turn_kick(t, &e[i]));
    assert_false(turn_kick(t, &e[2])); /* stands in line already */
    for (int i = 0; i < 400; i++) {    /* all of them always have more work */
        assert_int_equal(turn_take(t, &got, 1, 0), 1);
        served[got - e]++;
        assert_int_equal(got - e, i % 4);
        assert_false(turn_done(t, got, true));
    }
    for (int i = 0; i < 4; i++)
        assert_int_equal(served[i], 100);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(turn_take(t, &got, 1, 0), 1);
        assert_true(turn_done(t, got, false));
    }
    assert_int_equal(turn_take(t, &got, 1, 0), 0);
    turn_free(&t);
}

TEST(work_announced_meanwhile_is_remembered)
{
    struct turn_entry e[2] = {{0}}, *got[2];
    struct turn *t;

    assert_int_equal(turn_new(&t, NULL), 0);
    assert_true(turn_kick(t, &e[0]));
    assert_true(turn_kick(t, &e[1]));
    assert_int_equal(turn_take(t, got, 2, 0), 2);
    assert_false(turn_kick(t, &e[0]));
    assert_int_equal(turn_take(t, got, 2, 0), 0); /* it is being served: no other server gets it */
    assert_false(turn_done(t, &e[0], false));     /* but it is in line again */
    assert_true(turn_done(t, &e[1], false));
    assert_int_equal(turn_take(t, got, 2, 0), 1);
    assert_ptr_equal(got[0], &e[0]);
    turn_poke(t);
    assert_int_equal(turn_take(t, got, 2, 60000000), 0);
    turn_kick(t, &e[1]);
    turn_close(t);
    assert_int_equal(turn_take(t, got, 2, 60000000), -1);
    assert_true(turn_done(t, &e[0], true));
    assert_ptr_equal(turn_drop(t), &e[1]);
    assert_null(turn_drop(t));
    assert_false(turn_kick(t, &e[1]));
    turn_free(&t);
}

#define ENTRIES 8
#define KICKS 20000

struct load {
    struct turn *t;
    struct {
        struct turn_entry turn;
        int work, inside;
        long done;
    } e[ENTRIES];
};

static void *server(void *arg)
{
    struct load *l = arg;
    struct turn_entry *got;

    while (turn_take(l->t, &got, 1, 50000) >= 0) {
        int i;
        for (i = 0; i < ENTRIES && got != &l->e[i].turn; i++)
            ;
        if (i == ENTRIES)
            continue;
        assert_int_equal(__atomic_fetch_add(&l->e[i].inside, 1, __ATOMIC_SEQ_CST), 0);
        if (__atomic_load_n(&l->e[i].work, __ATOMIC_SEQ_CST) > 0) {
            __atomic_fetch_sub(&l->e[i].work, 1, __ATOMIC_SEQ_CST);
            l->e[i].done++; /* one thread at a time: needs no atomic */
        }
        __atomic_fetch_sub(&l->e[i].inside, 1, __ATOMIC_SEQ_CST);
        turn_done(l->t, got, __atomic_load_n(&l->e[i].work, __ATOMIC_SEQ_CST) > 0);
        got = NULL;
    }
    return NULL;
}

static void *kicker(void *arg)
{
    struct load *l = arg;

    for (int i = 0; i < KICKS; i++) {
        __atomic_fetch_add(&l->e[i % ENTRIES].work, 1, __ATOMIC_SEQ_CST);
        turn_kick(l->t, &l->e[i % ENTRIES].turn);
    }
    return NULL;
}

TEST(threads_lose_no_work_and_never_meet)
{
    static struct load l;
    pthread_t servers[3], kickers[2];
    long done = 0;

    assert_int_equal(turn_new(&l.t, NULL), 0);
    for (int i = 0; i < 3; i++)
        pthread_create(&servers[i], NULL, server, &l);
    for (int i = 0; i < 2; i++)
        pthread_create(&kickers[i], NULL, kicker, &l);
    for (int i = 0; i < 2; i++)
        pthread_join(kickers[i], NULL);
    for (int wait = 0; wait < 60000; wait++) {
        int left = 0;
        for (int i = 0; i < ENTRIES; i++)
            left += __atomic_load_n(&l.e[i].work, __ATOMIC_SEQ_CST);
        if (!left)
            break;
        usleep(1000);
    }
    turn_close(l.t);
    for (int i = 0; i < 3; i++)
        pthread_join(servers[i], NULL);
    for (int i = 0; i < ENTRIES; i++)
        done += l.e[i].done;
    assert_int_equal(done, 2 * KICKS);
    turn_free(&l.t);
}
