/*
 * api_matrix.c - one gate: every route x method x spelling of its path x token, and the upgrade
 *
 * The routes are asked for from the table that the server itself uses, so a new one is in here by
 * itself. What passes is decided by a table of its own; everything else must be refused, change
 * nothing, and tell nothing of the session that stands behind the path. Every combination is a
 * connection of its own, so all 71,148 take half a minute of a processor: `make check` asks each
 * route by its own method and path with every token, and draws one in eight of the others.
 */
#include "api/server/routes.h"
#include "tests/support/sample.h"
#include "tests/support/edge_case.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECRET_NAME "the-bedroom-upstairs" /* of the session: no refusal may hold it */
#define UNKNOWN_ID "aaaabbbbccccddddeeeeffff22"
#define REQUEST_CAP 32768

static struct edge_session own, foreign;
static char long_token[8193];

/* ------------------------------------------------------------------------------- tokens */

enum kind {
    NONE,
    NO_VALUE,     /* Authorization: */
    NO_TOKEN,     /* Authorization: Bearer */
    NO_SCHEME,    /* Authorization: TOKEN */
    OTHER_SCHEME, /* Authorization: Basic TOKEN */
    IN_COOKIE,
    WRONG,
    EXPIRED,
    LONG,       /* 8 kB */
    CUT,        /* the right one without its last character */
    EXTENDED,   /* and one character more */
    SWAPPED,    /* upper case for lower, and the other way round */
    ITS_HASH,   /* what the token file holds */
    TWICE,      /* the right one in two headers */
    WITH_WRONG, /* the right one, then a wrong one, in two headers */
    IN_LIST,    /* both in one header */
    FOREIGN,    /* another session's */
    OWN_VIEW,
    OWN_INGEST,
    FILE_VIEW,
    FILE_INGEST,
    FILE_ADMIN,
    KINDS
};

/* SHA-256 of EDGE_ADMIN, as edge.c writes it into the file */
#define ADMIN_HASH "1308e539698ba55f88147ca92155c41ba0d15265cbd67e33ee20510fd61f2637"

static size_t put_token(char *out, enum kind kind)
{
    static const char *const bearers[KINDS] = {
        [WRONG] = "AAAAAAAAAAAAAAAAAAAAAA",
        [EXPIRED] = EDGE_EXPIRED,
        [LONG] = long_token,
        [EXTENDED] = EDGE_ADMIN "x",
        [SWAPPED] = "EDGE-ADMIN-TOKEN",
        [ITS_HASH] = ADMIN_HASH,
        [FOREIGN] = foreign.ingest,
        [OWN_VIEW] = own.view,
        [OWN_INGEST] = own.ingest,
        [FILE_VIEW] = EDGE_VIEW,
        [FILE_INGEST] = EDGE_INGEST,
        [FILE_ADMIN] = EDGE_ADMIN,
    };
    static const char *const lines[KINDS] = {
        [NONE] = "",
        [NO_VALUE] = "Authorization:\r\n",
        [NO_TOKEN] = "Authorization: Bearer \r\n",
        [NO_SCHEME] = "Authorization: " EDGE_ADMIN "\r\n",
        [OTHER_SCHEME] = "Authorization: Basic " EDGE_ADMIN "\r\n",
        [IN_COOKIE] = "Cookie: Authorization=Bearer " EDGE_ADMIN "; token=" EDGE_ADMIN "\r\n",
        [TWICE] =
            "Authorization: Bearer " EDGE_ADMIN "\r\nAuthorization: Bearer " EDGE_ADMIN "\r\n",
        [WITH_WRONG] = "Authorization: Bearer " EDGE_ADMIN "\r\nauthorization: Bearer x\r\n",
        [IN_LIST] = "Authorization: Bearer " EDGE_ADMIN ", Bearer " EDGE_ADMIN "\r\n",
    };

    if (kind == CUT)
        return (size_t)sprintf(out, "Authorization: Bearer %.*s\r\n", (int)strlen(EDGE_ADMIN) - 1,
                               EDGE_ADMIN);
    if (lines[kind])
        return (size_t)sprintf(out, "%s", lines[kind]);
    return (size_t)sprintf(out, "Authorization: Bearer %s\r\n", bearers[kind]);
}

/* The table of auth.h by hand. */
static bool may(enum kind kind, enum auth_right right)
{
    switch (right) {
    case AUTH_NONE:
        return kind != TWICE && kind != WITH_WRONG; /* such a request is refused everywhere */
    case AUTH_ANY:
        return kind >= FOREIGN;
    case AUTH_GLOBAL:
        return kind == FILE_VIEW || kind == FILE_INGEST || kind == FILE_ADMIN;
    case AUTH_CREATE:
        return kind == FILE_INGEST || kind == FILE_ADMIN;
    case AUTH_READ:
        return kind > FOREIGN;
    case AUTH_FEED:
        return kind == OWN_INGEST || kind == FILE_INGEST || kind == FILE_ADMIN;
    case AUTH_DELETE:
        return kind == OWN_INGEST || kind == FILE_ADMIN;
    case AUTH_TICKET:
        return false; /* a token is no ticket */
    }
    return false;
}

/* ------------------------------------------------------------------------------- paths */

static const char *const spellings[] = {
    "%s",                          /* as it is */
    "%s/",                         /* a step more that is empty */
    "/%s",                         /* two slashes */
    "/.%s",                        /* a step that stays */
    "/v1/..%s",                    /* one that goes back */
    "%s/../sessions",              /* to another route */
    "%s%%00",                      /* NUL */
    "%s%%2f",                      /* an escaped slash */
    "%s/%%2e%%2e/sessions",        /* escaped dots */
    "%s;x",                        /* a parameter of old */
    "%s;/../sessions",             /* Tomcat's favourite */
    "%s%%20",                      /* a blank */
    "%s#x",                        /* a fragment */
    "%s\\",                        /* a Windows slash */
    "%s?access_token=" EDGE_ADMIN, /* a token in the URL */
    "%s?limit=0",                  /* a parameter that is wrong */
    "http://127.0.0.1%s",          /* as to a proxy */
    "//127.0.0.1%s",               /* a host without a scheme */
    "UPPER",                       /* upper case */
    "ESCAPED",                     /* the first letter escaped */
    "LONG",                        /* 4 kB */
};
#define N_SPELLINGS ((int)(sizeof spellings / sizeof *spellings))

static void put_path(char *out, size_t cap, int spelling, const char *path)
{
    const char *how = spellings[spelling];

    if (strcmp(how, "UPPER") == 0) {
        for (; *path; path++)
            *out++ = (char)toupper((unsigned char)*path);
        *out = '\0';
    } else if (strcmp(how, "ESCAPED") == 0) {
        snprintf(out, cap, "/%%%02x%s", (unsigned char)path[1], path + 2);
    } else if (strcmp(how, "LONG") == 0) {
        snprintf(out, cap, "%s/%0*d", path, 4096, 0);
    } else {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(out, cap, how, path);
#pragma GCC diagnostic pop
    }
}

static const char *const methods[] = {"GET",     "HEAD",  "POST",    "PUT", "DELETE", "PATCH",
                                      "OPTIONS", "TRACE", "CONNECT", "FOO", "get"};
#define N_METHODS ((int)(sizeof methods / sizeof *methods))

/* "/" has no letter that could be written otherwise. */
static bool applies(int spelling, const char *path)
{
    return strcmp(path, "/") != 0 || (strcmp(spellings[spelling], "UPPER") != 0 &&
                                      strcmp(spellings[spelling], "ESCAPED") != 0);
}

/* The route of this method at the same path, NULL = none: HEAD is GET. */
static const struct routes_entry *route_of(const char *path, const char *method)
{
    const struct routes_entry *r;

    for (int i = 0; (r = routes_at(i)) != NULL; i++)
        if (strcmp(r->path, path) == 0 &&
            strcmp(r->method, strcmp(method, "HEAD") == 0 ? "GET" : method) == 0)
            return r;
    return NULL;
}

/* ------------------------------------------------------------------------------- the matrix */

FIXTURE(setup)
{
    memset(long_token, 'a', sizeof long_token - 1);
    edge_defaults(&edge);
    edge_start(&edge);
    return 0;
}

/* Both sessions as they were; the last request may have deleted one. */
static void renew_sessions(void)
{
    static const char options[] = "{\"preview\":true,\"name\":\"" SECRET_NAME "\"}";
    struct session_info info;
    struct err err;
    const struct core_ops *ops = fake_core_ops();

    if (!own.id[0] || ops->session_get(fake_core_core(edge.core), own.id, &info, &err))
        own = edge_session(&edge, options);
    if (!foreign.id[0])
        foreign = edge_session(&edge, options);
}

static struct edge_answer ask(const char *method, const char *target, enum kind kind)
{
    static char text[REQUEST_CAP];
    int n = snprintf(text, sizeof text, "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\n", method, target);
    int fd = edge_connect(http_port(edge.http));
    const char *body = fake_objects_body(method, target);
    struct edge_answer a;

    n += (int)put_token(text + n, kind);
    if (body)
        n += snprintf(text + n, sizeof text - (size_t)n,
                      "Content-Type: application/json\r\nContent-Length: %zu\r\n", strlen(body));
    snprintf(text + n, sizeof text - (size_t)n, "\r\n%s", body ? body : "");
    edge_send(fd, text, strlen(text));
    a = edge_read(fd, strcmp(method, "HEAD") == 0 || strcmp(method, "CONNECT") == 0);
    close(fd);
    return a;
}

static bool tells_nothing(const struct edge_answer *a)
{
    const char *body = a->body ? a->body : "";

    return !strstr(body, SECRET_NAME) && !strstr(body, EDGE_ADMIN) && !strstr(body, own.ingest) &&
           !strstr(a->head, EDGE_ADMIN);
}

/* One combination; returns whether it passed, fails the test if it should not have, or should. */
static bool combination(const struct routes_entry *base, int spelling, const char *method,
                        enum kind kind)
{
    const char *hole = strstr(base->path, "{id}");
    const struct routes_entry *route = spelling == 0 ? route_of(base->path, method) : NULL;
    bool want = route && may(kind, route->right), preflight, passed;
    char path[160], target[8192];
    struct fake_core_counts before, after;
    struct edge_answer a;

    renew_sessions();
    snprintf(path, sizeof path, "%.*s%s%s", hole ? (int)(hole - base->path) : 160, base->path,
             hole ? own.id : "", hole ? hole + 4 : "");
    if (strstr(path, "{n}"))
        strcpy(strstr(path, "{n}"), "1");
    fake_objects_reset(path);
    put_path(target, sizeof target, spelling, path);
    before = fake_core_counts(edge.core);
    a = ask(method, target, kind);
    after = fake_core_counts(edge.core);
    passed = a.status >= 200 && a.status <= 299;
    /* a browser asks without a token what it may ask; the answer is the same for every session */
    preflight = strcmp(method, "OPTIONS") == 0 && spelling == 0 && a.status == 204;
    if (preflight)
        passed = false;
    if (passed != want || a.status == 0 || (!want && !tells_nothing(&a)) ||
        (!want && (before.created != after.created || before.deleted != after.deleted ||
                   after.exports_open > before.exports_open)))
        fail_msg("%s %.200s with token %d: %d%s, %s expected: %s%s", method, target, (int)kind,
                 a.status, passed ? " (passed)" : "", want ? "a pass" : "a refusal", a.head,
                 a.body ? a.body : "");
    edge_answer_free(&a);
    if (passed && strstr(base->path, "/tokens"))
        own.id[0] = '\0'; /* its tokens are others now: the next combination has another session */
    return passed;
}

TEST(test_every_route_spelling_method_and_token)
{
    const struct routes_entry *route;
    uint32_t seed = sample_seed(), of = sample_sanitized() ? 64 : 8;
    uint64_t number = 0;
    int n = 0, passed = 0, n_routes = 0;

    for (int i = 0; (route = routes_at(i)) != NULL; i++, n_routes++)
        for (int s = 0; s < N_SPELLINGS; s++)
            for (int m = 0; m < N_METHODS; m++)
                for (enum kind k = NONE; k < KINDS; k++) {
                    /* what is right by itself is always asked */
                    bool plain = s == 0 && strcmp(methods[m], route->method) == 0;
                    if (!applies(s, route->path) || (!plain && !sample_takes(seed, number++, of)))
                        continue;
                    n++;
                    passed += combination(route, s, methods[m], k);
                }
    printf(
        "# %d combinations of %d routes, %d spellings, %d methods, %d tokens: %d passed, as they "
        "should\n",
        n, n_routes, N_SPELLINGS, N_METHODS, KINDS, passed);
    assert_true(passed > n_routes * 4); /* the right ones do */
    assert_false(edge_logged(&edge, EDGE_ADMIN));
    assert_false(edge_logged(&edge, "AAAAAAAAAAAAAAAAAAAAAA"));
}

/* ------------------------------------------------------------------------------- alike */

/* An answer without what may differ between any two: the time. */
static void strip(char *out, size_t cap, const struct edge_answer *a)
{
    const char *date = strstr(a->head, "Date: ");

    assert_non_null(date);
    snprintf(out, cap, "%.*s%s%s", (int)(date - a->head), a->head, strstr(date, "\r\n") + 2,
             a->body ? a->body : "");
}

static void expect_alike(const char *method, const char *suffix, enum kind kind)
{
    char one[8192], two[8192], target[160];
    struct edge_answer a;

    snprintf(target, sizeof target, "/v1/sessions/%s%s", own.id, suffix);
    a = ask(method, target, kind);
    strip(one, sizeof one, &a);
    edge_answer_free(&a);
    snprintf(target, sizeof target, "/v1/sessions/%s%s", UNKNOWN_ID, suffix);
    a = ask(method, target, kind);
    strip(two, sizeof two, &a);
    edge_answer_free(&a);
    assert_string_equal(one, two);
}

/* A client without a right to a session cannot tell it from one that there is not: byte for
 * byte. */
TEST(test_unknown_and_foreign_are_one)
{
    const struct routes_entry *route;
    int n = 0;

    for (int i = 0; (route = routes_at(i)) != NULL; i++) {
        const char *hole = strstr(route->path, "{id}");
        if (!hole)
            continue;
        renew_sessions();
        for (enum kind k = NONE; k <= FOREIGN; k++, n++)
            expect_alike(route->method, hole + 4, k);
    }
    assert_true(n > 50);
}

/* ------------------------------------------------------------------------------- the upgrade */

static size_t base64url(char *out, const char *text)
{
    static const char abc[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    size_t n = 0;
    uint32_t bits = 0;
    int have = 0;

    for (; *text; text++) {
        bits = bits << 8 | (uint8_t)*text;
        for (have += 8; have >= 6; have -= 6)
            out[n++] = abc[bits >> (have - 6) & 63];
    }
    if (have)
        out[n++] = abc[bits << (6 - have) & 63];
    out[n] = '\0';
    return n;
}

enum carrier { HEADER, PROTOCOL, CARRIERS };

/* Returns the status, 0 = closed without a word. */
static int upgrade(const char *target, enum carrier carrier, enum kind kind)
{
    static char text[REQUEST_CAP], token[REQUEST_CAP / 2];
    int fd = edge_connect(ws_port(edge.ws)), status;
    struct edge_answer a;
    size_t n = (size_t)snprintf(text, sizeof text,
                                "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n"
                                "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                                "Sec-WebSocket-Protocol: recon.v1",
                                target);

    if (carrier == PROTOCOL && kind >= WRONG && kind != IN_LIST) {
        char *bearer, *line;
        put_token(token, kind);
        for (line = token; (bearer = strstr(line, "Bearer ")) != NULL; line = bearer + 1) {
            char one[8300];
            snprintf(one, sizeof one, "%.*s", (int)strcspn(bearer + 7, "\r"), bearer + 7);
            n += (size_t)sprintf(text + n, ", bearer.recon.");
            n += base64url(text + n, one);
        }
        n += (size_t)sprintf(text + n, "\r\n");
    } else {
        n += (size_t)sprintf(text + n, "\r\n");
        n += put_token(text + n, kind);
    }
    sprintf(text + n, "\r\n");
    edge_send(fd, text, strlen(text));
    a = edge_read(fd, true);
    status = a.status;
    if (status != 101)
        assert_true(tells_nothing(&a));
    edge_answer_free(&a);
    close(fd);
    return status;
}

static bool opens(enum kind kind)
{
    return may(kind, AUTH_READ);
}

/* A path has one spelling: no other opens a stream, whatever the token. */
TEST(test_the_upgrade)
{
    int n = 0, passed = 0;

    renew_sessions();
    for (int s = 0; s < N_SPELLINGS; s++)
        for (enum carrier c = HEADER; c < CARRIERS; c++)
            for (enum kind k = NONE; k < KINDS; k++, n++) {
                char path[96], target[8192];
                int status;

                snprintf(path, sizeof path, "/v1/sessions/%s/stream", own.id);
                put_path(target, sizeof target, s, path);
                status = upgrade(target, c, k);
                if ((status == 101) != (s == 0 && opens(k)) ||
                    (status != 101 && status != 0 && (status < 400 || status > 499)))
                    fail_msg("upgrade of %.200s, carrier %d, token %d: %d", target, (int)c, (int)k,
                             status);
                passed += status == 101;
            }
    printf("# %d upgrades: %d passed, all with a right token\n", n, passed);
    assert_true(passed >= 2 * 5);
    assert_int_equal(upgrade("/v1/sessions/" UNKNOWN_ID "/stream", HEADER, FOREIGN), 404);
    assert_false(edge_logged(&edge, EDGE_ADMIN));
}

TEST_GROUP(setup, edge_case_close)
