/*
 * ws_internal.h - what the stream edge's files share: the edge and its threads
 */
#ifndef RECOND_API_WS_INTERNAL_H
#define RECOND_API_WS_INTERNAL_H

#include "api/server/ws.h"
#include "api/server/ws_peer.h"
#include "api/server/ws_slots.h"

/* OpenSSL, which comes with it, has a type of this name; we have a constant. */
#define ERR_STATE openssl_err_state
#include <libwebsockets.h>
#undef ERR_STATE
#include <pthread.h>

struct ws_service { /* a thread; only atomics are touched by others */
    struct ws *ws;
    int index;
    struct lws_context *lws;
    struct lws_vhost *vhost;
    pthread_t thread;
    bool started;
    struct lws_protocols protocols[3];
    int waiting;   /* epoll, of connections whose first line has not come; the library closes it */
    void *ssl_ctx; /* SSL_CTX of the vhost, with TLS */
    atomic_bool renew; /* a new certificate is to be used */
    lws_sorted_usec_list_t tick;
    int64_t ticked_ms, looked_ms;
    int look_next; /* peer */
    bool met;      /* a handshake was read, perhaps with a token, since the stack was wiped */
    uint8_t *tx;   /* [tx_cap], LWS_PRE bytes and one message being handed to the library */
    size_t tx_cap;
    atomic_bool wake;
    atomic_uint_fast64_t alive_ms;
};

struct ws {
    struct ws_peer_env env;
    struct api_config config;
    struct ws_service services[WS_SLOTS_SERVICES_MAX];
    int n_services;
    struct lws *listener; /* NULL again when it stopped */
    bool listens;         /* the library has the socket and will close it */
    int port, fd;
    /* closed for a moment to refuse a connection when descriptors have run out */
    int spare_fd;
    struct ws_peer *peers; /* [config.max_connections] */
    struct ws_slots *slots;
    atomic_bool stop, drain;
    atomic_uint_fast64_t accepted;
};

/* ---- ws_service.c */
/* The library, ready to be run; what it opened is closed with v->lws. */
MUST_CHECK int ws_service_open(struct ws_service *v, struct err *err);
/* The thread, until ws->stop. */
void *ws_service_run(void *service);

#endif
