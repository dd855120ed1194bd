/*
 * http_gate.c - refuse requests that the HTTP library lets through
 *
 * libmicrohttpd 0.9.75 takes two Content-Lengths, Content-Length beside Transfer-Encoding, two
 * Hosts, NULs in headers and decodes %00 in paths; each of these has let requests past a server in
 * front of it. Everything here is pure: strings in, verdict out.
 */
#include "api/server/http_gate.h"

#include "api/server/origin.h"
#include "api/server/routes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define OVERRUN_BYTES \
    (256u << 10) /* bytes beyond the limit that are read and dropped before the connection is cut */

static const char alnum[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

static int gate_refuse(struct http_request *r, enum problem_kind kind, const char *detail)
{
    answer_problem(r, kind, "%s", detail);
    return -1;
}

/* Tells whether s[0...n) holds only letters, digits and `more`. */
static bool only(const char *s, size_t n, const char *more)
{
    for (size_t i = 0; i < n; i++)
        if (!s[i] || (!strchr(alnum, s[i]) && !strchr(more, s[i])))
            return false;
    return true;
}

/* ------------------------------------------------------------------------------- the target */

static int parameter(struct http_request *r, const char *name, size_t name_len, const char *value)
{
    char *end;
    uint64_t v;

    if (name_len == 12 && memcmp(name, "access_token", 12) == 0)
        return gate_refuse(r, PROBLEM_MALFORMED, "a token never travels in a URL");
    if (name_len == 6 && memcmp(name, "format", 6) == 0) {
        r->raw = strcmp(value, "f32") == 0;
        if (r->raw || strcmp(value, "png") == 0)
            return 0;
        answer_problem_parameter(r, "format", "must be png or f32");
        return -1;
    }
    if (name_len == 8 && memcmp(name, "unplaced", 8) == 0) {
        r->unplaced = strcmp(value, "1") == 0;
        if (r->unplaced || strcmp(value, "0") == 0)
            return 0;
        answer_problem_parameter(r, "unplaced", "must be 0 or 1");
        return -1;
    }
    if (!(name_len == 6 && memcmp(name, "cursor", 6) == 0) &&
        !(name_len == 5 && memcmp(name, "limit", 5) == 0)) {
        answer_problem_parameter(r, "?", "only cursor, limit, format and unplaced are known");
        return -1;
    }
    errno = 0;
    v = strtoull(value, &end, 10);
    if (strspn(value, "0123456789") == 0 || *end || errno || v > INT64_MAX) {
        answer_problem_parameter(r, name_len == 6 ? "cursor" : "limit", "must be a number");
        return -1;
    }
    if (name_len == 6) {
        r->cursor = v;
        return 0;
    }
    if (v < 1 || v > 100) {
        answer_problem_parameter(r, "limit", "must be 1 to 100");
        return -1;
    }
    r->limit = (int)v;
    return 0;
}

static int query(struct http_request *r, const char *raw)
{
    char text[HTTP_TARGET_MAX], *save = NULL;

    snprintf(text, sizeof text, "%s", raw);
    for (char *pair = strtok_r(text, "&", &save); pair; pair = strtok_r(NULL, "&", &save)) {
        size_t name_len = strcspn(pair, "=");
        char *value = pair[name_len] ? pair + name_len + 1 : pair + name_len;
        if (parameter(r, pair, name_len, value))
            return -1;
    }
    return 0;
}

static int target(struct http_request *r, const char *raw)
{
    size_t len = strlen(raw), path_len = strcspn(raw, "?");

    r->limit = 50;
    if (len > HTTP_TARGET_MAX - 1)
        return gate_refuse(r, PROBLEM_URI_TOO_LONG, "");
    /* No path of ours needs an escape, so none is decoded: %2f, %5c, %00, '\' and ".." are
     * refused here. */
    if (raw[0] != '/' || !only(raw, path_len, "-._~/") ||
        !only(raw + path_len, len - path_len, "?-._~=&"))
        return gate_refuse(
            r, PROBLEM_MALFORMED,
            "a target has letters, digits and - . _ ~ / only, in the query also = and &");
    for (size_t i = 0; i < path_len; i++)
        if (raw[i] == '/' && (raw[i + 1] == '/' || (raw[i + 1] == '.' && raw[i + 2] == '.')))
            return gate_refuse(r, PROBLEM_MALFORMED, "empty or upward steps in the path");
    if (path_len >= sizeof r->path)
        return gate_refuse(r, PROBLEM_NOT_FOUND, "");
    memcpy(r->path, raw, path_len);
    r->path[path_len] = '\0';
    return raw[path_len] ? query(r, raw + path_len + 1) : 0;
}

void http_gate_target(struct http_request *r, const char *raw)
{
    r->header_bytes = strlen(raw) + 2; /* the empty line after the headers */
    if (target(r, raw))
        r->path[0] = '\0';
}

const char *http_gate_method(const char *method)
{
    static const char *const methods[] = {"GET",    "HEAD",    "POST",  "PUT",
                                          "DELETE", "OPTIONS", "PATCH", NULL};
    int i = 0;

    while (methods[i] && strcmp(methods[i], method) != 0)
        i++;
    return methods[i] ? methods[i] : "OTHER";
}

/* ------------------------------------------------------------------------------- headers */

int http_gate_header(struct http_request *r, const char *name, size_t name_len, const char *value,
                     size_t value_len)
{
    const struct {
        const char *name;
        const char **slot;
    } known[] = {
        {"Host", &r->host},
        {"Origin", &r->origin},
        {"Authorization", &r->authorization},
        {"Accept", &r->accept},
        {"Accept-Encoding", &r->accept_encoding},
        {"Content-Type", &r->content_type},
        {"If-None-Match", &r->if_none_match},
        {"Content-Length", &r->content_length},
        {"Transfer-Encoding", &r->transfer_encoding},
    };

    /* A server in front might read "Content-Length : 5" as Content-Length; we would not. */
    if (name_len == 0 || !only(name, name_len, "!#$%&'*+-.^_`|~"))
        return gate_refuse(r, PROBLEM_MALFORMED, "a header name has characters that none may have");
    if (!value)
        value = "";
    r->header_bytes += name_len + value_len + 4;
    for (size_t i = 0; i < value_len; i++)
        if ((unsigned char)value[i] < 0x20 ? value[i] != '\t' : value[i] == 0x7f)
            return gate_refuse(r, PROBLEM_MALFORMED, "a control character in a header");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcasecmp(name, known[i].name) != 0)
            continue;
        if (*known[i].slot)
            return gate_refuse(r, PROBLEM_MALFORMED, "a header that may come once came twice");
        *known[i].slot = value;
    }
    return 0;
}

void http_gate_size(struct http_request *r, size_t bytes)
{
    if (bytes > r->header_bytes)
        answer_problem(r, PROBLEM_MALFORMED, "headers hold bytes that are no text");
}

bool http_gate_has_body(const struct http_request *r)
{
    return r->content_length || r->transfer_encoding;
}

size_t http_gate_body_max(const struct http_request *r)
{
    const struct routes_entry *route = r->route;
    char id[API_ID_CAP], allow[64];
    uint32_t number;

    if (!route && routes_find(r->method, r->path, &route, id, &number, allow, sizeof allow))
        route = NULL;
    return route && route->task ? r->config->max_task_bytes : r->config->max_body_bytes;
}

static int check_length(struct http_request *r)
{
    char *end;
    uint64_t n;

    if (r->transfer_encoding) {
        if (r->content_length)
            return gate_refuse(r, PROBLEM_MALFORMED,
                               "Content-Length and Transfer-Encoding together");
        if (strcasecmp(r->transfer_encoding, "chunked") != 0)
            return gate_refuse(r, PROBLEM_MALFORMED, "the only Transfer-Encoding known is chunked");
    }
    if (r->content_length) {
        errno = 0;
        n = strtoull(r->content_length, &end, 10);
        if (strspn(r->content_length, "0123456789") == 0 || *end || errno)
            return gate_refuse(r, PROBLEM_MALFORMED, "Content-Length is not a number");
        if (n > http_gate_body_max(r)) {
            answer_problem(r, PROBLEM_TOO_LARGE, "at most %zu bytes", http_gate_body_max(r));
            return -1;
        }
        if (n == 0)
            r->content_length = NULL;
    }
    return 0;
}

static int check_body_allowed(struct http_request *r)
{
    size_t n;

    if (!http_gate_has_body(r))
        return 0;
    if (strcmp(r->method, "POST") != 0 && strcmp(r->method, "PUT") != 0)
        return gate_refuse(r, PROBLEM_MALFORMED, "this method takes no body");
    if (!r->content_type)
        return gate_refuse(r, PROBLEM_MEDIA_TYPE, "Content-Type: application/json is required");
    n = strcspn(r->content_type, "; \t");
    if (n != 16 || strncasecmp(r->content_type, "application/json", 16) != 0)
        return gate_refuse(r, PROBLEM_MEDIA_TYPE, "Content-Type must be application/json");
    return 0;
}

static int check_host(struct http_request *r)
{
    if (!r->host)
        return 0;
    if (!only(r->host, strlen(r->host), ".-_:[]"))
        return gate_refuse(r, PROBLEM_MALFORMED, "the Host header is no host");
    if (!auth_open_to_all(r->auth) || origin_is_loopback(r->host))
        return 0;
    return gate_refuse(r, PROBLEM_MISDIRECTED, "without tokens only loopback names are served");
}

static int check_origin(struct http_request *r)
{
    if (!r->origin)
        return 0;
    if (!origin_allowed(r->config->origins, r->origin, r->host))
        return gate_refuse(r, PROBLEM_FOREIGN_ORIGIN, "");
    answer_header(r, "Access-Control-Allow-Origin", "%s", r->origin);
    answer_header(r, "Vary", "Origin");
    answer_header(r, "Access-Control-Expose-Headers",
                  "Content-Disposition, ETag, Location, Recond-Height, Recond-Seq, Recond-Width, "
                  "Retry-After, WWW-Authenticate");
    return 0;
}

/* Tells whether one range of an Accept header, n bytes, includes this type. */
static bool range_takes(const char *range, size_t n, const char *type)
{
    size_t main_len = strcspn(type, "/");
    size_t type_len = strcspn(type, ";"), name_len = strcspn(range, "; \t,");
    const char *q;
    char rest[32];

    if (name_len > n)
        name_len = n;
    snprintf(rest, sizeof rest, "%.*s", (int)(n - name_len), range + name_len);
    q = strstr(rest, "q=");
    if (q && strtod(q + 2, NULL) <= 0)
        return false;
    if (name_len == 3 && memcmp(range, "*/*", 3) == 0)
        return true;
    if (name_len == main_len + 2 && range[name_len - 1] == '*')
        return strncasecmp(range, type, main_len + 1) == 0;
    return name_len == type_len && strncasecmp(range, type, type_len) == 0;
}

static int check_accept(struct http_request *r)
{
    const char *p = r->accept, *type = r->route->type;

    if (!p || !*p || !type)
        return 0;
    if (r->raw && strcmp(type, "image/png") == 0)
        type = "application/octet-stream";
    while (*p) {
        p += strspn(p, ", \t");
        size_t n = strcspn(p, ",");
        if (n > 0 && range_takes(p, n, type))
            return 0;
        p += n;
    }
    answer_problem(r, PROBLEM_NOT_ACCEPTABLE, "this route answers %s", type);
    return -1;
}

/* ------------------------------------------------------------------------------- rights */

static int check_token(struct http_request *r)
{
    const char *token = NULL;
    size_t len = 0;
    struct err err = {0};

    if (r->route->right == AUTH_NONE)
        return 0;
    if (r->authorization)
        token = auth_bearer(r->authorization, &len);
    if (r->route->right == AUTH_TICKET ? auth_check_ticket(r->auth, token, len, &r->who, &err)
                                       : auth_check(r->auth, token, len, &r->who, &err)) {
        answer_header(r, "WWW-Authenticate", "Bearer realm=\"recond\"%s",
                      token ? ", error=\"invalid_token\"" : "");
        return gate_refuse(r, PROBLEM_UNAUTHORIZED, err.text);
    }
    if (r->route->right != AUTH_TICKET && auth_may(&r->who, r->route->right, r->id, &err)) {
        answer_problem_err(r, &err);
        return -1;
    }
    return 0;
}

static int check_route(struct http_request *r)
{
    char allow[64];

    switch (routes_find(r->method, r->path, &r->route, r->id, &r->number, allow, sizeof allow)) {
    case 0:
        return 0;
    case ERR_NOT_FOUND:
        return gate_refuse(r, PROBLEM_NOT_FOUND, "");
    default:
        answer_header(r, "Allow", "%s", allow);
        if (strcmp(r->method, "OPTIONS") != 0)
            return gate_refuse(r, PROBLEM_METHOD, "");
        answer_header(r, "Access-Control-Allow-Methods", "%s", allow);
        answer_header(r, "Access-Control-Allow-Headers",
                      "Authorization, Content-Type, If-None-Match");
        answer_header(r, "Access-Control-Max-Age", "600");
        answer_empty(r, 204);
        return -1;
    }
}

int http_gate_decide(struct http_request *r)
{
    if (check_length(r) || check_host(r) || check_origin(r) || check_route(r) || check_token(r) ||
        check_body_allowed(r))
        return -1;
    return check_accept(r);
}

int http_gate_body(struct http_request *r, const char *data, size_t len)
{
    size_t max = http_gate_body_max(r);

    if (len == 0)
        return 0;
    r->body_seen += len;
    if (r->body_seen > max)
        return r->body_seen > max + OVERRUN_BYTES ? -1 : 0;
    if (r->body_len + len > r->body_cap) {
        size_t cap = r->body_len + r->body_len / 2 + len + 4096;
        char *more = realloc(r->body, cap < max ? cap : max);
        if (!more)
            return -1;
        r->body = more;
        r->body_cap = cap < max ? cap : max;
    }
    memcpy(r->body + r->body_len, data, len);
    r->body_len += len;
    return 0;
}
