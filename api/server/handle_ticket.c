/* handle_ticket.c - one-time tickets of a session, and their exchange for tokens */
#include "api/server/request_body.h"
#include "api/server/routes.h"
#include "api/server/stream_url.h"
#include "api/server/ticket.h"

#include <string.h>

#define ANSWER_MAX 1024

/* Reads the body, which may be absent. Returns 0, or -1 after leaving a problem. */
static int read_wish(struct http_request *r, int *scope, int *lasts_s)
{
    static const char *const members[] = {"scope", "expires_s", NULL};
    static const char *const scopes[] = {"view", "ingest", NULL}; /* in the order of auth_scope */
    struct json_issues issues = {0};
    struct json *doc;
    struct json_at at;

    if (request_body_parse(r, &doc))
        return -1;
    if (!doc)
        return 0;
    at = json_at(doc, &issues);
    json_only(&at, members);
    json_get_choice(&at, "scope", scope, scopes);
    json_get_int(&at, "expires_s", lasts_s, 1, TICKET_LASTS_MAX_S);
    json_free(&doc);
    if (issues.n == 0)
        return 0;
    answer_problem_fields(r, &issues);
    return -1;
}

static void leave_ticket(struct http_request *r, const struct ticket *t, const char *text,
                         int lasts_s)
{
    char *buf = answer_room(r, ANSWER_MAX);
    struct json_writer w;

    if (!buf)
        return;
    w = json_writer(buf, ANSWER_MAX);
    json_open_map(&w, NULL);
    json_put_text(&w, "ticket", text);
    json_put_text(&w, "scope", token_scope_name(t->scope));
    json_put_i64(&w, "expires_s", lasts_s);
    json_close(&w);
    answer_json(r, 201, &w);
}

void handle_ticket_make(struct http_request *r)
{
    int scope = AUTH_VIEW, lasts_s = TICKET_LASTS_S;
    struct session_info info = {0};
    char text[TOKEN_CAP] = "";
    struct ticket t = {{0}};
    struct err err = {0};

    if (read_wish(r, &scope, &lasts_s))
        return;
    t.scope = scope;
    memcpy(t.session, r->id, sizeof t.session);
    /* A session's ingest token may delete it. No token may issue more rights than it has. */
    if ((scope == AUTH_INGEST && auth_may(&r->who, AUTH_DELETE, r->id, &err)) ||
        r->config->ops->session_get(r->config->core, r->id, &info, &err) ||
        ticket_make(auth_tickets(r->auth), &t, ticket_now_s(), lasts_s, text, &err))
        answer_problem_err(r, &err);
    else
        leave_ticket(r, &t, text, lasts_s);
    explicit_bzero(text, sizeof text);
}

static void leave_token(struct http_request *r, const struct ticket *t, const char *token)
{
    char *buf = answer_room(r, ANSWER_MAX);
    struct json_writer w;

    if (!buf)
        return;
    w = json_writer(buf, ANSWER_MAX);
    json_open_map(&w, NULL);
    json_put_text(&w, "session", t->session);
    json_put_text(&w, "scope", token_scope_name(t->scope));
    json_put_text(&w, "token", token);
    stream_url_write(&w, r, t->session);
    json_close(&w);
    answer_json(r, 201, &w);
}

/* Adds a token to those of the session; it is on the disk before the answer tells it. */
static int add_token(struct http_request *r, const struct ticket *t, char token[TOKEN_CAP],
                     struct err *err)
{
    struct api_token kept[API_SESSION_TOKENS];
    struct session_info info = {0};
    int rc, n;

    n = auth_kept(r->auth, t->session, kept, API_SESSION_TOKENS);
    if (n == API_SESSION_TOKENS)
        return err_set(err, ERR_STATE,
                       "this session has %d tokens: new ones (POST .../tokens) void the others", n);
    rc = r->config->ops->session_get(r->config->core, t->session, &info, err);
    if (rc == 0)
        rc = auth_issue(r->auth, t->session, (enum auth_scope)t->scope, info.owner, token, &kept[n],
                        err);
    if (rc)
        return rc;
    rc = r->config->ops->tokens_keep(r->config->core, t->session, kept, n + 1, err);
    if (rc)
        auth_keep_only(r->auth, t->session, kept, n);
    return rc;
}

/* The gate has found the ticket; only one request takes it. */
void handle_ticket_exchange(struct http_request *r)
{
    char token[TOKEN_CAP] = "";
    struct err err = {0};
    struct ticket t;

    if (request_body_empty(r))
        return;
    if (!ticket_take(auth_tickets(r->auth), r->who.sha256, ticket_now_s(), &t)) {
        answer_header(r, "WWW-Authenticate", "Bearer realm=\"recond\", error=\"invalid_token\"");
        answer_problem(r, PROBLEM_UNAUTHORIZED, "the ticket is not valid");
    } else if (add_token(r, &t, token, &err)) {
        answer_problem_err(r, &err);
    } else {
        leave_token(r, &t, token);
    }
    explicit_bzero(token, sizeof token);
}
