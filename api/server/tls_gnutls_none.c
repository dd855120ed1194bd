/* tls_gnutls_none.c - the build without GnuTLS: TLS is refused at the start */
#include "api/server/tls.h"

const char tls_gnutls_priorities[] = "";

int tls_gnutls_stage(const char *cert, const char *key, struct err *err)
{
    (void)cert;
    (void)key;
    return err_at(err, ERR_UNSUPPORTED, "tls.cert_file", "this recond was built without GnuTLS");
}

void tls_gnutls_switch(void)
{
}

void tls_gnutls_close(void)
{
}

void tls_gnutls_watch(void *session, bool first)
{
    (void)session;
    (void)first;
}

void *tls_gnutls_callback(void)
{
    return NULL;
}
