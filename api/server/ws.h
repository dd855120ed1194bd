/* ws.h - the stream edge: its threads, their connections, its counters */
#ifndef RECOND_API_WS_H
#define RECOND_API_WS_H

#include "api/server/auth.h"

struct ws;

MUST_CHECK int ws_start(struct ws **w, const struct api_config *config, struct auth *auth,
                        struct err *err);
int ws_port(const struct ws *w);
/* Stops accepting; streams end when the core sends `bye`. */
void ws_drain(struct ws *w);
void ws_stop(struct ws **w);
/* The certificate has changed (tls_switch()): new handshakes use it. */
void ws_renew(struct ws *w);
uint64_t ws_beat(const struct ws *w);
/* edge_ops.wake */
void ws_wake(struct ws *w, void *cookie);

struct ws_counts {
    uint64_t connections, accepted, refused, overstayed, broken;
    uint64_t messages_in, messages_out, bytes_in, bytes_out;
};
void ws_counts(const struct ws *w, struct ws_counts *counts);

#endif
