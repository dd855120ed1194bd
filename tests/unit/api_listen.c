/* api_listen.c - what the kernel says of a connection while bytes come */
#include "api/server/listen.h"
#include "tests/support/unit.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static int client, server;
static int more; /* so many times bytes come between two questions to the kernel */

int ioctl(int fd, unsigned long request, ...)
{
    static const char bytes[1000];
    va_list args;
    void *arg;

    if (fd == server && more > 0) {
        more--;
        assert_int_equal(send(client, bytes, sizeof bytes, 0), sizeof bytes);
    }
    va_start(args, request);
    arg = va_arg(args, void *);
    va_end(args);
    return (int)syscall(SYS_ioctl, fd, request, arg);
}

FIXTURE(setup)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(bind(listener, (struct sockaddr *)&at, len), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &len), 0);
    client = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(client, (struct sockaddr *)&at, len), 0);
    server = accept(listener, NULL, NULL);
    assert_true(server >= 0);
    return close(listener);
}

FIXTURE(teardown)
{
    close(client);
    return close(server);
}

static void read_all(size_t n)
{
    char buf[4096];

    while (n > 0) {
        ssize_t got = recv(server, buf, n < sizeof buf ? n : sizeof buf, 0);
        assert_true(got > 0);
        n -= (size_t)got;
    }
}

/* 1,000 bytes less than were read would be counted as a flood of 1,000 the next time. */
TEST_WITH(test_bytes_that_come_meanwhile, setup, teardown)
{
    more = 1;
    assert_int_equal(listen_health(server).received, 0);
    read_all(600);
    assert_int_equal(listen_health(server).received, 600);
    more = 1;
    assert_int_equal(listen_health(server).received, 600);
    read_all(1400);
    more = 100; /* without a pause */
    assert_int_equal(listen_health(server).received, 0);
    read_all((size_t)(100 - more) * 1000);
    more = 0;
    assert_int_equal(listen_health(server).received % 1000, 0);
    assert_true(listen_health(server).received > 2000);
}

TEST_WITH(test_addresses_as_text, setup, teardown)
{
    char text[LISTEN_TEXT_CAP];
    uint8_t addr[16];

    assert_true(listen_peer(server, addr));
    listen_text(text, addr);
    assert_string_equal(text, "127.0.0.1");
    assert_true(listen_forwarded("10.0.0.1, [2001:db8::1]:80", addr));
    listen_text(text, addr);
    assert_string_equal(text, "2001:db8::1");
}
