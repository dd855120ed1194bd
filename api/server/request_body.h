/* request_body.h - the body of a request as JSON */
#ifndef RECOND_API_REQUEST_BODY_H
#define RECOND_API_REQUEST_BODY_H

#include "api/server/answer.h"

/* Parses the body; *doc is NULL if there is none. Returns 0, or -1 after leaving a problem. */
MUST_CHECK int request_body_parse(struct http_request *r, struct json **doc);
/* Checks that the body, if any, is an object without members. Returns 0, or -1 after leaving a
 * problem. */
MUST_CHECK int request_body_empty(struct http_request *r);

#endif
