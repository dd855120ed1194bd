#include "proto/wire/control_answer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Written precision of a pose: a millionth of a quaternion, a tenth of a millimetre. More digits
 * would cost bytes and say nothing. */
#define QUATERNION_STEP 1e-6
#define SHIFT_STEP 1e-4
#define COORD_MAX 1e7 /* metres; bound of a server's poses */

static const char *const status_names[] = {"used", "dropped", "refused", "later", NULL};
static const char *const reason_names[] = {
    "",         "duplicate", "no_motion",   "overload", "bad_pose", "bad_frame", "decode_error",
    "tracking", "no_camera", "closed",      "memory",   "fault",    "storage",   "poison",
    "ended",    "shutdown",  "unsupported", "pace",     "worlds",   NULL};

const char *control_reason_name(enum control_reason r)
{
    return (unsigned)r < CONTROL_REASONS ? reason_names[r] : "";
}

void control_pose_swap_axes(float pose[7])
{
    const float x = pose[0], y = pose[1], z = pose[2], w = pose[3];

    /* q times half a rotation about x, the quaternion (1, 0, 0, 0) */
    pose[0] = w;
    pose[1] = z;
    pose[2] = 0.0f - y; /* no -0 */
    pose[3] = 0.0f - x;
    for (int i = 0; i < 4 && x > 0; i++)
        pose[i] = 0.0f - pose[i];
}

bool control_is_one_of(const char *word, const char *const *names)
{
    while (*names && strcmp(*names, word) != 0)
        names++;
    return *names != NULL;
}

void control_pace_read(const struct json_at *at, float *rate, uint8_t *jpeg)
{
    int quality = 0;

    json_get_f32(at, "rate", rate, 0, 1e6);
    json_get_int(at, "jpeg", &quality, 0, 100);
    *jpeg = (uint8_t)quality;
}

void control_pace_write(struct json_writer *w, float rate, uint8_t jpeg)
{
    if (rate > 0)
        json_put_f32(w, "rate", roundf(rate * 100) / 100);
    if (jpeg)
        json_put_u64(w, "jpeg", jpeg);
}

static bool is_number(const struct json *item)
{
    return json_kind(item) == JSON_KIND_REAL || json_kind(item) == JSON_KIND_INTEGER;
}

bool control_pose_read(const struct json *list, float pose[7])
{
    if (json_kind(list) != JSON_KIND_LIST || json_count(list) != 7)
        return false;
    for (size_t i = 0; i < 7; i++) {
        const struct json *item = json_item(list, i);

        if (!is_number(item) || !(fabs(json_f64(item)) <= (i < 4 ? 1.01 : COORD_MAX)))
            return false;
        pose[i] = (float)json_f64(item);
    }
    return true;
}

void control_pose_write(struct json_writer *w, const char *key, const float pose[7])
{
    json_open_list(w, key);
    for (int i = 0; i < 7; i++) {
        const double step = i < 4 ? QUATERNION_STEP : SHIFT_STEP;

        json_put_f32(w, NULL, (float)(round((double)pose[i] / step) * step) + 0.0f);
    }
    json_close(w);
}

/* A scale is written in thousandths, and is at least one. */
#define SCALE_STEPS 1e3f
#define SCALE_MIN 1e-3
#define SCALE_MAX 1e3f
#define SIGMA_MAX 10.0f

/* The members scale and sigma come together, or not at all. */
static void parse_scale(const struct json_at *at, struct control_ack *ack)
{
    if (!json_member(at->map, "scale"))
        return;
    json_require(at, "sigma");
    json_get_f32(at, "scale", &ack->scale, SCALE_MIN, SCALE_MAX);
    json_get_f32(at, "sigma", &ack->sigma, SCALE_MIN, SIGMA_MAX);
}

static float scale_rounded(float v, float most)
{
    return fminf(fmaxf(roundf(v * SCALE_STEPS), 1) / SCALE_STEPS, most);
}

/* The members revision, submap, pose and quality come together, or not at all. */
static void parse_place(const struct json_at *at, struct control_ack *ack)
{
    uint64_t submap = 0;

    if (!json_member(at->map, "pose"))
        return;
    json_require(at, "revision");
    json_require(at, "submap");
    json_require(at, "quality");
    json_get_u64(at, "revision", &ack->revision, 0, INT64_MAX);
    json_get_u64(at, "submap", &submap, 0, UINT32_MAX);
    json_get_f32(at, "quality", &ack->quality, 0, 1);
    if (!control_pose_read(json_member(at->map, "pose"), ack->pose))
        json_note(at, "pose", "must be a unit quaternion x y z w and a position");
    parse_scale(at, ack);
    ack->submap = (uint32_t)submap;
    ack->placed = true;
}

void control_ack_parse(const struct json_at *at, struct control_ack *ack)
{
    int status = 0, reason = CONTROL_REASON_NONE;
    uint64_t retry_ms = 0;
    char detail[32] = "";

    json_require(at, "seq");
    json_require(at, "status");
    json_get_u64(at, "seq", &ack->seq, 0, INT64_MAX);
    json_get_choice(at, "status", &status, status_names);
    if (control_is_one_of(json_text(json_member(at->map, "reason")), reason_names))
        /* a later version may send other reasons */
        json_get_choice(at, "reason", &reason, reason_names);
    json_get_bool(at, "again", &ack->again);
    json_get_bool(at, "keyframe", &ack->keyframe);
    json_get_bool(at, "lost", &ack->lost);
    json_get_u64(at, "server_us", &ack->server_us, 0, (UINT64_C(1) << 53) - 1);
    if (json_member(at->map, "detail") && json_get_text(at, "detail", detail, sizeof detail))
        if (sscanf(detail, "bit %2" SCNu8, &ack->bit) != 1)
            (void)sscanf(detail, "part %3" SCNu8, &ack->part);
    ack->bit = ack->bit < 32 ? ack->bit : 0;
    ack->status = (enum control_status)status;
    ack->reason = (enum control_reason)reason;
    if (json_get_u64(at, "retry_ms", &retry_ms, 0, UINT32_MAX))
        ack->retry_ms = (uint32_t)retry_ms;
    control_pace_read(at, &ack->rate, &ack->jpeg);
    parse_place(at, ack);
}

void control_ack_write(struct json_writer *w, const struct control_ack *ack)
{
    json_put_u64(w, "seq", ack->seq);
    json_put_text(w, "status", status_names[ack->status]);
    if (ack->reason != CONTROL_REASON_NONE)
        json_put_text(w, "reason", control_reason_name(ack->reason));
    if (ack->bit || ack->part) {
        char detail[12];
        if (ack->bit)
            snprintf(detail, sizeof detail, "bit %u", ack->bit & 31u);
        else
            snprintf(detail, sizeof detail, "part %u", ack->part);
        json_put_text(w, "detail", detail);
    }
    if (ack->again)
        json_put_bool(w, "again", true);
    if (ack->keyframe)
        json_put_bool(w, "keyframe", true);
    if (ack->lost)
        json_put_bool(w, "lost", true);
    if (ack->placed) {
        json_put_u64(w, "revision", ack->revision);
        json_put_u64(w, "submap", ack->submap);
        control_pose_write(w, "pose", ack->pose);
        json_put_f32(w, "quality", roundf(ack->quality * 100) / 100);
        if (ack->sigma > 0) {
            json_put_f32(w, "scale", scale_rounded(ack->scale, SCALE_MAX));
            json_put_f32(w, "sigma", scale_rounded(ack->sigma, SIGMA_MAX));
        }
    }
    if (ack->server_us)
        json_put_u64(w, "server_us", ack->server_us);
    if (ack->retry_ms)
        json_put_u64(w, "retry_ms", ack->retry_ms);
    control_pace_write(w, ack->rate, ack->jpeg);
}

/* ------------------------------------------------------------------------- poses */

void control_poses_parse(const struct json_at *at, struct control_poses *poses)
{
    const struct json *seqs = json_member(at->map, "seqs"), *list = json_member(at->map, "poses");
    size_t n = json_count(seqs);

    json_require(at, "revision");
    json_get_u64(at, "revision", &poses->revision, 0, INT64_MAX);
    if (json_kind(seqs) != JSON_KIND_LIST || n == 0 || n > CONTROL_POSES_MAX) {
        json_note(at, "seqs", "must be a list of 1 to %d numbers", CONTROL_POSES_MAX);
        return;
    }
    if (json_kind(list) != JSON_KIND_LIST || json_count(list) != n) {
        json_note(at, "poses", "must be a list as long as seqs");
        return;
    }
    for (size_t i = 0; i < n; i++) {
        int64_t seq = json_i64(json_item(seqs, i));

        if (json_kind(json_item(seqs, i)) != JSON_KIND_INTEGER || seq < 0)
            json_note(at, "seqs", "must be numbers of frames");
        if (!control_pose_read(json_item(list, i), poses->pose[i]))
            json_note(at, "poses", "must be unit quaternions x y z w and positions");
        poses->seq[i] = (uint64_t)seq;
    }
    poses->n = (int)n;
}

void control_poses_write(struct json_writer *w, const struct control_poses *poses)
{
    json_put_u64(w, "revision", poses->revision);
    json_open_list(w, "seqs");
    for (int i = 0; i < poses->n; i++)
        json_put_u64(w, NULL, poses->seq[i]);
    json_close(w);
    json_open_list(w, "poses");
    for (int i = 0; i < poses->n; i++)
        control_pose_write(w, NULL, poses->pose[i]);
    json_close(w);
}

/* ------------------------------------------------------------------------- objects */

static const char *const state_names[] = {"new", "seen", "lost", NULL};

const char *control_object_state_name(enum control_object_state s)
{
    return state_names[s];
}

static void parse_object(const struct json_at *at, struct control_object *o)
{
    static const char *const required[] = {"id",  "object", "state",   "submap", "pose",
                                           "box", "score",  "support", "seq",    "revision"};
    uint64_t v = 0;
    int state = 0;

    for (size_t i = 0; i < sizeof required / sizeof *required; i++)
        json_require(at, required[i]);
    if (json_get_u64(at, "id", &v, 1, UINT32_MAX))
        o->id = (uint32_t)v;
    json_get_text(at, "object", o->object, sizeof o->object);
    json_get_text(at, "class", o->class_name, sizeof o->class_name);
    json_get_choice(at, "state", &state, state_names);
    o->state = (enum control_object_state)state;
    if (json_get_u64(at, "submap", &v, 0, UINT32_MAX))
        o->submap = (uint32_t)v;
    if (!control_pose_read(json_member(at->map, "pose"), o->pose))
        json_note(at, "pose", "must be a unit quaternion x y z w and a position");
    json_get_f32s(at, "box", o->box, 6, 1e6);
    json_get_f32(at, "score", &o->score, 0, 1);
    json_get_f32(at, "support", &o->support, 0, 1);
    json_get_u64(at, "seq", &o->seq, 0, INT64_MAX);
    json_get_u64(at, "revision", &o->revision, 0, INT64_MAX);
}

void control_objects_parse(const struct json_at *at, struct control_objects *objects)
{
    const struct json *list = json_member(at->map, "objects");
    size_t n = json_count(list);

    if (json_kind(list) != JSON_KIND_LIST || n == 0 || n > CONTROL_OBJECTS_MAX) {
        json_note(at, "objects", "must be a list of 1 to %d maps", CONTROL_OBJECTS_MAX);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        struct json_at item = {.map = json_item(list, i), .issues = at->issues};

        if (json_kind(item.map) != JSON_KIND_MAP) {
            json_note(at, "objects", "must be a list of 1 to %d maps", CONTROL_OBJECTS_MAX);
            return;
        }
        snprintf(item.pointer, sizeof item.pointer, "/objects/%zu", i);
        parse_object(&item, &objects->at[i]);
    }
    objects->n = (int)n;
}

/* Rounds to a ten-thousandth, of a metre or of one; zero has no sign. */
static float tenthousandths(float v)
{
    return roundf(v * 1e4f) / 1e4f + 0.0f;
}

void control_object_write(struct json_writer *w, const struct control_object *o)
{
    json_put_u64(w, "id", o->id);
    json_put_text(w, "object", o->object);
    if (o->class_name[0])
        json_put_text(w, "class", o->class_name);
    json_put_text(w, "state", state_names[o->state]);
    json_put_u64(w, "submap", o->submap);
    control_pose_write(w, "pose", o->pose);
    json_open_list(w, "box");
    for (int i = 0; i < 6; i++)
        json_put_f32(w, NULL, tenthousandths(o->box[i]));
    json_close(w);
    json_put_f32(w, "score", tenthousandths(o->score));
    json_put_f32(w, "support", tenthousandths(o->support));
    json_put_u64(w, "seq", o->seq);
    json_put_u64(w, "revision", o->revision);
}
