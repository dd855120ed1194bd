/*
 * ws_seats.h - which of the stream edge's threads each of its connections belongs to
 *
 * A seat goes with the peer of the same number (ws.c). The acceptor gives it away, the service that
 * it was given to adopts the connection and leaves it; in between only that service touches the
 * peer. There is no lock: whose a seat is says one atomic number, written by the acceptor only
 * while it is nobody's and by the service only while it is its own. Names that a proxy gives are
 * the exception: services compare them under a mutex of their own.
 *
 * Whoever has an IPv6 address has 2^64 of them: there the first half counts as one address.
 * Threads: take by the acceptor; arrive, fd, leave by the seat's service; service by any.
 */
#ifndef RECOND_API_WS_SEATS_H
#define RECOND_API_WS_SEATS_H

#include "proto/err.h"

#include <stdbool.h>
#include <stdint.h>

#define WS_SEATS_SERVICES_MAX 24

struct ws_seats;

/* Threads that suit this machine. */
int ws_seats_services(void);

MUST_CHECK int ws_seats_new(struct ws_seats **s, int n, int n_services, struct err *err);
/* Closes what was given to a service and never adopted. */
void ws_seats_free(struct ws_seats **s);

/* Give a connection to the service that has the fewest. Returns it; -1: all seats are taken, or
 * max_per_address of them by this address. */
int ws_seats_take(struct ws_seats *s, const uint8_t addr[16], int max_per_address, int fd);
/* Behind a proxy: who is really there. False: max_per_address of the seats are taken in that name;
 * the seat keeps its old one. By the seat's service. */
bool ws_seats_name(struct ws_seats *s, int seat, const uint8_t addr[16], int max_per_address);
/* Is there a connection to adopt? True once. */
bool ws_seats_arrive(struct ws_seats *s, int seat);
int ws_seats_fd(const struct ws_seats *s, int seat);
void ws_seats_leave(struct ws_seats *s, int seat);
int ws_seats_taken(const struct ws_seats *s);
/* Whose it is; -1 nobody's. */
int ws_seats_service(const struct ws_seats *s, int seat);

#endif
