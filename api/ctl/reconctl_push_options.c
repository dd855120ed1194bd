#include "api/ctl/reconctl_push.h"

#include <stdlib.h>
#include <string.h>

/* Baseline for pairs of pictures of one camera: docs/PERFORMANCE.md, "Volumes". */
#define BASELINE_M 0.4f

/* Tells whether --option gives `key`, as itself or as key.member. */
static bool given(const struct reconctl_list *list, const char *key)
{
    size_t n = strlen(key);

    for (int i = 0; i < list->n; i++)
        if (strncmp(list->at[i], key, n) == 0 && (list->at[i][n] == '=' || list->at[i][n] == '.'))
            return true;
    return false;
}

/* Tells whether the key is an option of words, whose value may look like a number. */
static bool takes_word(const char *key)
{
    for (int i = 0; i < session_options_n; i++)
        if (session_options_table[i].words && strcmp(session_options_table[i].name, key) == 0)
            return true;
    return false;
}

/* Writes a value as JSON: true, false, null, a number, else a text. */
static void put_value(struct json_writer *w, const char *key, const char *text)
{
    char *end;
    double v = strtod(text, &end);

    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        json_put_bool(w, key, *text == 't');
    else if (strcmp(text, "null") == 0)
        json_put_null(w, key);
    else if (end == text || *end || !isfinite(v) || takes_word(key))
        json_put_text(w, key, text);
    else if (v == floor(v) && fabs(v) < 9e15)
        json_put_i64(w, key, (int64_t)v);
    else
        json_put_f32(w, key, (float)v);
}

/* Takes the key of the i-th --option up to '.' or '='; *rest is what follows it. */
static int option_split(const struct reconctl_list *list, int i, char key[64], const char **rest,
                        struct err *err)
{
    size_t n = strcspn(list->at[i], ".=");

    if (n == 0 || n >= 64 || !strchr(list->at[i], '='))
        return err_set(err, ERR_INPUT, "--option takes key=value, not '%.60s'", list->at[i]);
    memcpy(key, list->at[i], n);
    key[n] = '\0';
    *rest = list->at[i] + n;
    return 0;
}

/* Writes every --option; those of one map (camera.fx=..., camera.fy=...) together. */
static int put_list(struct json_writer *w, const struct reconctl_list *list, struct err *err)
{
    char key[64], other[64], member[64];
    const char *rest, *tail;
    bool done[RECONCTL_LIST_MAX] = {false};
    int rc = 0;

    for (int i = 0; rc == 0 && i < list->n; i++) {
        rc = option_split(list, i, key, &rest, err);
        if (rc || done[i])
            continue;
        if (*rest == '=') {
            put_value(w, key, rest + 1);
            continue;
        }
        json_open_map(w, key);
        for (int k = i; rc == 0 && k < list->n; k++) {
            rc = option_split(list, k, other, &tail, err);
            if (rc || *tail != '.' || strcmp(other, key) != 0)
                continue;
            snprintf(member, sizeof member, "%.*s", (int)strcspn(tail + 1, "="), tail + 1);
            put_value(w, member, strchr(tail, '=') + 1);
            done[k] = true;
        }
        json_close(w);
    }
    return rc;
}

/* Returns the options that flags give, completed by what is known of the source, without those that
 * --option gives. */
static struct session_options complete(const struct reconctl_push_options *o,
                                       const struct reconctl_source_info *info, int index)
{
    struct session_options asked = o->asked;

    if (info) {
        if (info->lens.model != LENS_SPHERE) { /* camera of the session, which is a pinhole */
            asked.has_camera = true;
            asked.K = info->K;
            asked.camera_w = info->width;
            asked.camera_h = info->height;
        }
        if (!asked.pose_source)
            asked.pose_source = info->has_poses ? SESSION_POSE_DEVICE : SESSION_POSE_LEARNED;
        if (!asked.depth_source && info->has_depth)
            asked.depth_source = SESSION_DEPTH_SOURCE_SENSOR;
        if (!asked.up && info->up && asked.pose_source == SESSION_POSE_DEVICE)
            asked.up = session_options_up(info->up);
        if (asked.fps == 0 && info->fps >= 0.1 && info->fps <= 1000) /* no frame is superfluous */
            asked.fps = (float)info->fps;
        if (asked.kind == SESSION_PANORAMA && !info->has_second && asked.baseline_m == 0)
            asked.baseline_m = BASELINE_M;
        if (!asked.name[0])
            strcpy(asked.name, "push");
    }
    if (o->sessions > 1)
        snprintf(asked.name, sizeof asked.name, "%.50s %d",
                 o->asked.name[0] ? o->asked.name : "push", index + 1);
    if (o->sheet)
        asked.preview = true;
    for (int i = 0; i < session_options_n; i++) {
        const struct session_option *row = &session_options_table[i];

        if (!given(&o->option, row->group ? row->group : row->name))
            continue;
        memset((char *)&asked + row->offset, 0, row->size);
        if (row->given)
            *((char *)&asked + row->given) = false;
    }
    return asked;
}

/* Refuses flags of options that the kind lacks, because they would not be sent. */
static int check_flags(const struct session_options *asked, struct err *err)
{
    for (int i = 0; i < session_options_n; i++) {
        const struct session_option *row = &session_options_table[i];

        if (row->flag && !session_options_apply(row, asked->kind) &&
            !session_options_unset(row, asked))
            return err_set(err, ERR_INPUT, "--%s is not for a session of this kind", row->flag);
    }
    return 0;
}

/* Makes --option kind=WORD the value of --kind, which decides how answers are handled. */
static int settle_kind(struct reconctl_push_options *o, struct err *err)
{
    const struct session_option *row = session_options_table;
    const char *word;

    while (strcmp(row->name, "kind") != 0)
        row++;
    for (int i = 0; i < o->option.n; i++) {
        int k = 0;

        if (strncmp(o->option.at[i], "kind=", 5) != 0)
            continue;
        word = o->option.at[i] + 5;
        while (row->words[k] && strcmp(row->words[k], word) != 0)
            k++;
        if (!row->words[k])
            return err_set(err, ERR_INPUT, "'%.30s' is no kind of session", word);
        o->asked.kind = (enum session_kind)(k + 1);
        o->option.at[i--] = o->option.at[--o->option.n];
    }
    return 0;
}

static int settle_codec(struct reconctl_push_options *o, struct err *err)
{
    enum codec_kind codec;

    o->codecs = 0;
    if (!o->codec)
        return 0;
    if (codec_parse(o->codec, &codec, NULL))
        return err_set(err, ERR_INPUT, "--codec takes raw or deflate-raw, not '%.30s'", o->codec);
    o->codecs = 1u << codec;
    return 0;
}

int reconctl_push_options_settle(struct reconctl_push_options *o, struct err *err)
{
    struct intrinsics K;
    char body[4096];
    int rc = settle_kind(o, err);

    if (rc == 0)
        rc = settle_codec(o, err);
    if (rc == 0 && o->camera)
        rc = reconctl_source_camera(&K, o->camera, err);
    if (rc == 0)
        rc = reconctl_push_options_json(body, sizeof body, o, NULL, 0, err);
    if (rc == 0 && o->sessions > 1 && strcmp(o->common.operands[0], "-") == 0)
        rc = err_set(err, ERR_INPUT, "standard input can feed one session");
    if (rc == 0 && o->source && !control_source_valid(o->source))
        rc = err_set(err, ERR_INPUT, "--source takes 1 to %d of a-z, 0-9 and -",
                     CONTROL_SOURCE_CAP - 1);
    if (rc == 0 && o->into && (o->sessions > 1 || o->option.n))
        rc = err_set(err, ERR_INPUT, "--sessions and --option are for sessions that push makes");
    if (rc == 0 && o->output && reconctl_is_output(o->output))
        rc = err_set(err, ERR_INPUT, "--output names a file; " RECONCTL_NO_OUTPUT);
    if (rc == 0 && o->depth_out && !reconctl_push_kind(o)->has_map)
        rc = err_set(err, ERR_INPUT, "the maps of such a session go where --output says");
    if (rc == 0 && o->depth_out)
        rc = reconctl_maps_check(o->depth_out, err);
    return rc || !o->output ? rc : reconctl_push_kind(o)->check(o->output, err);
}

int reconctl_push_options_json(char *buf, size_t cap, const struct reconctl_push_options *o,
                               const struct reconctl_source_info *info, int index, struct err *err)
{
    struct session_options asked = complete(o, info, index);
    struct json_writer w = json_writer(buf, cap);
    int rc = check_flags(&o->asked, err);

    if (rc)
        return rc;
    json_open_map(&w, NULL);
    session_options_write(&w, &asked, SESSION_OPTIONS_ASKED);
    rc = put_list(&w, &o->option, err);
    json_close(&w);
    if (rc)
        return rc;
    return json_finish(&w) ? 0 : err_set(err, ERR_LIMIT, "the session's options are too long");
}
