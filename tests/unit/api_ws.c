/* api_ws.c - the stream edge over sockets: messages up and down */
#include "tests/support/ws_case.h"
#include "tests/support/ws_raw.h"
#include "tests/support/unit.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------- messages */

TEST_WITH(test_frames_are_answered, ws_case_setup, ws_case_teardown)
{
    int fd = ws_case_started(ws_case.session.ingest, START_INGEST);

    for (uint64_t seq = 1; seq <= 20; seq++) {
        ws_case_send_frame(fd, seq);
        ws_case_expect_ack(fd, seq);
    }
    assert_int_equal(fake_core_counts(ws_case.edge.core).frames, 20);
    assert_true(ws_raw_text(fd, "{\"op\":\"end\"}"));
    ws_case_send_frame(fd, 21);
    ws_case_expect_ack(fd, 21);
    close(fd);
    ws_case_expect_streams(0);
}

/* A page cannot send WebSocket pings: `ping` is answered to feeders and viewers, before `start`,
 * too, and the server's clock goes on. */
TEST_WITH(test_ping, ws_case_setup, ws_case_teardown)
{
    unsigned long long t, server_us, before_us = 0;
    int fd;

    assert_int_equal(ws_case_handshake(ws_case.session.view, "", &fd), 101);
    ws_raw_text(fd, "{\"op\":\"ping\",\"t\":0}");
    assert_non_null(strstr(ws_raw_read(fd).text, "\"op\":\"pong\",\"t\":0,"));
    close(fd);
    for (int role = 0; role < 2; role++) {
        fd = ws_case_started(ws_case.session.ingest, role ? START_VIEW : START_INGEST);
        ws_raw_text(fd, "{\"op\":\"ping\",\"t\":9007199254740991}");
        assert_int_equal(sscanf(ws_raw_read(fd).text,
                                "{\"op\":\"pong\",\"t\":%llu,\"server_us\":%llu}", &t, &server_us),
                         2);
        assert_true(t == 9007199254740991u && server_us > before_us);
        before_us = server_us;
        close(fd);
    }
    ws_case_expect_streams(0);
}

/* A session that comes back after a restart: refused before the upgrade, with a time. */
TEST_WITH(test_a_session_that_is_away, ws_case_setup, ws_case_teardown)
{
    char headers[256], answer[2048];
    int fd;

    fake_core_set_state(ws_case.edge.core, ws_case.session.id, SESSION_RECOVERING);
    assert_int_equal(ws_case_handshake(ws_case.session.ingest, "", &fd), 503);
    close(fd);
    snprintf(headers, sizeof headers,
             "Sec-WebSocket-Protocol: recon.v1\r\nAuthorization: Bearer %s\r\n",
             ws_case.session.view);
    assert_int_equal(
        ws_raw_open(ws_port(ws_case.edge.ws), ws_case.path, headers, &fd, answer, sizeof answer),
        503);
    close(fd);
    assert_non_null(strstr(answer, "HTTP/1.1 503 Service Unavailable\r\n"));
    assert_non_null(strstr(answer, "\r\nRetry-After: 7\r\n"));
    fake_core_set_state(ws_case.edge.core, ws_case.session.id, SESSION_IDLE);
    assert_int_equal(ws_case_handshake(ws_case.session.ingest, "", &fd), 101);
    close(fd);
}

TEST_WITH(test_fragments, ws_case_setup, ws_case_teardown)
{
    uint8_t msg[FRAME_HEAD_BYTES + 1000];
    size_t len = ws_case_make_frame(msg, 7, 1000);
    int fd = ws_case_started(ws_case.session.ingest, START_INGEST);

    for (size_t i = 0; i < len; i++) /* one byte each */
        ws_raw_send(fd, i ? WS_RAW_MORE : WS_RAW_BINARY, i + 1 == len, msg + i, 1);
    ws_case_expect_ack(fd, 7);
    ws_raw_send(fd, WS_RAW_BINARY, false, msg, 100); /* a ping in between is allowed */
    ws_raw_send(fd, WS_RAW_PING, true, "hello", 5);
    ws_raw_send(fd, WS_RAW_MORE, true, msg + 100, len - 100);
    ws_case_expect_ack(fd, 7);
    assert_int_equal(fake_core_counts(ws_case.edge.core).frame_bytes, 2 * len);
    close(fd);
}

TEST_WITH(test_endless_fragments, ws_case_setup, ws_case_teardown)
{
    int fd = ws_case_started(ws_case.session.ingest, START_INGEST);
    uint8_t frame[7] = {0, 0x81, 0, 0, 0, 0, 'a'};
    uint8_t *all = malloc(7 * 17000);

    for (int i = 0; i < 17000; i++) {
        frame[0] = i ? WS_RAW_MORE : WS_RAW_BINARY;
        memcpy(all + 7 * i, frame, 7);
    }
    edge_send(fd, all, 7 * 17000);
    free(all);
    ws_case_expect_close(fd, 1008);
    ws_case_expect_streams(0);
}

TEST_WITH(test_too_big, ws_case_setup, ws_case_teardown)
{
    int fd = ws_case_started(ws_case.session.ingest, START_INGEST);
    char *text = malloc(1 << 20);

    memset(text, ' ', 1 << 20);
    ws_raw_head(fd, WS_RAW_BINARY, true, (1 << 20) + 1); /* announced: closed at the first byte */
    edge_send(fd, "a", 1);
    ws_case_expect_close(fd, 1009);
    fd = ws_case_started(ws_case.session.ingest, START_INGEST);
    ws_raw_head(fd, WS_RAW_BINARY, true, UINT64_C(1) << 40);
    edge_send(fd, "a", 1);
    ws_case_expect_close(fd, 1009);
    fd = ws_case_started(ws_case.session.ingest, START_INGEST); /* a running total */
    ws_raw_send(fd, WS_RAW_BINARY, false, text, 1 << 19);
    ws_raw_send(fd, WS_RAW_MORE, false, text, 1 << 19);
    ws_raw_send(fd, WS_RAW_MORE, false, text, 1);
    ws_case_expect_close(fd, 1009);
    fd = ws_case_started(ws_case.session.ingest, START_INGEST);
    ws_raw_send(fd, WS_RAW_TEXT, true, text, CONTROL_TEXT_MAX + 1);
    ws_case_expect_close(fd, 1009);
    fd = ws_case_started(ws_case.session.ingest,
                         START_INGEST); /* exactly the limit is a frame that is none */
    ws_raw_send(fd, WS_RAW_BINARY, true, text, 1 << 20);
    ws_case_expect_error(fd, 400);
    close(fd);
    free(text);
    ws_case_expect_streams(0);
}

TEST_WITH(test_impossible_length, ws_case_setup, ws_case_teardown)
{
    int fd = ws_case_started(ws_case.session.ingest, START_INGEST);
    struct ws_raw_message m;

    ws_raw_head(fd, WS_RAW_BINARY, true, UINT64_C(1) << 63);
    edge_send(fd, "a", 1);
    m = ws_raw_read(fd);
    assert_true(m.opcode == 0 || m.opcode == WS_RAW_CLOSE);
    close(fd);
    ws_case_expect_streams(0);
}

TEST_WITH(test_bad_text, ws_case_setup, ws_case_teardown)
{
    static const struct {
        const char *text;
        size_t len;
        int code;
    } bad[] = {{"{", 1, 1008},
               {"", 0, 1008},
               {"[]", 2, 1008},
               {"7", 1, 1008},
               {"{\"op\":\"end\",\"op\":\"end\"}", 23, 1008},
               {"{\"op\":\"end\"}\0x", 14, 1008}};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int fd = ws_case_started(ws_case.session.ingest, START_INGEST);
        ws_raw_send(fd, WS_RAW_TEXT, true, bad[i].text, bad[i].len);
        ws_case_expect_error(fd, 400);
        ws_case_send_frame(fd, i); /* still served */
        ws_case_expect_ack(fd, i);
        ws_raw_send(fd, WS_RAW_TEXT, true, bad[i].text, bad[i].len);
        ws_case_expect_error(fd, 400);
        ws_case_expect_close(fd, bad[i].code);
    }
    ws_case_expect_streams(0);
}

/* RFC 6455, 8.1: text that is no UTF-8 fails the connection at once. */
TEST_WITH(test_text_that_is_no_utf8, ws_case_setup, ws_case_teardown)
{
    static const char *const bad[] = {"{\"op\":\"\xff\"}", "\xed\xa0\x80", "\xc0\xaf"};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int fd = ws_case_started(ws_case.session.ingest, START_INGEST);
        ws_raw_text(fd, bad[i]);
        ws_case_expect_close(fd, 1007);
    }
    ws_case_expect_streams(0);
}

/* A close frame is answered with its own code, unless it is none: 5.5.1, 7.4, 8.1. */
TEST_WITH(test_close_frames, ws_case_setup, ws_case_teardown)
{
    static const struct {
        const char *payload;
        size_t len;
        int code;
    } cases[] = {{"\x03\xe8", 2, 1000},         {"\x03\xe8so long", 9, 1000},
                 {"\x0f\xa0\xc3\xa4", 4, 4000}, {"\x03\xe8\xff", 3, 1007},
                 {"\x03\xe8\xc3", 3, 1007},     {"\x03\xed", 2, 1002},
                 {"\x03\xe7", 2, 1002},         {"\x07\xd0", 2, 1002},
                 {"\x13\x88", 2, 1002},         {"\x03", 1, 1002}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int fd = ws_case_started(ws_case.session.view, START_VIEW);
        ws_raw_send(fd, WS_RAW_CLOSE, true, cases[i].payload, cases[i].len);
        print_message("close frame %zu\n", i);
        ws_case_expect_close(fd, cases[i].code);
    }
    ws_case_expect_streams(0);
}

TEST_WITH(test_wrong_but_well_formed, ws_case_setup, ws_case_teardown)
{
    static const struct {
        const char *text;
        int status;
    } wrong[] = {{"{\"op\":\"dance\"}", 501},
                 {"{}", 422},
                 {"{\"op\":7}", 422},
                 {"{\"op\":\"ping\",\"t\":-1}", 422},
                 {"{\"op\":\"pong\",\"t\":1,\"server_us\":1}", 422},
                 {"{\"op\":\"bye\",\"action\":\"resume\"}", 422},
                 {START_INGEST, 409}};
    int fd = ws_case_started(ws_case.session.ingest, START_INGEST);

    for (int round = 0; round < 3; round++) /* never closed for it */
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
            ws_raw_text(fd, wrong[i].text);
            ws_case_expect_error(fd, wrong[i].status);
        }
    for (uint8_t first = 0x02; first <= 0x0f; first++) { /* messages of a later version */
        ws_raw_send(fd, WS_RAW_BINARY, true, &first, 1);
        ws_case_expect_error(fd, 501);
    }
    ws_case_send_frame(fd, 1);
    ws_case_expect_ack(fd, 1);
    close(fd);
}

TEST_WITH(test_confusion_and_order, ws_case_setup, ws_case_teardown)
{
    uint8_t msg[FRAME_HEAD_BYTES + 100];
    size_t len = ws_case_make_frame(msg, 1, 100);
    int fd;

    assert_int_equal(ws_case_handshake(ws_case.session.ingest, "", &fd), 101);
    ws_raw_send(fd, WS_RAW_BINARY, true, msg, len); /* before start */
    ws_case_expect_error(fd, 400);
    ws_raw_text(fd, "{\"op\":\"end\"}");
    ws_case_expect_error(fd, 409);
    ws_raw_text(fd, START_INGEST);
    assert_non_null(strstr(ws_raw_read(fd).text, "ready"));
    ws_raw_send(fd, WS_RAW_TEXT, true, msg, len); /* a frame as text is no UTF-8 */
    ws_case_expect_close(fd, 1007);
    fd = ws_case_started(ws_case.session.ingest, START_INGEST);
    ws_raw_send(fd, WS_RAW_BINARY, true, START_INGEST, strlen(START_INGEST));
    ws_case_expect_error(fd, 400);
    msg[0] = 0x77; /* unknown opcode */
    ws_raw_send(fd, WS_RAW_BINARY, true, msg, len);
    ws_case_expect_error(fd, 400);
    ws_case_expect_close(fd, 1008);
    fd = ws_case_started(ws_case.session.ingest, START_INGEST);
    len = ws_case_make_frame(msg, UINT64_C(1) << 53,
                             100); /* a number that JSON does not hold exactly */
    ws_raw_send(fd, WS_RAW_BINARY, true, msg, len);
    ws_case_expect_error(fd, 400);
    len = ws_case_make_frame(msg, (UINT64_C(1) << 53) - 1, 100);
    ws_raw_send(fd, WS_RAW_BINARY, true, msg, len);
    ws_case_expect_ack(fd, (UINT64_C(1) << 53) - 1);
    msg[2] = 79; /* header_len */
    ws_raw_send(fd, WS_RAW_BINARY, true, msg, len);
    ws_case_expect_error(fd, 400);
    ws_case_expect_close(fd, 1008);
    fd = ws_case_started(ws_case.session.ingest, START_INGEST);
    ws_raw_send(fd, 5, true, "x", 1); /* reserved opcode of WebSocket itself */
    ws_case_expect_close(fd, 1002);
    assert_int_equal(fake_core_counts(ws_case.edge.core).frames, 1);
    ws_case_expect_streams(0);
}

TEST_WITH(test_roles, ws_case_setup, ws_case_teardown)
{
    int fd;

    assert_int_equal(ws_case_handshake(ws_case.session.view, "", &fd), 101);
    ws_raw_text(fd, START_INGEST);
    ws_case_expect_error(fd, 403);
    ws_case_expect_close(fd, 1008);
    fd = ws_case_started(ws_case.session.view, START_VIEW);
    for (uint64_t seq = 1; seq <= 5; seq++) { /* it is told so, and stays */
        ws_case_send_frame(fd, seq);
        ws_case_expect_error(fd, 409);
    }
    close(fd);
    fd = ws_case_started(ws_case.session.ingest, START_VIEW); /* ingest includes view */
    close(fd);
    assert_int_equal(ws_case_handshake(ws_case.session.view, "", &fd), 101);
    ws_raw_text(fd, "{\"op\":\"start\",\"role\":\"view\",\"codecs\":[\"deflate-raw\"]}");
    ws_case_expect_error(fd, 422); /* what the core says about start */
    ws_case_expect_close(fd, 1008);
    assert_int_equal(fake_core_counts(ws_case.edge.core).frames, 0);
    ws_case_expect_streams(0);
}

TEST_WITH(test_flood, ws_case_setup, ws_case_teardown)
{
    uint8_t msg[FRAME_HEAD_BYTES + 1];
    uint8_t *all;
    size_t len = ws_case_make_frame(msg, 1, 1), n = 0;
    int fd = ws_case_started(ws_case.session.ingest, START_INGEST);
    struct ws_raw_message m;

    all = malloc(20000 * (len + 8));
    for (int i = 0; i < 20000; i++) { /* in one write, so that no ack gets in between */
        all[n++] = 0x82;
        all[n++] = (uint8_t)(0x80 | len);
        memset(all + n, 0, 4);
        memcpy(all + n + 4, msg, len);
        n += 4 + len;
    }
    edge_send(fd, all, n);
    free(all);
    do
        m = ws_raw_read(fd);
    while (m.opcode == WS_RAW_TEXT);
    assert_true(m.opcode == 0 || (m.opcode == WS_RAW_CLOSE && m.close_code == 1008));
    close(fd);
    ws_case_expect_streams(0);
}

static atomic_int polls;

/* Those of both edges are counted. */
int epoll_wait(int epoll, struct epoll_event *events, int n, int timeout)
{
    atomic_fetch_add(&polls, 1);
    return (int)syscall(SYS_epoll_pwait, epoll, events, n, timeout, NULL, (size_t)0);
}

/* Frames between two ticks: the thread sleeps until the next frame or tick, whichever it is. */
TEST_WITH(test_waiting_is_sleeping, ws_case_setup, ws_case_teardown)
{
    int fd = ws_case_started(ws_case.session.ingest, START_INGEST), before, used;

    ws_case_expect_streams(1);
    before = atomic_load(&polls);
    for (uint64_t seq = 1; seq <= 100; seq++) {
        usleep(7300);
        ws_case_send_frame(fd, seq);
        ws_case_expect_ack(fd, seq);
    }
    used = atomic_load(&polls) - before;
    print_message("# asked %d times for 100 frames\n", used);
    assert_in_range(used, 100, 1500);
    close(fd);
    ws_case_expect_streams(0);
}

/* ------------------------------------------------------------------------------- downstream */

TEST_WITH(test_big_messages_arrive_whole, ws_case_setup, ws_case_teardown)
{
    int fd = ws_case_started(ws_case.session.view, START_VIEW);

    fake_core_send(ws_case.edge.core, ws_case.session.id, 20, 1 << 20);
    for (int i = 0; i < 20; i++) {
        struct ws_raw_message m = ws_raw_read(fd);
        assert_int_equal(m.opcode, WS_RAW_BINARY);
        assert_int_equal(m.len, 1 << 20);
        assert_int_equal(m.text[0], DELTA_PUT);
    }
    fake_core_bye(ws_case.edge.core, ws_case.session.id);
    ws_case_expect_close(fd, 1000);
    ws_case_expect_streams(0);
}

/* A client has the first of eight blocks before the second is made. */
TEST_WITH(test_first_block_does_not_wait_for_the_others, ws_case_setup, ws_case_teardown)
{
    int fd = ws_case_started(ws_case.session.view, START_VIEW);

    fake_core_hold(ws_case.edge.core, 2);
    fake_core_send(ws_case.edge.core, ws_case.session.id, 8, 100);
    assert_int_equal(ws_raw_read(fd).len, 100);
    fake_core_hold(ws_case.edge.core, 0);
    for (int i = 1; i < 8; i++)
        assert_int_equal(ws_raw_read(fd).len, 100);
    close(fd);
    ws_case_expect_streams(0);
}

TEST_WITH(test_slow_reader_holds_nobody, ws_case_setup, ws_case_teardown)
{
    int slow = ws_case_started(ws_case.session.view, START_VIEW),
        fast = ws_case_started(ws_case.session.view, START_VIEW);

    fake_core_send(ws_case.edge.core, ws_case.session.id, 50, 1 << 20); /* more than sockets hold */
    for (int i = 0; i < 50; i++)
        assert_int_equal(ws_raw_read(fast).len, 1 << 20);
    for (int i = 0; i < 50; i++) /* and the slow one gets all of it afterwards */
        assert_int_equal(ws_raw_read(slow).len, 1 << 20);
    close(slow);
    close(fast);
}

TEST_WITH(test_session_deleted_under_a_stream, ws_case_setup, ws_case_teardown)
{
    int fd = ws_case_started(ws_case.session.view, START_VIEW), again;
    char target[64];
    struct edge_answer a;

    snprintf(target, sizeof target, "/v1/sessions/%s", ws_case.session.id);
    a = edge_request(&ws_case.edge, "DELETE", target, EDGE_ADMIN, NULL);
    assert_int_equal(a.status, 204);
    edge_answer_free(&a);
    fake_core_bye(ws_case.edge.core, ws_case.session.id);
    ws_case_expect_close(fd, 1000);
    assert_int_equal(ws_case_handshake(ws_case.session.view, "", &again), 401);
    close(again);
}
