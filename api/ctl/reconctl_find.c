#include "api/ctl/reconctl_link.h"

#include <string.h>

#define ID_CHARACTERS 26

struct search {
    const char *text;
    char id[CONTROL_ID_CAP]; /* first id that fits */
    int n_named, n_begun;    /* sessions with this name; sessions whose id begins with the text */
};

/* Searches one page of the list. A name goes before the beginning of an id. */
static void search_page(struct search *s, const struct json *list)
{
    const struct json *one;

    for (size_t i = 0; (one = json_item(list, i)); i++) {
        const char *id = json_text(json_member(one, "id"));
        bool named = strcmp(json_text(json_member(one, "name")), s->text) == 0;
        bool begun = strncmp(id, s->text, strlen(s->text)) == 0;

        if ((named && s->n_named == 0) || (begun && s->n_named + s->n_begun == 0))
            snprintf(s->id, sizeof s->id, "%s", id);
        s->n_named += named;
        s->n_begun += begun;
    }
}

int reconctl_find_session(char id[CONTROL_ID_CAP], struct client *client, const char *text,
                          struct err *err)
{
    struct search s = {.text = text};
    char path[96] = "/v1/sessions?limit=100", next[32] = "";
    struct json *doc = NULL;
    bool may_be_id = strspn(text, "abcdefghijklmnopqrstuvwxyz234567") == strlen(text) && *text;
    int rc, n;

    snprintf(id, CONTROL_ID_CAP, "%s", text);
    if (may_be_id && strlen(text) == ID_CHARACTERS)
        return 0;
    do {
        rc = reconctl_get(client, path, &doc, err);
        if (rc == 0) {
            search_page(&s, json_member(doc, "sessions"));
            snprintf(next, sizeof next, "%s", json_text(json_member(doc, "next")));
            snprintf(path, sizeof path, "/v1/sessions?limit=100&cursor=%s", next);
        }
        json_free(&doc);
    } while (rc == 0 && *next);
    if (rc)
        return rc;
    n = s.n_named ? s.n_named : may_be_id ? s.n_begun : 0;
    if (n == 0)
        return err_set(err, ERR_NOT_FOUND, "no session is called '%.60s' or has an id like that",
                       text);
    if (n > 1)
        return err_set(err, ERR_INPUT, "%d sessions %s '%.60s': `reconctl session list` has ids", n,
                       s.n_named ? "are called" : "have an id that begins with", text);
    snprintf(id, CONTROL_ID_CAP, "%s", s.id);
    return 0;
}
