/*
 * ws_case.h - what the tests of the stream edge share: one server, one session, short ways to say
 * what a client does and what must come back (cmocka asserts)
 */
#pragma once

#include "tests/support/edge.h"

#define START_INGEST "{\"op\":\"start\",\"role\":\"ingest\",\"codecs\":[\"raw\"]}"
#define START_VIEW "{\"op\":\"start\",\"role\":\"view\",\"codecs\":[\"raw\"]}"

struct ws_case {
    struct edge edge;
    struct edge_session session;
    char path[96]; /* of the session's stream */
};
extern struct ws_case ws_case;

/* For cmocka; `quick` has deadlines of one second. */
int ws_case_setup(void **state);
int ws_case_setup_quick(void **state);
int ws_case_teardown(void **state);
/* Start with what ws_case.edge.config says. */
int ws_case_begin(void);

int64_t ws_case_now_ms(void);
/* The HTTP status of an upgrade; more: header lines. */
int ws_case_handshake(const char *token, const char *more, int *fd);
void ws_case_expect_refused(const char *at, const char *headers, int status);
/* A stream that has started; its `ready` is read. */
int ws_case_started(const char *token, const char *start);

size_t ws_case_make_frame(uint8_t *msg, uint64_t seq, size_t payload);
void ws_case_send_frame(int fd, uint64_t seq);
void ws_case_expect_ack(int fd, uint64_t seq);
void ws_case_expect_error(int fd, int status);
/* Closes fd, too. */
void ws_case_expect_close(int fd, int code);
/* Until so many streams are open in the core; fails after a minute. */
void ws_case_expect_streams(int n);
