/*
 * session_options.h - the options of a session, and a table that says all there is to know of each
 *
 * An option is a field of struct session_options, a row of the table and the code that uses it.
 * The row serves everything else: REST reads requests and writes answers by it, the manifest on
 * disk is written and read by it, the configuration takes its default from it, and `reconctl push`
 * its flag, help and completion. tests/unit/api_options.c holds openapi.yaml, reconctl.1
 * and recond.conf.5 against it.
 * Rules that join several options, or ask devices and networks, are daemon/session/options.c.
 */
#ifndef RECOND_API_SESSION_OPTIONS_H
#define RECOND_API_SESSION_OPTIONS_H

#include "proto/json.h"
#include "proto/types.h"

#define API_NAME_CAP 64
#define SESSION_KEYFRAMES_MAX 9
#define SESSION_NET_SIDE_MAX 2048
#define SESSION_OBJECTS_MAX 16 /* names that a session searches for */

/* What a session makes of its frames: X(WORD, word) is SESSION_WORD here, "word" in JSON, and
 * pipeline_word in the daemon (daemon/session/pipeline.h). `mono`: a cloud. `depth`: no map; each
 * used frame is answered by its depth map. `panorama`: pairs of pictures that see all around carve
 * a volume, whose voxels are the cloud. */
#define SESSION_KINDS(X) X(MONO, mono) X(DEPTH, depth) X(PANORAMA, panorama)

#define SESSION_KIND_VALUE(WORD, word) SESSION_##WORD,
enum session_kind { SESSION_KIND_DEFAULT, SESSION_KINDS(SESSION_KIND_VALUE) SESSION_KINDS_END };
#undef SESSION_KIND_VALUE

enum session_pose_source { SESSION_POSE_DEFAULT, SESSION_POSE_DEVICE, SESSION_POSE_LEARNED };

/* How points are associated: by their cube of space, or through the maps of keyframes. */
enum session_fusion { SESSION_FUSION_DEFAULT, SESSION_FUSION_CELLS, SESSION_FUSION_PAPER };

/* Source of depth: the network, the frames' own sensor, or the sensor with the network for its
 * gaps. */
enum session_depth_source {
    SESSION_DEPTH_SOURCE_DEFAULT,
    SESSION_DEPTH_SOURCE_NETWORK,
    SESSION_DEPTH_SOURCE_SENSOR,
    SESSION_DEPTH_SOURCE_BOTH
};

/* Depth out of many views; the default with fusion by cubes if poses come with the frames. Refined:
 * the poses of a keyframe's partners are corrected first. */
enum session_views {
    SESSION_VIEWS_DEFAULT,
    SESSION_VIEWS_ON,
    SESSION_VIEWS_OFF,
    SESSION_VIEWS_REFINED
};

/* What makes a voxel opaque: measured distances of pairs, or similar colours. */
enum session_consistency {
    SESSION_CONSISTENCY_DEFAULT,
    SESSION_CONSISTENCY_PATCH,
    SESSION_CONSISTENCY_PAPER
};

/* The axis of the world that points away from the ground, as exports say it. */
enum session_up {
    SESSION_UP_DEFAULT,
    SESSION_UP_Y, /* worlds of ARKit and ARCore */
    SESSION_UP_MINUS_Y,
    SESSION_UP_Z,
    SESSION_UP_MINUS_Z,
    SESSION_UP_X,
    SESSION_UP_MINUS_X
};

/* How a picture is put upright before a network gets it. */
enum session_upright {
    SESSION_UPRIGHT_DEFAULT,
    SESSION_UPRIGHT_AUTO,    /* by gravity if the world's up axis is known, else by Exif */
    SESSION_UPRIGHT_GRAVITY, /* by the frames' poses and `up` */
    SESSION_UPRIGHT_EXIF,
    SESSION_UPRIGHT_0, /* as it is; then clockwise quarters */
    SESSION_UPRIGHT_90,
    SESSION_UPRIGHT_180,
    SESSION_UPRIGHT_270
};

enum session_depth_unit {
    SESSION_DEPTH_UNIT_DEFAULT,
    SESSION_DEPTH_UNIT_MM,
    SESSION_DEPTH_UNIT_INVERSE
};

/* Whether submaps that show one place are recognised and placed. */
enum session_ties { SESSION_TIES_DEFAULT, SESSION_TIES_OFF, SESSION_TIES_ON };

/* Whether the session is bundled when it ends (daemon/work/bundling.h). */
enum session_bundle { SESSION_BUNDLE_DEFAULT, SESSION_BUNDLE_OFF, SESSION_BUNDLE_ON };

/* What a restart leaves of a session's frames (docs/ARCHITECTURE.md, "Durability"). */
enum session_journal {
    SESSION_JOURNAL_DEFAULT,
    SESSION_JOURNAL_OFF,   /* nothing */
    SESSION_JOURNAL_ASYNC, /* acknowledged frames, unless the host itself went down */
    SESSION_JOURNAL_SYNC   /* every acknowledged frame */
};

/* What happens when frames come faster than they are used. */
enum session_mode {
    SESSION_MODE_DEFAULT,
    SESSION_LIVE,    /* the oldest waiting frame makes room; its sender is told */
    SESSION_LOSSLESS /* no frame is dropped: the window holds the sender back */
};

/* Zero or empty = not asked for: the configured default holds. The table describes each option. */
struct session_options {
    enum session_kind kind; /* kind, which decides the rows of the table that apply */
    char name[API_NAME_CAP];
    char depth_model[API_NAME_CAP], motion_model[API_NAME_CAP];
    enum session_pose_source pose_source;
    enum session_depth_source depth_source;
    enum session_up up;
    enum session_upright upright;
    enum session_fusion fusion;
    enum session_views views;
    enum session_ties ties;
    float submap_m;
    enum session_bundle bundle;
    bool has_camera; /* K, camera_w, camera_h are given; otherwise every frame brings its own */
    struct intrinsics K;
    int camera_w, camera_h; /* size of the picture that K belongs to */
    int net_w, net_h;
    float decode_scale;
    float step_m;
    uint32_t max_points;
    int keyframes;
    float min_depth_m, max_depth_m;
    enum session_depth_unit depth_unit;
    /* box that a panorama session carves: its lowest corner and its sides */
    bool has_volume;
    float volume_m[3], volume_size_m[3];
    float voxel_m, colour_levels, field_deg;
    float baseline_m; /* baseline; 0: pictures come in pairs, else from one camera */
    enum session_consistency consistency;
    int retention_s;
    bool preview;
    enum session_journal journal;
    bool record;
    enum session_mode mode;
    float fps;
    /* names of enrolled objects, separated by commas, and searches a second */
    char objects[SESSION_OBJECTS_MAX * API_NAME_CAP];
    float recognise_hz;
};

enum session_option_type {
    SESSION_OPTION_BOOL,
    SESSION_OPTION_INT,   /* int */
    SESSION_OPTION_COUNT, /* uint32_t */
    SESSION_OPTION_REAL,  /* float */
    SESSION_OPTION_TEXT,  /* char[size] */
    SESSION_OPTION_NAMES, /* char[size]: names of objects, separated by commas */
    SESSION_OPTION_WORD   /* an enum whose 0 is "not asked for"; words[i] is i + 1 */
};

struct session_option {
    const char *name; /* JSON member */
    enum session_option_type type;
    size_t offset, size; /* offset of the field in struct session_options */
    double min, max;     /* of a number */
    const char *group;   /* JSON object that it is a member of, all or none; NULL: the top */
    /* offset of the bool which says that the group is there; 0: zeros say that it is not */
    size_t given;
    const char *kept;         /* its name at the top of a manifest, if that differs; or NULL */
    const char *const *words; /* NULL-terminated */
    /* Default of the configuration's key session.NAME. NULL: there is no such key; the option
     * defaults to false, to the first word, or to the server's choice. */
    const char *standard;
    unsigned kinds;         /* mask of the kinds of session that have it: 1 << enum session_kind */
    const char *unit;       /* or NULL */
    const char *help;       /* one sentence without its full stop */
    const char *flag, *arg; /* `reconctl push --flag ARG`, or NULL */
};

extern const struct session_option session_options_table[];
extern const int session_options_n;

/* The word of an axis, "+z". */
const char *session_options_up_word(enum session_up up);
/* Copies name i of a list of names; false: there are no more. */
bool session_options_name_at(const char *names, int i, char name[API_NAME_CAP]);
/* Checks a name: letters, digits, '-', '_' and '.', not first; 1 to 63 of them. */
bool session_options_name_valid(const char *name);
/* The axis of a word; SESSION_UP_DEFAULT if it is none. */
enum session_up session_options_up(const char *word);

enum session_options_form {
    SESSION_OPTIONS_ASKED, /* body of POST /v1/sessions: only members that were asked for */
    SESSION_OPTIONS_SHOWN, /* `options` of a session in REST: all but its name */
    SESSION_OPTIONS_KEPT   /* manifest of a session on disk: all */
};

/*
 * session_options_read - the members of a JSON object; what is absent is left alone
 *
 * What is wrong with them is noted in at->issues. Ranges are checked of what is ASKED alone: what
 * is KEPT was resolved by a server and is checked again by options_resolve().
 */
void session_options_read(struct session_options *options, const struct json_at *at,
                          enum session_options_form form);
/* The members of an object that the caller opened. */
void session_options_write(struct json_writer *w, const struct session_options *options,
                           enum session_options_form form);

/* Tells whether the field has its first value. */
bool session_options_unset(const struct session_option *row, const struct session_options *o);

/* Tells whether a session of this kind has the option. */
bool session_options_apply(const struct session_option *row, enum session_kind kind);

/* Fills in options that were not asked for from `defaults`, except texts, which name networks. */
void session_options_fill(struct session_options *options, const struct session_options *defaults);

/* Checks every number that has a default, and every one of the camera, against its range. Returns
 * 0; ERR_INPUT with where = JSON pointer. */
MUST_CHECK int session_options_check(const struct session_options *options, struct err *err);

#endif
