/*
 * origin.h - which pages in a browser may send requests
 *
 * A browser sends the origin of the requesting page, which the page cannot forge. Pages of the
 * server's own host and of loopback are allowed with any port; the operator lists others. The host
 * is the one that the request names. An attacker may point a name of his at 127.0.0.1, and then
 * origin and host agree; without tokens only loopback's names are served.
 */
#ifndef RECOND_API_ORIGIN_H
#define RECOND_API_ORIGIN_H

#include <stdbool.h>

/* In: listed: NULL-terminated, NULL = none; host: that of the request, with or without a port, NULL
 * = none */
bool origin_allowed(const char *const *listed, const char *origin, const char *host);
/* Tells whether the host is localhost, [::1] or 127.x.x.x, with or without a port. */
bool origin_is_loopback(const char *host);

#endif
