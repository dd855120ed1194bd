/*
 * client_tls.h - what the client asks of a server's certificate beyond libwebsockets
 *
 * The library compares a certificate with host names only; a server that is called by its address
 * has to have that address in its certificate.
 */
#ifndef RECOND_API_CLIENT_TLS_H
#define RECOND_API_CLIENT_TLS_H

#include <stdbool.h>

/* Is host an address, not a name? Then the library shall not compare, client_tls_apply() does. */
bool client_tls_numeric(const char *host);
/* TLS 1.2 at least, and for a numeric host its address in the certificate. ssl_ctx: SSL_CTX *.
 * False: OpenSSL does not take it. */
bool client_tls_apply(void *ssl_ctx, const char *host);

#endif
