/* edge_metrics.h - the counters of both edges for /metrics */
#ifndef RECOND_API_EDGE_METRICS_H
#define RECOND_API_EDGE_METRICS_H

#include "api/server/http.h"
#include "api/server/ws.h"

/* Prometheus text; returns its length, or the length needed if larger than cap. Either edge may be
 * NULL. */
size_t edge_metrics(const struct http *h, const struct ws *w, char *buf, size_t cap);

#endif
