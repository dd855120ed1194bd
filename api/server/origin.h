/*
 * origin.h - which pages in a browser may ask
 *
 * A browser names the origin of the page that asks, and no page can name another's. Pages of the
 * server's own host and of loopback may ask whatever their port; others are listed by the operator.
 * The host is what the request calls the server. An attacker may point a name of his at 127.0.0.1,
 * and then origin and host agree: where no token is asked for, only loopback's names are served.
 */
#ifndef RECOND_API_ORIGIN_H
#define RECOND_API_ORIGIN_H

#include <stdbool.h>

/* In: listed: NULL-terminated, NULL = none; host: of the request, with or without a port, NULL =
 * it names none */
bool origin_allowed(const char *const *listed, const char *origin, const char *host);
/* localhost, [::1] or 127.x.x.x, with or without a port. */
bool origin_is_loopback(const char *host);

#endif
