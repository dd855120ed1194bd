#include "api/client/client_mjpeg.h"

#include "proto/array.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_BYTES 65536

enum state { BETWEEN, MARKER, SCAN }; /* position among pictures, segments, entropy-coded bytes */

struct client_mjpeg {
    int fd;
    bool ended;
    enum state state;
    uint8_t *buf;
    size_t len, cap, max;
    size_t at;   /* first byte that was not read yet */
    size_t used; /* bytes of the last returned picture */
    uint64_t broken;
};

int client_mjpeg_new(struct client_mjpeg **out, int fd, size_t max_bytes, struct err *err)
{
    struct client_mjpeg *m = calloc(1, sizeof *m);

    *out = NULL;
    if (!m)
        return err_set(err, ERR_MEMORY, "no memory for a picture stream");
    m->fd = fd;
    m->max = max_bytes;
    *out = m;
    return 0;
}

void client_mjpeg_free(struct client_mjpeg **p)
{
    if (!*p)
        return;
    free((*p)->buf);
    free(*p);
    *p = NULL;
}

uint64_t client_mjpeg_broken(const struct client_mjpeg *m)
{
    return m->broken;
}

static void picture_drop(struct client_mjpeg *m, size_t n)
{
    memmove(m->buf, m->buf + n, m->len - n);
    m->len -= n;
    m->at = m->at > n ? m->at - n : 0;
}

/* Gives up the picture at byte 0, so that the next start behind it is searched. */
static void picture_give_up(struct client_mjpeg *m)
{
    m->broken++;
    m->state = BETWEEN;
    picture_drop(m, 2);
    m->at = 0;
}

/* Brings the next start of a picture to byte 0. Returns whether there is one. */
static bool find_start(struct client_mjpeg *m)
{
    for (size_t i = 0; i + 1 < m->len; i++)
        if (m->buf[i] == 0xff && m->buf[i + 1] == 0xd8) {
            picture_drop(m, i);
            m->at = 2;
            m->state = MARKER;
            return true;
        }
    if (m->len > 1)
        picture_drop(m, m->buf[m->len - 1] == 0xff ? m->len - 1 : m->len);
    return false;
}

/* Steps over one marker and its segment. Returns 1 if the picture ends at m->at, 0 if more bytes
 * are needed, -1 if the step is done or the picture was given up. */
static int step_marker(struct client_mjpeg *m)
{
    size_t i = m->at, n;
    uint8_t code;

    if (i >= m->len)
        return 0;
    if (m->buf[i] != 0xff) {
        picture_give_up(m);
        return -1;
    }
    while (i < m->len && m->buf[i] == 0xff)
        i++;
    if (i >= m->len)
        return 0;
    code = m->buf[i++];
    if (code == 0xd9) {
        m->at = i;
        return 1;
    }
    if (code == 0x01 || (code >= 0xd0 && code <= 0xd7)) {
        m->at = i;
        return -1;
    }
    if (code == 0x00 || code == 0xd8) {
        picture_give_up(m);
        return -1;
    }
    if (i + 2 > m->len)
        return 0;
    n = (size_t)m->buf[i] << 8 | m->buf[i + 1];
    if (n < 2) {
        picture_give_up(m);
        return -1;
    }
    if (i + n > m->len)
        return 0;
    m->at = i + n;
    m->state = code == 0xda ? SCAN : MARKER;
    return -1;
}

/* Skips entropy-coded bytes up to the next marker that is not a restart. */
static int step_scan(struct client_mjpeg *m)
{
    size_t i = m->at;
    uint8_t code;

    while (i + 1 < m->len) {
        code = m->buf[i + 1];
        if (m->buf[i] != 0xff || code == 0xff) {
            i++;
        } else if (code == 0x00 || (code >= 0xd0 && code <= 0xd7)) {
            i += 2;
        } else {
            m->at = i;
            m->state = MARKER;
            return -1;
        }
    }
    m->at = i;
    return 0;
}

/* Returns whether a whole picture, m->at bytes long, stands at byte 0. */
static bool find_picture(struct client_mjpeg *m)
{
    int step = -1;

    while (step < 0) {
        if (m->state == BETWEEN && !find_start(m))
            return false;
        step = m->state == SCAN ? step_scan(m) : step_marker(m);
        if (step == 0 && m->len >= m->max) {
            picture_give_up(m);
            step = -1;
        }
    }
    if (step > 0 && m->at > m->max) {
        picture_give_up(m);
        return find_picture(m);
    }
    return step > 0;
}

static int read_bytes(struct client_mjpeg *m, int timeout_ms, struct err *err)
{
    struct pollfd p = {.fd = m->fd, .events = POLLIN};
    ssize_t n;

    if (array_grow(&m->buf, &m->cap, m->len + READ_BYTES, 1))
        return err_set(err, ERR_MEMORY, "no memory for a picture stream");
    if (poll(&p, 1, timeout_ms) <= 0)
        return err_set(err, ERR_BUSY, "no picture yet");
    n = read(m->fd, m->buf + m->len, READ_BYTES);
    if (n < 0)
        return errno == EINTR || errno == EAGAIN
                   ? err_set(err, ERR_BUSY, "no picture yet")
                   : err_set(err, ERR_IO, "the picture stream cannot be read: %m");
    m->ended = n == 0;
    m->len += (size_t)n;
    return 0;
}

int client_mjpeg_next(struct client_mjpeg *m, int timeout_ms, const uint8_t **data, size_t *len,
                      struct err *err)
{
    int rc = 0;

    if (m->used) {
        picture_drop(m, m->used);
        m->used = 0;
        m->at = 0;
        m->state = BETWEEN;
    }
    while (!find_picture(m)) {
        if (m->ended && m->state != BETWEEN) {
            picture_give_up(
                m); /* the picture was cut off; a whole one may stand behind a damaged start */
            continue;
        }
        if (m->ended)
            return err_set(err, ERR_END, "the picture stream is over");
        rc = read_bytes(m, timeout_ms, err);
        if (rc)
            return rc;
    }
    m->used = m->at;
    *data = m->buf;
    *len = m->used;
    return 0;
}
