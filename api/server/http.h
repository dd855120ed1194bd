/*
 * http.h - the REST edge: a thread, its connections, its counters
 *
 * http.c alone knows libmicrohttpd; what requests and answers are is answer.h.
 */
#ifndef RECOND_API_HTTP_H
#define RECOND_API_HTTP_H

#include "api/api.h"
#include "api/server/auth.h"

/* Requests of routes with a task: they come, wait or run. As many large bodies are in memory. */
#define HTTP_TASKS_MAX 4
#define HTTP_TASKS_OF_TOKEN (HTTP_TASKS_MAX / 2)

struct http;

MUST_CHECK int http_start(struct http **h, const struct api_config *config, struct auth *auth,
                          struct err *err);
int http_port(const struct http *h);
void http_stop(struct http **h); /* waits for running requests, bounded */
/* For the watchdog: counts up at least twice a second while the edge's own thread is alive. That
 * thread also closes whatever overstays its deadline. */
uint64_t http_beat(const struct http *h);

struct http_counts {
    uint64_t requests[6]; /* answered, by the first digit of the status */
    uint64_t connections, accepted, overstayed, beyond;
};
void http_counts(const struct http *h, struct http_counts *counts);

#endif
