#include "proto/wire/control_internal.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char *const states[] = {"new", "seen", "lost", NULL};

const char *control_object_state_name(enum control_object_state s)
{
    return states[s];
}

static void parse_one(const struct json_at *at, struct control_object *o)
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
    json_get_choice(at, "state", &state, states);
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
        parse_one(&item, &objects->at[i]);
    }
    objects->n = (int)n;
}

/* Rounds to a ten-thousandth, of a metre or of one; zero has no sign. */
static float rounded(float v)
{
    return roundf(v * 1e4f) / 1e4f + 0.0f;
}

void control_object_write(struct json_writer *w, const struct control_object *o)
{
    json_put_u64(w, "id", o->id);
    json_put_text(w, "object", o->object);
    if (o->class_name[0])
        json_put_text(w, "class", o->class_name);
    json_put_text(w, "state", states[o->state]);
    json_put_u64(w, "submap", o->submap);
    control_pose_write(w, "pose", o->pose);
    json_open_list(w, "box");
    for (int i = 0; i < 6; i++)
        json_put_f32(w, NULL, rounded(o->box[i]));
    json_close(w);
    json_put_f32(w, "score", rounded(o->score));
    json_put_f32(w, "support", rounded(o->support));
    json_put_u64(w, "seq", o->seq);
    json_put_u64(w, "revision", o->revision);
}
