#include "proto/wire/control.h"

#include "proto/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONTROL_DEPTH_MAX 8

static const char *const op_names[] = {"start", "need",  "end", "ready", "ack",
                                       "sync",  "error", "bye", NULL};
static const char *const role_names[] = {"ingest", "view", NULL};
static const char *const pose_names[] = {"opengl", "cv", NULL}; /* enum frame_pose_convention */
static const char *const status_names[] = {"used", "dropped", "refused", NULL};
static const char *const action_names[] = {"resume", "reconnect", "disconnect", NULL};
static const char *const reason_names[] = {
    "",          "duplicate",    "no_motion", "overload",  "bad_pose",
    "bad_frame", "decode_error", "tracking",  "no_camera", "closed",
    "memory",    "fault",        "storage",   "poison",    NULL};

const char *control_reason_name(enum control_reason r)
{
    return (unsigned)r <= CONTROL_POISON ? reason_names[r] : "";
}

/* ------------------------------------------------------------------------------- parsing */

static bool get_u32(const struct json_at *at, const char *key, uint32_t *out)
{
    uint64_t v;

    if (!json_get_u64(at, key, &v, 0, UINT32_MAX))
        return false;
    *out = (uint32_t)v;
    return true;
}

/* Reads a list of codec names. Unknown names are skipped: a later version may add some. */
static void get_codecs(const struct json_at *at, uint32_t *mask)
{
    const struct json *list = json_member(at->map, "codecs");
    enum codec_kind codec;

    if (list && json_kind(list) != JSON_KIND_LIST) {
        json_note(at, "codecs", "must be a list of codec names");
        return;
    }
    for (size_t i = 0; i < json_count(list); i++) {
        const struct json *item = json_item(list, i);
        if (json_kind(item) != JSON_KIND_TEXT) {
            json_note(at, "codecs", "must be a list of codec names");
            return;
        }
        if (codec_parse(json_text(item), &codec, NULL) == 0)
            *mask |= 1u << codec;
    }
    if (list && *mask == 0)
        json_note(at, "codecs", "names none of \"raw\", \"deflate-raw\", \"zstd\"");
}

static void parse_start(const struct json_at *at, struct control_start *start)
{
    struct json_at resume;
    int role = 0, pose = FRAME_POSE_OPENGL;

    json_require(at, "role");
    json_require(at, "codecs");
    json_get_choice(at, "role", &role, role_names);
    json_get_choice(at, "pose", &pose, pose_names);
    get_codecs(at, &start->codecs);
    start->role = (enum control_role)role;
    start->pose = (enum frame_pose_convention)pose;
    if (json_get_map(at, "resume", &resume)) {
        json_require(&resume, "epoch");
        json_require(&resume, "revision");
        get_u32(&resume, "epoch", &start->epoch);
        json_get_u64(&resume, "revision", &start->revision, 0, INT64_MAX);
        start->resume = true;
    }
}

static void parse_need(const struct json_at *at, struct cloud_name *need)
{
    static const char *const keys[] = {"submap", "x", "y", "z"};

    for (int i = 0; i < 4; i++)
        json_require(at, keys[i]);
    get_u32(at, "submap", &need->submap);
    json_get_int(at, "x", &need->x, INT32_MIN, INT32_MAX);
    json_get_int(at, "y", &need->y, INT32_MIN, INT32_MAX);
    json_get_int(at, "z", &need->z, INT32_MIN, INT32_MAX);
}

static void parse_ready(const struct json_at *at, struct control_ready *ready)
{
    static const char *const keys[] = {"session", "epoch",  "revision",        "codec",
                                       "step_m",  "window", "max_frame_bytes", "net"};
    const struct json *net = json_member(at->map, "net");
    char codec[16] = "";

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        json_require(at, keys[i]);
    json_get_text(at, "session", ready->session, sizeof ready->session);
    get_u32(at, "epoch", &ready->epoch);
    json_get_u64(at, "revision", &ready->revision, 0, INT64_MAX);
    if (json_get_text(at, "codec", codec, sizeof codec) && codec_parse(codec, &ready->codec, NULL))
        json_note(at, "codec", "is not a known codec");
    json_get_f32(at, "step_m", &ready->step_m, 1e-6, 1e3);
    get_u32(at, "window", &ready->window);
    get_u32(at, "max_frame_bytes", &ready->max_frame_bytes);
    for (size_t i = 0; i < 2; i++) {
        int64_t side = json_i64(json_item(net, i));
        if (json_count(net) != 2 || side < 0 || side > FRAME_SIDE_MAX) {
            json_note(at, "net", "must be two sides of 0 to %d pixels", FRAME_SIDE_MAX);
            break;
        }
        *(i ? &ready->net_h : &ready->net_w) = (int)side;
    }
}

static void parse_ack(const struct json_at *at, struct control_ack *ack)
{
    int status = 0, reason = CONTROL_REASON_NONE;

    json_require(at, "seq");
    json_require(at, "status");
    json_get_u64(at, "seq", &ack->seq, 0, INT64_MAX);
    json_get_choice(at, "status", &status, status_names);
    json_get_choice(at, "reason", &reason, reason_names);
    json_get_bool(at, "keyframe", &ack->keyframe);
    ack->status = (enum control_status)status;
    ack->reason = (enum control_reason)reason;
}

static void parse_sync(const struct json_at *at, struct control_sync *sync)
{
    char hash[20] = "";

    json_require(at, "revision");
    json_require(at, "points");
    json_require(at, "hash");
    json_get_u64(at, "revision", &sync->revision, 0, INT64_MAX);
    json_get_u64(at, "points", &sync->points, 0, INT64_MAX);
    json_get_bool(at, "ended", &sync->ended);
    if (json_get_text(at, "hash", hash, sizeof hash)) {
        if (strlen(hash) != 16 || strspn(hash, "0123456789abcdef") != 16)
            json_note(at, "hash", "must be 16 hex digits");
        else
            sync->hash = strtoull(hash, NULL, 16);
    }
}

static void parse_error(const struct json_at *at, struct control_error *error)
{
    json_require(at, "status");
    json_get_int(at, "status", &error->status, 100, 599);
    json_get_text(at, "title", error->title, sizeof error->title);
    json_get_text(at, "detail", error->detail, sizeof error->detail);
    json_get_text(at, "pointer", error->pointer, sizeof error->pointer);
}

static void parse_bye(const struct json_at *at, struct control_bye *bye)
{
    int action = 0;

    json_require(at, "action");
    json_get_choice(at, "action", &action, action_names);
    get_u32(at, "retry_ms", &bye->retry_ms);
    json_get_text(at, "reason", bye->reason, sizeof bye->reason);
    bye->action = (enum control_action)action;
}

int control_parse(struct control_message *m, const char *text, size_t len, struct err *err)
{
    struct control_message got = {.op = CONTROL_END};
    struct json_issues issues = {0};
    struct json *doc = NULL;
    struct json_at at;
    int op = -1, rc;

    if (len > CONTROL_TEXT_MAX)
        return err_set(err, ERR_LIMIT, "%zu bytes, a control message has at most %d", len,
                       CONTROL_TEXT_MAX);
    rc = json_parse(&doc, text, len, CONTROL_DEPTH_MAX, err);
    if (rc)
        return rc;
    at = json_at(doc, &issues);
    json_require(&at, "op");
    if (json_get_choice(&at, "op", &op, op_names)) {
        got.op = (enum control_op)op;
        switch (got.op) {
        case CONTROL_START:
            parse_start(&at, &got.start);
            break;
        case CONTROL_NEED:
            parse_need(&at, &got.need);
            break;
        case CONTROL_END:
            break;
        case CONTROL_READY:
            parse_ready(&at, &got.ready);
            break;
        case CONTROL_ACK:
            parse_ack(&at, &got.ack);
            break;
        case CONTROL_SYNC:
            parse_sync(&at, &got.sync);
            break;
        case CONTROL_ERROR:
            parse_error(&at, &got.error);
            break;
        case CONTROL_BYE:
            parse_bye(&at, &got.bye);
            break;
        }
    }
    rc = json_issues_err(&issues, err);
    if (rc == 0)
        *m = got;
    json_free(&doc);
    return rc;
}

/* ------------------------------------------------------------------------------- writing */

static void write_start(struct json_writer *w, const struct control_start *start)
{
    json_put_text(w, "role", role_names[start->role]);
    json_open_list(w, "codecs");
    for (int c = CODEC_KINDS - 1; c >= 0; c--) /* the best first */
        if (start->codecs & (1u << c))
            json_put_text(w, NULL, codec_name((enum codec_kind)c));
    json_close(w);
    json_put_text(w, "pose", pose_names[start->pose]);
    if (start->resume) {
        json_open_map(w, "resume");
        json_put_u64(w, "epoch", start->epoch);
        json_put_u64(w, "revision", start->revision);
        json_close(w);
    }
}

static void write_need(struct json_writer *w, const struct cloud_name *need)
{
    json_put_u64(w, "submap", need->submap);
    json_put_i64(w, "x", need->x);
    json_put_i64(w, "y", need->y);
    json_put_i64(w, "z", need->z);
}

static void write_ready(struct json_writer *w, const struct control_ready *ready)
{
    json_put_text(w, "session", ready->session);
    json_put_u64(w, "epoch", ready->epoch);
    json_put_u64(w, "revision", ready->revision);
    json_put_text(w, "codec", codec_name(ready->codec));
    json_put_f32(w, "step_m", ready->step_m);
    json_put_u64(w, "window", ready->window);
    json_put_u64(w, "max_frame_bytes", ready->max_frame_bytes);
    json_open_list(w, "net");
    json_put_i64(w, NULL, ready->net_w);
    json_put_i64(w, NULL, ready->net_h);
    json_close(w);
}

static void write_ack(struct json_writer *w, const struct control_ack *ack)
{
    json_put_u64(w, "seq", ack->seq);
    json_put_text(w, "status", status_names[ack->status]);
    if (ack->reason != CONTROL_REASON_NONE)
        json_put_text(w, "reason", control_reason_name(ack->reason));
    if (ack->keyframe)
        json_put_bool(w, "keyframe", true);
}

static void write_sync(struct json_writer *w, const struct control_sync *sync)
{
    json_put_u64(w, "revision", sync->revision);
    json_put_u64(w, "points", sync->points);
    json_put_hex64(w, "hash", sync->hash);
    if (sync->ended)
        json_put_bool(w, "ended", true);
}

static void write_error(struct json_writer *w, const struct control_error *error)
{
    json_put_i64(w, "status", error->status);
    json_put_text(w, "title", error->title);
    json_put_text(w, "detail", error->detail);
    if (error->pointer[0])
        json_put_text(w, "pointer", error->pointer);
}

static void write_bye(struct json_writer *w, const struct control_bye *bye)
{
    json_put_text(w, "action", action_names[bye->action]);
    json_put_u64(w, "retry_ms", bye->retry_ms);
    json_put_text(w, "reason", bye->reason);
}

size_t control_write(char *buf, size_t cap, const struct control_message *m)
{
    struct json_writer w = json_writer(buf, cap);

    json_open_map(&w, NULL);
    json_put_text(&w, "op", op_names[m->op]);
    switch (m->op) {
    case CONTROL_START:
        write_start(&w, &m->start);
        break;
    case CONTROL_NEED:
        write_need(&w, &m->need);
        break;
    case CONTROL_END:
        break;
    case CONTROL_READY:
        write_ready(&w, &m->ready);
        break;
    case CONTROL_ACK:
        write_ack(&w, &m->ack);
        break;
    case CONTROL_SYNC:
        write_sync(&w, &m->sync);
        break;
    case CONTROL_ERROR:
        write_error(&w, &m->error);
        break;
    case CONTROL_BYE:
        write_bye(&w, &m->bye);
        break;
    }
    json_close(&w);
    return json_finish(&w);
}
