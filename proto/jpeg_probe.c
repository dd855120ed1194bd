/* The marker walker: decides by itself, with nothing allocated, what libjpeg-turbo may see. */
#include "proto/jpeg.h"

#define SOF0 0xc0
#define SOF2 0xc2
#define DHT 0xc4
#define JPG 0xc8
#define DAC 0xcc
#define RST0 0xd0
#define RST7 0xd7
#define SOI 0xd8
#define EOI 0xd9
#define SOS 0xda
#define DQT 0xdb
#define DNL 0xdc
#define DRI 0xdd
#define APP0 0xe0
#define APP15 0xef
#define COM 0xfe

struct walk {
    const uint8_t *data;
    size_t len, at;
    struct jpeg_info *info;
    const struct jpeg_limits *limits;
    int has_frame;
};

static unsigned u16(const uint8_t *p)
{
    return (unsigned)p[0] << 8 | p[1];
}

static int check_component(const uint8_t *c, struct err *err)
{
    unsigned h = c[1] >> 4, v = c[1] & 15;

    if (h < 1 || h > 4 || v < 1 || v > 4 || c[2] > 3)
        return err_set(err, ERR_INPUT, "sampling %ux%u with quantisation table %u is not JPEG", h,
                       v, (unsigned)c[2]);
    return 0;
}

static int check_frame(struct walk *w, unsigned marker, const uint8_t *p, size_t n, struct err *err)
{
    struct jpeg_info *info = w->info;

    if (w->has_frame)
        return err_set(err, ERR_INPUT, "second frame header (0xff%02x) at byte %zu", marker, w->at);
    if (marker > SOF2)
        return err_set(err, ERR_INPUT,
                       "frame type 0xff%02x at byte %zu: only baseline, extended and progressive "
                       "Huffman JPEG is read",
                       marker, w->at);
    if (n < 6 || n != 6 + 3u * p[5])
        return err_set(err, ERR_INPUT, "frame header of %zu bytes at byte %zu", n, w->at);
    if (p[0] != 8)
        return err_set(err, ERR_INPUT, "%u bits a sample, must be 8", (unsigned)p[0]);
    if (p[5] != 1 && p[5] != 3)
        return err_set(err, ERR_INPUT, "%u colour components, must be 1 or 3", (unsigned)p[5]);
    info->height = (int)u16(p + 1);
    info->width = (int)u16(p + 3);
    info->components = p[5];
    info->progressive = marker == SOF2;
    if (info->width == 0 || info->height == 0)
        return err_set(err, ERR_INPUT, "picture of %d x %d pixels", info->width, info->height);
    if (info->width > w->limits->max_width || info->height > w->limits->max_height)
        return err_set(err, ERR_LIMIT, "picture of %d x %d pixels, at most %d x %d", info->width,
                       info->height, w->limits->max_width, w->limits->max_height);
    w->has_frame = 1;
    for (int i = 0; i < info->components; i++)
        if (check_component(p + 6 + 3 * i, err))
            return ERR_INPUT;
    return 0;
}

static int check_scan(struct walk *w, const uint8_t *p, size_t n, struct err *err)
{
    if (!w->has_frame)
        return err_set(err, ERR_INPUT, "scan at byte %zu before any frame header", w->at);
    if (n < 4 || p[0] < 1 || p[0] > w->info->components || n != 4 + 2u * p[0])
        return err_set(err, ERR_INPUT, "scan header of %zu bytes at byte %zu", n, w->at);
    if (++w->info->scans > w->limits->max_scans)
        return err_set(err, ERR_LIMIT, "more than %d scans", w->limits->max_scans);
    return 0;
}

/* Over entropy-coded bytes to the next marker that is not a restart. */
static void skip_entropy(struct walk *w)
{
    while (w->at + 1 < w->len) {
        unsigned next = w->data[w->at + 1];

        if (w->data[w->at] == 0xff && next != 0 && next != 0xff && (next < RST0 || next > RST7))
            return;
        w->at++;
    }
    w->at = w->len;
}

static int check_segment(struct walk *w, unsigned marker, const uint8_t *p, size_t n,
                         struct err *err)
{
    if (marker == SOS)
        return check_scan(w, p, n, err);
    if (marker == DHT || marker == DQT || marker == DRI || marker == COM ||
        (marker >= APP0 && marker <= APP15))
        return 0;
    if (marker >= SOF0 && marker < SOI && marker != JPG && marker != DAC &&
        (marker < RST0 || marker > RST7))
        return check_frame(w, marker, p, n, err);
    return err_set(err, ERR_INPUT, "marker 0xff%02x at byte %zu has no place in this JPEG", marker,
                   w->at);
}

/* The marker at w->at (fill bytes before it allowed), or 0 with err set. */
static unsigned next_marker(struct walk *w, struct err *err)
{
    while (w->at + 1 < w->len && w->data[w->at] == 0xff && w->data[w->at + 1] == 0xff)
        w->at++;
    if (w->at + 1 >= w->len) {
        err_set(err, ERR_INPUT, "truncated: no end marker in %zu bytes", w->len);
        return 0;
    }
    if (w->data[w->at] != 0xff || w->data[w->at + 1] == 0) {
        err_set(err, ERR_INPUT, "0x%02x at byte %zu where a marker is due", w->data[w->at], w->at);
        return 0;
    }
    return w->data[w->at + 1];
}

static int walk(struct walk *w, struct err *err)
{
    for (;;) {
        unsigned marker = next_marker(w, err);
        size_t n;
        int rc;

        if (!marker)
            return ERR_INPUT;
        if (marker == EOI)
            break;
        if (w->len - w->at < 4 || u16(w->data + w->at + 2) < 2 ||
            w->len - w->at - 2 < u16(w->data + w->at + 2))
            return err_set(err, ERR_INPUT, "truncated: segment 0xff%02x at byte %zu", marker,
                           w->at);
        n = u16(w->data + w->at + 2) - 2u;
        rc = check_segment(w, marker, w->data + w->at + 4, n, err);
        if (rc)
            return rc;
        w->at += 4 + n;
        if (marker == SOS)
            skip_entropy(w);
    }
    if (w->info->scans == 0)
        return err_set(err, ERR_INPUT, "the JPEG ends without a picture");
    return 0;
}

int jpeg_probe(struct jpeg_info *info, const uint8_t *data, size_t len,
               const struct jpeg_limits *limits, struct err *err)
{
    struct walk w = {.data = data, .len = len, .at = 2, .info = info, .limits = limits};

    *info = (struct jpeg_info){0};
    if (len > limits->max_bytes)
        return err_set(err, ERR_LIMIT, "JPEG of %zu bytes, at most %u", len,
                       (unsigned)limits->max_bytes);
    if (len < 4 || data[0] != 0xff || data[1] != SOI)
        return err_set(err, ERR_INPUT, "not a JPEG: no 0xffd8 at its start");
    return walk(&w, err);
}
