/*
 * fuzz_api_ws.c - one WebSocket connection as a state machine, in process
 *
 * Input: first byte = how the handshake looks, then pieces: a byte of flags (1 first, 2 final, 4
 * binary, 8 let a second pass, 16 announce more), a byte of length, that many bytes. All that is
 * said to the client is a control message that the client can read, and a connection that was
 * ended says nothing more.
 */
#include "api/server/ws_peer.h"
#include "proto/json.h"
#include "tests/support/fake_core.h"
#include "tests/support/fuzz_case.h"

static struct fake_core *core;
static struct api_config config;
static struct ws_peer_env env;
static struct session_info session;
static struct ws_peer peer;

static void start_once(void)
{
    struct session_options options;
    struct err err;
    int retry;

    if (core)
        return;
    core = fake_core_new(4);
    config.ops = fake_core_ops();
    config.core = fake_core_core(core);
    config.auth_mode = API_AUTH_NONE;
    config.max_message_bytes = 4096;
    config.header_timeout_s = config.message_timeout_s = 5;
    config.ping_s = 3;
    config.hangup_s = 8;
    env.config = &config;
    check(auth_open(&env.auth, &config, &err) == 0);
    memset(&options, 0, sizeof options);
    check(config.ops->session_create(config.core, &options, "", &session, &retry, &err) == 0);
}

/* Everything there is to say; true when the connection is over. */
static bool drain(void)
{
    for (int i = 0; i < 1000; i++) {
        const uint8_t *msg = NULL;
        size_t len = 0;
        struct control_message m;
        enum stream_kind kind = ws_peer_next(&peer, &msg, &len);
        if (kind == STREAM_NONE)
            return false;
        if (kind == STREAM_CLOSE) {
            check(peer.close_code >= 1000 && peer.close_code < 1016 && peer.close_reason);
            check(strlen(peer.close_reason) <= 123); /* what a close frame holds */
            return true;
        }
        check(kind == STREAM_TEXT && len > 0 && len <= CONTROL_TEXT_MAX);
        check(control_parse(&m, (const char *)msg, len, NULL) == 0);
    }
    abort();
}

static bool admit(uint8_t how)
{
    struct ws_peer_handshake h = {.protocols = "recon.v1"};
    char answer[WS_PEER_ANSWER_MAX], path[96] = "/v1/sessions/";
    size_t len;

    strcat(path, session.id);
    strcat(path, "/stream");
    h.path = how & 1 ? "/" : path;
    h.query = how & 2 ? "token=x" : NULL;
    h.origin = how & 4 ? "https://evil.example" : NULL;
    h.host = how & 8 ? "localhost:1" : NULL;
    if (how & 8)
        h.protocols = "chat, bearer.recon.****, recon.v1";
    h.repeated = how & 16;
    len = ws_peer_admit(&peer, &h, answer);
    check((len == 0) == !(how & 23));
    if (len > 0)
        check(strncmp(answer, "HTTP/1.1 4", 10) == 0 && strstr(answer, "\r\n\r\n"));
    return len == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int64_t now = 1000;
    uint64_t received = 0;
    bool over = size == 0, said = false;

    start_once();
    ws_peer_open(&peer, &env, -1, now);
    if (!over && !admit(data[0] & 8 || data[0] > 31 ? data[0] & 8 : data[0]))
        over = true;
    if (!over)
        ws_peer_opened(&peer, now);
    for (size_t at = 1; !over && at + 2 <= size;) {
        uint8_t flags = data[at];
        size_t len = data[at + 1] < size - at - 2 ? data[at + 1] : size - at - 2;
        if (flags & 8)
            now += 1000;
        ws_peer_receive(&peer, data + at + 2, len, flags & 16 ? SIZE_MAX - 7 : 0, flags & 1,
                        flags & 2, flags & 4, now);
        at += 2 + len;
        received += len + (flags & 32 ? 40000 : 6);
        over = ws_peer_weigh(&peer, received, now) || ws_peer_tick(&peer, 0, now);
        if (!over) /* a peer that is cut off hears nothing more */
            over = said = drain();
        check(peer.waste >= 0);
    }
    if (said)
        check(peer.own_len == 0);
    ws_peer_close(&peer);
    check(peer.stream == NULL && fake_core_counts(core).streams == 0);
    return 0;
}
