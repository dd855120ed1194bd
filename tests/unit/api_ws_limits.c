/* api_ws_limits.c - the stream edge over sockets: deadlines, limits, neighbours */
#include "api/server/ws_peer.h"
#include "tests/support/bound.h"
#include "tests/support/ws_case.h"
#include "tests/support/ws_raw.h"
#include "tests/support/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------- deadlines */

/* Deadlines do not move because bytes come. */
static void send_until_closed(int fd)
{
    int rounds = 0;

    while (send(fd, "a", 1, MSG_NOSIGNAL) == 1 && !edge_closed(fd, 50) && rounds < 1200)
        rounds++;
    assert_true(rounds < 1200);
}

TEST_WITH(test_slow_handshake, ws_case_setup_quick, ws_case_teardown)
{
    int fd = edge_connect(ws_port(ws_case.edge.ws));

    edge_send(fd, "GET / HTTP/1.1\r\nX:", 18);
    send_until_closed(fd);
    close(fd);
}

TEST_WITH(test_no_start, ws_case_setup, ws_case_teardown)
{
    int64_t begun = ws_case_now_ms();
    int fd;

    assert_int_equal(ws_case_handshake(ws_case.session.view, "", &fd), 101);
    ws_case_expect_error(fd, 408);
    assert_true(ws_case_now_ms() - begun > 4500);
    ws_case_expect_close(fd, 1008);
}

TEST_WITH(test_stalled_message, ws_case_setup_quick, ws_case_teardown)
{
    int fd = ws_case_started(ws_case.session.ingest, START_INGEST);
    struct pollfd said = {.fd = fd, .events = POLLIN};
    int rounds = 0;

    ws_raw_head(fd, WS_RAW_BINARY, true, 1000);
    while (poll(&said, 1, 100) == 0 && rounds++ < 600)
        (void)!send(fd, "a", 1, MSG_NOSIGNAL);
    assert_true(rounds < 600);
    ws_case_expect_close(fd, 1008);
    ws_case_expect_streams(0);
}

/* Pings come. A peer that answers none for ten hang-up times is closed, though its kernel lives. */
TEST_WITH(test_silent_peer, ws_case_setup_quick, ws_case_teardown)
{
    int fd = ws_case_started(ws_case.session.view, START_VIEW),
        alive = ws_case_started(ws_case.session.view, START_VIEW);
    int64_t begun = ws_case_now_ms();
    bool closed = false;
    uint8_t h[6];

    while (!closed && ws_case_now_ms() - begun < 100000) {
        if (recv(alive, h, 6, MSG_DONTWAIT) == 6 && (h[0] & 15) == WS_RAW_PING)
            ws_raw_send(alive, WS_RAW_PONG, true, h + 2, 4);
        closed = edge_closed(fd, 20);
    }
    assert_true(closed);
    assert_true(ws_case_now_ms() - begun >= 9000);
    ws_case_expect_streams(1); /* the one that answers */
    close(fd);
    close(alive);
}

/* --------------------------------------------------------------------------- limits, neighbours */

FIXTURE(setup_few)
{
    edge_defaults(&ws_case.edge);
    ws_case.edge.config.max_connections = 8;
    ws_case.edge.config.max_per_address = 8;
    return ws_case_begin();
}

TEST_WITH(test_connection_limit, setup_few, ws_case_teardown)
{
    int fds[8], fd, status;

    for (int i = 0; i < 8; i++)
        fds[i] = ws_case_started(ws_case.session.view, START_VIEW);
    assert_int_equal(ws_case_handshake(ws_case.session.view, "", &fd), 503);
    close(fd);
    close(fds[3]);
    ws_case_expect_streams(7);
    for (int i = 0; i < 3000; i++) {
        status = ws_case_handshake(ws_case.session.view, "", &fd);
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

TEST_WITH(test_a_healthy_neighbour, ws_case_setup, ws_case_teardown)
{
    int good = ws_case_started(ws_case.session.ingest, START_INGEST);
    uint64_t seq = 0;
    int64_t worst = 0;

    for (int round = 0; round < 40; round++) {
        int bad, kind = round % 5;
        int64_t begun;
        if (ws_case_handshake(ws_case.session.view, "", &bad) == 101) {
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
        begun = ws_case_now_ms();
        ws_case_send_frame(good, ++seq);
        ws_case_expect_ack(good, seq);
        if (ws_case_now_ms() - begun > worst)
            worst = ws_case_now_ms() - begun;
        close(bad);
    }
    assert_true(bound_at_most("worst answer beside bad neighbours", (double)worst, 500, "ms"));
    close(good);
    ws_case_expect_streams(0);
}

/* Pings as fast as they are taken. How many bytes of them were sent until the cut? */
static size_t flood(int fd)
{
    static uint8_t pings[6 * 1024];
    int small = 16 << 10;
    size_t sent = 0;
    ssize_t n;

    for (size_t i = 0; i < sizeof pings; i += 6) /* empty, masked with zeros */
        memcpy(pings + i, "\x89\x80\0\0\0\0", 6);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    do {
        n = send(fd, pings + sent % 6, sizeof pings - sent % 6, MSG_NOSIGNAL);
        sent += n > 0 ? (size_t)n : 0;
    } while (n > 0 && sent < 64 << 20);
    close(fd);
    return sent;
}

static int compare(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return x < y ? -1 : x > y;
}

/* The library answers pings without a word to us: a thread that looked at ticks alone was theirs
 * for up to 50 ms. */
TEST_WITH(test_flood_of_pings, ws_case_setup, ws_case_teardown)
{
    size_t sent[11];

    for (int i = 0; i < 11; i++) {
        sent[i] = flood(ws_case_started(ws_case.session.view, START_VIEW));
        usleep(7000 * (useconds_t)i); /* at any time between two ticks */
    }
    qsort(sent, 11, sizeof *sent, compare);
    print_message("# bytes of pings until cut: %zu, %zu, %zu\n", sent[0], sent[5], sent[10]);
    assert_true(sent[5] < 1 << 20);
    ws_case_expect_streams(0);
}

/* Pings that are not yet too many, and most of a message that does not end: it weighs nothing. */
TEST_WITH(test_half_a_message_is_no_flood, ws_case_setup, ws_case_teardown)
{
    size_t len = 2 * WS_PEER_WASTE_MAX;
    uint8_t *msg = malloc(len), *masked = malloc(len), pings[6 * 2000];
    int fd = ws_case_started(ws_case.session.ingest, START_INGEST);

    ws_case_make_frame(msg, 1, len - FRAME_HEAD_BYTES);
    for (size_t i = 0; i < len; i++)
        masked[i] = msg[i] ^ (uint8_t) "\x11\x22\x33\x44"[i & 3];
    for (size_t i = 0; i < sizeof pings; i += 6)
        memcpy(pings + i, "\x89\x80\0\0\0\0", 6);
    edge_send(fd, pings, sizeof pings);
    ws_raw_head(fd, WS_RAW_BINARY, true, len);
    edge_send(fd, masked, len - 1);
    usleep(150000); /* several ticks */
    edge_send(fd, masked + len - 1, 1);
    ws_case_expect_ack(fd, 1);
    free(msg);
    free(masked);
    close(fd);
    ws_case_expect_streams(0);
}

/* Control messages beyond a second's are read later; a frame of another client is answered. */
TEST_WITH(test_too_many_control_messages, ws_case_setup, ws_case_teardown)
{
    static const char end[] = "{\"op\":\"end\"}";
    int fd = ws_case_started(ws_case.session.view, START_VIEW),
        good = ws_case_started(ws_case.session.ingest, START_INGEST);
    int64_t begun = ws_case_now_ms(), took;

    for (int i = 0; i < WS_PEER_TEXTS_PER_S; i++)
        ws_raw_text(fd, end);
    ws_case_send_frame(good, 1);
    ws_case_expect_ack(good, 1);
    took = ws_case_now_ms() - begun;
    assert_true(bound_at_most("a frame beside many control messages", (double)took, 500, "ms"));
    ws_raw_text(fd, "{{{{");
    ws_case_expect_error(fd, 400);
    took = ws_case_now_ms() - begun;
    print_message("# %d control messages: %lld ms\n", WS_PEER_TEXTS_PER_S, (long long)took);
    assert_true(took > 800); /* fifteen sixteenths of a second, but for the tick's milliseconds */
    close(fd);
    close(good);
    ws_case_expect_streams(0);
}

/* Frames of an owner that is ahead of its rate wait in the socket. They are neither refused nor
 * lost, and those of others are answered. */
TEST_WITH(test_frames_beyond_the_rate_are_read_later, ws_case_setup, ws_case_teardown)
{
    struct fake_core *core = ws_case.edge.core;
    int fast = ws_case_started(ws_case.session.ingest, START_INGEST), other;

    atomic_store(&fake_core_ahead_us, 150000);
    for (uint64_t seq = 1; seq <= 3; seq++)
        ws_case_send_frame(fast, seq);
    for (uint64_t seq = 1; seq <= 3; seq++)
        ws_case_expect_ack(fast, seq);
    atomic_store(&fake_core_ahead_us, 3600000000); /* longer than any test */
    for (uint64_t seq = 4; seq <= 6; seq++)
        ws_case_send_frame(fast, seq);
    ws_case_expect_ack(fast, 4);
    atomic_store(&fake_core_ahead_us, 0);
    other = ws_case_started(ws_case.session.ingest, START_INGEST);
    for (uint64_t seq = 1; seq <= 20; seq++) {
        ws_case_send_frame(other, seq);
        ws_case_expect_ack(other, seq);
    }
    assert_int_equal(fake_core_counts(core).frames, 4 + 20);
    close(fast);
    close(other);
    ws_case_expect_streams(0);
}

/* A message of as many fragments as it may have is taken, but not at once. */
TEST_WITH(test_many_fragments_take_their_time, ws_case_setup, ws_case_teardown)
{
    enum { N = WS_PEER_FRAGMENTS_MAX };
    uint8_t *msg = malloc(N), *all = malloc(7 * N);
    int fd = ws_case_started(ws_case.session.ingest, START_INGEST);
    int64_t begun = ws_case_now_ms(), took;

    ws_case_make_frame(msg, 1, N - FRAME_HEAD_BYTES);
    for (int i = 0; i < N; i++) {
        uint8_t *f = all + 7 * i;
        memcpy(f, "\0\x81\0\0\0\0", 6);
        f[0] = (uint8_t)((i ? WS_RAW_MORE : WS_RAW_BINARY) | (i == N - 1 ? 0x80 : 0));
        f[6] = msg[i];
    }
    edge_send(fd, all, 7 * N);
    ws_case_expect_ack(fd, 1);
    took = ws_case_now_ms() - begun;
    assert_true(took >= 350);
    assert_true(bound_at_most("fragments of one byte", (double)took, 5000, "ms"));
    free(msg);
    free(all);
    close(fd);
    ws_case_expect_streams(0);
}

/* New tokens end the streams of the old ones, and of no other token. A kick ends them all. */
TEST_WITH(test_rotation_and_kick, ws_case_setup, ws_case_teardown)
{
    int old = ws_case_started(ws_case.session.view, START_VIEW), fresh;
    int boss = ws_case_started(EDGE_ADMIN, START_VIEW);
    struct edge_answer a;
    char target[80];

    snprintf(target, sizeof target, "/v1/sessions/%s/tokens", ws_case.session.id);
    a = edge_request(&ws_case.edge, "POST", target, EDGE_INGEST, NULL);
    assert_int_equal(a.status, 403); /* it creates sessions, but takes none from others */
    edge_answer_free(&a);
    a = edge_request(&ws_case.edge, "POST", target, ws_case.session.ingest, NULL);
    assert_int_equal(a.status, 200);
    ws_case_expect_error(old, 401);
    ws_case_expect_close(old, 1008);
    ws_case_expect_streams(1);
    assert_int_equal(ws_case_handshake(ws_case.session.view, "", &old), 401);
    close(old);
    snprintf(ws_case.session.view, sizeof ws_case.session.view, "%.22s",
             strstr(a.body, "\"view\":\"") + 8);
    edge_answer_free(&a);
    fresh = ws_case_started(ws_case.session.view, START_VIEW);
    snprintf(target, sizeof target, "/v1/sessions/%s/kick", ws_case.session.id);
    a = edge_request(&ws_case.edge, "POST", target, EDGE_ADMIN, NULL);
    assert_int_equal(a.status, 204);
    edge_answer_free(&a);
    ws_case_expect_streams(0);
    close(boss);
    close(fresh);
}

TEST_WITH(test_drain_stops_accepting, ws_case_setup, ws_case_teardown)
{
    int fd = ws_case_started(ws_case.session.ingest, START_INGEST);
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)ws_port(ws_case.edge.ws))};
    int late = -1, refused = 0;

    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ws_drain(ws_case.edge.ws);
    for (int i = 0; i < 3000 && !refused; i++) {
        usleep(20000);
        late = socket(AF_INET, SOCK_STREAM, 0);
        refused = connect(late, (struct sockaddr *)&a, sizeof a) != 0;
        close(late);
    }
    assert_true(refused);
    ws_case_send_frame(fd, 1); /* streams go on */
    ws_case_expect_ack(fd, 1);
    close(fd);
}
