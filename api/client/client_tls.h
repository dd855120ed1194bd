/*
 * client_tls.h - checks of a server's certificate that libwebsockets does not make
 *
 * The library compares a certificate with host names only; where the URL names an address, that
 * address has to stand in the certificate.
 */
#ifndef RECOND_API_CLIENT_TLS_H
#define RECOND_API_CLIENT_TLS_H

#include <stdbool.h>

/* Tells whether host is an address and not a name. Then client_tls_apply() compares and the library
 * must not. */
bool client_tls_numeric(const char *host);
/* Demands TLS 1.2 at least and, for a numeric host, its address in the certificate. ssl_ctx is an
 * SSL_CTX *. Returns false where OpenSSL refuses. */
bool client_tls_apply(void *ssl_ctx, const char *host);

#endif
