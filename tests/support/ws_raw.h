/*
 * ws_raw.h - a WebSocket client made of bytes: every frame is written as the test wants it, right
 * or wrong
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WS_RAW_MORE = 0,
    WS_RAW_TEXT = 1,
    WS_RAW_BINARY = 2,
    WS_RAW_CLOSE = 8,
    WS_RAW_PING = 9,
    WS_RAW_PONG = 10
};

/* Connect and ask for the upgrade; headers: more lines, each ending in CRLF. Returns the HTTP
 * status, 0 if the connection was closed without an answer; *fd stays open. answer may be NULL. */
int ws_raw_open(int port, const char *path, const char *headers, int *fd, char *answer, size_t cap);

/* One masked frame. */
bool ws_raw_send(int fd, int opcode, bool fin, const void *data, size_t len);
bool ws_raw_text(int fd, const char *text);
/* Only a frame's head, announcing len bytes. */
bool ws_raw_head(int fd, int opcode, bool fin, uint64_t len);

struct ws_raw_message {
    int opcode;     /* 0: closed without a close frame */
    int close_code; /* of a close frame */
    size_t len;
    char text[4096]; /* the first bytes, NUL-terminated */
};
/* The next whole message or close frame; pings and pongs are passed over. Aborts when nothing comes
 * in 20 s. */
struct ws_raw_message ws_raw_read(int fd);
/* Nothing comes for ms. */
bool ws_raw_quiet(int fd, int ms);
