/*
 * listen.h - the listening socket of an edge, made here or handed over by the service manager
 *
 * The library of REST never opens a socket itself. What the kernel says the socket is bound to is
 * compared with the configuration.
 */
#ifndef RECOND_API_LISTEN_H
#define RECOND_API_LISTEN_H

#include "proto/err.h"

#include <stdbool.h>
#include <stdint.h>

#define LISTEN_TEXT_CAP 46 /* text of an address */

/*
 * listen_open - a non-blocking TCP listener
 *
 * In:      host: numeric IPv4 or IPv6 address; port: 0 = any; given_fd: a listening socket to check
 *          and use instead, -1 = none; loopback_only: why any other address is refused, NULL = it
 *          is not
 * Out:     *fd, owned by the caller; *port that it is bound to. given_fd is not closed on an error.
 * Returns: 0; ERR_INPUT: not a numeric address, or not loopback though it must be; ERR_BUSY: the
 *          address is taken; ERR_IO
 */
MUST_CHECK int listen_open(const char *host, int port, int given_fd, const char *loopback_only,
                           int *fd, int *port_out, struct err *err);

/* Returns why an edge may serve loopback alone; NULL: it may serve any address. */
const char *listen_loopback_only(bool without_tokens, bool without_tls, bool behind_proxy);

/*
 * listen_accept - the next connection, non-blocking
 *
 * When descriptors have run out, *spare (one of /dev/null) is given up for a moment to turn a
 * connection away: left in the queue, it would wake us for ever.
 * Returns: the connection; -1: none waits
 */
int listen_accept(int fd, int *spare);

/* Tells whether a first byte has come and is not that of TLS. */
bool listen_speaks_plainly(int fd);

/* The remote address of a connection: 16 bytes, IPv4 mapped into IPv6. Returns false if there is
 * none. */
bool listen_peer(int fd, uint8_t addr[16]);

/* Writes an address as "192.0.2.1" or "2001:db8::1". */
void listen_text(char text[LISTEN_TEXT_CAP], const uint8_t addr[16]);

/* Reads the address that the last proxy added to an X-Forwarded-For, in the form of listen_peer().
 * Text before it comes from the client and may be false. Returns false if there is no address. */
bool listen_forwarded(const char *header, uint8_t addr[16]);

struct listen_health {
    int64_t unacknowledged_ms; /* time for which the peer's kernel has acknowledged nothing, ms */
    uint64_t received;         /* bytes of the peer that were read from the socket */
};
/* Leaves zeros if the system gives no values, or if bytes come too fast for values of one
 * moment. */
struct listen_health listen_health(int fd);

#endif
