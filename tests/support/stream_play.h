/*
 * stream_play.h - what the tests of a client's stream share: what they see, and the messages of a
 * server that they play (ws_fake.h)
 */
#ifndef RECOND_TESTS_SUPPORT_STREAM_PLAY_H
#define RECOND_TESTS_SUPPORT_STREAM_PLAY_H

#include "api/client/client.h"
#include "tests/support/ws_fake.h"
#include "tests/support/unit.h"

#define READY                                                                           \
    "{\"op\":\"ready\",\"session\":\"a\",\"epoch\":7,\"revision\":0,\"codec\":\"raw\"," \
    "\"step_m\":0.001,\"limits\":{\"window\":3,\"max_frame_bytes\":5000},\"net\":[64,64]}"

struct seen {
    int ready, acks, syncs, equal, ended, closed, errors, lost, retry_ms;
    struct control_ack ack;
    struct control_sync sync;
    uint64_t points;
};

static inline void on_ready(void *ctx, const struct control_ready *r)
{
    assert_true(r->window == 1 || r->window == 3);
    ((struct seen *)ctx)->ready++;
}

static inline void on_ack(void *ctx, const struct control_ack *a)
{
    ((struct seen *)ctx)->acks++;
    ((struct seen *)ctx)->ack = *a;
}

static inline void on_sync(void *ctx, const struct control_sync *s, bool equal)
{
    ((struct seen *)ctx)->syncs++;
    ((struct seen *)ctx)->equal = equal;
    ((struct seen *)ctx)->sync = *s;
}

static inline void on_ended(void *ctx, bool closed)
{
    (*(closed ? &((struct seen *)ctx)->closed : &((struct seen *)ctx)->ended))++;
}

static inline void on_cloud(void *ctx, const struct cloud *c)
{
    ((struct seen *)ctx)->points = cloud_points(c);
}

static inline void on_error(void *ctx, const struct control_error *e)
{
    assert_string_equal(e->detail, "no");
    ((struct seen *)ctx)->errors++;
}

static inline void on_lost(void *ctx, const struct err *why, int retry_ms)
{
    assert_true(why->text[0] && retry_ms > 0);
    ((struct seen *)ctx)->lost++;
    ((struct seen *)ctx)->retry_ms = retry_ms;
}

/* how: what the next stream is opened with; pings as often as a test can wait for. */
static struct {
    double reconnect_s;
    int reconnect_attempts, ping_ms, hangup_ms;
} how;

/* The server that a test plays, the stream that is connected to it, and what was seen of it. */
static struct ws_fake server;
static struct client_stream *stream;
static struct seen seen;
static struct err err;

/* Connect to the server that was started. */
static inline void stream_connect(void)
{
    struct client_stream_config config = {.url = server.url,
                                          .reconnect_s = how.reconnect_s,
                                          .reconnect_attempts = how.reconnect_attempts,
                                          .ping_ms = how.ping_ms,
                                          .hangup_ms = how.hangup_ms,
                                          .on_lost = on_lost,
                                          .token = "secret",
                                          .pose = FRAME_POSE_CV,
                                          .ctx = &seen,
                                          .on_ready = on_ready,
                                          .on_ack = on_ack,
                                          .on_sync = on_sync,
                                          .on_ended = on_ended,
                                          .on_cloud = on_cloud,
                                          .on_error = on_error};

    seen = (struct seen){0};
    err = (struct err){0};
    ws_fake_run(&server);
    if (client_stream_open(&stream, &config, &err))
        fail_msg("%s", err.text);
}

static inline void stream_open(void (*play)(struct ws_fake *s))
{
    ws_fake_start(&server, play, NULL);
    stream_connect();
}

static inline void stream_close(void)
{
    client_stream_close(&stream);
    ws_fake_stop(&server);
    if (server.failed_line)
        fail_msg("the server's side: line %d", server.failed_line);
}

/* Run until `*what` reaches n, or the stream ends. */
static inline int run_until(const int *what, int n)
{
    int rc = 0;

    for (int i = 0; i < 100 && rc == 0 && (!what || *what < n); i++)
        rc = client_stream_run(stream, 50, &err);
    return rc;
}

static inline struct frame frame(uint64_t seq)
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

static inline void stream_send(uint64_t seq)
{
    struct frame f = frame(seq);

    assert_int_equal(client_stream_send(stream, &f, &err), 0);
}

/* ------------------------------------------------------------------------- blocks */

static struct {
    struct delta_scratch *scratch;
    struct cloud_name name;
    uint64_t keys[4];
} block;

FIXTURE(stream_set_up)
{
    memset(&how, 0, sizeof how);
    block.name = (struct cloud_name){0, -1, 2, 3};
    for (uint64_t i = 0; i < 4; i++)
        block.keys[i] = (100 + 50 * i) << KEY_MORTON_AT | 0x40800000u | 0xff;
    return delta_scratch_new(&block.scratch, NULL);
}

FIXTURE(stream_tear_down)
{
    delta_scratch_free(&block.scratch);
    return 0;
}

#define STREAM_TEST(name) TEST_WITH(name, stream_set_up, stream_tear_down)

static inline void send_block(struct ws_fake *s, enum delta_op op, uint64_t revision, uint64_t base,
                              uint32_t n_points, uint32_t first, uint32_t n_added, size_t cut)
{
    struct delta d = {.op = op,
                      .codec = CODEC_RAW,
                      .epoch = 7,
                      .revision = revision,
                      .base_revision = base,
                      .name = block.name,
                      .n_points = n_points,
                      .n_added = n_added,
                      .added = block.keys + first};
    const uint8_t *msg;
    size_t len;

    if (delta_encode(block.scratch, &d, &msg, &len, NULL))
        abort();
    ws_fake_send(s, 2, msg, len, cut);
}

static inline void send_sync(struct ws_fake *s, uint64_t revision, uint32_t n, bool ended)
{
    struct cloud_limits limits = {16, 100};
    struct cloud *c = NULL;
    struct delta d = {.op = DELTA_PUT,
                      .codec = CODEC_RAW,
                      .epoch = 7,
                      .revision = revision,
                      .name = block.name,
                      .n_points = n,
                      .n_added = n,
                      .added = block.keys};
    const uint8_t *msg;
    size_t len;
    char text[256];

    if (cloud_new(&c, &limits, NULL) || delta_encode(block.scratch, &d, &msg, &len, NULL) ||
        cloud_apply(c, msg, len, NULL))
        abort();
    snprintf(text, sizeof text,
             "{\"op\":\"sync\",\"revision\":%d,\"points\":%u,\"hash\":\"%016llx\"}", (int)revision,
             n, (unsigned long long)cloud_hash(c));
    ws_fake_text(s, text);
    snprintf(text, sizeof text, "{\"op\":\"ended\",\"revision\":%d}", (int)revision);
    if (ended)
        ws_fake_text(s, text);
    cloud_free(&c);
}

#endif
