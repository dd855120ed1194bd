/* api_ws_rfc.c - RFC 6455 over sockets, in the order of the cases of the Autobahn test suite */
#include "tests/support/ws_case.h"
#include "tests/support/ws_raw.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The next frame, which is no longer than 125 bytes; returns its first byte. */
static int read_small(int fd, char payload[126], size_t *len)
{
    uint8_t head[2];

    assert_int_equal(recv(fd, head, 2, MSG_WAITALL), 2);
    assert_true(head[1] <= 125);
    *len = head[1];
    if (*len)
        assert_int_equal(recv(fd, payload, *len, MSG_WAITALL), (ssize_t)*len);
    payload[*len] = '\0';
    return head[0];
}

static void expect_pong(int fd, const void *data, size_t len)
{
    char payload[126];
    size_t n;

    assert_int_equal(read_small(fd, payload, &n), 0x8a);
    assert_int_equal(n, len);
    assert_memory_equal(payload, data, len);
}

/* 2: pings and pongs */
TEST_WITH(test_pings, ws_case_setup, ws_case_teardown)
{
    int fd = ws_case_started(ws_case.session.view, START_VIEW);
    char data[126], payload[126];
    size_t n;

    memset(data, 0xfe, sizeof data); /* no text */
    ws_raw_send(fd, WS_RAW_PING, true, "", 0);
    expect_pong(fd, "", 0);
    ws_raw_send(fd, WS_RAW_PING, true, data, 125);
    expect_pong(fd, data, 125);
    ws_raw_send(fd, WS_RAW_PONG, true, "nobody asked", 12);
    for (int i = 0; i < 10; i++) {
        snprintf(data, sizeof data, "ping %d", i);
        ws_raw_send(fd, WS_RAW_PING, true, data, 6);
    }
    for (int i = 0; i < 10; i++) { /* each, and in their order */
        snprintf(data, sizeof data, "ping %d", i);
        expect_pong(fd, data, 6);
    }
    ws_raw_send(fd, WS_RAW_PING, true, data, 126);
    assert_int_equal(read_small(fd, payload, &n), 0x88);
    assert_memory_equal(payload, "\x03\xea", 2);
    assert_true(edge_closed(fd, 2000));
    close(fd);
    ws_case_expect_streams(0);
}

/* Bytes that end a stream with 1002, and no other stream. */
TEST_WITH(test_what_no_client_may_send, ws_case_setup, ws_case_teardown)
{
    static const struct {
        const char *what, *bytes;
        size_t len;
    } cases[] = {
        {"an unmasked text", "\x81\x02{}", 4},
        {"an unmasked frame of no bytes", "\x82\x00", 2},
        {"an unmasked ping", "\x89\x00", 2},
        {"an unmasked close frame", "\x88\x02\x03\xe8", 4},
        {"3.1 RSV1", "\xc1\x80\x00\x00\x00\x00", 6},
        {"3.2 RSV2", "\xa1\x80\x00\x00\x00\x00", 6},
        {"3.3 RSV3", "\x92\x80\x00\x00\x00\x00", 6},
        {"3.4 a ping with RSV", "\xf9\x80\x00\x00\x00\x00", 6},
        {"4.1 opcode 3", "\x83\x80\x00\x00\x00\x00", 6},
        {"4.1 opcode 7", "\x87\x80\x00\x00\x00\x00", 6},
        {"4.2 opcode 11", "\x8b\x80\x00\x00\x00\x00", 6},
        {"4.2 opcode 15", "\x8f\x80\x00\x00\x00\x00", 6},
        {"5.1 a ping in fragments", "\x09\x80\x00\x00\x00\x00", 6},
        {"5.2 a pong in fragments", "\x0a\x80\x00\x00\x00\x00", 6},
        {"a close frame in fragments", "\x08\x80\x00\x00\x00\x00", 6},
        {"5.9 a fragment of no message", "\x80\x80\x00\x00\x00\x00", 6},
        {"5.10 the same, not the last", "\x00\x80\x00\x00\x00\x00", 6},
        {"5.18 text in the middle of text", "\x01\x80\0\0\0\0\x81\x80\0\0\0\0", 12},
        {"binary in the middle of text", "\x01\x80\0\0\0\0\x82\x80\0\0\0\0", 12},
        {"2.5 a ping of 126 bytes", "\x89\xfe\x00\x7e\0\0\0\0", 8},
        {"7.3.6 a close frame of 126 bytes", "\x88\xfe\x00\x7e\0\0\0\0", 8},
        {"a length of 2^63", "\x82\xff\x80\0\0\0\0\0\0\0\0\0\0\0", 14},
        {"a length in two bytes that fits one", "\x82\xfe\x00\x01\0\0\0\0", 8},
    };
    int other = ws_case_started(ws_case.session.view, START_VIEW);

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int bytewise = 0; bytewise < 2; bytewise++) {
            int fd = ws_case_started(ws_case.session.view, START_VIEW);

            print_message("%s\n", cases[i].what);
            for (size_t at = 0; at < cases[i].len; at += bytewise ? 1 : cases[i].len)
                if (!edge_send(fd, cases[i].bytes + at, bytewise ? 1 : cases[i].len))
                    break; /* it may have been closed for the bytes before */
            ws_case_expect_close(fd, 1002);
        }
    ws_raw_send(other, WS_RAW_PING, true, "there?", 6);
    expect_pong(other, "there?", 6);
    close(other);
    ws_case_expect_streams(0);
}

/* 5.3 to 5.8, 5.19: a message in fragments with pings between them */
TEST_WITH(test_fragments, ws_case_setup, ws_case_teardown)
{
    static const char text[] = "{\"op\":\"dance\"}";
    int fd = ws_case_started(ws_case.session.view, START_VIEW);

    for (size_t cut = 0; cut <= sizeof text - 1; cut++) {
        ws_raw_send(fd, WS_RAW_TEXT, false, text, cut);
        ws_raw_send(fd, WS_RAW_PING, true, "1", 1);
        ws_raw_send(fd, WS_RAW_MORE, false, "", 0);
        ws_raw_send(fd, WS_RAW_PING, true, "2", 1);
        ws_raw_send(fd, WS_RAW_MORE, true, text + cut, sizeof text - 1 - cut);
        expect_pong(fd, "1", 1);
        expect_pong(fd, "2", 1);
        assert_non_null(strstr(ws_raw_read(fd).text, "\"op\":\"error\""));
    }
    close(fd);
    ws_case_expect_streams(0);
}

/* 6: text is UTF-8 as a whole, wherever it is cut */
TEST_WITH(test_utf8, ws_case_setup, ws_case_teardown)
{
    static const struct {
        const char *text;
        int code; /* 0 = it is text */
    } cases[] = {
        {"{\"op\":\"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5\"}", 0},
        {"{\"op\":\"\xf4\x8f\xbf\xbf\"}", 0},
        {"{\"op\":\"\xef\xbf\xbf\"}", 0},
        {"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5\xed\xa0\x80", 1007},
        {"\xf4\x90\x80\x80", 1007},     /* above U+10FFFF */
        {"\xf8\x88\x80\x80\x80", 1007}, /* five bytes */
        {"\xc0\x80", 1007},             /* overlong */
        {"\xe0\x80\xaf", 1007},
        {"\xed\xaf\xbf\xed\xbf\xbf", 1007}, /* surrogates */
        {"\xce", 1007},
        {"\x80", 1007},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t len = strlen(cases[i].text);

        for (size_t cut = 0; cut <= len; cut += 1 + len / 8) {
            int fd = ws_case_started(ws_case.session.view, START_VIEW);

            print_message("text %zu cut at %zu\n", i, cut);
            ws_raw_send(fd, WS_RAW_TEXT, false, cases[i].text, cut);
            ws_raw_send(fd, WS_RAW_MORE, true, cases[i].text + cut, len - cut);
            if (cases[i].code) {
                ws_case_expect_close(fd, cases[i].code);
                continue;
            }
            ws_case_expect_error(fd, 501);
            close(fd);
        }
    }
    ws_case_expect_streams(0);
}

/* 7.1: nothing is answered after a close frame, and TCP ends */
TEST_WITH(test_after_a_close_frame, ws_case_setup, ws_case_teardown)
{
    int fd = ws_case_started(ws_case.session.view, START_VIEW);

    ws_raw_send(fd, WS_RAW_CLOSE, true, "\x03\xe8", 2);
    ws_raw_send(fd, WS_RAW_PING, true, "late", 4);
    ws_raw_send(fd, WS_RAW_CLOSE, true, "\x03\xe8", 2);
    assert_int_equal(ws_raw_read(fd).close_code, 1000);
    assert_true(edge_closed(fd, 2000));
    close(fd);
    ws_case_expect_streams(0);
    fd = ws_case_started(ws_case.session.view, START_VIEW); /* a close frame without a code */
    ws_raw_send(fd, WS_RAW_CLOSE, true, "", 0);
    assert_int_equal(ws_raw_read(fd).opcode, WS_RAW_CLOSE);
    assert_true(edge_closed(fd, 2000));
    close(fd);
    ws_case_expect_streams(0);
}

/* A client that goes on sending after what ends it hears why: its bytes are read until it has. */
TEST_WITH(test_the_reason_arrives, ws_case_setup, ws_case_teardown)
{
    static char much[1 << 20];
    int fd = ws_case_started(ws_case.session.view, START_VIEW);

    edge_send(fd, "\x81\x00", 2);
    (void)!send(fd, much, sizeof much, MSG_NOSIGNAL | MSG_DONTWAIT);
    ws_case_expect_close(fd, 1002);
    ws_case_expect_streams(0);
}

/* Frames right behind the request, before its answer. */
TEST_WITH(test_frames_with_the_request, ws_case_setup, ws_case_teardown)
{
    static const char start[] = START_VIEW;
    int fd = edge_connect(ws_port(ws_case.edge.ws));
    struct edge_answer a;
    char text[768];
    int n = snprintf(text, sizeof text,
                     "GET %s HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                     "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                     "Sec-WebSocket-Protocol: recon.v1\r\nAuthorization: Bearer %s\r\n\r\n",
                     ws_case.path, ws_case.session.view);

    text[n++] = (char)0x81;
    text[n++] = (char)(0x80 | (sizeof start - 1));
    memset(text + n, 0, 4); /* the key */
    memcpy(text + n + 4, start, sizeof start - 1);
    edge_send(fd, text, (size_t)n + 4 + sizeof start - 1);
    a = edge_read(fd, true);
    assert_int_equal(a.status, 101);
    edge_answer_free(&a);
    assert_non_null(strstr(ws_raw_read(fd).text, "\"op\":\"ready\""));
    close(fd);
    ws_case_expect_streams(0);
}
