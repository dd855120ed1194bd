#include "tests/support/fake_core.h"

#include "daemon/work/later.h"
#include "tests/support/fake_core_make.h"
#include "tests/support/fake_host.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STREAMS_MAX 512
#define ACKS_MAX 64
#define MESSAGE_MAX (4u << 20)

atomic_ullong fake_core_ahead_us;

struct row {
    bool used;
    uint64_t rank;
    struct session_info info;
    struct api_token tokens[API_SESSION_TOKENS];
    int n_tokens;
};

struct stream {
    bool used, ready, bye;
    struct fake_core *c;
    char id[API_ID_CAP];
    enum control_role role;
    void *cookie;
    uint64_t acks[ACKS_MAX];
    int n_acks, n_send;
    size_t send_bytes;
    char text[512];
};

struct core_export {
    struct fake_core *c;
};

struct fake_core {
    struct later *later; /* first: fake_host.c */
    pthread_mutex_t lock;
    int max_sessions, n;
    uint64_t rank;
    struct row *rows;
    struct stream streams[STREAMS_MAX];
    struct fake_core_counts counts;
    enum api_health health;
    bool tokens_are_lost;
    atomic_int held_from, n_binary; /* binary messages; held_from 0: none is held */
    void (*wake)(void *edge, void *cookie);
    void *edge;
    uint8_t *message;
};

static struct fake_core *fake(struct core *c)
{
    return (struct fake_core *)(void *)c;
}

static struct row *find(struct fake_core *c, const char *id)
{
    for (int i = 0; i < c->n; i++)
        if (c->rows[i].used && strcmp(c->rows[i].info.id, id) == 0)
            return &c->rows[i];
    return NULL;
}

static int not_found(struct err *err)
{
    return err_set(err, ERR_NOT_FOUND, "no such session");
}

static int session_create(struct core *core, const struct session_options *options,
                          const char *owner, struct session_info *info, int *retry_after_s,
                          struct err *err)
{
    struct fake_core *c = fake(core);
    int i = 0, rc = 0;

    if (options->depth_model[0] && strncmp(options->depth_model, "depth-", 6) != 0)
        return err_at(err, ERR_NOT_FOUND, "/depth_model", "no such model");
    pthread_mutex_lock(&c->lock);
    while (i < c->max_sessions && c->rows[i].used)
        i++;
    if (i == c->max_sessions) {
        *retry_after_s = 7;
        rc = err_set(err, ERR_BUSY, "all %d sessions are in use", c->max_sessions);
    } else {
        struct row *row = &c->rows[i];
        *row = (struct row){.used = true, .rank = ++c->rank};
        row->info = (struct session_info){
            .epoch = 1, .points = 12345, .scale = {true, 1.25f, 0.03f, 1.125f, 0.02f}};
        make_id(row->info.id, row->rank);
        snprintf(row->info.owner, sizeof row->info.owner, "%s", owner);
        row->info.options = *options;
        resolve(&row->info.options);
        strcpy(row->info.device, "cpu");
        row->info.created_s = row->info.changed_s = (double)time(NULL);
        row->info.hash = FAKE_CORE_HASH;
        *info = row->info;
        c->n = i >= c->n ? i + 1 : c->n;
        c->counts.sessions++;
        c->counts.created++;
    }
    pthread_mutex_unlock(&c->lock);
    return rc;
}

/* The lock is held if there is such a session. */
static struct row *lock_row(struct fake_core *c, const char *id, struct err *err)
{
    struct row *row;

    pthread_mutex_lock(&c->lock);
    row = find(c, id);
    if (row)
        return row;
    pthread_mutex_unlock(&c->lock);
    (void)!not_found(err);
    return NULL;
}

static int session_get(struct core *core, const char *id, struct session_info *info,
                       struct err *err)
{
    struct row *row = lock_row(fake(core), id, err);

    if (!row)
        return ERR_NOT_FOUND;
    *info = row->info;
    return pthread_mutex_unlock(&fake(core)->lock);
}

static int session_list(struct core *core, struct session_info *infos, int cap, int *n,
                        uint64_t *cursor, struct err *err)
{
    struct fake_core *c = fake(core);

    (void)err;
    *n = 0;
    pthread_mutex_lock(&c->lock);
    for (int i = 0; i < c->n && *n < cap; i++)
        if (c->rows[i].used && c->rows[i].rank > *cursor) {
            infos[(*n)++] = c->rows[i].info;
            *cursor = c->rows[i].rank;
        }
    pthread_mutex_unlock(&c->lock);
    return 0;
}

static int session_close(struct core *core, const char *id, struct err *err)
{
    struct row *row = lock_row(fake(core), id, err);

    if (!row)
        return ERR_NOT_FOUND;
    row->info.state = SESSION_CLOSED;
    return pthread_mutex_unlock(&fake(core)->lock);
}

static int session_refine(struct core *core, const char *id, struct err *err)
{
    struct row *row = lock_row(fake(core), id, err);
    int rc = row ? refine(&row->info, err) : ERR_NOT_FOUND;

    if (row)
        pthread_mutex_unlock(&fake(core)->lock);
    return rc;
}

static int session_kick(struct core *core, const char *id, struct err *err)
{
    if (!lock_row(fake(core), id, err))
        return ERR_NOT_FOUND;
    pthread_mutex_unlock(&fake(core)->lock);
    fake_core_bye(fake(core), id);
    return 0;
}

static int session_delete(struct core *core, const char *id, struct err *err)
{
    struct fake_core *c = fake(core);
    struct row *row = lock_row(c, id, err);

    if (!row)
        return ERR_NOT_FOUND;
    row->used = false;
    c->counts.sessions--, c->counts.deleted++;
    return pthread_mutex_unlock(&c->lock);
}

static int tokens_keep(struct core *core, const char *id, const struct api_token *tokens, int n,
                       struct err *err)
{
    struct fake_core *c = fake(core);
    struct row *row;
    bool refused;

    pthread_mutex_lock(&c->lock);
    row = find(c, id);
    refused = !row || n > API_SESSION_TOKENS || c->tokens_are_lost;
    for (int i = 0; i < n && !refused; i++)
        row->tokens[i] = tokens[i];
    if (!refused)
        row->n_tokens = n;
    pthread_mutex_unlock(&c->lock);
    return refused ? err_set(err, ERR_IO, "the fake disk is full") : 0;
}

static void tokens_each(struct core *core, void (*each)(void *ctx, const struct api_token *token),
                        void *ctx)
{
    struct fake_core *c = fake(core);

    for (int i = 0; i < c->n; i++)
        for (int k = 0; c->rows[i].used && k < c->rows[i].n_tokens; k++)
            each(ctx, &c->rows[i].tokens[k]);
}

void fake_core_lose_tokens(struct fake_core *c)
{
    c->tokens_are_lost = true;
}

/* The session, if it has a map. */
static int find_mapped(struct core *core, const char *id, struct err *err)
{
    struct session_info info;

    if (session_get(core, id, &info, err))
        return ERR_NOT_FOUND;
    return info.options.kind == SESSION_DEPTH
               ? err_set(err, ERR_STATE, "a session of kind depth has no map")
               : 0;
}

/* Each session has two worlds, and none remembers where the second was put. */
static int submaps(struct core *core, const char *id, struct api_submap *list, int *n,
                   struct err *err)
{
    list[0] = (struct api_submap){0, "main", 7, true, {0, 0, 0, 1, 0, 0, 0}};
    list[1] = (struct api_submap){1, "main", 8, false, {0}};
    *n = 2;
    return find_mapped(core, id, err);
}

static int submap_place(struct core *core, const char *id, uint32_t submap, const float pose[7],
                        struct err *err)
{
    int rc = find_mapped(core, id, err);

    (void)pose;
    return rc || submap < 2 ? rc : err_set(err, ERR_NOT_FOUND, "there is no such submap");
}

static int export_open(struct core *core, const char *id, const char *reader, bool unplaced,
                       struct core_export **e, uint64_t *total_bytes, uint64_t *hash,
                       struct err *err)
{
    struct fake_core *c = fake(core);
    int rc = find_mapped(core, id, err);

    (void)reader;
    (void)unplaced;
    if (rc)
        return rc;
    pthread_mutex_lock(&c->lock);
    c->counts.exports_open++;
    pthread_mutex_unlock(&c->lock);
    *e = malloc(sizeof **e);
    if (!*e)
        return err_set(err, ERR_MEMORY, "out of memory");
    (*e)->c = c;
    *total_bytes = FAKE_CORE_CLOUD_BYTES;
    *hash = FAKE_CORE_HASH;
    return 0;
}

static size_t export_read(struct core_export *e, uint64_t offset, uint8_t *buf, size_t cap)
{
    size_t n = 0;

    (void)e;
    for (; n < cap && offset + n < FAKE_CORE_CLOUD_BYTES; n++)
        buf[n] = (uint8_t)((offset + n) * 31 >> 3);
    return n;
}

static void export_close(struct core_export *e)
{
    pthread_mutex_lock(&e->c->lock);
    e->c->counts.exports_open--;
    pthread_mutex_unlock(&e->c->lock);
    free(e);
}

static int trajectory(struct core *core, const char *id, uint64_t first, struct session_pose *poses,
                      int cap, int *n, struct err *err)
{
    struct session_info info;

    *n = 0;
    if (session_get(core, id, &info, err))
        return ERR_NOT_FOUND;
    if (info.options.kind == SESSION_DEPTH)
        return err_set(err, ERR_STATE, "a session of kind depth has no map");
    for (uint64_t i = first; i < FAKE_CORE_POSES + FAKE_CORE_ELSEWHERE && *n < cap; i++)
        make_pose(&poses[(*n)++], i, i >= FAKE_CORE_POSES);
    return 0;
}

static int depth(struct core *core, const char *id, float *buf, size_t cap, int *w, int *h,
                 uint64_t *seq, struct err *err)
{
    struct session_info info;

    if (session_get(core, id, &info, err))
        return ERR_NOT_FOUND;
    if (!info.options.preview)
        return err_set(err, ERR_STATE, "the session was created without preview");
    *w = 64, *h = 48, *seq = 41;
    for (size_t i = 0; i < 64 * 48 && i < cap; i++)
        buf[i] = 1.0f + 0.0003f * (float)i;
    return 0;
}

static enum api_health health(struct core *core, char why[API_TEXT_CAP])
{
    strcpy(why, fake(core)->health == API_READY ? "" : "because");
    return fake(core)->health;
}

void fake_core_set_state(struct fake_core *c, const char *id, enum session_state state)
{
    pthread_mutex_lock(&c->lock);
    find(c, id)->info.state = state;
    pthread_mutex_unlock(&c->lock);
}

static int stream_expect(struct core *core, const char *id, int *retry_after_s, struct err *err)
{
    struct row *row = lock_row(fake(core), id, err);
    bool away = row && row->info.state == SESSION_RECOVERING;

    if (!row)
        return ERR_NOT_FOUND;
    *retry_after_s = 7;
    pthread_mutex_unlock(&fake(core)->lock);
    return away ? err_set(err, ERR_BUSY, "it is coming back") : 0;
}

static int stream_open(struct core *core, const char *id, enum control_role role, void *cookie,
                       struct stream **out, struct err *err)
{
    struct fake_core *c = fake(core);
    struct stream *s = NULL;

    pthread_mutex_lock(&c->lock);
    for (int i = 0; find(c, id) && i < STREAMS_MAX && !s; i++)
        if (!c->streams[i].used)
            s = &c->streams[i];
    if (s) {
        memset(s, 0, sizeof *s);
        s->used = true;
        s->c = c;
        s->role = role;
        s->cookie = cookie;
        snprintf(s->id, sizeof s->id, "%s", id);
        c->counts.streams++;
    }
    pthread_mutex_unlock(&c->lock);
    *out = s;
    return s ? 0 : not_found(err);
}

static int stream_start(struct stream *s, const struct control_start *start, struct err *err)
{
    if (!(start->codecs & 1u << CODEC_RAW))
        return err_at(err, ERR_INPUT, "/codecs", "this server wants raw among them");
    pthread_mutex_lock(&s->c->lock);
    s->ready = true;
    pthread_mutex_unlock(&s->c->lock);
    return 0;
}

static uint64_t stream_ahead_us(struct stream *s)
{
    (void)s;
    return atomic_load(&fake_core_ahead_us);
}

static int stream_frame(struct stream *s, const uint8_t *msg, size_t len, struct err *err)
{
    struct frame f;
    int rc = 0;

    memset(&f, 0, sizeof f);
    if (s->role == CONTROL_VIEW)
        return err_set(err, ERR_DENIED, "a viewer sends no frames");
    pthread_mutex_lock(&s->c->lock);
    if (s->n_acks == ACKS_MAX) {
        rc = err_at(err, ERR_LIMIT, "flood", "more than %d frames unanswered", ACKS_MAX);
    } else {
        rc = frame_parse(&f, msg, len, FRAME_POSE_OPENGL, err);
        s->acks[s->n_acks++] = f.seq;
        s->c->counts.frames += rc == 0;
        s->c->counts.frame_bytes += len;
    }
    pthread_mutex_unlock(&s->c->lock);
    return rc;
}

static int stream_control(struct stream *s, const struct control_message *m, struct err *err)
{
    (void)err;
    (void)s;
    (void)m;
    return 0;
}

static enum stream_kind say(struct stream *s, struct control_message *m, const uint8_t **msg,
                            size_t *len)
{
    *len = control_write(s->text, sizeof s->text, m);
    *msg = (const uint8_t *)s->text;
    return STREAM_TEXT;
}

static enum stream_kind stream_next(struct stream *s, const uint8_t **msg, size_t *len)
{
    struct control_message m = {0};
    enum stream_kind kind = STREAM_NONE;

    pthread_mutex_lock(&s->c->lock);
    if (s->ready) {
        s->ready = false;
        m.op = CONTROL_READY;
        strcpy(m.ready.session, s->id);
        m.ready.epoch = 1;
        m.ready.step_m = 0.001f;
        m.ready.window = 8;
        m.ready.max_frame_bytes = 1 << 20;
        kind = say(s, &m, msg, len);
    } else if (s->n_acks > 0) {
        m.op = CONTROL_ACK;
        m.ack.seq = s->acks[0];
        memmove(s->acks, s->acks + 1, (size_t)--s->n_acks * sizeof *s->acks);
        kind = say(s, &m, msg, len);
    } else if (s->n_send > 0) {
        s->n_send--;
        *msg = s->c->message;
        *len = s->send_bytes;
        kind = STREAM_BINARY;
    } else if (s->bye) {
        kind = STREAM_CLOSE;
    }
    pthread_mutex_unlock(&s->c->lock);
    if (kind == STREAM_BINARY)
        for (int number = ++s->c->n_binary, from; (from = s->c->held_from) && number >= from;)
            usleep(1000);
    return kind;
}

static void stream_close(struct stream *s)
{
    pthread_mutex_lock(&s->c->lock);
    s->used = false;
    s->c->counts.streams--;
    pthread_mutex_unlock(&s->c->lock);
}

/* Change every stream of a session, then wake each. */
static void each_stream(struct fake_core *c, const char *id, int n, size_t bytes, bool bye)
{
    void *cookies[STREAMS_MAX];
    int n_cookies = 0;

    pthread_mutex_lock(&c->lock);
    for (int i = 0; i < STREAMS_MAX; i++) {
        struct stream *s = &c->streams[i];
        if (!s->used || strcmp(s->id, id) != 0)
            continue;
        s->n_send += n;
        s->send_bytes = bytes < MESSAGE_MAX ? bytes : MESSAGE_MAX;
        s->bye = s->bye || bye;
        cookies[n_cookies++] = s->cookie;
    }
    pthread_mutex_unlock(&c->lock);
    for (int i = 0; i < n_cookies && c->wake; i++)
        c->wake(c->edge, cookies[i]);
}

void fake_core_send(struct fake_core *c, const char *id, int n, size_t bytes)
{
    each_stream(c, id, n, bytes, false);
}

void fake_core_hold(struct fake_core *c, int from)
{
    atomic_store(&c->held_from, from);
}

void fake_core_bye(struct fake_core *c, const char *id)
{
    each_stream(c, id, 0, 0, true);
}

struct fake_core *fake_core_new(int max_sessions)
{
    struct fake_core *c = calloc(1, sizeof *c);

    if (!c)
        abort();
    pthread_mutex_init(&c->lock, NULL);
    c->max_sessions = max_sessions;
    c->rows = calloc((size_t)max_sessions, sizeof *c->rows);
    c->message = calloc(1, MESSAGE_MAX);
    if (!c->rows || !c->message || later_start(&c->later, NULL))
        abort();
    c->message[0] = DELTA_PUT;
    return c;
}

void fake_core_free(struct fake_core **c)
{
    later_close(&(*c)->later);
    pthread_mutex_destroy(&(*c)->lock);
    free((*c)->rows);
    free((*c)->message);
    free(*c);
    *c = NULL;
}

struct core *fake_core_core(struct fake_core *c)
{
    return (struct core *)(void *)c;
}

void fake_core_set_wake(struct fake_core *c, void (*wake)(void *edge, void *cookie), void *edge)
{
    c->wake = wake;
    c->edge = edge;
}

void fake_core_set_health(struct fake_core *c, enum api_health h)
{
    c->health = h;
}

struct fake_core_counts fake_core_counts(struct fake_core *c)
{
    struct fake_core_counts counts;

    pthread_mutex_lock(&c->lock);
    counts = c->counts;
    pthread_mutex_unlock(&c->lock);
    return counts;
}

const struct core_ops *fake_core_ops(void)
{
    static const struct core_ops ops = {
        .session_create = session_create,
        .session_get = session_get,
        .session_list = session_list,
        .session_close = session_close,
        .session_refine = session_refine,
        .session_kick = session_kick,
        .session_delete = session_delete,
        .tokens_keep = tokens_keep,
        .tokens_each = tokens_each,
        .export_open = export_open,
        .export_read = export_read,
        .export_close = export_close,
        .submaps = submaps,
        .recognised = fake_objects_recognised,
        .submap_place = submap_place,
        .trajectory = trajectory,
        .depth = depth,
        FAKE_HOST_OPS,
        .health = health,
        .stream_expect = stream_expect,
        .stream_open = stream_open,
        .stream_start = stream_start,
        .stream_frame = stream_frame,
        .stream_ahead_us = stream_ahead_us,
        .stream_control = stream_control,
        .stream_next = stream_next,
        .stream_close = stream_close,
    };
    return &ops;
}
