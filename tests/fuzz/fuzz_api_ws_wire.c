/*
 * fuzz_api_ws_wire.c - the whole stream edge in process: a socket pair as the connection, its
 * request, its frames, its peer
 *
 * Input: first byte = flags: 1 a right handshake comes first, 2 the rest is the wire's own bytes;
 * its upper bits are how many bytes go into one write, 0 = all. Without flag 2 the rest is frames:
 * their first byte as it goes out (final, reserved bits, opcode), a byte of length, whose top bit
 * announces 2^63 more than come, and the payload, masked for it. What comes back is an answer, then
 * frames as a server writes them, text among them being control messages that can be read.
 */
#include "api/server/ws_service.c"

#include "tests/support/fake_core.h"
#include "tests/support/fuzz_case.h"

#include <errno.h>
#include <stdio.h>

#define TURNS_MAX 2000
#define HEARD_MAX (1u << 20)
#define SPOKEN_MAX (1u << 18)

static struct fake_core *core;
static struct ws ws;
static struct auth *authority;
static struct session_info session;
static uint8_t heard[HEARD_MAX], spoken[SPOKEN_MAX];
static size_t n_heard, n_spoken;

static void start_once(void)
{
    struct session_options options;
    struct err err;
    int retry;

    if (core)
        return;
    core = fake_core_new(4);
    ws.config.ops = fake_core_ops();
    ws.config.core = fake_core_core(core);
    ws.config.auth_mode = API_AUTH_NONE;
    ws.config.max_message_bytes = 4096;
    ws.config.max_connections = ws.config.max_per_address = 4;
    ws.config.header_timeout_s = ws.config.message_timeout_s = 5;
    ws.config.ping_s = 3;
    ws.config.hangup_s = 8;
    check(auth_open(&authority, &ws.config, &err) == 0);
    ws.env.config = &ws.config;
    ws.env.auth = authority;
    ws.n_services = 1;
    ws.services[0].ws = &ws;
    ws.services[0].epoll = ws.services[0].bell = -1;
    ws.fd = ws.spare_fd = -1;
    ws.peers = calloc(4, sizeof *ws.peers);
    ws.conns = calloc(4, sizeof *ws.conns);
    check(ws.peers && ws.conns && ws_slots_new(&ws.slots, 4, 1, &err) == 0);
    check(ws_service_open(&ws.services[0], &err) == 0);
    memset(&options, 0, sizeof options);
    check(ws.config.ops->session_create(ws.config.core, &options, "", &session, &retry, &err) == 0);
}

static int connect_client(void)
{
    uint8_t address[16] = {127, 0, 0, 1};
    int sv[2], service;

    check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sv) == 0);
    service = ws_slots_take(ws.slots, address, 4, sv[1]);
    check(service == 0);
    for (int i = 0; i < ws.config.max_connections; i++) {
        int fd = ws_slots_arrive(ws.slots, i);

        if (fd >= 0)
            adopt(&ws.services[0], i, fd);
    }
    return sv[0];
}

/* ------------------------------------------------------------------------- what is said */

static void say(const void *data, size_t n)
{
    n = n < SPOKEN_MAX - n_spoken ? n : SPOKEN_MAX - n_spoken;
    memcpy(spoken + n_spoken, data, n);
    n_spoken += n;
}

static void say_handshake(void)
{
    char text[512];
    int n = snprintf(
        text, sizeof text,
        "GET /v1/sessions/%s/stream HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: " CONTROL_SUBPROTOCOL "\r\n\r\n",
        session.id);
    say(text, (size_t)n);
}

static void say_frame(uint8_t first, uint8_t length, const uint8_t *payload, size_t n)
{
    static const uint8_t key[4] = {1, 2, 3, 4};
    uint8_t head[14] = {first, (uint8_t)(0x80 | n)};
    size_t at = 2;

    if (length & 0x80) {
        head[1] = 0x80 | 127;
        head[2] = 0x7f;
        head[9] = (uint8_t)n;
        at = 10;
    } else if (n > 125) {
        head[1] = 0x80 | 126;
        head[3] = (uint8_t)n;
        at = 4;
    }
    memcpy(head + at, key, 4);
    say(head, at + 4);
    for (size_t i = 0; i < n; i++) {
        uint8_t masked = payload[i] ^ key[i & 3];
        say(&masked, 1);
    }
}

static void say_all(const uint8_t *data, size_t size)
{
    uint8_t flags = data[0];

    n_spoken = 0;
    if (flags & 1)
        say_handshake();
    if (flags & 2) {
        say(data + 1, size - 1);
        return;
    }
    for (size_t at = 1; at + 2 <= size;) {
        size_t n = data[at + 1] & 0x7f, left = size - at - 2;

        n = n < left ? n : left;
        say_frame(data[at], data[at + 1], data + at + 2, n);
        at += 2 + n;
    }
}

/* ------------------------------------------------------------------------- what is heard */

static bool hear(int fd)
{
    ssize_t n = 1;

    while (n_heard < HEARD_MAX &&
           (n = recv(fd, heard + n_heard, HEARD_MAX - n_heard, MSG_DONTWAIT)) > 0)
        n_heard += (size_t)n;
    check(n_heard < HEARD_MAX);
    return n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

static void check_frame(uint8_t first, const uint8_t *payload, size_t n)
{
    struct control_message m;

    check((first & 0xf0) == 0x80); /* whole, nothing reserved */
    if ((first & 15) == 1)
        check(control_parse(&m, (const char *)payload, n, NULL) == 0);
    else if ((first & 15) == 8)
        check(n <= 125);
    else
        check((first & 15) == 2 || (first & 15) == 9 || (first & 15) == 10);
}

static void check_heard(void)
{
    const uint8_t *end;
    size_t at;

    if (n_heard == 0)
        return;
    check(n_heard >= 12 && memcmp(heard, "HTTP/1.1 ", 9) == 0);
    if (memcmp(heard + 9, "101", 3) != 0)
        return;
    end = memmem(heard, n_heard, "\r\n\r\n", 4);
    check(end != NULL);
    for (at = (size_t)(end - heard) + 4; at + 2 <= n_heard;) {
        uint8_t first = heard[at];
        size_t n = heard[at + 1], head = n == 126 ? 4 : n == 127 ? 10 : 2;

        if (n_heard - at < head)
            break;
        if (n >= 126) {
            size_t bytes = head - 2;
            n = 0;
            for (size_t i = 0; i < bytes; i++)
                n = n << 8 | heard[at + 2 + i];
        }
        if (n > n_heard - at - head)
            break; /* the connection ended in the middle */
        check_frame(first, heard + at + head, n);
        at += head + n;
    }
}

static void talk(int fd, size_t piece)
{
    size_t at = 0;
    bool over = false;
    int quiet = 0;

    for (int i = 0; i < TURNS_MAX && !over && quiet < 3; i++) {
        size_t n = n_spoken - at < piece ? n_spoken - at : piece;
        ssize_t sent = n > 0 ? send(fd, spoken + at, n, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;

        at += sent > 0 ? (size_t)sent : 0;
        quiet = sent > 0 ? 0 : quiet + 1;
        ws_service_turn(&ws.services[0], 0);
        over = hear(fd);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd;

    if (size < 1)
        return 0;
    start_once();
    say_all(data, size);
    n_heard = 0;
    fd = connect_client();
    talk(fd, data[0] >> 2 ? data[0] >> 2 : SIZE_MAX);
    check_heard();
    close(fd);
    for (int i = 0; i < 50 && ws_slots_taken(ws.slots) > 0; i++)
        ws_service_turn(&ws.services[0], 0);
    check(ws_slots_taken(ws.slots) == 0 && fake_core_counts(core).streams == 0);
    return 0;
}
