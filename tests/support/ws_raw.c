#include "tests/support/ws_raw.h"

#include "tests/support/edge.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define WAIT_MS 60000

/* False at the end of the stream. */
static bool read_all(int fd, void *buf, size_t len)
{
    uint8_t *p = buf;

    while (len > 0) {
        struct pollfd pfd = {.fd = fd, .events = POLLIN};
        ssize_t n;
        if (poll(&pfd, 1, WAIT_MS) <= 0) {
            fprintf(stderr, "ws_raw: nothing came in %d ms\n", WAIT_MS);
            abort();
        }
        n = recv(fd, p, len, 0);
        if (n <= 0)
            return false;
        p += n;
        len -= (size_t)n;
    }
    return true;
}

int ws_raw_open(int port, const char *path, const char *headers, int *fd, char *answer, size_t cap)
{
    char text[8192];
    struct edge_answer a;
    int status;

    *fd = edge_connect(port);
    snprintf(text, sizeof text,
             "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\n"
             "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
             "Sec-WebSocket-Version: 13\r\n%s\r\n",
             path, port, headers);
    edge_send(*fd, text, strlen(text));
    a = edge_read(*fd, true);
    if (answer)
        snprintf(answer, cap, "%s", a.head);
    status = a.status;
    edge_answer_free(&a);
    return status;
}

static size_t head(uint8_t *out, int opcode, bool fin, uint64_t len)
{
    size_t n = 0;

    out[n++] = (uint8_t)(opcode | (fin ? 0x80 : 0));
    if (len < 126) {
        out[n++] = (uint8_t)(0x80 | len);
    } else if (len < 65536) {
        out[n++] = 0x80 | 126;
        out[n++] = (uint8_t)(len >> 8);
        out[n++] = (uint8_t)len;
    } else {
        out[n++] = 0x80 | 127;
        for (int shift = 56; shift >= 0; shift -= 8)
            out[n++] = (uint8_t)(len >> shift);
    }
    memcpy(out + n, "\x11\x22\x33\x44", 4);
    return n + 4;
}

bool ws_raw_head(int fd, int opcode, bool fin, uint64_t len)
{
    uint8_t buf[16];
    return edge_send(fd, buf, head(buf, opcode, fin, len));
}

bool ws_raw_send(int fd, int opcode, bool fin, const void *data, size_t len)
{
    static const uint8_t mask[4] = {0x11, 0x22, 0x33, 0x44};
    uint8_t *buf = malloc(len + 16);
    size_t n;
    bool ok;

    if (!buf)
        abort();
    n = head(buf, opcode, fin, len);
    for (size_t i = 0; i < len; i++)
        buf[n + i] = (uint8_t)(((const uint8_t *)data)[i] ^ mask[i & 3]);
    ok = edge_send(fd, buf, n + len);
    free(buf);
    return ok;
}

bool ws_raw_text(int fd, const char *text)
{
    return ws_raw_send(fd, WS_RAW_TEXT, true, text, strlen(text));
}

static bool skip(int fd, uint64_t len)
{
    char buf[4096];

    while (len > 0) {
        size_t n = len < sizeof buf ? (size_t)len : sizeof buf;
        if (!read_all(fd, buf, n))
            return false;
        len -= n;
    }
    return true;
}

/* One frame's head; false at the end of the stream. */
static bool read_head(int fd, int *opcode, bool *fin, uint64_t *len)
{
    uint8_t h[2], more[8];
    size_t n;

    if (!read_all(fd, h, 2))
        return false;
    *opcode = h[0] & 15;
    *fin = h[0] & 0x80;
    *len = h[1] & 127;
    n = *len == 126 ? 2 : *len == 127 ? 8 : 0;
    if (!read_all(fd, more, n))
        return false;
    if (n > 0)
        *len = 0;
    for (size_t i = 0; i < n; i++)
        *len = *len << 8 | more[i];
    return true;
}

struct ws_raw_message ws_raw_read(int fd)
{
    struct ws_raw_message m = {0};
    bool fin = false;

    while (!fin) {
        int opcode;
        uint64_t len;
        size_t keep,
            room = sizeof m.text - 1 - (m.len < sizeof m.text - 1 ? m.len : sizeof m.text - 1);
        if (!read_head(fd, &opcode, &fin, &len))
            goto closed;
        if (opcode == WS_RAW_PING || opcode == WS_RAW_PONG) {
            if (!skip(fd, len))
                goto closed;
            fin = false;
            continue;
        }
        if (opcode != WS_RAW_MORE)
            m.opcode = opcode;
        keep = len < room ? (size_t)len : room;
        if (!read_all(fd, m.text + m.len, keep) || !skip(fd, len - keep))
            goto closed;
        m.len += (size_t)len;
    }
    if (m.opcode == WS_RAW_CLOSE && m.len >= 2) {
        m.close_code = (uint8_t)m.text[0] << 8 | (uint8_t)m.text[1];
        memmove(m.text, m.text + 2, sizeof m.text - 2);
    }
    return m;
closed:
    memset(&m, 0, sizeof m);
    return m;
}

bool ws_raw_quiet(int fd, int ms)
{
    struct pollfd pfd = {.fd = fd, .events = POLLIN};
    return poll(&pfd, 1, ms) == 0;
}
