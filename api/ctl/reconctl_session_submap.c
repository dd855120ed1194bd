/* `session submap`: lists and places the submaps of a session. */
#include "api/ctl/reconctl_args.h"
#include "api/ctl/reconctl_link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SUBMAP_LAST 255

struct arguments {
    struct reconctl_common common; /* first: see reconctl.h */
    const char *pose;
};

#define AT(field) offsetof(struct arguments, field)

/* clang-format off */
static const struct reconctl_option options[] = {
    {"pose", 0, "QX,QY,QZ,QW,TX,TY,TZ", RECONCTL_TEXT, AT(pose), 0, 0,
     "Where submap N lies in the session's world: rotation, and metres"},
    {0},
};
/* clang-format on */

static int read_pose(float v[7], const char *text, struct err *err)
{
    const char *at = text;
    char *end;

    for (int i = 0; i < 7; i++) {
        v[i] = strtof(at, &end);
        if (end == at || !isfinite(v[i]) || *end != (i < 6 ? ',' : '\0'))
            return err_set(err, ERR_INPUT,
                           "--pose: '%.60s' is not seven numbers QX,QY,QZ,QW,TX,TY,TZ", text);
        at = end + 1;
    }
    return 0;
}

/* The words behind the session's id; n = -1: all submaps are shown. */
static int read_words(const struct arguments *o, long *n, float pose[7], struct err *err)
{
    const char *word = o->common.n_operands > 1 ? o->common.operands[1] : NULL;
    char *end = NULL;

    *n = -1;
    if (!word != !o->pose)
        return err_set(err, ERR_INPUT, "%s",
                       word ? "a submap's number goes with --pose" : "--pose needs a submap's N");
    if (!word)
        return 0;
    errno = 0;
    *n = strtol(word, &end, 10);
    if (errno || end == word || *end || *n < 0 || *n > SUBMAP_LAST)
        return err_set(err, ERR_INPUT, "'%.60s' is no number of a submap, 0 ... %d", word,
                       SUBMAP_LAST);
    return read_pose(pose, o->pose, err);
}

static void print_submap(const struct json *s)
{
    const struct json *pose = json_member(s, "pose");
    char name[RECONCTL_SHOWN], where[256] = "unplaced";
    size_t at = 0;

    for (size_t i = 0; i < json_count(pose) && at < sizeof where; i++)
        at += (size_t)snprintf(where + at, sizeof where - at, "%s%.9g", i ? "," : "",
                               json_f64(json_item(pose, i)));
    printf("%6lld  %-16s %5lld  %s\n", (long long)json_i64(json_member(s, "submap")),
           reconctl_member(name, s, "source"), (long long)json_i64(json_member(s, "world_epoch")),
           where);
}

static int submap_show(const struct arguments *o, struct client *client, const char *path,
                       struct err *err)
{
    struct json *doc = NULL;
    char *body = NULL;
    size_t len = 0;
    int rc = client_request(client, "GET", path, NULL, &body, &len, NULL, err);

    if (rc == 0 && reconctl_json(&o->common)) {
        reconctl_print_json("submaps", body);
    } else if (rc == 0 && (rc = json_parse(&doc, body, len, 16, err)) == 0) {
        const struct json *list = json_member(doc, "submaps");

        printf("SUBMAP  %-16s %5s  %s\n", "SOURCE", "WORLD", "POSE");
        for (size_t i = 0; i < json_count(list); i++)
            print_submap(json_item(list, i));
    }
    json_free(&doc);
    free(body);
    return rc;
}

static int submap_place(const struct arguments *o, struct client *client, const char *path, long n,
                        const float pose[7], struct err *err)
{
    char at[128], buf[256], *answer = NULL;
    struct json_writer w = json_writer(buf, sizeof buf);
    int rc;

    json_open_map(&w, NULL);
    json_open_list(&w, "pose");
    for (int i = 0; i < 7; i++)
        json_put_f32(&w, NULL, pose[i]);
    json_close(&w);
    json_close(&w);
    snprintf(at, sizeof at, "%s/%ld", path, n);
    rc = client_request(client, "PUT", at, buf, &answer, NULL, NULL, err);
    free(answer);
    if (rc == 0 && reconctl_json(&o->common)) {
        w = json_writer(buf, sizeof buf);
        json_open_map(&w, NULL);
        json_put_text(&w, "type", "placed");
        json_put_u64(&w, "submap", (uint64_t)n);
        reconctl_print(&w);
    } else if (rc == 0) {
        printf("placed   submap %ld\n", n);
    }
    return rc;
}

static int run_submap(void *arguments)
{
    const struct arguments *o = arguments;
    struct reconctl_link link;
    struct err err;
    char path[96], id[CONTROL_ID_CAP];
    float pose[7];
    long n;
    int rc;

    if (read_words(o, &n, pose, &err)) {
        reconctl_fail(&o->common, &err);
        return RECONCTL_USAGE;
    }
    if (reconctl_link_open(&link, &o->common, false, &err))
        return reconctl_fail(&o->common, &err);
    rc = reconctl_find_session(id, link.client, o->common.operands[0], &err);
    snprintf(path, sizeof path, "/v1/sessions/%s/submaps", id);
    if (rc == 0)
        rc = n < 0 ? submap_show(o, link.client, path, &err)
                   : submap_place(o, link.client, path, n, pose, &err);
    reconctl_link_close(&link);
    return rc ? reconctl_fail_server(&o->common, &err) : RECONCTL_OK;
}

RECONCTL_COMMAND(session_submap, "session submap", "SESSION [N]",
                 "Show where a session's submaps lie, or place one", run_submap,
                 sizeof(struct arguments), options);
