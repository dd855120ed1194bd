/* base64.h - bytes as text (RFC 4648, section 4, padded), as JSON carries them */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Characters without a NUL. */
#define BASE64_CHARS(n) (((n) + 2) / 3 * 4)
/* Room for what so many characters decode to. */
#define BASE64_BYTES(chars) ((chars) / 4 * 3)

/* out [BASE64_CHARS(n) + 1], NUL-terminated. */
void base64_encode(char *out, const uint8_t *data, size_t n);
/* out [BASE64_BYTES(chars)]. Returns 0 and *n; -1: it is no such text (one form alone is taken: no
 * blanks, padded, no bits left over). */
int base64_decode(uint8_t *out, size_t *n, const char *text, size_t chars)
    __attribute__((warn_unused_result));
