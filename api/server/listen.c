#include "api/server/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
/* not netinet/tcp.h, whose struct tcp_info ends before the bytes received */
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 511
#define HEALTH_TRIES 4
#define TLS_HANDSHAKE 0x16 /* first byte of a connection that speaks TLS */

union address {
    struct sockaddr sa;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static int parse_address(const char *host, int port, union address *a, socklen_t *len,
                         struct err *err)
{
    memset(a, 0, sizeof *a);
    if (inet_pton(AF_INET, host, &a->v4.sin_addr) == 1) {
        a->v4.sin_family = AF_INET;
        a->v4.sin_port = htons((uint16_t)port);
        *len = sizeof a->v4;
        return 0;
    }
    if (inet_pton(AF_INET6, host, &a->v6.sin6_addr) == 1) {
        a->v6.sin6_family = AF_INET6;
        a->v6.sin6_port = htons((uint16_t)port);
        *len = sizeof a->v6;
        return 0;
    }
    return err_set(err, ERR_INPUT, "\"%.60s\" is not a numeric IPv4 or IPv6 address", host);
}

static int bound_address(int fd, union address *a, struct err *err)
{
    socklen_t len = sizeof *a;

    memset(a, 0, sizeof *a);
    if (getsockname(fd, &a->sa, &len) != 0)
        return err_set(err, ERR_IO, "getsockname: %s", strerror(errno));
    if (a->sa.sa_family != AF_INET && a->sa.sa_family != AF_INET6)
        return err_set(err, ERR_INPUT, "the listening socket is not TCP over IPv4 or IPv6");
    return 0;
}

static bool is_loopback(const union address *a)
{
    if (a->sa.sa_family == AF_INET)
        return ntohl(a->v4.sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr);
}

static bool same_host(const union address *a, const union address *b)
{
    if (a->sa.sa_family != b->sa.sa_family)
        return false;
    if (a->sa.sa_family == AF_INET)
        return a->v4.sin_addr.s_addr == b->v4.sin_addr.s_addr;
    return IN6_ARE_ADDR_EQUAL(&a->v6.sin6_addr, &b->v6.sin6_addr);
}

static int make_socket(const union address *want, socklen_t len, const char *host, int port,
                       int *fd, struct err *err)
{
    int on = 1, rc = 0;
    int s = socket(want->sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (s < 0)
        return err_set(err, ERR_IO, "socket: %s", strerror(errno));
    /* SO_REUSEADDR lets a restarted server listen at once. SO_REUSEPORT would let a second server
     * share the port unnoticed. */
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (want->sa.sa_family == AF_INET6)
        setsockopt(s, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (bind(s, &want->sa, len) != 0 || listen(s, BACKLOG) != 0) {
        rc = err_set(err, errno == EADDRINUSE ? ERR_BUSY : ERR_IO,
                     "cannot listen on %s port %d: %s", host, port, strerror(errno));
        close(s);
        return rc;
    }
    *fd = s;
    return 0;
}

/* Checks that a socket which was handed over is the configured one. */
static int check_given(int fd, struct err *err)
{
    int listening = 0, flags;
    socklen_t len = sizeof listening;

    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &len) != 0 || !listening)
        return err_set(err, ERR_INPUT, "descriptor %d is not a listening socket", fd);
    flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
        fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
        return err_set(err, ERR_IO, "fcntl: %s", strerror(errno));
    return 0;
}

int listen_open(const char *host, int port, int given_fd, const char *loopback_only, int *fd,
                int *port_out, struct err *err)
{
    union address want, got;
    socklen_t len = 0;
    int s = given_fd, rc;

    if (given_fd >= 0) {
        rc = check_given(given_fd, err);
        if (rc)
            return rc;
    } else {
        rc = parse_address(host, port, &want, &len, err);
        if (rc)
            return rc;
        if (loopback_only && !is_loopback(&want))
            return err_set(err, ERR_INPUT, "%s only loopback is served, not %s", loopback_only,
                           host);
        rc = make_socket(&want, len, host, port, &s, err);
        if (rc)
            return rc;
    }
    rc = bound_address(s, &got, err);
    if (!rc && loopback_only && !is_loopback(&got))
        rc = err_set(err, ERR_INPUT, "%s only loopback is served", loopback_only);
    if (!rc && given_fd < 0 && !same_host(&want, &got))
        rc = err_set(err, ERR_IO, "asked for %s, but the system bound another address", host);
    if (rc) {
        if (given_fd < 0)
            close(s);
        return rc;
    }
    *fd = s;
    *port_out = ntohs(got.sa.sa_family == AF_INET ? got.v4.sin_port : got.v6.sin6_port);
    return 0;
}

const char *listen_loopback_only(bool without_tokens, bool without_tls, bool behind_proxy)
{
    if (without_tokens)
        return "without tokens";
    return without_tls && !behind_proxy ? "without TLS, and not behind a proxy that speaks it,"
                                        : NULL;
}

int listen_accept(int fd, int *spare)
{
    for (;;) {
        int c = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (c >= 0)
            return c;
        if (errno == EINTR || errno == ECONNABORTED)
            continue;
        if ((errno != EMFILE && errno != ENFILE) || *spare < 0)
            return -1;
        close(*spare);
        c = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (c >= 0)
            close(c);
        *spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
        return -1;
    }
}

bool listen_speaks_plainly(int fd)
{
    uint8_t first = 0;

    return recv(fd, &first, 1, MSG_PEEK | MSG_DONTWAIT) == 1 && first != TLS_HANDSHAKE;
}

static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool listen_forwarded(const char *header, uint8_t addr[16])
{
    const char *last = strrchr(header, ',');
    char text[64];
    size_t n;

    last = last ? last + 1 : header;
    last += strspn(last, " \t");
    n = strcspn(last, " \t");
    if (last[0] == '[') { /* "[2001:db8::1]:4711" */
        last++;
        n = strcspn(last, "]");
    }
    if (n >= sizeof text)
        return false;
    memcpy(text, last, n);
    text[n] = '\0';
    if (inet_pton(AF_INET6, text, addr) == 1)
        return true;
    text[strcspn(text, ":")] = '\0'; /* "192.0.2.1:4711" */
    memcpy(addr, mapped, sizeof mapped);
    return inet_pton(AF_INET, text, addr + 12) == 1;
}

bool listen_peer(int fd, uint8_t addr[16])
{
    union address a;
    socklen_t len = sizeof a;

    memset(&a, 0, sizeof a);
    if (getpeername(fd, &a.sa, &len) != 0)
        return false;
    if (a.sa.sa_family == AF_INET6) {
        memcpy(addr, &a.v6.sin6_addr, 16);
        return true;
    }
    memcpy(addr, mapped, sizeof mapped);
    memcpy(addr + 12, &a.v4.sin_addr, 4);
    return a.sa.sa_family == AF_INET;
}

void listen_text(char text[LISTEN_TEXT_CAP], const uint8_t addr[16])
{
    bool v4 = memcmp(addr, mapped, sizeof mapped) == 0;

    if (!inet_ntop(v4 ? AF_INET : AF_INET6, addr + (v4 ? sizeof mapped : 0), text, LISTEN_TEXT_CAP))
        text[0] = '\0';
}

static bool get_info(int fd, struct tcp_info *info, socklen_t *len)
{
    *len = sizeof *info;
    memset(info, 0, sizeof *info);
    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, len) == 0;
}

/* The kernel tells what came and what is unread by two calls. Bytes that come in between would be
 * missing now and too many the next time, so what came must be the same before and after. */
static uint64_t taken_out(int fd, struct tcp_info *info, socklen_t len)
{
    for (int i = 0; i < HEALTH_TRIES && len >= offsetof(struct tcp_info, tcpi_segs_out); i++) {
        uint64_t before = info->tcpi_bytes_received;
        int unread = 0;

        if (ioctl(fd, SIOCINQ, &unread) != 0 || !get_info(fd, info, &len))
            return 0;
        if (info->tcpi_bytes_received == before)
            return (uint64_t)unread <= before ? before - (uint64_t)unread : 0;
    }
    return 0;
}

struct listen_health listen_health(int fd)
{
    struct listen_health h = {0};
    struct tcp_info info;
    socklen_t len;

    if (!get_info(fd, &info, &len))
        return h;
    h.received = taken_out(fd, &info, len);
    h.unacknowledged_ms = info.tcpi_unacked > 0 ? info.tcpi_last_ack_recv : 0;
    return h;
}
