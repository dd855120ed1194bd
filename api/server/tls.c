#include "api/server/tls.h"

#include "api/file.h"
#include "proto/lock.h"
/* OpenSSL has a type of this name; we have a constant. */
#define ERR_STATE openssl_err_state
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#undef ERR_STATE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX (256u << 10)
#define PATH_CAP 192

struct pair {
    X509 *cert;
    STACK_OF(X509) * chain;
    EVP_PKEY *key;
};

struct tls {
    char cert_file[PATH_CAP], key_file[PATH_CAP];
    struct lock lock;
    struct pair current;
    struct pair staged; /* used by the staging thread alone */
};

static void pair_free(struct pair *p)
{
    X509_free(p->cert);
    sk_X509_pop_free(p->chain, X509_free);
    EVP_PKEY_free(p->key);
    *p = (struct pair){0};
}

/* ------------------------------------------------------------------------- files */

static void wipe(char **text)
{
    if (*text)
        explicit_bzero(*text, FILE_MAX + 1);
    free(*text);
    *text = NULL;
}

static int check_file(int fd, const char *path, const char *where, bool secret, struct err *err)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return err_at(err, ERR_IO, where, "%s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return err_at(err, ERR_INPUT, where, "%s is no file", path);
    if (secret && (st.st_mode & 7))
        return err_at(err, ERR_INPUT, where, "%s can be read by everybody: chmod 600", path);
    return 0;
}

/* Out: *text [FILE_MAX + 1], NUL-terminated; wipe() it. */
static int read_file(char **text, const char *path, const char *where, bool secret, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), rc;
    size_t len = 0;

    *text = NULL;
    if (fd < 0)
        return err_at(err, ERR_IO, where, "%s: %s", path, strerror(errno));
    rc = check_file(fd, path, where, secret, err);
    if (rc)
        goto out;
    *text = calloc(1, FILE_MAX + 1);
    if (!*text) {
        rc = err_set(err, ERR_MEMORY, "no memory for a certificate");
        goto out;
    }
    if (file_read(fd, *text, FILE_MAX, &len))
        rc = err_at(err, ERR_IO, where, "%s: %s", path, strerror(errno));
    else if (len == FILE_MAX || strlen(*text) != len)
        rc = err_at(err, ERR_INPUT, where, "%s is no PEM file", path);
out:
    close(fd);
    if (rc)
        wipe(text);
    return rc;
}

/* ------------------------------------------------------------------------- PEM */

/* Refuses a key with a passphrase, because a daemon has no terminal. */
static int no_passphrase(char *buf, int size, int writing, void *ctx)
{
    (void)buf;
    (void)size;
    (void)writing;
    (void)ctx;
    return -1;
}

static int parse_chain(struct pair *p, const char *text, const char *path, struct err *err)
{
    BIO *bio = BIO_new_mem_buf(text, -1);
    X509 *more;
    int rc = 0;

    p->chain = sk_X509_new_null();
    if (!bio || !p->chain) {
        rc = err_set(err, ERR_MEMORY, "no memory for a certificate");
        goto out;
    }
    p->cert = PEM_read_bio_X509(bio, NULL, no_passphrase, NULL);
    if (!p->cert) {
        rc = err_at(err, ERR_INPUT, "tls.cert_file", "%s holds no certificate in PEM", path);
        goto out;
    }
    while (rc == 0 && (more = PEM_read_bio_X509(bio, NULL, no_passphrase, NULL)))
        if (!sk_X509_push(p->chain, more)) {
            X509_free(more);
            rc = err_set(err, ERR_MEMORY, "no memory for a certificate");
        }
out:
    ERR_clear_error(); /* OpenSSL reports the end of the file as an error */
    BIO_free(bio);
    return rc;
}

static int parse_key(struct pair *p, const char *text, const char *path, struct err *err)
{
    BIO *bio = BIO_new_mem_buf(text, -1);
    int rc = 0;

    if (!bio)
        return err_set(err, ERR_MEMORY, "no memory for a key");
    p->key = PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL);
    if (!p->key)
        rc = err_at(err, ERR_INPUT, "tls.key_file",
                    "%s holds no private key in PEM (one with a passphrase cannot be used)", path);
    else if (X509_check_private_key(p->cert, p->key) != 1)
        rc = err_at(err, ERR_INPUT, "tls.key_file", "%s is not the key of the certificate", path);
    ERR_clear_error();
    BIO_free(bio);
    return rc;
}

int tls_stage(struct tls *t, struct err *err)
{
    char *cert = NULL, *key = NULL;
    struct pair p = {0};
    int rc = read_file(&cert, t->cert_file, "tls.cert_file", false, err);

    if (rc == 0)
        rc = read_file(&key, t->key_file, "tls.key_file", true, err);
    if (rc == 0)
        rc = parse_chain(&p, cert, t->cert_file, err);
    if (rc == 0)
        rc = parse_key(&p, key, t->key_file, err);
    if (rc == 0)
        rc = tls_gnutls_stage(cert, key, err);
    wipe(&cert);
    wipe(&key);
    if (rc) {
        pair_free(&p);
        return rc;
    }
    pair_free(&t->staged);
    t->staged = p;
    return 0;
}

void tls_switch(struct tls *t)
{
    if (!t->staged.cert)
        return;
    lock_take(&t->lock);
    pair_free(&t->current); /* every SSL_CTX has references of its own */
    t->current = t->staged;
    lock_give(&t->lock);
    t->staged = (struct pair){0};
    tls_gnutls_switch();
}

int tls_open(struct tls **out, const char *cert_file, const char *key_file, struct err *err)
{
    struct tls *t = calloc(1, sizeof *t);
    int rc = 0;

    *out = NULL;
    if (!t)
        return err_set(err, ERR_MEMORY, "no memory for a certificate");
    lock_init(&t->lock, LOCK_TLS);
    if (strlen(cert_file) >= PATH_CAP || strlen(key_file) >= PATH_CAP)
        rc = err_at(err, ERR_INPUT, "tls.cert_file", "a path is too long");
    snprintf(t->cert_file, PATH_CAP, "%s", cert_file);
    snprintf(t->key_file, PATH_CAP, "%s", key_file);
    if (rc == 0)
        rc = tls_stage(t, err);
    if (rc) {
        tls_close(&t);
        return rc;
    }
    tls_switch(t);
    *out = t;
    return 0;
}

void tls_close(struct tls **out)
{
    struct tls *t = *out;

    if (!t)
        return;
    tls_gnutls_close();
    pair_free(&t->current);
    pair_free(&t->staged);
    lock_destroy(&t->lock);
    free(t);
    *out = NULL;
}

/* ------------------------------------------------------------------------- the stream edge */

bool tls_apply(struct tls *t, void *ssl_ctx)
{
    SSL_CTX *ctx = ssl_ctx;
    bool ok;

    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET |
                                 SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(ctx, 0);
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | /* saves 34 kB for every quiet connection */
                              SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    ok = SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) == 1 &&
         SSL_CTX_set_cipher_list(ctx, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1 &&
         SSL_CTX_set_ciphersuites(ctx, "TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:"
                                       "TLS_AES_128_GCM_SHA256") == 1 &&
         SSL_CTX_set1_groups_list(ctx, "X25519:P-256:P-384") == 1;
    lock_take(&t->lock);
    ok = ok &&
         SSL_CTX_use_cert_and_key(ctx, t->current.cert, t->current.key, t->current.chain, 1) == 1;
    lock_give(&t->lock);
    ERR_clear_error();
    return ok;
}

static int choose_http(SSL *ssl, const unsigned char **chosen, unsigned char *chosen_len,
                       const unsigned char *offered, unsigned n_offered, void *ctx)
{
    static const unsigned char http[] = "\x08http/1.1";

    (void)ssl;
    (void)ctx;
    return SSL_select_next_proto((unsigned char **)(uintptr_t)chosen, chosen_len, http,
                                 sizeof http - 1, offered, n_offered) == OPENSSL_NPN_NEGOTIATED
               ? SSL_TLSEXT_ERR_OK
               : SSL_TLSEXT_ERR_NOACK;
}

void *tls_server(struct tls *t)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());

    if (!ctx || !tls_apply(t, ctx)) {
        SSL_CTX_free(ctx);
        return NULL;
    }
    SSL_CTX_set_alpn_select_cb(ctx, choose_http, NULL);
    return ctx;
}

void tls_server_free(void **ssl_ctx)
{
    SSL_CTX_free(*ssl_ctx);
    *ssl_ctx = NULL;
}

void *tls_accept(void *ssl_ctx, int fd)
{
    SSL *ssl = SSL_new(ssl_ctx);

    if (!ssl || SSL_set_fd(ssl, fd) != 1) {
        SSL_free(ssl);
        return NULL;
    }
    SSL_set_accept_state(ssl);
    return ssl;
}

void tls_leave(void **ssl)
{
    SSL_free(*ssl);
    *ssl = NULL;
}

long tls_read(void *ssl, void *buf, size_t cap, bool *due_out)
{
    int n, why;

    ERR_clear_error(); /* errors of another connection would be taken for ours */
    n = SSL_read(ssl, buf, (int)(cap < INT_MAX ? cap : INT_MAX));
    why = n > 0 ? SSL_ERROR_NONE : SSL_get_error(ssl, n);
    ERR_clear_error();
    *due_out = why == SSL_ERROR_WANT_WRITE;
    if (n > 0)
        return n;
    return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? 0 : -1;
}

long tls_write(void *ssl, const void *data, size_t len)
{
    int n, why;

    ERR_clear_error();
    n = SSL_write(ssl, data, (int)(len < INT_MAX ? len : INT_MAX));
    why = n > 0 ? SSL_ERROR_NONE : SSL_get_error(ssl, n);
    ERR_clear_error();
    if (n > 0)
        return n;
    return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? 0 : -1;
}

void tls_finish(void *ssl)
{
    if (SSL_is_init_finished(ssl))
        (void)SSL_shutdown(ssl);
    ERR_clear_error();
}
