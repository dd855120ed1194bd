/*
 * fuzz_api_http.c - the whole REST edge in process: a socket pair as the connection, the library,
 * gate, routes, handlers, answers
 *
 * Input: first byte = flags (1 the authority that knows no token, 2 half-close when all is sent)
 * and in its upper bits how many bytes go into one write, 0 = all; then what the client sends. What
 * comes back begins as an answer does; without a token nothing is created or deleted; and no
 * connection outlives its client.
 */
#include "api/server/http.c"

#include "tests/support/fake_core.h"
#include "tests/support/fuzz_case.h"

#include <netinet/in.h>

#define TURNS_MAX 3000

static struct fake_core *core;
static struct http *edges[2]; /* open to all, strict */

static void make_edge(int i, enum api_auth_mode mode)
{
    static const char *const origins[] = {"https://app.example", NULL};
    char file[] = "/tmp/recond-fuzz-XXXXXX";
    struct api_config config = {0};
    struct http *h = calloc(1, sizeof *h);
    struct err err;
    int fd = mkstemp(file);

    check(h && fd >= 0);
    close(fd);
    config.ops = fake_core_ops();
    config.core = fake_core_core(core);
    config.auth_mode = mode;
    config.token_file = file;
    config.ws_host = "127.0.0.1";
    config.ws_port = 1;
    config.origins = origins;
    config.max_body_bytes = 4096;
    config.max_connections = 16;
    config.max_per_address = 16;
    config.header_timeout_s = 5;
    h->config = config;
    check(auth_open(&h->auth, &h->config, &err) == 0);
    unlink(file);
    h->config.token_file = "";
    check(listen_open("127.0.0.1", 0, -1, NULL, &fd, &h->port, &err) == 0);
    h->mhd = start_daemon(h, fd);
    check(h->mhd != NULL);
    edges[i] = h;
}

static void start_once(void)
{
    struct session_options options;
    struct session_info session;
    struct err err;
    int retry;

    if (core)
        return;
    core = fake_core_new(16);
    make_edge(0, API_AUTH_NONE);
    make_edge(1, API_AUTH_TOKEN);
    memset(&options, 0, sizeof options); /* the first one's id is always the same, seeds name it */
    options.preview = true;
    check(fake_core_ops()->session_create(fake_core_core(core), &options, "", &session, &retry,
                                          &err) == 0);
}

static void forget_sessions(struct http *h)
{
    struct session_info infos[16];
    uint64_t cursor = 0;
    struct err err;
    int n;

    check(h->config.ops->session_list(h->config.core, infos, 16, &n, &cursor, &err) == 0);
    for (int i = 1; n > 8 && i < n; i++) { /* the first stays, unless a request deleted it */
        auth_forget_session(h->auth, infos[i].id);
        check(h->config.ops->session_delete(h->config.core, infos[i].id, &err) == 0);
    }
}

/* Whatever has come. `first`: nothing was read before. */
static bool take_answers(int fd, bool *first)
{
    char buf[65536];
    ssize_t n;

    while ((n = recv(fd, buf, sizeof buf, MSG_DONTWAIT)) > 0) {
        check(!*first || n < 9 || memcmp(buf, "HTTP/1.1 ", 9) == 0);
        *first = false;
    }
    return n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

static int connect_to(struct http *h)
{
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int sv[2];

    check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sv) == 0);
    check(MHD_add_connection(h->mhd, sv[1], (struct sockaddr *)&from, sizeof from) == MHD_YES);
    return sv[0];
}

static void talk(struct http *h, int fd, const uint8_t *data, size_t size, size_t piece)
{
    bool first = true, over = false;
    int quiet = 0;

    for (int i = 0; i < TURNS_MAX && !over && quiet < 3; i++) {
        size_t n = size < piece ? size : piece;
        ssize_t sent = n > 0 ? send(fd, data, n, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;

        if (sent > 0) {
            data += sent;
            size -= (size_t)sent;
        }
        quiet = sent > 0 ? 0 : quiet + 1;
        MHD_run(h->mhd);
        over = take_answers(fd, &first);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fake_core_counts before, after;
    struct http *h;
    int fd;

    if (size < 1)
        return 0;
    start_once();
    before = fake_core_counts(core);
    h = edges[data[0] & 1];
    fd = connect_to(h);
    talk(h, fd, data + 1, size - 1, data[0] >> 2 ? data[0] >> 2 : SIZE_MAX);
    if (data[0] & 2) {
        bool first = false;
        shutdown(fd, SHUT_WR);
        MHD_run(h->mhd);
        take_answers(fd, &first);
    }
    close(fd);
    for (int i = 0; i < 20 && h->peers.first; i++)
        MHD_run(h->mhd);
    check(!h->peers.first && atomic_load(&h->peers.connections) == 0);
    after = fake_core_counts(core);
    if (data[0] & 1)
        check(after.created == before.created && after.deleted == before.deleted);
    check(after.exports_open == 0);
    forget_sessions(h);
    return 0;
}
