/* REST calls of the client against answers given word for word: what becomes of statuses, problem
 * documents, downloads, tokens, and of a server that lies. */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/client/client.h"
#include "tests/support/unit.h"

#define PROBLEM                                                                           \
    "{\"type\":\"urn:recond:problem:invalid-fields\",\"title\":\"Wrong\",\"status\":422," \
    "\"detail\":\"2 fields are wrong\",\"errors\":[{\"pointer\":\"/camera/fx\","          \
    "\"detail\":\"must be at least 1\"},{\"detail\":\"x\"}]}"
#define SESSION                                                                                 \
    "{\"id\":\"abcdefgh\",\"stream_url\":\"ws://h:1/v1/sessions/abcdefgh/stream\",\"other\":1," \
    "\"tokens\":{\"ingest\":\"iiiiiiiiiiiiiiiiiiiiii\",\"view\":\"vvvvvvvvvvvvvvvvvvvvvv\"}}"

static struct {
    int listener, status, promise; /* promise: Content-Length instead of the truth, 0 = the truth */
    const char *body, *headers;    /* headers: more of them, or NULL */
    size_t body_len;               /* 0 = the text's */
    int mute, busy; /* requests that are cut off, then that are answered 503, before all others */
    atomic_int requests;
    pthread_mutex_t lock; /* held while a request is answered, and while the next answer is set */
    char url[64], request[8192];
    pthread_t thread;
} server = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Answers the n-th request, if it is to be answered, and closes. */
static void reply(int fd, int n)
{
    static const char busy[] =
        "HTTP/1.1 503 X\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    size_t len = server.body_len ? server.body_len : strlen(server.body);
    char head[256];

    if (n > server.mute && n <= server.mute + server.busy) {
        send(fd, busy, sizeof busy - 1, MSG_NOSIGNAL);
    } else if (n > server.mute) {
        snprintf(head, sizeof head,
                 "HTTP/1.1 %d X\r\nContent-Length: %zu\r\nConnection: close\r\n%s\r\n",
                 server.status, server.promise ? (size_t)server.promise : len,
                 server.headers ? server.headers : "");
        send(fd, head, strlen(head), MSG_NOSIGNAL);
        send(fd, server.body, len, MSG_NOSIGNAL);
    }
    close(fd);
}

static void *serve(void *argument)
{
    int fd;

    while ((fd = accept(server.listener, NULL, NULL)) >= 0) {
        size_t n = 0, body = 0;
        char *end = NULL, *at;

        memset(server.request, 0, sizeof server.request);
        while (!end || n < (size_t)(end - server.request) + 4 + body) {
            ssize_t got = recv(fd, server.request + n, sizeof server.request - 1 - n, 0);
            if (got <= 0)
                break;
            n += (size_t)got;
            end = strstr(server.request, "\r\n\r\n");
            at = strstr(server.request, "Content-Length: ");
            body = at ? (size_t)atoi(at + 16) : 0;
        }
        pthread_mutex_lock(&server.lock);
        reply(fd, ++server.requests);
        pthread_mutex_unlock(&server.lock);
    }
    return argument;
}

FIXTURE(start)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof a;

    server.listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(server.listener, (struct sockaddr *)&a, sizeof a) || listen(server.listener, 8) ||
        getsockname(server.listener, (struct sockaddr *)&a, &len))
        return -1;
    snprintf(server.url, sizeof server.url, "http://127.0.0.1:%d/", ntohs(a.sin_port));
    return pthread_create(&server.thread, NULL, serve, NULL);
}

FIXTURE(stop)
{
    shutdown(server.listener, SHUT_RDWR);
    pthread_join(server.thread, NULL);
    return close(server.listener);
}

static void answer(int status, const char *body)
{
    pthread_mutex_lock(&server.lock);
    server.status = status;
    server.body = body;
    server.headers = NULL;
    server.body_len = 0;
    server.promise = server.mute = server.busy = 0;
    server.requests = 0;
    pthread_mutex_unlock(&server.lock);
}

static struct client *open_client(const char *token)
{
    struct client_config config = {.url = server.url, .token = token, .timeout_s = 3};
    struct client *c;
    struct err err = {0};

    if (client_open(&c, &config, &err))
        fail_msg("%s", err.text);
    return c;
}

/* Six numbers of 3 x 2, and every way in which headers and bytes do not fit each other. */
TEST_WITH(a_depth_map_is_numbers, start, stop)
{
    static const char bytes[] = "\0\0\x80\x3f\0\0\0\x40\0\0\0\0\0\0\0\x3f\0\0\x80\x41\0\0\xc0\x3f";
    static const char *const bad[] = {
        "",
        "Recond-Width: 3\r\nRecond-Height: 2\r\n",
        "Recond-Width: 3\r\nRecond-Seq: 1\r\n",
        "Recond-Width: 2\r\nRecond-Height: 2\r\nRecond-Seq: 1\r\n",
        "Recond-Width: 0\r\nRecond-Height: 2\r\nRecond-Seq: 1\r\n",
        "Recond-Width: -3\r\nRecond-Height: -2\r\nRecond-Seq: 1\r\n",
        "Recond-Width: 3x\r\nRecond-Height: 2\r\nRecond-Seq: 1\r\n",
        "Recond-Width: 4611686018427387906\r\nRecond-Height: 3\r\nRecond-Seq: 1\r\n",
    };
    static const float right[6] = {1, 2, 0, 0.5f, 16, 1.5f};
    struct client *c = open_client(NULL);
    float *depth;
    uint64_t seq;
    int w, h;

    answer(200, bytes);
    server.body_len = 24;
    server.headers = "Recond-Width: 3\r\nRecond-Height: 2\r\nRecond-Seq: 77\r\n";
    assert_int_equal(client_depth(c, "abc", &depth, &w, &h, &seq, NULL), 0);
    assert_memory_equal(server.request, "GET /v1/sessions/abc/depth?format=f32 HTTP/1.1\r\n", 48);
    assert_true(w == 3 && h == 2 && seq == 77);
    assert_memory_equal(depth, right, sizeof right);
    free(depth);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        server.headers = bad[i];
        assert_int_equal(client_depth(c, "abc", &depth, &w, &h, &seq, NULL), ERR_INPUT);
        assert_null(depth);
    }
    answer(409, "");
    assert_int_equal(client_depth(c, "abc", &depth, &w, &h, &seq, NULL), ERR_STATE);
    client_close(&c);
}

TEST_WITH(a_call_carries_what_it_should, start, stop)
{
    struct client *c = open_client("top-secret");
    char *body;
    size_t len;
    int status;

    answer(200, "{\"a\":1}");
    assert_int_equal(client_request(c, "POST", "/v1/x", "{\"b\":2}", &body, &len, &status, NULL),
                     0);
    assert_int_equal(status, 200);
    assert_int_equal(len, 7);
    assert_string_equal(body, "{\"a\":1}");
    free(body);
    assert_memory_equal(server.request, "POST /v1/x HTTP/1.1\r\n", 21); /* one slash, no token */
    assert_non_null(strstr(server.request, "\r\nAuthorization: Bearer top-secret\r\n"));
    assert_non_null(strstr(server.request, "\r\nContent-Type: application/json\r\n"));
    assert_non_null(strstr(server.request, "\r\n\r\n{\"b\":2}"));
    assert_int_equal(client_request(c, "DELETE", "/v1/x", NULL, NULL, NULL, NULL, NULL), 0);
    assert_memory_equal(server.request, "DELETE /v1/x HTTP/1.1\r\n", 23);
    assert_int_equal(client_request(c, "GET", "/v1/y", NULL, NULL, NULL, NULL, NULL), 0);
    assert_memory_equal(server.request, "GET /v1/y HTTP/1.1\r\n",
                        20); /* nothing is left of before */
    assert_null(strstr(server.request, "{\"b\":2}"));
    client_close(&c);
    assert_null(c);
}

TEST_WITH(statuses_become_codes, start, stop)
{
    static const int cases[][2] = {{400, ERR_INPUT},     {401, ERR_DENIED}, {403, ERR_DENIED},
                                   {404, ERR_NOT_FOUND}, {409, ERR_STATE},  {413, ERR_LIMIT},
                                   {408, ERR_BUSY},      {502, ERR_BUSY},   {504, ERR_BUSY},
                                   {429, ERR_BUSY},      {503, ERR_BUSY},   {500, ERR_DEVICE},
                                   {302, ERR_INPUT}};
    struct client *c = open_client(NULL);
    struct err err = {0};
    int status;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        answer(cases[i][0], "<html>not JSON</html>");
        assert_int_equal(client_request(c, "GET", "/", NULL, NULL, NULL, &status, &err),
                         cases[i][1]);
        assert_int_equal(status, cases[i][0]);
        assert_int_equal(err.code, cases[i][1]);
        assert_non_null(strstr(err.text, "HTTP status"));
    }
    assert_null(strstr(server.request, "Authorization"));
    answer(422, PROBLEM);
    assert_int_equal(client_request(c, "GET", "/", NULL, NULL, NULL, NULL, &err), ERR_INPUT);
    assert_string_equal(err.where, "/camera/fx");
    assert_string_equal(err.text, "must be at least 1");
    answer(404, "{\"title\":\"Gone\",\"status\":404}");
    assert_int_equal(client_request(c, "GET", "/", NULL, NULL, NULL, NULL, &err), ERR_NOT_FOUND);
    assert_string_equal(err.text, "Gone");
    client_close(&c);
}

TEST_WITH(a_session_is_read, start, stop)
{
    struct client *c = open_client(NULL);
    struct client_session s;
    struct err err = {0};

    answer(201, SESSION);
    assert_int_equal(client_session_create(c, "{}", &s, &err), 0);
    assert_string_equal(s.id, "abcdefgh");
    assert_string_equal(s.stream_url, "ws://h:1/v1/sessions/abcdefgh/stream");
    assert_string_equal(s.ingest_token, "iiiiiiiiiiiiiiiiiiiiii");
    assert_string_equal(s.view_token, "vvvvvvvvvvvvvvvvvvvvvv");
    answer(201, "{\"id\":\"abc\"}");
    assert_int_equal(client_session_create(c, "{}", &s, &err), ERR_INPUT);
    assert_string_equal(err.where, "/stream_url");
    answer(201, "{\"id\":\"abcdefghijklmnopqrstuvwxyzabcdefghijkl\",\"stream_url\":\"ws://h\"}");
    assert_int_equal(client_session_create(c, "{}", &s, &err), ERR_INPUT);
    answer(201, "{");
    assert_int_equal(client_session_create(c, "{}", &s, &err), ERR_INPUT);
    client_close(&c);
}

TEST_WITH(downloads_are_whole_or_not_there, start, stop)
{
    char folder[] = "/tmp/recond-client-XXXXXX", file[64], part[80], text[16] = "";
    struct client *c = open_client(NULL);
    struct err err = {0};
    FILE *in;

    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/a", folder);
    snprintf(part, sizeof part, "%s.part", file);
    answer(200, "ply...");
    server.promise = 100; /* and then the line breaks */
    assert_int_equal(client_download(c, "/x", file, &err), ERR_IO);
    assert_int_not_equal(access(file, F_OK), 0);
    assert_int_not_equal(access(part, F_OK), 0);
    answer(404, "{\"detail\":\"no session\"}");
    assert_int_equal(client_download(c, "/x", file, &err), ERR_NOT_FOUND);
    assert_string_equal(err.text, "no session");
    assert_int_not_equal(access(file, F_OK), 0);
    answer(200, "ply...");
    assert_int_equal(client_download(c, "/x", file, &err), 0);
    in = fopen(file, "r");
    assert_non_null(in);
    assert_int_equal(fread(text, 1, sizeof text - 1, in), 6);
    fclose(in);
    assert_string_equal(text, "ply...");
    assert_int_not_equal(access(part, F_OK), 0);
    unlink(file);
    rmdir(folder);
    assert_int_equal(client_download(c, "/x", file, &err), ERR_FILE); /* no such folder */
    client_close(&c);
}

TEST_WITH(a_look_takes_only_the_beginning, start, stop)
{
    char *big = malloc(300001), buf[11];
    struct client *c = open_client(NULL);
    size_t len;

    assert_non_null(big);
    memset(big, 'x', 300000);
    big[300000] = '\0';
    memcpy(big, "header", 6);
    answer(200, big);
    assert_int_equal(client_peek(c, "/x", buf, sizeof buf, &len, NULL), 0);
    assert_int_equal(len, 10);
    assert_string_equal(buf, "headerxxxx");
    answer(200, "short");
    assert_int_equal(client_peek(c, "/x", buf, sizeof buf, &len, NULL), 0);
    assert_string_equal(buf, "short");
    client_close(&c);
    free(big);
}

TEST_WITH(an_answer_has_a_bound, start, stop)
{
    size_t n = (16u << 20) + 1;
    char *big = malloc(n + 1);
    struct client *c = open_client(NULL);
    struct err err = {0};

    assert_non_null(big);
    memset(big, 'x', n);
    big[n] = '\0';
    answer(200, big);
    assert_int_equal(client_request(c, "GET", "/", NULL, NULL, NULL, NULL, &err), ERR_LIMIT);
    client_close(&c);
    free(big);
}

static int retries, retry_ms;

static void on_retry(void *ctx, const struct err *why, int wait_ms)
{
    assert_ptr_equal(ctx, &retries);
    assert_true(why->text[0]);
    retries++;
    retry_ms = wait_ms;
}

static bool stop_second(void *ctx)
{
    return *(int *)ctx == 2;
}

static struct client *open_patient(double retry_s, bool stopping)
{
    struct client_config config = {.url = server.url,
                                   .timeout_s = 3,
                                   .retry_s = retry_s,
                                   .ctx = &retries,
                                   .on_retry = on_retry,
                                   .stopped = stopping ? stop_second : NULL};
    struct client *c;

    assert_int_equal(client_open(&c, &config, NULL), 0);
    retries = 0;
    return c;
}

TEST_WITH(what_does_no_harm_is_asked_again, start, stop)
{
    struct client *c = open_patient(20, false);
    struct err err = {0};
    char *body;

    answer(200, "whole");
    server.mute = 3;
    assert_int_equal(client_request(c, "GET", "/", NULL, &body, NULL, NULL, &err), 0);
    assert_string_equal(body, "whole");
    free(body);
    assert_int_equal(server.requests, 4);
    assert_int_equal(retries, 3);
    assert_in_range(retry_ms, 200, 400);
    answer(404, ""); /* the first one was heard, though not its answer */
    server.mute = 1;
    assert_int_equal(client_request(c, "DELETE", "/x", NULL, NULL, NULL, NULL, &err), 0);
    answer(404, "");
    assert_int_equal(client_request(c, "DELETE", "/x", NULL, NULL, NULL, NULL, &err),
                     ERR_NOT_FOUND);
    assert_int_equal(server.requests, 1);
    client_close(&c);
}

TEST_WITH(a_session_is_not_made_twice, start, stop)
{
    struct client *c = open_patient(20, false);
    struct client_session s;
    struct err err = {0};

    answer(201, SESSION);
    server.mute = 1;
    assert_int_equal(client_session_create(c, "{}", &s, &err), ERR_IO);
    assert_int_equal(server.requests, 1); /* it may have been made: not again */
    assert_non_null(strstr(err.text, "may have made a session"));
    answer(201, SESSION);
    server.busy = 1; /* surely not made */
    retries = 0;
    assert_int_equal(client_session_create(c, "{}", &s, &err), 0);
    assert_int_equal(server.requests, 2);
    assert_int_equal(retries, 1);
    assert_in_range(retry_ms, 1050, 1100);
    client_close(&c);
}

TEST_WITH(patience_has_an_end, start, stop)
{
    struct client *c = open_patient(1, false);
    struct err err = {0};

    answer(200, "");
    server.mute = 1000;
    assert_int_equal(client_request(c, "GET", "/", NULL, NULL, NULL, NULL, &err), ERR_IO);
    assert_in_range(retries, 1, 5); /* after 0.1, 0.2, 0.4 s, halved at most: five are a second */
    client_close(&c);
    c = open_patient(0, false);
    assert_int_equal(client_request(c, "GET", "/", NULL, NULL, NULL, NULL, &err), ERR_IO);
    assert_int_equal(retries, 0);
    client_close(&c);
    c = open_patient(1000, true);
    assert_int_equal(client_request(c, "GET", "/", NULL, NULL, NULL, NULL, &err), ERR_IO);
    assert_int_equal(retries, 2);
    client_close(&c);
}

/* No process listens at first: not a byte was sent, so even a session may be asked for again. */
static void *serve_late(void *argument)
{
    usleep(400000);
    return listen(server.listener, 8) ? NULL : serve(argument);
}

TEST(a_server_that_starts_late_is_found)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof a;
    struct client_session s;
    struct client *c;
    struct err err = {0};

    server.listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(server.listener, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(getsockname(server.listener, (struct sockaddr *)&a, &len), 0);
    snprintf(server.url, sizeof server.url, "http://127.0.0.1:%d/", ntohs(a.sin_port));
    c = open_patient(20, false);
    answer(201, SESSION);
    assert_int_equal(pthread_create(&server.thread, NULL, serve_late, NULL), 0);
    assert_int_equal(client_session_create(c, "{}", &s, &err), 0);
    assert_true(retries >= 2);
    assert_int_equal(server.requests, 1);
    client_close(&c);
    stop(state);
}

TEST(what_makes_no_sense_is_refused)
{
    struct client_config config = {.url = "ftp://127.0.0.1/"};
    struct client *c;
    struct err err = {0};

    assert_int_equal(client_open(&c, &config, &err), ERR_INPUT);
    assert_null(c);
    config.url = "http://127.0.0.1:1";
    config.token = "two\r\nlines";
    assert_int_equal(client_open(&c, &config, &err), ERR_INPUT);
    config.token = NULL;
    assert_int_equal(client_open(&c, &config, &err), 0);
    assert_int_equal(client_request(c, "GET", "/", NULL, NULL, NULL, NULL, &err), ERR_IO);
    client_close(&c);
}
