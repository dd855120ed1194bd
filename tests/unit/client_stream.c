/* The stream of a client against a server that the test plays: window, mirror, asking again,
 * resuming, and a server that breaks the protocol. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/client.h"
#include "tests/support/ws_fake.h"

#define READY                                                                           \
    "{\"op\":\"ready\",\"session\":\"a\",\"epoch\":7,\"revision\":0,\"codec\":\"raw\"," \
    "\"step_m\":0.001,\"window\":3,\"max_frame_bytes\":5000,\"net\":[64,64]}"

struct seen {
    int ready, acks, syncs, equal, errors;
    struct control_ack ack;
    struct control_sync sync;
    uint64_t points;
};

static void on_ready(void *ctx, const struct control_ready *r)
{
    assert_int_equal(r->window, 3);
    ((struct seen *)ctx)->ready++;
}

static void on_ack(void *ctx, const struct control_ack *a)
{
    ((struct seen *)ctx)->acks++;
    ((struct seen *)ctx)->ack = *a;
}

static void on_sync(void *ctx, const struct control_sync *s, bool equal)
{
    ((struct seen *)ctx)->syncs++;
    ((struct seen *)ctx)->equal = equal;
    ((struct seen *)ctx)->sync = *s;
}

static void on_cloud(void *ctx, const struct cloud *c)
{
    ((struct seen *)ctx)->points = cloud_points(c);
}

static void on_error(void *ctx, const struct control_error *e)
{
    assert_string_equal(e->detail, "no");
    ((struct seen *)ctx)->errors++;
}

static struct client_stream *open_stream(struct ws_fake *server, struct seen *seen)
{
    struct client_stream_config config = {.url = server->url,
                                          .token = "secret",
                                          .pose = FRAME_POSE_CV,
                                          .ctx = seen,
                                          .on_ready = on_ready,
                                          .on_ack = on_ack,
                                          .on_sync = on_sync,
                                          .on_cloud = on_cloud,
                                          .on_error = on_error};
    struct client_stream *s;
    struct err err = {0};

    *seen = (struct seen){0};
    ws_fake_run(server);
    if (client_stream_open(&s, &config, &err))
        fail_msg("%s", err.text);
    return s;
}

static void stop(struct ws_fake *server)
{
    ws_fake_stop(server);
    if (server->failed_line)
        fail_msg("the server's side: line %d", server->failed_line);
}

/* Run until `*what` reaches n, or the stream ends. */
static int run_until(struct client_stream *s, const int *what, int n, struct err *err)
{
    int rc = 0;

    for (int i = 0; i < 100 && rc == 0 && (!what || *what < n); i++)
        rc = client_stream_run(s, 50, err);
    return rc;
}

static struct frame frame(uint64_t seq)
{
    static uint8_t jpeg[300];
    struct frame f = {.seq = seq, .width = 64, .height = 48, .T_wc = rigid_identity()};

    for (size_t i = 0; i < sizeof jpeg; i++)
        jpeg[i] = (uint8_t)(i * 7);
    f.payload = jpeg;
    f.payload_len = sizeof jpeg;
    f.flags = FRAME_HAS_POSE;
    f.T_wc.t[0] = 1.5f;
    return f;
}

/* ------------------------------------------------------------------------- blocks */

struct block_case {
    struct delta_scratch *scratch;
    struct cloud_name name;
    uint64_t keys[4];
};

static void block_case_open(struct block_case *b)
{
    assert_int_equal(delta_scratch_new(&b->scratch, NULL), 0);
    b->name = (struct cloud_name){0, -1, 2, 3};
    for (uint64_t i = 0; i < 4; i++) /* colours of six bits, see cloud.h */
        b->keys[i] = (100 + 50 * i) << 32 | 0x40800000u | 0xff;
}

static void send_block(struct ws_fake *s, enum delta_op op, uint64_t revision, uint64_t base,
                       uint32_t n_points, uint32_t first, uint32_t n_added, size_t cut)
{
    struct block_case *b = s->ctx;
    struct delta d = {.op = op,
                      .codec = DELTA_RAW,
                      .epoch = 7,
                      .revision = revision,
                      .base_revision = base,
                      .name = b->name,
                      .n_points = n_points,
                      .n_added = n_added,
                      .added = b->keys + first};
    const uint8_t *msg;
    size_t len;

    if (delta_encode(b->scratch, &d, &msg, &len, NULL))
        abort();
    ws_fake_send(s, 2, msg, len, cut);
}

static void send_sync(struct ws_fake *s, uint64_t revision, uint32_t n, bool ended)
{
    struct block_case *b = s->ctx;
    struct cloud_limits limits = {16, 100};
    struct cloud *c = NULL;
    struct delta d = {.op = DELTA_PUT,
                      .codec = DELTA_RAW,
                      .epoch = 7,
                      .revision = revision,
                      .name = b->name,
                      .n_points = n,
                      .n_added = n,
                      .added = b->keys};
    const uint8_t *msg;
    size_t len;
    char text[256];

    if (cloud_new(&c, &limits, NULL) || delta_encode(b->scratch, &d, &msg, &len, NULL) ||
        cloud_apply(c, msg, len, NULL))
        abort();
    snprintf(text, sizeof text,
             "{\"op\":\"sync\",\"revision\":%d,\"points\":%u,\"hash\":\"%016llx\",\"ended\":%s}",
             (int)revision, n, (unsigned long long)cloud_hash(c), ended ? "true" : "false");
    ws_fake_text(s, text);
    cloud_free(&c);
}

/* ------------------------------------------------------------------------- a whole session */

static void play_session(struct ws_fake *s)
{
    char ack[128];

    WS_FAKE_EXPECT(s, strstr(s->request, "GET /v1/sessions/a/stream HTTP/1.1") != NULL);
    WS_FAKE_EXPECT(s, strcasestr(s->request, "\r\nAuthorization: Bearer secret\r\n") != NULL);
    WS_FAKE_EXPECT(s, strcasestr(s->request, "\r\nSec-WebSocket-Protocol: recon.v1\r\n") != NULL);
    WS_FAKE_EXPECT(s, ws_fake_receive(s) == 1);
    WS_FAKE_EXPECT(s, strstr((char *)s->message, "\"op\":\"start\"") != NULL);
    WS_FAKE_EXPECT(s, strstr((char *)s->message, "\"role\":\"ingest\"") != NULL);
    WS_FAKE_EXPECT(s, strstr((char *)s->message, "\"pose\":\"cv\"") != NULL);
    ws_fake_text(s, READY);
    for (int i = 0; i < 5; i++) {
        struct frame f;

        WS_FAKE_EXPECT(s, ws_fake_receive(s) == 2);
        WS_FAKE_EXPECT(s, frame_parse(&f, s->message, s->len, FRAME_POSE_CV, NULL) == 0);
        WS_FAKE_EXPECT(s, f.seq == 10u + (unsigned)i);
        WS_FAKE_EXPECT(s, f.payload_len == 300);
        WS_FAKE_EXPECT(s, f.payload[2] == 14);
        WS_FAKE_EXPECT(s, f.T_wc.t[0] == 1.5f);
        if (i < 2)
            continue; /* the window is 3: the fourth frame waits for an answer */
        for (int k = i == 2 ? 0 : i; k <= i; k++) {
            snprintf(ack, sizeof ack, "{\"op\":\"ack\",\"seq\":%d,\"status\":\"%s\"}", 10 + k,
                     k == 4 ? "refused\",\"reason\":\"decode_error" : "used");
            ws_fake_text(s, ack);
        }
    }
    send_block(s, DELTA_PUT, 1, 0, 2, 0, 2, 30); /* in two fragments */
    send_block(s, DELTA_PATCH, 2, 1, 3, 2, 1, 0);
    WS_FAKE_EXPECT(s, ws_fake_receive(s) == 1);
    WS_FAKE_EXPECT(s, strcmp((char *)s->message, "{\"op\":\"end\"}") == 0);
    send_sync(s, 2, 3, true);
    ws_fake_text(s, "{\"op\":\"error\",\"status\":400,\"title\":\"x\",\"detail\":\"no\"}");
    ws_fake_text(s,
                 "{\"op\":\"bye\",\"action\":\"disconnect\",\"retry_ms\":0,\"reason\":\"done\"}");
    ws_fake_close(s, 1000, "");
    ws_fake_receive(s);
}

static void a_session_from_start_to_end(void **state)
{
    struct block_case b;
    struct ws_fake *server = malloc(sizeof *server);
    struct client_stream *s;
    struct client_stream_stats stats;
    struct seen seen;
    struct frame f;
    struct err err = {0};
    uint64_t seq = 10;

    (void)state;
    assert_non_null(server);
    block_case_open(&b);
    ws_fake_start(server, play_session, &b);
    s = open_stream(server, &seen);
    f = frame(9);
    assert_int_equal(client_stream_window(s), 0);
    assert_int_equal(client_stream_send(s, &f, &err), ERR_BUSY); /* before ready */
    assert_int_equal(run_until(s, &seen.ready, 1, &err), 0);
    f.payload_len = 5000;
    assert_int_equal(client_stream_send(s, &f, &err), ERR_LIMIT);
    assert_int_equal(client_stream_window(s), 3);
    while (seq < 15) {
        while (seq < 15 && client_stream_window(s) > 0) {
            f = frame(seq++);
            assert_int_equal(client_stream_send(s, &f, &err), 0);
        }
        assert_true(seq - 10 - (uint64_t)seen.acks <= 3);
        f = frame(seq);
        if (client_stream_window(s) == 0)
            assert_int_equal(client_stream_send(s, &f, &err), ERR_BUSY);
        assert_int_equal(client_stream_run(s, 1000, &err), 0);
    }
    assert_int_equal(run_until(s, &seen.acks, 5, &err), 0);
    assert_int_equal(seen.ack.status, CONTROL_REFUSED);
    assert_int_equal(seen.ack.reason, CONTROL_DECODE_ERROR);
    assert_int_equal(client_stream_end(s, &err), 0);
    assert_int_equal(client_stream_send(s, &f, &err), ERR_STATE);
    assert_int_equal(run_until(s, NULL, 0, &err), ERR_END);
    assert_true(strstr(err.text, "done") != NULL);
    assert_int_equal(seen.syncs, 1);
    assert_true(seen.equal && seen.sync.ended);
    assert_int_equal(seen.points, 3);
    assert_int_equal(seen.errors, 1);
    assert_int_equal(client_stream_bye(s)->action, CONTROL_DISCONNECT);
    client_stream_get_stats(s, &stats);
    assert_int_equal(stats.frames_sent, 5);
    assert_int_equal(stats.frames_answered, 5);
    assert_int_equal(stats.blocks, 2);
    assert_int_equal(stats.points_received, 3);
    client_stream_close(&s);
    stop(server);
    delta_scratch_free(&b.scratch);
    free(server);
}

/* ------------------------------------------------------------------------- asking again */

static void play_gap(struct ws_fake *s)
{
    ws_fake_receive(s);
    ws_fake_text(s, READY);
    send_block(s, DELTA_PUT, 1, 0, 1, 0, 1, 0);
    send_block(s, DELTA_PATCH, 3, 2, 3, 2, 1, 0); /* the client never had revision 2 */
    send_sync(s, 3, 3, false);                    /* crosses the request: no verdict */
    WS_FAKE_EXPECT(s, ws_fake_receive(s) == 1);
    WS_FAKE_EXPECT(s, strcmp((char *)s->message,
                             "{\"op\":\"need\",\"submap\":0,\"x\":-1,\"y\":2,\"z\":3}") == 0);
    send_block(s, DELTA_PUT, 3, 0, 3, 0, 3, 0);
    send_sync(s, 3, 3, false);
    ws_fake_receive(s);
}

static void a_patch_that_does_not_fit_is_asked_for_whole(void **state)
{
    struct block_case b;
    struct ws_fake *server = malloc(sizeof *server);
    struct client_stream *s;
    struct client_stream_stats stats;
    struct seen seen;
    struct err err = {0};

    (void)state;
    assert_non_null(server);
    block_case_open(&b);
    ws_fake_start(server, play_gap, &b);
    s = open_stream(server, &seen);
    assert_int_equal(run_until(s, &seen.syncs, 1, &err), 0);
    assert_true(seen.equal);
    assert_int_equal(seen.points, 3);
    client_stream_get_stats(s, &stats);
    assert_int_equal(stats.resyncs, 1);
    client_stream_close(&s);
    stop(server);
    delta_scratch_free(&b.scratch);
    free(server);
}

/* ------------------------------------------------------------------------- resuming */

static void play_break(struct ws_fake *s)
{
    struct frame f;

    WS_FAKE_EXPECT(s, ws_fake_receive(s) == 1);
    if (s->connections == 1) {
        WS_FAKE_EXPECT(s, !strstr((char *)s->message, "resume"));
        ws_fake_text(s, READY);
        send_block(s, DELTA_PUT, 4, 0, 2, 0, 2, 0);
        send_sync(s, 4, 2, false);
        for (int i = 0; i < 2; i++)
            WS_FAKE_EXPECT(s, ws_fake_receive(s) == 2);
        ws_fake_text(s, "{\"op\":\"ack\",\"seq\":0,\"status\":\"used\"}");
        return; /* the line breaks with frame 1 unanswered */
    }
    WS_FAKE_EXPECT(s,
                   strstr((char *)s->message, "\"resume\":{\"epoch\":7,\"revision\":4}") != NULL);
    ws_fake_text(s, READY);
    WS_FAKE_EXPECT(s, ws_fake_receive(s) == 2);
    WS_FAKE_EXPECT(s, frame_parse(&f, s->message, s->len, FRAME_POSE_CV, NULL) == 0);
    WS_FAKE_EXPECT(s, f.seq == 1);
    ws_fake_text(s, "{\"op\":\"ack\",\"seq\":1,\"status\":\"used\"}");
    send_block(s, DELTA_PATCH, 5, 4, 3, 2, 1, 0);
    send_sync(s, 5, 3, false);
    ws_fake_receive(s);
}

static void a_broken_line_is_resumed(void **state)
{
    struct block_case b;
    struct ws_fake *server = malloc(sizeof *server);
    struct client_stream *s;
    struct seen seen;
    struct frame f;
    struct err err = {0};

    (void)state;
    assert_non_null(server);
    block_case_open(&b);
    ws_fake_start(server, play_break, &b);
    s = open_stream(server, &seen);
    assert_int_equal(run_until(s, &seen.syncs, 1, &err), 0);
    for (uint64_t i = 0; i < 2; i++) {
        f = frame(i);
        assert_int_equal(client_stream_send(s, &f, &err), 0);
    }
    assert_int_equal(run_until(s, NULL, 0, &err), ERR_IO);
    assert_int_equal(seen.acks, 1);
    assert_int_equal(client_stream_reopen(s, server->url, "secret", &err), 0);
    assert_int_equal(run_until(s, &seen.syncs, 2, &err), 0);
    assert_int_equal(seen.acks, 2);
    assert_true(seen.equal);
    assert_int_equal(seen.points, 3);
    client_stream_close(&s);
    stop(server);
    delta_scratch_free(&b.scratch);
    free(server);
}

/* ----------------------------------------------------------------------- servers that misbehave */

static const char *bad_text;

static void play_bad(struct ws_fake *s)
{
    ws_fake_receive(s);
    if (bad_text[0] != '!')
        ws_fake_text(s, READY);
    if (strcmp(bad_text, "huge") == 0)
        ws_fake_send(s, 1, s->message, CONTROL_TEXT_MAX + 1, 0);
    else if (strcmp(bad_text, "block") == 0)
        ws_fake_send(s, 2, "\x10\x01\x00\x00garbage", 11, 0);
    else if (strcmp(bad_text, "!block") == 0)
        send_block(s, DELTA_PUT, 1, 0, 1, 0, 1, 0);
    else
        ws_fake_text(s, bad_text);
    while (ws_fake_receive(s) > 0)
        ;
}

static void a_server_that_breaks_the_protocol_is_left(void **state)
{
    static const struct {
        const char *text;
        int code;
    } cases[] = {{"{\"op\":", ERR_INPUT}, {READY, ERR_INPUT},   {"{\"op\":\"end\"}", ERR_INPUT},
                 {"huge", ERR_LIMIT},     {"block", ERR_INPUT}, {"!block", ERR_INPUT}};
    struct block_case b;
    struct ws_fake *server = malloc(sizeof *server);
    struct client_stream *s;
    struct seen seen;
    struct err err = {0};

    (void)state;
    assert_non_null(server);
    block_case_open(&b);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bad_text = cases[i].text;
        ws_fake_start(server, play_bad, &b);
        s = open_stream(server, &seen);
        assert_int_equal(run_until(s, NULL, 0, &err), cases[i].code);
        assert_int_equal(client_stream_run(s, 1, &err), cases[i].code); /* and stays so */
        client_stream_close(&s);
        stop(server);
    }
    delta_scratch_free(&b.scratch);
    free(server);
}

static void refusals_at_the_door_have_their_codes(void **state)
{
    static const struct {
        int status, code;
    } cases[] = {{401, ERR_DENIED}, {403, ERR_DENIED}, {404, ERR_NOT_FOUND},
                 {503, ERR_BUSY},   {500, ERR_INPUT},  {0, ERR_UNSUPPORTED}};
    struct client_stream_config config = {.url = "http://127.0.0.1/"};
    struct ws_fake *server = malloc(sizeof *server);
    struct client_stream *s;
    struct seen seen;
    struct err err = {0};

    (void)state;
    assert_non_null(server);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ws_fake_start(server, play_bad, NULL);
        server->refuse = cases[i].status;
        if (cases[i].status == 0)
            server->subprotocol = NULL;
        bad_text = "!";
        s = open_stream(server, &seen);
        assert_int_equal(run_until(s, NULL, 0, &err), cases[i].code);
        client_stream_close(&s);
        stop(server);
    }
    assert_int_equal(client_stream_open(&s, &config, &err), ERR_INPUT);
    config.url = "ws://127.0.0.1:99999/";
    assert_int_equal(client_stream_open(&s, &config, &err), ERR_INPUT);
    config.url = "ws://:80/";
    assert_int_equal(client_stream_open(&s, &config, &err), ERR_INPUT);
    config.url = "ws://127.0.0.1:1/";
    assert_int_equal(client_stream_open(&s, &config, &err), 0);
    assert_int_equal(run_until(s, NULL, 0, &err), ERR_IO);
    client_stream_close(&s);
    free(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_from_start_to_end),
        cmocka_unit_test(a_patch_that_does_not_fit_is_asked_for_whole),
        cmocka_unit_test(a_broken_line_is_resumed),
        cmocka_unit_test(a_server_that_breaks_the_protocol_is_left),
        cmocka_unit_test(refusals_at_the_door_have_their_codes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
