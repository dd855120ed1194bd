/* Streams: what a client sends and receives (struct core_ops). */
#include "daemon/core_internal.h"

#include "daemon/clock.h"
#include "daemon/session/outbox.h"
#include "daemon/session/pipeline.h"
#include "daemon/session/session_clients.h"
#include "daemon/session/session_frames.h"
#include "daemon/session/session_pace.h"
#include "daemon/session/session_sources.h"
#include "daemon/session/sources.h"
#include "daemon/work/frame_end.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct stream {
    struct core *core;
    struct session *session;
    struct session_client client;
    enum control_role allowed; /* the role that the token permits */
    struct cameras cameras;
    uint32_t max_frame_bytes;
    int window;
    bool ended; /* the client said `end` */
    /* Of a lossless session: `later` was answered to first_later. Until that frame comes again no
     * later frame is taken, so that frames keep their order; an `end` waits for all such frames. */
    bool blocked, end_waits;
    /* seq + 1 of the highest frame of each sort; 0 = none */
    uint64_t first_later, later_end, taken_end;
    /* how far the owner was ahead of its quota at the last frame */
    uint64_t ahead_us;
};

static int find_open(struct core *c, const char *id, struct session **s, struct err *err)
{
    if (atomic_load(&c->draining))
        return err_set(err, ERR_BUSY, "the server is stopping");
    *s = registry_find(c->registry, id);
    return *s ? 0 : err_set(err, ERR_NOT_FOUND, "no such session");
}

int core_stream_expect(struct core *c, const char *id, int *retry_after_s, struct err *err)
{
    struct session *s;
    int rc = find_open(c, id, &s, err);

    *retry_after_s = CORE_RETRY_S;
    if (rc)
        return rc;
    rc = session_is_back(s, err);
    if (rc)
        *retry_after_s = store_back_s(s);
    session_unref(s);
    return rc;
}

int core_stream_open(struct core *c, const char *id, enum control_role role, void *cookie,
                     struct stream **stream, struct err *err)
{
    struct session *session;
    struct stream *s;
    int rc = find_open(c, id, &session, err);

    *stream = NULL;
    if (rc)
        return rc;
    s = calloc(1, sizeof(*s));
    rc = s ? 0 : err_set(err, ERR_MEMORY, "no memory for a client");
    if (rc)
        goto drop_session;
    s->core = c;
    s->session = session;
    s->allowed = s->client.role = role;
    s->client.cookie = cookie;
    s->client.source = -1;
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

/* Chooses the smallest codec that the client knows. */
static int choose_codec(uint32_t mask, enum codec_kind *codec, struct err *err)
{
    for (int k = CODEC_DEFLATE; k >= CODEC_RAW; k--)
        if (mask & 1u << k) {
            *codec = (enum codec_kind)k;
            return 0;
        }
    return err_at(err, ERR_INPUT, "/codecs", "none of deflate-raw, raw is offered");
}

int core_stream_start(struct stream *s, const struct control_start *start, struct err *err)
{
    struct session *session = s->session;
    const struct config config = core_config(s->core);
    struct control_ready ready = {.cameras = CAMERAS_MAX,
                                  .message_s = (uint32_t)config.stream.message_timeout_s,
                                  .quota_rate =
                                      (uint32_t)tenant_frames_per_s(session_setup(session)->tenant),
                                  .epoch = session_epoch(session),
                                  .step_m = session_setup(session)->options.step_m,
                                  .window = (uint32_t)s->window,
                                  .max_frame_bytes = s->max_frame_bytes,
                                  .features = CONTROL_FEATURES_HERE};
    struct api_source source = {.any_seq = false};
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
    if (ready.step_m == 0) /* an empty cloud takes any step */
        ready.step_m = 0.001f;
    session_get_net(session, &ready.net_w, &ready.net_h);
    s->client.role = start->role;
    s->client.result_every =
        start->depth_every ? start->depth_every : session_setup(session)->kind->wants_depth;
    s->client.convention = start->pose;
    rc = session_start(session, &s->client, start->source[0] ? start->source : CONTROL_SOURCE_MAIN,
                       &source, err);
    if (rc == 0 && s->client.source >= 0)
        outbox_follow(s->client.outbox, session_trajectory(session), s->client.source, start->pose);
    ready.any_seq = source.any_seq;
    ready.last_seq = source.last_seq;
    if (rc == 0)
        session_tell_pace(session, &s->client, &ready.rate, &ready.jpeg);
    return rc ? rc : outbox_start(s->client.outbox, &ready, start, err);
}

/* Answers a frame that never enters the queue. */
static int end_unqueued(struct stream *s, uint64_t seq, enum control_status status,
                        enum control_reason reason, int rc)
{
    const struct control_ack ack = {.seq = seq, .status = status, .reason = reason};

    if (status == CONTROL_DROPPED && reason != CONTROL_SHUTDOWN)
        session_keep_verdict(s->session, s->client.source, 0, &ack);
    frame_end_front(s->session, s->client.serial, &ack);
    return rc;
}

/* Refuses a frame that frame_parse() did not take; *why says the reason. */
static int refuse_unread(struct stream *s, const struct frame *f, int rc, const struct err *why)
{
    struct control_ack ack = {
        .seq = f->seq, .status = CONTROL_REFUSED, .reason = CONTROL_BAD_FRAME};

    if (rc == ERR_UNSUPPORTED) {
        ack.reason = CONTROL_UNSUPPORTED;
        ack.bit = (uint8_t)f->unknown_bit;
    } else if (strcmp(why->where, "pose") == 0) {
        ack.reason = CONTROL_BAD_POSE;
    }
    frame_end_front(s->session, s->client.serial, &ack);
    return rc;
}

static int refuse_unqueued(struct stream *s, uint64_t seq, enum control_reason reason, int rc)
{
    return end_unqueued(s, seq, CONTROL_REFUSED, reason, rc);
}

/* Gives the frame the intrinsics and the model of the declared camera that its picture names.
 * Returns false if no camera has that name. */
static bool name_camera(const struct stream *s, struct frame *f, uint8_t header[FRAME_HEADER_BYTES])
{
    const struct cameras_entry *e;

    if (f->camera == 0)
        return true;
    e = cameras_find(&s->cameras, f->camera);
    if (!e)
        return false;
    f->K = intrinsics_scale(e->K, e->width, e->height, f->width, f->height);
    f->lens = e->lens;
    f->flags |= FRAME_HAS_CAMERA;
    frame_put_camera(header, &f->K);
    return true;
}

/* Returns the place of the picture's camera in the rig. */
static struct rigid colour_rig(const struct stream *s, const struct frame *f)
{
    const struct cameras_entry *e = f->camera ? cameras_find(&s->cameras, f->camera) : NULL;
    struct rigid T = rigid_identity();

    if (e)
        return e->T_rc;
    if (s->client.convention == FRAME_POSE_OPENGL)
        frame_swap_axes(&T);
    return T;
}

/* Returns the part whose camera matters: depth, or a pair's other picture; NULL if there is
 * none. */
static const struct frame_part *part_beside(const struct stream *s, const struct frame *f)
{
    const struct session_options *o = &session_setup(s->session)->options;

    if (o->kind == SESSION_PANORAMA)
        return o->baseline_m > 0 ? NULL : frame_find(f, FRAME_COLOUR);
    return o->depth_source > SESSION_DEPTH_SOURCE_NETWORK ? frame_find(f, FRAME_DEPTH) : NULL;
}

/* The same for that part. */
static bool name_camera_beside(const struct stream *s, struct frame *f)
{
    const struct frame_part *part = part_beside(s, f);
    const struct cameras_entry *e;
    struct rigid T_cr;

    if (!part || part->camera == 0)
        return !part || part->type != FRAME_COLOUR;
    e = cameras_find(&s->cameras, part->camera);
    if (!e)
        return false;
    T_cr = colour_rig(s, f);
    T_cr = rigid_inverse(&T_cr);
    f->rig.known = true;
    f->rig.K = intrinsics_scale(e->K, e->width, e->height, part->width, part->height);
    f->rig.lens = e->lens;
    f->rig.T_cd = rigid_mul(&T_cr, &e->T_rc);
    return true;
}

/* Does the frame have the parts that this session needs? */
static enum control_reason part_missing(struct session *session, int source, const struct frame *f)
{
    const struct session_options *o = &session_setup(session)->options;
    bool (*takes_pose)(const struct session_options *, const struct frame *) =
        session_setup(session)->kind->takes_pose;

    if (!(f->flags & FRAME_HAS_CAMERA)) {
        if (!o->has_camera)
            return CONTROL_NO_CAMERA;
        /* the session's intrinsics fit any size of the same aspect */
        double a = (double)f->width * o->camera_h, b = (double)f->height * o->camera_w;
        if (a > 1.02 * b || b > 1.02 * a)
            return CONTROL_NO_CAMERA;
    }
    if (o->pose_source != SESSION_POSE_DEVICE)
        return CONTROL_REASON_NONE;
    if (frame_tracking(f) == FRAME_TRACKING_LOST) {
        session_add_break(session, source);
        return CONTROL_TRACKING;
    }
    if (!(f->flags & FRAME_HAS_POSE))
        return CONTROL_BAD_POSE;
    return !takes_pose || takes_pose(o, f) ? CONTROL_REASON_NONE : CONTROL_BAD_POSE;
}

static int frame_later(struct stream *s, uint64_t seq, bool counted, int rc)
{
    if (seq >= s->later_end)
        s->later_end = seq + 1;
    session_later(s->session, &s->client, seq, counted);
    return rc;
}

/* Does a frame with this seq come after the client's `end`? */
static bool after_end(const struct stream *s, uint64_t seq)
{
    return s->ended || (s->end_waits && seq >= s->later_end);
}

static void say_ended(struct stream *s)
{
    s->end_waits = false;
    s->ended = true;
    outbox_end(s->client.outbox);
}

/* Pushes the frame into the queue, which may drop an older frame for it or be full. */
static int push_frame(struct stream *s, const struct frame *f, const uint8_t *header,
                      struct err *err)
{
    struct session *session = s->session;
    const struct session_options *options = &session_setup(session)->options;
    struct sources_submap at = {0};
    enum control_reason reason = session_take(session, s->client.source, f, &at);
    const struct queue_arrival arrival = {.frame = f,
                                          .header = header,
                                          .convention = s->client.convention,
                                          .stream = s->client.serial,
                                          .source = s->client.source,
                                          .feeders = at.connected,
                                          .submap = at.submap,
                                          .received_us = clock_us(),
                                          .breaks = at.breaks,
                                          .cut = at.cut,
                                          .jump = at.jump};
    struct queue_dropped dropped;
    struct queue_item *item;
    int rc;

    if (reason == CONTROL_OVERLOAD)
        return end_unqueued(s, f->seq, CONTROL_DROPPED, reason, ERR_BUSY);
    if (reason != CONTROL_REASON_NONE)
        return refuse_unqueued(s, f->seq, reason,
                               err_set(err, ERR_STATE, "%s", control_reason_name(reason)));
    rc = queue_push(session_queue(session), &arrival, &item, &dropped, err);
    if (rc)
        session_untake(session, s->client.source, f->seq);
    if (rc == ERR_LIMIT)
        return refuse_unqueued(s, f->seq, CONTROL_BAD_FRAME, rc);
    if (rc && options->mode == SESSION_LOSSLESS) {
        s->blocked = true;
        s->first_later = f->seq;
        return frame_later(s, f->seq, true, rc);
    }
    if (rc)
        return end_unqueued(s, f->seq, CONTROL_DROPPED, CONTROL_OVERLOAD, rc);
    if (session_disk(session))
        store_frame(session, item, &dropped);
    else
        decode_admit(session, item, &dropped);
    return 0;
}

/* Answers a frame that its client sent again: it is in the queue, or has its verdict. */
static bool sent_before(struct stream *s, const struct frame *f, size_t len)
{
    return queue_adopt(session_queue(s->session), s->client.source, f, s->client.serial) ||
           session_again(s->session, &s->client, f, len);
}

/* Takes one frame. rc: the result of frame_parse(), with *bad. */
static int take_frame(struct stream *s, struct frame *f, const uint8_t *msg, size_t len, int rc,
                      const struct err *bad, struct err *err)
{
    enum control_reason reason = session_admit(s->session, len);
    struct session_disk *disk = session_disk(s->session);
    uint8_t header[FRAME_HEADER_BYTES];

    if (after_end(s, f->seq) && reason == CONTROL_REASON_NONE)
        reason = CONTROL_AFTER_END;
    if (reason == CONTROL_CLOSED && atomic_load(&s->core->draining))
        return end_unqueued(s, f->seq, CONTROL_DROPPED, CONTROL_SHUTDOWN,
                            err_set(err, ERR_BUSY, "the server is stopping"));
    if (reason == CONTROL_CLOSED && store_fenced(s->session))
        reason = CONTROL_STORAGE;
    if (reason != CONTROL_REASON_NONE)
        return refuse_unqueued(s, f->seq, reason,
                               err_set(err, ERR_STATE, "%s", control_reason_name(reason)));
    if (rc) {
        if (err)
            *err = *bad;
        return refuse_unread(s, f, rc, bad);
    }
    memcpy(header, msg, sizeof(header));
    reason = name_camera(s, f, header) && name_camera_beside(s, f)
                 ? part_missing(s->session, s->client.source, f)
                 : CONTROL_NO_CAMERA;
    if (reason != CONTROL_REASON_NONE)
        return refuse_unqueued(s, f->seq, reason,
                               err_set(err, ERR_INPUT, "%s", control_reason_name(reason)));
    if (disk && store_full(s->core->store))
        return refuse_unqueued(s, f->seq, CONTROL_STORAGE,
                               err_set(err, ERR_BUSY, "the disk is full"));
    if (disk && tenant_disk_full(session_setup(s->session)->tenant))
        return refuse_unqueued(s, f->seq, CONTROL_STORAGE,
                               err_set(err, ERR_BUSY, "the owner's quota of journals is used up"));
    if (!session_in_time(s->session, &s->client, f->t_capture_ns))
        return end_unqueued(s, f->seq, CONTROL_DROPPED, CONTROL_TOO_SOON,
                            err_set(err, ERR_BUSY, "more frames a second than the session has"));
    return push_frame(s, f, header, err);
}

int core_stream_frame(struct stream *s, const uint8_t *msg, size_t len, struct err *err)
{
    struct err bad = {0};
    struct frame f;
    bool readable;
    int rc;

    if (s->client.role != CONTROL_INGEST)
        return err_set(err, ERR_DENIED, "frames come from clients that started as `ingest`");
    if (!s->client.started)
        return err_at(err, ERR_DENIED, "/op", "frames come after `start`");
    if (atomic_load(&s->core->draining) && session_disk(s->session))
        return 0; /* not taken and not answered: its client sends it again after the restart */
    s->ahead_us = tenant_frame(session_setup(s->session)->tenant, clock_us());
    rc = outbox_admit(s->client.outbox, err);
    if (rc)
        return rc;
    rc = frame_parse(&f, msg, len, s->client.convention, &bad);
    readable = rc == 0;
    if (readable && sent_before(s, &f, len))
        return 0;
    if (readable && s->blocked && f.seq > s->first_later && !after_end(s, f.seq))
        return frame_later(s, f.seq, false, err_set(err, ERR_BUSY, "an earlier frame comes first"));
    if (readable && !after_end(s, f.seq))
        s->blocked = false;
    rc = take_frame(s, &f, msg, len, rc, &bad, err);
    if (readable && !s->blocked && f.seq >= s->taken_end)
        s->taken_end = f.seq + 1;
    if (s->end_waits && s->taken_end >= s->later_end)
        say_ended(s);
    return rc;
}

uint64_t core_stream_ahead_us(struct stream *s)
{
    return s->ahead_us;
}

static int stream_declare(struct stream *s, const struct cameras_entry *declared, struct err *err)
{
    struct cameras_entry e = *declared;

    if (s->client.role != CONTROL_INGEST)
        return err_at(err, ERR_STATE, "/op", "a viewer has no cameras");
    if (s->client.convention == FRAME_POSE_OPENGL)
        frame_swap_axes(&e.T_rc);
    return cameras_put(&s->cameras, &e, err);
}

int core_stream_control(struct stream *s, const struct control_message *m, struct err *err)
{
    if (!s->client.started)
        return err_at(err, ERR_STATE, "/op", "`start` comes first");
    switch (m->op) {
    case CONTROL_END:
        if (s->client.role != CONTROL_INGEST)
            return err_at(err, ERR_STATE, "/op", "a viewer has no frames to end");
        s->end_waits = s->taken_end < s->later_end;
        if (!s->end_waits)
            say_ended(s);
        return 0;
    case CONTROL_CAMERA:
        return stream_declare(s, &m->camera, err);
    case CONTROL_START:
        return err_at(err, ERR_STATE, "/op", "this client has started already");
    default:
        return err_at(err, ERR_INPUT, "/op", "clients send start, camera, end and ping");
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
