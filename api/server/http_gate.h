/*
 * http_gate.h - what the HTTP library lets through and the REST interface refuses
 */
#ifndef RECOND_API_HTTP_GATE_H
#define RECOND_API_HTTP_GATE_H

#include "api/server/answer.h"

/* The method if it is one that routes may have, else "OTHER": a peer's text never reaches a log. */
const char *http_gate_method(const char *method);
/* The raw target, before the library decodes it: path and query into r, or a problem as the
 * answer. */
void http_gate_target(struct http_request *r, const char *raw);

/* Each returns 0, or -1 after it has left a problem as the answer. */
/* One header as it came. */
MUST_CHECK int http_gate_header(struct http_request *r, const char *name, size_t name_len,
                                const char *value, size_t value_len);
/* The library ends a value at its first NUL and says nothing, but counts the bytes of the whole
 * head: more of them than `Name: value` CRLF lines explain are a refusal (extra blanks too; no
 * client of note sends any). */
void http_gate_size(struct http_request *r, size_t bytes);
/* Bytes that its body may have. */
size_t http_gate_body_max(const struct http_request *r);
bool http_gate_has_body(const struct http_request *r);
/* All headers are in: route, host, origin, token, length and type of the body. */
MUST_CHECK int http_gate_decide(struct http_request *r);
/* Append a piece of the body; -1: over the limit by so much that the connection is not worth
 * keeping. */
MUST_CHECK int http_gate_body(struct http_request *r, const char *data, size_t len);

#endif
