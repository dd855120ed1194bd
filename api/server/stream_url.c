#include "api/server/stream_url.h"

#include <stdio.h>
#include <string.h>

/* ws://host:port (or wss://) of all streams: the configured public address, else the host that the
 * client used, else our own address. */
static void stream_prefix(char url[STREAM_URL_CAP], const struct http_request *r)
{
    const char *prefix = r->config->public_ws_url, *host = r->host;
    const char *scheme = r->config->tls ? "wss" : "ws";
    size_t n;

    if (prefix && prefix[0]) {
        n = strlen(prefix);
        snprintf(url, STREAM_URL_CAP, "%.*s", (int)(prefix[n - 1] == '/' ? n - 1 : n), prefix);
    } else if (host && host[0]) {
        n = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
        snprintf(url, STREAM_URL_CAP, "%s://%.*s:%d", scheme, n < 128 ? (int)n : 128, host,
                 r->config->ws_port);
    } else {
        bool v6 = strchr(r->config->ws_host, ':') != NULL;
        snprintf(url, STREAM_URL_CAP, "%s://%s%s%s:%d", scheme, v6 ? "[" : "", r->config->ws_host,
                 v6 ? "]" : "", r->config->ws_port);
    }
}

void stream_url_write(struct json_writer *w, const struct http_request *r, const char *id)
{
    char prefix[STREAM_URL_CAP], url[STREAM_URL_CAP + 64];

    stream_prefix(prefix, r);
    snprintf(url, sizeof url, "%s/v1/sessions/%s/stream", prefix, id);
    json_put_text(w, "stream_url", url);
}

void stream_url_origin(char origin[STREAM_URL_CAP], const struct http_request *r)
{
    char *host;

    stream_prefix(origin, r);
    host = strstr(origin, "://");
    if (host)
        host[3 + strcspn(host + 3, "/;, '\"")] = '\0';
    else
        origin[0] = '\0';
}
