#include "daemon/session/tracked_objects.h"

#include "proto/geom/pose.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ENTRY_BYTES (2 * CONTROL_OBJECT_CAP + 4 * (3 + 7 + 6 + 2) + 16)

/* ------------------------------------------------------------------------- places */

static struct rigid pose_of(const struct control_object *o)
{
    struct rigid T;

    if (pose_from_numbers(&T, o->pose, TRACKED_OBJECTS_MAX_M, NULL))
        T = rigid_identity();
    return T;
}

static struct vec3 middle_of(const struct rigid *T_wo, const float box[6])
{
    return rigid_apply(T_wo, vec3_make(0.5f * (box[0] + box[3]), 0.5f * (box[1] + box[4]),
                                       0.5f * (box[2] + box[5])));
}

/* The largest distance between the centres of two detections of one object. */
static float reach_of(const float box[6])
{
    float half =
        0.5f * sqrtf(vec3_norm2(vec3_make(box[3] - box[0], box[4] - box[1], box[5] - box[2])));

    return half > TRACKED_OBJECTS_NEAR_M ? half : TRACKED_OBJECTS_NEAR_M;
}

static bool is_same_object(const struct control_object *o,
                           const struct tracked_objects_search *search,
                           const struct tracked_objects_detection *detection)
{
    return o->submap == search->submap && strcmp(o->object, detection->object) == 0;
}

/* Returns the tracked object nearest to the detection and not in `taken`; -1: none is near. */
static int find_nearest(const struct tracked_objects *s,
                        const struct tracked_objects_search *search,
                        const struct tracked_objects_detection *detection, uint64_t taken)
{
    struct vec3 here = middle_of(&detection->T_wo, detection->box);
    float least = reach_of(detection->box) * reach_of(detection->box);
    int found = -1;

    for (int i = 0; i < s->n; i++) {
        struct rigid T = pose_of(&s->at[i]);
        float d2 = vec3_norm2(vec3_sub(middle_of(&T, s->at[i].box), here));

        if (taken >> i & 1 || !is_same_object(&s->at[i], search, detection) || !(d2 < least))
            continue;
        least = d2;
        found = i;
    }
    return found;
}

/* ------------------------------------------------------------------------- changes */

static void history_add(struct tracked_objects *s, const struct control_object *o)
{
    s->history[s->n_history++ % TRACKED_OBJECTS_HISTORY] = *o;
}

static void entry_take(struct tracked_objects *s, int i, enum control_object_state state,
                       const struct tracked_objects_search *search,
                       const struct tracked_objects_detection *detection)
{
    struct control_object *o = &s->at[i];

    o->state = state;
    o->submap = search->submap;
    pose_numbers(o->pose, &detection->T_wo);
    memcpy(o->box, detection->box, sizeof o->box);
    o->score = detection->score;
    o->support = detection->support;
    o->seq = search->seq;
    o->revision = search->revision;
    s->misses[i] = 0;
}

/* Returns an entry for a new object: free, or that of the first lost one; -1: all are in use. */
static int entry_for_new(struct tracked_objects *s, uint64_t taken)
{
    int found = -1;

    if (s->n < TRACKED_OBJECTS_MAX)
        return s->n++;
    for (int i = 0; i < s->n; i++)
        if (!(taken >> i & 1) && s->at[i].state == CONTROL_OBJECT_LOST &&
            (found < 0 || s->at[i].id < s->at[found].id))
            found = i;
    return found;
}

/* Returns the one tracked object of the same name that is missing; -1: none is, or several are. */
static int find_missing(const struct tracked_objects *s,
                        const struct tracked_objects_search *search,
                        const struct tracked_objects_detection *detection, uint64_t taken,
                        uint64_t gone)
{
    int found = -1;

    for (int i = 0; i < s->n; i++) {
        if (taken >> i & 1 || !is_same_object(&s->at[i], search, detection) ||
            !(gone >> i & 1 || s->at[i].state == CONTROL_OBJECT_LOST))
            continue;
        if (found >= 0)
            return -1;
        found = i;
    }
    return found;
}

/* Counts detections of one object where none was tracked. */
static int count_new(const struct tracked_objects_search *search, const char *object, uint64_t old)
{
    int n = 0;

    for (int k = 0; k < search->n; k++)
        n += !(old >> k & 1) && strcmp(search->at[k].object, object) == 0;
    return n;
}

/* Adds a detection where no object was tracked. Returns the mask of its entry. */
static uint64_t entry_take_new(struct tracked_objects *s,
                               const struct tracked_objects_search *search, int k, uint64_t old,
                               uint64_t taken, uint64_t gone)
{
    const struct tracked_objects_detection *detection = &search->at[k];
    int i = count_new(search, detection->object, old) == 1
                ? find_missing(s, search, detection, taken, gone)
                : -1;

    if (i >= 0) {
        entry_take(s, i, CONTROL_OBJECT_SEEN, search, detection);
    } else {
        i = entry_for_new(s, taken);
        if (i < 0)
            return 0;
        s->at[i] = (struct control_object){.id = ++s->last_id};
        snprintf(s->at[i].object, CONTROL_OBJECT_CAP, "%s", detection->object);
        snprintf(s->at[i].class_name, CONTROL_OBJECT_CAP, "%s", detection->class_name);
        entry_take(s, i, CONTROL_OBJECT_NEW, search, detection);
    }
    history_add(s, &s->at[i]);
    return 1ull << i;
}

/* Updates objects that the picture shows at their places. Returns the mask of their entries; *old:
 * mask of their detections. */
static uint64_t entries_take_near(struct tracked_objects *s,
                                  const struct tracked_objects_search *search, uint64_t *old)
{
    uint64_t taken = 0;

    for (int k = 0; k < search->n; k++) {
        int i = find_nearest(s, search, &search->at[k], taken);
        bool back = i >= 0 && s->at[i].state == CONTROL_OBJECT_LOST;

        if (i < 0)
            continue;
        entry_take(s, i, CONTROL_OBJECT_SEEN, search, &search->at[k]);
        if (back)
            history_add(s, &s->at[i]);
        taken |= 1ull << i;
        *old |= 1ull << k;
    }
    return taken;
}

/* Updates objects that were not detected: which of them are lost? */
static uint64_t find_gone(struct tracked_objects *s, const struct tracked_objects_search *search,
                          uint64_t taken)
{
    uint64_t gone = 0;

    for (int i = 0; i < s->n; i++) {
        struct rigid T = pose_of(&s->at[i]);
        enum tracked_objects_visibility view;

        if (taken >> i & 1 || s->at[i].submap != search->submap ||
            s->at[i].state == CONTROL_OBJECT_LOST)
            continue;
        view = search->view(search->ctx, s->at[i].object, &T);
        if (view == TRACKED_OBJECTS_GONE)
            gone |= 1ull << i;
        else if (view == TRACKED_OBJECTS_THERE)
            s->misses[i] = 0;
    }
    return gone;
}

uint64_t tracked_objects_update(struct tracked_objects *s,
                                const struct tracked_objects_search *search)
{
    uint64_t old = 0, taken = entries_take_near(s, search, &old),
             gone = find_gone(s, search, taken);

    for (int k = 0; k < search->n && k < TRACKED_OBJECTS_MAX; k++)
        if (!(old >> k & 1))
            taken |= entry_take_new(s, search, k, old, taken, gone);
    for (int i = 0; i < s->n; i++) {
        if (!(gone >> i & 1) || taken >> i & 1 || ++s->misses[i] < TRACKED_OBJECTS_MISSES)
            continue;
        s->misses[i] = 0;
        s->at[i].state = CONTROL_OBJECT_LOST;
        s->at[i].seq = search->seq;
        s->at[i].revision = search->revision;
        history_add(s, &s->at[i]);
        taken |= 1ull << i;
    }
    return taken;
}

/* ------------------------------------------------------------------------- as bytes */

static int history_count(const struct tracked_objects *s)
{
    return s->n_history < TRACKED_OBJECTS_HISTORY ? (int)s->n_history : TRACKED_OBJECTS_HISTORY;
}

/* Returns change i of the kept ones, the oldest first. */
static size_t history_slot(const struct tracked_objects *s, int i)
{
    return (size_t)((s->n_history - (uint64_t)(history_count(s) - i)) % TRACKED_OBJECTS_HISTORY);
}

int tracked_objects_history(const struct tracked_objects *s, struct control_object *list)
{
    for (int i = 0; i < history_count(s); i++)
        list[i] = s->history[history_slot(s, i)];
    return history_count(s);
}

size_t tracked_objects_bytes(const struct tracked_objects *s)
{
    return 32 + (size_t)s->n * (ENTRY_BYTES + 4) + (size_t)history_count(s) * ENTRY_BYTES;
}

static void put_name(struct bytes_writer *w, const char name[CONTROL_OBJECT_CAP])
{
    for (int i = 0; i < CONTROL_OBJECT_CAP; i++)
        bytes_put_u8(w, (uint8_t)name[i]);
}

static void get_name(struct bytes_reader *r, char name[CONTROL_OBJECT_CAP])
{
    const uint8_t *bytes = bytes_get_span(r, CONTROL_OBJECT_CAP);

    if (bytes)
        memcpy(name, bytes, CONTROL_OBJECT_CAP - 1);
}

static void put_entry(struct bytes_writer *w, const struct control_object *o)
{
    bytes_put_u32(w, o->id);
    put_name(w, o->object);
    put_name(w, o->class_name);
    bytes_put_u32(w, (uint32_t)o->state);
    bytes_put_u32(w, o->submap);
    for (int i = 0; i < 7; i++)
        bytes_put_f32(w, o->pose[i]);
    for (int i = 0; i < 6; i++)
        bytes_put_f32(w, o->box[i]);
    bytes_put_f32(w, o->score);
    bytes_put_f32(w, o->support);
    bytes_put_u64(w, o->seq);
    bytes_put_u64(w, o->revision);
}

/* Returns false if it is not valid. */
static bool get_entry(struct bytes_reader *r, struct control_object *o)
{
    bool finite = true;
    struct rigid T;

    memset(o, 0, sizeof *o);
    o->id = bytes_get_u32(r);
    get_name(r, o->object);
    get_name(r, o->class_name);
    o->state = (enum control_object_state)bytes_get_u32(r);
    o->submap = bytes_get_u32(r);
    for (int i = 0; i < 7; i++)
        o->pose[i] = bytes_get_f32(r);
    for (int i = 0; i < 6; i++)
        finite &= isfinite(o->box[i] = bytes_get_f32(r)) != 0;
    finite &= isfinite(o->score = bytes_get_f32(r)) != 0;
    finite &= isfinite(o->support = bytes_get_f32(r)) != 0;
    o->seq = bytes_get_u64(r);
    o->revision = bytes_get_u64(r);
    return !r->bad && finite && o->state <= CONTROL_OBJECT_LOST && o->object[0] &&
           o->seq <= INT64_MAX && o->revision <= INT64_MAX &&
           pose_from_numbers(&T, o->pose, TRACKED_OBJECTS_MAX_M, NULL) == 0;
}

void tracked_objects_put(struct bytes_writer *w, const struct tracked_objects *s)
{
    bytes_put_u64(w, s->n_searched);
    bytes_put_u64(w, s->n_skipped);
    bytes_put_u32(w, s->last_id);
    bytes_put_u32(w, (uint32_t)s->n);
    bytes_put_u64(w, s->n_history);
    for (int i = 0; i < s->n; i++) {
        put_entry(w, &s->at[i]);
        bytes_put_u32(w, s->misses[i]);
    }
    for (int i = 0; i < history_count(s); i++)
        put_entry(w, &s->history[history_slot(s, i)]);
}

int tracked_objects_get(struct tracked_objects *s, struct bytes_reader *r, struct err *err)
{
    uint32_t n;
    bool good = true;

    memset(s, 0, sizeof *s);
    s->n_searched = bytes_get_u64(r);
    s->n_skipped = bytes_get_u64(r);
    s->last_id = bytes_get_u32(r);
    n = bytes_get_u32(r);
    s->n_history = bytes_get_u64(r);
    good = !r->bad && n <= TRACKED_OBJECTS_MAX && s->last_id <= INT32_MAX &&
           s->n_history <= INT64_MAX && s->n_searched <= INT64_MAX && s->n_skipped <= INT64_MAX;
    for (uint32_t i = 0; good && i < n; i++) {
        good = get_entry(r, &s->at[i]) && s->at[i].id > 0 && s->at[i].id <= s->last_id;
        s->misses[i] = (uint8_t)(bytes_get_u32(r) % TRACKED_OBJECTS_MISSES);
        s->n++;
    }
    for (int i = 0; good && i < history_count(s); i++)
        good = get_entry(r, &s->history[history_slot(s, i)]);
    if (good && !r->bad)
        return 0;
    memset(s, 0, sizeof *s);
    return err_set(err, ERR_INPUT, "these are no tracked objects");
}
