#include "api/server/ws_target.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static int plain(const char *target, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        char next = i + 1 < len ? target[i + 1] : 'x';
        if (!isalnum((unsigned char)target[i]) && (!target[i] || !strchr("-._~/?=&", target[i])))
            return 0;
        if (target[i] == '/' && (next == '/' || next == '.'))
            return 0;
    }
    return len > 0 && target[0] == '/';
}

enum ws_target ws_target_judge(const char *bytes, size_t len)
{
    static const char method[] = "GET ";
    size_t n = sizeof method - 1, target_len;
    const char *end;

    if (strncasecmp(bytes, method, len < n ? len : n) != 0)
        return WS_TARGET_GOOD;
    if (len < n)
        return WS_TARGET_MORE;
    for (end = bytes + n; end < bytes + len && (!*end || !strchr(" \r\n", *end));)
        end++;
    target_len = (size_t)(end - bytes) - n;
    if (end == bytes + len)
        return len < WS_TARGET_LINE_MAX ? WS_TARGET_MORE : WS_TARGET_BAD;
    return plain(bytes + n, target_len) ? WS_TARGET_GOOD : WS_TARGET_BAD;
}
