/* api_ws_limits.c - the stream edge over sockets: deadlines, limits, neighbours */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/ws_case.h"
#include "tests/support/ws_raw.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------- deadlines */

static void test_slow_handshake(void **state)
{
    int64_t begun = ws_case_now_ms();
    int fd = edge_connect(ws_port(ws_case.edge.ws));

    (void)state;
    edge_send(fd, "GET / HTTP/1.1\r\nX:", 18);
    while (ws_case_now_ms() - begun < 1500) {
        edge_send(fd, "a", 1);
        usleep(100000);
    }
    assert_true(edge_closed(fd, 1500));
    close(fd);
}

static void test_no_start(void **state)
{
    int64_t begun = ws_case_now_ms();
    int fd;

    (void)state;
    assert_int_equal(ws_case_handshake(ws_case.session.view, "", &fd), 101);
    ws_case_expect_error(fd, 408);
    assert_true(ws_case_now_ms() - begun > 4500 && ws_case_now_ms() - begun < 7000);
    ws_case_expect_close(fd, 1008);
}

static void test_stalled_message(void **state)
{
    int fd = ws_case_started(ws_case.session.ingest, START_INGEST);
    int64_t begun = ws_case_now_ms();

    (void)state;
    ws_raw_head(fd, WS_RAW_BINARY, true, 1000);
    while (ws_case_now_ms() - begun < 1300) {
        edge_send(fd, "a", 1);
        usleep(50000);
    }
    ws_case_expect_close(fd, 1008);
    ws_case_expect_streams(0);
}

/* Pings come; whoever answers none for ten hang-up times is gone, though its kernel lives. */
static void test_silent_peer(void **state)
{
    int fd = ws_case_started(ws_case.session.view, START_VIEW),
        alive = ws_case_started(ws_case.session.view, START_VIEW);
    int64_t begun = ws_case_now_ms();
    uint8_t h[6];

    (void)state;
    while (ws_case_now_ms() - begun < 12000) {
        if (recv(alive, h, 6, MSG_DONTWAIT) == 6 && (h[0] & 15) == WS_RAW_PING)
            ws_raw_send(alive, WS_RAW_PONG, true, h + 2, 4);
        usleep(20000);
    }
    assert_true(edge_closed(fd, 500));
    ws_case_expect_streams(1); /* the one that answers */
    close(fd);
    close(alive);
}

/* --------------------------------------------------------------------------- limits, neighbours */

static int setup_few(void **state)
{
    (void)state;
    edge_defaults(&ws_case.edge);
    ws_case.edge.config.max_connections = 8;
    ws_case.edge.config.max_per_address = 8;
    return ws_case_begin();
}

static void test_connection_limit(void **state)
{
    int fds[8], fd, status;

    (void)state;
    for (int i = 0; i < 8; i++)
        fds[i] = ws_case_started(ws_case.session.view, START_VIEW);
    assert_int_equal(ws_case_handshake(ws_case.session.view, "", &fd), 503);
    close(fd);
    close(fds[3]);
    ws_case_expect_streams(7);
    for (int i = 0; i < 100; i++) {
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

static void test_a_healthy_neighbour(void **state)
{
    int good = ws_case_started(ws_case.session.ingest, START_INGEST);
    uint64_t seq = 0;
    int64_t worst = 0;

    (void)state;
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
    print_message("# worst answer beside bad neighbours: %lld ms\n", (long long)worst);
    assert_true(worst < 500);
    close(good);
    ws_case_expect_streams(0);
}

static void test_drain_stops_accepting(void **state)
{
    int fd = ws_case_started(ws_case.session.ingest, START_INGEST);
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)ws_port(ws_case.edge.ws))};
    int late = -1, refused = 0;

    (void)state;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ws_drain(ws_case.edge.ws);
    for (int i = 0; i < 100 && !refused; i++) {
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_slow_handshake, ws_case_setup_quick, ws_case_teardown),
        cmocka_unit_test_setup_teardown(test_no_start, ws_case_setup, ws_case_teardown),
        cmocka_unit_test_setup_teardown(test_stalled_message, ws_case_setup_quick,
                                        ws_case_teardown),
        cmocka_unit_test_setup_teardown(test_silent_peer, ws_case_setup_quick, ws_case_teardown),
        cmocka_unit_test_setup_teardown(test_a_healthy_neighbour, ws_case_setup, ws_case_teardown),
        cmocka_unit_test_setup_teardown(test_drain_stops_accepting, ws_case_setup,
                                        ws_case_teardown),
        cmocka_unit_test_setup_teardown(test_connection_limit, setup_few, ws_case_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
