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

TEST(a_broken_line_is_resumed)
{
    struct block_case b;
    struct ws_fake *server = malloc(sizeof *server);
    struct client_stream *s;
    struct seen seen;
    struct frame f;
    struct err err = {0};

    assert_non_null(server);
    block_case_open(&b);
    ws_fake_start(server, play_break, &b);
    s = open_stream(server, &seen);
    assert_int_equal(run_until(s, &seen.syncs, 1, &err), 0);
    for (uint64_t i = 0; i < 2; i++) {
        f = frame(i);
        assert_int_equal(client_stream_send(s, &f, &err), 0);
    }
    assert_int_equal(run_until(s, NULL, 0, &err), ERR_IO);
    assert_int_equal(seen.acks, 1);
    assert_int_equal(client_stream_reopen(s, server->url, "secret", &err), 0);
    assert_int_equal(run_until(s, &seen.syncs, 2, &err), 0);
    assert_int_equal(seen.acks, 2);
    assert_true(seen.equal);
    assert_int_equal(seen.points, 3);
    client_stream_close(&s);
    stop(server);
    delta_scratch_free(&b.scratch);
    free(server);
}

/* A server whose blocks come in order, as it says from its second connection on: the line breaks
 * before the first `sync`. */
static void play_break_on_the_way(struct ws_fake *s)
{
    static const char ready[] =
        "{\"op\":\"ready\",\"session\":\"a\",\"epoch\":7,\"revision\":4,\"codec\":\"raw\","
        "\"step_m\":0.001,\"limits\":{\"window\":3,\"max_frame_bytes\":5000},\"net\":[64,64],"
        "\"features\":[\"%s\"]}";
    const struct cloud_name name = ((struct block_case *)s->ctx)->name;
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

TEST(a_line_that_breaks_on_the_way_is_resumed_there)
{
    struct block_case b;
    struct ws_fake *server = malloc(sizeof *server);
    struct client_stream *s;
    struct seen seen;
    struct err err = {0};

    assert_non_null(server);
    block_case_open(&b);
    ws_fake_start(server, play_break_on_the_way, &b);
    s = open_stream(server, &seen);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(run_until(s, NULL, 0, &err), ERR_IO);
        assert_int_equal(client_stream_reopen(s, server->url, "secret", &err), 0);
    }
    assert_int_equal(run_until(s, &seen.syncs, 1, &err), 0);
    assert_true(seen.equal);
    client_stream_close(&s);
    stop(server);
    delta_scratch_free(&b.scratch);
    free(server);
}

/* ------------------------------------------------------------------------- by itself */

struct script {
    struct block_case b; /* first: send_block() and send_sync() take the context for it */
    int connections;     /* that are cut before the last one */
    const char *bye;     /* said before each cut, or NULL */
    uint64_t first_seq[16], starts[16]; /* of each connection; 1 = resume, 2 = as a viewer */
};

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
    struct script *p = s->ctx;
    int n = s->connections - 1;

    WS_FAKE_EXPECT(s, ws_fake_receive(s) == 1);
    p->starts[n] = (strstr((char *)s->message, "\"resume\"") ? 1u : 0u) |
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
    struct script *p = s->ctx;
    uint64_t seq;

    note_start(s);
    ws_fake_text(s, READY);
    p->first_seq[s->connections - 1] = next_seq(s);
    if (s->connections <= p->connections) {
        if (s->connections == 1) {
            send_block(s, DELTA_PUT, 4, 0, 2, 0, 2, 0);
            send_sync(s, 4, 2, false);
        }
        if (p->bye)
            ws_fake_text(s, p->bye);
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
    struct script *p = calloc(1, sizeof *p);
    struct ws_fake *server = malloc(sizeof *server);
    struct client_stream_stats stats;
    struct client_stream *s;
    struct seen seen;
    struct frame f;
    struct err err = {0};

    assert_non_null(server);
    assert_non_null(p);
    block_case_open(&p->b);
    p->connections = 3;
    p->bye = bye;
    ws_fake_start(server, play_cuts, p);
    how.reconnect_s = 20;
    s = open_stream(server, &seen);
    assert_int_equal(run_until(s, &seen.ready, 1, &err), 0);
    for (uint64_t i = 0; i < 3; i++) {
        f = frame(i);
        assert_int_equal(client_stream_send(s, &f, &err), 0);
    }
    f = frame(2);
    assert_int_equal(client_stream_unanswered(s), 3);
    assert_int_equal(client_stream_end(s, &err), 0);
    assert_int_equal(run_until(s, &seen.acks, 3, &err), 0);
    assert_int_equal(seen.lost, 3);
    assert_true(seen.retry_ms >= at_least_ms);
    assert_int_equal(run_until(s, &seen.ended, 1, &err), 0);
    assert_int_equal(seen.syncs, 3);
    assert_true(seen.equal && client_stream_connected(s));
    client_stream_get_stats(s, &stats);
    assert_int_equal(stats.reconnects, 3);
    assert_int_equal(stats.duplicates, 2); /* frame 2 was used, whatever was sent again */
    assert_int_equal(stats.frames_sent, 3);
    assert_int_equal(stats.frames_answered, 3);
    assert_int_equal(client_stream_unanswered(s), 0);
    client_stream_close(&s);
    how.reconnect_s = 0;
    stop(server);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(p->first_seq[i], 0);   /* unanswered frames begin every connection */
        assert_int_equal(p->starts[i], i != 0); /* with the revision of the first one's sync */
    }
    delta_scratch_free(&p->b.scratch);
    free(server);
    free(p);
}

TEST(a_stream_comes_back_by_itself)
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

TEST(after_the_end_it_comes_back_as_a_viewer)
{
    struct script *p = calloc(1, sizeof *p);
    struct ws_fake *server = malloc(sizeof *server);
    struct client_stream *s;
    struct seen seen;
    struct frame f = frame(0);
    struct err err = {0};

    assert_non_null(server);
    assert_non_null(p);
    block_case_open(&p->b);
    ws_fake_start(server, play_late, p);
    how.reconnect_s = 20;
    s = open_stream(server, &seen);
    assert_int_equal(run_until(s, &seen.ready, 1, &err), 0);
    assert_int_equal(client_stream_send(s, &f, &err), 0);
    assert_int_equal(client_stream_end(s, &err), 0);
    assert_int_equal(run_until(s, &seen.syncs, 1, &err), 0);
    assert_true(seen.equal && seen.ended);
    client_stream_close(&s);
    how.reconnect_s = 0;
    stop(server);
    assert_int_equal(p->starts[0], 0);
    assert_int_equal(p->starts[1], 2);
    delta_scratch_free(&p->b.scratch);
    free(server);
    free(p);
}

/* A restart that lost the cloud: another epoch, a clear, other points. And a smaller window. */
static void play_epoch(struct ws_fake *s)
{
    struct block_case *b = s->ctx;
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
    if (delta_encode(b->scratch, &clear, &msg, &len, NULL))
        abort();
    ws_fake_send(s, 2, msg, len, 0);
    put.name = b->name;
    put.n_points = put.n_added = 2;
    put.added = b->keys;
    if (delta_encode(b->scratch, &put, &msg, &len, NULL))
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

TEST(another_epoch_starts_the_mirror_anew)
{
    struct script *p = calloc(1, sizeof *p);
    struct ws_fake *server = malloc(sizeof *server);
    struct client_stream *s;
    struct seen seen;
    struct frame f;
    struct err err = {0};

    assert_non_null(server);
    assert_non_null(p);
    block_case_open(&p->b);
    ws_fake_start(server, play_epoch, p);
    how.reconnect_s = 20;
    s = open_stream(server, &seen);
    assert_int_equal(run_until(s, &seen.syncs, 1, &err), 0);
    assert_true(seen.equal && seen.points == 3);
    for (uint64_t i = 0; i < 3; i++) {
        f = frame(i);
        assert_int_equal(client_stream_send(s, &f, &err), 0);
    }
    f = frame(3);
    assert_int_equal(run_until(s, &seen.syncs, 2, &err), 0);
    assert_true(seen.equal && seen.points == 2);
    assert_int_equal(cloud_epoch(client_stream_cloud(s)), 8);
    assert_int_equal(run_until(s, &seen.acks, 3, &err), 0);
    assert_int_equal(client_stream_window(s), 1);
    f = frame(2);
    assert_int_equal(client_stream_send(s, &f, &err), ERR_INPUT); /* numbers only rise */
    client_stream_close(&s);
    how.reconnect_s = 0;
    stop(server);
    delta_scratch_free(&p->b.scratch);
    free(server);
    free(p);
}

/* Another client took the session over, or it is over, or this one may not. */
static void play_last_word(struct ws_fake *s)
{
    struct script *p = s->ctx;

    note_start(s);
    if (strstr(p->bye, "\"bye\""))
        ws_fake_text(s, READY);
    ws_fake_text(s, p->bye);
    ws_fake_close(s, strstr(p->bye, "\"bye\"") ? 1000 : 1008, "");
    ws_fake_receive(s);
}

TEST(who_was_sent_away_stays_away)
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
    struct ws_fake *server = malloc(sizeof *server);
    struct script *p = calloc(1, sizeof *p);
    struct client_stream *s;
    struct seen seen;
    struct err err = {0};

    assert_non_null(server);
    assert_non_null(p);
    block_case_open(&p->b);
    how.reconnect_s = 20;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        p->bye = cases[i].text;
        ws_fake_start(server, play_last_word, p);
        s = open_stream(server, &seen);
        assert_int_equal(run_until(s, NULL, 0, &err), cases[i].code);
        for (int k = 0; k < 4; k++)
            assert_int_equal(client_stream_run(s, 50, &err), cases[i].code);
        assert_int_equal(seen.lost, 0);
        assert_int_equal(server->connections, 1);
        client_stream_close(&s);
        stop(server);
    }
    how.reconnect_s = 0;
    delta_scratch_free(&p->b.scratch);
    free(server);
    free(p);
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
TEST(giving_up_has_its_time)
{
    struct ws_fake *server = malloc(sizeof *server);
    struct client_stream *s;
    struct seen seen;
    struct err err = {0};
    double begin;

    assert_non_null(server);
    ws_fake_start(server, play_never, NULL);
    server->refuse = 503;
    server->refuse_header = "Retry-After: 1\r\n";
    how.reconnect_s = 2.5;
    s = open_stream(server, &seen);
    begin = seconds();
    assert_int_equal(run_until(s, NULL, 0, &err), ERR_BUSY);
    assert_true(seen.retry_ms >= 1000);
    assert_true(seconds() - begin >= 1.0);
    assert_in_range(server->connections, 1, 3); /* at 0, 1.1 and 2.2 s, on a calm machine */
    client_stream_close(&s);
    stop(server);

    ws_fake_start(server, play_never, NULL);
    server->refuse = 503;
    how.reconnect_s = 60;
    how.reconnect_attempts = 2;
    s = open_stream(server, &seen);
    assert_int_equal(run_until(s, NULL, 0, &err), ERR_BUSY);
    assert_int_equal(server->connections, 3);
    client_stream_close(&s);
    stop(server);

    ws_fake_start(server, play_never, NULL);
    server->refuse = 404;
    s = open_stream(server, &seen);
    assert_int_equal(run_until(s, NULL, 0, &err), ERR_NOT_FOUND);
    assert_int_equal(server->connections, 1);
    client_stream_close(&s);
    stop(server);
    how.reconnect_s = how.reconnect_attempts = 0;
    free(server);
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

TEST(a_half_open_connection_is_noticed)
{
    struct ws_fake *server = malloc(sizeof *server);
    struct client_stream *s;
    struct seen seen;
    struct err err = {0};
    double begin;

    assert_non_null(server);
    ws_fake_start(server, play_dead, NULL);
    server->pings = true;
    how.reconnect_s = 60;
    how.ping_ms = 100;
    how.hangup_ms = 200; /* 200 ms * 10: the kernel of the dead one still acknowledges */
    s = open_stream(server, &seen);
    begin = seconds();
    assert_int_equal(run_until(s, &seen.syncs, 1, &err), 0);
    assert_true(seconds() - begin >= 2);
    assert_int_equal(seen.lost, 1);
    begin = seconds();
    while (seconds() - begin < 4) /* silent but for its pongs, and kept */
        assert_int_equal(client_stream_run(s, 50, &err), 0);
    assert_int_equal(seen.lost, 1);
    assert_true(client_stream_connected(s));
    client_stream_close(&s);
    stop(server);
    how.reconnect_s = 0;
    how.ping_ms = how.hangup_ms = 0;
    free(server);
}
