/*
 * tls.h - the server's certificate and key, for both edges
 *
 * The REST edge speaks TLS through GnuTLS (libmicrohttpd, tls_gnutls.c), the stream edge through
 * OpenSSL (ws_link.c, tls.c); both serve the same two PEM files, read again on SIGHUP. A
 * handshake uses what is current when it begins; connections that stand are not touched.
 * Offers:  TLS 1.2 with ECDHE and TLS 1.3, AEAD ciphers alone; no renegotiation, no compression,
 *          no tickets: what a stolen key could decrypt ends with its connection
 * Threads: open, stage, switch, close by one thread; the rest by any
 */
#ifndef RECOND_API_TLS_H
#define RECOND_API_TLS_H

#include "proto/err.h"

#include <stdbool.h>
#include <stddef.h>

struct tls;

/*
 * tls_open - read certificate chain and key
 *
 * In:      cert_file: PEM, the server's certificate first; key_file: PEM without a passphrase, not
 *          readable by others
 * Returns: 0; ERR_IO: a file cannot be read; ERR_INPUT: it is no certificate or key, the key is not
 *          the certificate's, or others may read it; ERR_UNSUPPORTED: built without GnuTLS. where =
 *          the key of the configuration
 */
MUST_CHECK int tls_open(struct tls **t, const char *cert_file, const char *key_file,
                        struct err *err);
void tls_close(struct tls **t);

/* Read both files again without using them yet; returns as tls_open() does. */
MUST_CHECK int tls_stage(struct tls *t, struct err *err);
/* Handshakes use the staged certificate from now on. The stream edge has to tls_apply() it. */
void tls_switch(struct tls *t);

/* ------------------------------------------------------------------------- the stream edge */

/* Puts protocols, ciphers and the current certificate into an SSL_CTX. Returns false on an
 * error. */
MUST_CHECK bool tls_apply(struct tls *t, void *ssl_ctx);
/* Makes an SSL_CTX for the connections of one thread, which speak HTTP/1.1; NULL: no memory, or the
 * certificate does not fit. */
void *tls_server(struct tls *t);
void tls_server_free(void **ssl_ctx);
/* Makes an SSL for an accepted connection; NULL: no memory. The socket stays the caller's. */
void *tls_accept(void *ssl_ctx, int fd);
void tls_leave(void **ssl);
/* Both return how many bytes passed; 0: none now; -1: the connection is broken or over. The first
 * read includes the handshake. *due_out: it has to write before it can read. */
MUST_CHECK long tls_read(void *ssl, void *buf, size_t cap, bool *due_out);
MUST_CHECK long tls_write(void *ssl, const void *data, size_t len);
/* Tells the other side that nothing more will be written. */
void tls_finish(void *ssl);

/* ------------------------------------------------------------------------- the REST edge */

extern const char tls_gnutls_priorities[];
/* A gnutls_certificate_retrieve_function3. GnuTLS gives it no context, so it serves the one open
 * struct tls. */
void *tls_gnutls_callback(void);

/* For a gnutls_session_t whose handshake has not begun: answers plain HTTP with a sentence in plain
 * HTTP. first = false: the first bytes have been checked. */
void tls_gnutls_watch(void *session, bool first);

/* tls.c calls this in tls_gnutls.c; both texts are PEM, NUL-terminated. Returns ERR_INPUT,
 * ERR_MEMORY. */
MUST_CHECK int tls_gnutls_stage(const char *cert, const char *key, struct err *err);
void tls_gnutls_switch(void);
void tls_gnutls_close(void);

#endif
