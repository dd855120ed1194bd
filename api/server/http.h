/*
 * http.h - the REST edge: a thread, its connections, its counters
 *
 * http.c alone knows libmicrohttpd; what requests and answers are is answer.h.
 */
#ifndef RECOND_API_HTTP_H
#define RECOND_API_HTTP_H

#include "api/server/auth.h"

/* requests of routes with a task that arrive, wait or run; as many large bodies are in memory */
#define HTTP_TASKS_MAX 4
#define HTTP_TASKS_OF_TOKEN (HTTP_TASKS_MAX / 2)

struct http;

MUST_CHECK int http_start(struct http **h, const struct api_config *config, struct auth *auth,
                          struct err *err);
int http_port(const struct http *h);
/* Stops the edge; waits for running requests, for a bounded time. */
void http_stop(struct http **h);
/* A counter for the watchdog. It rises at least twice a second while the edge's thread is alive;
 * that thread also closes connections beyond their deadline. */
uint64_t http_beat(const struct http *h);

struct http_counts {
    uint64_t requests[6]; /* answered requests by the first digit of the status */
    uint64_t connections, accepted, overstayed, beyond;
};
void http_counts(const struct http *h, struct http_counts *counts);

#endif
