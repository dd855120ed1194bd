/*
 * fuzz_api_request.c - a whole REST request through gate, route and handler, in process
 *
 * Input: "METHOD TARGET", header lines, an empty line, the body; lines end in \n. The gate sees
 * each name and value as the HTTP library would hand it over. Every request gets exactly one
 * answer, and JSON is JSON.
 */
#include "api/server/http_gate.h"
#include "api/server/pictures.h"
#include "api/server/routes.h"
#include "proto/json.h"
#include "tests/support/fake_core.h"
#include "tests/support/fake_objects.h"
#include "tests/support/fuzz_case.h"

#include <semaphore.h>
#include <unistd.h>

static struct fake_core *core;
static struct api_config config;
static struct auth *auth, *strict;
static struct pictures *pictures;
static sem_t resumed;

/* An authority that knows no token: whatever a request brings is hashed and refused. */
static void open_strict(void)
{
    char file[] = "/tmp/recond-fuzz-XXXXXX";
    struct api_config with = config;
    struct err err;
    int fd = mkstemp(file);

    check(fd >= 0);
    close(fd);
    with.auth_mode = API_AUTH_TOKEN;
    with.token_file = file;
    check(auth_open(&strict, &with, &err) == 0);
    unlink(file);
}

static void on_resume(void *held)
{
    (void)held;
    check(sem_post(&resumed) == 0);
}

static void start_once(void)
{
    static const char *const origins[] = {"https://app.example", NULL};
    struct session_options options;
    struct session_info session;
    struct err err;
    int retry;

    if (core)
        return;
    core = fake_core_new(16);
    config.ops = fake_core_ops();
    config.core = fake_core_core(core);
    config.auth_mode = API_AUTH_NONE;
    config.ws_host = "127.0.0.1";
    config.ws_port = 1;
    config.origins = origins;
    config.max_body_bytes = 4096;
    config.max_task_bytes = 16384;
    check(auth_open(&auth, &config, &err) == 0);
    check(sem_init(&resumed, 0, 0) == 0);
    check(pictures_new(&pictures, &config, &err) == 0);
    open_strict();
    memset(&options, 0,
           sizeof options); /* the first one: its id is always the same, and seeds name it */
    options.preview = true;
    check(config.ops->session_create(config.core, &options, "", &session, &retry, &err) == 0);
}

/* Cut the next line off, NUL-terminated in place; NULL past the end. */
static char *next_line(char **at)
{
    char *line = *at, *end = line ? strchr(line, '\n') : NULL;

    *at = end ? end + 1 : NULL;
    if (end)
        *end = '\0';
    return line;
}

static void check_stream(struct http_stream *s)
{
    uint8_t buf[1000];
    uint64_t offset = 0;
    long n;

    while ((n = s->read(s->ctx, offset, buf, sizeof buf)) > 0) {
        check(n <= (long)sizeof buf);
        offset += (uint64_t)n;
        check(offset < 10000000);
    }
    check(n == 0 && (s->total == HTTP_UNKNOWN || offset == s->total));
}

static void check_answer(struct http_request *r)
{
    struct http_answer *a = &r->answer;
    struct json *doc;
    struct err err;

    check(a->status >= 200 && a->status <= 599);
    if (a->status >= 400)
        check(a->len > 0 && strcmp(a->type, "application/problem+json") == 0);
    if (a->stream.read)
        check_stream(&a->stream);
    if (a->type && strstr(a->type, "json")) {
        check(json_parse(&doc, a->body, a->len, 64, &err) == 0);
        json_free(&doc);
    }
    for (int i = 0; i < a->n_headers; i++) /* nothing of the request can start a line of its own */
        check(!strpbrk(a->header[i].value, "\r\n"));
}

static void forget_sessions(void)
{
    struct session_info infos[16];
    uint64_t cursor = 0;
    struct err err;
    int n;

    check(config.ops->session_list(config.core, infos, 16, &n, &cursor, &err) == 0);
    for (int i = 1; n > 8 && i < n; i++) { /* the first stays, unless a request deleted it */
        auth_forget_session(auth, infos[i].id);
        check(config.ops->session_delete(config.core, infos[i].id, &err) == 0);
    }
}

static void serve(struct http_request *r, struct auth *by, char *text, const char *end)
{
    char *at = text, *line = next_line(&at), *space = line ? strchr(line, ' ') : NULL;

    r->config = &config;
    r->auth = by;
    if (space)
        *space = '\0';
    r->method = http_gate_method(line ? line : "");
    http_gate_target(r, space ? space + 1 : "");
    while (r->answer.status == 0 && (line = next_line(&at)) != NULL && *line) {
        char *colon = strchr(line, ':');
        if (colon)
            *colon = '\0';
        const char *value = colon ? colon + 1 + strspn(colon + 1, " \t") : "";
        if (http_gate_header(r, line, strlen(line), value, strlen(value)))
            return;
    }
    if (r->answer.status != 0 || http_gate_decide(r))
        return;
    if (at && http_gate_has_body(r) && http_gate_body(r, at, (size_t)(end - at))) {
        answer_problem(r, PROBLEM_TOO_LARGE, "%s", "");
        return;
    }
    if (r->body_seen > http_gate_body_max(r))
        answer_problem(r, PROBLEM_TOO_LARGE, "%s", "");
    else
        r->route->handle(r);
    if (!r->waits)
        return;
    answer_hold(r, r);
    check(sem_wait(&resumed) == 0);
}

static void one(struct auth *by, const uint8_t *data, size_t size)
{
    struct http_request r;
    char *text = malloc(size + 1);

    check(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    memset(&r, 0, sizeof r);
    r.pictures = pictures;
    r.resume = on_resume;
    serve(&r, by, text, text + size);
    check_answer(&r);
    if (by == strict && r.route && r.route->right != AUTH_NONE)
        check(r.answer.status >= 400);
    answer_free(&r.answer);
    free(r.body);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    start_once();
    one(strict, data, size);
    one(auth, data, size);
    forget_sessions();
    fake_objects_clear();
    return 0;
}
