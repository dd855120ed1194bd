#include "api/server/ws_link.h"

#include "api/server/tls.h"
#include "proto/array.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void ws_link_open(struct ws_link *l, int fd, void *ssl)
{
    *l = (struct ws_link){.fd = fd, .ssl = ssl};
}

void ws_link_close(struct ws_link *l)
{
    tls_leave(&l->ssl);
    close(l->fd);
    free(l->out);
    *l = (struct ws_link){.fd = -1};
}

long ws_link_read(struct ws_link *l, void *buf, size_t cap)
{
    ssize_t n;

    if (l->ssl)
        return tls_read(l->ssl, buf, cap, &l->due_out);
    n = recv(l->fd, buf, cap, MSG_DONTWAIT);
    if (n > 0)
        return n;
    return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) ? 0 : -1;
}

/* Returns how many bytes were taken, 0 = none now, -1 = broken. */
static long link_write(struct ws_link *l, const void *data, size_t len)
{
    ssize_t n;

    if (l->ssl)
        return tls_write(l->ssl, data, len);
    n = send(l->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n >= 0)
        return n;
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? 0 : -1;
}

size_t ws_link_waiting(const struct ws_link *l)
{
    return l->out_len - l->out_at;
}

static bool link_keep(struct ws_link *l, const uint8_t *data, size_t len)
{
    if (l->out_at > 0) {
        memmove(l->out, l->out + l->out_at, ws_link_waiting(l));
        l->out_len -= l->out_at;
        l->out_at = 0;
    }
    if (array_grow(&l->out, &l->out_cap, l->out_len + len, 1))
        return false;
    memcpy(l->out + l->out_len, data, len);
    l->out_len += len;
    return true;
}

bool ws_link_flush(struct ws_link *l)
{
    while (ws_link_waiting(l) > 0) {
        long n = link_write(l, l->out + l->out_at, ws_link_waiting(l));

        if (n <= 0)
            return n == 0;
        l->out_at += (size_t)n;
    }
    free(l->out); /* a client that reads too slowly is rare, and its message may be large */
    l->out = NULL;
    l->out_at = l->out_len = l->out_cap = 0;
    return true;
}

bool ws_link_write(struct ws_link *l, const void *data, size_t len)
{
    const uint8_t *at = data;

    while (len > 0 && ws_link_waiting(l) == 0) {
        long n = link_write(l, at, len);

        if (n < 0)
            return false;
        if (n == 0)
            break;
        at += n;
        len -= (size_t)n;
    }
    return len == 0 || link_keep(l, at, len);
}

void ws_link_cork(const struct ws_link *l, bool on)
{
    int value = on;

    setsockopt(l->fd, IPPROTO_TCP, TCP_CORK, &value, sizeof value);
}

void ws_link_finish(struct ws_link *l)
{
    if (l->ssl)
        tls_finish(l->ssl);
    shutdown(l->fd, SHUT_WR);
}
