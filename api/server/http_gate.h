/* http_gate.h - refuse requests that the HTTP library lets through */
#ifndef RECOND_API_HTTP_GATE_H
#define RECOND_API_HTTP_GATE_H

#include "api/server/answer.h"

/* Returns the method if routes may have it, else "OTHER": a peer's text never reaches a log. */
const char *http_gate_method(const char *method);
/* Takes the raw target before the library decodes it: path and query go into r, or a problem is the
 * answer. */
void http_gate_target(struct http_request *r, const char *raw);

/* Each returns 0, or -1 after it has left a problem as the answer. */
/* Checks one header. */
MUST_CHECK int http_gate_header(struct http_request *r, const char *name, size_t name_len,
                                const char *value, size_t value_len);
/* Compares the length of the head with the headers. The library cuts a value at its first NUL
 * without an error, but counts all bytes of the head. More bytes than `Name: value` CRLF lines
 * explain are refused (extra blanks too; no client of note sends any). */
void http_gate_size(struct http_request *r, size_t bytes);
/* Most bytes of the request's body. */
size_t http_gate_body_max(const struct http_request *r);
bool http_gate_has_body(const struct http_request *r);
/* Checks the whole head: route, host, origin, token, length and type of the body. */
MUST_CHECK int http_gate_decide(struct http_request *r);
/* Appends a piece of the body. Returns -1 if it is so far over the limit that the connection is
 * closed. */
MUST_CHECK int http_gate_body(struct http_request *r, const char *data, size_t len);

#endif
