/*
 * listen.h - the listening socket of an edge, made here or handed over by the service manager
 *
 * The libraries never open sockets themselves: libwebsockets would listen on all interfaces where
 * it was told one. What the kernel says the socket is bound to is compared with the configuration.
 */
#ifndef RECOND_API_LISTEN_H
#define RECOND_API_LISTEN_H

#include "proto/err.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * listen_open - a non-blocking TCP listener
 *
 * In:      host: numeric IPv4 or IPv6 address; port: 0 = any; given_fd: a listening socket to check
 *          and use instead, -1 = none; loopback_only: refuse any other address
 * Out:     *fd, owned by the caller; *port that it is bound to. given_fd is not closed on an error.
 * Returns: 0; ERR_INPUT: not a numeric address, or not loopback though it must be; ERR_BUSY: the
 *          address is taken; ERR_IO
 */
MUST_CHECK int listen_open(const char *host, int port, int given_fd, bool loopback_only, int *fd,
                           int *port_out, struct err *err);

/* The remote address of a connection: 16 bytes, IPv4 mapped into IPv6; false if there is none. */
bool listen_peer(int fd, uint8_t addr[16]);

/* For how long has the peer's kernel not acknowledged what is on its way? */
int64_t listen_unacknowledged_ms(int fd);

#endif
