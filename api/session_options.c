#include "api/session_options.h"

#include "proto/wire/frame.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define AT(f) offsetof(struct session_options, f)
#define FIELD(f) AT(f), sizeof(((struct session_options *)0)->f)
#define CAMERA(f) FIELD(f), .group = camera, .given = AT(has_camera), .kinds = ANY, .unit = "pixels"
#define NET(f) \
    FIELD(f), .group = net, .kinds = DEEP, .unit = "pixels", .min = 32, .max = SESSION_NET_SIDE_MAX
#define VOLUME(f) FIELD(f), .group = volume, .given = AT(has_volume), .kinds = PANORAMA, .unit = "m"
#define ANY (~0u)
#define MONO (1u << SESSION_MONO)
#define PANORAMA (1u << SESSION_PANORAMA)
#define DEEP (MONO | 1u << SESSION_DEPTH) /* kinds with a depth network */
#define MAPS (MONO | PANORAMA)            /* kinds with a cloud */

/* objects are compared by their address */
static const char camera[] = "camera", net[] = "net", volume[] = "volume";
#define WORD_OF(WORD, word) #word,
static const char *const kinds[] = {SESSION_KINDS(WORD_OF) NULL};
static const char *const pose_sources[] = {"device", "learned", NULL};
static const char *const depth_sources[] = {"network", "sensor", "both", NULL};
static const char *const fusions[] = {"cells", "paper", NULL};
static const char *const views[] = {"on", "off", "refined", NULL};
static const char *const consistencies[] = {"patch", "paper", NULL};
static const char *const ties[] = {"off", "on", NULL};
static const char *const bundles[] = {"off", "on", NULL};
static const char *const ups[] = {"+y", "-y", "+z", "-z", "+x", "-x", NULL};
static const char *const uprights[] = {"auto", "gravity", "exif", "0", "90", "180", "270", NULL};
static const char *const depth_units[] = {"mm", "inverse", NULL};
static const char *const journals[] = {"off", "async", "sync", NULL};
static const char *const modes[] = {"live", "lossless", NULL};

/* clang-format off */
const struct session_option session_options_table[] = {
    {"name", SESSION_OPTION_TEXT, FIELD(name), .kinds = ANY, .flag = "name", .arg = "TEXT",
     .help = "Name of the session, for people"},
    {"kind", SESSION_OPTION_WORD, FIELD(kind), .words = kinds, .kinds = ANY, .flag = "kind",
     .arg = "KIND", .help = "What becomes of the frames: a cloud, a depth map each, or voxels"},
    {"depth_model", SESSION_OPTION_TEXT, FIELD(depth_model), .standard = "", .kinds = DEEP,
     .help = "Depth network; empty means the first by name"},
    {"motion_model", SESSION_OPTION_TEXT, FIELD(motion_model), .standard = "", .kinds = MONO,
     .help = "Ego-motion network; empty means the first by name"},
    {"pose_source", SESSION_OPTION_WORD, FIELD(pose_source), .words = pose_sources, .kinds = MONO,
     .flag = "pose-source", .arg = "SOURCE",
     .help = "Where poses come from: with the frames, or from the pictures"},
    {"depth_source", SESSION_OPTION_WORD, FIELD(depth_source), .words = depth_sources,
     .kinds = MONO, .flag = "depth-source", .arg = "SOURCE",
     .help = "Where depth comes from: the network, the frames' own sensor, or both: the network "
             "where the sensor sees nothing"},
    {"up", SESSION_OPTION_WORD, FIELD(up), .words = ups, .kinds = MAPS, .flag = "up", .arg = "AXIS",
     .help = "The world's axis that points up, for exports: +y of a phone, -y of learned poses"},
    {"upright", SESSION_OPTION_WORD, FIELD(upright), .words = uprights, .kinds = DEEP,
     .flag = "upright", .arg = "HOW",
     .help = "How pictures are put upright for the networks: by what is known, by poses and the up "
             "axis, by their Exif, or turned clockwise by so many degrees"},
    {"fx", SESSION_OPTION_REAL, CAMERA(K.fx), .min = 1, .max = 1e5, .help = "Focal length along x"},
    {"fy", SESSION_OPTION_REAL, CAMERA(K.fy), .min = 1, .max = 1e5, .help = "Focal length along y"},
    {"cx", SESSION_OPTION_REAL, CAMERA(K.cx), .min = -1e5, .max = 1e5,
     .help = "Principal point along x; pixel centres at integers"},
    {"cy", SESSION_OPTION_REAL, CAMERA(K.cy), .min = -1e5, .max = 1e5,
     .help = "Principal point along y"},
    {"width", SESSION_OPTION_INT, CAMERA(camera_w), .min = FRAME_SIDE_MIN, .max = FRAME_SIDE_MAX,
     .help = "Width of the picture that the intrinsics belong to"},
    {"height", SESSION_OPTION_INT, CAMERA(camera_h), .min = FRAME_SIDE_MIN, .max = FRAME_SIDE_MAX,
     .help = "Height of that picture"},
    {"width", SESSION_OPTION_INT, NET(net_w), .kept = "net_w",
     .help = "Width of the networks' input; else chosen from the camera's aspect"},
    {"height", SESSION_OPTION_INT, NET(net_h), .kept = "net_h",
     .help = "Height of the networks' input"},
    {"decode_scale", SESSION_OPTION_REAL, FIELD(decode_scale), 1, 8, .standard = "1.3",
     .kinds = DEEP,
     .help = "How many times the size that the networks see pictures are decoded to at least: a "
             "decoder rounds what it shrinks"},
    {"step_m", SESSION_OPTION_REAL, FIELD(step_m), 0.0005, 0.1, .standard = "0.001",
     .kinds = MONO, .unit = "m", .help = "Quantum of point positions in metres"},
    {"max_points", SESSION_OPTION_COUNT, FIELD(max_points), 1000, 100000000,
     .standard = "1000000", .kinds = MAPS, .help = "Point budget"},
    {"keyframes", SESSION_OPTION_INT, FIELD(keyframes), 2, SESSION_KEYFRAMES_MAX, .standard = "5",
     .kinds = MONO, .help = "Co-visible keyframes that a frame is compared with"},
    {"fusion", SESSION_OPTION_WORD, FIELD(fusion), .words = fusions, .kinds = MONO,
     .flag = "fusion", .arg = "RULES",
     .help = "How points are found again: by their cube of space, or through the keyframes' maps"},
    {"views", SESSION_OPTION_WORD, FIELD(views), .words = views, .kinds = MONO,
     .flag = "views", .arg = "SWITCH",
     .help = "Depth out of many views, with their poses as given or refined; else on where frames "
             "bring poses to points in cubes, and no sensor's depth, refined"},
    {"ties", SESSION_OPTION_WORD, FIELD(ties), .words = ties, .kinds = MONO,
     .flag = "ties", .arg = "SWITCH",
     .help = "Worlds in which the same place is seen are placed by that, and a pose that jumps "
             "begins a world; where poses come with the frames"},
    {"submap_m", SESSION_OPTION_REAL, FIELD(submap_m), 1, 1000, .standard = "4", .kinds = MONO,
     .unit = "m",
     .help = "With ties: metres of a path after which a submap is cut off, so that drift can be "
             "taken back between submaps"},
    {"bundle", SESSION_OPTION_WORD, FIELD(bundle), .words = bundles, .kinds = MONO,
     .flag = "bundle", .arg = "SWITCH",
     .help = "When the session is closed, its path and cloud are corrected once more by the places "
             "that it saw again"},
    {"min_depth_m", SESSION_OPTION_REAL, FIELD(min_depth_m), 0.01, 100, .standard = "0.1",
     .kinds = DEEP, .unit = "m", .help = "Depth in metres below which a pixel is not used"},
    {"max_depth_m", SESSION_OPTION_REAL, FIELD(max_depth_m), 0.02, 1000, .standard = "30",
     .kinds = DEEP, .unit = "m", .help = "Depth in metres above which a pixel is not used"},
    {"depth_unit", SESSION_OPTION_WORD, FIELD(depth_unit), .words = depth_units, .kinds = DEEP,
     .help = "What 16 bits of a depth map mean: millimetres, or 6553.5 / metres"},
    {"x", SESSION_OPTION_REAL, VOLUME(volume_m[0]), .min = -1e4, .max = 1e4,
     .help = "Lowest corner of the volume along the world's x"},
    {"y", SESSION_OPTION_REAL, VOLUME(volume_m[1]), .min = -1e4, .max = 1e4,
     .help = "The same along y"},
    {"z", SESSION_OPTION_REAL, VOLUME(volume_m[2]), .min = -1e4, .max = 1e4,
     .help = "The same along z; above the floor, which would hide everything"},
    {"size_x", SESSION_OPTION_REAL, VOLUME(volume_size_m[0]), .min = 0.01, .max = 1000,
     .help = "Side of the volume along x"},
    {"size_y", SESSION_OPTION_REAL, VOLUME(volume_size_m[1]), .min = 0.01, .max = 1000,
     .help = "The same along y"},
    {"size_z", SESSION_OPTION_REAL, VOLUME(volume_size_m[2]), .min = 0.01, .max = 1000,
     .help = "The same along z"},
    {"voxel_m", SESSION_OPTION_REAL, FIELD(voxel_m), 0.001, 1, .standard = "0.01",
     .kinds = PANORAMA, .unit = "m", .help = "Side of a voxel"},
    {"consistency", SESSION_OPTION_WORD, FIELD(consistency), .words = consistencies,
     .kinds = PANORAMA,
     .help = "What makes a voxel opaque: distances that pairs are found to have, which holds for "
             "surfaces without a pattern, or colours that are alike in both pictures of a pair"},
    {"colour_levels", SESSION_OPTION_REAL, FIELD(colour_levels), 1, 442, .standard = "12",
     .kinds = PANORAMA, .unit = "levels",
     .help = "Distance of two colours, of 255 levels each, from which on they differ"},
    {"field_deg", SESSION_OPTION_REAL, FIELD(field_deg), 1, 180, .standard = "180",
     .kinds = PANORAMA, .unit = "degrees",
     .help = "Angle to a camera's axis up to which its picture is looked at"},
    {"baseline_m", SESSION_OPTION_REAL, FIELD(baseline_m), 0.01, 100, .kinds = PANORAMA,
     .unit = "m",
     .help = "How far one camera moves between two pictures that make a pair; without it pictures "
             "come in pairs"},
    {"retention_s", SESSION_OPTION_INT, FIELD(retention_s), -1, 31536000, .standard = "3600",
     .kinds = ANY, .unit = "s",
     .help = "Seconds that a session is kept after its last client left; -1 is for ever"},
    {"preview", SESSION_OPTION_BOOL, FIELD(preview), .kinds = DEEP,
     .help = "Keep the latest depth map for GET .../depth"},
    {"journal", SESSION_OPTION_WORD, FIELD(journal), .words = journals, .standard = "sync",
     .kinds = MAPS, .flag = "journal", .arg = "WHEN",
     .help = "What a restart leaves: nothing, all but the last moment before a power cut, all that "
             "was acknowledged"},
    {"record", SESSION_OPTION_BOOL, FIELD(record), .kinds = MAPS,
     .help = "Keep the whole journal, also what checkpoints made superfluous"},
    {"mode", SESSION_OPTION_WORD, FIELD(mode), .words = modes, .standard = "live", .kinds = ANY,
     .flag = "mode", .arg = "MODE",
     .help = "When frames come too fast: live drops the oldest, lossless holds the sender back"},
    {"fps", SESSION_OPTION_REAL, FIELD(fps), 0.1, 1000, .standard = "30", .kinds = ANY,
     .unit = "frames a second", .flag = "rate", .arg = "FPS",
     .help = "Frames a second that the session takes at most, by their capture times"},
    {"objects", SESSION_OPTION_NAMES, FIELD(objects), .kinds = MONO,
     .flag = "objects", .arg = "NAMES",
     .help = "Enrolled objects that are looked for in the depth of frames"},
    {"recognise_hz", SESSION_OPTION_REAL, FIELD(recognise_hz), 0.01, 30, .standard = "2",
     .kinds = MONO, .unit = "times a second",
     .help = "How often a second objects are looked for at most, by the frames' capture times"},
};
/* clang-format on */
#define ROWS (sizeof session_options_table / sizeof session_options_table[0])
const int session_options_n = ROWS;

const char *session_options_up_word(enum session_up up)
{
    return ups[up ? up - 1 : 0];
}

enum session_up session_options_up(const char *word)
{
    for (int i = 0; ups[i]; i++)
        if (strcmp(ups[i], word) == 0)
            return (enum session_up)(i + 1);
    return SESSION_UP_DEFAULT;
}

bool session_options_apply(const struct session_option *row, enum session_kind kind)
{
    return row->kinds >> (kind ? kind : SESSION_MONO) & 1;
}

/* The JSON object that an option is a member of, or NULL. */
static const char *group_of(const struct session_option *row, enum session_options_form form)
{
    return form == SESSION_OPTIONS_KEPT && row->kept ? NULL : row->group;
}

static const char *name_of(const struct session_option *row, enum session_options_form form)
{
    return form == SESSION_OPTIONS_KEPT && row->kept ? row->kept : row->name;
}

bool session_options_name_valid(const char *name)
{
    size_t n = strlen(name);

    return n > 0 && n < API_NAME_CAP && name[0] != '.' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == n;
}

bool session_options_name_at(const char *names, int i, char name[API_NAME_CAP])
{
    size_t n;

    for (; i > 0 && names; i--) {
        names = strchr(names, ',');
        names = names ? names + 1 : NULL;
    }
    n = names ? strcspn(names, ",") : 0;
    if (n == 0 || n >= API_NAME_CAP)
        return false;
    memcpy(name, names, n);
    name[n] = '\0';
    return true;
}

/* ------------------------------------------------------------------------------- in */

/* Checks that every member is known, and that an object has all of its own. */
static void check_members(const struct json_at *at, const char *group)
{
    const char *keys[ROWS + 1];
    int n = 0;

    for (size_t i = 0; i < ROWS; i++)
        if (session_options_table[i].group == group)
            keys[n++] = session_options_table[i].name;
        else if (!group)
            keys[n++] = session_options_table[i].group;
    keys[n] = NULL;
    json_only(at, keys);
    for (int i = 0; group && i < n; i++)
        json_require(at, keys[i]);
}

/* Joins different names to one text. */
static void read_names(const struct session_option *row, char *names, const struct json_at *at)
{
    const struct json *list = json_member(at->map, row->name);
    size_t len = 0;

    if (!list)
        return;
    if (json_kind(list) != JSON_KIND_LIST || json_count(list) > SESSION_OBJECTS_MAX) {
        json_note(at, row->name, "must be a list of at most %d names", SESSION_OBJECTS_MAX);
        return;
    }
    names[0] = '\0';
    for (size_t i = 0; i < json_count(list); i++) {
        const char *name = json_text(json_item(list, i));

        if (!session_options_name_valid(name)) {
            json_note(at, row->name,
                      "names are 1 to 63 letters, digits, '-', '_' and '.', which is not first");
            return;
        }
        for (size_t k = 0; k < i; k++)
            if (strcmp(json_text(json_item(list, k)), name) == 0) {
                json_note(at, row->name, "names %s twice", name);
                return;
            }
        len += (size_t)snprintf(names + len, row->size - len, "%s%s", i ? "," : "", name);
    }
}

static void read_value(const struct session_option *row, void *field, const struct json_at *at,
                       enum session_options_form form)
{
    bool asked = form == SESSION_OPTIONS_ASKED;
    double lo = asked ? row->min : row->min < 0 ? -INT_MAX : 0, hi = asked ? row->max : INT_MAX;
    const char *key = name_of(row, form);
    uint64_t count;
    int word;

    if (row->type == SESSION_OPTION_BOOL)
        json_get_bool(at, key, field);
    else if (row->type == SESSION_OPTION_INT)
        json_get_int(at, key, field, (int)lo, (int)hi);
    else if (row->type == SESSION_OPTION_COUNT &&
             json_get_u64(at, key, &count, (uint64_t)lo, (uint64_t)hi))
        *(uint32_t *)field = (uint32_t)count;
    else if (row->type == SESSION_OPTION_REAL)
        json_get_f32(at, key, field, lo, hi);
    else if (row->type == SESSION_OPTION_TEXT)
        json_get_text(at, key, field, row->size);
    else if (row->type == SESSION_OPTION_NAMES)
        read_names(row, field, at);
    else if (row->type == SESSION_OPTION_WORD && json_get_choice(at, key, &word, row->words))
        *(int *)field = word + 1;
}

void session_options_read(struct session_options *o, const struct json_at *at,
                          enum session_options_form form)
{
    const char *group = NULL;
    struct json_at in = *at;
    bool there = true;

    if (form == SESSION_OPTIONS_ASKED)
        check_members(at, NULL);
    for (size_t i = 0; i < ROWS; i++) {
        const struct session_option *row = &session_options_table[i];

        if (group_of(row, form) != group) {
            group = group_of(row, form);
            in = *at;
            there = !group || json_get_map(at, group, &in);
            if (group && there)
                check_members(&in, group);
        }
        if (there && row->given)
            *(bool *)((char *)o + row->given) = true;
        if (there && session_options_apply(row, o->kind))
            read_value(row, (char *)o + row->offset, &in, form);
        else if (there && json_member(in.map, row->name))
            json_note(&in, row->name, "is not for a session of this kind");
    }
}

/* ------------------------------------------------------------------------------- out */

static void write_names(struct json_writer *w, const char *key, const char *names)
{
    char name[API_NAME_CAP];

    json_open_list(w, key);
    for (int i = 0; session_options_name_at(names, i, name); i++)
        json_put_text(w, NULL, name);
    json_close(w);
}

static void write_value(struct json_writer *w, const struct session_option *row, const void *field,
                        const char *key)
{
    int word;

    if (row->type == SESSION_OPTION_BOOL)
        json_put_bool(w, key, *(const bool *)field);
    else if (row->type == SESSION_OPTION_INT)
        json_put_i64(w, key, *(const int *)field);
    else if (row->type == SESSION_OPTION_COUNT)
        json_put_u64(w, key, *(const uint32_t *)field);
    else if (row->type == SESSION_OPTION_REAL)
        json_put_f32(w, key, *(const float *)field);
    else if (row->type == SESSION_OPTION_TEXT)
        json_put_text(w, key, field);
    else if (row->type == SESSION_OPTION_NAMES)
        write_names(w, key, field);
    else if (row->type == SESSION_OPTION_WORD) {
        word = *(const int *)field;
        json_put_text(w, key, row->words[word ? word - 1 : 0]);
    }
}

bool session_options_unset(const struct session_option *row, const struct session_options *o)
{
    static const char zero[API_NAME_CAP];
    const char *field = (const char *)o + row->offset;

    return row->type == SESSION_OPTION_NAMES ? field[0] == '\0'
                                             : memcmp(field, zero, row->size) == 0;
}

/* The first row is the name. */
static bool is_written(const struct session_option *row, const struct session_options *o,
                       enum session_options_form form)
{
    if (!session_options_apply(row, o->kind))
        return false;
    if (row->given)
        return *(const bool *)((const char *)o + row->given);
    if (form == SESSION_OPTIONS_ASKED)
        return !session_options_unset(row, o);
    return form == SESSION_OPTIONS_KEPT || row != session_options_table;
}

void session_options_write(struct json_writer *w, const struct session_options *o,
                           enum session_options_form form)
{
    const char *group = NULL;

    for (size_t i = 0; i < ROWS; i++) {
        const struct session_option *row = &session_options_table[i];
        const char *next = group_of(row, form);

        if (!is_written(row, o, form))
            continue;
        if (group && next != group)
            json_close(w);
        if (next && next != group)
            json_open_map(w, next);
        group = next;
        write_value(w, row, (const char *)o + row->offset, name_of(row, form));
    }
    if (group)
        json_close(w);
}

/* --------------------------------------------------------------------- defaults, checks */

void session_options_fill(struct session_options *o, const struct session_options *defaults)
{
    for (size_t i = 0; i < ROWS; i++) {
        const struct session_option *row = &session_options_table[i];
        char *field = (char *)o + row->offset;

        if (row->type == SESSION_OPTION_TEXT || row->type == SESSION_OPTION_NAMES ||
            !session_options_apply(row, o->kind) || !session_options_unset(row, o))
            continue;
        if (row->standard)
            memcpy(field, (const char *)defaults + row->offset, row->size);
        else if (row->type == SESSION_OPTION_WORD)
            *(int *)(void *)field = 1;
    }
}

/* Tells whether a number is within its range; NaN is not. A float is compared with the floats
 * nearest to the bounds. */
static bool is_in_range(const struct session_option *row, const void *field, double *value)
{
    bool real = row->type == SESSION_OPTION_REAL;
    double lo = real ? (double)(float)row->min : row->min;
    double hi = real ? (double)(float)row->max : row->max;

    if (row->type == SESSION_OPTION_INT)
        *value = *(const int *)field;
    else if (row->type == SESSION_OPTION_COUNT)
        *value = *(const uint32_t *)field;
    else if (real)
        *value = (double)*(const float *)field;
    else
        return true;
    return *value >= lo && *value <= hi;
}

int session_options_check(const struct session_options *o, struct err *err)
{
    char where[ERR_WHERE_CAP];
    double value;

    for (size_t i = 0; i < ROWS; i++) {
        const struct session_option *row = &session_options_table[i];
        const void *field = (const char *)o + row->offset;

        if (!is_written(row, o, SESSION_OPTIONS_KEPT) || !(row->given || row->standard) ||
            is_in_range(row, field, &value))
            continue;
        snprintf(where, sizeof where, "%s%s/%s", row->group ? "/" : "",
                 row->group ? row->group : "", row->name);
        return err_at(err, ERR_INPUT, where, "%.10g%s%s, must be in %.10g...%.10g", value,
                      row->unit ? " " : "", row->unit ? row->unit : "", row->min, row->max);
    }
    return 0;
}
