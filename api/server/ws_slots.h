/*
 * ws_slots.h - which of the stream edge's threads each of its connections belongs to
 *
 * A slot goes with the peer of the same number (ws.c). The acceptor gives a free slot to a service;
 * that service adopts the connection and later frees the slot. In between only that service touches
 * the peer. An atomic number in the slot names the service, or none. The acceptor writes it only
 * while it names none, the service only while it names that service, so there is no lock. Addresses
 * that a proxy tells are the exception: services compare them under a mutex.
 *
 * A holder of an IPv6 address has 2^64 of them: only the first half is compared.
 * Threads: take by the acceptor; arrive, leave by the slot's service; service by any.
 */
#ifndef RECOND_API_WS_SLOTS_H
#define RECOND_API_WS_SLOTS_H

#include "proto/err.h"

#include <stdbool.h>
#include <stdint.h>

#define WS_SLOTS_SERVICES_MAX 24

struct ws_slots;

/* Number of threads that suits this host. */
int ws_slots_services(void);

MUST_CHECK int ws_slots_new(struct ws_slots **s, int n, int n_services, struct err *err);
/* Closes descriptors that were given to a service and never adopted. */
void ws_slots_free(struct ws_slots **s);

/* Gives a connection to the service that has the fewest. Returns it; -1: all slots are taken, or
 * max_per_address of them by this address. */
int ws_slots_take(struct ws_slots *s, const uint8_t addr[16], int max_per_address, int fd);
/* Sets the client's own address behind a proxy. Returns false if max_per_address slots have it
 * already; the slot keeps its old one. The slot's service calls this. */
bool ws_slots_name(struct ws_slots *s, int slot, const uint8_t addr[16], int max_per_address);
/* Returns the connection to adopt, once; -1: there is none. */
int ws_slots_arrive(struct ws_slots *s, int slot);
void ws_slots_leave(struct ws_slots *s, int slot);
int ws_slots_taken(const struct ws_slots *s);
/* Returns the service of the slot; -1: it is free. */
int ws_slots_service(const struct ws_slots *s, int slot);

#endif
