/* api_ws_open.c - the stream edge over sockets: which clients are let in, and how others are
 * told */
#include "tests/support/ws_case.h"
#include "tests/support/ws_raw.h"
#include "tests/support/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------- handshake */

TEST_WITH(test_handshake_answers, ws_case_setup, ws_case_teardown)
{
    char answer[2048], headers[256];
    int fd;

    snprintf(headers, sizeof headers,
             "Sec-WebSocket-Protocol: recon.v1\r\nAuthorization: Bearer %s\r\n"
             "Sec-WebSocket-Extensions: permessage-deflate\r\n",
             ws_case.session.view);
    assert_int_equal(
        ws_raw_open(ws_port(ws_case.edge.ws), ws_case.path, headers, &fd, answer, sizeof answer),
        101);
    assert_non_null(strstr(answer, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")); /* RFC 6455, 1.3 */
    assert_non_null(strcasestr(answer, "Sec-WebSocket-Protocol: recon.v1\r\n"));
    assert_null(strcasestr(answer, "permessage-deflate"));
    close(fd);
}

TEST_WITH(test_handshake_tokens, ws_case_setup, ws_case_teardown)
{
    struct edge_session other = edge_session(&ws_case.edge, NULL);
    int fd;

    assert_int_equal(ws_case_handshake(ws_case.session.ingest, "", &fd), 101);
    close(fd);
    assert_int_equal(ws_case_handshake(EDGE_VIEW, "", &fd), 101);
    close(fd);
    assert_int_equal(ws_case_handshake(NULL, "", &fd), 401);
    close(fd);
    assert_int_equal(ws_case_handshake("wrong", "", &fd), 401);
    close(fd);
    assert_int_equal(ws_case_handshake(EDGE_EXPIRED, "", &fd), 401);
    close(fd);
    assert_int_equal(ws_case_handshake(other.view, "", &fd),
                     404); /* foreign: as if there were none */
    close(fd);
    ws_case_expect_refused(
        "/v1/sessions/aaaa/stream",
        "Sec-WebSocket-Protocol: recon.v1\r\nAuthorization: Bearer " EDGE_ADMIN "\r\n", 404);
    assert_int_equal(fake_core_counts(ws_case.edge.core).streams, 0);
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

TEST_WITH(test_browser_token, ws_case_setup, ws_case_teardown)
{
    char headers[512], answer[2048], code[64];
    int fd;

    encode(ws_case.session.view, code);
    snprintf(headers, sizeof headers,
             "Origin: " EDGE_ORIGIN "\r\nSec-WebSocket-Protocol: recon.v1, bearer.recon.%s\r\n",
             code);
    assert_int_equal(
        ws_raw_open(ws_port(ws_case.edge.ws), ws_case.path, headers, &fd, answer, sizeof answer),
        101);
    assert_non_null(strcasestr(answer, "Sec-WebSocket-Protocol: recon.v1\r\n"));
    assert_null(strstr(answer, code)); /* the token is never sent back */
    close(fd);
    snprintf(headers, sizeof headers, "Sec-WebSocket-Protocol: recon.v1, bearer.recon.%s\r\n",
             ws_case.session.view); /* not encoded */
    ws_case_expect_refused(ws_case.path, headers, 401);
    ws_case_expect_refused(ws_case.path, "Sec-WebSocket-Protocol: recon.v1, bearer.recon.!!!\r\n",
                           401);
}

TEST_WITH(test_handshake_refusals, ws_case_setup, ws_case_teardown)
{
    char headers[512], where[160];

    snprintf(headers, sizeof headers, "Authorization: Bearer %s\r\n", ws_case.session.view);
    ws_case_expect_refused(ws_case.path, headers, 400); /* no subprotocol */
    snprintf(headers, sizeof headers,
             "Authorization: Bearer %s\r\nSec-WebSocket-Protocol: chat\r\n", ws_case.session.view);
    ws_case_expect_refused(ws_case.path, headers, 400);
    snprintf(headers, sizeof headers,
             "Authorization: Bearer %s\r\nSec-WebSocket-Protocol: recon.v1\r\n"
             "Origin: https://evil.example\r\n",
             ws_case.session.view);
    ws_case_expect_refused(ws_case.path, headers, 403);
    snprintf(headers, sizeof headers,
             "Authorization: Bearer %s\r\nAuthorization: Bearer x\r\n"
             "Sec-WebSocket-Protocol: recon.v1\r\n",
             ws_case.session.view);
    ws_case_expect_refused(ws_case.path, headers, 400);
    snprintf(headers, sizeof headers,
             "Authorization: Bearer %s\r\nSec-WebSocket-Protocol: recon.v1\r\n",
             ws_case.session.view);
    snprintf(where, sizeof where, "%s?access_token=%s", ws_case.path, ws_case.session.view);
    ws_case_expect_refused(where, headers, 400);
    ws_case_expect_refused("/", headers, 404);
    ws_case_expect_refused("/v1/sessions//stream", headers, 400);
    assert_false(edge_logged(&ws_case.edge, ws_case.session.view)); /* and no token in a log */
}

/* A page of the same host, or of loopback, on any port of its own. */
TEST_WITH(test_origins_that_need_no_list, ws_case_setup, ws_case_teardown)
{
    static const char *const good[] = {"http://127.0.0.1:8700", "https://127.0.0.1",
                                       "http://localhost:5173"};
    char more[96];
    int fd;

    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        snprintf(more, sizeof more, "Origin: %s\r\n", good[i]);
        assert_int_equal(ws_case_handshake(ws_case.session.view, more, &fd), 101);
        close(fd);
    }
    assert_int_equal(ws_case_handshake(ws_case.session.view, "Origin: null\r\n", &fd), 403);
    close(fd);
}

/* A proxy in front that keeps clients from a path judges what it sees: no other spelling of the
 * path opens the stream, however the bytes come. */
TEST_WITH(test_one_spelling, ws_case_setup, ws_case_teardown)
{
    static const char *const before[] = {"//",    "/./",   "/x/../",     "/x/..//",
                                         "/%2e/", "//../", "/x/%2e%2e/", "/x/..;/"};
    char headers[256], where[160];

    snprintf(headers, sizeof headers,
             "Authorization: Bearer %s\r\nSec-WebSocket-Protocol: recon.v1\r\n",
             ws_case.session.view);
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        snprintf(where, sizeof where, "%s%s", before[i], ws_case.path + 1);
        ws_case_expect_refused(where, headers, 400);
    }
    snprintf(where, sizeof where, "/%%76%s", ws_case.path + 2); /* the v of /v1 */
    ws_case_expect_refused(where, headers, 400);
    assert_true(edge_logged(&ws_case.edge, "the path is not spelled plainly"));
}

/* Sends a request byte by byte. Returns the status of the answer. */
static int status_of_bytes(const char *target)
{
    int fd = edge_connect(ws_port(ws_case.edge.ws)), on = 1, status;
    struct edge_answer a;
    char text[512];

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    snprintf(text, sizeof text,
             "GET %s HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
             "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
             "Sec-WebSocket-Protocol: recon.v1\r\nAuthorization: Bearer %s\r\n\r\n",
             target, ws_case.session.view);
    for (const char *c = text; *c && edge_send(fd, c, 1); c++)
        usleep(c < text + 100 ? 1000 : 0);
    a = edge_read(fd, false);
    status = a.status;
    edge_answer_free(&a);
    close(fd);
    return status;
}

TEST_WITH(test_a_request_in_pieces, ws_case_setup, ws_case_teardown)
{
    char where[160];

    assert_int_equal(status_of_bytes(ws_case.path), 101);
    snprintf(where, sizeof where, "/%s", ws_case.path);
    assert_int_not_equal(status_of_bytes(where), 101);
}

/* A connection that says nothing, or half a line and goodbye, is nothing to wait for. */
TEST_WITH(test_no_first_line, ws_case_setup_quick, ws_case_teardown)
{
    int fd = edge_connect(ws_port(ws_case.edge.ws));

    edge_send(fd, "GET /v1", 7);
    shutdown(fd, SHUT_WR);
    assert_true(edge_closed(fd, 60000));
    close(fd);
    fd = edge_connect(ws_port(ws_case.edge.ws));
    assert_true(edge_closed(fd, 60000)); /* at the deadline of the headers */
    close(fd);
}

#define KEY "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
#define UPGRADE "Host: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
#define V13 "Sec-WebSocket-Version: 13\r\n"

/* RFC 6455, 4.2.1 and 4.4; and heads that two servers might read in two ways. */
TEST_WITH(test_broken_upgrades, ws_case_setup, ws_case_teardown)
{
    static const struct {
        const char *lines;
        int status;
    } cases[] = {
        {UPGRADE KEY V13, 101},
        {"host: a\r\nupgrade: WebSocket\r\nconnection: keep-alive, upgrade\r\n" KEY V13, 101},
        {UPGRADE KEY V13 "Sec-WebSocket-Protocol: chat\r\n", 101},
        {UPGRADE KEY V13 "Content-Length: 0\r\n", 101},
        {UPGRADE V13, 400},
        {UPGRADE "Sec-WebSocket-Key: dGhlIHNhbXBsZQ==\r\n" V13, 400},
        {UPGRADE "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZ!==\r\n" V13, 400},
        {UPGRADE KEY KEY V13, 400},
        {UPGRADE KEY, 400},
        {UPGRADE KEY "Sec-WebSocket-Version: 8\r\n", 426},
        {UPGRADE KEY "Sec-WebSocket-Version: 14\r\n", 426},
        {UPGRADE KEY "Sec-WebSocket-Version: 13, 8\r\n", 426},
        {UPGRADE KEY V13 V13, 400},
        {"Host: a\r\nConnection: Upgrade\r\n" KEY V13, 426},
        {"Host: a\r\nUpgrade: websocket\r\n" KEY V13, 426},
        {"Host: a\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n" KEY V13, 426},
        {"Upgrade: websocket\r\nConnection: Upgrade\r\n" KEY V13, 400}, /* no Host */
        {UPGRADE "Host: b\r\n" KEY V13, 400},
        {UPGRADE KEY V13 "Content-Length: 5\r\n", 400},
        {UPGRADE KEY V13 "Transfer-Encoding: chunked\r\n", 400},
        {UPGRADE KEY V13 " folded: x\r\n", 400},
        {UPGRADE KEY V13 "Content-Length : 0\r\n", 400},
        {UPGRADE KEY V13 ": x\r\n", 400},
        {UPGRADE KEY V13 "no colon\r\n", 400},
        {UPGRADE KEY V13 "X: a\nY: b\r\n", 400},
        {UPGRADE KEY V13 "X: a\rY: b\r\n", 400},
        {UPGRADE KEY V13 "X: \x01\r\n", 400},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int fd = edge_connect(ws_port(ws_case.edge.ws));
        struct edge_answer a;
        char text[768];
        snprintf(text, sizeof text,
                 "GET %s HTTP/1.1\r\nSec-WebSocket-Protocol: recon.v1\r\n"
                 "Authorization: Bearer %s\r\n%s\r\n",
                 ws_case.path, ws_case.session.view, cases[i].lines);
        edge_send(fd, text, strlen(text));
        a = edge_read(fd, cases[i].status == 101);
        print_message("%s-> %d\n", cases[i].lines, a.status);
        assert_int_equal(a.status, cases[i].status);
        if (a.status == 426)
            assert_string_equal(edge_header(&a, "Sec-WebSocket-Version"), "13");
        edge_answer_free(&a);
        if (cases[i].status == 101) {
            close(fd);
            continue;
        }
        assert_true(edge_closed(fd, 2000));
        close(fd);
    }
}

FIXTURE(setup_without_tokens)
{
    edge_defaults(&ws_case.edge);
    ws_case.edge.config.auth_mode = API_AUTH_NONE;
    return ws_case_begin();
}

/* A name that an attacker points at 127.0.0.1 is host and origin of his page. */
TEST_WITH(test_names_that_point_at_loopback, setup_without_tokens, ws_case_teardown)
{
    static const struct {
        const char *host;
        int status;
    } cases[] = {{"localhost", 101}, {"127.0.0.1", 101}, {"[::1]", 101}, {"rebound.example", 421}};
    char text[512];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int fd = edge_connect(ws_port(ws_case.edge.ws));
        struct edge_answer a;

        snprintf(text, sizeof text,
                 "GET %s HTTP/1.1\r\nHost: %s:1\r\nOrigin: http://%s:2\r\nUpgrade: websocket\r\n"
                 "Connection: Upgrade\r\n" KEY V13 "Sec-WebSocket-Protocol: recon.v1\r\n\r\n",
                 ws_case.path, cases[i].host, cases[i].host);
        edge_send(fd, text, strlen(text));
        a = edge_read(fd, true);
        assert_int_equal(a.status, cases[i].status);
        edge_answer_free(&a);
        close(fd);
    }
}

TEST_WITH(test_head_that_is_too_long, ws_case_setup, ws_case_teardown)
{
    int fd = edge_connect(ws_port(ws_case.edge.ws));
    struct edge_answer a;
    char x[9000];

    memset(x, 'x', sizeof x);
    edge_send(fd, "GET / HTTP/1.1\r\nX: ", 19);
    edge_send(fd, x, sizeof x);
    a = edge_read(fd, false);
    assert_int_equal(a.status, 400);
    edge_answer_free(&a);
    assert_true(edge_closed(fd, 2000));
    close(fd);
}

TEST_WITH(test_not_websocket, ws_case_setup, ws_case_teardown)
{
    int fd = edge_connect(ws_port(ws_case.edge.ws));
    struct edge_answer a;

    edge_send(fd, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", 27);
    a = edge_read(fd, false);
    assert_int_equal(a.status, 426);
    assert_non_null(strstr(a.body, "urn:recond:problem:upgrade-required"));
    edge_answer_free(&a);
    assert_true(edge_closed(fd, 2000));
    close(fd);
    fd = edge_connect(ws_port(ws_case.edge.ws));
    edge_send(fd, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello", 52);
    assert_true(edge_closed(fd, 3000));
    close(fd);
    fd = edge_connect(ws_port(ws_case.edge.ws));
    edge_send(fd, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n", 13); /* TLS */
    assert_true(edge_closed(fd, 7000));
    close(fd);
}

TEST_WITH(test_listens_where_told, ws_case_setup, ws_case_teardown)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)ws_port(ws_case.edge.ws))};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    inet_pton(AF_INET, "127.0.0.2", &a.sin_addr);
    assert_int_not_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    close(fd);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    inet_pton(AF_INET, "127.0.0.1", &a.sin_addr); /* a second listener is refused */
    assert_int_not_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    close(fd);
}
