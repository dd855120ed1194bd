#include "api/ctl/reconctl_link.h"
#include "api/ctl/reconctl_push.h"

#include <stdlib.h>
#include <string.h>

struct arguments {
    struct reconctl_common common; /* first: see reconctl.h */
    struct reconctl_list option;
    struct session_options asked; /* names of options */
    const char *output;
    bool unplaced, trajectory;
};

#define AT(field) offsetof(struct arguments, field)

/* clang-format off */
static const struct reconctl_option create_options[] = {
    {"option", 'o', "KEY=VALUE", RECONCTL_LIST, AT(option), 0, 0,
     "Any option of POST /v1/sessions (pose_source=learned, camera.fx=500)"},
    {"name", 0, "TEXT", RECONCTL_ROW, AT(asked.name), 0, 0, "Name of the session, for people",
     &session_options_table[0]},
    {0},
};
static const struct reconctl_option export_options[] = {
    {"output", 'O', "FILE", RECONCTL_TEXT, AT(output), 0, 0,
     "File to write, or - (default: SESSION.ply)"},
    {"unplaced", 0, NULL, RECONCTL_FLAG, AT(unplaced), 0, 0,
     "Write submaps without a place too, as they lie in themselves"},
    {"trajectory", 0, NULL, RECONCTL_FLAG, AT(trajectory), 0, 0,
     "The camera's path in the TUM format instead of the cloud (default: SESSION.txt)"},
    {0},
};
/* clang-format on */

static void print_deleted(const char *id)
{
    char buf[128];
    struct json_writer w = json_writer(buf, sizeof buf);

    json_open_map(&w, NULL);
    json_put_text(&w, "type", "deleted");
    json_put_text(&w, "session", id);
    reconctl_print(&w);
}

static void print_views(const struct json *views)
{
    char state[RECONCTL_SHOWN];

    if (strcmp(reconctl_member(state, views, "state"), "off") == 0)
        return;
    reconctl_put_text(9, "views    %s: %lld keyframes, %lld refined, scale %.2f, agreement %.2f",
                      state, (long long)json_i64(json_member(views, "keyframes")),
                      (long long)json_i64(json_member(views, "refined")),
                      json_f64(json_member(views, "scale")),
                      json_f64(json_member(views, "agreement")));
}

static void print_scale(const struct json *scale)
{
    if (!scale)
        return;
    reconctl_put_text(9, "scale    %.3f, standard error %.3f; in the middle of frames %.3f, %.3f",
                      json_f64(json_member(scale, "last")), json_f64(json_member(scale, "sigma")),
                      json_f64(json_member(scale, "median")),
                      json_f64(json_member(scale, "median_sigma")));
}

static void print_session(const struct json *doc)
{
    char text[RECONCTL_SHOWN], more[RECONCTL_SHOWN];

    reconctl_put_text(9, "session  %s \"%s\"", reconctl_member(text, doc, "id"),
                      reconctl_member(more, doc, "name"));
    reconctl_put_text(9, "state    %s on %s", reconctl_member(text, doc, "state"),
                      reconctl_member(more, doc, "device"));
    if (*json_text(json_member(doc, "guessed")))
        reconctl_put_text(9, "guessed  %s", reconctl_member(text, doc, "guessed"));
    print_views(json_member(doc, "views"));
    print_scale(json_member(doc, "scale"));
    reconctl_put_text(
        9, "stream   %s",
        reconctl_shown(text, json_text(json_member(doc, "stream_url")), RECONCTL_SHOWN));
    reconctl_put_text(9, "cloud    %lld points, revision %lld, hash %s",
                      (long long)json_i64(json_member(doc, "points")),
                      (long long)json_i64(json_member(doc, "revision")),
                      reconctl_member(text, doc, "hash"));
    for (int i = 0; i < 2; i++) {
        const char *scope = i ? "view" : "ingest";
        const char *token = reconctl_member(text, json_member(doc, "tokens"), scope);

        if (*token)
            reconctl_put_text(9, "token    %s: %s (shown once)", scope, token);
    }
}

/* Makes one call whose answer is a session. People get a few lines of it, programs all. */
static int call(const struct arguments *o, const char *method, const char *suffix, const char *body)
{
    struct reconctl_link link;
    struct json *doc = NULL;
    struct err err;
    char path[128], id[CONTROL_ID_CAP] = "";
    char *answer = NULL;
    size_t len = 0;
    int rc = 0, code = RECONCTL_OK;

    if (reconctl_link_open(&link, &o->common, false, &err))
        return reconctl_fail(&o->common, &err);
    if (o->common.n_operands)
        rc = reconctl_find_session(id, link.client, o->common.operands[0], &err);
    snprintf(path, sizeof path, "/v1/sessions%s%s%s", *id ? "/" : "", id, suffix);
    if (rc == 0)
        rc = client_request(link.client, method, path, body, &answer, &len, NULL, &err);
    if (rc) {
        code = reconctl_fail_server(&o->common, &err);
        goto out;
    }
    if (reconctl_json(&o->common)) {
        if (len)
            reconctl_print_json("session", answer);
        else
            print_deleted(id);
        goto out;
    }
    if (len == 0) {
        printf("deleted\n");
        goto out;
    }
    rc = json_parse(&doc, answer, len, 16, &err);
    if (rc) {
        code = reconctl_fail_server(&o->common, &err);
        goto out;
    }
    print_session(doc);
out:
    json_free(&doc);
    free(answer);
    reconctl_link_close(&link);
    return code;
}

static int run_create(void *arguments)
{
    const struct arguments *o = arguments;
    struct reconctl_push_options all = {.asked = o->asked, .option = o->option, .sessions = 1};
    char body[4096];
    struct err err;

    if (reconctl_push_options_json(body, sizeof body, &all, NULL, 0, &err)) {
        reconctl_fail(&o->common, &err);
        return RECONCTL_USAGE;
    }
    return call(o, "POST", "", body);
}

static int run_get(void *arguments)
{
    return call(arguments, "GET", "", NULL);
}

static int run_close(void *arguments)
{
    return call(arguments, "POST", "/close", NULL);
}

static int run_delete(void *arguments)
{
    return call(arguments, "DELETE", "", NULL);
}

static int run_kick(void *arguments)
{
    return call(arguments, "POST", "/kick", NULL);
}

static int run_rotate(void *arguments)
{
    return call(arguments, "POST", "/tokens", NULL);
}

static void print_row(struct reconctl_screen *screen, const struct json *s)
{
    int width = reconctl_id_width(screen);
    const struct json *counts = json_member(s, "counts");
    char id[RECONCTL_SHOWN], state[RECONCTL_SHOWN], name[RECONCTL_SHOWN];

    reconctl_put_row(screen, "%-*.*s  %-10s %9lld %7lld %7lld %6.1f  %s", width, width,
                     reconctl_member(id, s, "id"), reconctl_member(state, s, "state"),
                     (long long)json_i64(json_member(s, "points")),
                     (long long)json_i64(json_member(counts, "used")),
                     (long long)(json_i64(json_member(counts, "dropped")) +
                                 json_i64(json_member(counts, "refused"))),
                     json_f64(json_member(s, "fps")), reconctl_member(name, s, "name"));
}

static int run_list(void *arguments)
{
    const struct arguments *o = arguments;
    struct reconctl_link link;
    struct json *doc = NULL;
    struct err err;
    struct reconctl_screen screen = reconctl_screen();
    bool json = reconctl_json(&o->common), more = true, first = true;
    char path[96] = "/v1/sessions?limit=100", *body = NULL;
    size_t len;
    int rc, code = RECONCTL_OK;

    if (reconctl_link_open(&link, &o->common, false, &err))
        return reconctl_fail(&o->common, &err);
    while (more && !reconctl_stopped()) {
        const struct json *list;
        const char *next;

        rc = client_request(link.client, "GET", path, NULL, &body, &len, NULL, &err);
        if (rc == 0)
            rc = json_parse(&doc, body, len, 16, &err);
        if (rc) {
            code = reconctl_fail_server(&o->common, &err);
            break;
        }
        if (json)
            reconctl_print_json("sessions", body);
        else if (first)
            reconctl_put_row(&screen, "%-*s  %-10s %9s %7s %7s %6s  %s", reconctl_id_width(&screen),
                             "SESSION", "STATE", "POINTS", "USED", "NOT", "FPS", "NAME");
        first = false;
        list = json_member(doc, "sessions");
        for (size_t i = 0; !json && i < json_count(list); i++)
            print_row(&screen, json_item(list, i));
        next = json_text(json_member(doc, "next"));
        more = *next != '\0';
        snprintf(path, sizeof path, "/v1/sessions?limit=100&cursor=%.30s", next);
        json_free(&doc);
        free(body);
        body = NULL;
    }
    json_free(&doc);
    free(body);
    reconctl_link_close(&link);
    return code;
}

static void on_bytes(void *ctx, double done)
{
    reconctl_progress_step(ctx, "downloading", done);
}

static int run_export(void *arguments)
{
    const struct arguments *o = arguments;
    struct reconctl_progress progress = reconctl_progress_start();
    struct reconctl_link link;
    struct err err;
    char path[96], own[96], id[CONTROL_ID_CAP];
    const char *file = o->output ? o->output : own, *what = o->trajectory ? "trajectory" : "cloud";
    int rc;

    if (reconctl_link_open(&link, &o->common, false, &err))
        return reconctl_fail(&o->common, &err);
    rc = reconctl_find_session(id, link.client, o->common.operands[0], &err);
    snprintf(path, sizeof path, "/v1/sessions/%s/%s%s", id, what, o->unplaced ? "?unplaced=1" : "");
    snprintf(own, sizeof own, "%s.%s", id, o->trajectory ? "txt" : "ply");
    client_on_bytes(link.client, on_bytes, &progress);
    if (rc == 0 && reconctl_is_output(file))
        rc = client_download_to(link.client, path, stdout, &err);
    else if (rc == 0)
        rc = client_download(link.client, path, file, &err);
    reconctl_progress_end(&progress, false);
    reconctl_link_close(&link);
    if (rc)
        return reconctl_fail_server(&o->common, &err);
    if (!reconctl_is_output(file))
        reconctl_print_file(&o->common, what, file);
    return RECONCTL_OK;
}

RECONCTL_COMMAND(session_create, "session create", "",
                 "Create a session and show its stream and tokens", run_create,
                 sizeof(struct arguments), create_options);

RECONCTL_COMMAND(session_list, "session list", "", "List the sessions of a server", run_list,
                 sizeof(struct arguments));

RECONCTL_COMMAND(session_get, "session get", "SESSION", "Show everything about a session", run_get,
                 sizeof(struct arguments));

RECONCTL_COMMAND(session_close, "session close", "SESSION",
                 "Take no more frames, use those that are queued", run_close,
                 sizeof(struct arguments));

RECONCTL_COMMAND(session_kick, "session kick", "SESSION", "End all streams of a session", run_kick,
                 sizeof(struct arguments));

RECONCTL_COMMAND(session_rotate, "session rotate", "SESSION",
                 "Give a session new tokens and end the streams of the old ones", run_rotate,
                 sizeof(struct arguments));

RECONCTL_COMMAND(session_delete, "session delete", "SESSION", "Delete a session and its cloud",
                 run_delete, sizeof(struct arguments));

RECONCTL_COMMAND(export, "export", "SESSION", "Download a session's cloud as PLY", run_export,
                 sizeof(struct arguments), export_options);
