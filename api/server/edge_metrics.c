#include "api/server/edge_metrics.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

struct text {
    char *buf;
    size_t cap, len; /* len counts on past cap */
};

static void add(struct text *t, const char *fmt, ...) ERR_PRINTF(2, 3);
static void add(struct text *t, const char *fmt, ...)
{
    va_list args;
    int n;

    va_start(args, fmt);
    n = vsnprintf(t->len < t->cap ? t->buf + t->len : NULL, t->len < t->cap ? t->cap - t->len : 0,
                  fmt, args);
    va_end(args);
    if (n > 0)
        t->len += (size_t)n;
}

static void metric(struct text *t, const char *name, const char *type, const char *help, uint64_t v)
{
    add(t, "# HELP %s %s\n# TYPE %s %s\n%s %" PRIu64 "\n", name, help, name, type, name, v);
}

static void http_metrics(struct text *t, const struct http *h)
{
    struct http_counts c;

    http_counts(h, &c);
    add(t, "# HELP recond_http_requests_total Requests answered, by class of status\n"
           "# TYPE recond_http_requests_total counter\n");
    for (int i = 2; i < 6; i++)
        add(t, "recond_http_requests_total{class=\"%dxx\"} %" PRIu64 "\n", i, c.requests[i]);
    metric(t, "recond_http_connections", "gauge", "REST connections open", c.connections);
    metric(t, "recond_http_accepted_total", "counter", "REST connections accepted", c.accepted);
    metric(t, "recond_http_overstayed_total", "counter",
           "REST connections closed at their deadline", c.overstayed);
}

static void ws_metrics(struct text *t, const struct ws *w)
{
    struct ws_counts c;

    ws_counts(w, &c);
    metric(t, "recond_ws_connections", "gauge", "WebSocket connections open", c.connections);
    metric(t, "recond_ws_accepted_total", "counter", "WebSocket connections accepted", c.accepted);
    metric(t, "recond_ws_refused_total", "counter", "WebSocket handshakes refused", c.refused);
    metric(t, "recond_ws_overstayed_total", "counter", "WebSocket connections closed at a deadline",
           c.overstayed);
    metric(t, "recond_ws_broken_total", "counter",
           "WebSocket connections closed for breaking the protocol", c.broken);
    metric(t, "recond_ws_messages_in_total", "counter", "WebSocket messages received",
           c.messages_in);
    metric(t, "recond_ws_messages_out_total", "counter", "WebSocket messages sent", c.messages_out);
    metric(t, "recond_ws_bytes_in_total", "counter", "Payload bytes received", c.bytes_in);
    metric(t, "recond_ws_bytes_out_total", "counter", "Payload bytes sent", c.bytes_out);
}

size_t edge_metrics(const struct http *h, const struct ws *w, char *buf, size_t cap)
{
    struct text t = {.buf = buf, .cap = cap};

    if (h)
        http_metrics(&t, h);
    if (w)
        ws_metrics(&t, w);
    return t.len;
}
