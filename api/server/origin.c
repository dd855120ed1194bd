#include "api/server/origin.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Returns the part of "name:port" or "[::1]:port" before the port. */
static size_t name_length(const char *host)
{
    return host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
}

bool origin_is_loopback(const char *host)
{
    size_t n = name_length(host);
    struct in_addr v4;
    char name[64];

    snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : 0), host);
    return strcasecmp(name, "localhost") == 0 || strcmp(name, "[::1]") == 0 ||
           (inet_pton(AF_INET, name, &v4) == 1 && ntohl(v4.s_addr) >> 24 == 127);
}

/* Returns the host of "https://name:port"; NULL for any other form. */
static const char *host_of(const char *origin)
{
    const char *host = strncmp(origin, "https://", 8) == 0  ? origin + 8
                       : strncmp(origin, "http://", 7) == 0 ? origin + 7
                                                            : "";
    size_t n = strlen(host);

    return n > 0 && strcspn(host, "/@?#, ") == n ? host : NULL;
}

bool origin_allowed(const char *const *listed, const char *origin, const char *host)
{
    const char *from = host_of(origin);
    size_t n = from ? name_length(from) : 0;

    for (int i = 0; listed && listed[i]; i++)
        if (strcmp(listed[i], origin) == 0)
            return true;
    if (!from)
        return false;
    return origin_is_loopback(from) ||
           (host && n > 0 && n == name_length(host) && strncasecmp(from, host, n) == 0);
}
