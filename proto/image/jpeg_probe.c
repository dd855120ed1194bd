/* Walks the markers of a picture and decides, with nothing allocated, whether libjpeg-turbo may see
 * it. */
#include "proto/image/jpeg.h"

#include <string.h>

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
#define APP1 0xe1  /* Exif */
#define APP14 0xee /* Adobe's segment: other colours may follow */
#define APP15 0xef
#define COM 0xfe

#define COMPONENTS 3
#define BLOCK_BYTES 128 /* 64 coefficients of 16 bits */

/*
 * What decoding costs, in tenths of a nanosecond; measured on a 2-core virtual machine with every
 * kind of picture that tests/support/bad_jpeg.h makes, and rounded up by about a third.
 */
#define COST_BYTE 250       /* byte of entropy-coded data, if every bit is a code or a value */
#define COST_BLOCK 250      /* block of a sequential scan */
#define COST_FIRST_BLOCK 60 /* block of a progressive scan that sends a band's upper bits */
#define COST_REFINED 10     /* coefficient that a refining scan reads, coded or not */
#define COST_KEPT 500       /* block whose coefficients are kept: cleared, then read again */
#define COST_IDCT 250       /* block that becomes pixels */
#define COST_SEGMENT 1000

struct walk {
    const uint8_t *data;
    size_t len, at;
    struct jpeg_info *info;
    const struct jpeg_limits *limits;
    int has_frame;
    uint8_t id[COMPONENTS];
    uint64_t blocks[COMPONENTS], all_blocks;
    uint64_t cost; /* see COST_BYTE */
    int odd;       /* not plain */
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

/* Counts the blocks of each component, rounded up to whole units of the interleaved order. */
static void count_blocks(struct walk *w, const uint8_t *c)
{
    struct jpeg_info *info = w->info;
    int h_max = 1, v_max = 1;

    for (int i = 0; i < info->components; i++) {
        int h = c[3 * i + 1] >> 4, v = c[3 * i + 1] & 15;

        h_max = h > h_max ? h : h_max;
        v_max = v > v_max ? v : v_max;
    }
    for (int i = 0; i < info->components; i++) {
        uint64_t across = (uint64_t)((info->width + 8 * h_max - 1) / (8 * h_max));
        uint64_t down = (uint64_t)((info->height + 8 * v_max - 1) / (8 * v_max));

        w->id[i] = c[3 * i];
        w->blocks[i] = across * down * (c[3 * i + 1] >> 4) * (c[3 * i + 1] & 15);
        w->all_blocks += w->blocks[i];
    }
    w->cost += w->all_blocks * COST_IDCT;
}

/* Tells whether there are three components, not marked as red, green and blue, of which the first
 * has 1x1, 2x1 or 2x2 samples and the others have one. */
static int is_usual(const uint8_t *c, int n)
{
    return n == 3 && c[0] != 'R' && (c[1] == 0x11 || c[1] == 0x21 || c[1] == 0x22) &&
           c[4] == 0x11 && c[7] == 0x11;
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
    w->odd |= marker != SOF0 || !is_usual(p + 6, p[5]);
    if (info->width == 0 || info->height == 0)
        return err_set(err, ERR_INPUT, "picture of %d x %d pixels", info->width, info->height);
    if (info->width > w->limits->max_width || info->height > w->limits->max_height)
        return err_set(err, ERR_LIMIT, "picture of %d x %d pixels, at most %d x %d", info->width,
                       info->height, w->limits->max_width, w->limits->max_height);
    w->has_frame = 1;
    for (int i = 0; i < info->components; i++)
        if (check_component(p + 6 + 3 * i, err))
            return ERR_INPUT;
    count_blocks(w, p + 6);
    return 0;
}

/* Returns how many blocks a scan walks; a component that the frame lacks counts as all blocks. */
static uint64_t scan_blocks(const struct walk *w, const uint8_t *p)
{
    uint64_t blocks = 0;

    for (int k = 0; k < p[0]; k++) {
        int i = 0;

        while (i < w->info->components && w->id[i] != p[1 + 2 * k])
            i++;
        blocks += i < w->info->components ? w->blocks[i] : w->all_blocks;
    }
    return blocks;
}

static void add_scan(struct walk *w, const uint8_t *p)
{
    const uint8_t *band = p + 1 + 2 * p[0]; /* first and last coefficient, upper and lower bit */
    uint64_t blocks = scan_blocks(w, p);
    uint64_t span = band[1] >= band[0] ? (uint64_t)(band[1] - band[0]) + 1 : 1;

    if (!w->info->progressive)
        w->cost += blocks * COST_BLOCK;
    else if (band[2] >> 4 == 0)
        w->cost += blocks * COST_FIRST_BLOCK;
    else
        w->cost += blocks * (COST_FIRST_BLOCK + span * COST_REFINED);
}

/* Checks the limit for a picture whose first scan does not hold all of it: it is kept in memory
 * until the last scan. */
static int check_kept(struct walk *w, int components, struct err *err)
{
    struct jpeg_info *info = w->info;

    if (info->scans > 1 || (!info->progressive && components == info->components))
        return 0;
    info->coefficient_bytes = w->all_blocks * BLOCK_BYTES;
    w->cost += w->all_blocks * COST_KEPT;
    if (info->coefficient_bytes > JPEG_COEFFICIENT_BYTES_MAX)
        return err_set(err, ERR_LIMIT,
                       "%d x %d pixels in several scans need %u MB to be put together, at most %u",
                       info->width, info->height, (unsigned)(info->coefficient_bytes >> 20),
                       JPEG_COEFFICIENT_BYTES_MAX >> 20);
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
    add_scan(w, p);
    return check_kept(w, p[0], err);
}

/* Skips entropy-coded bytes up to the next marker that is not a restart. */
static void skip_entropy(struct walk *w)
{
    size_t start = w->at, last = w->len - 1; /* a marker has two bytes */

    while (w->at < last) {
        const uint8_t *p = w->data + w->at;

        if (p[0] != 0xff) {
            p = memchr(p, 0xff, last - w->at);
            w->at = p ? (size_t)(p - w->data) : last;
        } else if (p[1] == 0xff) {
            w->at++;
        } else if (p[1] == 0 || (p[1] >= RST0 && p[1] <= RST7)) {
            w->at += 2;
        } else {
            break;
        }
    }
    if (w->at >= last)
        w->at = w->len;
    w->cost += (w->at - start) * COST_BYTE;
}

static int check_segment(struct walk *w, unsigned marker, const uint8_t *p, size_t n,
                         struct err *err)
{
    if (marker == SOS)
        return check_scan(w, p, n, err);
    w->odd |= marker == APP14;
    if (marker == APP1 && !w->info->turn)
        w->info->turn = jpeg_exif_turn(p, n);
    if (marker == DHT || marker == DQT || marker == DRI || marker == COM ||
        (marker >= APP0 && marker <= APP15))
        return 0;
    if (marker >= SOF0 && marker < SOI && marker != JPG && marker != DAC &&
        (marker < RST0 || marker > RST7))
        return check_frame(w, marker, p, n, err);
    return err_set(err, ERR_INPUT, "marker 0xff%02x at byte %zu has no place in this JPEG", marker,
                   w->at);
}

/* Returns the marker at w->at (fill bytes may stand before it), or 0 with err set. */
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

static int jpeg_probe_walk(struct walk *w, struct err *err)
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
        w->cost += COST_SEGMENT;
        if (marker == SOS)
            skip_entropy(w);
    }
    if (w->info->scans == 0)
        return err_set(err, ERR_INPUT, "the JPEG ends without a picture");
    w->info->cost_ns = w->cost / 10;
    w->info->plain = !w->odd && w->info->scans == 1 && w->info->coefficient_bytes == 0;
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
    return jpeg_probe_walk(&w, err);
}
