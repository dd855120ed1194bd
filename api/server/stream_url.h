/* stream_url.h - the address of this server's streams, as the requesting client can reach them */
#ifndef RECOND_API_STREAM_URL_H
#define RECOND_API_STREAM_URL_H

#include "api/server/answer.h"

#define STREAM_URL_CAP 256

/* ws://host:port (or wss://) of all streams: the configured public address, else the host that the
 * client used, else our own address. */
void stream_url_prefix(char url[STREAM_URL_CAP], const struct http_request *r);
/* The member stream_url of a session. */
void stream_url_write(struct json_writer *w, const struct http_request *r, const char *id);
/* Its scheme, host and port alone, as a Content-Security-Policy names them. */
void stream_url_origin(char origin[STREAM_URL_CAP], const struct http_request *r);

#endif
