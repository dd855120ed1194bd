/* api_ws.c - the stream edge over sockets: handshake, messages, limits, deadlines, neighbours */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/edge.h"
#include "tests/support/ws_raw.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define START_INGEST "{\"op\":\"start\",\"role\":\"ingest\",\"codecs\":[\"raw\"]}"
#define START_VIEW "{\"op\":\"start\",\"role\":\"view\",\"codecs\":[\"raw\"]}"

static struct edge edge;
static struct edge_session session;
static char path[96];

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int begin(void)
{
    edge_start(&edge);
    session = edge_session(&edge, NULL);
    snprintf(path, sizeof path, "/v1/sessions/%s/stream", session.id);
    return 0;
}

static int setup(void **state)
{
    (void)state;
    edge_defaults(&edge);
    return begin();
}

static int setup_quick(void **state)
{
    (void)state;
    edge_defaults(&edge);
    edge.config.header_timeout_s = 1;
    edge.config.message_timeout_s = 1;
    edge.config.ping_s = 1;
    edge.config.hangup_s = 1;
    return begin();
}

static int teardown(void **state)
{
    (void)state;
    edge_stop(&edge);
    return 0;
}

static int handshake(const char *token, const char *more, int *fd)
{
    char headers[1024];

    snprintf(headers, sizeof headers, "Sec-WebSocket-Protocol: recon.v1\r\n%s%s%s%s",
             token ? "Authorization: Bearer " : "", token ? token : "", token ? "\r\n" : "", more);
    return ws_raw_open(ws_port(edge.ws), path, headers, fd, NULL, 0);
}

static void expect_refused(const char *at, const char *headers, int status)
{
    int fd, got = ws_raw_open(ws_port(edge.ws), at, headers, &fd, NULL, 0);

    if (got != status)
        print_error("%s with %s: %d\n", at, headers, got);
    assert_int_equal(got, status);
    assert_true(edge_closed(fd, 2000));
    close(fd);
}

/* A stream that has started; its `ready` is read. */
static int started(const char *token, const char *start)
{
    struct ws_raw_message m;
    int fd;

    assert_int_equal(handshake(token, "", &fd), 101);
    assert_true(ws_raw_text(fd, start));
    m = ws_raw_read(fd);
    assert_int_equal(m.opcode, WS_RAW_TEXT);
    assert_non_null(strstr(m.text, "\"op\":\"ready\""));
    return fd;
}

static size_t make_frame(uint8_t *msg, uint64_t seq, size_t payload)
{
    struct frame f = {.seq = seq, .width = 64, .height = 48, .payload_len = (uint32_t)payload};

    f.T_wc = rigid_identity();
    frame_encode_header(msg, &f, FRAME_POSE_OPENGL);
    memset(msg + FRAME_HEADER_BYTES, 0xd8, payload);
    return FRAME_HEADER_BYTES + payload;
}

static void send_frame(int fd, uint64_t seq)
{
    uint8_t msg[FRAME_HEADER_BYTES + 1000];
    assert_true(ws_raw_send(fd, WS_RAW_BINARY, true, msg, make_frame(msg, seq, 1000)));
}

static void expect_ack(int fd, uint64_t seq)
{
    struct ws_raw_message m = ws_raw_read(fd);
    char text[64];

    snprintf(text, sizeof text, "{\"op\":\"ack\",\"seq\":%llu,", (unsigned long long)seq);
    if (strncmp(m.text, text, strlen(text)) != 0)
        print_error("got opcode %d %s\n", m.opcode, m.text);
    assert_int_equal(strncmp(m.text, text, strlen(text)), 0);
}

static void expect_error(int fd, int status)
{
    struct ws_raw_message m = ws_raw_read(fd);
    char text[64];

    snprintf(text, sizeof text, "{\"op\":\"error\",\"status\":%d,", status);
    if (strncmp(m.text, text, strlen(text)) != 0)
        print_error("got opcode %d code %d %s\n", m.opcode, m.close_code, m.text);
    assert_int_equal(strncmp(m.text, text, strlen(text)), 0);
}

static void expect_close(int fd, int code)
{
    struct ws_raw_message m = ws_raw_read(fd);

    if (m.opcode != WS_RAW_CLOSE || m.close_code != code)
        print_error("got opcode %d code %d %s\n", m.opcode, m.close_code, m.text);
    assert_int_equal(m.opcode, WS_RAW_CLOSE);
    assert_int_equal(m.close_code, code);
    close(fd);
}

static void expect_streams(int n)
{
    for (int i = 0; i < 200 && fake_core_counts(edge.core).streams != n; i++)
        usleep(10000);
    assert_int_equal(fake_core_counts(edge.core).streams, n);
}

/* ------------------------------------------------------------------------------- handshake */

static void test_handshake_answers(void **state)
{
    char answer[2048], headers[256];
    int fd;

    (void)state;
    snprintf(headers, sizeof headers,
             "Sec-WebSocket-Protocol: recon.v1\r\nAuthorization: Bearer %s\r\n"
             "Sec-WebSocket-Extensions: permessage-deflate\r\n",
             session.view);
    assert_int_equal(ws_raw_open(ws_port(edge.ws), path, headers, &fd, answer, sizeof answer), 101);
    assert_non_null(strstr(answer, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")); /* RFC 6455, 1.3 */
    assert_non_null(strcasestr(answer, "Sec-WebSocket-Protocol: recon.v1\r\n"));
    assert_null(strcasestr(answer, "permessage-deflate"));
    close(fd);
}

static void test_handshake_tokens(void **state)
{
    struct edge_session other = edge_session(&edge, NULL);
    int fd;

    (void)state;
    assert_int_equal(handshake(session.ingest, "", &fd), 101);
    close(fd);
    assert_int_equal(handshake(EDGE_VIEW, "", &fd), 101);
    close(fd);
    assert_int_equal(handshake(NULL, "", &fd), 401);
    close(fd);
    assert_int_equal(handshake("wrong", "", &fd), 401);
    close(fd);
    assert_int_equal(handshake(EDGE_EXPIRED, "", &fd), 401);
    close(fd);
    assert_int_equal(handshake(other.view, "", &fd), 404); /* foreign: as if there were none */
    close(fd);
    expect_refused("/v1/sessions/aaaa/stream",
                   "Sec-WebSocket-Protocol: recon.v1\r\nAuthorization: Bearer " EDGE_ADMIN "\r\n",
                   404);
    assert_int_equal(fake_core_counts(edge.core).streams, 0);
}

/* printf %s TOKEN | base64, url alphabet, no padding */
static void encode(const char *token, char *out)
{
    static const char a[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    size_t n = strlen(token);

    for (size_t i = 0; i < n; i += 3) {
        uint32_t v = (uint32_t)(uint8_t)token[i] << 16;
        if (i + 1 < n)
            v |= (uint32_t)(uint8_t)token[i + 1] << 8;
        if (i + 2 < n)
            v |= (uint8_t)token[i + 2];
        *out++ = a[v >> 18];
        *out++ = a[v >> 12 & 63];
        if (i + 1 < n)
            *out++ = a[v >> 6 & 63];
        if (i + 2 < n)
            *out++ = a[v & 63];
    }
    *out = '\0';
}

static void test_browser_token(void **state)
{
    char headers[512], answer[2048], code[64];
    int fd;

    (void)state;
    encode(session.view, code);
    snprintf(headers, sizeof headers,
             "Origin: " EDGE_ORIGIN "\r\nSec-WebSocket-Protocol: recon.v1, bearer.recon.%s\r\n",
             code);
    assert_int_equal(ws_raw_open(ws_port(edge.ws), path, headers, &fd, answer, sizeof answer), 101);
    assert_non_null(strcasestr(answer, "Sec-WebSocket-Protocol: recon.v1\r\n"));
    assert_null(strstr(answer, code)); /* the token is never sent back */
    close(fd);
    snprintf(headers, sizeof headers, "Sec-WebSocket-Protocol: recon.v1, bearer.recon.%s\r\n",
             session.view); /* not encoded */
    expect_refused(path, headers, 401);
    expect_refused(path, "Sec-WebSocket-Protocol: recon.v1, bearer.recon.!!!\r\n", 401);
}

static void test_handshake_refusals(void **state)
{
    char headers[512], where[160];

    (void)state;
    snprintf(headers, sizeof headers, "Authorization: Bearer %s\r\n", session.view);
    expect_refused(path, headers, 400); /* no subprotocol */
    snprintf(headers, sizeof headers,
             "Authorization: Bearer %s\r\nSec-WebSocket-Protocol: chat\r\n", session.view);
    expect_refused(path, headers, 400);
    snprintf(headers, sizeof headers,
             "Authorization: Bearer %s\r\nSec-WebSocket-Protocol: recon.v1\r\n"
             "Origin: https://evil.example\r\n",
             session.view);
    expect_refused(path, headers, 403);
    snprintf(headers, sizeof headers,
             "Authorization: Bearer %s\r\nAuthorization: Bearer x\r\n"
             "Sec-WebSocket-Protocol: recon.v1\r\n",
             session.view);
    expect_refused(path, headers, 400);
    snprintf(headers, sizeof headers,
             "Authorization: Bearer %s\r\nSec-WebSocket-Protocol: recon.v1\r\n", session.view);
    snprintf(where, sizeof where, "%s?access_token=%s", path, session.view);
    expect_refused(where, headers, 400);
    expect_refused("/", headers, 404);
    expect_refused("/v1/sessions//stream", headers, 404);
    assert_false(edge_logged(&edge, session.view)); /* and no token in a log */
}

/* What the library itself would close without a word. */
static void test_broken_upgrades(void **state)
{
    static const char *const lines[] = {
        "Sec-WebSocket-Version: 13\r\n", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 8\r\n"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        int fd = edge_connect(ws_port(edge.ws));
        struct edge_answer a;
        char text[512];
        snprintf(text, sizeof text,
                 "GET %s HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                 "Sec-WebSocket-Protocol: recon.v1\r\nAuthorization: Bearer %s\r\n%s\r\n",
                 path, session.view, lines[i]);
        edge_send(fd, text, strlen(text));
        a = edge_read(fd, false);
        assert_int_equal(a.status, 400);
        edge_answer_free(&a);
        assert_true(edge_closed(fd, 2000));
        close(fd);
    }
}

static void test_not_websocket(void **state)
{
    int fd = edge_connect(ws_port(edge.ws));
    struct edge_answer a;

    (void)state;
    edge_send(fd, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", 27);
    a = edge_read(fd, false);
    assert_int_equal(a.status, 426);
    assert_non_null(strstr(a.body, "urn:recond:problem:upgrade-required"));
    edge_answer_free(&a);
    assert_true(edge_closed(fd, 2000));
    close(fd);
    fd = edge_connect(ws_port(edge.ws));
    edge_send(fd, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello", 52);
    assert_true(edge_closed(fd, 3000));
    close(fd);
    fd = edge_connect(ws_port(edge.ws));
    edge_send(fd, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n", 13); /* TLS */
    assert_true(edge_closed(fd, 7000));
    close(fd);
}

static void test_listens_where_told(void **state)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)ws_port(edge.ws))};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    (void)state;
    inet_pton(AF_INET, "127.0.0.2", &a.sin_addr);
    assert_int_not_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    close(fd);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    inet_pton(AF_INET, "127.0.0.1", &a.sin_addr); /* a second listener is refused */
    assert_int_not_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    close(fd);
}

/* ------------------------------------------------------------------------------- messages */

static void test_frames_are_answered(void **state)
{
    int fd = started(session.ingest, START_INGEST);

    (void)state;
    for (uint64_t seq = 1; seq <= 20; seq++) {
        send_frame(fd, seq);
        expect_ack(fd, seq);
    }
    assert_int_equal(fake_core_counts(edge.core).frames, 20);
    assert_true(ws_raw_text(fd, "{\"op\":\"end\"}"));
    assert_true(ws_raw_text(fd, "{\"op\":\"need\",\"submap\":0,\"x\":1,\"y\":-2,\"z\":3}"));
    send_frame(fd, 21);
    expect_ack(fd, 21);
    close(fd);
    expect_streams(0);
}

static void test_fragments(void **state)
{
    uint8_t msg[FRAME_HEADER_BYTES + 1000];
    size_t len = make_frame(msg, 7, 1000);
    int fd = started(session.ingest, START_INGEST);

    (void)state;
    for (size_t i = 0; i < len; i++) /* one byte each */
        ws_raw_send(fd, i ? WS_RAW_MORE : WS_RAW_BINARY, i + 1 == len, msg + i, 1);
    expect_ack(fd, 7);
    ws_raw_send(fd, WS_RAW_BINARY, false, msg, 100); /* a ping in between is allowed */
    ws_raw_send(fd, WS_RAW_PING, true, "hello", 5);
    ws_raw_send(fd, WS_RAW_MORE, true, msg + 100, len - 100);
    expect_ack(fd, 7);
    assert_int_equal(fake_core_counts(edge.core).frame_bytes, 2 * len);
    close(fd);
}

static void test_endless_fragments(void **state)
{
    int fd = started(session.ingest, START_INGEST);
    uint8_t frame[7] = {0, 0x81, 0, 0, 0, 0, 'a'};
    uint8_t *all = malloc(7 * 17000);

    (void)state;
    for (int i = 0; i < 17000; i++) {
        frame[0] = i ? WS_RAW_MORE : WS_RAW_BINARY;
        memcpy(all + 7 * i, frame, 7);
    }
    edge_send(fd, all, 7 * 17000);
    free(all);
    expect_close(fd, 1008);
    expect_streams(0);
}

static void test_too_big(void **state)
{
    int fd = started(session.ingest, START_INGEST);
    char *text = malloc(1 << 20);

    (void)state;
    memset(text, ' ', 1 << 20);
    ws_raw_head(fd, WS_RAW_BINARY, true, (1 << 20) + 1); /* announced: closed at the first byte */
    edge_send(fd, "a", 1);
    expect_close(fd, 1009);
    fd = started(session.ingest, START_INGEST);
    ws_raw_head(fd, WS_RAW_BINARY, true, UINT64_C(1) << 40);
    edge_send(fd, "a", 1);
    expect_close(fd, 1009);
    fd = started(session.ingest, START_INGEST); /* a running total */
    ws_raw_send(fd, WS_RAW_BINARY, false, text, 1 << 19);
    ws_raw_send(fd, WS_RAW_MORE, false, text, 1 << 19);
    ws_raw_send(fd, WS_RAW_MORE, false, text, 1);
    expect_close(fd, 1009);
    fd = started(session.ingest, START_INGEST);
    ws_raw_send(fd, WS_RAW_TEXT, true, text, CONTROL_TEXT_MAX + 1);
    expect_close(fd, 1009);
    fd = started(session.ingest, START_INGEST); /* exactly the limit is a frame that is none */
    ws_raw_send(fd, WS_RAW_BINARY, true, text, 1 << 20);
    expect_error(fd, 400);
    close(fd);
    free(text);
    expect_streams(0);
}

static void test_impossible_length(void **state)
{
    int fd = started(session.ingest, START_INGEST);
    struct ws_raw_message m;

    (void)state;
    ws_raw_head(fd, WS_RAW_BINARY, true, UINT64_C(1) << 63);
    edge_send(fd, "a", 1);
    m = ws_raw_read(fd);
    assert_true(m.opcode == 0 || m.opcode == WS_RAW_CLOSE);
    close(fd);
    expect_streams(0);
}

static void test_bad_text(void **state)
{
    static const struct {
        const char *text;
        size_t len;
        int code;
    } bad[] = {{"{\"op\":\"\xff\"}", 10, 1007},
               {"{", 1, 1008},
               {"", 0, 1008},
               {"[]", 2, 1008},
               {"7", 1, 1008},
               {"{\"op\":\"end\",\"op\":\"end\"}", 23, 1008},
               {"{\"op\":\"end\"}\0x", 14, 1008},
               {"\xed\xa0\x80", 3, 1007}};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int fd = started(session.ingest, START_INGEST);
        ws_raw_send(fd, WS_RAW_TEXT, true, bad[i].text, bad[i].len);
        expect_error(fd, 400);
        send_frame(fd, i); /* still served */
        expect_ack(fd, i);
        ws_raw_send(fd, WS_RAW_TEXT, true, bad[i].text, bad[i].len);
        expect_error(fd, 400);
        expect_close(fd, bad[i].code);
    }
    expect_streams(0);
}

static void test_wrong_but_well_formed(void **state)
{
    static const struct {
        const char *text;
        int status;
    } wrong[] = {{"{\"op\":\"dance\"}", 422},
                 {"{}", 422},
                 {"{\"op\":7}", 422},
                 {"{\"op\":\"need\",\"submap\":0,\"x\":1e9,\"y\":0,\"z\":0}", 422},
                 {"{\"op\":\"need\",\"submap\":5,\"x\":1,\"y\":0,\"z\":0}", 404},
                 {"{\"op\":\"bye\",\"action\":\"resume\"}", 422},
                 {START_INGEST, 409}};
    int fd = started(session.ingest, START_INGEST);

    (void)state;
    for (int round = 0; round < 3; round++) /* never closed for it */
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
            ws_raw_text(fd, wrong[i].text);
            expect_error(fd, wrong[i].status);
        }
    send_frame(fd, 1);
    expect_ack(fd, 1);
    close(fd);
}

static void test_confusion_and_order(void **state)
{
    uint8_t msg[FRAME_HEADER_BYTES + 100];
    size_t len = make_frame(msg, 1, 100);
    int fd;

    (void)state;
    assert_int_equal(handshake(session.ingest, "", &fd), 101);
    ws_raw_send(fd, WS_RAW_BINARY, true, msg, len); /* before start */
    expect_error(fd, 400);
    ws_raw_text(fd, "{\"op\":\"end\"}");
    expect_error(fd, 409);
    ws_raw_text(fd, START_INGEST);
    assert_non_null(strstr(ws_raw_read(fd).text, "ready"));
    ws_raw_send(fd, WS_RAW_TEXT, true, msg, len); /* a frame as text */
    expect_error(fd, 400);
    expect_close(fd, 1007);
    fd = started(session.ingest, START_INGEST);
    ws_raw_send(fd, WS_RAW_BINARY, true, START_INGEST, strlen(START_INGEST));
    expect_error(fd, 400);
    msg[0] = 0x77; /* unknown opcode */
    ws_raw_send(fd, WS_RAW_BINARY, true, msg, len);
    expect_error(fd, 400);
    expect_close(fd, 1008);
    fd = started(session.ingest, START_INGEST);
    len = make_frame(msg, UINT64_C(1) << 53, 100); /* a number that JSON does not hold exactly */
    ws_raw_send(fd, WS_RAW_BINARY, true, msg, len);
    expect_error(fd, 400);
    len = make_frame(msg, (UINT64_C(1) << 53) - 1, 100);
    ws_raw_send(fd, WS_RAW_BINARY, true, msg, len);
    expect_ack(fd, (UINT64_C(1) << 53) - 1);
    msg[2] = 81; /* header_len */
    ws_raw_send(fd, WS_RAW_BINARY, true, msg, len);
    expect_error(fd, 400);
    expect_close(fd, 1008);
    fd = started(session.ingest, START_INGEST);
    ws_raw_send(fd, 5, true, "x", 1); /* reserved opcode of WebSocket itself */
    expect_close(fd, 1002);
    assert_int_equal(fake_core_counts(edge.core).frames, 1);
    expect_streams(0);
}

static void test_roles(void **state)
{
    int fd;

    (void)state;
    assert_int_equal(handshake(session.view, "", &fd), 101);
    ws_raw_text(fd, START_INGEST);
    expect_error(fd, 403);
    expect_close(fd, 1008);
    fd = started(session.view, START_VIEW);
    send_frame(fd, 1);
    expect_error(fd, 403);
    expect_close(fd, 1008);
    fd = started(session.ingest, START_VIEW); /* ingest includes view */
    close(fd);
    assert_int_equal(handshake(session.view, "", &fd), 101);
    ws_raw_text(fd, "{\"op\":\"start\",\"role\":\"view\",\"codecs\":[\"zstd\"]}");
    expect_error(fd, 422); /* what the core says about start */
    expect_close(fd, 1008);
    assert_int_equal(fake_core_counts(edge.core).frames, 0);
    expect_streams(0);
}

static void test_flood(void **state)
{
    uint8_t msg[FRAME_HEADER_BYTES + 1];
    uint8_t *all;
    size_t len = make_frame(msg, 1, 1), n = 0;
    int fd = started(session.ingest, START_INGEST);
    struct ws_raw_message m;

    (void)state;
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
    expect_streams(0);
}

/* ------------------------------------------------------------------------------- downstream */

static void test_big_messages_arrive_whole(void **state)
{
    int fd = started(session.view, START_VIEW);

    (void)state;
    fake_core_send(edge.core, session.id, 20, 1 << 20);
    for (int i = 0; i < 20; i++) {
        struct ws_raw_message m = ws_raw_read(fd);
        assert_int_equal(m.opcode, WS_RAW_BINARY);
        assert_int_equal(m.len, 1 << 20);
        assert_int_equal(m.text[0], DELTA_PUT);
    }
    fake_core_bye(edge.core, session.id);
    expect_close(fd, 1000);
    expect_streams(0);
}

static void test_slow_reader_holds_nobody(void **state)
{
    int slow = started(session.view, START_VIEW), fast = started(session.view, START_VIEW);
    int64_t begun = now_ms();

    (void)state;
    fake_core_send(edge.core, session.id, 50, 1 << 20); /* more than sockets hold */
    for (int i = 0; i < 50; i++)
        assert_int_equal(ws_raw_read(fast).len, 1 << 20);
    assert_true(now_ms() - begun < 10000);
    for (int i = 0; i < 50; i++) /* and the slow one gets all of it afterwards */
        assert_int_equal(ws_raw_read(slow).len, 1 << 20);
    close(slow);
    close(fast);
}

static void test_session_deleted_under_a_stream(void **state)
{
    int fd = started(session.view, START_VIEW), again;
    char target[64];
    struct edge_answer a;

    (void)state;
    snprintf(target, sizeof target, "/v1/sessions/%s", session.id);
    a = edge_request(&edge, "DELETE", target, EDGE_ADMIN, NULL);
    assert_int_equal(a.status, 204);
    edge_answer_free(&a);
    fake_core_bye(edge.core, session.id);
    expect_close(fd, 1000);
    assert_int_equal(handshake(session.view, "", &again), 401);
    close(again);
}

/* ------------------------------------------------------------------------------- deadlines */

static void test_slow_handshake(void **state)
{
    int64_t begun = now_ms();
    int fd = edge_connect(ws_port(edge.ws));

    (void)state;
    edge_send(fd, "GET / HTTP/1.1\r\nX:", 18);
    while (now_ms() - begun < 1500) {
        edge_send(fd, "a", 1);
        usleep(100000);
    }
    assert_true(edge_closed(fd, 1500));
    close(fd);
}

static void test_no_start(void **state)
{
    int64_t begun = now_ms();
    int fd;

    (void)state;
    assert_int_equal(handshake(session.view, "", &fd), 101);
    expect_error(fd, 408);
    assert_true(now_ms() - begun > 4500 && now_ms() - begun < 7000);
    expect_close(fd, 1008);
}

static void test_stalled_message(void **state)
{
    int fd = started(session.ingest, START_INGEST);
    int64_t begun = now_ms();

    (void)state;
    ws_raw_head(fd, WS_RAW_BINARY, true, 1000);
    while (now_ms() - begun < 1300) {
        edge_send(fd, "a", 1);
        usleep(50000);
    }
    expect_close(fd, 1008);
    expect_streams(0);
}

/* Pings come; whoever answers none for ten hang-up times is gone, though its kernel lives. */
static void test_silent_peer(void **state)
{
    int fd = started(session.view, START_VIEW), alive = started(session.view, START_VIEW);
    int64_t begun = now_ms();
    uint8_t h[6];

    (void)state;
    while (now_ms() - begun < 12000) {
        if (recv(alive, h, 6, MSG_DONTWAIT) == 6 && (h[0] & 15) == WS_RAW_PING)
            ws_raw_send(alive, WS_RAW_PONG, true, h + 2, 4);
        usleep(20000);
    }
    assert_true(edge_closed(fd, 500));
    expect_streams(1); /* the one that answers */
    close(fd);
    close(alive);
}

/* --------------------------------------------------------------------------- limits, neighbours */

static int setup_few(void **state)
{
    (void)state;
    edge_defaults(&edge);
    edge.config.max_connections = 8;
    edge.config.max_per_address = 8;
    return begin();
}

static void test_connection_limit(void **state)
{
    int fds[8], fd, status;

    (void)state;
    for (int i = 0; i < 8; i++)
        fds[i] = started(session.view, START_VIEW);
    assert_int_equal(handshake(session.view, "", &fd), 503);
    close(fd);
    close(fds[3]);
    expect_streams(7);
    for (int i = 0; i < 100; i++) {
        status = handshake(session.view, "", &fd);
        if (status == 101)
            break;
        close(fd);
        usleep(20000);
    }
    assert_int_equal(status, 101);
    close(fd);
    for (int i = 0; i < 8; i++)
        if (i != 3)
            close(fds[i]);
}

static void test_a_healthy_neighbour(void **state)
{
    int good = started(session.ingest, START_INGEST);
    uint64_t seq = 0;
    int64_t worst = 0;

    (void)state;
    for (int round = 0; round < 40; round++) {
        int bad, kind = round % 5;
        int64_t begun;
        if (handshake(session.view, "", &bad) == 101) {
            if (kind == 0)
                edge_send(bad, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 10);
            else if (kind == 1)
                ws_raw_head(bad, WS_RAW_BINARY, true, UINT64_MAX >> 1);
            else if (kind == 2)
                ws_raw_text(bad, "{{{{");
            else if (kind == 3)
                for (int i = 0; i < 500; i++)
                    ws_raw_send(bad, WS_RAW_PING, true, "", 0);
            else
                ws_raw_text(bad, START_VIEW);
        }
        begun = now_ms();
        send_frame(good, ++seq);
        expect_ack(good, seq);
        if (now_ms() - begun > worst)
            worst = now_ms() - begun;
        close(bad);
    }
    print_message("# worst answer beside bad neighbours: %lld ms\n", (long long)worst);
    assert_true(worst < 500);
    close(good);
    expect_streams(0);
}

static void test_drain_stops_accepting(void **state)
{
    int fd = started(session.ingest, START_INGEST);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)ws_port(edge.ws))};
    int late = -1, refused = 0;

    (void)state;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ws_drain(edge.ws);
    for (int i = 0; i < 100 && !refused; i++) {
        usleep(20000);
        late = socket(AF_INET, SOCK_STREAM, 0);
        refused = connect(late, (struct sockaddr *)&a, sizeof a) != 0;
        close(late);
    }
    assert_true(refused);
    send_frame(fd, 1); /* streams go on */
    expect_ack(fd, 1);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define Q(name) cmocka_unit_test_setup_teardown(name, setup_quick, teardown)
        T(test_handshake_answers),
        T(test_handshake_tokens),
        T(test_browser_token),
        T(test_handshake_refusals),
        T(test_broken_upgrades),
        T(test_not_websocket),
        T(test_listens_where_told),
        T(test_frames_are_answered),
        T(test_fragments),
        T(test_endless_fragments),
        T(test_too_big),
        T(test_impossible_length),
        T(test_bad_text),
        T(test_wrong_but_well_formed),
        T(test_confusion_and_order),
        T(test_roles),
        T(test_flood),
        T(test_big_messages_arrive_whole),
        T(test_slow_reader_holds_nobody),
        T(test_session_deleted_under_a_stream),
        Q(test_slow_handshake),
        T(test_no_start),
        Q(test_stalled_message),
        Q(test_silent_peer),
        cmocka_unit_test_setup_teardown(test_connection_limit, setup_few, teardown),
        T(test_a_healthy_neighbour),
        T(test_drain_stops_accepting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
