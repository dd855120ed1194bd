#include "api/server/ws_handshake.h"

#include "api/server/listen.h"
#include "api/server/tls.h"

/* OpenSSL, which comes with it, has a type of this name; we have a constant. */
#define ERR_STATE openssl_err_state
#include <libwebsockets.h>
#undef ERR_STATE
#include <string.h>
#include <sys/socket.h>

#define HEADER_CAP 1024

void ws_handshake_send(int fd, const char *text, size_t len)
{
    ssize_t sent = send(fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)sent;
}

static void answer_with(struct ws_peer *p, struct lws *wsi, const char *text, size_t len)
{
    if (p->env->config->tls)
        tls_send(lws_get_ssl(wsi), text, len);
    else
        ws_handshake_send(p->fd, text, len);
}

/* A header's value in buf, NULL when it is absent or too long (*repeated tells which headers came
 * twice). */
static const char *header(struct lws *wsi, enum lws_token_indexes token, char *buf, size_t cap,
                          bool *repeated)
{
    int len = lws_hdr_total_length(wsi, token);

    if (len <= 0)
        return NULL;
    if (repeated && lws_hdr_fragment_length(wsi, token, 1) > 0)
        *repeated = true;
    if ((size_t)len >= cap || lws_hdr_copy(wsi, buf, (int)cap, token) < 0) {
        if (repeated)
            *repeated = true; /* a header that is too long is refused as well */
        return NULL;
    }
    return buf;
}

/* Copies of the headers of a handshake; wiped once it is decided, as they may hold a token. */
struct handshake_text {
    char path[HEADER_CAP], query[HEADER_CAP], origin[HEADER_CAP], protocols[HEADER_CAP],
        authorization[HEADER_CAP], host[HEADER_CAP];
};

static void read_handshake(struct ws_peer_handshake *h, struct handshake_text *t, struct lws *wsi)
{
    h->path = header(wsi, WSI_TOKEN_GET_URI, t->path, sizeof t->path, NULL);
    h->query = header(wsi, WSI_TOKEN_HTTP_URI_ARGS, t->query, sizeof t->query, NULL);
    if (!h->query && lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_URI_ARGS) > 0)
        h->query = "?";
    h->origin = header(wsi, WSI_TOKEN_ORIGIN, t->origin, sizeof t->origin, &h->repeated);
    h->protocols = header(wsi, WSI_TOKEN_PROTOCOL, t->protocols, sizeof t->protocols, NULL);
    h->authorization = header(wsi, WSI_TOKEN_HTTP_AUTHORIZATION, t->authorization,
                              sizeof t->authorization, &h->repeated);
    header(wsi, WSI_TOKEN_HOST, t->host, sizeof t->host, &h->repeated);
}

int ws_handshake_admit(struct ws_peer *p, struct lws *wsi)
{
    struct handshake_text text;
    struct ws_peer_handshake h = {0};
    char answer[WS_PEER_ANSWER_MAX];
    size_t len;

    if (p->answered) /* refused before the upgrade */
        return -1;
    read_handshake(&h, &text, wsi);
    len = ws_peer_admit(p, &h, answer);
    explicit_bzero(&text, sizeof text);
    if (len == 0)
        return 0;
    answer_with(p, wsi, answer, len);
    ws_peer_log(p, "refused");
    return -1;
}

int ws_handshake_before(struct ws_peer *p, struct lws *wsi)
{
    char list[HEADER_CAP], version[8];
    const char *offered = header(wsi, WSI_TOKEN_PROTOCOL, list, sizeof list, NULL);
    const char *thirteen = header(wsi, WSI_TOKEN_VERSION, version, sizeof version, NULL);

    if (lws_hdr_total_length(wsi, WSI_TOKEN_KEY) > 0 && thirteen && strcmp(thirteen, "13") == 0 &&
        (lws_hdr_total_length(wsi, WSI_TOKEN_PROTOCOL) <= 0 ||
         (offered && strstr(offered, CONTROL_SUBPROTOCOL)))) {
        explicit_bzero(list, sizeof list); /* a token may be among the headers */
        return 0;
    }
    explicit_bzero(list, sizeof list);
    (void)!ws_handshake_refuse(p, wsi, 400,
                               "not a WebSocket request with subprotocol " CONTROL_SUBPROTOCOL);
    return 0;
}

bool ws_handshake_address(struct lws *wsi, uint8_t addr[16])
{
    char text[HEADER_CAP];
    const char *forwarded = header(wsi, WSI_TOKEN_X_FORWARDED_FOR, text, sizeof text, NULL);

    return forwarded && listen_forwarded(forwarded, addr);
}

int ws_handshake_refuse(struct ws_peer *p, struct lws *wsi, int status, const char *detail)
{
    char answer[WS_PEER_ANSWER_MAX];

    p->answered = true;
    answer_with(p, wsi, answer, ws_peer_refuse(answer, status, detail));
    atomic_fetch_add(&p->env->refused, 1);
    return -1;
}
