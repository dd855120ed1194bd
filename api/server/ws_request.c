#include "api/server/ws_request.h"

/* OpenSSL has a type of this name; we have a constant. */
#define ERR_STATE openssl_err_state
#include <openssl/evp.h>
#undef ERR_STATE
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define KEY_CHARS 24 /* 16 bytes in base64 */
#define GUID "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

static void request_refuse(struct ws_request *q, int status, const char *why)
{
    if (q->status)
        return;
    q->status = status;
    q->why = why;
}

size_t ws_request_length(const char *bytes, size_t len)
{
    const char *end = memmem(bytes, len, "\r\n\r\n", 4);

    return end ? (size_t)(end - bytes) + 4 : 0;
}

/* ------------------------------------------------------------------------- the first line */

/* Refuses another spelling of a path (empty steps, dots, escapes), which could pass a proxy that
 * keeps clients from it. */
static bool spelled_plainly(const char *target)
{
    for (const char *c = target; *c; c++) {
        if (!isalnum((unsigned char)*c) && !strchr("-._~/?=&", *c))
            return false;
        if (*c == '/' && (c[1] == '/' || c[1] == '.'))
            return false;
    }
    return target[0] == '/';
}

static void read_target(struct ws_request *q, char *line)
{
    char *target = strchr(line, ' '), *version = target ? strchr(target + 1, ' ') : NULL, *query;

    if (!version || strcmp(version + 1, "HTTP/1.1") != 0) {
        request_refuse(q, 400, "the first line is none of HTTP/1.1");
        return;
    }
    *target++ = '\0';
    *version = '\0';
    if (!spelled_plainly(target))
        request_refuse(q, 400, "the path is not spelled plainly");
    if (strcmp(line, "GET") != 0)
        request_refuse(q, 426, "this port speaks WebSocket only");
    query = strchr(target, '?');
    if (query)
        *query++ = '\0';
    q->handshake.path = target;
    q->handshake.query = query && !*query ? "?" : query;
}

/* ------------------------------------------------------------------------- headers */

/* Tells whether the word is in a comma-separated list. */
static bool lists(const char *list, const char *word)
{
    while (*list) {
        size_t n;

        list += strspn(list, ", \t");
        n = strcspn(list, ", \t");
        if (n == strlen(word) && strncasecmp(list, word, n) == 0)
            return true;
        list += n;
    }
    return false;
}

static void add_protocols(struct ws_request *q, const char *value)
{
    size_t used = strlen(q->protocols), n = strlen(value);

    if (used + n + 2 > sizeof q->protocols) {
        request_refuse(q, 400, "too many subprotocols are offered");
        return;
    }
    if (used > 0)
        q->protocols[used++] = ',';
    memcpy(q->protocols + used, value, n + 1);
    q->handshake.protocols = q->protocols;
}

static void once(struct ws_request *q, const char **slot, const char *value)
{
    q->handshake.repeated = q->handshake.repeated || *slot;
    *slot = value;
}

static void read_header(struct ws_request *q, const char *name, const char *value)
{
    const struct {
        const char *name;
        const char **slot;
    } known[] = {{"Host", &q->handshake.host},
                 {"Origin", &q->handshake.origin},
                 {"Authorization", &q->handshake.authorization},
                 {"Upgrade", &q->upgrade},
                 {"Sec-WebSocket-Key", &q->key},
                 {"Sec-WebSocket-Version", &q->version}};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcasecmp(name, known[i].name) == 0)
            once(q, known[i].slot, value);
    if (strcasecmp(name, "Sec-WebSocket-Protocol") == 0)
        add_protocols(q, value);
    else if (strcasecmp(name, "Connection") == 0)
        q->connection_upgrade = q->connection_upgrade || lists(value, "upgrade");
    else if (strcasecmp(name, "X-Forwarded-For") == 0)
        q->forwarded = value; /* the last one is the nearest proxy's */
    else if (strcasecmp(name, "Transfer-Encoding") == 0 ||
             (strcasecmp(name, "Content-Length") == 0 && strcmp(value, "0") != 0))
        q->body = true;
}

static void line_read(struct ws_request *q, char *line)
{
    size_t n = strcspn(line, ":"), end = strlen(line);
    char *value = line + n + 1;

    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)line[i]) && !strchr("!#$%&'*+-.^_`|~", line[i]))
            n = 0;
    if (n == 0 || n == end) {
        request_refuse(q, 400, "a header has no name, or characters that none may have");
        return;
    }
    line[n] = '\0';
    value += strspn(value, " \t");
    while (end > 0 && line + end > value && strchr(" \t", line[end - 1]))
        line[--end] = '\0';
    read_header(q, line, value);
}

/* Checks that the head is text in lines that end with CR LF. */
static bool is_text(const char *head, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)head[i];

        if (c == '\r'   ? head[i + 1] != '\n'
            : c == '\n' ? i == 0 || head[i - 1] != '\r'
                        : (c < 0x20 && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------------- request line */

static bool is_key(const char *key)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    return strlen(key) == KEY_CHARS && strspn(key, alphabet) == KEY_CHARS - 2 &&
           strcmp(key + KEY_CHARS - 2, "==") == 0;
}

static void request_judge(struct ws_request *q)
{
    if (q->handshake.repeated) /* ws_peer_admit() refuses it */
        return;
    if (!q->upgrade || !lists(q->upgrade, "websocket") || !q->connection_upgrade)
        request_refuse(q, 426, "this port speaks WebSocket only");
    else if (!q->version)
        request_refuse(q, 400, "a handshake without Sec-WebSocket-Version");
    else if (strcmp(q->version, "13") != 0)
        request_refuse(q, 426, "the version of WebSocket is 13");
    else if (!q->key || !is_key(q->key))
        request_refuse(q, 400, "a handshake without a Sec-WebSocket-Key of 16 bytes");
    else if (!q->handshake.host || q->body)
        request_refuse(q, 400, q->body ? "a handshake has no body" : "a handshake without Host");
}

void ws_request_read(struct ws_request *q, char *head, size_t len)
{
    memset(q, 0, sizeof *q);
    if (len < 4 || !is_text(head, len)) {
        request_refuse(q, 400, "the head of the request is no text in lines");
        return;
    }
    for (char *line = head, *end; line < head + len - 2; line = end + 2) {
        end = strstr(line, "\r\n");
        *end = '\0';
        if (line == head)
            read_target(q, line);
        else
            line_read(q, line);
    }
    request_judge(q);
}

size_t ws_request_accept(const struct ws_request *q, char answer[WS_REQUEST_ANSWER_MAX])
{
    char text[KEY_CHARS + sizeof GUID];
    unsigned char hash[EVP_MAX_MD_SIZE], code[2 * EVP_MAX_MD_SIZE];
    unsigned n = 0;

    snprintf(text, sizeof text, "%s" GUID, q->key);
    if (EVP_Digest(text, strlen(text), hash, &n, EVP_sha1(), NULL) != 1)
        return 0;
    EVP_EncodeBlock(code, hash, (int)n);
    return (size_t)snprintf(answer, WS_REQUEST_ANSWER_MAX,
                            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                            "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n"
                            "Sec-WebSocket-Protocol: " CONTROL_SUBPROTOCOL "\r\n\r\n",
                            (const char *)code);
}
