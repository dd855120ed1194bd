/*
 * ws.c - the stream edge: its threads (ws_service.c), their start and end
 *
 * A connection stays with the thread that had the fewest when it came. Unmasking a frame and
 * encoding its blocks cost the better part of a millisecond, so
 * one thread does not carry a host full of sessions. The first accepts and hands each connection
 * over. Other threads only ever ring a service's bell. What messages mean is decided in ws_peer.c,
 * what bytes mean in ws_conn.c.
 *
 * A peer and its connection belong to the service of their slot (ws_slots.h) from the moment that
 * the acceptor gives the slot away until that service gives it back. A service never looks at those
 * of another, so there is no lock.
 *
 * No library reads the bytes: libwebsockets 4.1.6, which the clients use, takes frames that are not
 * masked, cuts off what it does not like without a close frame, and shortens paths before it shows
 * them. It reads the socket by itself, so nothing can look at a frame before it.
 */
#include "api/server/ws_internal.h"

#include "api/server/listen.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static int64_t clock_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int start_services(struct ws *w, struct err *err)
{
    int rc = 0;

    for (int i = 0; i < w->n_services && rc == 0; i++)
        rc = ws_service_open(&w->services[i], err);
    if (!rc)
        rc = ws_service_listen(&w->services[0], err);
    if (rc)
        return rc;
    /* The acceptor starts last, so that the others run when it hands connections over. */
    for (int i = w->n_services - 1; i >= 0; i--) {
        struct ws_service *v = &w->services[i];
        atomic_store(&v->alive_ms, (uint64_t)clock_ms());
        if (pthread_create(&v->thread, NULL, ws_service_run, v) != 0)
            return err_set(err, ERR_IO, "cannot start a WebSocket thread");
        v->started = true;
    }
    return 0;
}

int ws_start(struct ws **out, const struct api_config *config, struct auth *auth, struct err *err)
{
    struct ws *w = calloc(1, sizeof *w);
    int rc;

    *out = NULL;
    if (!w)
        return err_set(err, ERR_MEMORY, "out of memory");
    w->config = *config;
    w->env.config = &w->config;
    w->env.auth = auth;
    w->fd = -1;
    w->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    w->n_services = ws_slots_services();
    for (int i = 0; i < w->n_services; i++) {
        w->services[i].ws = w;
        w->services[i].index = i;
        w->services[i].epoll = w->services[i].bell = -1;
    }
    w->peers = calloc((size_t)config->max_connections, sizeof *w->peers);
    w->conns = calloc((size_t)config->max_connections, sizeof *w->conns);
    rc = w->peers && w->conns ? ws_slots_new(&w->slots, config->max_connections, w->n_services, err)
                              : err_set(err, ERR_MEMORY, "out of memory");
    if (!rc)
        rc = listen_open(
            config->ws_host, config->ws_port, config->ws_fd,
            listen_loopback_only(auth_open_to_all(auth), !config->tls, config->behind_proxy),
            &w->fd, &w->port, err);
    if (!rc)
        rc = start_services(w, err);
    if (rc)
        ws_stop(&w);
    *out = w;
    return rc;
}

void ws_drain(struct ws *w)
{
    atomic_store(&w->drain, true);
    ws_service_ring(&w->services[0]);
}

void ws_renew(struct ws *w)
{
    for (int i = 0; i < w->n_services; i++) {
        atomic_store(&w->services[i].renew, true);
        ws_service_ring(&w->services[i]);
    }
}

void ws_stop(struct ws **out)
{
    struct ws *w = *out;

    if (!w)
        return;
    *out = NULL;
    atomic_store(&w->stop, true);
    for (int i = 0; i < w->n_services; i++) {
        if (!w->services[i].started)
            continue;
        ws_service_ring(&w->services[i]);
        pthread_join(w->services[i].thread, NULL);
    }
    if (w->fd >= 0 && (w->listens || w->fd != w->config.ws_fd))
        close(w->fd);
    for (int i = 0; i < w->n_services; i++)
        ws_service_close(&w->services[i]);
    if (w->spare_fd >= 0)
        close(w->spare_fd);
    free(w->peers);
    free(w->conns);
    if (w->slots)
        ws_slots_free(&w->slots);
    free(w);
}

int ws_port(const struct ws *w)
{
    return w->port;
}

uint64_t ws_beat(const struct ws *w)
{
    uint64_t oldest = UINT64_MAX;

    for (int i = 0; i < w->n_services; i++) {
        uint64_t t = atomic_load(&w->services[i].alive_ms);
        oldest = t < oldest ? t : oldest;
    }
    return oldest;
}

void ws_wake(struct ws *w, void *cookie)
{
    struct ws_peer *p = cookie;
    int service = ws_slots_service(w->slots, (int)(p - w->peers));

    if (service < 0)
        return;
    atomic_store(&p->woken, true);
    if (!atomic_exchange(&w->services[service].wake, true))
        ws_service_ring(&w->services[service]);
}

void ws_counts(const struct ws *w, struct ws_counts *counts)
{
    counts->connections = (uint64_t)ws_slots_taken(w->slots);
    counts->accepted = atomic_load(&w->accepted);
    counts->refused = atomic_load(&w->env.refused);
    counts->overstayed = atomic_load(&w->env.overstayed);
    counts->broken = atomic_load(&w->env.broken);
    counts->messages_in = atomic_load(&w->env.messages_in);
    counts->messages_out = atomic_load(&w->env.messages_out);
    counts->bytes_in = atomic_load(&w->env.bytes_in);
    counts->bytes_out = atomic_load(&w->env.bytes_out);
}
