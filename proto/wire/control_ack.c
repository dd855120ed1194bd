/* Messages about frames: answers, corrected poses, tracked objects; and the fields that they
 * share. */
#include "proto/wire/control_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Written precision of a pose: a millionth of a quaternion, a tenth of a millimetre. More digits
 * would cost bytes and say nothing. */
#define TURN_STEP 1e-6
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
        const double step = i < 4 ? TURN_STEP : SHIFT_STEP;

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
