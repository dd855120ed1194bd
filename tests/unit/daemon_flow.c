/*
 * daemon_flow.c - how fast frames may come: what a session takes of them by `fps`, what its clients
 * are told of rate and quality, and what becomes of frames beyond the window where none may be lost
 */
#include "daemon/session/pace.h"
#include "daemon/session/session.h"
#include "tests/support/core_rig.h"
#include "tests/support/unit.h"

static void end(struct rig_client *c)
{
    const struct control_message m = {.op = CONTROL_END};

    assert_int_equal(core_ops.stream_control(c->s, &m, NULL), 0);
}

TEST(fps_is_held_by_capture_time)
{
    static struct rig_client in;
    struct session_options o = rig_options();
    struct session_info info;
    int used = 0, soon = 0;

    o.fps = 1;
    rig_begin(&in, &o);
    for (uint64_t seq = 0; seq < 132; seq++) { /* 4.4 s of a camera, as fast as the device can */
        rig_step(&in, seq, (int)seq + 1);
        used += in.acks[seq].status == CONTROL_USED;
        soon += in.acks[seq].status == CONTROL_DROPPED && in.acks[seq].reason == CONTROL_TOO_SOON;
    }
    assert_int_equal(used, 5);
    assert_int_equal(soon, 127);
    info = rig_info(in.id);
    assert_int_equal(info.counts.received, 132);
    assert_int_equal(info.counts.dropped, 127);
    assert_int_equal(info.counts.queued, 0);
    rig_end(&in);
}

TEST(clients_are_told_what_is_of_use)
{
    static struct rig_client in;
    struct session_options o = rig_options();
    float told = 0;
    int times = 0;

    o.fps = 20;
    rig_begin(&in, &o);
    rig_read_all(&in);
    assert_true(in.ready.rate == 20);
    assert_int_equal(in.ready.jpeg, PACE_JPEG_MAX);
    assert_true(in.ready.features & 1u << CONTROL_PACE);
    fake_gpu_plan.delay_us = 200000; /* the device does five a second at best */
    for (int i = 0; i < 24; i++) {
        struct frame f = rig_frame((uint64_t)i + 1);
        f.t_capture_ns = (uint64_t)(i + 1) * 50000000;
        assert_int_equal(rig_ask(&in, &f, i < 4 ? 0 : i - 3), 0); /* four are under way */
    }
    rig_wait_acks(&in, 24);
    for (int i = 0; i < 24; i++)
        if (in.acks[i].rate > 0) {
            told = in.acks[i].rate;
            times++;
        }
    assert_in_range(times, 1, 14); /* where it differs, not with each */
    assert_true(told > 0 && told < 7);
    rig_end(&in);
}

/* Sends again, as PROTOCOL.md asks, what was answered `later`, until all are used. Returns how
 * often a frame was sent. */
static int send_patiently(struct rig_client *c, uint64_t first, uint64_t last, bool ends)
{
    int sent = 0, from = c->n_acks;

    while (first <= last) {
        uint64_t next = last + 1;
        for (uint64_t seq = first; seq <= last; seq++, sent++)
            rig_send(c, seq);
        if (ends)
            end(c);
        ends = false;
        rig_wait_acks(c, from + sent);
        for (int i = from + sent - (int)(last - first + 1); i < c->n_acks; i++) {
            const struct control_ack *a = &c->acks[i];
            if (a->status != CONTROL_LATER) {
                assert_int_equal(a->status, CONTROL_USED);
                continue;
            }
            assert_in_range(a->retry_ms, 20, 5000);
            next = a->seq < next ? a->seq : next;
        }
        first = next;
    }
    return sent;
}

TEST(lossless_loses_nothing)
{
    static struct rig_client in;
    struct session_options o = rig_options();
    struct session_info info;
    uint64_t before = 0;
    int used = 0;

    o.mode = SESSION_LOSSLESS;
    o.fps = 1; /* that none may be lost comes first */
    rig_begin(&in, &o);
    fake_gpu_plan.delay_us = 3000;
    assert_true(send_patiently(&in, 1, 30, false) > 30); /* at once, not as the window has it */
    assert_true(send_patiently(&in, 31, 50, true) > 20); /* `end` waits for them */
    for (int i = 0; i < in.n_acks; i++) {
        if (in.acks[i].status != CONTROL_USED)
            continue;
        assert_true(in.acks[i].seq > before); /* none overtakes another */
        before = in.acks[i].seq;
        used++;
    }
    assert_int_equal(used, 50);
    for (int i = 0; i < 5000 && !in.ended; i++, usleep(1000))
        rig_read_all(&in);
    assert_int_equal(in.ended, 1);
    rig_step(&in, 51, in.n_acks + 1);
    assert_int_equal(in.acks[in.n_acks - 1].reason, CONTROL_AFTER_END);
    info = rig_info(in.id);
    assert_int_equal(info.counts.received, 51);
    assert_int_equal(info.counts.used, 50);
    assert_int_equal(info.counts.queued, 0);
    rig_end(&in);
}

/* A client that does not wait gets nothing in before the frame that was `later`; a new
 * connection is free. */
TEST(none_overtakes_a_frame_that_comes_later)
{
    static struct rig_client in, again;
    struct session_options o = rig_options();

    o.mode = SESSION_LOSSLESS;
    rig_begin(&in, &o);
    fake_gpu_plan.hold = true;
    for (uint64_t seq = 1; seq <= 9; seq++)
        rig_send(&in, seq);
    rig_wait_acks(&in, 1);
    assert_int_equal(in.acks[0].seq, 9);
    assert_int_equal(in.acks[0].status, CONTROL_LATER);
    fake_gpu_plan.hold = false;
    rig_wait_acks(&in, 9);
    rig_step(&in, 10, 10);
    assert_int_equal(in.acks[9].status, CONTROL_LATER);
    rig_connect(&again, in.id, CONTROL_INGEST);
    rig_step(&again, 10, 1);
    assert_int_equal(again.acks[0].status, CONTROL_USED);
    rig_disconnect(&again);
    rig_end(&in);
}

/* Each source has its clock: what one sends makes no frame of the other too soon. What is of use is
 * shared by those that send. */
TEST(sources_have_paces_of_their_own)
{
    static struct rig_client left, right;
    struct session_options o = rig_options();
    char id[API_ID_CAP];
    int used = 0;

    o.fps = 2;
    rig_open();
    rig_session(&o, id);
    rig_connect_source(&left, id, "left");
    rig_connect_source(&right, id, "right");
    rig_read_all(&left);
    rig_read_all(&right);
    assert_true(left.ready.rate == 2 && right.ready.rate == 1);
    for (uint64_t seq = 0; seq < 61; seq++) { /* two seconds of each, whose clocks are far apart */
        struct frame f = rig_frame(seq);
        rig_ask(&left, &f, (int)seq + 1);
        f.t_capture_ns += UINT64_C(1) << 50;
        rig_ask(&right, &f, (int)seq + 1);
        used += left.acks[seq].status == CONTROL_USED;
        used += right.acks[seq].status == CONTROL_USED;
    }
    assert_in_range(used, 10, 12);
    assert_true(left.acks[0].rate == 1); /* it shares now, and is told */
    rig_disconnect(&right);
    rig_end(&left);
}
