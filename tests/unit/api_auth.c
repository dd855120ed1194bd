/* api_auth.c - tokens: the file, issued ones, and every route against every kind of token */
#include "api/server/auth.h"
#include "api/server/http.h"
#include "api/server/ws.h"
#include "api/server/routes.h"
#include "tests/support/edge_case.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* SHA-256 of "abc" (FIPS 180-2, appendix B.1) and of "" */
#define ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static char file[] = "/tmp/recond-auth-XXXXXX";

FIXTURE(make_file)
{
    int fd = mkstemp(file);
    return fd < 0 ? -1 : close(fd);
}

FIXTURE(remove_file)
{
    return unlink(file);
}

static void write_file(const char *text)
{
    FILE *f;

    /* as test_file_mode() leaves it, only root could write */
    assert_int_equal(chmod(file, 0600), 0);
    f = fopen(file, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int try_open(struct auth **a, struct err *err)
{
    struct api_config config = {.auth_mode = API_AUTH_TOKEN, .token_file = file};
    return auth_open(a, &config, err);
}

TEST(test_file_tokens)
{
    struct auth *a;
    struct auth_who who;
    struct err err = {0};

    write_file("# comment\n\n  boss\tadmin  " ABC "  \r\n");
    assert_int_equal(try_open(&a, &err), 0);
    assert_int_equal(auth_check(a, "abc", 3, &who, &err), 0);
    assert_string_equal(who.name, "boss");
    assert_int_equal(who.scope, AUTH_ADMIN);
    assert_string_equal(who.session, "");
    assert_int_equal(auth_check(a, "abd", 3, &who, &err), ERR_DENIED);
    assert_int_equal(auth_check(a, "abc ", 4, &who, &err), ERR_DENIED);
    assert_int_equal(auth_check(a, "ab", 2, &who, &err), ERR_DENIED);
    assert_int_equal(auth_check(a, NULL, 0, &who, &err), ERR_DENIED);
    auth_close(&a);
    assert_null(a);
    /* the hash of the empty token opens nothing */
    write_file("x admin " EMPTY "\n");
    assert_int_equal(try_open(&a, &err), 0);
    assert_int_equal(auth_check(a, "", 0, &who, &err), ERR_DENIED);
    auth_close(&a);
}

TEST(test_expiry)
{
    struct auth *a;
    struct auth_who who;
    struct err err = {0};

    write_file("x view " ABC " 2001-01-01\n");
    assert_int_equal(try_open(&a, &err), 0);
    assert_int_equal(auth_check(a, "abc", 3, &who, &err), ERR_DENIED);
    auth_close(&a);
    write_file("x view " ABC " 2999-01-01T00:00:00Z\n");
    assert_int_equal(try_open(&a, &err), 0);
    assert_int_equal(auth_check(a, "abc", 3, &who, &err), 0);
    auth_close(&a);
}

TEST(test_bad_files)
{
    static const char *const bad[] = {
        "x admin\n",
        "x root " ABC "\n",
        "x admin ba78\n",
        "x admin " ABC "0\n",
        "x admin g" ABC "\n",
        "x admin " ABC " tomorrow\n",
        "x admin " ABC " 2026-13-01\n",
        "x admin " ABC " 2026-01-01 more\n",
        "x admin " ABC " 2026-01-01 seats=1\n",
        "x admin " ABC " sessions=1 2026-01-01\n",
        "x/y admin " ABC "\n",
        "a-name-of-more-than-sixty-three-bytes-that-no-log-line-wants-to-hold admin " ABC "\n"};
    struct auth *a;
    char good_then_bad[512];

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err err = {0};
        snprintf(good_then_bad, sizeof good_then_bad, "ok view " EMPTY "\n%s", bad[i]);
        write_file(good_then_bad);
        assert_int_equal(try_open(&a, &err), ERR_INPUT);
        assert_null(a);
        assert_non_null(strstr(err.where, ":2")); /* file:line */
        assert_null(strstr(err.text, "ba78"));    /* what stands there may be a secret */
    }
}

TEST(test_file_mode)
{
    struct auth *a;
    struct err err = {0};

    write_file("x admin " ABC "\n");
    for (int bit = 0; bit < 6; bit++) {
        chmod(file, 0600 | (mode_t)1 << bit);
        assert_int_equal(try_open(&a, &err), ERR_INPUT);
        assert_non_null(strstr(err.text, "0600"));
    }
    chmod(file, 0400);
    assert_int_equal(try_open(&a, &err), 0);
    auth_close(&a);
}

TEST(test_reload)
{
    struct auth *a;
    struct auth_who who;
    struct err err = {0};
    struct api_token kept;
    char token[TOKEN_CAP];

    write_file("x admin " ABC "\n");
    assert_int_equal(try_open(&a, &err), 0);
    assert_int_equal(auth_issue(a, "s1", AUTH_VIEW, "", token, &kept, &err), 0);
    write_file("broken\n");
    assert_int_equal(auth_reload(a, &quota_none, &err), ERR_INPUT);
    assert_int_equal(auth_check(a, "abc", 3, &who, &err), 0); /* the old ones stay */
    write_file("# none\n");
    assert_int_equal(auth_reload(a, &quota_none, &err), 0);
    assert_int_equal(auth_check(a, "abc", 3, &who, &err), ERR_DENIED);
    assert_int_equal(auth_check(a, token, strlen(token), &who, &err), 0); /* not of the file */
    auth_close(&a);
}

TEST(test_issued_tokens)
{
    struct auth *a;
    struct auth_who who;
    struct err err = {0};
    struct api_token kept;
    char one[TOKEN_CAP], two[TOKEN_CAP];

    write_file("");
    assert_int_equal(try_open(&a, &err), 0);
    assert_int_equal(auth_issue(a, "s1", AUTH_INGEST, "", one, &kept, &err), 0);
    assert_int_equal(auth_issue(a, "s2", AUTH_VIEW, "", two, &kept, &err), 0);
    assert_int_equal(strlen(one), 22);
    assert_int_equal(
        strspn(one, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"), 22);
    assert_string_not_equal(one, two);
    assert_int_equal(auth_check(a, one, 22, &who, &err), 0);
    assert_string_equal(who.session, "s1");
    assert_int_equal(who.scope, AUTH_INGEST);
    assert_int_equal(auth_may(&who, AUTH_FEED, "s1", &err), 0);
    assert_int_equal(auth_may(&who, AUTH_DELETE, "s1", &err), 0);
    assert_int_equal(auth_may(&who, AUTH_READ, "s2", &err), ERR_NOT_FOUND);
    assert_int_equal(auth_may(&who, AUTH_CREATE, "", &err), ERR_DENIED);
    auth_forget_session(a, "s1");
    assert_int_equal(auth_check(a, one, 22, &who, &err), ERR_DENIED);
    assert_int_equal(auth_check(a, two, 22, &who, &err), 0);
    auth_close(&a);
}

TEST(test_issued_tokens_are_bounded)
{
    struct auth *a;
    struct err err = {0};
    struct api_token kept;
    char token[TOKEN_CAP];

    write_file("");
    assert_int_equal(try_open(&a, &err), 0);
    for (int i = 0; i < AUTH_SESSION_TOKENS; i++)
        assert_int_equal(auth_issue(a, i % 2 ? "odd" : "even", AUTH_VIEW, "", token, &kept, &err),
                         0);
    assert_int_equal(auth_issue(a, "more", AUTH_VIEW, "", token, &kept, &err), ERR_BUSY);
    auth_forget_session(a, "odd");
    assert_int_equal(auth_issue(a, "more", AUTH_VIEW, "", token, &kept, &err), 0);
    auth_close(&a);
}

/* What auth_issue() gave to keep opens the same door after a restart, and nothing else does. */
TEST(test_kept_tokens)
{
    struct auth *a;
    struct auth_who who;
    struct err err = {0};
    struct api_token kept, wrong;
    char token[TOKEN_CAP];

    write_file("");
    assert_int_equal(try_open(&a, &err), 0);
    assert_int_equal(auth_issue(a, "s1", AUTH_INGEST, "", token, &kept, &err), 0);
    assert_string_equal(kept.session, "s1");
    auth_close(&a);
    assert_int_equal(try_open(&a, &err), 0);
    assert_int_equal(auth_check(a, token, 22, &who, &err), ERR_DENIED);
    assert_int_equal(auth_adopt(a, &kept, &err), 0);
    assert_int_equal(auth_check(a, token, 22, &who, &err), 0);
    assert_string_equal(who.session, "s1");
    assert_int_equal(who.scope, AUTH_INGEST);
    assert_int_equal(auth_check(a, (const char *)kept.sha256, 32, &who, &err), ERR_DENIED);
    /* a file that was changed by hand makes no administrators, and none without a session */
    wrong = kept;
    wrong.scope = AUTH_ADMIN;
    assert_int_equal(auth_adopt(a, &wrong, &err), ERR_INPUT);
    wrong.scope = -1;
    assert_int_equal(auth_adopt(a, &wrong, &err), ERR_INPUT);
    wrong = kept;
    wrong.session[0] = '\0';
    assert_int_equal(auth_adopt(a, &wrong, &err), ERR_INPUT);
    memset(wrong.session, 'x', sizeof wrong.session);
    assert_int_equal(auth_adopt(a, &wrong, &err), ERR_INPUT);
    auth_forget_session(a, "s1");
    assert_int_equal(auth_check(a, token, 22, &who, &err), ERR_DENIED);
    auth_close(&a);
}

/* A session's tokens hang on the line of the token that the session was made with, and each stream
 * hears that it has to ask again. */
TEST(test_owner_revoked)
{
    struct auth *a;
    struct auth_who who, boss;
    struct err err = {0};
    struct api_token kept[2];
    char one[TOKEN_CAP], two[TOKEN_CAP];
    unsigned generation;

    write_file("phone ingest " ABC "\n");
    assert_int_equal(try_open(&a, &err), 0);
    assert_int_equal(auth_issue(a, "s1", AUTH_INGEST, "phone", one, &kept[0], &err), 0);
    assert_int_equal(auth_check(a, "abc", 3, &boss, &err), 0);
    assert_int_equal(auth_check(a, one, 22, &who, &err), 0);
    assert_true(auth_holds(a, &who) && auth_holds(a, &boss));
    generation = auth_generation(a);
    write_file("phone ingest " EMPTY "\n"); /* a new token of that name */
    assert_int_equal(auth_reload(a, &quota_none, &err), 0);
    assert_int_not_equal(auth_generation(a), generation);
    assert_true(auth_holds(a, &who));
    assert_false(auth_holds(a, &boss));
    write_file("phone ingest " ABC " 2001-01-01\n");
    assert_int_equal(auth_reload(a, &quota_none, &err), 0);
    assert_int_equal(auth_check(a, one, 22, &who, &err), ERR_DENIED);
    write_file("wall ingest " ABC "\n");
    assert_int_equal(auth_reload(a, &quota_none, &err), 0);
    assert_int_equal(auth_check(a, one, 22, &who, &err), ERR_DENIED);
    write_file("phone ingest " ABC "\n");
    assert_int_equal(auth_reload(a, &quota_none, &err), 0);
    assert_int_equal(auth_check(a, one, 22, &who, &err), 0);
    assert_int_equal(auth_issue(a, "s1", AUTH_INGEST, "phone", two, &kept[1], &err), 0);
    generation = auth_generation(a);
    auth_keep_only(a, "s1", &kept[1], 1);
    assert_int_not_equal(auth_generation(a), generation);
    assert_false(auth_holds(a, &who));
    assert_int_equal(auth_check(a, two, 22, &who, &err), 0);
    auth_close(&a);
}

static struct auth *adopter;
static void adopt(void *ctx, const struct api_token *kept)
{
    struct err err = {0};

    ++*(int *)ctx;
    assert_int_equal(auth_adopt(adopter, kept, &err), 0);
}

/* POST /v1/sessions has both hashes kept before it answers; without that there is no session. */
EDGE_TEST(test_tokens_are_kept_with_their_session)
{
    struct edge_session s;
    struct edge_answer a;
    struct auth_who who;
    struct err err = {0};
    int n = 0;

    s = edge_session(&edge, NULL);
    write_file("boss admin " EMPTY "\n"); /* edge_session() makes it for this one */
    assert_int_equal(try_open(&adopter, &err), 0);
    fake_core_ops()->tokens_each(fake_core_core(edge.core), adopt, &n);
    assert_int_equal(n, 2);
    assert_int_equal(auth_check(adopter, s.ingest, strlen(s.ingest), &who, &err), 0);
    assert_int_equal(who.scope, AUTH_INGEST);
    assert_string_equal(who.session, s.id);
    assert_int_equal(auth_check(adopter, s.view, strlen(s.view), &who, &err), 0);
    assert_int_equal(who.scope, AUTH_VIEW);
    auth_close(&adopter);
    fake_core_lose_tokens(edge.core);
    a = edge_request(&edge, "POST", "/v1/sessions", EDGE_ADMIN, NULL);
    assert_int_equal(a.status, 500);
    assert_null(strstr(a.body, "fake disk")); /* what went wrong inside is for the log */
    edge_answer_free(&a);
    assert_int_equal(fake_core_counts(edge.core).sessions, 1);
}

TEST(test_bearer)
{
    size_t len;

    assert_string_equal(auth_bearer("Bearer abc", &len), "abc");
    assert_int_equal(len, 3);
    assert_non_null(auth_bearer("bearer  abc  ", &len));
    assert_int_equal(len, 3);
    assert_string_equal(auth_bearer("Bearer", &len), "");
    assert_string_equal(auth_bearer("Bearer ", &len), "");
    assert_string_equal(auth_bearer("Bearerabc", &len), "");
    assert_string_equal(auth_bearer("Basic abc", &len), "");
    assert_string_equal(auth_bearer("Bearer a b", &len), "");
    assert_string_equal(auth_bearer("Bearer a, Bearer b", &len), "");
    assert_int_equal(len, 0); /* no thread reads what is not there */
}

TEST(test_base64url)
{
    char out[8];

    assert_int_equal(token_base64url_decode("YWJj", 4, out, sizeof out), 3);
    assert_memory_equal(out, "abc", 3);
    assert_int_equal(token_base64url_decode("YWI", 3, out, sizeof out), 2);
    assert_int_equal(token_base64url_decode("_-8", 3, out, sizeof out), 2);
    assert_memory_equal(out, "\xff\xef", 2);
    assert_int_equal(token_base64url_decode("YWJj=", 5, out, sizeof out), 0);
    assert_int_equal(token_base64url_decode("YW+/", 4, out, sizeof out), 0);
    assert_int_equal(token_base64url_decode("YWJ", 3, out, sizeof out), 0); /* bits left over */
    assert_int_equal(token_base64url_decode("Y", 1, out, sizeof out), 0);
    assert_int_equal(token_base64url_decode("YWJjYWJjYWJj", 12, out, sizeof out), 0); /* too long */
}

/* ----------------------------------------------------------------------- routes x tokens */

enum kind { NO, WRONG, EXPIRED, VIEW, INGEST, ADMIN, OWN_VIEW, OWN_INGEST, FOREIGN, KINDS };

/* What each right answers to each kind of token: the table of auth.h, once more by hand. */
static int expected(enum auth_right right, enum kind kind, bool on_session)
{
    static const int yes = 200;

    if (right == AUTH_NONE)
        return yes;
    if (kind == NO || kind == WRONG || kind == EXPIRED || right == AUTH_TICKET)
        return 401; /* a token is no ticket */
    if (on_session && kind == FOREIGN)
        return 404;
    switch (right) {
    case AUTH_ANY:
        return yes;
    case AUTH_GLOBAL:
        return kind == VIEW || kind == INGEST || kind == ADMIN ? yes : 403;
    case AUTH_CREATE:
        return kind == INGEST || kind == ADMIN ? yes : 403;
    case AUTH_READ:
        return yes;
    case AUTH_FEED:
        return kind == INGEST || kind == ADMIN || kind == OWN_INGEST ? yes : 403;
    case AUTH_DELETE:
        return kind == ADMIN || kind == OWN_INGEST ? yes : 403;
    default:
        return -1;
    }
}

/* The route's path for a session, of whose numbered things the first is asked for. */
static void fill_in(char *target, size_t cap, const char *path, const char *id)
{
    const char *hole = strstr(path, "{id}"), *number = strstr(path, "{n}");

    if (hole && number)
        snprintf(target, cap, "%.*s%s%.*s0", (int)(hole - path), path, id, (int)(number - hole - 4),
                 hole + 4);
    else if (hole)
        snprintf(target, cap, "%.*s%s%s", (int)(hole - path), path, id, hole + 4);
    else
        snprintf(target, cap, "%s", path);
}

static void one_request(struct edge *e, const struct routes_entry *route, enum kind kind)
{
    struct edge_session own = edge_session(e, "{\"preview\":true}"), other = edge_session(e, NULL);
    const char *tokens[KINDS] = {NULL,       "wrong",  EDGE_EXPIRED, EDGE_VIEW,   EDGE_INGEST,
                                 EDGE_ADMIN, own.view, own.ingest,   other.ingest};
    const char *hole = strstr(route->path, "{id}");
    const char *body = fake_objects_body(route->method, route->path);
    struct edge_answer a;
    char target[128];
    int want = expected(route->right, kind, hole != NULL);

    /* an unknown session is answered as a foreign one is, to those that hold no right over all */
    if (hole && (kind == OWN_VIEW || kind == OWN_INGEST || kind == ADMIN)) {
        fill_in(target, sizeof target, route->path, "aaaabbbbccccddddeeeeffff22");
        a = edge_request(e, route->method, target, tokens[kind], body);
        assert_int_equal(a.status, 404);
        edge_answer_free(&a);
    }
    fill_in(target, sizeof target, route->path, own.id);
    fake_objects_reset(target);
    want = want == 200 && strstr(route->path, "/refine") ? 409 : want; /* it has not ended */
    a = edge_request(e, route->method, target, tokens[kind], body);
    if (want == 200 ? a.status < 200 || a.status > 299 : a.status != want)
        fail_msg("%s %s, token %d: %d, not %d", route->method, target, kind, a.status, want);
    if (a.status == 401)
        assert_int_equal(strncmp(edge_header(&a, "WWW-Authenticate"), "Bearer", 6), 0);
    edge_answer_free(&a);
}

EDGE_TEST(test_every_route_with_every_token)
{
    const struct routes_entry *route;

    for (int i = 0; (route = routes_at(i)) != NULL; i++)
        for (enum kind kind = NO; kind < KINDS; kind++)
            one_request(&edge, route, kind);
    assert_false(edge_logged(&edge, EDGE_ADMIN));
    assert_true(edge_logged(&edge, "\"token\":\"boss\"")); /* names are logged, tokens never */
}

EDGE_TEST(test_odd_tokens)
{
    static const char *const lines[] = {"Authorization:\r\n",
                                        "Authorization: Bearer\r\n",
                                        "Authorization: Basic Ym9zczp4\r\n",
                                        "Authorization: Bearer " EDGE_ADMIN " x\r\n",
                                        "Authorization: " EDGE_ADMIN "\r\n",
                                        "Cookie: token=" EDGE_ADMIN "\r\n"};

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char text[256];
        snprintf(text, sizeof text, "GET /v1/models HTTP/1.1\r\nHost: a\r\n%s\r\n", lines[i]);
        expect_raw(text, 401);
    }
}

/* ------------------------------------------------------------------------------- without tokens */

TEST(test_no_tokens_on_loopback_alone)
{
    struct api_config config = {.auth_mode = API_AUTH_NONE,
                                .http_host = "0.0.0.0",
                                .ws_host = "0.0.0.0",
                                .http_fd = -1,
                                .ws_fd = -1,
                                .max_connections = 4,
                                .max_per_address = 4};
    struct sockaddr_in any = {.sin_family = AF_INET};
    struct auth *a;
    struct http *h;
    struct ws *w;
    struct err err = {0};
    int fd;

    assert_int_equal(auth_open(&a, &config, &err), 0);
    assert_int_equal(http_start(&h, &config, a, &err), ERR_INPUT);
    assert_null(h);
    assert_int_equal(ws_start(&w, &config, a, &err), ERR_INPUT);
    assert_null(w);
    /* nor through a socket of another process */
    fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&any, sizeof any), 0);
    assert_int_equal(listen(fd, 5), 0);
    config.http_fd = fd;
    assert_int_equal(http_start(&h, &config, a, &err), ERR_INPUT);
    config.http_fd = -1;
    config.http_host = "localhost"; /* names are not looked up */
    assert_int_equal(http_start(&h, &config, a, &err), ERR_INPUT);
    close(fd);
    auth_close(&a);
}

TEST(test_names_that_point_at_loopback)
{
    edge_defaults(&edge);
    edge.config.auth_mode = API_AUTH_NONE;
    edge_start(&edge);
    expect_raw("GET /v1/sessions HTTP/1.1\r\nHost: localhost:1234\r\n\r\n", 200);
    expect_raw("GET /v1/sessions HTTP/1.1\r\nHost: rebound.example\r\n\r\n", 421);
    expect_raw("GET /v1/sessions HTTP/1.1\r\nHost: 127.0.0.1.rebound.example\r\n\r\n", 421);
    expect_raw("POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\n"
               "Origin: http://evil.example\r\n\r\n",
               403);
    edge_stop(&edge);
}

/* A socket of the service manager is served as it is. */
TEST(test_given_sockets)
{
    struct sockaddr_in any = {.sin_family = AF_INET};
    struct edge_answer a;
    socklen_t len = sizeof any;

    edge_defaults(&edge);
    edge.config.http_fd = socket(AF_INET, SOCK_STREAM, 0);
    any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(edge.config.http_fd, (struct sockaddr *)&any, sizeof any), 0);
    assert_int_equal(listen(edge.config.http_fd, 5), 0);
    assert_int_equal(getsockname(edge.config.http_fd, (struct sockaddr *)&any, &len), 0);
    edge_start(&edge);
    assert_int_equal(http_port(edge.http), ntohs(any.sin_port));
    a = edge_request(&edge, "GET", "/livez", NULL, NULL);
    assert_int_equal(a.status, 200);
    edge_answer_free(&a);
    edge_stop(&edge);
}

TEST_GROUP(make_file, remove_file)
