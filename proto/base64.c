#include "proto/base64.h"

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(char *out, const uint8_t *data, size_t n)
{
    for (size_t i = 0; i < n; i += 3) {
        uint32_t v = (uint32_t)data[i] << 16;
        if (i + 1 < n)
            v |= (uint32_t)data[i + 1] << 8;
        if (i + 2 < n)
            v |= data[i + 2];
        *out++ = letters[v >> 18];
        *out++ = letters[v >> 12 & 63];
        *out++ = i + 1 < n ? letters[v >> 6 & 63] : '=';
        *out++ = i + 2 < n ? letters[v & 63] : '=';
    }
    *out = '\0';
}

static int value(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

int base64_decode(uint8_t *out, size_t *n, const char *text, size_t chars)
{
    *n = 0;
    if (chars % 4)
        return -1;
    for (size_t i = 0; i < chars; i += 4) {
        int pad = i + 4 == chars && text[i + 3] == '=';
        uint32_t v = 0;
        pad += pad && text[i + 2] == '=';
        for (int k = 0; k < 4 - pad; k++) {
            int d = value(text[i + (size_t)k]);
            if (d < 0)
                return -1;
            v |= (uint32_t)d << (18 - 6 * k);
        }
        if (pad && v & ((1u << 8 * pad) - 1))
            return -1;
        for (int k = 0; k < 3 - pad; k++)
            out[(*n)++] = (uint8_t)(v >> (16 - 8 * k));
    }
    return 0;
}
