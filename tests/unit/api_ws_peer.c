/* api_ws_peer.c - a connection without a socket: what it holds, and what the clock says to it */
#include "api/server/ws_peer.h"
#include "tests/support/fake_core.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static struct {
    struct fake_core *core;
    struct api_config config;
    struct ws_peer_env env;
    struct session_info session;
    struct ws_peer peer;
} t;

FIXTURE(setup)
{
    const struct session_options options = {0};
    struct err err;
    int retry;

    memset(&t, 0, sizeof t);
    t.core = fake_core_new(4);
    t.config = (struct api_config){.ops = fake_core_ops(),
                                   .core = fake_core_core(t.core),
                                   .auth_mode = API_AUTH_NONE,
                                   .max_message_bytes = 2 << 20,
                                   .header_timeout_s = 5,
                                   .message_timeout_s = 10,
                                   .ping_s = 3,
                                   .hangup_s = 8};
    t.env.config = &t.config;
    assert_int_equal(auth_open(&t.env.auth, &t.config, &err), 0);
    assert_int_equal(
        t.config.ops->session_create(t.config.core, &options, "", &t.session, &retry, &err), 0);
    return 0;
}

FIXTURE(teardown)
{
    ws_peer_close(&t.peer);
    auth_close(&t.env.auth);
    fake_core_free(&t.core);
    return 0;
}

static void receive(const void *data, size_t len, bool final, bool binary, int64_t now_ms)
{
    ws_peer_receive(&t.peer, data, len, 0, !t.peer.in_message, final, binary, now_ms);
}

/* A stream that has started at second 1. */
static void begin(void)
{
    static const char start[] = "{\"op\":\"start\",\"role\":\"ingest\",\"codecs\":[\"raw\"]}";
    char path[96], answer[WS_PEER_ANSWER_MAX];
    const struct ws_peer_handshake h = {.path = path, .protocols = "recon.v1"};

    snprintf(path, sizeof path, "/v1/sessions/%s/stream", t.session.id);
    ws_peer_open(&t.peer, &t.env, -1, 1000);
    assert_int_equal(ws_peer_admit(&t.peer, &h, answer), 0);
    ws_peer_opened(&t.peer, 1000);
    receive(start, strlen(start), true, false, 1000);
    assert_int_equal(t.peer.phase, WS_PEER_STARTED);
}

/* The receive buffer is there from the first binary message on, while messages come. */
TEST_WITH(test_the_buffer_is_given_back, setup, teardown)
{
    static uint8_t big[1900000];

    begin();
    assert_null(t.peer.rx);
    receive(big, sizeof big, true, true, 2000); /* no frame, but a message */
    assert_non_null(t.peer.rx);
    assert_false(ws_peer_tick(&t.peer, 0, 2000 + WS_PEER_REST_MS - 1));
    assert_non_null(t.peer.rx);
    receive("{", 1, false, true, 6000); /* half a message keeps it */
    assert_false(ws_peer_tick(&t.peer, 0, 6000 + WS_PEER_REST_MS));
    assert_non_null(t.peer.rx);
    receive("}", 1, true, true, 12000);
    ws_peer_close(&t.peer);
    assert_null(t.peer.rx);

    begin();
    receive(big, sizeof big, true, true, 2000);
    assert_false(ws_peer_tick(&t.peer, 0, 2000 + WS_PEER_REST_MS));
    assert_null(t.peer.rx);
    t.peer.strikes = 0;
    receive(big, sizeof big, true, true, 9000); /* and comes again */
    assert_non_null(t.peer.rx);
}

/* Where the kernel does not say how much came, what is known of messages counts the next time. */
TEST_WITH(test_not_known_is_not_nothing, setup, teardown)
{
    static uint8_t big[1900000];

    begin();
    receive(big, sizeof big, true, true, 2000);
    assert_false(ws_peer_weigh(&t.peer, 0, 2000));
    assert_false(ws_peer_weigh(&t.peer, sizeof big + 500, 2001));
    assert_false(ws_peer_weigh(&t.peer, 0, 2002));
    assert_true(ws_peer_weigh(&t.peer, sizeof big + 200000, 2003));
}
