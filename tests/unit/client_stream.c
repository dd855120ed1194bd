/* The stream of a client against a server that the test plays: window, mirror, asking again, and a
 * server that breaks the protocol. */
#include "tests/support/stream_play.h"
#include "tests/support/unit.h"

#include <time.h>

/* ------------------------------------------------------------------------- a whole session */

static void play_session(struct ws_fake *s)
{
    char ack[128];

    WS_FAKE_EXPECT(s, strstr(s->request, "GET /v1/sessions/a/stream HTTP/1.1") != NULL);
    WS_FAKE_EXPECT(s, strcasestr(s->request, "\r\nAuthorization: Bearer secret\r\n") != NULL);
    WS_FAKE_EXPECT(s, strcasestr(s->request, "\r\nSec-WebSocket-Protocol: recon.v1\r\n") != NULL);
    WS_FAKE_EXPECT(s, ws_fake_receive(s) == 1);
    WS_FAKE_EXPECT(s, strstr((char *)s->message, "\"op\":\"start\"") != NULL);
    WS_FAKE_EXPECT(s, strstr((char *)s->message, "\"role\":\"ingest\"") != NULL);
    WS_FAKE_EXPECT(s, strstr((char *)s->message, "\"pose\":\"cv\"") != NULL);
    ws_fake_text(s, READY);
    ws_fake_text(s, "{\"op\":\"dance\",\"status\":[1]}"); /* of a later version */
    ws_fake_send(s, 2, "\x16", 1, 0);
    ws_fake_send(s, 2, "\xff\x01 as it comes", 15, 0);
    for (int i = 0; i < 5; i++) {
        struct frame f;

        WS_FAKE_EXPECT(s, ws_fake_receive(s) == 2);
        WS_FAKE_EXPECT(s, frame_parse(&f, s->message, s->len, FRAME_POSE_CV, NULL) == 0);
        WS_FAKE_EXPECT(s, f.seq == 10u + (unsigned)i);
        WS_FAKE_EXPECT(s, f.payload_len == 300);
        WS_FAKE_EXPECT(s, f.payload[2] == 14);
        WS_FAKE_EXPECT(s, f.T_wc.t[0] == 1.5f);
        if (i < 2)
            continue; /* the window is 3: the fourth frame waits for an answer */
        for (int k = i == 2 ? 0 : i; k <= i; k++) {
            snprintf(ack, sizeof ack, "{\"op\":\"ack\",\"seq\":%d,\"status\":\"%s\"}", 10 + k,
                     k == 4 ? "refused\",\"reason\":\"decode_error" : "used");
            ws_fake_text(s, ack);
        }
    }
    send_block(s, DELTA_PUT, 1, 0, 2, 0, 2, 30); /* in two fragments */
    send_block(s, DELTA_PATCH, 2, 1, 3, 2, 1, 0);
    WS_FAKE_EXPECT(s, ws_fake_receive(s) == 1);
    WS_FAKE_EXPECT(s, strcmp((char *)s->message, "{\"op\":\"end\"}") == 0);
    send_sync(s, 2, 3, true);
    ws_fake_text(s, "{\"op\":\"error\",\"type\":\"malformed\",\"status\":400,\"title\":\"x\","
                    "\"detail\":\"no\"}");
    ws_fake_text(s,
                 "{\"op\":\"bye\",\"action\":\"disconnect\",\"retry_ms\":0,\"reason\":\"done\"}");
    ws_fake_close(s, 1000, "");
    ws_fake_receive(s);
}

STREAM_TEST(a_session_from_start_to_end)
{
    struct client_stream_stats stats;
    struct frame f;
    uint64_t seq = 10;

    stream_open(play_session);
    f = frame(9);
    assert_int_equal(client_stream_window(stream), 0);
    assert_false(client_stream_connected(stream));
    assert_int_equal(client_stream_send(stream, &f, &err), ERR_BUSY); /* before ready */
    assert_int_equal(run_until(&seen.ready, 1), 0);
    f.payload_len = 5000;
    assert_int_equal(client_stream_send(stream, &f, &err), ERR_LIMIT);
    assert_int_equal(client_stream_window(stream), 3);
    while (seq < 15) {
        while (seq < 15 && client_stream_window(stream) > 0)
            stream_send(seq++);
        assert_true(seq - 10 - (uint64_t)seen.acks <= 3);
        f = frame(seq);
        if (client_stream_window(stream) == 0)
            assert_int_equal(client_stream_send(stream, &f, &err), ERR_BUSY);
        assert_int_equal(client_stream_run(stream, 1000, &err), 0);
    }
    assert_int_equal(run_until(&seen.acks, 5), 0);
    assert_int_equal(seen.ack.status, CONTROL_REFUSED);
    assert_int_equal(seen.ack.reason, CONTROL_DECODE_ERROR);
    assert_int_equal(client_stream_end(stream, &err), 0);
    assert_int_equal(client_stream_send(stream, &f, &err), ERR_STATE);
    assert_int_equal(run_until(NULL, 0), ERR_END);
    assert_true(strstr(err.text, "done") != NULL);
    assert_int_equal(seen.syncs, 1);
    assert_true(seen.equal && seen.ended);
    assert_int_equal(seen.points, 3);
    assert_int_equal(seen.errors, 1);
    assert_int_equal(client_stream_bye(stream)->action, CONTROL_DISCONNECT);
    client_stream_get_stats(stream, &stats);
    assert_int_equal(stats.frames_sent, 5);
    assert_int_equal(stats.frames_answered, 5);
    assert_int_equal(stats.blocks, 2);
    assert_int_equal(stats.points_received, 3);
    stream_close();
}

/* ------------------------------------------------------------------------- pace */

static uint64_t next_frame(struct ws_fake *s)
{
    struct frame f = {.seq = UINT64_MAX};

    WS_FAKE_EXPECT(s, ws_fake_receive(s) == 2);
    WS_FAKE_EXPECT(s, frame_parse(&f, s->message, s->len, FRAME_POSE_CV, NULL) == 0);
    return f.seq;
}

/* Of three frames the last two come beyond what there is room for; `end` is behind them. */
static void play_later(struct ws_fake *s)
{
    struct timespec before, now;

    ws_fake_receive(s);
    ws_fake_text(s, READY);
    for (uint64_t i = 0; i < 3; i++)
        WS_FAKE_EXPECT(s, next_frame(s) == i);
    WS_FAKE_EXPECT(s, ws_fake_receive(s) == 1); /* end */
    ws_fake_text(s, "{\"op\":\"ack\",\"seq\":1,\"status\":\"later\",\"retry_ms\":300}");
    ws_fake_text(s, "{\"op\":\"ack\",\"seq\":2,\"status\":\"later\",\"retry_ms\":20}");
    clock_gettime(CLOCK_MONOTONIC, &before);
    ws_fake_text(s, "{\"op\":\"ack\",\"seq\":0,\"status\":\"used\",\"rate\":7.5,\"jpeg\":60}");
    WS_FAKE_EXPECT(s, next_frame(s) == 1);
    clock_gettime(CLOCK_MONOTONIC, &now);
    WS_FAKE_EXPECT(
        s, (now.tv_sec - before.tv_sec) * 1000 + (now.tv_nsec - before.tv_nsec) / 1000000 >= 290);
    WS_FAKE_EXPECT(s, next_frame(s) == 2);
    ws_fake_text(s, "{\"op\":\"ack\",\"seq\":1,\"status\":\"used\"}");
    ws_fake_text(s, "{\"op\":\"ack\",\"seq\":2,\"status\":\"used\"}");
    ws_fake_text(s, "{\"op\":\"ended\",\"revision\":0}");
    ws_fake_receive(s);
}

STREAM_TEST(what_comes_later_is_sent_again)
{
    struct client_stream_stats stats;
    float rate = 1;
    int jpeg = 1;

    stream_open(play_later);
    assert_int_equal(run_until(&seen.ready, 1), 0);
    client_stream_pace(stream, &rate, &jpeg);
    assert_true(rate == 0 && jpeg == 0); /* this server has not said */
    for (uint64_t i = 0; i < 3; i++)
        stream_send(i);
    assert_int_equal(client_stream_end(stream, &err), 0);
    assert_int_equal(run_until(&seen.ended, 1), 0);
    assert_int_equal(seen.acks, 3); /* `later` is no answer */
    client_stream_pace(stream, &rate, &jpeg);
    assert_true(rate == 7.5f && jpeg == 60);
    client_stream_get_stats(stream, &stats);
    assert_int_equal(stats.frames_sent, 3);
    assert_int_equal(stats.frames_later, 2);
    assert_int_equal(stats.frames_resent, 0);
    stream_close();
}

/* ------------------------------------------------------------------------- beginning again */

static void play_gap(struct ws_fake *s)
{
    ws_fake_receive(s); /* `start`: the mirror that did not fit is not resumed */
    WS_FAKE_EXPECT(s, strstr((char *)s->message, "resume") == NULL);
    ws_fake_text(s, READY);
    send_block(s, DELTA_PUT, 1, 0, 1, 0, 1, 0);
    send_sync(s, 1, 1, false);
    if (s->connections == 1) {
        send_block(s, DELTA_PATCH, 3, 2, 3, 2, 1, 0); /* the client never had revision 2 */
        ws_fake_receive(s);
        return;
    }
    send_block(s, DELTA_PUT, 3, 0, 3, 0, 3, 0);
    send_sync(s, 3, 3, false);
    ws_fake_receive(s);
}

STREAM_TEST(a_patch_that_does_not_fit_ends_the_connection)
{
    struct client_stream_stats stats;

    how.reconnect_s = 20;
    stream_open(play_gap);
    assert_int_equal(run_until(&seen.syncs, 3), 0);
    assert_true(seen.equal);
    assert_int_equal(seen.points, 3);
    client_stream_get_stats(stream, &stats);
    assert_int_equal(stats.reconnects, 1);
    stream_close();
}

/* ----------------------------------------------------------------------- servers that misbehave */

static const char *bad_text;

static void play_bad(struct ws_fake *s)
{
    ws_fake_receive(s);
    if (bad_text[0] != '!')
        ws_fake_text(s, READY);
    if (strcmp(bad_text, "huge") == 0)
        ws_fake_send(s, 1, s->message, CONTROL_TEXT_MAX + 1, 0);
    else if (strcmp(bad_text, "block") == 0)
        ws_fake_send(s, 2, "\x10\x01\x00\x00garbage", 11, 0);
    else if (strcmp(bad_text, "!block") == 0)
        send_block(s, DELTA_PUT, 1, 0, 1, 0, 1, 0);
    else
        ws_fake_text(s, bad_text);
    while (ws_fake_receive(s) > 0)
        ;
}

STREAM_TEST(a_server_that_breaks_the_protocol_is_left)
{
    static const struct {
        const char *text;
        int code;
    } cases[] = {{"{\"op\":", ERR_INPUT}, {READY, ERR_INPUT},   {"{\"op\":\"end\"}", ERR_INPUT},
                 {"huge", ERR_LIMIT},     {"block", ERR_INPUT}, {"!block", ERR_INPUT}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bad_text = cases[i].text;
        stream_open(play_bad);
        assert_int_equal(run_until(NULL, 0), cases[i].code);
        assert_int_equal(client_stream_run(stream, 1, &err), cases[i].code); /* and stays so */
        stream_close();
    }
}

STREAM_TEST(refusals_at_the_door_have_their_codes)
{
    static const struct {
        int status, code;
    } cases[] = {{401, ERR_DENIED}, {403, ERR_DENIED}, {404, ERR_NOT_FOUND},
                 {503, ERR_BUSY},   {500, ERR_DEVICE}, {0, ERR_UNSUPPORTED}};
    struct client_stream_config config = {.url = "http://127.0.0.1/"};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ws_fake_start(&server, play_bad, NULL);
        server.refuse = cases[i].status;
        if (cases[i].status == 0)
            server.subprotocol = NULL;
        bad_text = "!";
        stream_connect();
        assert_int_equal(run_until(NULL, 0), cases[i].code);
        stream_close();
    }
    assert_int_equal(client_stream_open(&stream, &config, &err), ERR_INPUT);
    config.url = "ws://127.0.0.1:99999/";
    assert_int_equal(client_stream_open(&stream, &config, &err), ERR_INPUT);
    config.url = "ws://:80/";
    assert_int_equal(client_stream_open(&stream, &config, &err), ERR_INPUT);
    config.url = "ws://127.0.0.1:1/";
    assert_int_equal(client_stream_open(&stream, &config, &err), 0);
    assert_int_equal(run_until(NULL, 0), ERR_IO);
    client_stream_close(&stream);
}
