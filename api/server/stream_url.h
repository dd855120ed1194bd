/* stream_url.h - the address of this server's streams, as the requesting client can reach them */
#pragma once

#include "api/server/answer.h"

#define STREAM_URL_CAP 256

/* The member stream_url of a session. */
void stream_url_write(struct json_writer *w, const struct http_request *r, const char *id);
/* Scheme, host and port of the streams alone, as a Content-Security-Policy names them. */
void stream_url_origin(char origin[STREAM_URL_CAP], const struct http_request *r);
