/*
 * ws_internal.h - what the stream edge's files share: the edge and its threads
 */
#ifndef RECOND_API_WS_INTERNAL_H
#define RECOND_API_WS_INTERNAL_H

#include "api/server/ws.h"
#include "api/server/ws_conn.h"

#include <pthread.h>

struct ws_service { /* One thread; other threads touch only atomics and the bell. */
    struct ws *ws;
    int index;
    int epoll, bell; /* bell: an eventfd that ends its sleep; -1 = not opened */
    pthread_t thread;
    bool started;
    void *ssl_ctx; /* with TLS */
    struct ws_conn_room room;
    int64_t ticked_ms, checked_ms;
    int check_next;     /* connection */
    atomic_bool renew; /* a new certificate is to be used */
    atomic_bool wake;
    atomic_uint_fast64_t alive_ms;
};

struct ws {
    struct ws_peer_env env;
    struct api_config config;
    struct ws_service services[WS_SLOTS_SERVICES_MAX];
    int n_services;
    bool listens; /* we must close the socket */
    int port, fd; /* fd becomes -1 when it stops listening */
    /* closed for a moment to refuse a connection when descriptors have run out */
    int spare_fd;
    struct ws_peer *peers; /* [config.max_connections] */
    struct ws_conn *conns; /* [config.max_connections], for the peer and slot of the same number */
    struct ws_slots *slots;
    atomic_bool stop, drain;
    atomic_uint_fast64_t accepted;
};

/* ---- ws_service.c */
/* Makes a service ready to run. ws_service_close() closes it, and also accepts one that was never
 * opened. */
MUST_CHECK int ws_service_open(struct ws_service *v, struct err *err);
void ws_service_close(struct ws_service *v);
/* This service accepts connections from now on. */
MUST_CHECK int ws_service_listen(struct ws_service *v, struct err *err);
/* The thread function; it runs until ws->stop. */
void *ws_service_run(void *service);
/* One round: sleeps for at most max_ms, then serves the events. */
void ws_service_turn(struct ws_service *v, int max_ms);
/* Ends its sleep; any thread. */
void ws_service_ring(struct ws_service *v);

#endif
