#include "api/client.h"

#include "api/client_ws.h"
#include "proto/bytes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The mirror's bounds where the caller names none: 64 M points are 512 MB of keys. */
#define DEFAULT_MAX_BLOCKS (1u << 20)
#define DEFAULT_MAX_POINTS (64u << 20)
/* Blocks asked for again and not yet seen; more means that the server's patches make no sense. */
#define NEEDS_MAX 256
#define BLOCK_HEADER_BYTES 32 /* op ... block coordinates: what put, patch and delete share */

enum slot_state { SLOT_FREE, SLOT_QUEUED, SLOT_SENT };

/* One frame from client_stream_send() until its ack, so that it can be sent again. */
struct slot {
    enum slot_state state;
    uint64_t seq, order;
    uint8_t *msg; /* header and payload */
    size_t len, cap;
};

struct need {
    struct cloud_name name;
    bool sent;
};

struct client_stream {
    struct client_stream_config config;
    struct client_ws *ws;
    struct cloud *cloud;
    struct control_ready ready;
    struct control_bye bye;
    bool has_ready, has_bye, has_sync, start_sent, end_wanted, end_sent, paused, cloud_changed;
    uint64_t sync_revision, order;
    struct slot slots[CLIENT_WINDOW_MAX];
    int in_flight;
    struct need needs[NEEDS_MAX];
    int n_needs;
    struct client_stream_stats stats;
    char text[CONTROL_TEXT_MAX];
};

/* ------------------------------------------------------------------------------------ blocks */

static struct cloud_name block_name(const uint8_t *msg)
{
    struct bytes_reader r = bytes_reader(msg + 16, BLOCK_HEADER_BYTES - 16);
    struct cloud_name name;

    name.submap = bytes_get_u32(&r);
    name.x = bytes_get_i32(&r);
    name.y = bytes_get_i32(&r);
    name.z = bytes_get_i32(&r);
    return name;
}

static int find_need(const struct client_stream *s, const struct cloud_name *name)
{
    for (int i = 0; i < s->n_needs; i++)
        if (memcmp(&s->needs[i].name, name, sizeof *name) == 0)
            return i;
    return -1;
}

static int ask_again(struct client_stream *s, const uint8_t *msg, struct err *err)
{
    struct cloud_name name = block_name(msg);

    if (find_need(s, &name) >= 0)
        return 0;
    if (s->n_needs == NEEDS_MAX)
        return err_set(err, ERR_INPUT,
                       "patches of %d blocks did not fit the server's own revisions", NEEDS_MAX);
    s->needs[s->n_needs++] = (struct need){.name = name};
    s->stats.resyncs++;
    client_ws_want_write(s->ws);
    return 0;
}

static uint32_t u32_at(const uint8_t *msg, size_t at)
{
    struct bytes_reader r = bytes_reader(msg + at, 4);
    return bytes_get_u32(&r);
}

static int on_block(struct client_stream *s, const uint8_t *msg, size_t len, struct err *err)
{
    int op, rc, need;

    if (!s->has_ready)
        return err_set(err, ERR_INPUT, "the server sent blocks before `ready`");
    rc = cloud_apply(s->cloud, msg, len, err);
    op = len ? msg[0] : 0;
    if (rc == ERR_STATE && op == DELTA_PATCH && len >= BLOCK_HEADER_BYTES &&
        u32_at(msg, 4) == cloud_epoch(s->cloud))
        return ask_again(s, msg, err);
    if (rc)
        return rc;
    if (op == DELTA_CLEAR) {
        s->n_needs = 0;
        s->has_sync = false;
    } else if (op == DELTA_PUT || op == DELTA_DELETE || op == DELTA_PATCH) {
        struct cloud_name name = block_name(msg);

        need = op == DELTA_PATCH ? -1 : find_need(s, &name);
        if (need >= 0)
            s->needs[need] = s->needs[--s->n_needs];
        s->stats.blocks++;
        if (op != DELTA_DELETE)
            s->stats.points_received +=
                u32_at(msg, 40); /* n_added; cloud_apply() checked the length */
    }
    s->stats.block_bytes += len;
    s->cloud_changed = true;
    return 0;
}

/* ------------------------------------------------------------------------------------ control */

static int on_ready(struct client_stream *s, const struct control_ready *ready, struct err *err)
{
    if (s->has_ready)
        return err_set(err, ERR_INPUT, "the server sent `ready` twice");
    if (!(isfinite(ready->step_m) && ready->step_m > 0) || ready->window < 1)
        return err_set(err, ERR_INPUT, "the server's `ready` makes no sense: step %g m, window %u",
                       (double)ready->step_m, (unsigned)ready->window);
    s->ready = *ready;
    s->has_ready = true;
    if (s->config.on_ready)
        s->config.on_ready(s->config.ctx, ready);
    return 0;
}

static void on_ack(struct client_stream *s, const struct control_ack *ack)
{
    for (int i = 0; i < CLIENT_WINDOW_MAX; i++) {
        struct slot *slot = &s->slots[i];

        if (slot->state != SLOT_SENT || slot->seq != ack->seq)
            continue;
        slot->state = SLOT_FREE;
        s->in_flight--;
        s->stats.frames_answered++;
        if (s->config.on_ack)
            s->config.on_ack(s->config.ctx, ack);
        return;
    }
    /* An answer to a frame that is not in flight was a repetition. */
}

static void on_sync(struct client_stream *s, const struct control_sync *sync)
{
    bool equal = sync->hash == cloud_hash(s->cloud) && sync->points == cloud_points(s->cloud);

    if (s->n_needs)
        return;
    if (equal) {
        s->has_sync = true;
        s->sync_revision = sync->revision;
    }
    if (s->config.on_sync)
        s->config.on_sync(s->config.ctx, sync, equal);
}

static int on_text(struct client_stream *s, const uint8_t *msg, size_t len, struct err *err)
{
    struct control_message m;
    int rc = control_parse(&m, (const char *)msg, len, err);

    if (rc)
        return rc;
    switch (m.op) {
    case CONTROL_READY:
        return on_ready(s, &m.ready, err);
    case CONTROL_ACK:
        on_ack(s, &m.ack);
        return 0;
    case CONTROL_SYNC:
        on_sync(s, &m.sync);
        return 0;
    case CONTROL_ERROR:
        if (s->config.on_error)
            s->config.on_error(s->config.ctx, &m.error);
        return 0;
    case CONTROL_BYE:
        s->bye = m.bye;
        s->has_bye = true;
        return 0;
    default:
        return err_set(err, ERR_INPUT, "the server sent a message that only clients send");
    }
}

static int on_message(void *ctx, bool binary, const uint8_t *msg, size_t len, struct err *err)
{
    struct client_stream *s = ctx;

    s->stats.bytes_received += len;
    return binary ? on_block(s, msg, len, err) : on_text(s, msg, len, err);
}

/* ------------------------------------------------------------------------------------ writing */

static int write_control(struct client_stream *s, const struct control_message *m, struct err *err)
{
    size_t len = control_write(s->text, sizeof s->text, m);

    if (len == 0)
        return err_set(err, ERR_LIMIT, "a control message is longer than %d bytes",
                       CONTROL_TEXT_MAX);
    s->stats.bytes_sent += len;
    return client_ws_write(s->ws, (const uint8_t *)s->text, len, false, err);
}

static int write_start(struct client_stream *s, struct err *err)
{
    struct control_message m = {.op = CONTROL_START};

    m.start.role = s->config.role;
    m.start.codecs = s->config.codecs ? s->config.codecs : (1u << DELTA_CODECS) - 1;
    m.start.pose = s->config.pose;
    m.start.resume = s->has_sync;
    m.start.epoch = cloud_epoch(s->cloud);
    m.start.revision = s->sync_revision;
    s->start_sent = true;
    return write_control(s, &m, err);
}

static struct need *next_need(struct client_stream *s)
{
    for (int i = 0; i < s->n_needs; i++)
        if (!s->needs[i].sent)
            return &s->needs[i];
    return NULL;
}

static struct slot *next_frame(struct client_stream *s)
{
    struct slot *first = NULL;

    for (int i = 0; i < CLIENT_WINDOW_MAX; i++)
        if (s->slots[i].state == SLOT_QUEUED && (!first || s->slots[i].order < first->order))
            first = &s->slots[i];
    return first;
}

static bool has_more(struct client_stream *s)
{
    return s->has_ready && (next_need(s) || next_frame(s) || (s->end_wanted && !s->end_sent));
}

static int on_writable(void *ctx, struct err *err)
{
    struct client_stream *s = ctx;
    struct control_message m;
    struct need *need;
    struct slot *slot;
    int rc = 0;

    if (!s->start_sent)
        return write_start(s, err);
    if (!s->has_ready)
        return 0;
    need = next_need(s);
    slot = next_frame(s);
    if (need) {
        m = (struct control_message){.op = CONTROL_NEED, .need = need->name};
        need->sent = true;
        rc = write_control(s, &m, err);
    } else if (slot) {
        slot->state = SLOT_SENT;
        s->stats.frames_sent++;
        s->stats.bytes_sent += slot->len;
        rc = client_ws_write(s->ws, slot->msg, slot->len, true, err);
    } else if (s->end_wanted && !s->end_sent) {
        m = (struct control_message){.op = CONTROL_END};
        s->end_sent = true;
        rc = write_control(s, &m, err);
    }
    if (rc == 0 && has_more(s))
        client_ws_want_write(s->ws);
    return rc;
}

static void on_open(void *ctx)
{
    struct client_stream *s = ctx;
    client_ws_want_write(s->ws);
}

/* ------------------------------------------------------------------------------------ interface */

static int connect_start(struct client_stream *s, const char *url, const char *token,
                         struct err *err)
{
    struct client_ws_config ws = {
        .url = url,
        .token = token,
        .ca_file = s->config.ca_file,
        .subprotocol = CONTROL_SUBPROTOCOL,
        .max_text_bytes = CONTROL_TEXT_MAX,
        .max_binary_bytes = DELTA_MESSAGE_MAX,
        .connect_timeout_s = s->config.connect_timeout_s ? s->config.connect_timeout_s : 10,
        .ctx = s,
        .on_open = on_open,
        .on_message = on_message,
        .on_writable = on_writable,
    };
    return client_ws_open(&s->ws, &ws, err);
}

int client_stream_open(struct client_stream **out, const struct client_stream_config *config,
                       struct err *err)
{
    struct client_stream *s = calloc(1, sizeof *s);
    struct cloud_limits limits = config->limits;
    int rc;

    *out = NULL;
    if (!s)
        return err_set(err, ERR_MEMORY, "no memory for a stream");
    s->config = *config;
    s->config.url = s->config.token = NULL; /* the connection has its own copies */
    limits.max_blocks = limits.max_blocks ? limits.max_blocks : DEFAULT_MAX_BLOCKS;
    limits.max_points = limits.max_points ? limits.max_points : DEFAULT_MAX_POINTS;
    rc = cloud_new(&s->cloud, &limits, err);
    if (rc)
        goto out;
    rc = connect_start(s, config->url, config->token, err);
out:
    if (rc)
        client_stream_close(&s);
    *out = s;
    return rc;
}

void client_stream_close(struct client_stream **p)
{
    struct client_stream *s = *p;

    if (!s)
        return;
    client_ws_close(&s->ws);
    cloud_free(&s->cloud);
    for (int i = 0; i < CLIENT_WINDOW_MAX; i++)
        free(s->slots[i].msg);
    free(s);
    *p = NULL;
}

int client_stream_reopen(struct client_stream *s, const char *url, const char *token,
                         struct err *err)
{
    client_ws_close(&s->ws);
    s->has_ready = s->has_bye = s->start_sent = s->end_sent = s->paused = false;
    s->n_needs = 0;
    for (int i = 0; i < CLIENT_WINDOW_MAX; i++)
        if (s->slots[i].state == SLOT_SENT)
            s->slots[i].state = SLOT_QUEUED;
    return connect_start(s, url, token, err);
}

int client_stream_window(const struct client_stream *s)
{
    int window;

    if (!s->has_ready || s->end_wanted)
        return 0;
    window = s->ready.window < CLIENT_WINDOW_MAX ? (int)s->ready.window : CLIENT_WINDOW_MAX;
    return window > s->in_flight ? window - s->in_flight : 0;
}

int client_stream_send(struct client_stream *s, const struct frame *f, struct err *err)
{
    size_t len = FRAME_HEADER_BYTES + (size_t)f->payload_len;
    struct slot *slot = s->slots;
    uint8_t *bigger;

    if (s->end_wanted)
        return err_set(err, ERR_STATE, "a frame after the end");
    if (client_stream_window(s) == 0)
        return err_set(err, ERR_BUSY, "the window is used up: %d frames are unanswered",
                       s->in_flight);
    if (f->payload_len > FRAME_PAYLOAD_MAX || len > s->ready.max_frame_bytes)
        return err_set(err, ERR_LIMIT, "frame of %zu bytes, the server takes %u", len,
                       (unsigned)s->ready.max_frame_bytes);
    while (slot->state != SLOT_FREE)
        slot++; /* in_flight < CLIENT_WINDOW_MAX: one is free */
    if (len > slot->cap) {
        bigger = realloc(slot->msg, len + len / 4);
        if (!bigger)
            return err_set(err, ERR_MEMORY, "no memory for a frame of %zu bytes", len);
        slot->msg = bigger;
        slot->cap = len + len / 4;
    }
    frame_encode_header(slot->msg, f, s->config.pose);
    memcpy(slot->msg + FRAME_HEADER_BYTES, f->payload, f->payload_len);
    slot->len = len;
    slot->seq = f->seq;
    slot->order = s->order++;
    slot->state = SLOT_QUEUED;
    s->in_flight++;
    client_ws_want_write(s->ws);
    return 0;
}

int client_stream_end(struct client_stream *s, struct err *err)
{
    if (s->config.role != CONTROL_INGEST)
        return err_set(err, ERR_STATE, "only a client that sends frames can end them");
    s->end_wanted = true;
    if (s->has_ready)
        client_ws_want_write(s->ws);
    return 0;
}

int client_stream_run(struct client_stream *s, int timeout_ms, struct err *err)
{
    int rc = client_ws_run(s->ws, timeout_ms, err);

    if (s->cloud_changed && s->config.on_cloud)
        s->config.on_cloud(s->config.ctx, s->cloud);
    s->cloud_changed = false;
    if (s->has_bye && (rc == ERR_IO || rc == ERR_END))
        return err_set(err, ERR_END, "the server said goodbye: %s",
                       s->bye.reason[0] ? s->bye.reason : "no reason given");
    if (rc == 0 && has_more(s))
        client_ws_want_write(s->ws); /* what was queued before the connection was open */
    return rc;
}

void client_stream_pause(struct client_stream *s, bool paused)
{
    if (paused != s->paused)
        client_ws_pause(s->ws, paused);
    s->paused = paused;
}

const struct cloud *client_stream_cloud(const struct client_stream *s)
{
    return s->cloud;
}

const struct control_ready *client_stream_ready(const struct client_stream *s)
{
    return s->has_ready ? &s->ready : NULL;
}

const struct control_bye *client_stream_bye(const struct client_stream *s)
{
    return s->has_bye ? &s->bye : NULL;
}

void client_stream_get_stats(const struct client_stream *s, struct client_stream_stats *stats)
{
    *stats = s->stats;
}
