#include "api/server/ws_frame.h"

#include <string.h>

#define FINAL 0x80
#define RESERVED 0x70
#define MASKED 0x80
#define KEY_BYTES 4

/* Bytes of the extended length, by the second byte of a frame. */
static size_t length_bytes(uint8_t second)
{
    uint8_t n = second & 0x7f;

    return n == 126 ? 2 : n == 127 ? 8 : 0;
}

/* Checks the first two bytes. Returns NULL, or the error. */
static const char *head_check(const struct ws_frame_reader *r)
{
    uint8_t first = r->head[0], op = first & 15, length = r->head[1] & 0x7f;

    if (first & RESERVED)
        return "a reserved bit is set";
    if (!(r->head[1] & MASKED))
        return "a frame that is not masked";
    if ((op > WS_FRAME_BINARY && op < WS_FRAME_CLOSE) || op > WS_FRAME_PONG)
        return "an opcode that there is not";
    if (op >= WS_FRAME_CLOSE && !(first & FINAL))
        return "a control frame in fragments";
    if (op >= WS_FRAME_CLOSE && length > WS_FRAME_CONTROL_MAX)
        return "a control frame of more than 125 bytes";
    if (op == WS_FRAME_MORE && !r->in_message)
        return "a fragment of no message";
    if ((op == WS_FRAME_TEXT || op == WS_FRAME_BINARY) && r->in_message)
        return "a message in the middle of another";
    return NULL;
}

/* Checks the whole head. Returns NULL, or the error. */
static const char *head_begin(struct ws_frame_reader *r)
{
    size_t n = length_bytes(r->head[1]);
    uint8_t op = r->head[0] & 15;

    r->left = n ? 0 : r->head[1] & 0x7f;
    for (size_t i = 0; i < n; i++)
        r->left = r->left << 8 | r->head[2 + i];
    if (r->left >> 63 || (n == 2 && r->left < 126) || (n == 8 && r->left < 65536))
        return "a length that is not written as it must be";
    r->in_payload = true;
    r->key_at = 0;
    r->control_len = 0;
    if (op == WS_FRAME_TEXT || op == WS_FRAME_BINARY) {
        r->in_message = true;
        r->begun = false;
        r->binary = op == WS_FRAME_BINARY;
    }
    return NULL;
}

/* Bytes of the whole head, as far as it is known. */
static size_t head_bytes(const struct ws_frame_reader *r)
{
    return r->head_len < 2 ? 2 : 2 + length_bytes(r->head[1]) + KEY_BYTES;
}

/* Takes available bytes of a head. Returns how many were taken. */
static size_t read_head(struct ws_frame_reader *r, struct ws_frame *out, const uint8_t *data,
                        size_t len)
{
    size_t used = 0;

    while (used < len && r->head_len < head_bytes(r)) {
        r->head[r->head_len++] = data[used++];
        if (r->head_len == 2)
            out->why = head_check(r);
        else if (r->head_len == head_bytes(r))
            out->why = head_begin(r);
        if (out->why) {
            out->event = WS_FRAME_BROKEN;
            break;
        }
    }
    return used;
}

static void unmask(struct ws_frame_reader *r, uint8_t *data, size_t len)
{
    const uint8_t *key = r->head + r->head_len - KEY_BYTES;
    uint8_t turned[8];
    uint64_t wide, word;
    size_t i = 0;

    for (unsigned k = 0; k < sizeof turned; k++)
        turned[k] = key[(r->key_at + k) % KEY_BYTES];
    memcpy(&wide, turned, sizeof wide);
    for (; i + sizeof word <= len; i += sizeof word) {
        memcpy(&word, data + i, sizeof word);
        word ^= wide;
        memcpy(data + i, &word, sizeof word);
    }
    for (; i < len; i++)
        data[i] ^= turned[i % sizeof turned];
    r->key_at = (unsigned)((r->key_at + len) % KEY_BYTES);
}

static void tell_control(struct ws_frame_reader *r, struct ws_frame *out, const uint8_t *data,
                         size_t len)
{
    memcpy(r->control + r->control_len, data, len); /* head_begin() has checked that it fits */
    r->control_len += len;
    if (r->left > 0)
        return;
    out->event = WS_FRAME_CONTROL;
    out->op = r->head[0] & 15;
    out->data = r->control;
    out->len = r->control_len;
}

static void tell_part(struct ws_frame_reader *r, struct ws_frame *out, const uint8_t *data,
                      size_t len)
{
    out->event = WS_FRAME_PART;
    out->data = data;
    out->len = len;
    out->remaining = r->left;
    out->first = !r->begun;
    out->final = r->left == 0 && (r->head[0] & FINAL);
    out->binary = r->binary;
    r->begun = true;
    if (out->final)
        r->in_message = false;
}

size_t ws_frame_read(struct ws_frame_reader *r, struct ws_frame *out, uint8_t *data, size_t len)
{
    size_t used = 0, n;

    *out = (struct ws_frame){.event = WS_FRAME_NONE};
    if (!r->in_payload)
        used = read_head(r, out, data, len);
    if (!r->in_payload)
        return used;
    n = len - used < r->left ? len - used : (size_t)r->left;
    if (n == 0 && r->left > 0)
        return used;
    unmask(r, data + used, n);
    r->left -= n;
    if (r->head[0] & 8)
        tell_control(r, out, data + used, n);
    else
        tell_part(r, out, data + used, n);
    if (r->left == 0) {
        r->in_payload = false;
        r->head_len = 0;
    }
    return used + n;
}

size_t ws_frame_head(uint8_t head[WS_FRAME_HEAD_MAX], enum ws_frame_op op, size_t len)
{
    size_t n = len < 126 ? 0 : len < 65536 ? 2 : 8;

    head[0] = (uint8_t)(FINAL | op);
    head[1] = (uint8_t)(n == 0 ? len : n == 2 ? 126 : 127);
    for (size_t i = 0; i < n; i++)
        head[2 + i] = (uint8_t)((uint64_t)len >> 8 * (n - 1 - i));
    return 2 + n;
}
