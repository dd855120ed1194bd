/*
 * tls_gnutls.c - the certificate as GnuTLS wants it, for the REST edge
 *
 * A handshake borrows a pair until it ends. A pair that was replaced is therefore kept for longer
 * than a handshake may take (http.header_timeout_s is at most five minutes).
 */
#include "api/server/tls.h"

#include "api/server/listen.h"
#include "api/server/problem.h"
#include "proto/lock.h"

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define CHAIN_MAX 8
#define KEPT_S 600

const char tls_gnutls_priorities[] =
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-CIPHER-ALL:+AES-256-GCM:+CHACHA20-POLY1305:"
    "+AES-128-GCM:-MAC-ALL:+AEAD:-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA:-GROUP-ALL:+GROUP-X25519:"
    "+GROUP-SECP256R1:+GROUP-SECP384R1:-SIGN-RSA-SHA1:-SIGN-ECDSA-SHA1:%NO_TICKETS:"
    "%SERVER_PRECEDENCE";

struct pair {
    struct pair *older;
    gnutls_pcert_st certs[CHAIN_MAX];
    unsigned n_certs;
    gnutls_privkey_t key;
    time_t replaced_s; /* time by CLOCK_MONOTONIC */
};

static struct {
    struct lock lock;
    struct pair *current; /* the current pair and earlier ones, newest first */
    struct pair *staged;
} rest = {.lock = LOCK_INITIALIZER(LOCK_TLS_GNUTLS)};

static time_t now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

static void pair_free(struct pair *p)
{
    if (!p)
        return;
    for (unsigned i = 0; i < p->n_certs; i++)
        gnutls_pcert_deinit(&p->certs[i]);
    if (p->key)
        gnutls_privkey_deinit(p->key);
    free(p);
}

int tls_gnutls_stage(const char *cert, const char *key, struct err *err)
{
    gnutls_datum_t cert_pem = {(unsigned char *)(uintptr_t)cert, (unsigned)strlen(cert)};
    gnutls_datum_t key_pem = {(unsigned char *)(uintptr_t)key, (unsigned)strlen(key)};
    struct pair *p = calloc(1, sizeof *p);
    unsigned n = CHAIN_MAX;
    int rc;

    if (!p)
        return err_set(err, ERR_MEMORY, "no memory for a certificate");
    rc = gnutls_pcert_list_import_x509_raw(p->certs, &n, &cert_pem, GNUTLS_X509_FMT_PEM,
                                           GNUTLS_X509_CRT_LIST_IMPORT_FAIL_IF_EXCEED);
    if (rc < 0) {
        rc = err_at(err, ERR_INPUT, "tls.cert_file", "%s (at most %d certificates)",
                    gnutls_strerror(rc), CHAIN_MAX);
        goto out;
    }
    p->n_certs = n;
    rc = gnutls_privkey_init(&p->key);
    if (rc == 0)
        rc = gnutls_privkey_import_x509_raw(p->key, &key_pem, GNUTLS_X509_FMT_PEM, NULL, 0);
    if (rc < 0)
        rc = err_at(err, ERR_INPUT, "tls.key_file", "%s", gnutls_strerror(rc));
out:
    if (rc) {
        pair_free(p);
        return rc;
    }
    pair_free(rest.staged);
    rest.staged = p;
    return 0;
}

void tls_gnutls_switch(void)
{
    struct pair *p = rest.staged;
    time_t now = now_s();

    if (!p)
        return;
    rest.staged = NULL;
    lock_take(&rest.lock);
    if (rest.current)
        rest.current->replaced_s = now;
    p->older = rest.current;
    rest.current = p;
    for (struct pair **at = &p->older; *at;) {
        struct pair *old = *at;
        if (now - old->replaced_s < KEPT_S) {
            at = &old->older;
            continue;
        }
        *at = old->older;
        pair_free(old);
    }
    lock_give(&rest.lock);
}

void tls_gnutls_close(void)
{
    pair_free(rest.staged);
    rest.staged = NULL;
    while (rest.current) {
        struct pair *p = rest.current;
        rest.current = p->older;
        pair_free(p);
    }
}

static int on_handshake(gnutls_session_t session, const struct gnutls_cert_retr_st *info,
                        gnutls_pcert_st **certs, unsigned *n_certs, gnutls_ocsp_data_st **ocsp,
                        unsigned *n_ocsp, gnutls_privkey_t *key, unsigned *flags)
{
    struct pair *p;

    (void)session;
    (void)info;
    lock_take(&rest.lock);
    p = rest.current;
    lock_give(&rest.lock);
    *ocsp = NULL;
    *n_ocsp = 0;
    *flags = 0; /* GnuTLS frees none of them */
    *n_certs = p ? p->n_certs : 0;
    if (!p)
        return -1;
    *certs = p->certs;
    *key = p->key;
    return 0;
}

static ssize_t tls_pull(gnutls_transport_ptr_t at, void *data, size_t cap)
{
    return recv((int)(intptr_t)at, data, cap, 0);
}

static void refuse_plain(int fd)
{
    char unread[1024], body[PROBLEM_MAX], answer[PROBLEM_MAX + 256];
    size_t len = problem_write(body, sizeof body, PROBLEM_MALFORMED,
                               "a port that speaks TLS is asked by https://", NULL, NULL);
    int n = snprintf(answer, sizeof answer,
                     "HTTP/1.1 400 Bad Request\r\nContent-Type: application/problem+json\r\n"
                     "Content-Length: %zu\r\nConnection: close\r\n\r\n%.*s",
                     len, (int)len, body);

    while (recv(fd, unread, sizeof unread, MSG_DONTWAIT) > 0)
        ; /* closing with unread bytes would discard the answer */
    explicit_bzero(unread, sizeof unread);
    (void)!send(fd, answer, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL);
    shutdown(fd, SHUT_RDWR);
}

static ssize_t pull_first(gnutls_transport_ptr_t at, void *data, size_t cap)
{
    int fd = (int)(intptr_t)at;

    if (!listen_speaks_plainly(fd) || listen_health(fd).received > 0)
        return tls_pull(at, data, cap);
    refuse_plain(fd);
    errno = ECONNRESET;
    return -1;
}

void tls_gnutls_watch(void *session, bool first)
{
    gnutls_transport_set_pull_function(session, first ? pull_first : tls_pull);
}

void *tls_gnutls_callback(void)
{
    gnutls_certificate_retrieve_function3 *f = on_handshake;
    void *p;

    memcpy(&p, &f, sizeof p);
    return p;
}
