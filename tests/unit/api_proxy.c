/* api_proxy.c - which address counts behind a proxy, and where an edge may listen at all */
#include "api/server/listen.h"
#include "api/server/http.h"
#include "api/server/ws.h"
#include "api/server/ws_slots.h"
#include "tests/support/ws_case.h"
#include "tests/support/ws_raw.h"
#include "tests/support/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ------------------------------------------------------------------------- X-Forwarded-For */

TEST(test_the_last_hop_counts)
{
    static const struct {
        const char *header, *addr; /* NULL = none */
    } cases[] = {
        {"192.0.2.1", "::ffff:192.0.2.1"},
        {"10.0.0.1, 192.0.2.7", "::ffff:192.0.2.7"},
        {"fake,192.0.2.7", "::ffff:192.0.2.7"},
        {"192.0.2.7:4711", "::ffff:192.0.2.7"},
        {"2001:db8::1", "2001:db8::1"},
        {"1.2.3.4,\t[2001:db8::1]:443", "2001:db8::1"},
        {"  ::ffff:192.0.2.9 ", "::ffff:192.0.2.9"},
        {"192.0.2.1, unknown", NULL},
        {"192.0.2.1,", NULL},
        {"", NULL},
        {"[", NULL},
        {"192.0.2.1.5", NULL},
        {"192.0.2.1 192.0.2.2", "::ffff:192.0.2.1"}, /* one item, ends at the blank */
        {"1111111111111111111111111111111111111111111111111111111111111111111111.1", NULL},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t got[16], want[16];
        bool ok = listen_forwarded(cases[i].header, got);
        if (ok != (cases[i].addr != NULL))
            print_error("%s\n", cases[i].header);
        assert_int_equal(ok, cases[i].addr != NULL);
        if (!ok)
            continue;
        assert_int_equal(inet_pton(AF_INET6, cases[i].addr, want), 1);
        assert_memory_equal(got, want, 16);
    }
}

static void address(uint8_t out[16], const char *text)
{
    assert_int_equal(inet_pton(AF_INET6, text, out), 1);
}

/* An IPv6 network of one subscriber is one holder, an IPv4 address another. */
TEST(test_slots_by_name)
{
    struct ws_slots *s;
    uint8_t proxy[16], a[16], b[16];
    struct err err;

    assert_int_equal(ws_slots_new(&s, 6, 2, &err), 0);
    address(proxy, "::ffff:10.0.0.1");
    for (int i = 0; i < 6; i++)
        assert_true(ws_slots_take(s, proxy, 100, -1) >= 0);
    assert_int_equal(ws_slots_take(s, proxy, 100, -1), -1);
    address(a, "2001:db8::1");
    address(b, "2001:db8::ffff:ffff:0:1");
    assert_true(ws_slots_name(s, 0, a, 2));
    assert_true(ws_slots_name(s, 1, b, 2));
    assert_false(ws_slots_name(s, 2, a, 2));
    assert_true(ws_slots_name(s, 1, b, 2)); /* the same seat again */
    address(b, "2001:db8:0:1::1");
    assert_true(ws_slots_name(s, 2, b, 2));
    address(a, "::ffff:192.0.2.1");
    address(b, "::ffff:192.0.2.2");
    assert_true(ws_slots_name(s, 3, a, 1));
    assert_true(ws_slots_name(s, 4, b, 1));
    assert_false(ws_slots_name(s, 5, a, 1));
    ws_slots_arrive(s, 3); /* or it would be closed, as one that no service adopted */
    ws_slots_leave(s, 3);
    assert_true(ws_slots_name(s, 5, a, 1));
    for (int i = 0; i < 6; i++)
        ws_slots_arrive(s, i);
    ws_slots_free(&s);
}

static void expect(const char *forwarded, int status, int *fd)
{
    int got = ws_case_handshake(ws_case.session.view, forwarded, fd);

    if (got != status)
        print_error("%s: %d\n", forwarded, got);
    assert_int_equal(got, status);
}

FIXTURE(setup_proxy)
{
    edge_defaults(&ws_case.edge);
    ws_case.edge.config.behind_proxy = true;
    ws_case.edge.config.max_per_address = 2;
    return ws_case_begin();
}

TEST_WITH(test_streams_count_by_what_the_proxy_says, setup_proxy, ws_case_teardown)
{
    int fd[8], n = 0;

    expect("X-Forwarded-For: 192.0.2.1\r\n", 101, &fd[n++]);
    expect("X-Forwarded-For: 192.0.2.1\r\n", 101, &fd[n++]);
    /* what a client writes itself stands before what the proxy adds, in one header or in two */
    expect("X-Forwarded-For: 198.51.100.9, 192.0.2.1\r\n", 503, &fd[n++]);
    expect("X-Forwarded-For: 198.51.100.9\r\nX-Forwarded-For: 192.0.2.1\r\n", 503, &fd[n++]);
    expect("X-Forwarded-For: 192.0.2.1, 192.0.2.2\r\n", 101, &fd[n++]);
    expect("", 101, &fd[n++]);
    close(fd[0]);
    ws_case_expect_streams(0); /* none has started */
    for (int i = 0; i < 3000; i++) {
        int again, status = ws_case_handshake(ws_case.session.view,
                                              "X-Forwarded-For: 192.0.2.1\r\n", &again);
        close(again);
        if (status == 101)
            break;
        assert_true(i < 2999);
        usleep(20000);
    }
    for (int i = 1; i < n; i++)
        close(fd[i]);
}

/* Without a proxy the header may be the client's own word. */
FIXTURE(setup_alone)
{
    edge_defaults(&ws_case.edge);
    ws_case.edge.config.max_per_address = 2;
    return ws_case_begin();
}

TEST_WITH(test_the_header_alone_means_nothing, setup_alone, ws_case_teardown)
{
    int fd[3];

    expect("X-Forwarded-For: 192.0.2.1\r\n", 101, &fd[0]);
    expect("X-Forwarded-For: 192.0.2.2\r\n", 101, &fd[1]);
    expect("X-Forwarded-For: 192.0.2.3\r\n", 503, &fd[2]);
    for (int i = 0; i < 3; i++)
        close(fd[i]);
}

/* ------------------------------------------------------------------------- off loopback */

static int start_both(struct api_config *config, struct auth *a, struct err *err)
{
    struct http *h = NULL;
    struct ws *w = NULL;
    int rc = ws_start(&w, config, a, err), rc2;

    if (rc == 0)
        ws_stop(&w);
    rc2 = http_start(&h, config, a, err);
    if (rc2 == 0)
        http_stop(&h);
    assert_int_equal(rc, rc2);
    return rc;
}

TEST_WITH(test_off_loopback, ws_case_setup, ws_case_teardown)
{
    struct api_config config = ws_case.edge.config;
    struct sockaddr_in any = {.sin_family = AF_INET};
    struct err err = {0};
    int fd;

    config.http_host = config.ws_host = "0.0.0.0";
    config.ws_port = 0;
    assert_int_equal(start_both(&config, ws_case.edge.auth, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "without TLS"));
    config.behind_proxy = true;
    assert_int_equal(start_both(&config, ws_case.edge.auth, &err), 0);
    /* nor through a socket of another process */
    config.behind_proxy = false;
    config.http_host = config.ws_host = "127.0.0.1";
    fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&any, sizeof any), 0);
    assert_int_equal(listen(fd, 5), 0);
    config.http_fd = config.ws_fd = fd;
    assert_int_equal(start_both(&config, ws_case.edge.auth, &err), ERR_INPUT);
    close(fd);
}
