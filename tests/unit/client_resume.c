/* A client's stream that loses its connection: what it asks for on the next one, what it sends
 * again, when it comes back by itself and when it does not. Takes 9 s: pauses. */
#include "tests/support/stream_play.h"
#include "tests/support/unit.h"

#include <time.h>

/* ------------------------------------------------------------------------- resuming */

static void play_break(struct ws_fake *s)
{
    struct frame f;

    WS_FAKE_EXPECT(s, ws_fake_receive(s) == 1);
    if (s->connections == 1) {
        WS_FAKE_EXPECT(s, !strstr((char *)s->message, "resume"));
        ws_fake_text(s, READY);
        send_block(s, DELTA_PUT, 4, 0, 2, 0, 2, 0);
        send_sync(s, 4, 2, false);
        for (int i = 0; i < 2; i++)
            WS_FAKE_EXPECT(s, ws_fake_receive(s) == 2);
        ws_fake_text(s, "{\"op\":\"ack\",\"seq\":0,\"status\":\"used\"}");
        return; /* the line breaks with frame 1 unanswered */
    }
    WS_FAKE_EXPECT(s,
                   strstr((char *)s->message, "\"resume\":{\"epoch\":7,\"revision\":4}") != NULL);
    ws_fake_text(s, READY);
    WS_FAKE_EXPECT(s, ws_fake_receive(s) == 2);
    WS_FAKE_EXPECT(s, frame_parse(&f, s->message, s->len, FRAME_POSE_CV, NULL) == 0);
    WS_FAKE_EXPECT(s, f.seq == 1);
    ws_fake_text(s, "{\"op\":\"ack\",\"seq\":1,\"status\":\"used\"}");
    send_block(s, DELTA_PATCH, 5, 4, 3, 2, 1, 0);
    send_sync(s, 5, 3, false);
    ws_fake_receive(s);
}

STREAM_TEST(a_broken_line_is_resumed)
{
    stream_open(play_break);
    assert_int_equal(run_until(&seen.syncs, 1), 0);
    for (uint64_t i = 0; i < 2; i++)
        stream_send(i);
    assert_int_equal(run_until(NULL, 0), ERR_IO);
    assert_int_equal(seen.acks, 1);
    assert_int_equal(client_stream_reopen(stream, server.url, "secret", &err), 0);
    assert_int_equal(run_until(&seen.syncs, 2), 0);
    assert_int_equal(seen.acks, 2);
    assert_true(seen.equal);
    assert_int_equal(seen.points, 3);
    stream_close();
}

/* A server whose blocks come in order, as it says from its second connection on: the line breaks
 * before the first `sync`. */
static void play_break_on_the_way(struct ws_fake *s)
{
    static const char ready[] =
        "{\"op\":\"ready\",\"session\":\"a\",\"epoch\":7,\"revision\":4,\"codec\":\"raw\","
        "\"step_m\":0.001,\"limits\":{\"window\":3,\"max_frame_bytes\":5000},\"net\":[64,64],"
        "\"features\":[\"%s\"]}";
    const struct cloud_name name = block.name;
    char resume[160], text[256];

    WS_FAKE_EXPECT(s, ws_fake_receive(s) == 1);
    snprintf(resume, sizeof resume,
             "\"resume\":{\"epoch\":7,\"revision\":4,\"block\":[%u,%d,%d,%d]}",
             (unsigned)name.submap, (int)name.x, (int)name.y, (int)name.z);
    WS_FAKE_EXPECT(s, !strstr((char *)s->message, s->connections <= 2 ? "resume" : "none such"));
    WS_FAKE_EXPECT(s, s->connections <= 2 || strstr((char *)s->message, resume));
    snprintf(text, sizeof text, ready, s->connections == 1 ? "parts" : "order");
    ws_fake_text(s, text);
    if (s->connections <= 2) {
        send_block(s, DELTA_PUT, 4, 0, 2, 0, 2, 0);
        return;
    }
    if (s->connections == 3) { /* changed since `ready`: others may lie before it */
        send_block(s, DELTA_PATCH, 5, 4, 3, 2, 1, 0);
        return;
    }
    send_sync(s, 5, 3, false);
    ws_fake_receive(s);
}

STREAM_TEST(a_line_that_breaks_on_the_way_is_resumed_there)
{
    stream_open(play_break_on_the_way);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(run_until(NULL, 0), ERR_IO);
        assert_int_equal(client_stream_reopen(stream, server.url, "secret", &err), 0);
    }
    assert_int_equal(run_until(&seen.syncs, 1), 0);
    assert_true(seen.equal);
    stream_close();
}

/* ------------------------------------------------------------------------- by itself */

static struct script {
    int connections;                    /* that are cut before the last one */
    const char *bye;                    /* said before each cut, or NULL */
    uint64_t first_seq[16], starts[16]; /* of each connection; 1 = resume, 2 = as a viewer */
} script;

/* READY with another window and epoch. */
static const char *ready_text(int window, int epoch)
{
    static char text[256];

    snprintf(text, sizeof text,
             "{\"op\":\"ready\",\"session\":\"a\",\"epoch\":%d,\"revision\":0,"
             "\"codec\":\"raw\",\"step_m\":0.001,\"limits\":{\"window\":%d,"
             "\"max_frame_bytes\":5000},\"net\":[64,64]}",
             epoch, window);
    return text;
}

static void note_start(struct ws_fake *s)
{
    int n = s->connections - 1;

    WS_FAKE_EXPECT(s, ws_fake_receive(s) == 1);
    script.starts[n] = (strstr((char *)s->message, "\"resume\"") ? 1u : 0u) |
                       (strstr((char *)s->message, "\"role\":\"view\"") ? 2u : 0u);
}

static uint64_t next_seq(struct ws_fake *s)
{
    struct frame f = {0};

    WS_FAKE_EXPECT(s, ws_fake_receive(s) == 2);
    WS_FAKE_EXPECT(s, frame_parse(&f, s->message, s->len, FRAME_POSE_CV, NULL) == 0);
    return f.seq;
}

static void say_ack(struct ws_fake *s, uint64_t seq, const char *status)
{
    char text[128];

    snprintf(text, sizeof text, "{\"op\":\"ack\",\"seq\":%d,\"status\":\"%s\"}", (int)seq, status);
    ws_fake_text(s, text);
}

/* Every connection but the last is cut after one frame was taken and not answered, and after one
 * more in the kernel; the last one has had all of them already but the newest. */
static void play_cuts(struct ws_fake *s)
{
    uint64_t seq;

    note_start(s);
    ws_fake_text(s, READY);
    script.first_seq[s->connections - 1] = next_seq(s);
    if (s->connections <= script.connections) {
        if (s->connections == 1) {
            send_block(s, DELTA_PUT, 4, 0, 2, 0, 2, 0);
            send_sync(s, 4, 2, false);
        }
        if (script.bye)
            ws_fake_text(s, script.bye);
        return;
    }
    say_ack(s, 0, "dropped\",\"again\":true,\"reason\":\"overload");
    for (int i = 1; i < 3; i++) {
        seq = next_seq(s);
        WS_FAKE_EXPECT(s, seq == (uint64_t)i);
        say_ack(s, seq, i == 2 ? "used" : "dropped\",\"again\":true,\"reason\":\"overload");
    }
    send_block(s, DELTA_PATCH, 5, 4, 3, 2, 1, 0);
    send_sync(s, 5, 3, false);
    WS_FAKE_EXPECT(s, ws_fake_receive(s) == 1);
    WS_FAKE_EXPECT(s, strcmp((char *)s->message, "{\"op\":\"end\"}") == 0);
    send_sync(s, 5, 3, true);
    ws_fake_receive(s);
}

static void run_cuts(const char *bye, int at_least_ms)
{
    struct client_stream_stats stats;

    script = (struct script){.connections = 3, .bye = bye};
    how.reconnect_s = 20;
    stream_open(play_cuts);
    assert_int_equal(run_until(&seen.ready, 1), 0);
    for (uint64_t i = 0; i < 3; i++)
        stream_send(i);
    assert_int_equal(client_stream_unanswered(stream), 3);
    assert_int_equal(client_stream_end(stream, &err), 0);
    assert_int_equal(run_until(&seen.acks, 3), 0);
    assert_int_equal(seen.lost, 3);
    assert_true(seen.retry_ms >= at_least_ms);
    assert_int_equal(run_until(&seen.ended, 1), 0);
    assert_int_equal(seen.syncs, 3);
    assert_true(seen.equal && client_stream_connected(stream));
    client_stream_get_stats(stream, &stats);
    assert_int_equal(stats.reconnects, 3);
    assert_int_equal(stats.duplicates, 2); /* frame 2 was used, whatever was sent again */
    assert_int_equal(stats.frames_sent, 3);
    assert_int_equal(stats.frames_answered, 3);
    assert_int_equal(client_stream_unanswered(stream), 0);
    stream_close();
    for (int i = 0; i < 4; i++) {
        assert_int_equal(script.first_seq[i], 0);   /* unanswered frames begin every connection */
        assert_int_equal(script.starts[i], i != 0); /* with the revision of the first one's sync */
    }
}

STREAM_TEST(a_stream_comes_back_by_itself)
{
    run_cuts(NULL, 50);
    run_cuts("{\"op\":\"bye\",\"action\":\"reconnect\",\"retry_ms\":300,\"reason\":\"draining\"}",
             300);
}

/* The frames are answered and the end was said: what is left to come needs a viewer. */
static void play_late(struct ws_fake *s)
{
    note_start(s);
    ws_fake_text(s, READY);
    if (s->connections == 1) {
        say_ack(s, next_seq(s), "used");
        WS_FAKE_EXPECT(s, ws_fake_receive(s) == 1); /* end */
        return;
    }
    send_block(s, DELTA_PUT, 1, 0, 2, 0, 2, 0);
    send_sync(s, 1, 2, false);
    ws_fake_receive(s);
}

STREAM_TEST(after_the_end_it_comes_back_as_a_viewer)
{
    script = (struct script){0};
    how.reconnect_s = 20;
    stream_open(play_late);
    assert_int_equal(run_until(&seen.ready, 1), 0);
    stream_send(0);
    assert_int_equal(client_stream_end(stream, &err), 0);
    assert_int_equal(run_until(&seen.syncs, 1), 0);
    assert_true(seen.equal && seen.ended);
    stream_close();
    assert_int_equal(script.starts[0], 0);
    assert_int_equal(script.starts[1], 2);
}

/* A restart that lost the cloud: another epoch, a clear, other points. And a smaller window. */
static void play_epoch(struct ws_fake *s)
{
    struct delta clear = {.op = DELTA_CLEAR, .codec = CODEC_RAW, .epoch = 8, .revision = 0};
    struct delta put = {.op = DELTA_PUT, .codec = CODEC_RAW, .epoch = 8, .revision = 1};
    const uint8_t *msg;
    size_t len;

    note_start(s);
    if (s->connections == 1) {
        ws_fake_text(s, READY);
        send_block(s, DELTA_PUT, 9, 0, 3, 0, 3, 0);
        send_sync(s, 9, 3, false);
        for (int i = 0; i < 3; i++)
            next_seq(s);
        return;
    }
    ws_fake_text(s, ready_text(1, 8));
    if (delta_encode(block.scratch, &clear, &msg, &len, NULL))
        abort();
    ws_fake_send(s, 2, msg, len, 0);
    put.name = block.name;
    put.n_points = put.n_added = 2;
    put.added = block.keys;
    if (delta_encode(block.scratch, &put, &msg, &len, NULL))
        abort();
    ws_fake_send(s, 2, msg, len, 0);
    send_sync(s, 1, 2, false);
    for (uint64_t i = 0; i < 3; i++) { /* one at a time now */
        struct timeval soon = {.tv_usec = 200000}, never = {0};
        uint8_t byte;

        WS_FAKE_EXPECT(s, next_seq(s) == i);
        setsockopt(s->fd, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon);
        WS_FAKE_EXPECT(s, recv(s->fd, &byte, 1, MSG_PEEK) < 0);
        setsockopt(s->fd, SOL_SOCKET, SO_RCVTIMEO, &never, sizeof never);
        say_ack(s, i, "used");
    }
    ws_fake_receive(s);
}

STREAM_TEST(another_epoch_starts_the_mirror_anew)
{
    struct frame f;

    script = (struct script){0};
    how.reconnect_s = 20;
    stream_open(play_epoch);
    assert_int_equal(run_until(&seen.syncs, 1), 0);
    assert_true(seen.equal && seen.points == 3);
    for (uint64_t i = 0; i < 3; i++)
        stream_send(i);
    assert_int_equal(run_until(&seen.syncs, 2), 0);
    assert_true(seen.equal && seen.points == 2);
    assert_int_equal(cloud_epoch(client_stream_cloud(stream)), 8);
    assert_int_equal(run_until(&seen.acks, 3), 0);
    assert_int_equal(client_stream_window(stream), 1);
    f = frame(2);
    assert_int_equal(client_stream_send(stream, &f, &err), ERR_INPUT); /* numbers only rise */
    stream_close();
}

/* Another client took the session over, or it is over, or this one may not. */
static void play_last_word(struct ws_fake *s)
{
    note_start(s);
    if (strstr(script.bye, "\"bye\""))
        ws_fake_text(s, READY);
    ws_fake_text(s, script.bye);
    ws_fake_close(s, strstr(script.bye, "\"bye\"") ? 1000 : 1008, "");
    ws_fake_receive(s);
}

STREAM_TEST(who_was_sent_away_stays_away)
{
    static const struct {
        const char *text;
        int code;
    } cases[] = {
        {"{\"op\":\"bye\",\"action\":\"disconnect\",\"retry_ms\":0,"
         "\"reason\":\"another client sends frames now\"}",
         ERR_END},
        {"{\"op\":\"error\",\"type\":\"closed\",\"status\":409,\"title\":\"x\",\"detail\":\"no\"}",
         ERR_STATE},
        {"{\"op\":\"error\",\"type\":\"forbidden\",\"status\":403,\"title\":\"x\",\"detail\":"
         "\"no\"}",
         ERR_DENIED},
    };

    script = (struct script){0};
    how.reconnect_s = 20;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        script.bye = cases[i].text;
        stream_open(play_last_word);
        assert_int_equal(run_until(NULL, 0), cases[i].code);
        for (int k = 0; k < 4; k++)
            assert_int_equal(client_stream_run(stream, 50, &err), cases[i].code);
        assert_int_equal(seen.lost, 0);
        assert_int_equal(server.connections, 1);
        stream_close();
    }
}

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void play_never(struct ws_fake *s)
{
    WS_FAKE_EXPECT(s, false);
}

/* A busy server is asked again when it said, others as often as was allowed. */
STREAM_TEST(giving_up_has_its_time)
{
    double begin;

    ws_fake_start(&server, play_never, NULL);
    server.refuse = 503;
    server.refuse_header = "Retry-After: 1\r\n";
    how.reconnect_s = 2.5;
    stream_connect();
    begin = seconds();
    assert_int_equal(run_until(NULL, 0), ERR_BUSY);
    assert_true(seen.retry_ms >= 1000);
    assert_true(seconds() - begin >= 1.0);
    assert_in_range(server.connections, 1, 3); /* at 0, 1.1 and 2.2 s, on a calm machine */
    stream_close();

    ws_fake_start(&server, play_never, NULL);
    server.refuse = 503;
    how.reconnect_s = 60;
    how.reconnect_attempts = 2;
    stream_connect();
    assert_int_equal(run_until(NULL, 0), ERR_BUSY);
    assert_int_equal(server.connections, 3);
    stream_close();

    ws_fake_start(&server, play_never, NULL);
    server.refuse = 404;
    stream_connect();
    assert_int_equal(run_until(NULL, 0), ERR_NOT_FOUND);
    assert_int_equal(server.connections, 1);
    stream_close();
}

/* The first connection is open and dead: pings are read and not answered. */
static void play_dead(struct ws_fake *s)
{
    int pings = 0;

    ws_fake_receive(s);
    ws_fake_text(s, READY);
    if (s->connections == 1) {
        while (!s->closed && ws_fake_receive(s) == 9)
            pings++;
        WS_FAKE_EXPECT(s, pings >= 1);
        return;
    }
    ws_fake_text(s, "{\"op\":\"sync\",\"revision\":0,\"points\":0,\"hash\":\"0000000000000000\"}");
    while (ws_fake_receive(s) == 9) /* alive: every ping has its answer */
        ws_fake_send(s, 10, "", 0, 0);
}

STREAM_TEST(a_half_open_connection_is_noticed)
{
    double begin;

    ws_fake_start(&server, play_dead, NULL);
    server.pings = true;
    how.reconnect_s = 60;
    how.ping_ms = 100;
    how.hangup_ms = 200; /* 200 ms * 10: the kernel of the dead one still acknowledges */
    stream_connect();
    begin = seconds();
    assert_int_equal(run_until(&seen.syncs, 1), 0);
    assert_true(seconds() - begin >= 2);
    assert_int_equal(seen.lost, 1);
    begin = seconds();
    while (seconds() - begin < 4) /* silent but for its pongs, and kept */
        assert_int_equal(client_stream_run(stream, 50, &err), 0);
    assert_int_equal(seen.lost, 1);
    assert_true(client_stream_connected(stream));
    stream_close();
}
