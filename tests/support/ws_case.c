#include "tests/support/ws_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/ws_raw.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct ws_case ws_case;

int64_t ws_case_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int ws_case_begin(void)
{
    edge_start(&ws_case.edge);
    ws_case.session = edge_session(&ws_case.edge, NULL);
    snprintf(ws_case.path, sizeof ws_case.path, "/v1/sessions/%s/stream", ws_case.session.id);
    return 0;
}

int ws_case_setup(void **state)
{
    (void)state;
    edge_defaults(&ws_case.edge);
    return ws_case_begin();
}

int ws_case_setup_quick(void **state)
{
    (void)state;
    edge_defaults(&ws_case.edge);
    ws_case.edge.config.header_timeout_s = 1;
    ws_case.edge.config.message_timeout_s = 1;
    ws_case.edge.config.ping_s = 1;
    ws_case.edge.config.hangup_s = 1;
    return ws_case_begin();
}

int ws_case_teardown(void **state)
{
    (void)state;
    edge_stop(&ws_case.edge);
    return 0;
}

int ws_case_handshake(const char *token, const char *more, int *fd)
{
    char headers[1024];

    snprintf(headers, sizeof headers, "Sec-WebSocket-Protocol: recon.v1\r\n%s%s%s%s",
             token ? "Authorization: Bearer " : "", token ? token : "", token ? "\r\n" : "", more);
    return ws_raw_open(ws_port(ws_case.edge.ws), ws_case.path, headers, fd, NULL, 0);
}

void ws_case_expect_refused(const char *at, const char *headers, int status)
{
    int fd, got = ws_raw_open(ws_port(ws_case.edge.ws), at, headers, &fd, NULL, 0);

    if (got != status)
        print_error("%s with %s: %d\n", at, headers, got);
    assert_int_equal(got, status);
    assert_true(edge_closed(fd, 2000));
    close(fd);
}

/* A stream that has started; its `ready` is read. */
int ws_case_started(const char *token, const char *start)
{
    struct ws_raw_message m;
    int fd;

    assert_int_equal(ws_case_handshake(token, "", &fd), 101);
    assert_true(ws_raw_text(fd, start));
    m = ws_raw_read(fd);
    assert_int_equal(m.opcode, WS_RAW_TEXT);
    assert_non_null(strstr(m.text, "\"op\":\"ready\""));
    return fd;
}

size_t ws_case_make_frame(uint8_t *msg, uint64_t seq, size_t payload)
{
    struct frame f = {.seq = seq, .width = 64, .height = 48, .payload_len = (uint32_t)payload};

    f.T_wc = rigid_identity();
    frame_encode_head(msg, &f, FRAME_POSE_OPENGL);
    memset(msg + FRAME_HEAD_BYTES, 0xd8, payload);
    return FRAME_HEAD_BYTES + payload;
}

void ws_case_send_frame(int fd, uint64_t seq)
{
    uint8_t msg[FRAME_HEAD_BYTES + 1000];
    assert_true(ws_raw_send(fd, WS_RAW_BINARY, true, msg, ws_case_make_frame(msg, seq, 1000)));
}

void ws_case_expect_ack(int fd, uint64_t seq)
{
    struct ws_raw_message m = ws_raw_read(fd);
    char text[64];

    snprintf(text, sizeof text, "{\"op\":\"ack\",\"seq\":%llu,", (unsigned long long)seq);
    if (strncmp(m.text, text, strlen(text)) != 0)
        print_error("got opcode %d %s\n", m.opcode, m.text);
    assert_int_equal(strncmp(m.text, text, strlen(text)), 0);
}

void ws_case_expect_error(int fd, int status)
{
    struct ws_raw_message m = ws_raw_read(fd);
    char text[64];

    snprintf(text, sizeof text, "\"status\":%d,", status);
    if (strncmp(m.text, "{\"op\":\"error\",\"type\":\"", 22) != 0 || !strstr(m.text, text))
        print_error("got opcode %d code %d %s\n", m.opcode, m.close_code, m.text);
    assert_int_equal(strncmp(m.text, "{\"op\":\"error\",\"type\":\"", 22), 0);
    assert_non_null(strstr(m.text, text));
}

void ws_case_expect_close(int fd, int code)
{
    struct ws_raw_message m = ws_raw_read(fd);

    if (m.opcode != WS_RAW_CLOSE || m.close_code != code)
        print_error("got opcode %d code %d %s\n", m.opcode, m.close_code, m.text);
    assert_int_equal(m.opcode, WS_RAW_CLOSE);
    assert_int_equal(m.close_code, code);
    close(fd);
}

void ws_case_expect_streams(int n)
{
    for (int i = 0; i < 6000 && fake_core_counts(ws_case.edge.core).streams != n; i++)
        usleep(10000);
    assert_int_equal(fake_core_counts(ws_case.edge.core).streams, n);
}
