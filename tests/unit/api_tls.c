/* api_tls.c - the certificate's files, its change under running streams, handshakes that do not
 * come */
#include "api/server/tls.h"
#include "tests/support/ws_case.h"
#include "tests/support/unit.h"

#define ERR_STATE openssl_err_state
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#undef ERR_STATE
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64], cert_path[96], key_path[96];

/* ------------------------------------------------------------------------- files */

static void name_of(char *path, const char *name)
{
    snprintf(path, 96, "%s/%s", folder, name);
}

/* A self-signed certificate and its key; copies: how often it stands in its file. */
static void make_pair(const char *cn, int copies, const char *passphrase)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    X509_NAME *name = X509_get_subject_name(cert);
    FILE *f;

    assert_non_null(key);
    X509_set_version(cert, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
    X509_gmtime_adj(X509_getm_notBefore(cert), -60);
    X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
    X509_set_pubkey(cert, key);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)cn, -1, -1, 0);
    X509_set_issuer_name(cert, name);
    assert_true(X509_sign(cert, key, EVP_sha256()) > 0);
    f = fopen(cert_path, "w");
    assert_non_null(f);
    for (int i = 0; i < copies; i++)
        PEM_write_X509(f, cert);
    fclose(f);
    f = fopen(key_path, "w");
    assert_non_null(f);
    PEM_write_PrivateKey(f, key, passphrase ? EVP_aes_128_cbc() : NULL, NULL, 0, NULL,
                         (void *)(uintptr_t)passphrase);
    fclose(f);
    chmod(key_path, 0600);
    X509_free(cert);
    EVP_PKEY_free(key);
}

static void write_file(const char *path, const char *data, size_t len)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, len, f), len);
    fclose(f);
}

FIXTURE(make_folder)
{
    strcpy(folder, "/tmp/recond-tls-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    name_of(cert_path, "cert");
    name_of(key_path, "key");
    return 0;
}

FIXTURE(remove_folder)
{
    unlink(cert_path);
    unlink(key_path);
    return rmdir(folder);
}

static void expect_refused(int code, const char *where, const char *says)
{
    struct tls *t = NULL;
    struct err err = {0};
    int rc = tls_open(&t, cert_path, key_path, &err);

    if (rc != code || strcmp(err.where, where) != 0 || !strstr(err.text, says))
        print_error("%d %s: %s\n", rc, err.where, err.text);
    assert_int_equal(rc, code);
    assert_string_equal(err.where, where);
    assert_non_null(strstr(err.text, says));
    assert_null(t);
}

TEST(test_files_that_are_wrong)
{
    static char big[300 << 10];
    char other[96], text[8192];
    size_t n;
    FILE *f;

    unlink(cert_path);
    expect_refused(ERR_IO, "tls.cert_file", "No such file");
    make_pair("a", 1, NULL);
    unlink(key_path);
    expect_refused(ERR_IO, "tls.key_file", "No such file");
    mkdir(key_path, 0700);
    expect_refused(ERR_INPUT, "tls.key_file", "is no file");
    rmdir(key_path);
    make_pair("a", 1, NULL);
    chmod(key_path, 0604);
    expect_refused(ERR_INPUT, "tls.key_file", "everybody");
    chmod(key_path, 0640); /* as Debian's ssl-cert group has it */
    write_file(cert_path, "", 0);
    expect_refused(ERR_INPUT, "tls.cert_file", "no certificate in PEM");
    write_file(cert_path, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", 59);
    expect_refused(ERR_INPUT, "tls.cert_file", "no certificate in PEM");
    memset(big, 'x', sizeof big);
    write_file(cert_path, big, sizeof big);
    expect_refused(ERR_INPUT, "tls.cert_file", "is no PEM file");
    make_pair("a", 1, NULL);
    f = fopen(cert_path, "r");
    n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0'; /* a NUL after all that is needed */
    write_file(cert_path, text, n + 1);
    expect_refused(ERR_INPUT, "tls.cert_file", "is no PEM file");
    make_pair("a", 9, NULL);
    expect_refused(ERR_INPUT, "tls.cert_file", "at most 8");
    make_pair("a", 1, "secret");
    expect_refused(ERR_INPUT, "tls.key_file", "passphrase");
    make_pair("a", 1, NULL);
    name_of(other, "other");
    rename(key_path, other);
    make_pair("b", 1, NULL);
    rename(other, key_path);
    expect_refused(ERR_INPUT, "tls.key_file", "not the key of the certificate");
}

/* ------------------------------------------------------------------------- connections */

static SSL_CTX *client;

static SSL *reach(int port)
{
    SSL *ssl = SSL_new(client);

    SSL_set_fd(ssl, edge_connect(port));
    if (SSL_connect(ssl) != 1)
        fail_msg("no handshake");
    return ssl;
}

static void leave(SSL *ssl)
{
    int fd = SSL_get_fd(ssl);

    SSL_free(ssl);
    close(fd);
}

static void expect_name(int port, const char *cn)
{
    SSL *ssl = reach(port);
    X509 *cert = SSL_get1_peer_certificate(ssl);
    char got[64] = "";

    X509_NAME_get_text_by_NID(X509_get_subject_name(cert), NID_commonName, got, sizeof got);
    X509_free(cert);
    leave(ssl);
    assert_string_equal(got, cn);
}

static void expect_names(const char *cn)
{
    expect_name(http_port(ws_case.edge.http), cn);
    expect_name(ws_port(ws_case.edge.ws), cn);
}

/* Reads until text has come. */
static void expect_text(SSL *ssl, const char *text)
{
    char buf[8192] = "";
    size_t len = 0;
    int n;

    while (!memmem(buf, len, text, strlen(text))) {
        n = SSL_read(ssl, buf + len, (int)(sizeof buf - len));
        if (n <= 0)
            fail_msg("the connection ended before '%s' came: %.200s", text, buf);
        len += (size_t)n;
    }
}

static SSL *open_stream(const char *id, const char *token)
{
    SSL *ssl = reach(ws_port(ws_case.edge.ws));
    char text[512];
    int n = snprintf(text, sizeof text,
                     "GET /v1/sessions/%s/stream HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n"
                     "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                     "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: recon.v1\r\n"
                     "Authorization: Bearer %s\r\n\r\n",
                     id, token);

    assert_int_equal(SSL_write(ssl, text, n), n);
    return ssl;
}

static void start(SSL *ssl)
{
    static const char message[] = START_VIEW;
    char text[128] = {(char)0x81, (char)(0x80 | (sizeof message - 1)), 0, 0, 0, 0};

    memcpy(text + 6, message, sizeof message - 1);
    SSL_write(ssl, text, 6 + sizeof message - 1);
    expect_text(ssl, "\"op\":\"ready\"");
}

static void ping(SSL *ssl)
{
    assert_int_equal(SSL_write(ssl, "\x89\x84\0\0\0\0tick", 10), 10);
    expect_text(ssl, "\x8a\x04tick");
}

static struct tls *tls;

FIXTURE(setup)
{
    struct err err = {0};

    make_pair("one", 1, NULL);
    if (tls_open(&tls, cert_path, key_path, &err))
        fail_msg("%s: %s", err.where, err.text);
    client = SSL_CTX_new(TLS_client_method());
    edge_defaults(&ws_case.edge);
    ws_case.edge.config.tls = tls;
    ws_case.edge.config.header_timeout_s = 1;
    edge_start(&ws_case.edge);
    return 0;
}

FIXTURE(teardown)
{
    edge_stop(&ws_case.edge);
    tls_close(&tls);
    SSL_CTX_free(client);
    return 0;
}

/* POST /v1/sessions; id and a token out of the answer. */
static void make_session(char id[27], char token[64])
{
    SSL *ssl = reach(http_port(ws_case.edge.http));
    static const char request[] = "POST /v1/sessions HTTP/1.1\r\nHost: a\r\nAuthorization: "
                                  "Bearer " EDGE_ADMIN "\r\nContent-Type: application/json\r\n"
                                  "Content-Length: 2\r\nConnection: close\r\n\r\n{}";
    char buf[8192];
    size_t len = 0;
    const char *at;
    int n;

    SSL_write(ssl, request, sizeof request - 1);
    while ((n = SSL_read(ssl, buf + len, (int)(sizeof buf - 1 - len))) > 0)
        len += (size_t)n;
    buf[len] = '\0';
    leave(ssl);
    at = strstr(buf, "\"stream_url\":\"wss://a:");
    if (!at)
        fail_msg("%s", buf);
    at = strstr(buf, "/v1/sessions/");
    assert_int_equal(
        sscanf(strstr(at, "\"stream_url\""), "%*[^s]%*[^/]//%*[^/]/v1/sessions/%26[a-z2-7]", id),
        1);
    at = strstr(buf, "\"view\":\"");
    assert_int_equal(sscanf(at, "\"view\":\"%63[^\"]", token), 1);
}

TEST_WITH(test_a_change_under_a_stream, setup, teardown)
{
    char id[27] = "", token[64] = "";
    struct err err = {0};
    SSL *old;

    make_session(id, token);
    expect_names("one");
    old = open_stream(id, token);
    expect_text(old, "101 Switching Protocols");
    start(old);
    ping(old);
    make_pair("two", 3, NULL);
    assert_int_equal(tls_stage(tls, &err), 0);
    expect_names("one"); /* read, not used */
    tls_switch(tls);
    ws_renew(ws_case.edge.ws);
    expect_names("two");
    ping(old);
    write_file(key_path, "no key", 6);
    assert_int_equal(tls_stage(tls, &err), ERR_INPUT);
    tls_switch(tls); /* nothing was staged */
    ws_renew(ws_case.edge.ws);
    expect_names("two");
    for (int i = 0; i < 10; i++) { /* pairs that were replaced are kept for a while, not for ever */
        make_pair(i & 1 ? "odd" : "even", 1, NULL);
        assert_int_equal(tls_stage(tls, &err), 0);
        tls_switch(tls);
    }
    ws_renew(ws_case.edge.ws);
    expect_names("odd");
    ping(old);
    leave(old);
}

TEST_WITH(test_refusals_are_said_inside, setup, teardown)
{
    SSL *ssl = open_stream("aaaaaaaaaaaaaaaaaaaaaaaaaa", EDGE_VIEW);

    expect_text(ssl, "404 Not Found");
    leave(ssl);
    ssl = reach(ws_port(ws_case.edge.ws));
    SSL_write(ssl, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", 27);
    expect_text(ssl, "426 Upgrade Required");
    leave(ssl);
}

/* Neither a handshake that never begins, nor one that stops half-way has an answer or a place. */
TEST_WITH(test_handshakes_that_do_not_come, setup, teardown)
{
    int ports[2] = {http_port(ws_case.edge.http), ws_port(ws_case.edge.ws)};
    static const char *const firsts[] = {"", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"};
    static const size_t lengths[] = {0, 11};

    for (int edge = 0; edge < 2; edge++)
        for (int i = 0; i < 2; i++) {
            int fd = edge_connect(ports[edge]);
            int64_t begun = ws_case_now_ms();
            struct pollfd p = {.fd = fd, .events = POLLIN};
            char buf[256];
            ssize_t n;

            edge_send(fd, firsts[i], lengths[i]);
            assert_int_equal(poll(&p, 1, 3000), 1);
            n = recv(fd, buf, sizeof buf, 0); /* an alert at most */
            assert_true(n <= 0 || buf[0] == 0x15);
            assert_true(edge_closed(fd, 3000));
            assert_true(ws_case_now_ms() - begun < 2000);
            close(fd);
        }
}

/* An address began with http:// or ws://, not https:// or wss://. */
TEST_WITH(test_plain_text_is_told, setup, teardown)
{
    int ports[2] = {http_port(ws_case.edge.http), ws_port(ws_case.edge.ws)};
    static const char *const says[2] = {"https://", "wss://"};

    for (int edge = 0; edge < 2; edge++) {
        int fd = edge_connect(ports[edge]);
        struct edge_answer a;

        edge_send(fd, "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n", 32);
        a = edge_read(fd, false);
        assert_int_equal(a.status, 400);
        assert_non_null(strstr(a.body, "a port that speaks TLS is asked by"));
        assert_non_null(strstr(a.body, says[edge]));
        edge_answer_free(&a);
        assert_true(edge_closed(fd, 2000));
        close(fd);
        expect_name(ports[edge], "one"); /* and others are served */
    }
}

/* With TLS of our own, too, a path has one spelling. */
TEST_WITH(test_one_spelling, setup, teardown)
{
    SSL *ssl = reach(ws_port(ws_case.edge.ws));
    static const char request[] = "GET //v1/sessions/a/stream HTTP/1.1\r\nHost: a\r\n\r\n";

    SSL_write(ssl, request, sizeof request - 1);
    expect_text(ssl, "the path is not spelled plainly");
    leave(ssl);
}

TEST_GROUP(make_folder, remove_folder)
