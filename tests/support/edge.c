#include "tests/support/edge.h"

#include "proto/json.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define WAIT_MS 20000

static void need(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "edge test support: %s: %s\n", what, strerror(errno));
    abort();
}

static const char token_lines[] =
    "# printf TOKEN | sha256sum\n"
    "boss admin 1308e539698ba55f88147ca92155c41ba0d15265cbd67e33ee20510fd61f2637\n"
    "phone ingest 4f0b992fcf4640bc5510b4086a5fc267ec4de98aa7e8c0fb5a95b6d2d4b7c32c 2099-12-31\n"
    "wall view 245de413afc8fe21a6ec50054a8342db1c23e270926f9fbb1e64b4fe63ed388b "
    "2099-12-31T23:59:59Z\n"
    "old admin 95f1497957c3f46f131ffd94ce83a550fe0447ab40110112bf09c9187ead5064 2001-01-01\n";

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;

static void log_line(void *ctx, int level, const char *fields_json, const char *text)
{
    struct edge *e = ctx;
    size_t n = strlen(fields_json) + strlen(text) + 2;

    (void)level;
    pthread_mutex_lock(&log_lock); /* both edges write */
    if (e->log_len + n + 1 < sizeof e->log)
        e->log_len += (size_t)sprintf(e->log + e->log_len, "%s %s\n", fields_json, text);
    pthread_mutex_unlock(&log_lock);
}

bool edge_logged(struct edge *e, const char *text)
{
    bool found;

    pthread_mutex_lock(&log_lock);
    found = strstr(e->log, text) != NULL;
    pthread_mutex_unlock(&log_lock);
    return found;
}

void edge_defaults(struct edge *e)
{
    static const char *const origins[] = {EDGE_ORIGIN, NULL};

    memset(e, 0, sizeof *e);
    e->config.http_host = e->config.ws_host = "127.0.0.1";
    e->config.http_fd = e->config.ws_fd = -1;
    e->config.public_ws_url = "";
    e->config.auth_mode = API_AUTH_TOKEN;
    e->config.origins = origins;
    e->config.max_body_bytes = 16384;
    e->config.max_task_bytes = 65536;
    e->config.max_message_bytes = 1 << 20;
    e->config.max_connections = 64;
    e->config.max_per_address = 64;
    e->config.header_timeout_s = 5;
    e->config.message_timeout_s = 5;
    e->config.ping_s = 3;
    e->config.hangup_s = 8;
    e->config.version = "test";
    e->config.log = log_line;
    e->config.log_ctx = e;
}

static void write_tokens(struct edge *e)
{
    int fd;

    scratch_path(e->token_file, "tokens");
    fd = mkstemp(e->token_file);
    need(fd >= 0, "mkstemp");
    need(write(fd, token_lines, sizeof token_lines - 1) == sizeof token_lines - 1, "write");
    close(fd);
    e->config.token_file = e->token_file;
}

static void wake(void *edge, void *cookie)
{
    struct edge *e = edge;
    ws_wake(e->ws, cookie);
}

void edge_start(struct edge *e)
{
    struct err err = {0};

    signal(SIGPIPE, SIG_IGN); /* as the daemon does: OpenSSL writes to connections that are gone */
    e->core = fake_core_new(12000);
    if (!e->config.ops)
        e->config.ops = fake_core_ops();
    e->config.core = fake_core_core(e->core);
    write_tokens(e);
    need(auth_open(&e->auth, &e->config, &err) == 0, err.text);
    need(ws_start(&e->ws, &e->config, e->auth, &err) == 0, err.text);
    e->config.ws_port = ws_port(e->ws);
    need(http_start(&e->http, &e->config, e->auth, &err) == 0, err.text);
    fake_core_set_wake(e->core, wake, e);
}

void edge_stop(struct edge *e)
{
    fake_core_set_wake(e->core, NULL, NULL);
    http_stop(&e->http);
    ws_stop(&e->ws);
    auth_close(&e->auth);
    fake_core_free(&e->core);
    unlink(e->token_file);
}

/* ------------------------------------------------------------------------------- sockets */

int edge_connect(int port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    need(fd >= 0, "socket");
    need(connect(fd, (struct sockaddr *)&a, sizeof a) == 0, "connect");
    /* as clients do: else the end of a message waits up to 40 ms for the answer to its beginning */
    need(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0, "TCP_NODELAY");
    return fd;
}

bool edge_send(int fd, const void *data, size_t len)
{
    const char *p = data;

    while (len > 0) {
        ssize_t n = send(fd, p, len, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        p += n;
        len -= (size_t)n;
    }
    return true;
}

/* Returns bytes read, 0 at the end, aborts when nothing comes: a test never hangs. */
static size_t receive(int fd, void *buf, size_t cap)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    ssize_t n;

    need(poll(&p, 1, WAIT_MS) > 0, "no answer came");
    n = recv(fd, buf, cap, 0);
    return n > 0 ? (size_t)n : 0;
}

bool edge_closed(int fd, int timeout_ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    char buf[4096];

    while (poll(&p, 1, timeout_ms) > 0)
        if (recv(fd, buf, sizeof buf, 0) <= 0)
            return true;
    return false;
}

static void read_head(int fd, struct edge_answer *a)
{
    size_t n = 0;

    while (n + 1 < sizeof a->head) {
        if (receive(fd, a->head + n, 1) == 0)
            return;
        a->head[++n] = '\0';
        if (n >= 4 && memcmp(a->head + n - 4, "\r\n\r\n", 4) == 0)
            break;
    }
    a->status = strncmp(a->head, "HTTP/1.", 7) == 0 ? atoi(a->head + 9) : -1;
}

static void read_bytes(int fd, struct edge_answer *a, size_t len)
{
    a->body = realloc(a->body, a->body_len + len + 1);
    need(a->body != NULL, "realloc");
    while (len > 0) {
        size_t n = receive(fd, a->body + a->body_len, len);
        if (n == 0)
            break;
        a->body_len += n;
        len -= n;
    }
    a->body[a->body_len] = '\0';
}

static void read_chunks(int fd, struct edge_answer *a)
{
    for (;;) {
        char line[32] = "";
        size_t n = 0, len;
        while (n + 1 < sizeof line && receive(fd, line + n, 1) == 1 && line[n] != '\n')
            line[++n] = '\0';
        len = strtoul(line, NULL, 16);
        read_bytes(fd, a, len);
        need(receive(fd, line, 2) > 0, "chunk end");
        if (len == 0)
            return;
    }
}

struct edge_answer edge_read(int fd, bool head_only)
{
    struct edge_answer a = {0};

    read_head(fd, &a);
    if (a.status == 100) {
        memset(&a, 0, sizeof a);
        read_head(fd, &a);
    }
    if (a.status <= 0 || head_only || a.status == 204 || a.status == 304)
        return a;
    if (strcasecmp(edge_header(&a, "Transfer-Encoding"), "chunked") == 0)
        read_chunks(fd, &a);
    else
        read_bytes(fd, &a, strtoul(edge_header(&a, "Content-Length"), NULL, 10));
    return a;
}

void edge_answer_free(struct edge_answer *a)
{
    free(a->body);
    memset(a, 0, sizeof *a);
}

const char *edge_header(const struct edge_answer *a, const char *name)
{
    static _Thread_local char value[512];
    size_t n = strlen(name);

    for (const char *line = strstr(a->head, "\r\n"); line; line = strstr(line + 2, "\r\n"))
        if (strncasecmp(line + 2, name, n) == 0 && line[2 + n] == ':') {
            snprintf(value, sizeof value, "%.*s", (int)strcspn(line + 4 + n, "\r"), line + 4 + n);
            return value;
        }
    return "";
}

struct edge_answer edge_raw(struct edge *e, const char *text)
{
    int fd = edge_connect(http_port(e->http));
    struct edge_answer a;

    edge_send(fd, text, strlen(text));
    a = edge_read(fd, false);
    close(fd);
    return a;
}

struct edge_answer edge_request(struct edge *e, const char *method, const char *target,
                                const char *token, const char *json)
{
    int fd = edge_connect(http_port(e->http));
    size_t cap = 2048 + (json ? strlen(json) : 0) + (token ? strlen(token) : 0);
    char *text = malloc(cap);
    struct edge_answer a;
    int n;

    need(text != NULL, "malloc");
    n = snprintf(text, cap, "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\n%s%s%s", method, target,
                 token ? "Authorization: Bearer " : "", token ? token : "", token ? "\r\n" : "");
    if (json)
        n += snprintf(text + n, cap - (size_t)n,
                      "Content-Type: application/json\r\nContent-Length: %zu\r\n", strlen(json));
    snprintf(text + n, cap - (size_t)n, "\r\n%s", json ? json : "");
    edge_send(fd, text, strlen(text));
    a = edge_read(fd, strcmp(method, "HEAD") == 0);
    free(text);
    close(fd);
    return a;
}

struct edge_session edge_session(struct edge *e, const char *json)
{
    struct edge_answer a = edge_request(e, "POST", "/v1/sessions", EDGE_ADMIN, json);
    struct edge_session s = {0};
    struct json_issues issues = {0};
    struct json_at at, tokens;
    struct json *doc;
    struct err err;

    need(a.status == 201, a.body ? a.body : a.head);
    need(json_parse(&doc, a.body, a.body_len, 8, &err) == 0, "answer is no JSON");
    at = json_at(doc, &issues);
    need(json_get_text(&at, "id", s.id, sizeof s.id) && json_get_map(&at, "tokens", &tokens) &&
             json_get_text(&tokens, "ingest", s.ingest, sizeof s.ingest) &&
             json_get_text(&tokens, "view", s.view, sizeof s.view),
         "no id or tokens");
    json_free(&doc);
    edge_answer_free(&a);
    return s;
}
