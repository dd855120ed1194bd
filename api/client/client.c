#include "api/client/client.h"

#include "api/client/client_retry.h"
#include "proto/array.h"

#include <curl/curl.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The largest answer that is kept in memory. Exports go to files and have no bound. */
#define BODY_MAX (16u << 20)
#define JSON_DEPTH 16
#define STOP_LOOK_MS 50 /* pause between two checks whether waiting shall end, ms */

struct client {
    struct client_config config; /* options except url, token and agent */
    CURL *curl;
    struct curl_slist *headers;
    char *url;
    char curl_error[CURL_ERROR_SIZE];
    void (*on_bytes)(void *ctx, double done); /* or NULL */
    void *bytes_ctx;
};

/* Destination of an answer. A file gets the answer of a success only; the document of an error is
 * kept in memory. */
struct sink {
    struct client *client;
    CURL *curl;
    FILE *file;
    char *body;
    size_t len, cap, max;
    bool cut;      /* the transfer ends without an error at max */
    int rc, error; /* errno of ERR_FILE */
};

static int add_token(struct client *c, const char *token, struct err *err)
{
    char line[320];

    if (strlen(token) > 256 || strpbrk(token, "\r\n"))
        return err_set(err, ERR_INPUT, "a token has at most 256 characters and no line end");
    snprintf(line, sizeof line, "Authorization: Bearer %s", token);
    c->headers = curl_slist_append(c->headers, line);
    explicit_bzero(line, sizeof line);
    return 0;
}

static void set_options(struct client *c, const struct client_config *config)
{
    long timeout_s = config->timeout_s > 0 ? config->timeout_s : 10;

    curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, c->headers);
    curl_easy_setopt(c->curl, CURLOPT_USERAGENT, config->agent ? config->agent : "reconctl");
    curl_easy_setopt(c->curl, CURLOPT_ERRORBUFFER, c->curl_error);
    curl_easy_setopt(c->curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c->curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c->curl, CURLOPT_CONNECTTIMEOUT, timeout_s);
    curl_easy_setopt(c->curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    if (config->ca_file) {
        curl_easy_setopt(c->curl, CURLOPT_CAINFO, config->ca_file);
        curl_easy_setopt(c->curl, CURLOPT_CAPATH, NULL);
    }
    /* An export may take long, but a silent server is given up. */
    curl_easy_setopt(c->curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(c->curl, CURLOPT_LOW_SPEED_TIME, timeout_s);
}

int client_open(struct client **out, const struct client_config *config, struct err *err)
{
    struct client *c = calloc(1, sizeof *c);
    size_t n = strlen(config->url);
    int rc = 0;

    *out = NULL;
    if (!c || curl_global_init(CURL_GLOBAL_DEFAULT) != 0) {
        free(c);
        return err_set(err, ERR_MEMORY, "no memory for a client");
    }
    c->config = *config;
    c->config.url = c->config.token = c->config.agent = NULL; /* the caller may free them */
    c->curl = curl_easy_init();
    c->url = strdup(config->url);
    c->headers = curl_slist_append(NULL, "Content-Type: application/json");
    if (!c->curl || !c->url || !c->headers) {
        rc = err_set(err, ERR_MEMORY, "no memory for a client");
        goto out;
    }
    if (strncmp(c->url, "http://", 7) != 0 && strncmp(c->url, "https://", 8) != 0) {
        rc = err_set(err, ERR_INPUT, "URL '%.80s' does not begin with http:// or https://", c->url);
        goto out;
    }
    while (n > 0 && c->url[n - 1] == '/')
        c->url[--n] = '\0';
    if (config->token && *config->token)
        rc = add_token(c, config->token, err);
    if (rc == 0)
        set_options(c, config);
out:
    if (rc)
        client_close(&c);
    *out = c;
    return rc;
}

void client_close(struct client **p)
{
    struct client *c = *p;

    if (!c)
        return;
    if (c->curl)
        curl_easy_cleanup(c->curl);
    curl_slist_free_all(c->headers);
    free(c->url);
    free(c);
    curl_global_cleanup();
    *p = NULL;
}

static void tell_bytes(const struct sink *s)
{
    curl_off_t total = -1;

    if (!s->client->on_bytes)
        return;
    curl_easy_getinfo(s->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &total);
    s->client->on_bytes(s->client->bytes_ctx, total > 0 ? (double)s->len / (double)total : -1);
}

static size_t on_data(char *data, size_t size, size_t n, void *user)
{
    struct sink *s = user;
    size_t len = size * n, take = len;
    long status = 0;

    curl_easy_getinfo(s->curl, CURLINFO_RESPONSE_CODE, &status);
    if (s->file && status >= 200 && status < 300) {
        if (fwrite(data, 1, len, s->file) != len) {
            s->rc = ERR_FILE;
            s->error = errno;
        }
        s->len += len;
        tell_bytes(s);
        return s->rc ? 0 : len;
    }
    if (s->len + take > s->max) {
        take = s->max - s->len;
        s->rc = s->cut ? 0 : ERR_LIMIT;
    }
    if (array_grow(&s->body, &s->cap, s->len + take + 1, 1)) {
        s->rc = ERR_MEMORY;
        return 0;
    }
    memcpy(s->body + s->len, data, take);
    s->len += take;
    s->body[s->len] = '\0';
    return take == len ? len : 0;
}

static const struct client_hints no_hints;

/* Adds a remedy to err, if the caller or the kind of error knows one. */
static int hint(struct err *err, int code, const char *what)
{
    size_t n = err ? strlen(err->text) : 0;

    if (what && err)
        snprintf(err->text + n, sizeof err->text - n, ": %s", what);
    return code;
}

/* Fills err for a transfer that failed. A server whose certificate fails is refused, because asking
 * again would not help. */
static int transfer_failed(const struct client *c, CURLcode code, struct err *err)
{
    const struct client_hints *hints = c->config.hints ? c->config.hints : &no_hints;
    bool tls = strncmp(c->url, "https:", 6) == 0;
    int rc = code == CURLE_PEER_FAILED_VERIFICATION ? ERR_DENIED
             : code == CURLE_SSL_CACERT_BADFILE     ? ERR_INPUT
                                                    : ERR_IO;

    err_set(err, rc, "%s: %.120s", c->url,
            c->curl_error[0] ? c->curl_error : curl_easy_strerror(code));
    switch (code) {
    case CURLE_COULDNT_CONNECT:
        return hint(err, rc, hints->no_server);
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
        return hint(err, rc, hints->untrusted);
    case CURLE_GOT_NOTHING:
        return hint(err, rc, tls ? NULL : "a port that speaks TLS is asked by https://");
    case CURLE_SSL_CONNECT_ERROR:
        return hint(err, rc, "a port that speaks no TLS is asked by http://");
    default:
        return rc;
    }
}

/* Takes the sentence and the place from the body if it is an RFC 9457 problem document. */
static int problem(const struct sink *s, long status, struct err *err)
{
    struct json *doc = NULL;
    const struct json *first;
    const char *detail = "", *where = "";
    int code = client_retry_code((int)status);

    if (s->len && json_parse(&doc, s->body, s->len, JSON_DEPTH, NULL) == 0) {
        first = json_item(json_member(doc, "errors"), 0);
        detail = json_text(json_member(first, "detail"));
        where = json_text(json_member(first, "pointer"));
        if (!*detail)
            detail = json_text(json_member(doc, "detail"));
        if (!*detail)
            detail = json_text(json_member(doc, "title"));
        if (!*where)
            where = json_text(json_member(doc, "pointer"));
    }
    if (*detail)
        err_at(err, code, where, "%s", detail);
    else
        err_set(err, code, "the server answered with HTTP status %ld", status);
    json_free(&doc);
    return code;
}

/* Makes one exchange. */
static int exchange(struct client *c, const char *method, const char *path, const char *json,
                    struct sink *sink, long *status, struct err *err)
{
    char url[1024];
    CURLcode code;

    if (snprintf(url, sizeof url, "%s%s", c->url, path) >= (int)sizeof url)
        return err_set(err, ERR_LIMIT, "URL is too long");
    sink->client = c;
    sink->curl = c->curl;
    sink->max = sink->max ? sink->max : BODY_MAX;
    curl_easy_setopt(c->curl, CURLOPT_URL, url);
    curl_easy_setopt(c->curl, CURLOPT_HTTPGET, 1L);
    curl_easy_setopt(c->curl, CURLOPT_CUSTOMREQUEST, NULL);
    if (json || strcmp(method, "POST") == 0) {
        curl_easy_setopt(c->curl, CURLOPT_POSTFIELDSIZE, json ? (long)strlen(json) : 0L);
        curl_easy_setopt(c->curl, CURLOPT_POSTFIELDS, json ? json : "");
    }
    if (strcmp(method, "GET") != 0)
        curl_easy_setopt(c->curl, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, on_data);
    curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, sink);
    c->curl_error[0] = '\0';
    code = curl_easy_perform(c->curl);
    *status = 0;
    curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, status);
    if (sink->rc == ERR_LIMIT)
        return err_set(err, ERR_LIMIT, "the server's answer is longer than %zu bytes", sink->max);
    if (sink->rc == ERR_FILE)
        return err_set(err, ERR_FILE, "the answer cannot be written: %s", strerror(sink->error));
    if (sink->rc)
        return err_set(err, sink->rc, "no memory for the answer");
    if (code != CURLE_OK && !(code == CURLE_WRITE_ERROR && sink->cut))
        return transfer_failed(c, code, err);
    if (*status >= 200 && *status < 300)
        return 0;
    return hint(err, problem(sink, *status, err),
                *status == 401 && c->config.hints ? c->config.hints->no_token : NULL);
}

/* ------------------------------------------------------------------------------------ again */

/*
 * Tells whether an exchange may be repeated and whether that can help. A GET or DELETE that was cut
 * off may always be repeated; any other exchange only where it had no effect, because not one byte
 * of it was sent or the server said that it is busy.
 */
static bool repeatable(struct client *c, const char *method, int rc, long status)
{
    bool harmless = strcmp(method, "GET") == 0 || strcmp(method, "DELETE") == 0;
    long sent = 1;

    if (rc == ERR_BUSY) /* 502, 504: a proxy lost the server, which may have received it */
        return harmless || (status != 502 && status != 504);
    if (rc != ERR_IO)
        return false;
    curl_easy_getinfo(c->curl, CURLINFO_REQUEST_SIZE, &sent);
    return harmless || sent == 0;
}

/* Waits; returns false if the caller wants to stop. */
static bool wait_ms(const struct client *c, int ms)
{
    uint64_t end_ms = client_retry_now_ms() + (uint64_t)ms;

    while (client_retry_now_ms() < end_ms) {
        if (c->config.stopped && c->config.stopped(c->config.ctx))
            return false;
        nanosleep(&(struct timespec){.tv_nsec = (ms < STOP_LOOK_MS ? ms : STOP_LOOK_MS) * 1000000L},
                  NULL);
    }
    return true;
}

static uint32_t retry_after_ms(struct client *c, int rc)
{
    curl_off_t seconds = 0;

    if (rc != ERR_BUSY)
        return 0;
    curl_easy_getinfo(c->curl, CURLINFO_RETRY_AFTER, &seconds);
    return seconds > 0 && seconds < 1000000 ? (uint32_t)seconds * 1000 : 0;
}

/* Makes an exchange and repeats it while that helps. The caller frees the sink's body, on errors
 * too. */
static int perform(struct client *c, const char *method, const char *path, const char *json,
                   struct sink *sink, long *status, struct err *err)
{
    struct client_retry retry = client_retry_new(c->config.retry_s, 0);
    struct err why = {0};
    bool cut_off = false;
    int rc, pause;

    for (;;) {
        rc = exchange(c, method, path, json, sink, status, &why);
        if (rc == ERR_NOT_FOUND && cut_off && strcmp(method, "DELETE") == 0)
            rc = 0; /* an earlier attempt deleted it, and its answer was lost */
        if (rc == 0 || !repeatable(c, method, rc, *status))
            break;
        pause = client_retry_wait_ms(&retry, retry_after_ms(c, rc), client_retry_now_ms());
        if (pause < 0)
            break;
        if (c->config.on_retry)
            c->config.on_retry(c->config.ctx, &why, pause);
        if (!wait_ms(c, pause))
            break;
        cut_off = cut_off || rc == ERR_IO;
        sink->len = 0;
        if (sink->file && (fseek(sink->file, 0, SEEK_SET) || ftruncate(fileno(sink->file), 0)))
            break;
    }
    if (rc && err)
        *err = why;
    return rc;
}

int client_request(struct client *c, const char *method, const char *path, const char *json,
                   char **body, size_t *body_len, int *status, struct err *err)
{
    struct sink sink = {0};
    long code = 0;
    int rc = perform(c, method, path, json, &sink, &code, err);

    if (body && rc == 0 && !sink.body && array_grow(&sink.body, &sink.cap, 1, 1) == 0)
        sink.body[0] = '\0';
    if (body && rc == 0 && !sink.body)
        rc = err_set(err, ERR_MEMORY, "no memory for an answer");
    if (status)
        *status = (int)code;
    if (body_len)
        *body_len = sink.len;
    if (body)
        *body = sink.body;
    else
        free(sink.body);
    return rc;
}

void client_on_bytes(struct client *c, void (*on_bytes)(void *ctx, double done), void *ctx)
{
    c->on_bytes = on_bytes;
    c->bytes_ctx = ctx;
}

int client_download_to(struct client *c, const char *path, FILE *to, struct err *err)
{
    struct sink sink = {.file = to};
    long status;
    int rc = perform(c, "GET", path, NULL, &sink, &status, err);

    free(sink.body);
    return rc;
}

int client_download(struct client *c, const char *path, const char *file, struct err *err)
{
    char part[4096];
    FILE *to;
    int rc;

    if (snprintf(part, sizeof part, "%s.part", file) >= (int)sizeof part)
        return err_at(err, ERR_FILE, file, "is too long a name");
    to = fopen(part, "wb");
    if (!to)
        return err_at(err, ERR_FILE, part, "cannot be written: %m");
    rc = client_download_to(c, path, to, err);
    if (fclose(to) != 0 && rc == 0)
        rc = err_at(err, ERR_FILE, part, "cannot be written: %m");
    if (rc == 0 && rename(part, file) != 0)
        rc = err_at(err, ERR_FILE, file, "cannot be written: %m");
    if (rc)
        unlink(part);
    return rc;
}

int client_peek(struct client *c, const char *path, char *buf, size_t cap, size_t *len,
                struct err *err)
{
    struct sink sink = {.max = cap - 1, .cut = true};
    long status;
    int rc = perform(c, "GET", path, NULL, &sink, &status, err);

    *len = sink.len;
    if (sink.len)
        memcpy(buf, sink.body, sink.len);
    buf[sink.len] = '\0';
    free(sink.body);
    return rc;
}

/* Returns a header of the last answer as a number; UINT64_MAX if it is none. */
static uint64_t header_number(struct client *c, const char *name)
{
    struct curl_header *header;
    char *end;
    uint64_t v;

    if (curl_easy_header(c->curl, name, 0, CURLH_HEADER, -1, &header) != CURLHE_OK ||
        header->value[0] < '0' || header->value[0] > '9')
        return UINT64_MAX;
    v = strtoull(header->value, &end, 10);
    return *end ? UINT64_MAX : v;
}

int client_depth(struct client *c, const char *session, float **depth, int *w, int *h,
                 uint64_t *seq, struct err *err)
{
    char path[128], *body = NULL;
    size_t len = 0, n;
    uint64_t width, height;
    struct bytes_reader from;
    int rc;

    *depth = NULL;
    snprintf(path, sizeof path, "/v1/sessions/%.60s/depth?format=f32", session);
    rc = client_request(c, "GET", path, NULL, &body, &len, NULL, err);
    if (rc)
        goto out;
    width = header_number(c, "Recond-Width");
    height = header_number(c, "Recond-Height");
    *seq = header_number(c, "Recond-Seq");
    if (width < 1 || height < 1 || width > FRAME_SIDE_MAX || height > FRAME_SIDE_MAX ||
        *seq == UINT64_MAX || len != width * height * sizeof **depth) {
        rc = err_set(err, ERR_INPUT,
                     "the server's answer of %zu bytes is no depth map: is it older?", len);
        goto out;
    }
    n = len / sizeof **depth;
    *depth = malloc(len);
    if (!*depth) {
        rc = err_set(err, ERR_MEMORY, "no memory for a depth map");
        goto out;
    }
    from = bytes_reader((const uint8_t *)body, len);
    for (size_t i = 0; i < n; i++)
        (*depth)[i] = bytes_get_f32(&from);
    *w = (int)width;
    *h = (int)height;
out:
    free(body);
    return rc;
}

/* A second POST could make a second session, so the user is told to look whether the first one
 * did. */
static int say_unsure(struct client *c, struct err *err)
{
    struct err why = *err;
    long sent = 0;

    curl_easy_getinfo(c->curl, CURLINFO_REQUEST_SIZE, &sent);
    if (sent == 0)
        return ERR_IO;
    return err_set(err, ERR_IO, "%.120s; the server may have made a session all the same",
                   why.text);
}

/* Describes a session for a request. */
static int ask_session(struct client *c, const char *method, const char *path, const char *json,
                       struct client_session *s, struct err *err)
{
    struct json_issues issues = {0};
    struct json *doc = NULL;
    struct json_at at, tokens;
    char *body = NULL;
    size_t len = 0;
    int rc;

    *s = (struct client_session){0};
    rc = client_request(c, method, path, json, &body, &len, NULL, err);
    if (rc == ERR_IO && json)
        rc = say_unsure(c, err);
    if (rc)
        goto out;
    rc = json_parse(&doc, body, len, JSON_DEPTH, err);
    if (rc)
        goto out;
    at = json_at(doc, &issues);
    json_require(&at, "id");
    json_require(&at, "stream_url");
    json_get_text(&at, "id", s->id, sizeof s->id);
    json_get_text(&at, "stream_url", s->stream_url, sizeof s->stream_url);
    snprintf(s->up, sizeof s->up, "%s", json_text(json_member(json_member(doc, "options"), "up")));
    s->guessed = json_member(doc, "guessed") != NULL;
    if (json_member(doc, "tokens") && json_get_map(&at, "tokens", &tokens)) {
        json_get_text(&tokens, "ingest", s->ingest_token, sizeof s->ingest_token);
        json_get_text(&tokens, "view", s->view_token, sizeof s->view_token);
    }
    rc = json_issues_err(&issues, err);
out:
    json_free(&doc);
    free(body);
    return rc;
}

int client_session_create(struct client *c, const char *options_json, struct client_session *s,
                          struct err *err)
{
    return ask_session(c, "POST", "/v1/sessions", options_json, s, err);
}

int client_session_find(struct client *c, const char *id, struct client_session *s, struct err *err)
{
    char path[64];

    if (strspn(id, "abcdefghijklmnopqrstuvwxyz234567") != strlen(id) || strlen(id) > 31)
        return err_set(err, ERR_INPUT, "'%.40s' is no session's id", id);
    snprintf(path, sizeof path, "/v1/sessions/%s", id);
    return ask_session(c, "GET", path, NULL, s, err);
}
