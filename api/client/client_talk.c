#include "api/client/client_talk.h"

#include "api/client/client_reach.h"
#include "api/client/client_retry.h"
#include "proto/array.h"
#include "proto/wire/refusal.h"
#include "proto/wire/result.h"

#include <stdlib.h>
#include <string.h>

/* Default bounds of the mirror: 64 M points are 512 MB of keys. */
#define DEFAULT_MAX_BLOCKS (1u << 20)
#define DEFAULT_MAX_POINTS (64u << 20)

enum slot_state { SLOT_FREE, SLOT_QUEUED, SLOT_SENT };

/* One frame from client_talk_send() until its ack, so that it can be sent again. */
struct slot {
    enum slot_state state;
    bool again; /* sent on an earlier connection, which ended before the ack came */
    bool later; /* sent on this connection, and the server asked for it again */
    uint64_t seq, order;
    uint8_t *msg; /* the frame's message */
    size_t len, cap;
};

struct client_talk {
    struct client_stream_config config;
    struct cloud *cloud;
    struct client_stream_stats stats;
    /* lifetime: the whole stream */
    bool end_wanted, any_seq, any_ready, cloud_changed;
    struct client_reach reach;
    uint64_t last_seq, order, progress;
    struct slot slots[CLIENT_WINDOW_MAX];
    int kept; /* number of slots that are not free */
    struct cameras cameras;
    /* lifetime: a connection; ready stays until the next one comes */
    struct control_ready ready;
    struct control_bye bye;
    struct control_error refusal; /* an `error` came before `ready` */
    bool has_ready, has_bye, has_refusal, start_sent, end_sent, viewing;
    bool held;         /* a frame was answered `later`: none is sent until client_talk_go_on() */
    uint32_t later_ms; /* longest wait that such answers asked for */
    float rate;
    uint8_t jpeg;
    int in_flight; /* number of slots in state SENT */
    int cameras_said;
    char text[CONTROL_TEXT_MAX], source[CONTROL_SOURCE_CAP];
};

int client_talk_new(struct client_talk **out, const struct client_stream_config *config,
                    struct err *err)
{
    struct client_talk *t = calloc(1, sizeof *t);
    struct cloud_limits limits = config->limits;
    int rc;

    *out = NULL;
    if (!t)
        return err_set(err, ERR_MEMORY, "no memory for a stream");
    t->config = *config;
    t->config.url = t->config.token = NULL; /* the connection has its own copies */
    snprintf(t->source, sizeof t->source, "%s", config->source ? config->source : "");
    t->config.source = NULL;
    limits.max_blocks = limits.max_blocks ? limits.max_blocks : DEFAULT_MAX_BLOCKS;
    limits.max_points = limits.max_points ? limits.max_points : DEFAULT_MAX_POINTS;
    rc = cloud_new(&t->cloud, &limits, err);
    if (rc)
        client_talk_free(&t);
    *out = t;
    return rc;
}

void client_talk_free(struct client_talk **p)
{
    struct client_talk *t = *p;

    if (!t)
        return;
    cloud_free(&t->cloud);
    for (int i = 0; i < CLIENT_WINDOW_MAX; i++)
        free(t->slots[i].msg);
    free(t);
    *p = NULL;
}

void client_talk_connect(struct client_talk *t)
{
    t->has_ready = t->has_bye = t->has_refusal = t->start_sent = t->end_sent = false;
    t->held = false;
    t->cameras_said = 0;
    t->in_flight = 0;
    for (int i = 0; i < CLIENT_WINDOW_MAX; i++)
        if (t->slots[i].state == SLOT_SENT) {
            t->slots[i].state = SLOT_QUEUED;
            t->slots[i].again = true;
        }
    t->viewing = false;
}

/* ------------------------------------------------------------------------------------ blocks */

static uint32_t u32_at(const uint8_t *msg, size_t at)
{
    struct bytes_reader r = bytes_reader(msg + at, 4);
    return bytes_get_u32(&r);
}

static int on_block(struct client_talk *t, const uint8_t *msg, size_t len, struct err *err)
{
    uint32_t epoch = cloud_epoch(t->cloud);
    int op, rc;

    if (!t->has_ready)
        return err_set(err, ERR_INPUT, "the server sent blocks before `ready`");
    rc = cloud_apply(t->cloud, msg, len, err);
    op = len ? msg[0] : 0;
    if (rc == ERR_STATE) { /* the mirror does not fit the server's message */
        t->reach.any = false;
        return err_set(err, ERR_END, "a block does not fit the mirror, which is fetched anew");
    }
    if (rc)
        return rc;
    if (op == DELTA_CLEAR) {
        client_reach_clear(&t->reach, cloud_epoch(t->cloud) != epoch);
    } else if (op == DELTA_PUT || op == DELTA_DELETE || op == DELTA_PATCH) {
        t->stats.blocks++;
        if (op != DELTA_DELETE)
            t->stats.points_received +=
                u32_at(msg, 40); /* n_added; cloud_apply() checked the length */
        t->progress += client_reach_block(&t->reach, &t->ready, msg);
    }
    t->stats.block_bytes += len;
    t->cloud_changed = true;
    t->progress += client_reach_revision(&t->reach, cloud_revision(t->cloud));
    return 0;
}

static int on_binary(struct client_talk *t, const uint8_t *msg, size_t len, struct err *err)
{
    if (!t->has_ready || len == 0 || (msg[0] >= DELTA_PUT && msg[0] <= DELTA_OBJECT))
        return on_block(t, msg, len, err);
    if (msg[0] < RESULT_OP_FIRST || msg[0] > RESULT_OP_LAST)
        return 0; /* an op of a later server */
    t->stats.results++;
    t->stats.result_bytes += len;
    return t->config.on_result ? t->config.on_result(t->config.ctx, msg, len, err) : 0;
}

/* ------------------------------------------------------------------------------------ control */

static int on_ready(struct client_talk *t, const struct control_ready *ready, struct err *err)
{
    if (!t->start_sent || t->has_ready)
        return err_set(err, ERR_INPUT, "the server sent `ready` %s",
                       t->has_ready ? "twice" : "before `start`");
    if (!(isfinite(ready->step_m) && ready->step_m > 0) || ready->window < 1)
        return err_set(err, ERR_INPUT, "the server's `ready` makes no sense: step %g m, window %u",
                       (double)ready->step_m, (unsigned)ready->window);
    t->ready = *ready;
    t->rate = ready->rate;
    t->jpeg = ready->jpeg;
    t->has_ready = t->any_ready = true;
    t->has_refusal = false;
    if (t->config.on_ready)
        t->config.on_ready(t->config.ctx, ready);
    return 0;
}

/* The server had no room for the frame: it and later ones are sent again when all others are
 * answered and the time is over. */
static void on_later(struct client_talk *t, struct slot *slot, const struct control_ack *ack)
{
    slot->state = SLOT_QUEUED;
    slot->later = true;
    t->in_flight--;
    t->stats.frames_later++;
    if (!t->held || ack->retry_ms > t->later_ms)
        t->later_ms = ack->retry_ms;
    t->held = true;
}

static void on_ack(struct client_talk *t, const struct control_ack *ack)
{
    if (ack->rate > 0)
        t->rate = ack->rate;
    if (ack->jpeg)
        t->jpeg = ack->jpeg;
    for (int i = 0; i < CLIENT_WINDOW_MAX; i++) {
        struct slot *slot = &t->slots[i];

        if (slot->state != SLOT_SENT || slot->seq != ack->seq)
            continue;
        if (ack->status == CONTROL_LATER) {
            on_later(t, slot, ack);
            return;
        }
        slot->state = SLOT_FREE;
        t->in_flight--;
        t->kept--;
        t->progress++;
        t->stats.frames_answered++;
        if (slot->again && ack->again)
            t->stats.duplicates++;
        if (t->config.on_ack)
            t->config.on_ack(t->config.ctx, ack);
        return;
    }
    /* An ack of a frame that is not in flight repeats an earlier one. */
}

static void on_ended(struct client_talk *t, bool closed)
{
    if (t->config.on_ended)
        t->config.on_ended(t->config.ctx, closed);
}

static void on_sync(struct client_talk *t, const struct control_sync *said)
{
    bool equal = said->hash == cloud_hash(t->cloud) && said->points == cloud_points(t->cloud);

    /* A mirror that differs from the server's cannot be continued: the next connection starts a new
     * one. */
    if (equal)
        t->progress += client_reach_sync(&t->reach, said->revision);
    else
        t->reach.any = false;
    if (t->config.on_sync)
        t->config.on_sync(t->config.ctx, said, equal);
    if (t->viewing) /* all frames were answered on an earlier connection */
        on_ended(t, false);
}

static void on_error(struct client_talk *t, const struct control_error *error)
{
    if (!t->has_ready || refusal_ends(error)) {
        t->refusal = *error;
        t->has_refusal = true;
    }
    if (t->config.on_error)
        t->config.on_error(t->config.ctx, error);
}

static int on_text(struct client_talk *t, const uint8_t *msg, size_t len, struct err *err)
{
    struct control_message m;
    int rc = control_parse(&m, (const char *)msg, len, err);

    if (rc == ERR_UNSUPPORTED)
        return 0; /* a later server sends something that an earlier client need not know */
    if (rc)
        return rc;
    switch (m.op) {
    case CONTROL_READY:
        return on_ready(t, &m.ready, err);
    case CONTROL_ACK:
        on_ack(t, &m.ack);
        return 0;
    case CONTROL_POSES:
        if (t->config.on_poses)
            t->config.on_poses(t->config.ctx, &m.poses);
        return 0;
    case CONTROL_OBJECTS:
        if (t->config.on_objects)
            t->config.on_objects(t->config.ctx, &m.objects);
        return 0;
    case CONTROL_SYNC:
        if (!t->has_ready)
            return err_set(err, ERR_INPUT, "the server sent `sync` before `ready`");
        on_sync(t, &m.sync);
        return 0;
    case CONTROL_ERROR:
        on_error(t, &m.error);
        return 0;
    case CONTROL_ENDED:
    case CONTROL_SESSION_CLOSED:
        on_ended(t, m.op == CONTROL_SESSION_CLOSED);
        return 0;
    case CONTROL_PONG:
        return 0;
    case CONTROL_BYE:
        t->bye = m.bye;
        t->has_bye = true;
        return 0;
    default:
        return err_set(err, ERR_INPUT, "the server sent a message that only clients send");
    }
}

int client_talk_receive(struct client_talk *t, bool binary, const uint8_t *msg, size_t len,
                        struct err *err)
{
    t->stats.bytes_received += len;
    return binary ? on_binary(t, msg, len, err) : on_text(t, msg, len, err);
}

/* ------------------------------------------------------------------------------------ writing */

static int talk_send(struct client_talk *t, const struct control_message *m,
                     struct client_talk_message *out, struct err *err)
{
    size_t len = control_write(t->text, sizeof t->text, m);

    if (len == 0)
        return err_set(err, ERR_LIMIT, "a control message is longer than %d bytes",
                       CONTROL_TEXT_MAX);
    *out = (struct client_talk_message){(const uint8_t *)t->text, len, false};
    t->stats.bytes_sent += len;
    return 0;
}

static int say_start(struct client_talk *t, struct client_talk_message *out, struct err *err)
{
    struct control_message m = {.op = CONTROL_START};

    /* A client that has nothing more to send comes back as a viewer, which does not drive away
     * another client that sends frames of its source. */
    t->viewing = t->config.role == CONTROL_INGEST && t->end_wanted && t->kept == 0;
    m.start.role = t->viewing ? CONTROL_VIEW : t->config.role;
    memcpy(m.start.source, t->source, sizeof m.start.source);
    m.start.codecs = t->config.codecs ? t->config.codecs : (1u << CODEC_WIRE_KINDS) - 1;
    m.start.pose = t->config.pose;
    m.start.features = CONTROL_FEATURES_HERE;
    m.start.depth_every = t->config.depth_every;
    m.start.resume = t->reach.any;
    m.start.epoch = cloud_epoch(t->cloud);
    m.start.reach = t->reach.at;
    t->start_sent = true;
    return talk_send(t, &m, out, err);
}

static int granted(const struct client_talk *t)
{
    return t->ready.window < CLIENT_WINDOW_MAX ? (int)t->ready.window : CLIENT_WINDOW_MAX;
}

/* Finds the oldest frame to be sent, if the window allows one more; a new `ready` may grant a
 * window smaller than the number of kept frames. */
static int next_frame(const struct client_talk *t)
{
    int first = -1;

    for (int i = 0; i < CLIENT_WINDOW_MAX && t->in_flight < granted(t) && !t->held; i++)
        if (t->slots[i].state == SLOT_QUEUED &&
            (first < 0 || t->slots[i].order < t->slots[first].order))
            first = i;
    return first;
}

static bool end_due(const struct client_talk *t)
{
    return t->end_wanted && !t->end_sent && !t->viewing && t->in_flight == t->kept;
}

static bool camera_due(const struct client_talk *t)
{
    return t->cameras_said < t->cameras.n && !t->viewing;
}

/* Converts to the axes of the client's convention. */
static struct cameras_entry next_camera(struct client_talk *t)
{
    struct cameras_entry e = t->cameras.list[t->cameras_said++];

    if (t->config.pose == FRAME_POSE_OPENGL)
        frame_swap_axes(&e.T_rc);
    return e;
}

bool client_talk_has_more(const struct client_talk *t)
{
    if (t->has_bye)
        return false;
    return !t->start_sent || (t->has_ready && (camera_due(t) || next_frame(t) >= 0 || end_due(t)));
}

static void take_frame(struct client_talk *t, struct slot *slot, struct client_talk_message *out)
{
    slot->state = SLOT_SENT;
    t->in_flight++;
    if (slot->again)
        t->stats.frames_resent++;
    else if (!slot->later)
        t->stats.frames_sent++;
    t->stats.bytes_sent += slot->len;
    *out = (struct client_talk_message){slot->msg, slot->len, true};
}

int client_talk_next(struct client_talk *t, struct client_talk_message *out, struct err *err)
{
    struct control_message m;
    int frame;

    if (!client_talk_has_more(t))
        return err_set(err, ERR_END, "nothing to say");
    if (!t->start_sent)
        return say_start(t, out, err);
    frame = next_frame(t);
    if (camera_due(t)) {
        m = (struct control_message){.op = CONTROL_CAMERA, .camera = next_camera(t)};
        return talk_send(t, &m, out, err);
    }
    if (frame >= 0) {
        take_frame(t, &t->slots[frame], out);
        return 0;
    }
    m = (struct control_message){.op = CONTROL_END};
    t->end_sent = true;
    return talk_send(t, &m, out, err);
}

/* ------------------------------------------------------------------------------------ ends */

int client_talk_ended(const struct client_talk *t, int rc, struct err *err)
{
    if (rc != ERR_IO && rc != ERR_END)
        return rc; /* the client ended it itself, or was not let in */
    if (t->has_bye)
        return err_set(err, ERR_END, "the server said goodbye: %s",
                       t->bye.reason[0] ? t->bye.reason : "no reason given");
    if (t->has_refusal)
        return err_at(err, client_retry_code(t->refusal.status), t->refusal.pointer, "%s",
                      t->refusal.detail[0] ? t->refusal.detail : t->refusal.title);
    return rc;
}

bool client_talk_resumable(const struct client_talk *t, int rc)
{
    if (t->has_bye && t->bye.action == CONTROL_DISCONNECT)
        return false;
    return rc == ERR_IO || rc == ERR_END || rc == ERR_BUSY || rc == ERR_DEVICE;
}

/* ------------------------------------------------------------------------------------ caller */

int client_talk_window(const struct client_talk *t)
{
    if (!t->has_ready || t->end_wanted || t->has_bye)
        return 0;
    return granted(t) > t->kept ? granted(t) - t->kept : 0;
}

static int slot_keep(struct slot *slot, const struct frame *f, size_t len,
                     enum frame_pose_convention pose, struct err *err)
{
    if (array_grow(&slot->msg, &slot->cap, len, 1))
        return err_set(err, ERR_MEMORY, "no memory for a frame of %zu bytes", len);
    frame_encode(slot->msg, f, pose);
    slot->len = len;
    slot->seq = f->seq;
    return 0;
}

int client_talk_send(struct client_talk *t, const struct frame *f, struct err *err)
{
    size_t len = frame_bytes(f);
    struct slot *slot = t->slots;
    int rc;

    if (t->config.role != CONTROL_INGEST)
        return err_set(err, ERR_STATE, "a viewer sends no frames");
    if (t->end_wanted)
        return err_set(err, ERR_STATE, "a frame after the end");
    if (client_talk_window(t) == 0)
        return err_set(err, ERR_BUSY, "the window is used up: %d frames are unanswered", t->kept);
    if (len > FRAME_HEADER_BYTES + FRAME_PAYLOAD_MAX || len > t->ready.max_frame_bytes)
        return err_set(err, ERR_LIMIT, "frame of %zu bytes, the server takes %u", len,
                       (unsigned)t->ready.max_frame_bytes);
    if (t->any_seq && f->seq <= t->last_seq)
        return err_set(err, ERR_INPUT, "frame %llu after frame %llu: numbers only rise",
                       (unsigned long long)f->seq, (unsigned long long)t->last_seq);
    while (slot->state != SLOT_FREE)
        slot++; /* kept < CLIENT_WINDOW_MAX, so one is free */
    rc = slot_keep(slot, f, len, t->config.pose, err);
    if (rc)
        return rc;
    slot->order = t->order++;
    slot->state = SLOT_QUEUED;
    slot->again = slot->later = false;
    t->last_seq = f->seq;
    t->any_seq = true;
    t->kept++;
    return 0;
}

int client_talk_camera(struct client_talk *t, const struct cameras_entry *camera, struct err *err)
{
    if (t->config.role != CONTROL_INGEST)
        return err_set(err, ERR_STATE, "only a client that sends frames has cameras");
    t->cameras_said = 0;
    return cameras_put(&t->cameras, camera, err);
}

int client_talk_end(struct client_talk *t, struct err *err)
{
    if (t->config.role != CONTROL_INGEST)
        return err_set(err, ERR_STATE, "only a client that sends frames can end them");
    t->end_wanted = true;
    return 0;
}

bool client_talk_held(const struct client_talk *t, uint32_t *for_ms)
{
    *for_ms = t->later_ms;
    return t->held && t->in_flight == 0;
}

void client_talk_go_on(struct client_talk *t)
{
    t->held = false;
}

void client_talk_pace(const struct client_talk *t, float *rate, int *jpeg)
{
    *rate = t->rate;
    *jpeg = t->jpeg;
}

uint64_t client_talk_progress(const struct client_talk *t)
{
    return t->progress;
}

bool client_talk_started(const struct client_talk *t)
{
    return t->has_ready;
}

uint64_t client_talk_next_seq(const struct client_talk *t)
{
    uint64_t next = t->any_seq ? t->last_seq + 1 : 0;

    return t->ready.any_seq && t->ready.last_seq >= next ? t->ready.last_seq + 1 : next;
}

int client_talk_unanswered(const struct client_talk *t)
{
    return t->kept;
}

const struct cloud *client_talk_cloud(const struct client_talk *t)
{
    return t->cloud;
}

const struct control_ready *client_talk_ready(const struct client_talk *t)
{
    return t->any_ready ? &t->ready : NULL;
}

uint32_t client_talk_retry_ms(const struct client_talk *t)
{
    if (t->has_bye)
        return t->bye.retry_ms;
    return t->has_refusal ? t->refusal.retry_ms : 0;
}

const struct control_bye *client_talk_bye(const struct client_talk *t)
{
    return t->has_bye ? &t->bye : NULL;
}

bool client_talk_cloud_changed(struct client_talk *t)
{
    bool changed = t->cloud_changed;

    t->cloud_changed = false;
    return changed;
}

struct client_stream_stats *client_talk_stats(struct client_talk *t)
{
    return &t->stats;
}
