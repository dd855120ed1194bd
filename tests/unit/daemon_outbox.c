/* What a client is told: readers of every speed end with the server's cloud, at a bounded cost. */
#include "tests/support/outbox_reader.h"
#include "tests/support/unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST(readers_of_every_speed_agree)
{
    struct mirror *m = new_mirror();
    struct mirror_summary end;
    struct mirror_commit c;
    struct reader r[4];

    srand(1);
    for (int i = 0; i < 4; i++)
        open_reader(&r[i], m);
    for (int i = 0; i < 3; i++)
        start_reader(&r[i], m, false, 0, 0);
    for (int frame = 0; frame < 200; frame++) {
        commit(m, 100, 3000, &c);
        for (int i = 0; i < 4; i++)
            tell(&r[i], &c);
        read_all(&r[0]);            /* keeps up */
        for (int k = 0; k < 8; k++) /* is always behind */
            step(&r[1]);
        if (frame == 100) /* r[2] stopped reading at once, r[3] comes late */
            start_reader(&r[3], m, false, 0, 0);
    }
    for (int i = 0; i < 4; i++)
        read_all(&r[i]);
    mirror_summary(m, &end);
    assert_true(end.points > 1000);
    for (int i = 0; i < 4; i++) {
        assert_true(cloud_hash(r[i].cloud) == end.hash);
        assert_true(r[i].sync.revision == end.revision && r[i].sync.hash == end.hash);
        assert_int_equal(r[i].n_ready, 1);
        assert_int_equal(r[i].n_clears, 1);
    }
    assert_int_equal(r[0].n_sync, 200);
    assert_true(r[0].n_patches > 4 * r[0].n_puts);  /* small changes travel small */
    assert_true(r[1].n_blocks < r[0].n_blocks / 2); /* behind, but not with what is out of date */
    assert_true((uint32_t)r[2].n_blocks <= end.blocks); /* each block once, however long it slept */
    assert_int_equal(r[2].n_sync, 1);
    for (int i = 0; i < 4; i++)
        close_reader(&r[i]);
    mirror_free(&m);
}

TEST(the_block_that_waited_longest_goes_first)
{
    struct gpu_change one = {.kind = GPU_CHANGE_PUT};
    struct mirror *m = new_mirror();
    struct mirror_commit c;
    struct reader r;

    begin_reader(&r, m);
    while (step(&r) != STREAM_NONE)
        ;
    for (uint32_t i = 0; i < 5; i++) { /* five blocks; then the first changes again and again */
        one.slot = i;
        one.p_q[0] = (int32_t)(2000 * i);
        mirror_commit(m, 0, &one, 1, &c);
        tell(&r, &c);
    }
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(step(&r), STREAM_BINARY);
        assert_int_equal(cloud_points(r.cloud), i + 1);
        one.slot = 0;
        one.p_q[0] = (int32_t)i;
        mirror_commit(m, 0, &one, 1, &c);
        tell(&r, &c);
    }
    read_all(&r);
    assert_int_equal(r.n_blocks, 6); /* 0 1 2 3 4 and 0 once more, not five times more */
    close_reader(&r);
    mirror_free(&m);
}

TEST(an_emptied_block_is_deleted)
{
    struct gpu_change one = {.kind = GPU_CHANGE_PUT, .slot = 3};
    struct mirror *m = new_mirror();
    struct mirror_commit c;
    struct reader r, late;

    open_reader(&r, m);
    open_reader(&late, m);
    start_reader(&r, m, false, 0, 0);
    mirror_commit(m, 0, &one, 1, &c);
    tell(&r, &c);
    read_all(&r);
    assert_int_equal(cloud_points(r.cloud), 1);
    one.kind = GPU_CHANGE_REMOVE;
    mirror_commit(m, 0, &one, 1, &c);
    tell(&r, &c);
    read_all(&r);
    assert_int_equal(r.n_deletes, 1);
    assert_int_equal(cloud_points(r.cloud), 0);
    start_reader(&late, m, false, 0, 0);
    read_all(&late);
    assert_int_equal(late.n_blocks, 0); /* what is gone is not told to a client that never had it */
    assert_int_equal(late.n_sync, 1);
    close_reader(&r);
    close_reader(&late);
    mirror_free(&m);
}

TEST(resume_sends_what_is_newer)
{
    struct mirror *m = new_mirror();
    struct mirror_summary then, now;
    struct mirror_commit c;
    struct reader r, again, other;
    int all;

    srand(3);
    begin_reader(&r, m);
    for (int i = 0; i < 20; i++) {
        commit(m, 100, 20000, &c);
        tell(&r, &c);
        read_all(&r);
    }
    mirror_summary(m, &then);
    all = (int)then.blocks;
    commit(m, 20, 20000, &c); /* while it was away */
    open_reader(&again, m);
    cloud_free(&again.cloud);
    again.cloud = r.cloud; /* the same client, a new connection */
    start_reader(&again, m, true, EPOCH, then.revision);
    read_all(&again);
    mirror_summary(m, &now);
    assert_int_equal(again.n_clears, 0);
    assert_true(again.n_blocks > 0 && again.n_blocks < 60 && all > 400);
    assert_true(again.sync.hash == now.hash && now.hash != then.hash);
    r.cloud = NULL;

    open_reader(&other, m); /* another epoch: all it holds is void */
    start_reader(&other, m, true, EPOCH + 1, then.revision);
    read_all(&other);
    assert_int_equal(other.n_clears, 1);
    assert_true(other.sync.hash == now.hash);
    close_reader(&other);
    open_reader(&other, m); /* a revision of the future */
    start_reader(&other, m, true, EPOCH, now.revision + 1);
    read_all(&other);
    assert_int_equal(other.n_clears, 1);
    close_reader(&other);
    close_reader(&again);
    outbox_free(&r.o);
    mirror_free(&m);
}

/* No line lasts for more than a few blocks, and the cloud goes on changing: the client has it all
 * the same in the end, and few blocks come twice. */
TEST(lines_that_last_for_three_blocks)
{
    struct mirror *m = new_mirror();
    struct mirror_summary now;
    struct mirror_commit c;
    struct mirror_entry e;
    struct reader r, next;
    int lines = 1, blocks = 0, all = 0;

    srand(9);
    for (int i = 0; i < 20; i++)
        commit(m, 100, 20000, &c);
    commit(m, 2000, 20000, &c); /* hundreds of blocks are of one revision */
    for (uint32_t i = 0; mirror_list(m, &e, i, 1); i++)
        all += e.n_points > 0;
    begin_reader(&r, m);
    while (r.n_sync == 0) {
        while (r.n_blocks < 3 && r.n_sync == 0)
            step(&r);
        blocks += r.n_blocks;
        if (r.n_sync)
            break;
        if (lines % 20 == 0 && lines <= 100) {
            commit(m, 5, 20000, &c);
            tell(&r, &c);
        }
        open_reader(&next, m);
        cloud_free(&next.cloud);
        next.cloud = r.cloud;
        next.held = r.held;
        outbox_free(&r.o);
        r = next;
        start_reader_at(&r, m, r.held.revision > 0, EPOCH, &r.held);
        assert_true(++lines < 2 * all);
    }
    mirror_summary(m, &now);
    assert_true(r.sync.hash == now.hash);
    assert_true(all > 400);
    /* each block once, but those that change; on the way the gone ones are told, too */
    assert_in_range(blocks, all - 100, (int)now.blocks + 100);
    close_reader(&r);
    mirror_free(&m);
}

struct committing {
    struct mirror *m;
    atomic_bool done;
};

/* Many points at once, which takes a while. */
static void *commit_much(void *arg)
{
    struct committing *c = arg;
    struct mirror_commit out;

    commit(c->m, SLOTS, 20000, &out);
    atomic_store(&c->done, true);
    return NULL;
}

/* The thread of a client is that of many others, so a commit holds none of them up: the client has
 * nothing to send meanwhile, and is woken when the commit is over, even if that changed nothing. */
TEST(a_commit_is_not_waited_for)
{
    struct mirror *m = new_mirror();
    struct committing c = {.m = m};
    struct mirror_summary now;
    struct mirror_commit first;
    enum stream_kind kind = STREAM_BINARY;
    struct reader r;
    pthread_t thread;
    bool waited = false;

    srand(11);
    commit(m, 2000, 20000, &first);
    for (int tries = 0; !waited && tries < 10000; tries++) {
        mirror_summary(m, &now);
        begin_reader(&r, m);
        atomic_store(&c.done, false);
        assert_int_equal(pthread_create(&thread, NULL, commit_much, &c), 0);
        do
            kind = step(&r);
        while (kind != STREAM_NONE && !atomic_load(&c.done));
        waited = kind == STREAM_NONE && r.n_sync == 0;
        assert_int_equal(pthread_join(thread, NULL), 0);
        if (waited) {
            assert_true(outbox_mark(r.o, NULL, 0, now.revision));
            assert_false(outbox_mark(r.o, NULL, 0, now.revision));
            while (step(&r) != STREAM_NONE)
                ;
            assert_true(r.n_blocks > 0);
        }
        close_reader(&r);
    }
    assert_true(waited);
    mirror_free(&m);
}

TEST(answers_are_bounded_by_what_is_in_flight)
{
    struct control_ack ack = {.status = CONTROL_USED};
    struct mirror *m = new_mirror();
    struct err err = {0};
    struct reader r;

    begin_reader(&r, m);
    for (int i = 0; i < 16; i++)
        assert_int_equal(outbox_admit(r.o, NULL), 0);
    assert_int_equal(outbox_admit(r.o, &err), ERR_LIMIT);
    assert_string_equal(err.where, "flood");
    for (ack.seq = 0; ack.seq < 10; ack.seq++)
        outbox_ack(r.o, &ack);
    assert_int_equal(outbox_admit(r.o, NULL), ERR_LIMIT); /* unread answers count as well */
    outbox_end(r.o);
    read_all(&r);
    assert_int_equal(r.n_acks, 10);
    for (int i = 0; i < 10; i++)
        assert_int_equal(r.acks[i].seq, i);
    assert_int_equal(r.n_ended, 0); /* six are under way */
    for (int i = 0; i < 6; i++, ack.seq++)
        outbox_ack(r.o, &ack);
    read_all(&r);
    assert_int_equal(r.n_ended, 1);
    assert_int_equal(r.n_closed, 0);
    assert_int_equal(r.n_acks, 16);
    outbox_session_closed(r.o);
    read_all(&r);
    assert_int_equal(r.n_closed, 1);
    for (int i = 0; i < 50; i++) { /* round and round the ring */
        assert_int_equal(outbox_admit(r.o, NULL), 0);
        outbox_ack(r.o, &ack);
        step(&r);
    }
    assert_int_equal(r.n_acks, 66);
    close_reader(&r);
    mirror_free(&m);
}

TEST(a_farewell_waits_or_does_not)
{
    const struct control_bye bye = {CONTROL_RECONNECT, 2000, "later"};
    struct control_ack ack = {.seq = 5};
    struct mirror *m = new_mirror();
    struct mirror_commit c;
    struct reader patient, hasty, stranger;

    open_reader(&patient, m);
    open_reader(&hasty, m);
    open_reader(&stranger, m); /* never says `start` */
    start_reader(&patient, m, false, 0, 0);
    start_reader(&hasty, m, false, 0, 0);
    assert_int_equal(outbox_admit(patient.o, NULL), 0);
    commit(m, 500, 20000, &c);
    tell(&patient, &c);
    tell(&hasty, &c);
    outbox_bye(patient.o, &bye, OUTBOX_COMPLETE);
    outbox_bye(hasty.o, &bye, OUTBOX_AT_ONCE);
    outbox_bye(stranger.o, &bye, OUTBOX_COMPLETE);
    read_all(&patient);
    assert_int_equal(patient.n_bye, 0); /* a frame is under way */
    outbox_ack(patient.o, &ack);
    read_all(&patient);
    assert_int_equal(patient.n_acks, 1);
    assert_int_equal(patient.n_bye, 0); /* the last answer goes before its session is closed */
    outbox_session_closed(patient.o);
    read_all(&patient);
    assert_int_equal(patient.n_closed, 1);
    assert_int_equal(patient.n_bye, 1);
    assert_int_equal(patient.bye.action, CONTROL_RECONNECT);
    assert_int_equal(patient.bye.retry_ms, 2000);
    assert_int_equal(patient.n_sync, 1);
    assert_int_equal(step(&patient), STREAM_CLOSE);
    read_all(&hasty);
    assert_int_equal(hasty.n_blocks, 0);
    assert_int_equal(hasty.n_bye, 1);
    assert_int_equal(step(&hasty), STREAM_CLOSE);
    assert_int_equal(step(&hasty), STREAM_CLOSE);
    read_all(&stranger); /* nothing of the session is told to one that did not start */
    assert_int_equal(stranger.n_closed, 0);
    assert_int_equal(stranger.n_bye, 1);
    close_reader(&stranger);
    close_reader(&patient);
    close_reader(&hasty);
    mirror_free(&m);
}

/* The real arrangement: one thread commits and marks, another reads; a hash is checked at every
 * sync. */
struct race {
    struct mirror *m;
    struct reader r;
    int done;
};

static void *committer(void *arg)
{
    struct race *race = arg;
    struct mirror_commit c;

    for (int i = 0; i < 300; i++) {
        commit(race->m, 60, 6000, &c);
        outbox_mark(race->r.o, c.changed, c.n_changed, c.revision);
    }
    __atomic_store_n(&race->done, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

TEST(a_sync_is_true_while_commits_go_on)
{
    static struct race race;
    struct mirror_summary end;
    pthread_t thread;

    race.m = new_mirror();
    open_reader(&race.r, race.m);
    pthread_create(&thread, NULL, committer, &race);
    start_reader(&race.r, race.m, false, 0, 0);
    while (!__atomic_load_n(&race.done, __ATOMIC_SEQ_CST))
        read_all(&race.r);
    pthread_join(thread, NULL);
    read_all(&race.r);
    mirror_summary(race.m, &end);
    assert_int_equal(end.revision, 300);
    assert_true(race.r.sync.hash == end.hash);
    assert_true(race.r.n_sync > 0);
    close_reader(&race.r);
    mirror_free(&race.m);
}

/* A result of 40 plain bytes behind its header, all of them `seq`. */
static struct frame_result *new_result(struct results *all, uint64_t seq)
{
    struct frame_result *r = results_take(all, 60);

    assert_non_null(r);
    memset(r->msg, (int)seq, 60);
    memcpy(r->msg, (uint8_t[8]){0x20, 1, 0, 0, 20, 0, 0, 0}, 8);
    r->len = 60;
    r->seq = seq;
    return r;
}

/* Frames 1 ... 6, all used but the third. Returns the first result, to be compared alone. */
static const struct frame_result *six_frames(struct results *all, struct outbox *in,
                                             struct outbox *view)
{
    const struct frame_result *first = NULL;

    for (uint64_t seq = 1; seq <= 6; seq++) {
        const struct control_ack ack = {.seq = seq,
                                        .status = seq == 3 ? CONTROL_DROPPED : CONTROL_USED};
        struct frame_result *r = new_result(all, seq);

        first = first ? first : r;
        assert_int_equal(outbox_admit(in, NULL), 0);
        if (ack.status == CONTROL_USED) {
            outbox_result(in, r, true);
            outbox_result(view, r, false);
        }
        outbox_ack(in, &ack);
        results_unref(r);
    }
    return first;
}

/* The sender gets each before its ack, a viewer that was slow the newest only; what all have read
 * is used again. */
TEST(results_come_before_their_acks)
{
    struct mirror *m = new_mirror();
    struct reader in, view;
    struct results *all;
    const struct frame_result *first;
    struct frame_result *again[5];
    struct outbox_sent sent;
    const uint8_t *msg;
    size_t len;
    int n = 0;

    assert_int_equal(results_new(&all, NULL), 0);
    begin_reader(&in, m);
    begin_reader(&view, m);
    first = six_frames(all, in.o, view.o);
    assert_int_equal(outbox_next(in.o, &msg, &len, &sent), STREAM_TEXT); /* ready */
    for (uint64_t seq = 1; seq <= 6; seq++) {
        char wanted[32];

        if (seq != 3) {
            assert_int_equal(outbox_next(in.o, &msg, &len, &sent), STREAM_BINARY);
            assert_int_equal(msg[0], 0x20);
            assert_int_equal(msg[2], CODEC_DEFLATE);
            assert_int_equal(msg[8], seq);
            assert_int_equal(sent.bytes, len);
        }
        assert_int_equal(outbox_next(in.o, &msg, &len, &sent), STREAM_TEXT);
        snprintf(wanted, sizeof wanted, "\"seq\":%d,", (int)seq);
        assert_non_null(memmem(msg, len, wanted, strlen(wanted)));
        if (seq == 1) { /* what waits of the cloud goes between two results */
            assert_int_equal(outbox_next(in.o, &msg, &len, &sent), STREAM_BINARY);
            assert_int_equal(msg[0], DELTA_CLEAR);
        }
    }
    outbox_next(view.o, &msg, &len, &sent); /* ready */
    for (enum stream_kind kind;
         (kind = outbox_next(view.o, &msg, &len, &sent)) != STREAM_NONE && n < 9;)
        if (kind == STREAM_BINARY && msg[0] == 0x20) {
            assert_int_equal(msg[8], 6);
            n++;
        }
    assert_int_equal(n, 1);
    close_reader(&in);
    close_reader(&view);
    for (n = 0; n < 5; n++) /* that of frame 3 was used again for frame 4 */
        again[n] = new_result(all, 9);
    for (n = 0; n < 5 && again[n] != first; n++)
        ;
    assert_true(n < 5);
    for (n = 0; n < 5; n++)
        results_unref(again[n]);
    results_free(&all);
    mirror_free(&m);
}
