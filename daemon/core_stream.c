/* Streams: what a client sends and gets (struct core_ops). */
#include "daemon/core_internal.h"

#include "daemon/clock.h"
#include "daemon/work/frame_end.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct stream {
    struct core *core;
    struct session *session;
    struct session_client client;
    enum control_role allowed; /* what the token permits */
    enum frame_pose_convention convention;
    uint32_t max_frame_bytes;
    int window;
    uint64_t ahead_us; /* of the owner, at the frame that came last */
};

int core_stream_open(struct core *c, const char *id, enum control_role role, void *cookie,
                     struct stream **stream, struct err *err)
{
    struct session *session;
    struct stream *s;
    int rc;

    *stream = NULL;
    if (atomic_load(&c->draining))
        return err_set(err, ERR_BUSY, "the server is stopping");
    session = registry_find(c->registry, id);
    if (!session)
        return err_set(err, ERR_NOT_FOUND, "no such session");
    s = calloc(1, sizeof(*s));
    rc = s ? 0 : err_set(err, ERR_MEMORY, "no memory for a client");
    if (rc)
        goto drop_session;
    s->core = c;
    s->session = session;
    s->allowed = s->client.role = role;
    s->client.cookie = cookie;
    s->client.serial = 1 + atomic_fetch_add(&c->next_serial, 1);
    s->window = session_setup(session)->queue_frames;
    s->max_frame_bytes = (uint32_t)session_setup(session)->max_payload_bytes + FRAME_HEADER_BYTES;
    rc = outbox_new(&s->client.outbox, session_mirror(session), session_epoch(session), s->window,
                    err);
    if (rc)
        goto drop_stream;
    rc = session_attach(session, &s->client, err);
    if (rc)
        goto drop_outbox;
    atomic_fetch_add(&c->streams, 1);
    metrics_add(&c->metrics, METRICS_STREAMS_OPENED, 1);
    *stream = s;
    return 0;

drop_outbox:
    outbox_free(&s->client.outbox);
drop_stream:
    free(s);
drop_session:
    session_unref(session);
    return rc;
}

void core_stream_close(struct stream *s)
{
    session_detach(s->session, &s->client);
    outbox_free(&s->client.outbox);
    atomic_fetch_sub(&s->core->streams, 1);
    session_unref(s->session);
    free(s);
}

/* The best that the client knows: smallest first. */
static int choose_codec(uint32_t mask, enum codec_kind *codec, struct err *err)
{
    for (int k = CODEC_ZSTD; k >= CODEC_RAW; k--)
        if (mask & 1u << k) {
            *codec = (enum codec_kind)k;
            return 0;
        }
    return err_at(err, ERR_INPUT, "/codecs", "none of zstd, deflate-raw, raw is offered");
}

int core_stream_start(struct stream *s, const struct control_start *start, struct err *err)
{
    struct session *session = s->session;
    struct control_ready ready = {.epoch = session_epoch(session),
                                  .step_m = session_setup(session)->options.step_m,
                                  .window = (uint32_t)s->window,
                                  .max_frame_bytes = s->max_frame_bytes};
    struct mirror_summary cloud;
    int rc = choose_codec(start->codecs, &ready.codec, err);

    if (rc)
        return rc;
    if (s->client.started)
        return err_at(err, ERR_STATE, "/op", "this client has started already");
    if (start->role == CONTROL_INGEST && s->allowed != CONTROL_INGEST)
        return err_at(err, ERR_DENIED, "/role", "this token may view, not send frames");
    mirror_summary(session_mirror(session), &cloud);
    snprintf(ready.session, sizeof(ready.session), "%s", session_id(session));
    ready.revision = cloud.revision;
    if (ready.step_m == 0) /* of an empty cloud: any will do */
        ready.step_m = 0.001f;
    session_get_net(session, &ready.net_w, &ready.net_h);
    s->client.role = start->role;
    s->convention = start->pose;
    rc = session_start(session, &s->client, err);
    return rc ? rc : outbox_start(s->client.outbox, &ready, start, err);
}

/* A frame that never enters the queue. */
static int end(struct stream *s, uint64_t seq, enum control_status status,
               enum control_reason reason, int rc)
{
    const struct control_ack ack = {.seq = seq, .status = status, .reason = reason};

    frame_end_front(s->session, s->client.serial, &ack);
    return rc;
}

static int refuse(struct stream *s, uint64_t seq, enum control_reason reason, int rc)
{
    return end(s, seq, CONTROL_REFUSED, reason, rc);
}

/* Does the frame bring what this session needs? */
static enum control_reason missing(struct session *session, const struct frame *f)
{
    const struct session_options *o = &session_setup(session)->options;

    if (!(f->flags & FRAME_HAS_CAMERA)) {
        if (!o->has_camera)
            return CONTROL_NO_CAMERA;
        /* the session's intrinsics fit any size of the same shape */
        double a = (double)f->width * o->camera_h, b = (double)f->height * o->camera_w;
        if (a > 1.02 * b || b > 1.02 * a)
            return CONTROL_NO_CAMERA;
    }
    if (o->pose_source != SESSION_POSE_DEVICE)
        return CONTROL_REASON_NONE;
    if (frame_tracking(f) == FRAME_TRACKING_LOST) {
        session_add_break(session);
        return CONTROL_TRACKING;
    }
    return f->flags & FRAME_HAS_POSE ? CONTROL_REASON_NONE : CONTROL_BAD_POSE;
}

/* The queue takes it, perhaps in place of an older frame, or has no room for it. */
static int push(struct stream *s, const struct frame *f, const uint8_t *msg, struct err *err)
{
    struct session *session = s->session;
    const struct queue_arrival arrival = {.frame = f,
                                          .header = msg,
                                          .convention = s->convention,
                                          .stream = s->client.serial,
                                          .received_us = clock_us(),
                                          .breaks = session_breaks(session)};
    struct queue_dropped dropped;
    struct queue_item *item;
    int rc = queue_push(session_queue(session), &arrival, &item, &dropped, err);

    if (rc == ERR_LIMIT)
        return refuse(s, f->seq, CONTROL_BAD_FRAME, rc);
    if (rc)
        return end(s, f->seq, CONTROL_DROPPED, CONTROL_OVERLOAD, rc);
    if (session_disk(session))
        store_frame(session, item, &dropped);
    else
        decode_admit(session, item, &dropped);
    return 0;
}

int core_stream_frame(struct stream *s, const uint8_t *msg, size_t len, struct err *err)
{
    struct err bad = {0};
    enum control_reason reason;
    struct frame f;
    int rc;

    if (s->client.role != CONTROL_INGEST)
        return err_set(err, ERR_DENIED, "a viewer sends no frames");
    if (!s->client.started)
        return err_at(err, ERR_DENIED, "/op", "frames come after `start`");
    s->ahead_us = tenant_frame(session_setup(s->session)->tenant, clock_us());
    rc = outbox_admit(s->client.outbox, err);
    if (rc)
        return rc;
    rc = frame_parse(&f, msg, len, s->convention, &bad);
    if (rc == 0 && queue_adopt(session_queue(s->session), f.seq, s->client.serial))
        return 0; /* sent again after a lost connection, and still under way */
    reason = session_admit(s->session, f.seq, true, len);
    if (reason == CONTROL_CLOSED && store_fenced(s->session))
        reason = CONTROL_STORAGE;
    if (reason != CONTROL_REASON_NONE)
        return refuse(s, f.seq, reason, err_set(err, ERR_STATE, "%s", control_reason_name(reason)));
    if (rc) {
        if (err)
            *err = bad;
        return refuse(s, f.seq,
                      strcmp(bad.where, "pose") == 0 ? CONTROL_BAD_POSE : CONTROL_BAD_FRAME, rc);
    }
    reason = missing(s->session, &f);
    if (reason != CONTROL_REASON_NONE)
        return refuse(s, f.seq, reason, err_set(err, ERR_INPUT, "%s", control_reason_name(reason)));
    if (session_disk(s->session) && store_full(s->core->store))
        return refuse(s, f.seq, CONTROL_STORAGE, err_set(err, ERR_BUSY, "the disk is full"));
    if (session_disk(s->session) && tenant_disk_full(session_setup(s->session)->tenant))
        return refuse(s, f.seq, CONTROL_STORAGE,
                      err_set(err, ERR_BUSY, "the owner's quota of journals is used up"));
    return push(s, &f, msg, err);
}

uint64_t core_stream_ahead_us(struct stream *s)
{
    return s->ahead_us;
}

int core_stream_control(struct stream *s, const struct control_message *m, struct err *err)
{
    int64_t block;

    if (!s->client.started)
        return err_at(err, ERR_STATE, "/op", "`start` comes first");
    switch (m->op) {
    case CONTROL_NEED:
        block = mirror_find(session_mirror(s->session), &m->need);
        if (block < 0)
            return err_at(err, ERR_NOT_FOUND, "/op", "there is no block %d %d %d of submap %u",
                          m->need.x, m->need.y, m->need.z, m->need.submap);
        outbox_need(s->client.outbox, (uint32_t)block);
        return 0;
    case CONTROL_END:
        if (s->client.role != CONTROL_INGEST)
            return err_at(err, ERR_STATE, "/op", "a viewer has no frames to end");
        outbox_end(s->client.outbox);
        return 0;
    case CONTROL_START:
        return err_at(err, ERR_STATE, "/op", "this client has started already");
    default:
        return err_at(err, ERR_INPUT, "/op", "clients send start, need and end");
    }
}

enum stream_kind core_stream_next(struct stream *s, const uint8_t **msg, size_t *len)
{
    struct outbox_sent sent;
    enum stream_kind kind = outbox_next(s->client.outbox, msg, len, &sent);

    if (sent.bytes)
        session_sent(s->session, &sent);
    return kind;
}
