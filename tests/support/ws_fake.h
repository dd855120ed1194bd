/*
 * ws_fake.h - a WebSocket server of a few lines in a thread, that says exactly what a test wants
 *
 * The test hands a function that plays the server's part of one connection; it runs for each
 * connection in turn. Nothing of the library under test is used on this side.
 */
#pragma once

#include <arpa/inet.h>
/* openssl/types.h has a type of the name of proto/err.h's code. */
#define ERR_STATE OPENSSL_ERR_STATE
#include <openssl/evp.h>
#include <openssl/sha.h>
#undef ERR_STATE
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct ws_fake {
    int listener, fd, connections;
    char url[64], request[4096];
    const char *subprotocol;   /* what the server answers, NULL = none */
    int refuse;                /* HTTP status instead of 101 */
    const char *refuse_header; /* a whole header line of that answer, or NULL */
    bool pings;                /* ws_fake_receive() returns 9 for a ping, too */
    bool closed;               /* the client's close frame came */
    void (*play)(struct ws_fake *s);
    void *ctx;
    pthread_t thread;
    uint8_t message[1 << 20]; /* the last one received */
    size_t len;
    int failed_line; /* of the first expectation that did not hold, 0 = all did */
};

/* cmocka's assertions belong to the test's own thread; the server notes and the test looks. */
#define WS_FAKE_EXPECT(s, condition) \
    ((condition) || (s)->failed_line ? (void)0 : (void)((s)->failed_line = __LINE__))

static inline bool ws_fake_take(struct ws_fake *s, void *to, size_t n)
{
    return n == 0 || recv(s->fd, to, n, MSG_WAITALL) == (ssize_t)n;
}

/* The client's next data message. Returns its opcode (1 text, 2 binary), 8 = close, 0 = gone. */
static inline int ws_fake_receive(struct ws_fake *s)
{
    uint8_t head[2], size[8], mask[4];
    size_t n;

    s->len = 0;
    for (;;) {
        if (!ws_fake_take(s, head, 2))
            return 0;
        n = head[1] & 0x7f;
        if (n >= 126) {
            if (!ws_fake_take(s, size, n == 126 ? 2 : 8))
                return 0;
            n = n == 126 ? (size_t)size[0] << 8 | size[1]
                         : (size_t)size[4] << 24 | (size_t)size[5] << 16 | (size_t)size[6] << 8 |
                               size[7];
        }
        if (!(head[1] & 0x80) || n >= sizeof s->message - s->len || !ws_fake_take(s, mask, 4) ||
            !ws_fake_take(s, s->message + s->len, n))
            return 0;
        for (size_t i = 0; i < n; i++)
            s->message[s->len + i] ^= mask[i & 3];
        if ((head[0] & 0xf) == 9 && s->pings)
            return 9;
        if ((head[0] & 0xf) > 8)
            continue;
        s->closed = s->closed || (head[0] & 0xf) == 8;
        s->len += n;
        s->message[s->len] = 0;
        if (head[0] & 0x80)
            return head[0] & 0xf;
    }
}

/* One message in one or, split at `cut`, two fragments. */
static inline void ws_fake_send(struct ws_fake *s, int opcode, const void *data, size_t n,
                                size_t cut)
{
    uint8_t head[10] = {(uint8_t)((cut ? 0 : 0x80) | opcode)};
    size_t part = cut ? cut : n, h = 2;

    if (part < 126) {
        head[1] = (uint8_t)part;
    } else if (part < 65536) {
        head[1] = 126;
        head[2] = (uint8_t)(part >> 8);
        head[3] = (uint8_t)part;
        h = 4;
    } else {
        head[1] = 127;
        for (int i = 0; i < 4; i++)
            head[6 + i] = (uint8_t)(part >> (24 - 8 * i));
        h = 10;
    }
    if (send(s->fd, head, h, MSG_NOSIGNAL) < 0 || send(s->fd, data, part, MSG_NOSIGNAL) < 0)
        return;
    if (cut) /* 0x80 | 0: the final continuation */
        ws_fake_send(s, 0, (const uint8_t *)data + cut, n - cut, 0);
}

static inline void ws_fake_text(struct ws_fake *s, const char *text)
{
    ws_fake_send(s, 1, text, strlen(text), 0);
}

static inline void ws_fake_close(struct ws_fake *s, int code, const char *reason)
{
    uint8_t body[125] = {(uint8_t)(code >> 8), (uint8_t)code};
    size_t n = strlen(reason);

    memcpy(body + 2, reason, n);
    ws_fake_send(s, 8, body, n + 2, 0);
}

static inline bool ws_fake_handshake(struct ws_fake *s)
{
    static const char magic[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    uint8_t digest[20];
    char key[128], *at, accept[40], answer[512];
    size_t n = 0;

    while (n < sizeof s->request - 1 && recv(s->fd, s->request + n, 1, 0) == 1) {
        s->request[++n] = '\0';
        if (n > 3 && memcmp(s->request + n - 4, "\r\n\r\n", 4) == 0)
            break;
    }
    at = strcasestr(s->request, "Sec-WebSocket-Key: ");
    if (!at)
        return false;
    snprintf(key, sizeof key, "%.24s%s", at + 19, magic);
    SHA1((const uint8_t *)key, strlen(key), digest);
    EVP_EncodeBlock((unsigned char *)accept, digest, 20);
    if (s->refuse)
        snprintf(answer, sizeof answer, "HTTP/1.1 %d No\r\n%sContent-Length: 0\r\n\r\n", s->refuse,
                 s->refuse_header ? s->refuse_header : "");
    else
        snprintf(answer, sizeof answer,
                 "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                 "Sec-WebSocket-Accept: %s\r\n%s%s%s\r\n",
                 accept, s->subprotocol ? "Sec-WebSocket-Protocol: " : "",
                 s->subprotocol ? s->subprotocol : "", s->subprotocol ? "\r\n" : "");
    return send(s->fd, answer, strlen(answer), MSG_NOSIGNAL) > 0 && !s->refuse;
}

static inline void *ws_fake_serve(void *argument)
{
    struct ws_fake *s = argument;

    while ((s->fd = accept(s->listener, NULL, NULL)) >= 0) {
        s->connections++;
        if (ws_fake_handshake(s))
            s->play(s);
        shutdown(s->fd, SHUT_WR);
        close(s->fd);
    }
    return NULL;
}

static inline void ws_fake_start(struct ws_fake *s, void (*play)(struct ws_fake *s), void *ctx)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof a;

    *s = (struct ws_fake){.subprotocol = "recon.v1", .play = play, .ctx = ctx};
    s->listener = socket(AF_INET, SOCK_STREAM, 0);
    if (s->listener < 0 || bind(s->listener, (struct sockaddr *)&a, sizeof a) ||
        listen(s->listener, 8) || getsockname(s->listener, (struct sockaddr *)&a, &len))
        abort();
    snprintf(s->url, sizeof s->url, "ws://127.0.0.1:%d/v1/sessions/a/stream", ntohs(a.sin_port));
}

static inline void ws_fake_run(struct ws_fake *s)
{
    if (pthread_create(&s->thread, NULL, ws_fake_serve, s))
        abort();
}

static inline void ws_fake_stop(struct ws_fake *s)
{
    shutdown(s->listener, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->listener);
}
