#include "api/client/client_tls.h"

#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

bool client_tls_numeric(const char *host)
{
    struct in6_addr any;

    return inet_pton(AF_INET, host, &any) == 1 || inet_pton(AF_INET6, host, &any) == 1;
}

bool client_tls_apply(void *ssl_ctx, const char *host)
{
    SSL_CTX *ctx = ssl_ctx;

    if (SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) != 1)
        return false;
    return !client_tls_numeric(host) ||
           X509_VERIFY_PARAM_set1_ip_asc(SSL_CTX_get0_param(ctx), host) == 1;
}
