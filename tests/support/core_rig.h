/*
 * core_rig.h - a whole core on the fake device, driven through its table as an edge would
 *
 * One thread (the test's) makes all stream calls. rig_client collects what its stream says and
 * keeps a mirror, so that hashes can be compared.
 */
#ifndef RECOND_TESTS_CORE_RIG_H
#define RECOND_TESTS_CORE_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "daemon/clock.h"
#include "daemon/core.h"
#include "daemon/log.h"
#include "proto/wire/depth.h"
#include "tests/support/fake_gpu.h"
#include "tests/support/jpeg_write.h"
#include "tests/support/tiny_model.h"

#define RIG_ACKS 4096

static const struct core_backend fake_backend = {fake_open, fake_cuda_count};

struct rig {
    struct core *core;
    char models[SCRATCH_CAP];
    atomic_int wakes, gone;
    uint8_t *jpeg;
    size_t jpeg_len;
};

static struct rig rig; /* a program has one core at a time, as it has one fake_gpu_plan */

struct rig_client {
    struct stream *s;
    char id[API_ID_CAP]; /* of its session */
    struct cloud *cloud;
    struct control_ready ready;
    struct control_sync sync;
    struct control_bye bye;
    struct control_error error;
    /* seq of each depth map, and how many acks came before it; the newest, inside the decoder */
    struct depth_decoder *decoder;
    struct depth_map map;
    uint64_t maps[RIG_ACKS];
    int n_maps, acks_before[RIG_ACKS];
    int n_ready, n_acks, n_sync, n_bye, n_error, n_blocks, closed, ended, session_closed;
    struct control_ack acks[RIG_ACKS];
    struct control_poses poses;       /* the last message of them */
    int n_poses;                      /* in all messages */
    struct control_object things[64]; /* by id - 1, as they were told last */
    int n_objects;                    /* in all messages */
};

static void rig_on_wake(void *edge, void *cookie)
{
    (void)cookie;
    ((struct rig *)edge)->wakes++;
}

static void rig_on_gone(void *edge, const char *id)
{
    (void)id;
    ((struct rig *)edge)->gone++;
}

static inline void rig_config(struct config *config, const char *models)
{
    char flag[128];
    char *argv[] = {(char *)"recond", (char *)"--config=/dev/null", flag, NULL};
    enum config_action action;
    struct err err = {0};

    snprintf(flag, sizeof(flag), "--models.path=%s", models);
    if (config_load(config, &action, 3, argv, NULL, &err))
        fail_msg("%s: %s", err.where, err.text);
}

/* A picture of w x h; the first byte of rows differ with `shade`. */
static inline void rig_picture(int w, int h, int shade)
{
    uint8_t *rgb = malloc((size_t)w * (size_t)h * 3);

    for (int i = 0; i < w * h * 3; i++)
        rgb[i] = (uint8_t)(shade + i / 3 % w / 4);
    free(rig.jpeg);
    rig.jpeg = jpeg_write(rgb, w, h, 90, &rig.jpeg_len);
    free(rgb);
}

/* Open, but not ready: sessions that come back are not fed yet. */
static inline void rig_load_with(struct config *config)
{
    static const struct edge_ops ops = {rig_on_wake, rig_on_gone};
    struct err err = {0};

    log_open(CONFIG_LOG_TEXT, LOG_EMERG);
    rig_picture(320, 240, 40);
    if (core_open(&rig.core, config, &fake_backend, &err))
        fail_msg("%s: %s", err.where, err.text);
    core_set_edges(rig.core, &ops, &rig, NULL);
}

static inline void rig_open_with(struct config *config)
{
    rig_load_with(config);
    core_set_ready(rig.core);
}

/* What the rig is to open with: small networks, a device with nothing planned. */
static inline void rig_prepare(struct config *config)
{
    memset(&rig, 0, sizeof(rig));
    memset(&fake_gpu_plan, 0, sizeof(fake_gpu_plan));
    tiny_models(rig.models);
    rig_config(config, rig.models);
}

static inline void rig_open(void)
{
    struct config config;

    rig_prepare(&config);
    rig_open_with(&config);
}

static inline void rig_close(void)
{
    core_close(&rig.core);
    free(rig.jpeg);
    tiny_models_remove(rig.models);
    assert_int_equal(fake_gpu_plan.sessions,
                     0); /* whatever happened, the device got everything back */
    assert_int_equal(fake_gpu_plan.models, 0);
    assert_int_equal(fake_gpu_plan.host_bytes, 0);
    assert_int_equal(fake_gpu_plan.wrong, 0); /* and was used as its contract says */
}

static inline struct session_options rig_options(void)
{
    struct session_options o;

    memset(&o, 0, sizeof(o));
    o.has_camera = true;
    o.K = (struct intrinsics){300, 300, 159.5f, 119.5f};
    o.camera_w = 320;
    o.camera_h = 240;
    o.max_points = 2000;
    return o;
}

static inline void rig_session(const struct session_options *o, char id[API_ID_CAP])
{
    struct session_info info;
    struct err err = {0};
    int retry;

    if (core_ops.session_create(rig.core, o, "", &info, &retry, &err))
        fail_msg("%s: %s", err.where, err.text);
    memcpy(id, info.id, API_ID_CAP);
}

static inline struct session_info rig_info(const char *id)
{
    struct session_info info;

    assert_int_equal(core_ops.session_get(rig.core, id, &info, NULL), 0);
    return info;
}

/* A client that says this `start`. Returns what it was answered. */
static inline int rig_connect_as(struct rig_client *c, const char *id,
                                 const struct control_start *start, struct err *err)
{
    const struct cloud_limits limits = {100000, 100000};
    char own[API_ID_CAP];

    snprintf(own, sizeof(own), "%s", id); /* which may be the client's, of its last connection */
    memset(c, 0, sizeof(*c));
    memcpy(c->id, own, sizeof(own));
    assert_int_equal(cloud_new(&c->cloud, &limits, NULL), 0);
    assert_int_equal(depth_decoder_new(&c->decoder, NULL), 0);
    assert_int_equal(core_ops.stream_open(rig.core, c->id, start->role, c, &c->s, err), 0);
    return core_ops.stream_start(c->s, start, err);
}

/* A client that asks for the depth of every n-th used frame; 0: does not ask. */
static inline void rig_connect_depth(struct rig_client *c, const char *id, enum control_role role,
                                     uint32_t depth_every)
{
    const struct control_start start = {
        .role = role, .codecs = 7, .pose = FRAME_POSE_CV, .depth_every = depth_every};
    struct err err = {0};

    if (rig_connect_as(c, id, &start, &err))
        fail_msg("%s: %s", err.where, err.text);
}

/* A client that feeds the source of this name. */
static inline void rig_connect_source(struct rig_client *c, const char *id, const char *name)
{
    struct control_start start = {.role = CONTROL_INGEST, .codecs = 7, .pose = FRAME_POSE_CV};
    struct err err = {0};

    snprintf(start.source, sizeof(start.source), "%s", name);
    if (rig_connect_as(c, id, &start, &err))
        fail_msg("%s: %s", err.where, err.text);
}

static inline void rig_connect(struct rig_client *c, const char *id, enum control_role role)
{
    rig_connect_depth(c, id, role, 0);
}

/* A session of these options (NULL: those of rig_options()), and the client that feeds it. */
static inline void rig_join(struct rig_client *c, const struct session_options *o)
{
    const struct session_options usual = rig_options();
    char id[API_ID_CAP];

    rig_session(o ? o : &usual, id);
    rig_connect(c, id, CONTROL_INGEST);
}

static inline void rig_begin(struct rig_client *c, const struct session_options *o)
{
    rig_open();
    rig_join(c, o);
}

static inline void rig_disconnect(struct rig_client *c)
{
    core_ops.stream_close(c->s);
    cloud_free(&c->cloud);
    depth_decoder_free(&c->decoder);
}

static inline void rig_end(struct rig_client *c)
{
    rig_disconnect(c);
    rig_close();
}

/* One message into the client. Returns what it was. */
static inline enum stream_kind rig_read(struct rig_client *c)
{
    struct control_message m;
    const uint8_t *msg;
    size_t len;
    struct err err = {0};
    enum stream_kind kind = core_ops.stream_next(c->s, &msg, &len);

    if (kind == STREAM_BINARY && msg[0] == DEPTH_OP) {
        if (depth_decode(c->decoder, &c->map, msg, len, &err))
            fail_msg("depth map: %s", err.text);
        c->acks_before[c->n_maps % RIG_ACKS] = c->n_acks;
        c->maps[c->n_maps++ % RIG_ACKS] = c->map.seq;
    } else if (kind == STREAM_BINARY) {
        c->n_blocks++;
        if (cloud_apply(c->cloud, msg, len, &err))
            fail_msg("block: %s", err.text);
    }
    if (kind == STREAM_CLOSE)
        c->closed = 1;
    if (kind != STREAM_TEXT)
        return kind;
    if (control_parse(&m, (const char *)msg, len, &err))
        fail_msg("%.*s: %s", (int)len, (const char *)msg, err.text);
    if (m.op == CONTROL_READY && ++c->n_ready)
        c->ready = m.ready;
    if (m.op == CONTROL_ACK)
        c->acks[c->n_acks++ % RIG_ACKS] = m.ack;
    if (m.op == CONTROL_POSES) {
        c->poses = m.poses;
        c->n_poses += m.poses.n;
    }
    for (int i = 0; m.op == CONTROL_OBJECTS && i < m.objects.n; i++, c->n_objects++)
        c->things[(m.objects.at[i].id - 1) % 64] = m.objects.at[i];
    if (m.op == CONTROL_SYNC && ++c->n_sync) {
        c->sync = m.sync;
        assert_int_equal(m.sync.points, cloud_points(c->cloud));
        assert_true(m.sync.hash == cloud_hash(c->cloud));
    }
    if (m.op == CONTROL_ENDED || m.op == CONTROL_SESSION_CLOSED) {
        assert_int_equal(m.ended.revision, c->sync.revision); /* nothing is missing before it */
        (*(m.op == CONTROL_ENDED ? &c->ended : &c->session_closed))++;
    }
    if (m.op == CONTROL_BYE && ++c->n_bye)
        c->bye = m.bye;
    if (m.op == CONTROL_ERROR && ++c->n_error)
        c->error = m.error;
    return kind;
}

static inline void rig_read_all(struct rig_client *c)
{
    enum stream_kind kind;

    do
        kind = rig_read(c);
    while (kind != STREAM_NONE && kind != STREAM_CLOSE);
}

/* Read until the client has n answers; fails after a minute. */
static inline void rig_wait_acks(struct rig_client *c, int n)
{
    for (int i = 0; i < 60000 && c->n_acks < n; i++) {
        rig_read_all(c);
        if (c->n_acks < n)
            usleep(1000);
    }
    assert_int_equal(c->n_acks, n);
    rig_read_all(c);
}

/* Until a counter of fake_gpu_plan says n; fails after a minute. */
static inline void rig_wait_count(const atomic_int *counter, int n)
{
    for (int i = 0; i < 120000 && atomic_load(counter) < n; i++)
        usleep(500);
    assert_int_equal(atomic_load(counter), n);
}

static inline struct frame rig_frame(uint64_t seq)
{
    struct frame f = {.seq = seq,
                      .t_capture_ns = seq * 33333333,
                      .flags = FRAME_HAS_POSE,
                      .width = 320,
                      .height = 240,
                      .T_wc = rigid_identity(),
                      .payload = rig.jpeg,
                      .payload_len = (uint32_t)rig.jpeg_len};

    f.T_wc.t[0] = 0.01f * (float)seq;
    return f;
}

static inline int rig_send_frame(struct rig_client *c, const struct frame *f, struct err *err)
{
    uint8_t *msg = malloc(frame_bytes(f));
    int rc;

    frame_encode(msg, f, FRAME_POSE_CV);
    rc = core_ops.stream_frame(c->s, msg, frame_bytes(f), err);
    free(msg);
    return rc;
}

static inline int rig_send(struct rig_client *c, uint64_t seq)
{
    struct frame f = rig_frame(seq);

    return rig_send_frame(c, &f, NULL);
}

/* The client's n-th answer is waited for when the frame is sent. Returns what sending it did. */
static inline int rig_ask(struct rig_client *c, const struct frame *f, int n)
{
    int rc = rig_send_frame(c, f, NULL);

    rig_wait_acks(c, n);
    return rc;
}

/* Sends the frame and gives its answer, which is the next one. */
static inline struct control_ack rig_answer(struct rig_client *c, const struct frame *f)
{
    int n = c->n_acks;

    rig_ask(c, f, n + 1);
    return c->acks[n % RIG_ACKS];
}

static inline int rig_step(struct rig_client *c, uint64_t seq, int n)
{
    struct frame f = rig_frame(seq);

    return rig_ask(c, &f, n);
}

/* Frames [first, last], each answered before the next is sent. */
static inline void rig_feed(struct rig_client *c, uint64_t first, uint64_t last)
{
    int had = c->n_acks;

    for (uint64_t seq = first; seq <= last; seq++) {
        assert_int_equal(rig_send(c, seq), 0);
        rig_wait_acks(c, ++had);
    }
}

#endif
