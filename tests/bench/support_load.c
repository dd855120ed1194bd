#include "tests/bench/support_load.h"

#include "proto/wire/frame.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define IN_CAP 65536
#define HEAD_MAX 14
#define PATIENCE_MS 20000

enum { TEXT = 1, BINARY = 2, CLOSE = 8, PING = 9, PONG = 10 };

struct support_load {
    int fd;
    struct support_load_picture picture;
    support_load_ack *on_ack;
    void *ctx;
    uint8_t in[IN_CAP];
    size_t in_len;
    uint64_t skip; /* bytes of a block message that are still to come */
    uint8_t head[HEAD_MAX + FRAME_HEAD_BYTES];
    struct iovec out[2]; /* of the frame that is being written */
    uint8_t pong[HEAD_MAX + 125];
    size_t pong_len;
    uint64_t sent, answered;
    uint64_t due_us[SUPPORT_LOAD_SEQS];
    int phase[SUPPORT_LOAD_SEQS];
    uint64_t out_us, in_us; /* support_load_moments() */
    struct control_ready ready;
    bool is_ready;
    uint64_t hold; /* frames of a pose */
};

static uint64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

void support_load_moments(const struct support_load *l, uint64_t *out_us, uint64_t *in_us)
{
    *out_us = l->out_us;
    *in_us = l->in_us;
}

int support_load_fd(const struct support_load *l)
{
    return l->fd;
}

bool support_load_pending(const struct support_load *l)
{
    return l->out[0].iov_len || l->out[1].iov_len || l->pong_len;
}

uint64_t support_load_sent(const struct support_load *l)
{
    return l->sent;
}

int support_load_unanswered(const struct support_load *l)
{
    return (int)(l->sent - l->answered);
}

int support_load_window(const struct support_load *l)
{
    return (int)l->ready.window;
}

/* ------------------------------------------------------------------------- writing */

/* Head of a message in one piece, masked with zeros. Returns its length. */
static size_t message_head(uint8_t *out, int opcode, uint64_t len)
{
    size_t n = 0;

    out[n++] = (uint8_t)(0x80 | opcode);
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
    memset(out + n, 0, 4);
    return n + 4;
}

/* Write iov until the socket takes no more. */
static int write_some(struct support_load *l, struct iovec *iov, int n, struct err *err)
{
    while (n && iov->iov_len == 0) {
        iov++;
        n--;
    }
    while (n) {
        struct msghdr m = {.msg_iov = iov, .msg_iovlen = (size_t)n};
        ssize_t wrote = sendmsg(l->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (wrote < 0)
            return errno == EAGAIN || errno == EINTR
                       ? 0
                       : err_set(err, ERR_IO, "cannot send: %s", strerror(errno));
        for (; n && (size_t)wrote >= iov->iov_len; iov++, n--) {
            wrote -= (ssize_t)iov->iov_len;
            iov->iov_len = 0;
        }
        if (n) {
            iov->iov_base = (uint8_t *)iov->iov_base + wrote;
            iov->iov_len -= (size_t)wrote;
        }
    }
    return 0;
}

/* A pong waits for the end of the frame that is under way. */
static int flush(struct support_load *l, struct err *err)
{
    struct iovec pong = {l->pong, l->pong_len};
    bool writing = l->out[0].iov_len || l->out[1].iov_len;
    int rc = write_some(l, l->out, 2, err);

    if (writing && !l->out[0].iov_len && !l->out[1].iov_len)
        l->out_us = now_us();
    if (rc || l->out[0].iov_len || l->out[1].iov_len || !l->pong_len)
        return rc;
    rc = write_some(l, &pong, 1, err);
    memmove(l->pong, l->pong + (l->pong_len - pong.iov_len), pong.iov_len);
    l->pong_len = pong.iov_len;
    return rc;
}

/* A hand that sways: a metre to and fro, looking the same way. The picture does not follow: with
 * every new pose its points lie elsewhere. */
static struct rigid pose(uint64_t seq)
{
    struct rigid T = rigid_identity();

    T.t[0] = 0.5f * sinf(0.05f * (float)(seq % 100000));
    T.t[1] = 0.2f * sinf(0.031f * (float)(seq % 100000));
    return T;
}

bool support_load_frame_of(struct support_load *l, const struct support_load_picture *picture,
                           const struct rigid *T_wc, uint64_t due_us, int phase)
{
    struct frame f = {.seq = l->sent + 1,
                      .t_capture_ns = due_us * 1000,
                      .flags = FRAME_HAS_POSE,
                      .width = picture->width,
                      .height = picture->height,
                      .T_wc = *T_wc,
                      .payload = picture->jpeg,
                      .payload_len = (uint32_t)picture->len};
    size_t n;

    if (support_load_pending(l) || support_load_unanswered(l) >= 3 * (int)l->ready.window ||
        support_load_unanswered(l) >= SUPPORT_LOAD_SEQS)
        return false;
    l->sent++;
    l->due_us[f.seq % SUPPORT_LOAD_SEQS] = due_us;
    l->phase[f.seq % SUPPORT_LOAD_SEQS] = phase;
    l->out_us = l->in_us = 0;
    n = message_head(l->head, BINARY, FRAME_HEAD_BYTES + picture->len);
    frame_encode_head(l->head + n, &f, FRAME_POSE_CV);
    l->out[0] = (struct iovec){l->head, n + FRAME_HEAD_BYTES};
    l->out[1] = (struct iovec){(void *)(uintptr_t)picture->jpeg, picture->len};
    return true;
}

void support_load_hold(struct support_load *l, int frames)
{
    l->hold = (uint64_t)frames;
}

bool support_load_frame(struct support_load *l, uint64_t due_us, int phase)
{
    const struct rigid T_wc = pose(l->sent / l->hold);

    return support_load_frame_of(l, &l->picture, &T_wc, due_us, phase);
}

/* ------------------------------------------------------------------------- reading */

static int on_text(struct support_load *l, const char *text, size_t len, struct err *err)
{
    struct control_message m;
    int rc = control_parse(&m, text, len, err);

    if (rc)
        return rc;
    if (m.op == CONTROL_READY) {
        l->ready = m.ready;
        l->is_ready = true;
    }
    if (m.op == CONTROL_ACK) {
        l->answered++;
        l->on_ack(l->ctx, &m.ack, l->due_us[m.ack.seq % SUPPORT_LOAD_SEQS],
                  l->phase[m.ack.seq % SUPPORT_LOAD_SEQS]);
    }
    if (m.op == CONTROL_ERROR)
        return err_set(err, ERR_IO, "the server says %d %s: %s", m.error.status, m.error.title,
                       m.error.detail);
    if (m.op == CONTROL_BYE)
        return err_set(err, ERR_END, "the server says bye: %s", m.bye.reason);
    return 0;
}

/* One message at the front of the buffer. Returns bytes used, 0 = more are needed, < 0. */
static long take_message(struct support_load *l, const uint8_t *p, size_t len, struct err *err)
{
    size_t n = 2, extra;
    uint64_t body;
    int opcode, rc = 0;

    if (len < 2)
        return 0;
    opcode = p[0] & 15;
    body = p[1] & 127;
    extra = body == 126 ? 2 : body == 127 ? 8 : 0;
    if (len < n + extra)
        return 0;
    for (size_t i = 0; i < extra; i++)
        body = (i ? body << 8 : 0) | p[n + i];
    n += extra;
    if (opcode == BINARY || opcode == 0) {
        if (l->out_us && !l->in_us)
            l->in_us = now_us();
        l->skip = body;
        return (long)n;
    }
    if (body > CONTROL_TEXT_MAX || !(p[0] & 0x80))
        return err_set(err, ERR_INPUT, "a message of type %d, %llu bytes long", opcode,
                       (unsigned long long)body);
    if (len < n + body)
        return 0;
    if (opcode == TEXT)
        rc = on_text(l, (const char *)p + n, (size_t)body, err);
    else if (opcode == CLOSE)
        rc = err_set(err, ERR_END, "the server closed, code %d",
                     body >= 2 ? p[n] << 8 | p[n + 1] : 0);
    else if (opcode == PING && body <= 125 && !l->pong_len) {
        l->pong_len = message_head(l->pong, PONG, body);
        memcpy(l->pong + l->pong_len, p + n, (size_t)body);
        l->pong_len += (size_t)body;
    }
    return rc ? rc : (long)(n + body);
}

static int take_all(struct support_load *l, struct err *err)
{
    size_t at = 0;
    long n = 0;

    while (at < l->in_len) {
        if (l->skip) {
            size_t pass = l->skip < l->in_len - at ? (size_t)l->skip : l->in_len - at;
            at += pass;
            l->skip -= pass;
            continue;
        }
        n = take_message(l, l->in + at, l->in_len - at, err);
        if (n <= 0)
            break;
        at += (size_t)n;
    }
    memmove(l->in, l->in + at, l->in_len - at);
    l->in_len -= at;
    return n < 0 ? (int)n : 0;
}

static int read_some(struct support_load *l, struct err *err)
{
    ssize_t n;
    int rc = 0;

    do {
        n = recv(l->fd, l->in + l->in_len, IN_CAP - l->in_len, MSG_DONTWAIT);
        if (n == 0)
            return err_set(err, ERR_END, "the server hung up");
        if (n < 0)
            return errno == EAGAIN || errno == EINTR
                       ? 0
                       : err_set(err, ERR_IO, "cannot read: %s", strerror(errno));
        l->in_len += (size_t)n;
        rc = take_all(l, err);
    } while (rc == 0 && l->in_len < IN_CAP);
    return rc;
}

int support_load_run(struct support_load *l, struct err *err)
{
    int rc = read_some(l, err);

    return rc ? rc : flush(l, err);
}

/* ------------------------------------------------------------------------- opening */

static int wait_for(int fd, short events)
{
    struct pollfd p = {.fd = fd, .events = events};

    return poll(&p, 1, PATIENCE_MS) == 1 ? 0 : -1;
}

static int dial(struct support_load *l, const char *url, char *path, size_t cap, struct err *err)
{
    struct sockaddr_in to = {.sin_family = AF_INET};
    char host[64];
    int port, one = 1, at = 0;

    if (sscanf(url, "ws://%63[^:/]:%d%n", host, &port, &at) != 2 || !at ||
        inet_pton(AF_INET, strcmp(host, "localhost") ? host : "127.0.0.1", &to.sin_addr) != 1)
        return err_set(err, ERR_INPUT, "'%.100s' is not ws://ADDRESS:PORT/...", url);
    snprintf(path, cap, "%s", url + at);
    to.sin_port = htons((uint16_t)port);
    l->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (l->fd < 0 || connect(l->fd, (struct sockaddr *)&to, sizeof(to)))
        return err_set(err, ERR_IO, "cannot connect: %s", strerror(errno));
    setsockopt(l->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return 0;
}

static int shake_hands(struct support_load *l, const char *path, const char *token, struct err *err)
{
    char text[1024], *end = NULL;
    int n = snprintf(text, sizeof(text),
                     "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n"
                     "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                     "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: " CONTROL_SUBPROTOCOL
                     "\r\nAuthorization: Bearer %s\r\n\r\n",
                     path, token);

    if (n >= (int)sizeof(text) || send(l->fd, text, (size_t)n, MSG_NOSIGNAL) != n)
        return err_set(err, ERR_IO, "cannot ask for the upgrade");
    while (!end && l->in_len < 4096 && wait_for(l->fd, POLLIN) == 0) {
        ssize_t got = recv(l->fd, l->in + l->in_len, 4096 - l->in_len, 0);
        if (got <= 0)
            break;
        l->in_len += (size_t)got;
        end = memmem(l->in, l->in_len, "\r\n\r\n", 4);
    }
    if (!end || strncmp((const char *)l->in, "HTTP/1.1 101", 12) != 0)
        return err_set(err, ERR_DENIED, "no upgrade: %.40s", (const char *)l->in);
    l->in_len -= (size_t)(end + 4 - (char *)l->in);
    memmove(l->in, end + 4, l->in_len);
    return 0;
}

static int say_start(struct support_load *l, struct err *err)
{
    const struct control_message start = {
        .op = CONTROL_START,
        .start = {.role = CONTROL_INGEST, .codecs = 1u << CODEC_DEFLATE, .pose = FRAME_POSE_CV}};
    uint8_t out[HEAD_MAX + 512];
    char text[512];
    size_t len = control_write(text, sizeof(text), &start), n = message_head(out, TEXT, len);
    int rc = 0;

    memcpy(out + n, text, len);
    if (send(l->fd, out, n + len, MSG_NOSIGNAL) != (ssize_t)(n + len))
        return err_set(err, ERR_IO, "cannot say start");
    while (rc == 0 && !l->is_ready) {
        if (wait_for(l->fd, POLLIN))
            return err_set(err, ERR_IO, "the server does not say ready");
        rc = read_some(l, err);
    }
    return rc;
}

int support_load_open(struct support_load **load, const char *url, const char *token,
                      const struct support_load_picture *picture, support_load_ack *on_ack,
                      void *ctx, struct err *err)
{
    struct support_load *l = calloc(1, sizeof(*l));
    char path[256];
    int rc;

    *load = l;
    if (!l)
        return err_set(err, ERR_MEMORY, "no memory for a stream");
    l->fd = -1;
    l->picture = *picture;
    l->hold = 1;
    l->on_ack = on_ack;
    l->ctx = ctx;
    rc = dial(l, url, path, sizeof(path), err);
    if (rc == 0)
        rc = shake_hands(l, path, token, err);
    if (rc == 0)
        rc = say_start(l, err);
    if (rc)
        support_load_close(load);
    return rc;
}

void support_load_close(struct support_load **load)
{
    struct support_load *l = *load;

    if (!l)
        return;
    if (l->fd >= 0)
        close(l->fd);
    free(l);
    *load = NULL;
}
