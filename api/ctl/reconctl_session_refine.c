/* `session refine`: bundles a closed session once more. */
#include "api/ctl/reconctl_args.h"
#include "api/ctl/reconctl_link.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define POLL_NS 300000000

struct arguments {
    struct reconctl_common common; /* first: see reconctl.h */
};

/* The result for people; `state` is a word of the session's document. */
static void print_bundle(const struct json *bundle, const char *state)
{
    static const struct {
        const char *state, *says;
    } all[] = {
        {"corrected", "path and cloud are corrected"},
        {"right", "the poses are as right as the pictures can tell: nothing was changed"},
        {"unseen", "no place was seen again: nothing was changed"},
        {"contrary", "what the pictures say contradicts itself: nothing was changed"},
    };
    const char *says = state;

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].state, state) == 0)
            says = all[i].says;
    reconctl_put_text(9, "refined  %s", says);
    reconctl_put_text(9, "seen     %lld keyframes, %lld pairs of them show one place",
                      (long long)json_i64(json_member(bundle, "keyframes")),
                      (long long)json_i64(json_member(bundle, "pairs")));
    if (strcmp(state, "corrected") == 0)
        reconctl_put_text(9, "moved    by %.3f m at most",
                          json_f64(json_member(bundle, "moved_m")));
}

/* Polls until bundling is over. Returns 0 with the session's document, or an error. */
static int refine_wait(struct json **doc, char **answer, struct client *client, const char *path,
                       struct err *err)
{
    const struct timespec pause = {.tv_nsec = POLL_NS};
    size_t len;
    int rc = 0;

    for (;;) {
        json_free(doc);
        free(*answer);
        *answer = NULL;
        rc = client_request(client, "GET", path, NULL, answer, &len, NULL, err);
        if (rc == 0)
            rc = json_parse(doc, *answer, len, 16, err);
        if (rc || reconctl_stopped() ||
            strcmp(json_text(json_member(json_member(*doc, "bundle"), "state")), "running") != 0)
            break;
        nanosleep(&pause, NULL);
    }
    return rc;
}

static int refine_run(void *arguments)
{
    const struct arguments *o = arguments;
    struct reconctl_link link;
    struct json *doc = NULL;
    char path[96], id[CONTROL_ID_CAP], state[RECONCTL_SHOWN], *answer = NULL;
    struct err err;
    size_t len;
    int rc, code = RECONCTL_OK;

    if (reconctl_link_open(&link, &o->common, false, &err))
        return reconctl_fail(&o->common, &err);
    rc = reconctl_find_session(id, link.client, o->common.operands[0], &err);
    snprintf(path, sizeof path, "/v1/sessions/%s/refine", id);
    if (rc == 0)
        rc = client_request(link.client, "POST", path, NULL, &answer, &len, NULL, &err);
    snprintf(path, sizeof path, "/v1/sessions/%s", id);
    if (rc == 0)
        rc = refine_wait(&doc, &answer, link.client, path, &err);
    if (rc) {
        code = reconctl_fail_server(&o->common, &err);
        goto out;
    }
    reconctl_member(state, json_member(doc, "bundle"), "state");
    if (reconctl_json(&o->common))
        reconctl_print_json("session", answer);
    else
        print_bundle(json_member(doc, "bundle"), state);
    if (reconctl_stopped())
        code = RECONCTL_INTERRUPTED;
    else if (strcmp(state, "failed") == 0)
        code = RECONCTL_FAILURE;
out:
    json_free(&doc);
    free(answer);
    reconctl_link_close(&link);
    return code;
}

RECONCTL_COMMAND(session_refine, "session refine", "SESSION",
                 "Correct path and cloud of a closed session by the places that it saw again",
                 refine_run, sizeof(struct arguments));
