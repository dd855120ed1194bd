/*
 * client_retry.h - when to try again, and when to give up
 *
 * The pauses double from 0.1 s to 5 s; each is shortened by up to half at random, so that the
 * clients of a server that comes back do not come back together. A server that names a time is not
 * asked earlier.
 * Threads: none inside; zero is a policy that never tries again.
 */
#ifndef RECOND_API_CLIENT_RETRY_H
#define RECOND_API_CLIENT_RETRY_H

#include <stdint.h>

#define CLIENT_RETRY_FIRST_MS 100
#define CLIENT_RETRY_MAX_MS 5000

struct client_retry {
    double for_s;      /* seconds without success after which to give up; 0 = at once */
    int attempts;      /* failures in a row after which to give up; 0 = no bound */
    uint64_t random;   /* any number */
    int failed;        /* in a row */
    uint64_t since_ms; /* time of the first failure in a row */
};

struct client_retry client_retry_new(double for_s, int attempts);

/* Call this when an attempt has succeeded. */
void client_retry_reset(struct client_retry *r);
/*
 * client_retry_wait_ms - an attempt has failed
 * In:      asked_ms: what the server asked for, 0 = nothing
 * Returns: the pause before the next attempt; -1: give up
 */
int client_retry_wait_ms(struct client_retry *r, uint32_t asked_ms, uint64_t now_ms);
/* The enum err_code of an HTTP status that is no success: ERR_BUSY may be tried again. */
int client_retry_code(int status);
/* Milliseconds of a monotonic clock. */
uint64_t client_retry_now_ms(void);

#endif
