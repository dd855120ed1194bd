/*
 * notify.h - what the service manager is told, and the sockets it hands over; the only user of
 * sd-daemon
 *
 * Without a service manager every call does nothing and succeeds.
 * Threads: main alone, but for notify_extend().
 */
#pragma once

#include "proto/err.h"

#include <stdint.h>

/*
 * notify_sockets - listening sockets held by the service manager, by FileDescriptorName= `http`,
 * `stream`
 *
 * Out:     *http_fd, *stream_fd; -1 = none given
 * Returns: 0; ERR_INPUT: a socket of another name, or one that is no listening stream socket
 */
MUST_CHECK int notify_sockets(int *http_fd, int *stream_fd, struct err *err);

/* The start takes longer: it has taken `so_far_s` and asks for `more_us` from now. */
void notify_extend(uint64_t more_us, uint64_t so_far_s);
void notify_ready(const char *status);
void notify_status(const char *status);
void notify_reloading(void);
void notify_stopping(const char *status);

/* Microseconds within which notify_alive() has to be called; 0 = there is no watchdog. */
uint64_t notify_watchdog_us(void);
void notify_alive(void);
