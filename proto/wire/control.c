#include "proto/wire/control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONTROL_DEPTH_MAX 8

static const char *const op_names[] = {"start", "end",    "ping",   "ready",   "ack",
                                       "sync",  "ended",  "closed", "pong",    "error",
                                       "bye",   "camera", "poses",  "objects", NULL};
static const char *const role_names[] = {"ingest", "view", NULL};
/* words of enum frame_pose_convention */
static const char *const pose_names[] = {"opengl", "cv", NULL};
static const char *const action_names[] = {"resume", "reconnect", "disconnect", NULL};
static const char *const feature_names[CONTROL_FEATURES] = {
    "parts", "depth_out", "pace", "depth_in", "sources", "poses", "worlds", "lenses", "order"};

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
        json_note(at, "codecs", "names none of \"raw\", \"deflate-raw\"");
}

/* Reads a list of words. Unknown words are skipped. */
static void get_features(const struct json_at *at, uint32_t *mask)
{
    const struct json *list = json_member(at->map, "features");

    if (list && json_kind(list) != JSON_KIND_LIST) {
        json_note(at, "features", "must be a list of words");
        return;
    }
    for (size_t i = 0; i < json_count(list); i++) {
        const struct json *item = json_item(list, i);
        if (json_kind(item) != JSON_KIND_TEXT) {
            json_note(at, "features", "must be a list of words");
            return;
        }
        for (int k = 0; k < CONTROL_FEATURES; k++)
            if (strcmp(json_text(item), feature_names[k]) == 0)
                *mask |= 1u << k;
    }
}

/* Reads `true`, or the distance from one frame to the next. */
static void get_depth(const struct json_at *at, uint32_t *every)
{
    struct json_at how;
    bool all = false;
    uint32_t n = 1;

    if (json_kind(json_member(at->map, "depth")) != JSON_KIND_MAP) {
        json_get_bool(at, "depth", &all);
        *every = all;
        return;
    }
    json_get_map(at, "depth", &how);
    if (json_member(how.map, "every") && get_u32(&how, "every", &n) && n == 0)
        json_note(&how, "every", "must be at least 1");
    *every = n;
}

bool control_source_valid(const char *name)
{
    size_t len = strlen(name);

    return len > 0 && len < CONTROL_SOURCE_CAP &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == len;
}

static void get_source(const struct json_at *at, char source[CONTROL_SOURCE_CAP])
{
    snprintf(source, CONTROL_SOURCE_CAP, "%s", CONTROL_SOURCE_MAIN);
    if (json_member(at->map, "source") && json_get_text(at, "source", source, CONTROL_SOURCE_CAP) &&
        !control_source_valid(source))
        json_note(at, "source", "must be 1 to %d of a-z, 0-9 and -", CONTROL_SOURCE_CAP - 1);
}

bool control_reaches(const struct control_reach *r, uint64_t revision,
                     const struct cloud_name *name)
{
    return revision < r->revision ||
           (revision == r->revision && (!r->part || key_compare_names(name, &r->block) <= 0));
}

/* Reads the name of a block: submap, x, y, z. */
static void get_block(const struct json_at *at, struct control_reach *reach)
{
    const struct json *list = json_member(at->map, "block");
    int64_t v[4];
    bool good = json_count(list) == 4;

    if (!list)
        return;
    for (size_t i = 0; i < 4 && good; i++) {
        const struct json *item = json_item(list, i);

        v[i] = json_i64(item);
        good = json_kind(item) == JSON_KIND_INTEGER && v[i] >= (i ? KEY_BLOCK_MIN : 0) &&
               v[i] <= (i ? KEY_BLOCK_MAX : UINT32_MAX);
    }
    if (!good) {
        json_note(at, "block", "must be a submap and x, y, z of one of its blocks");
        return;
    }
    reach->part = true;
    reach->block = (struct cloud_name){(uint32_t)v[0], (int32_t)v[1], (int32_t)v[2], (int32_t)v[3]};
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
    get_features(at, &start->features);
    get_depth(at, &start->depth_every);
    get_source(at, start->source);
    start->role = (enum control_role)role;
    start->pose = (enum frame_pose_convention)pose;
    if (json_get_map(at, "resume", &resume)) {
        json_require(&resume, "epoch");
        json_require(&resume, "revision");
        get_u32(&resume, "epoch", &start->epoch);
        json_get_u64(&resume, "revision", &start->reach.revision, 0, INT64_MAX);
        get_block(&resume, &start->reach);
        start->resume = true;
    }
}

static void get_limits(const struct json_at *at, struct control_ready *ready)
{
    struct json_at limits;

    json_require(at, "limits");
    if (!json_get_map(at, "limits", &limits))
        return;
    json_require(&limits, "window");
    json_require(&limits, "max_frame_bytes");
    get_u32(&limits, "window", &ready->window);
    get_u32(&limits, "max_frame_bytes", &ready->max_frame_bytes);
    get_u32(&limits, "message_s", &ready->message_s);
    get_u32(&limits, "cameras", &ready->cameras);
    get_u32(&limits, "rate", &ready->quota_rate);
}

static void parse_ready(const struct json_at *at, struct control_ready *ready)
{
    static const char *const keys[] = {"session", "epoch", "revision", "codec", "step_m", "net"};
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
    get_limits(at, ready);
    json_get_bool(at, "resumed", &ready->resumed);
    ready->any_seq = json_get_u64(at, "last_seq", &ready->last_seq, 0, INT64_MAX);
    for (size_t i = 0; i < 2; i++) {
        int64_t side = json_i64(json_item(net, i));
        if (json_count(net) != 2 || side < 0 || side > FRAME_SIDE_MAX) {
            json_note(at, "net", "must be two sides of 0 to %d pixels", FRAME_SIDE_MAX);
            break;
        }
        *(i ? &ready->net_h : &ready->net_w) = (int)side;
    }
    control_pace_read(at, &ready->rate, &ready->jpeg);
    get_features(at, &ready->features);
}

static void parse_sync(const struct json_at *at, struct control_sync *sync)
{
    char hash[20] = "";

    json_require(at, "revision");
    json_require(at, "points");
    json_require(at, "hash");
    json_get_u64(at, "revision", &sync->revision, 0, INT64_MAX);
    json_get_u64(at, "points", &sync->points, 0, INT64_MAX);
    if (json_get_text(at, "hash", hash, sizeof hash)) {
        if (strlen(hash) != 16 || strspn(hash, "0123456789abcdef") != 16)
            json_note(at, "hash", "must be 16 hex digits");
        else
            sync->hash = strtoull(hash, NULL, 16);
    }
}

static void parse_ended(const struct json_at *at, struct control_ended *ended)
{
    json_require(at, "revision");
    json_get_u64(at, "revision", &ended->revision, 0, INT64_MAX);
}

static void parse_pong(const struct json_at *at, struct control_pong *pong, bool answer)
{
    json_require(at, "t");
    json_get_u64(at, "t", &pong->t, 0, (UINT64_C(1) << 53) - 1);
    if (!answer)
        return;
    json_require(at, "server_us");
    json_get_u64(at, "server_us", &pong->server_us, 0, (UINT64_C(1) << 53) - 1);
}

static void parse_error(const struct json_at *at, struct control_error *error)
{
    json_require(at, "type");
    json_require(at, "status");
    json_get_text(at, "type", error->type, sizeof error->type);
    get_u32(at, "retry_ms", &error->retry_ms);
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

/* Tells whether this is a well-formed message of another version, with an op that this build does
 * not know. */
static bool is_new_op(const struct json_at *at)
{
    const struct json *op = json_member(at->map, "op");

    return json_kind(op) == JSON_KIND_TEXT && !control_is_one_of(json_text(op), op_names);
}

static void parse_members(const struct json_at *at, struct control_message *m)
{
    switch (m->op) {
    case CONTROL_START:
        parse_start(at, &m->start);
        break;
    case CONTROL_END:
        break;
    case CONTROL_PING:
    case CONTROL_PONG:
        parse_pong(at, &m->pong, m->op == CONTROL_PONG);
        break;
    case CONTROL_READY:
        parse_ready(at, &m->ready);
        break;
    case CONTROL_ACK:
        control_ack_parse(at, &m->ack);
        break;
    case CONTROL_POSES:
        control_poses_parse(at, &m->poses);
        break;
    case CONTROL_OBJECTS:
        control_objects_parse(at, &m->objects);
        break;
    case CONTROL_SYNC:
        parse_sync(at, &m->sync);
        break;
    case CONTROL_ENDED:
    case CONTROL_SESSION_CLOSED:
        parse_ended(at, &m->ended);
        break;
    case CONTROL_ERROR:
        parse_error(at, &m->error);
        break;
    case CONTROL_BYE:
        parse_bye(at, &m->bye);
        break;
    case CONTROL_CAMERA:
        cameras_parse(at, &m->camera);
        break;
    }
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
    if (is_new_op(&at)) {
        json_free(&doc);
        return err_at(err, ERR_UNSUPPORTED, "/op", "is none that is known here");
    }
    json_require(&at, "op");
    if (json_get_choice(&at, "op", &op, op_names)) {
        got.op = (enum control_op)op;
        parse_members(&at, &got);
    }
    rc = json_issues_err(&issues, err);
    if (rc == 0)
        *m = got;
    json_free(&doc);
    return rc;
}

/* ------------------------------------------------------------------------------- writing */

static void write_features(struct json_writer *w, uint32_t features)
{
    json_open_list(w, "features");
    for (int k = 0; k < CONTROL_FEATURES; k++)
        if (features >> k & 1)
            json_put_text(w, NULL, feature_names[k]);
    json_close(w);
}

static void write_start(struct json_writer *w, const struct control_start *start)
{
    json_put_text(w, "role", role_names[start->role]);
    json_open_list(w, "codecs");
    for (int c = CODEC_WIRE_KINDS - 1; c >= 0; c--) /* the best codec first */
        if (start->codecs & (1u << c))
            json_put_text(w, NULL, codec_name((enum codec_kind)c));
    json_close(w);
    if (start->source[0] && strcmp(start->source, CONTROL_SOURCE_MAIN) != 0)
        json_put_text(w, "source", start->source);
    json_put_text(w, "pose", pose_names[start->pose]);
    if (start->features)
        write_features(w, start->features);
    if (start->depth_every == 1) {
        json_put_bool(w, "depth", true);
    } else if (start->depth_every) {
        json_open_map(w, "depth");
        json_put_u64(w, "every", start->depth_every);
        json_close(w);
    }
    if (start->resume) {
        json_open_map(w, "resume");
        json_put_u64(w, "epoch", start->epoch);
        json_put_u64(w, "revision", start->reach.revision);
        if (start->reach.part) {
            json_open_list(w, "block");
            json_put_u64(w, NULL, start->reach.block.submap);
            json_put_i64(w, NULL, start->reach.block.x);
            json_put_i64(w, NULL, start->reach.block.y);
            json_put_i64(w, NULL, start->reach.block.z);
            json_close(w);
        }
        json_close(w);
    }
}

static void write_ready(struct json_writer *w, const struct control_ready *ready)
{
    json_put_text(w, "session", ready->session);
    json_put_u64(w, "epoch", ready->epoch);
    json_put_u64(w, "revision", ready->revision);
    json_put_text(w, "codec", codec_name(ready->codec));
    json_put_f32(w, "step_m", ready->step_m);
    json_open_map(w, "limits");
    json_put_u64(w, "window", ready->window);
    json_put_u64(w, "max_frame_bytes", ready->max_frame_bytes);
    if (ready->message_s)
        json_put_u64(w, "message_s", ready->message_s);
    if (ready->cameras)
        json_put_u64(w, "cameras", ready->cameras);
    if (ready->quota_rate)
        json_put_u64(w, "rate", ready->quota_rate);
    json_close(w);
    json_open_list(w, "net");
    json_put_i64(w, NULL, ready->net_w);
    json_put_i64(w, NULL, ready->net_h);
    json_close(w);
    control_pace_write(w, ready->rate, ready->jpeg);
    if (ready->features)
        write_features(w, ready->features);
    if (ready->resumed)
        json_put_bool(w, "resumed", true);
    if (ready->any_seq)
        json_put_u64(w, "last_seq", ready->last_seq);
}

static void write_sync(struct json_writer *w, const struct control_sync *sync)
{
    json_put_u64(w, "revision", sync->revision);
    json_put_u64(w, "points", sync->points);
    json_put_hex64(w, "hash", sync->hash);
}

static void write_error(struct json_writer *w, const struct control_error *error)
{
    json_put_text(w, "type", error->type);
    json_put_i64(w, "status", error->status);
    json_put_text(w, "title", error->title);
    json_put_text(w, "detail", error->detail);
    if (error->pointer[0])
        json_put_text(w, "pointer", error->pointer);
    if (error->retry_ms)
        json_put_u64(w, "retry_ms", error->retry_ms);
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
    case CONTROL_END:
        break;
    case CONTROL_PING:
        json_put_u64(&w, "t", m->pong.t);
        break;
    case CONTROL_READY:
        write_ready(&w, &m->ready);
        break;
    case CONTROL_ACK:
        control_ack_write(&w, &m->ack);
        break;
    case CONTROL_POSES:
        control_poses_write(&w, &m->poses);
        break;
    case CONTROL_OBJECTS:
        json_open_list(&w, "objects");
        for (int i = 0; i < m->objects.n; i++) {
            json_open_map(&w, NULL);
            control_object_write(&w, &m->objects.at[i]);
            json_close(&w);
        }
        json_close(&w);
        break;
    case CONTROL_SYNC:
        write_sync(&w, &m->sync);
        break;
    case CONTROL_ENDED:
    case CONTROL_SESSION_CLOSED:
        json_put_u64(&w, "revision", m->ended.revision);
        break;
    case CONTROL_PONG:
        json_put_u64(&w, "t", m->pong.t);
        json_put_u64(&w, "server_us", m->pong.server_us);
        break;
    case CONTROL_ERROR:
        write_error(&w, &m->error);
        break;
    case CONTROL_BYE:
        write_bye(&w, &m->bye);
        break;
    case CONTROL_CAMERA:
        cameras_write(&w, &m->camera);
        break;
    }
    json_close(&w);
    return json_finish(&w);
}
