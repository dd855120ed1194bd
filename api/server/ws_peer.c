#include "api/server/ws_peer.h"

#include "api/server/listen.h"
#include "api/server/origin.h"
#include "api/server/routes.h"
#include "proto/wire/refusal.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <syslog.h>

/* RFC 6455, 7.4.1 */
enum {
    CLOSE_NORMAL = 1000,
    CLOSE_PROTOCOL = 1002,
    CLOSE_UTF8 = 1007,
    CLOSE_POLICY = 1008,
    CLOSE_TOO_BIG = 1009,
    CLOSE_TRY_LATER = 1013
};

#define STREAM_PATH "/v1/sessions/{id}/stream"
#define RETRY_AFTER_S 5
#define HEAD_BYTES 6 /* size of the smallest fragments that are free of charge */

/* ------------------------------------------------------------------------------- life */

/* The receive buffer has pages of its own, and only those exist that a message has touched. Memory
 * given to free() may stay with the process, and a huge page would exist as a whole. */
static bool take_buffer(struct ws_peer *p)
{
    size_t size = p->env->config->max_message_bytes;
    void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (pages == MAP_FAILED)
        return false;
    (void)madvise(pages, size, MADV_NOHUGEPAGE);
    p->rx = pages;
    return true;
}

static void give_back(struct ws_peer *p)
{
    if (p->rx)
        munmap(p->rx, p->env->config->max_message_bytes);
    p->rx = NULL;
}

void ws_peer_open(struct ws_peer *p, struct ws_peer_env *env, int fd, int64_t now_ms)
{
    memset(p, 0,
           offsetof(struct ws_peer,
                    woken)); /* any thread may set `woken`; other members belong to the service */
    p->env = env;
    p->phase = WS_PEER_HANDSHAKE;
    p->fd = fd;
    listen_peer(fd, p->addr);
    p->phase_ms = p->heard_ms = p->pinged_ms = p->weighed_ms = p->used_ms = now_ms;
}

void ws_peer_close(struct ws_peer *p)
{
    if (p->stream)
        p->env->config->ops->stream_close(p->stream);
    p->stream = NULL;
    p->phase = WS_PEER_FREE;
    give_back(p);
}

void ws_peer_log(const struct ws_peer *p, const char *event)
{
    const struct api_config *config = p->env->config;
    char fields[384], text[256], client[LISTEN_TEXT_CAP];
    struct json_writer j = json_writer(fields, sizeof fields);
    const char *why = p->close_reason ? p->close_reason : "";

    if (!config->log)
        return;
    listen_text(client, p->addr);
    json_open_map(&j, NULL);
    json_put_text(&j, "stream", event);
    json_put_text(&j, "session", p->id);
    json_put_text(&j, "client", client);
    json_put_text(&j, "token", p->who.name);
    if (p->close_code)
        json_put_i64(&j, "close", p->close_code);
    json_close(&j);
    snprintf(text, sizeof text, "stream of %s %s for %s%s%s%s%s", p->id[0] ? p->id : "?", event,
             client, p->who.name[0] ? ", " : "", p->who.name, why[0] ? ": " : "", why);
    if (config->audit && p->who.name[0]) /* the token is valid */
        config->audit(config->log_ctx, json_finish(&j) ? fields : "{}", text);
    else
        config->log(config->log_ctx, LOG_INFO, json_finish(&j) ? fields : "{}", text);
}

static void peer_end(struct ws_peer *p, int code, const char *reason)
{
    if (p->phase == WS_PEER_CLOSING)
        return;
    p->close_code = code;
    p->close_reason = reason;
    p->phase = WS_PEER_CLOSING;
    if (code != CLOSE_NORMAL)
        atomic_fetch_add(&p->env->broken, 1);
}

/* Sets a message of the edge itself; if two come before one is sent, the first one stays. */
static void peer_say(struct ws_peer *p, const struct control_message *m)
{
    if (p->own_len == 0)
        p->own_len = control_write(p->own, sizeof p->own, m);
}

/* Sends an `error` to the client; some end the connection. */
static void peer_refuse(struct ws_peer *p, enum refusal_kind kind, const char *detail,
                        const char *pointer)
{
    struct control_message m = {.op = CONTROL_ERROR};
    bool idle = p->own_len == 0;

    refusal_write(&m.error, kind, detail, pointer);
    peer_say(p, &m);
    if (idle && p->own_len == 0) { /* escaped characters made it too long */
        refusal_write(&m.error, kind, "", "");
        peer_say(p, &m);
    }
    if (refusal_close(kind))
        peer_end(p, refusal_close(kind), refusal_title(kind));
}

static void refuse_err(struct ws_peer *p, const struct err *err)
{
    peer_refuse(p, refusal_of(err->code), err->text, err->where[0] == '/' ? err->where : "");
}

/* Handles bytes that are no message: the first time the client is told, the next ends the
 * connection. */
static void strike(struct ws_peer *p, const char *detail)
{
    peer_refuse(p, REFUSAL_MALFORMED, detail, "");
    if (++p->strikes >= WS_PEER_STRIKES_MAX)
        peer_end(p, CLOSE_POLICY, "repeated messages that are none");
}

/* ------------------------------------------------------------------------------- handshake */

static const char *phrase(int status)
{
    static const struct {
        int status;
        const char *phrase;
    } known[] = {{400, "Bad Request"},         {401, "Unauthorized"},
                 {403, "Forbidden"},           {404, "Not Found"},
                 {421, "Misdirected Request"}, {426, "Upgrade Required"},
                 {503, "Service Unavailable"}};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].status == status)
            return known[i].phrase;
    return "Error";
}

static size_t http_answer(char answer[WS_PEER_ANSWER_MAX], enum problem_kind kind, int status,
                          int retry_after_s, const char *detail)
{
    char retry[40] = "";
    char body[WS_PEER_ANSWER_MAX / 2];
    size_t len = problem_write(body, sizeof body, kind, detail, NULL, NULL);
    int n;

    if (status == 503)
        snprintf(retry, sizeof retry, "Retry-After: %d\r\n", retry_after_s);
    n = snprintf(answer, WS_PEER_ANSWER_MAX,
                 "HTTP/1.1 %d %s\r\nContent-Type: application/problem+json\r\n"
                 "Content-Length: %zu\r\nConnection: close\r\n%s%s%s\r\n%.*s",
                 status, phrase(status), len,
                 status == 401 ? "WWW-Authenticate: Bearer realm=\"recond\"\r\n" : "",
                 status == 426 ? "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" : "", retry,
                 (int)len, body);
    if (n <= 0 || n >= WS_PEER_ANSWER_MAX) /* never 0, which means admitted */
        n = snprintf(answer, WS_PEER_ANSWER_MAX,
                     "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
    return (size_t)n;
}

size_t ws_peer_refuse(char answer[WS_PEER_ANSWER_MAX], int status, const char *detail)
{
    enum problem_kind kind = status == 503   ? PROBLEM_BUSY
                             : status == 426 ? PROBLEM_UPGRADE
                                             : PROBLEM_MALFORMED;
    return http_answer(answer, kind, status, RETRY_AFTER_S, detail);
}

/* Decodes the token among the offered subprotocols; 0 = none. *offered: recon.v1 is among them;
 * *twice: more than one token is. */
static size_t read_protocols(const char *list, char *token, size_t cap, bool *offered, bool *twice)
{
    size_t len = 0, prefix = strlen(CONTROL_BEARER_PREFIX);
    int n_tokens = 0;

    *offered = *twice = false;
    while (list && *list) {
        size_t n;
        list += strspn(list, ", \t");
        n = strcspn(list, ", \t");
        if (n == strlen(CONTROL_SUBPROTOCOL) && memcmp(list, CONTROL_SUBPROTOCOL, n) == 0)
            *offered = true;
        else if (n >= prefix && memcmp(list, CONTROL_BEARER_PREFIX, prefix) == 0) {
            len = token_base64url_decode(list + prefix, n - prefix, token, cap);
            *twice = ++n_tokens > 1;
        }
        list += n;
    }
    return len;
}

/* Checks the token again after the token file was read or the session got new tokens. */
static void check_again(struct ws_peer *p)
{
    unsigned generation = auth_generation(p->env->auth);

    if (p->generation == generation)
        return;
    p->generation = generation;
    if ((p->phase != WS_PEER_OPEN && p->phase != WS_PEER_STARTED) ||
        auth_holds(p->env->auth, &p->who))
        return;
    peer_refuse(p, REFUSAL_UNAUTHORIZED, "the token is not valid any more", "");
}

static int check_token(struct ws_peer *p, const struct ws_peer_handshake *h, const char *token,
                       size_t token_len, struct err *err)
{
    const char *given = token_len > 0 ? token : NULL;

    p->generation = auth_generation(p->env->auth);
    if (h->authorization)
        given = auth_bearer(h->authorization, &token_len);
    return auth_check(p->env->auth, given, token_len, &p->who, err);
}

size_t ws_peer_admit(struct ws_peer *p, const struct ws_peer_handshake *h,
                     char answer[WS_PEER_ANSWER_MAX])
{
    const struct api_config *config = p->env->config;
    enum problem_kind kind = PROBLEM_MALFORMED;
    struct err err = {0};
    int retry_after_s = RETRY_AFTER_S;
    char token[TOKEN_MAX];
    bool offered, twice, admitted = false;
    size_t token_len = read_protocols(h->protocols, token, sizeof token, &offered, &twice);

    if (h->repeated || twice) {
        err_set(&err, ERR_INPUT, "a header that may come once came twice");
    } else if (h->query && h->query[0]) {
        err_set(&err, ERR_INPUT, "a stream takes no query, and a token never travels in a URL");
    } else if (!offered) {
        err_set(&err, ERR_INPUT, "the subprotocol " CONTROL_SUBPROTOCOL " is required");
    } else if (h->host && auth_open_to_all(p->env->auth) && !origin_is_loopback(h->host)) {
        kind = PROBLEM_MISDIRECTED;
        err_set(&err, ERR_INPUT, "without tokens only loopback names are served");
    } else if (h->origin && !origin_allowed(config->origins, h->origin, h->host)) {
        kind = PROBLEM_FOREIGN_ORIGIN;
        err_set(&err, ERR_DENIED, "pages of this origin may not ask");
    } else if (!h->path || !routes_match(STREAM_PATH, h->path, p->id, NULL)) {
        kind = PROBLEM_NOT_FOUND;
        err_set(&err, ERR_NOT_FOUND, "streams are at " STREAM_PATH);
    } else if (check_token(p, h, token, token_len, &err)) {
        kind = PROBLEM_UNAUTHORIZED;
    } else if (auth_may(&p->who, AUTH_READ, p->id, &err) ||
               config->ops->stream_expect(config->core, p->id, &retry_after_s, &err)) {
        kind = problem_of(err.code);
        /* one text for unknown tokens and for those of other sessions */
        if (kind == PROBLEM_NOT_FOUND)
            err_set(&err, ERR_NOT_FOUND, "no such session");
    } else {
        admitted = true;
    }
    explicit_bzero(token, sizeof token);
    if (admitted)
        return 0;
    atomic_fetch_add(&p->env->refused, 1);
    p->answered = true;
    snprintf(p->own, sizeof p->own, "%s", err.text); /* for the log */
    p->close_reason = p->own;
    return http_answer(answer, kind, problem_status(kind), retry_after_s, err.text);
}

void ws_peer_opened(struct ws_peer *p, int64_t now_ms)
{
    p->phase = WS_PEER_OPEN;
    p->phase_ms = p->heard_ms = p->pinged_ms = now_ms;
}

/* ------------------------------------------------------------------------------- messages */

static void peer_start(struct ws_peer *p, const struct control_start *start)
{
    const struct api_config *config = p->env->config;
    struct err err = {0};
    int rc = 0;

    if (start->role == CONTROL_INGEST)
        rc = auth_may(&p->who, AUTH_FEED, p->id, &err);
    if (rc == 0)
        rc = config->ops->stream_open(config->core, p->id, start->role, p, &p->stream, &err);
    if (rc) {
        p->stream = NULL;
    } else {
        rc = config->ops->stream_start(p->stream, start, &err);
    }
    if (rc == 0) {
        p->phase = WS_PEER_STARTED;
    } else {
        peer_refuse(p, refusal_of(rc), err.text, err.where[0] == '/' ? err.where : "");
        peer_end(p, CLOSE_POLICY, "the stream cannot start");
    }
}

static void pong(struct ws_peer *p, uint64_t t)
{
    struct control_message m = {.op = CONTROL_PONG, .pong = {.t = t}};
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    m.pong.server_us = (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
    peer_say(p, &m);
}

static void on_message(struct ws_peer *p, const struct control_message *m)
{
    struct err err = {0};

    if (m->op == CONTROL_START && p->phase == WS_PEER_OPEN)
        peer_start(p, &m->start);
    else if (m->op == CONTROL_START)
        peer_refuse(p, REFUSAL_CONFLICT, "the stream has started already", "/op");
    else if (m->op == CONTROL_PING)
        pong(p, m->pong.t);
    else if (m->op != CONTROL_END && m->op != CONTROL_CAMERA)
        peer_refuse(p, REFUSAL_FIELDS, "only a server says this", "/op");
    else if (p->phase == WS_PEER_OPEN)
        peer_refuse(p, REFUSAL_CONFLICT, "the first message must be start", "/op");
    else if (p->env->config->ops->stream_control(p->stream, m, &err))
        refuse_err(p, &err);
}

static void on_text(struct ws_peer *p)
{
    struct control_message m;
    struct err err = {0};
    int rc = control_parse(&m, p->text, p->rx_len, &err);

    p->used_us += 1000000 / WS_PEER_TEXTS_PER_S;
    if (rc == 0)
        on_message(p, &m);
    else if ((rc == ERR_INPUT || rc == ERR_UNSUPPORTED) && err.where[0] == '/')
        refuse_err(p, &err);
    else if (strcmp(err.where, "utf8") == 0)
        peer_end(p, CLOSE_UTF8, "text that is no UTF-8");
    else
        strike(p, err.text);
}

static void on_binary(struct ws_peer *p)
{
    struct err err = {0};
    uint64_t seq;
    int64_t ahead_us;
    int rc;

    if (p->phase == WS_PEER_OPEN) {
        strike(p, "the first message must be start");
        return;
    }
    if (p->rx_len > 0 && p->rx[0] > FRAME_OP && p->rx[0] <= FRAME_OP_LAST) {
        peer_refuse(p, REFUSAL_UNKNOWN_OP, "its first byte is none of this version", "");
        return;
    }
    /* An `ack` is JSON, which holds numbers below 2^53 exactly. */
    if (!frame_get_seq(&seq, p->rx, p->rx_len) || seq >= UINT64_C(1) << 53) {
        strike(p, "a binary message must be a frame of version 1, with a header of 80 bytes and a "
                  "seq below 2^53");
        return;
    }
    rc = p->env->config->ops->stream_frame(p->stream, p->rx, p->rx_len, &err);
    if (rc == ERR_DENIED)
        peer_refuse(p, REFUSAL_VIEW_ONLY, err.text, "");
    else if (rc == ERR_LIMIT && strcmp(err.where, "flood") == 0)
        peer_refuse(p, REFUSAL_FLOOD, err.text, "");
    ahead_us = (int64_t)p->env->config->ops->stream_ahead_us(p->stream);
    if (p->used_us < ahead_us)
        p->used_us = ahead_us;
}

static bool message_begin(struct ws_peer *p, bool binary, int64_t now_ms)
{
    p->in_message = true;
    p->binary = binary;
    p->rx_len = 0;
    p->fragments = 0;
    p->message_ms = now_ms;
    if (binary && !p->rx && !take_buffer(p)) {
        peer_end(p, CLOSE_TRY_LATER, "no memory");
        return false;
    }
    p->rx_ms = binary ? now_ms : p->rx_ms;
    return true;
}

void ws_peer_receive(struct ws_peer *p, const uint8_t *data, size_t len, size_t remaining,
                     bool first, bool final, bool binary, int64_t now_ms)
{
    size_t max;

    p->heard_ms = now_ms;
    p->message_bytes += len;
    if (remaining == 0) {
        p->message_bytes += HEAD_BYTES;
        p->used_us += 1000000 / WS_PEER_PIECES_PER_S;
    }
    atomic_fetch_add(&p->env->bytes_in, len);
    if (p->phase != WS_PEER_OPEN && p->phase != WS_PEER_STARTED)
        return;
    if (first && !message_begin(p, binary, now_ms))
        return;
    if (!p->in_message)
        return;
    binary = p->binary;
    max = binary ? p->env->config->max_message_bytes : CONTROL_TEXT_MAX;
    /* Neither subtraction wraps: rx_len <= max, and the first test has bounded len. */
    if (len > max - p->rx_len || remaining > max - p->rx_len - len) {
        peer_end(p, CLOSE_TOO_BIG,
                 binary ? "frame over the size limit" : "control message too long");
        return;
    }
    if (++p->fragments > WS_PEER_FRAGMENTS_MAX) {
        peer_end(p, CLOSE_POLICY, "too many fragments");
        return;
    }
    if (len > 0)
        memcpy((binary ? p->rx : (uint8_t *)p->text) + p->rx_len, data, len);
    p->rx_len += len;
    if (!final)
        return;
    p->in_message = false;
    p->message_ms = 0;
    atomic_fetch_add(&p->env->messages_in, 1);
    if (binary)
        on_binary(p);
    else
        on_text(p);
}

/* RFC 6455, 7.4: codes that a frame may hold */
static bool is_close_code(int code)
{
    return (code >= 1000 && code <= 1014 && (code < 1004 || code > 1006)) ||
           (code >= 3000 && code < 5000);
}

void ws_peer_break(struct ws_peer *p, const char *why, int64_t now_ms)
{
    p->heard_ms = now_ms;
    peer_end(p, CLOSE_PROTOCOL, why);
}

bool ws_peer_said_close(struct ws_peer *p, const uint8_t *payload, size_t len)
{
    if (p->phase == WS_PEER_CLOSING || len == 0)
        return true;
    if (len == 1 || !is_close_code(payload[0] << 8 | payload[1]))
        peer_end(p, CLOSE_PROTOCOL, "a close frame without a code that there is");
    else if (!json_utf8((const char *)payload + 2, len - 2))
        peer_end(p, CLOSE_UTF8, "a close frame that is no UTF-8");
    return p->close_code == 0;
}

enum stream_kind ws_peer_next(struct ws_peer *p, const uint8_t **msg, size_t *len)
{
    enum stream_kind kind;

    if (p->own_len > 0) {
        *msg = (const uint8_t *)p->own;
        *len = p->own_len;
        p->own_len = 0;
        return STREAM_TEXT;
    }
    if (p->phase == WS_PEER_CLOSING)
        return STREAM_CLOSE;
    if (p->phase != WS_PEER_STARTED)
        return STREAM_NONE;
    kind = p->env->config->ops->stream_next(p->stream, msg, len);
    if (kind == STREAM_CLOSE)
        peer_end(p, CLOSE_NORMAL, "");
    return kind;
}

bool ws_peer_full(const struct ws_peer *p)
{
    return p->own_len > 0 || p->used_us >= 1000000 / WS_PEER_AT_ONCE;
}

bool ws_peer_weigh(struct ws_peer *p, uint64_t received, int64_t now_ms)
{
    int64_t ms = now_ms - p->weighed_ms;
    uint64_t useful = p->message_bytes - p->weighed_message_bytes;

    if (p->phase == WS_PEER_FREE || p->phase == WS_PEER_HANDSHAKE || received == 0 ||
        received < p->weighed_bytes)
        return false; /* the headers have a deadline and a size of their own */
    p->waste += (int64_t)(received - p->weighed_bytes) - 2 * (int64_t)useful -
                WS_PEER_WASTE_PER_S * (ms < 10000 ? ms : 10000) / 1000;
    if (p->waste < 0)
        p->waste = 0;
    p->weighed_bytes = received;
    p->weighed_message_bytes = p->message_bytes;
    p->weighed_ms = now_ms;
    if (p->waste <= WS_PEER_WASTE_MAX)
        return false;
    p->close_code = CLOSE_POLICY;
    p->close_reason = "a flood of what is no message";
    atomic_fetch_add(&p->env->broken, 1);
    return true;
}

bool ws_peer_tick(struct ws_peer *p, int64_t dead_ms, int64_t now_ms)
{
    const struct api_config *config = p->env->config;
    int64_t hangup_ms = (int64_t)config->hangup_s * 1000, silent_ms = now_ms - p->heard_ms;

    p->used_us -= 1000 * (now_ms - p->used_ms);
    p->used_us = p->used_us < 0 ? 0 : p->used_us;
    p->used_ms = now_ms;
    if (!p->in_message && now_ms - p->rx_ms >= WS_PEER_REST_MS)
        give_back(p);
    check_again(p);
    switch (p->phase) {
    case WS_PEER_FREE:
        return false;
    case WS_PEER_HANDSHAKE:
        if (now_ms - p->phase_ms < (int64_t)config->header_timeout_s * 1000)
            return false;
        break;
    case WS_PEER_CLOSING: /* the rest has hangup_s to leave */
        if (p->closing_ms == 0)
            p->closing_ms = now_ms;
        return now_ms - p->closing_ms >= hangup_ms;
    case WS_PEER_OPEN:
        if (now_ms - p->phase_ms >= WS_PEER_START_MS) {
            atomic_fetch_add(&p->env->overstayed, 1);
            peer_refuse(p, REFUSAL_NO_START, "start must come within 5 s", "");
            return false;
        }
        /* fall through */
    case WS_PEER_STARTED:
        if (p->message_ms && now_ms - p->message_ms >= (int64_t)config->message_timeout_s * 1000) {
            atomic_fetch_add(&p->env->overstayed, 1);
            peer_end(p, CLOSE_POLICY, "a message took too long");
            return false;
        }
        if (silent_ms >= (int64_t)config->ping_s * 1000 &&
            now_ms - p->pinged_ms >= (int64_t)config->ping_s * 1000) {
            p->pinged_ms = now_ms;
            p->ping_due = true;
        }
        /* A phone that reads slowly is alive as long as its kernel answers ours. */
        if (!(silent_ms >= hangup_ms && dead_ms >= hangup_ms) &&
            silent_ms < WS_PEER_STALL * hangup_ms)
            return false;
        break;
    }
    atomic_fetch_add(&p->env->overstayed, 1);
    return true;
}
