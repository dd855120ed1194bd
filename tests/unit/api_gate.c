/* api_gate.c - the REST edge over sockets: what the gate refuses, and absolute deadlines */
#include "tests/support/bound.h"
#include "tests/support/edge_case.h"

#include "proto/json.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

FIXTURE(setup_quick)
{
    edge_defaults(&edge);
    edge.config.header_timeout_s = 1;
    edge.config.max_connections = 24;
    edge_start(&edge);
    return 0;
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ------------------------------------------------------------------------------- the gate */

EDGE_TEST(test_repeated_and_odd_headers)
{
    expect_raw("GET /livez HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400);
    expect_raw("GET /v1/models HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " EDGE_ADMIN
               "\r\nAuthorization: Bearer " EDGE_ADMIN "\r\n\r\n",
               400);
    expect_raw("POST /v1/sessions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " EDGE_ADMIN
               "\r\nContent-Type: application/json\r\nContent-Length: 2\r\nContent-Length: 2\r\n"
               "\r\n{}",
               400);
    expect_raw("POST /v1/sessions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " EDGE_ADMIN
               "\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
               "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
               400);
    expect_raw("POST /v1/sessions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " EDGE_ADMIN
               "\r\nContent-Type: application/json\r\nTransfer-Encoding: gzip, chunked\r\n"
               "\r\n2\r\n{}\r\n0\r\n\r\n",
               400);
    expect_raw("POST /v1/sessions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " EDGE_ADMIN
               "\r\nContent-Type: application/json\r\nContent-Length : 2\r\n\r\n{}",
               400);
    expect_raw("GET /livez HTTP/1.1\r\nHost: a/b@c\r\n\r\n", 400);
    assert_int_equal(fake_core_counts(edge.core).created, 0);
}

EDGE_TEST(test_nul_in_header)
{
    static const char request[] = "GET /livez HTTP/1.1\r\nHost: a\0b\r\n\r\n";
    int fd = edge_connect(http_port(edge.http));
    struct edge_answer a;

    edge_send(fd, request, sizeof request - 1);
    a = edge_read(fd, false);
    assert_int_equal(a.status, 400);
    edge_answer_free(&a);
    close(fd);
}

EDGE_TEST(test_targets)
{
    static const char *const bad[] = {"/livez%00",
                                      "/%6civez",
                                      "/v1%2fsessions",
                                      "/v1/sessions/..",
                                      "/../livez",
                                      "/v1/..%5cx",
                                      "/v1\\sessions",
                                      "//livez",
                                      "livez",
                                      "/li\xc3\xa4",
                                      "/livez?a=%00",
                                      "*",
                                      "/livez?limit=1;x",
                                      "/livez#x",
                                      "http://a/livez",
                                      "/livez?x=1",
                                      "/livez?limit=1&limit=%31"};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[200];
        snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", bad[i]);
        expect_raw(text, 400);
    }
}

EDGE_TEST(test_long_things)
{
    char *text = malloc(70000);
    int n;

    n = sprintf(text, "GET /");
    memset(text + n, 'a', 600);
    strcpy(text + n + 600, " HTTP/1.1\r\nHost: a\r\n\r\n");
    expect_raw(text, 414);
    n = sprintf(text, "GET /v1/models HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ");
    memset(text + n, 'a', 8192);
    strcpy(text + n + 8192, "\r\n\r\n");
    expect_raw(text, 401);
    n = sprintf(text, "GET /v1/models HTTP/1.1\r\nHost: a\r\nX: ");
    memset(text + n, 'a', 60000);
    strcpy(text + n + 60000, "\r\n\r\n");
    expect_raw(text, 431);
    free(text);
}

EDGE_TEST(test_long_bodies)
{
    static const char head[] =
        "POST /v1/sessions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " EDGE_ADMIN
        "\r\nContent-Type: application/json\r\n";
    char text[1024], chunk[4096 + 16];
    int fd = edge_connect(http_port(edge.http));
    struct edge_answer a;

    /* announced: refused before a byte of the body has come */
    snprintf(text, sizeof text, "%sContent-Length: 16385\r\n\r\n", head);
    expect_raw(text, 413);
    snprintf(text, sizeof text, "%sContent-Length: 99999999999999999999999\r\n\r\n", head);
    a = edge_raw(&edge, text); /* beyond 64 bits: the library itself answers */
    assert_true(a.status == 400 || a.status == 413);
    edge_answer_free(&a);
    /* not announced: swallowed a little, then answered */
    snprintf(text, sizeof text, "%sTransfer-Encoding: chunked\r\n\r\n", head);
    edge_send(fd, text, strlen(text));
    memcpy(chunk, "1000\r\n", 6);
    memset(chunk + 6, ' ', 4096);
    memcpy(chunk + 6 + 4096, "\r\n", 2);
    for (int i = 0; i < 5; i++)
        edge_send(fd, chunk, 4096 + 8);
    edge_send(fd, "0\r\n\r\n", 5);
    a = edge_read(fd, false);
    assert_int_equal(a.status, 413);
    edge_answer_free(&a);
    close(fd);
    /* without end: cut */
    fd = edge_connect(http_port(edge.http));
    edge_send(fd, text, strlen(text));
    for (int i = 0; i < 200 && edge_send(fd, chunk, 4096 + 8); i++)
        ;
    assert_true(edge_closed(fd, 60000));
    close(fd);
    assert_int_equal(fake_core_counts(edge.core).created, 0);
}

EDGE_TEST(test_pipelined_and_split)
{
    static const char two[] =
        "GET /livez HTTP/1.1\r\nHost: a\r\n\r\nGET /nix HTTP/1.1\r\nHost: a\r\n\r\n";
    int fd = edge_connect(http_port(edge.http));
    struct edge_answer a;

    edge_send(fd, two, sizeof two - 1);
    a = edge_read(fd, false);
    assert_int_equal(a.status, 200);
    edge_answer_free(&a);
    a = edge_read(fd, false);
    assert_int_equal(a.status, 404);
    edge_answer_free(&a);
    for (size_t i = 0; i < sizeof two - 1; i++)
        edge_send(fd, two + i, 1);
    a = edge_read(fd, false);
    assert_int_equal(a.status, 200);
    edge_answer_free(&a);
    close(fd);
}

/* A client that asks first is told to go on, or at once why not. */
EDGE_TEST(test_expect_continue)
{
    static const char head[] =
        "POST /v1/sessions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " EDGE_ADMIN "\r\n"
        "Content-Type: application/json\r\nExpect: 100-continue\r\n";
    int fd = edge_connect(http_port(edge.http));
    char text[512], got[64] = "";
    struct edge_answer a;

    snprintf(text, sizeof text, "%sContent-Length: 2\r\n\r\n", head);
    edge_send(fd, text, strlen(text));
    assert_true(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 60000) == 1);
    assert_true(recv(fd, got, sizeof got - 1, MSG_PEEK) > 0);
    assert_int_equal(strncmp(got, "HTTP/1.1 100", 12), 0);
    edge_send(fd, "{}", 2);
    a = edge_read(fd, false);
    assert_int_equal(a.status, 201);
    edge_answer_free(&a);
    close(fd);
    fd = edge_connect(http_port(edge.http));
    snprintf(text, sizeof text, "%sContent-Length: 99999\r\n\r\n", head);
    edge_send(fd, text, strlen(text));
    assert_true(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 60000) == 1);
    assert_true(recv(fd, got, sizeof got - 1, MSG_PEEK) > 0);
    assert_int_equal(strncmp(got, "HTTP/1.1 413", 12), 0);
    close(fd);
}

/* ------------------------------------------------------------------------------- deadlines */

/* A byte every 100 ms never lets the library's own time-out run. Ours is absolute: the server
 * closes although bytes keep coming. */
static int closed_while_bytes_come(const int *fds, int n, char byte)
{
    bool closed[32] = {false};
    int n_closed = 0;

    for (int round = 0; round < 600 && n_closed < n; round++, usleep(100000))
        for (int i = 0; i < n; i++) {
            if (closed[i])
                continue;
            (void)!send(fds[i], &byte, 1, MSG_NOSIGNAL);
            closed[i] = edge_closed(fds[i], 0);
            n_closed += closed[i];
        }
    return n_closed;
}

TEST_WITH(test_slow_headers, setup_quick, edge_case_close)
{
    int slow[23], fd;
    struct edge_answer a;

    for (int i = 0; i < 23; i++) {
        slow[i] = edge_connect(http_port(edge.http));
        edge_send(slow[i], "GET /livez HTTP/1.1\r\nX:", 23);
    }
    assert_int_equal(closed_while_bytes_come(slow, 23, 'a'), 23);
    for (int i = 0; i < 23; i++)
        close(slow[i]);
    fd = edge_connect(http_port(edge.http));
    edge_send(fd, "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n", 32);
    a = edge_read(fd, false);
    assert_int_equal(a.status, 200);
    edge_answer_free(&a);
    assert_true(edge_closed(fd, 60000)); /* idle ones go too */
    close(fd);
}

TEST_WITH(test_slow_body, setup_quick, edge_case_close)
{
    int fd = edge_connect(http_port(edge.http));
    static const char head[] =
        "POST /v1/sessions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " EDGE_ADMIN
        "\r\nContent-Type: application/json\r\n"
        "Content-Length: 1000\r\n\r\n";

    edge_send(fd, head, sizeof head - 1);
    assert_int_equal(closed_while_bytes_come(&fd, 1, ' '), 1);
    close(fd);
    assert_int_equal(fake_core_counts(edge.core).created, 0);
}

static void expect_answer(const char *target, const char *token, int status)
{
    struct edge_answer a = edge_request(&edge, "GET", target, token, NULL);

    assert_int_equal(a.status, status);
    if (status == 503)
        assert_true(atoi(edge_header(&a, "Retry-After")) > 0);
    edge_answer_free(&a);
}

FIXTURE(setup_full)
{
    edge_defaults(&edge);
    edge.config.header_timeout_s = 60;
    edge.config.max_connections = 24;
    edge.config.max_per_address = 1000;
    edge_start(&edge);
    return 0;
}

/* All places are taken, and many more connections come: probes are answered. */
TEST_WITH(test_probes_have_places, setup_full, edge_case_close)
{
    int fds[224];
    struct edge_answer a;
    int status = 0;

    for (int i = 0; i < 24; i++)
        fds[i] = edge_connect(http_port(edge.http));
    expect_answer("/livez", NULL, 200);
    expect_answer("/readyz", NULL, 200);
    expect_answer("/metrics", EDGE_VIEW, 200);
    expect_answer("/metrics", NULL, 401);
    expect_answer("/v1/models", EDGE_VIEW, 503);
    a = edge_request(&edge, "POST", "/v1/sessions", EDGE_ADMIN, "{}");
    assert_int_equal(a.status, 503);
    edge_answer_free(&a);
    for (int i = 24; i < 224; i++) {
        fds[i] = edge_connect(http_port(edge.http));
        if (i % 20 == 0)
            expect_answer("/livez", NULL, 200);
    }
    for (int i = 0; i < 224; i++)
        close(fds[i]);
    for (int i = 0; i < 600 && status != 200; i++, usleep(100000)) { /* the places are free again */
        a = edge_request(&edge, "GET", "/v1/models", EDGE_VIEW, NULL);
        status = a.status;
        edge_answer_free(&a);
    }
    assert_int_equal(status, 200);
}

/* Both edges count while nothing comes. */
EDGE_TEST(test_beat)
{
    uint64_t before = http_beat(edge.http), before_ws = ws_beat(edge.ws);
    int64_t begun = now_ms();

    while ((http_beat(edge.http) < before + 2 || ws_beat(edge.ws) < before_ws + 2) &&
           now_ms() - begun < 60000)
        usleep(10000);
    assert_true(http_beat(edge.http) >= before + 2);
    assert_true(ws_beat(edge.ws) >= before_ws + 2);
    assert_true(bound_at_most("two beats of both edges", (double)(now_ms() - begun), 1000, "ms"));
}
