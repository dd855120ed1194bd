/*
 * pictures.h - depth maps as files for the REST edge, made by the pool of slow work
 *
 * Encoding one takes up to a third of a second, and the REST thread must answer /livez meanwhile. A
 * picture is made once a frame and form, for all that ask, and kept until a newer frame is asked
 * for or its place is needed.
 * Threads: pictures_ask() is the REST thread's
 */
#ifndef RECOND_API_PICTURES_H
#define RECOND_API_PICTURES_H

#include "api/server/answer.h"

#define PICTURES_KEPT 32               /* pictures that are made or being made */
#define PICTURES_KEPT_BYTES (64 << 20) /* bytes of finished pictures */
#define PICTURES_PER_TOKEN 8           /* pictures that may be in work for one token */

struct pictures;

MUST_CHECK int pictures_new(struct pictures **p, const struct api_config *config, struct err *err);
/* Call this when no request waits. */
void pictures_free(struct pictures **p);

/* Answers with the newest depth map of the request's session in the requested form: numbers
 * (little-endian f32, metres) or PNG (millimetres). The request waits while that is made. */
void pictures_ask(struct pictures *p, struct http_request *r);

#endif
