/* Right pictures made wrong; bad_jpeg_bomb.c has those that only cost. */
#include "tests/support/bad_jpeg_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#define SOS 0xda
#define EOI 0xd9

/* ------------------------------------------------------------------------- right pictures */

static void make_base(struct bad_jpeg_base *base, int which, int w, int h)
{
    static const J_COLOR_SPACE spaces[5] = {0, JCS_GRAYSCALE, 0, JCS_RGB, JCS_CMYK};
    int components = which == BASE_GRAY ? 1 : which == BASE_CMYK ? 4 : 3;
    struct jpeg_compress_struct enc = {0};
    struct jpeg_error_mgr errors;
    unsigned char *data = NULL;
    unsigned long n = 0;
    uint8_t *row = malloc((size_t)w * 4);

    enc.err = jpeg_std_error(&errors);
    jpeg_create_compress(&enc);
    jpeg_mem_dest(&enc, &data, &n);
    enc.image_width = (JDIMENSION)w;
    enc.image_height = (JDIMENSION)h;
    enc.input_components = components;
    enc.in_color_space = spaces[components];
    jpeg_set_defaults(&enc);
    jpeg_set_quality(&enc, 90, TRUE);
    enc.arith_code = which == BASE_ARITHMETIC;
    if (which == BASE_444)
        enc.comp_info[0].h_samp_factor = enc.comp_info[0].v_samp_factor = 1;
    if (which == BASE_PROGRESSIVE)
        jpeg_simple_progression(&enc);
    jpeg_start_compress(&enc, TRUE);
    for (int y = 0; y < h; y++) {
        for (int i = 0; row && i < w * components; i++)
            row[i] = (uint8_t)((i * 7 ^ y * 5) + i * y / 64);
        jpeg_write_scanlines(&enc, &row, 1);
    }
    jpeg_finish_compress(&enc);
    jpeg_destroy_compress(&enc);
    free(row);
    base->data = data;
    base->len = n;
}

static void put_base(struct bad_jpeg *b, int which)
{
    b->len = 0;
    bad_jpeg_bytes(b, b->base[which].data, b->base[which].len);
}

/* One of those that a decoder would take. */
static void put_good(struct bad_jpeg *b)
{
    put_base(b, (int)bad_jpeg_below(b, BASE_GRAY + 1));
}

/* Where a segment with this marker begins; the file's end if there is none. */
static size_t find(const struct bad_jpeg *b, unsigned from, unsigned to)
{
    for (size_t at = 2; at + 4 <= b->len;
         at += 2 + ((size_t)b->data[at + 2] << 8 | b->data[at + 3]))
        if (b->data[at] != 0xff || (b->data[at + 1] >= from && b->data[at + 1] <= to))
            return at;
    return b->len;
}

static size_t find_sof(const struct bad_jpeg *b)
{
    return find(b, 0xc0, 0xc2);
}

/* Take n bytes out. */
static void cut_out(struct bad_jpeg *b, size_t at, size_t n)
{
    if (at + n > b->len)
        n = b->len - at;
    memmove(b->data + at, b->data + at + n, b->len - at - n);
    b->len -= n;
}

/* Make room for n bytes and put them in. */
static void put_in(struct bad_jpeg *b, size_t at, const void *data, size_t n)
{
    if (b->len + n > BAD_JPEG_BYTES_MAX)
        return;
    memmove(b->data + at + n, b->data + at, b->len - at);
    memcpy(b->data + at, data, n);
    b->len += n;
}

/* ------------------------------------------------------------------------- made wrong */

static void truncate_anywhere(struct bad_jpeg *b)
{
    put_good(b);
    b->len = bad_jpeg_below(b, (uint32_t)b->len);
    if (bad_jpeg_below(b, 2))
        bad_jpeg_marker(b, EOI);
}

static void truncate_at_marker(struct bad_jpeg *b)
{
    uint32_t n;
    size_t at = 2;

    put_good(b);
    n = bad_jpeg_below(b, 14);
    for (uint32_t i = 0; i < n && at + 4 < b->len && b->data[at] == 0xff; i++)
        at += 2 + ((size_t)b->data[at + 2] << 8 | b->data[at + 3]);
    b->len = at + bad_jpeg_below(b, 5) < b->len ? at + bad_jpeg_below(b, 5) : b->len;
    if (bad_jpeg_below(b, 2))
        bad_jpeg_marker(b, EOI);
}

static void flip_header(struct bad_jpeg *b)
{
    uint32_t n = 1 + bad_jpeg_below(b, 4);
    size_t sos;

    put_good(b);
    sos = find(b, SOS, SOS);
    while (n-- > 0)
        b->data[2 + bad_jpeg_below(b, (uint32_t)sos + 10)] ^= (uint8_t)(1 << bad_jpeg_below(b, 8));
}

static void flip_data(struct bad_jpeg *b)
{
    uint32_t n = 1 + bad_jpeg_below(b, 40);
    size_t sos;

    put_good(b);
    sos = find(b, SOS, SOS);
    while (n-- > 0)
        b->data[sos + bad_jpeg_below(b, (uint32_t)(b->len - sos))] ^=
            (uint8_t)(1 << bad_jpeg_below(b, 8));
}

static void overwrite(struct bad_jpeg *b)
{
    size_t at, n;

    put_good(b);
    at = bad_jpeg_below(b, (uint32_t)b->len);
    n = bad_jpeg_below(b, 2000);
    for (; n > 0 && at < b->len; n--, at++)
        b->data[at] = (uint8_t)bad_jpeg_below(b, 256);
}

static void take_out_or_repeat(struct bad_jpeg *b)
{
    uint8_t piece[3000];
    size_t at, n;

    put_good(b);
    at = bad_jpeg_below(b, (uint32_t)b->len);
    n = bad_jpeg_below(b, sizeof piece);
    n = at + n > b->len ? b->len - at : n;
    memcpy(piece, b->data + at, n);
    if (bad_jpeg_below(b, 2))
        cut_out(b, at, n);
    else
        put_in(b, at, piece, n);
}

static void lie_about_size(struct bad_jpeg *b)
{
    const int sides[] = {0,        1,        b->w - 1, b->w + 1, 2 * b->w, b->h - 1,
                         b->h + 8, 2 * b->h, 4096,     8192,     65535};
    size_t sof;

    put_good(b);
    sof = find_sof(b);
    for (int i = 0; i < 2; i++) {
        int side = sides[bad_jpeg_below(b, 11)];

        if (bad_jpeg_below(b, 3)) {
            b->data[sof + 5 + 2 * i] = (uint8_t)(side >> 8);
            b->data[sof + 6 + 2 * i] = (uint8_t)side;
        }
    }
}

static void lie_about_components(struct bad_jpeg *b)
{
    size_t sof;

    put_good(b);
    sof = find_sof(b);
    b->data[sof + 9] = (uint8_t)bad_jpeg_below(b, bad_jpeg_below(b, 2) ? 6 : 256);
    if (bad_jpeg_below(b, 2)) { /* and lengthen the header with them */
        b->data[sof + 3] = (uint8_t)(8 + 3 * b->data[sof + 9]);
        for (int i = 0; i < b->data[sof + 9] && sof + 12 + 3 * (size_t)i < b->len; i++)
            b->data[sof + 10 + 3 * i] = (uint8_t)(i + 1);
    }
}

static void any_sampling(struct bad_jpeg *b)
{
    size_t sof;

    put_good(b);
    sof = find_sof(b);
    for (int i = 0; i < b->data[sof + 9]; i++) {
        unsigned top = bad_jpeg_below(b, 2) ? 15 : 4; /* the second kind is allowed, if odd */

        b->data[sof + 11 + 3 * i] =
            (uint8_t)((1 + bad_jpeg_below(b, top)) << 4 | (1 + bad_jpeg_below(b, top)));
    }
}

static void any_precision(struct bad_jpeg *b)
{
    put_good(b);
    b->data[find_sof(b) + 4] = (uint8_t)bad_jpeg_below(b, 18);
}

static void any_frame_type(struct bad_jpeg *b)
{
    put_base(b, (int)bad_jpeg_below(b, BAD_JPEG_BASES));
    b->data[find(b, 0xc0, 0xcf) + 1] = (uint8_t)(0xc0 + bad_jpeg_below(b, 16));
}

static void other_colours(struct bad_jpeg *b)
{
    uint8_t adobe[12] = "Adobe\0d\0\0\0\0";
    uint8_t segment[16] = {0xff, 0xee, 0, 14};

    put_base(b, (int)bad_jpeg_below(b, BAD_JPEG_BASES));
    adobe[11] = (uint8_t)bad_jpeg_below(b, 5); /* the transform */
    memcpy(segment + 4, adobe, 12);
    put_in(b, 2, segment, sizeof segment);
}

static void restarts(struct bad_jpeg *b)
{
    uint8_t dri[6] = {0xff, 0xdd, 0, 4};
    uint32_t n = bad_jpeg_below(b, 20);
    size_t sos;

    put_good(b);
    dri[4] = (uint8_t)(bad_jpeg_below(b, 2) ? 0 : bad_jpeg_below(b, 256));
    dri[5] = (uint8_t)bad_jpeg_below(b, 256);
    put_in(b, 2, dri, bad_jpeg_below(b, 8) ? sizeof dri : 5);
    sos = find(b, SOS, SOS) + 14;
    while (n-- > 0 && sos < b->len) {
        uint8_t rst[2] = {0xff, (uint8_t)(0xd0 + bad_jpeg_below(b, 8))};

        put_in(b, sos + bad_jpeg_below(b, (uint32_t)(b->len - sos)), rst, sizeof rst);
    }
}

static void number_of_lines(struct bad_jpeg *b)
{
    uint8_t dnl[6] = {0xff, 0xdc, 0, 4, (uint8_t)(b->h >> 8), (uint8_t)b->h};

    put_good(b);
    if (bad_jpeg_below(b, 2))
        memset(b->data + find_sof(b) + 5, 0, 2);
    if (bad_jpeg_below(b, 2))
        dnl[4] = 0xff;
    put_in(b, bad_jpeg_below(b, 2) ? b->len - 2 : 2, dnl, sizeof dnl);
}

static void table_away(struct bad_jpeg *b)
{
    unsigned marker = bad_jpeg_below(b, 2) ? 0xc4 : 0xdb;
    uint32_t n = 1 + bad_jpeg_below(b, 3);

    put_good(b);
    while (n-- > 0) {
        size_t at = find(b, marker, marker);

        if (at + 4 < b->len && b->data[at] == 0xff)
            cut_out(b, at, 2 + ((size_t)b->data[at + 2] << 8 | b->data[at + 3]));
    }
}

/* Huffman tables with any counts and values, quantisation by 0, by 65,535, of ids that are none. */
static void any_table(struct bad_jpeg *b)
{
    uint8_t body[300], segment[304];
    uint32_t n = bad_jpeg_below(b, sizeof body);
    unsigned marker = bad_jpeg_below(b, 2) ? 0xc4 : 0xdb;

    put_good(b);
    if (marker == 0xdb && bad_jpeg_below(b, 2))
        n = bad_jpeg_below(b, 2) ? 65 : 129; /* of 8 and of 16 bits */
    for (uint32_t i = 0; i < n; i++)
        body[i] = (uint8_t)bad_jpeg_below(b, bad_jpeg_below(b, 2) ? 256 : 4);
    if (n > 0 && bad_jpeg_below(b, 4))
        body[0] = (uint8_t)(0x10 * bad_jpeg_below(b, 2) + bad_jpeg_below(b, 2));
    if (n == 65 || n == 129)
        body[0] = (uint8_t)(0x10 * (n == 129) + bad_jpeg_below(b, 2));
    if (marker == 0xc4 && bad_jpeg_below(b, 2)) { /* of the length that its counts add up to */
        n = 17;
        for (int i = 1; i <= 16; i++)
            n += body[i] = (uint8_t)bad_jpeg_below(b, i < 8 ? 2 : 8);
        for (uint32_t i = 17; i < n; i++)
            body[i] = (uint8_t)bad_jpeg_below(b, 256);
    }
    segment[0] = 0xff;
    segment[1] = (uint8_t)marker;
    segment[2] = (uint8_t)((n + 2) >> 8);
    segment[3] = (uint8_t)(n + 2);
    memcpy(segment + 4, body, n);
    put_in(b, find(b, SOS, SOS), segment, n + 4);
}

static void garbage_between(struct bad_jpeg *b)
{
    uint8_t garbage[200];
    uint32_t n = 1 + bad_jpeg_below(b, sizeof garbage), hops = bad_jpeg_below(b, 8);
    size_t at = 2;

    put_good(b);
    for (uint32_t i = 0; i < n; i++)
        garbage[i] = (uint8_t)bad_jpeg_below(b, 256);
    for (uint32_t i = 0; i < hops && at + 4 < b->len && b->data[at] == 0xff; i++)
        at += 2 + ((size_t)b->data[at + 2] << 8 | b->data[at + 3]);
    put_in(b, at < b->len ? at : 2, garbage, n);
}

static void trailing(struct bad_jpeg *b)
{
    uint32_t what = bad_jpeg_below(b, 3), n = bad_jpeg_below(b, 1u << 20);

    put_good(b);
    if (what == 0)
        bad_jpeg_fill(b, 0, n);
    else if (what == 1)
        bad_jpeg_noise(b, n / 8);
    else
        bad_jpeg_bytes(b, b->base[BASE_GRAY].data, b->base[BASE_GRAY].len);
}

static void scan_header(struct bad_jpeg *b)
{
    size_t sos;

    put_good(b);
    sos = find(b, SOS, SOS);
    for (uint32_t n = 1 + bad_jpeg_below(b, 3); n > 0; n--)
        b->data[sos + 4 + bad_jpeg_below(b, 10)] =
            (uint8_t)bad_jpeg_below(b, bad_jpeg_below(b, 2) ? 5 : 256);
}

static void frame_twice(struct bad_jpeg *b)
{
    uint8_t sof[19] = {0xff, 0xd8};
    size_t at;

    put_good(b);
    at = find_sof(b);
    if (bad_jpeg_below(b, 4)) {
        memcpy(sof, b->data + at, sizeof sof);
        put_in(b, bad_jpeg_below(b, 2) ? at : b->len - 2, sof, sizeof sof);
    } else {
        put_in(b, at, sof, 2); /* a second start */
    }
}

static void segment_length(struct bad_jpeg *b)
{
    uint32_t hops = bad_jpeg_below(b, 10);
    size_t at = 2;

    put_good(b);
    for (uint32_t i = 0; i < hops && at + 4 < b->len && b->data[at] == 0xff; i++)
        at += 2 + ((size_t)b->data[at + 2] << 8 | b->data[at + 3]);
    if (at + 4 < b->len) {
        b->data[at + 2] = (uint8_t)(bad_jpeg_below(b, 2) ? 0 : bad_jpeg_below(b, 256));
        b->data[at + 3] = (uint8_t)bad_jpeg_below(b, bad_jpeg_below(b, 2) ? 3 : 256);
    }
}

/* Progressive scans in any order, of any band, with any bits: some make sense for a while. */
static void any_progression(struct bad_jpeg *b)
{
    int components = bad_jpeg_below(b, 2) ? 3 : 1;
    uint32_t sane = bad_jpeg_below(b, 3); /* 0: data of chance behind each scan */

    bad_jpeg_marker(b, 0xd8);
    for (int i = 0; i < 2; i++)
        bad_jpeg_dqt(b, i);
    bad_jpeg_sof(b, 0xc2, b->w, b->h, components, 0x11);
    for (unsigned t = 0; t < 2; t++) {
        bad_jpeg_dht(b, t, sane ? 0 : bad_jpeg_below(b, 12));
        bad_jpeg_dht(b, 0x10 | t, sane ? 0xe0 : bad_jpeg_below(b, 256));
    }
    for (int i = 0; i < components; i++) { /* a bit a block */
        bad_jpeg_sos(b, i, 1, 0, 0, 0, bad_jpeg_below(b, 2));
        bad_jpeg_fill(b, 0, (size_t)((b->w + 7) / 8) * (size_t)((b->h + 7) / 8) / 8);
    }
    for (uint32_t n = bad_jpeg_below(b, 20); n > 0; n--) {
        unsigned from = bad_jpeg_below(b, 8) ? 1 : bad_jpeg_below(b, 64);
        unsigned to = from + bad_jpeg_below(b, 64 - from), low = bad_jpeg_below(b, 3);
        unsigned high = bad_jpeg_below(b, 4) ? 0 : bad_jpeg_below(b, 8) ? low + 1 : 14;

        bad_jpeg_sos(b, (int)bad_jpeg_below(b, (uint32_t)components), 1, from, to, high,
                     sane == 1 ? 0 : low);
        if (sane)
            bad_jpeg_fill(b, 0, 2); /* one end-of-band run for all */
        else
            bad_jpeg_noise(b, bad_jpeg_below(b, 3000));
    }
    bad_jpeg_marker(b, EOI);
}

/* What fits of everything: headers in order, data of chance. */
static void noise_in_order(struct bad_jpeg *b)
{
    size_t sos;

    put_good(b);
    sos = find(b, SOS, SOS);
    b->len = sos + 14 < b->len ? sos + 14 : b->len;
    bad_jpeg_noise(b, bad_jpeg_below(b, 200000));
    bad_jpeg_marker(b, EOI);
}

static void noise(struct bad_jpeg *b)
{
    bad_jpeg_marker(b, 0xd8);
    for (uint32_t n = bad_jpeg_below(b, 100000); n > 0; n--)
        bad_jpeg_u8(b, bad_jpeg_below(b, 256));
}

static void right(struct bad_jpeg *b)
{
    put_good(b);
}

static const struct bad_jpeg_row rows[] = {
    {"truncated anywhere", truncate_anywhere},
    {"truncated at a marker", truncate_at_marker},
    {"bits of the header flipped", flip_header},
    {"bits of the data flipped", flip_data},
    {"overwritten", overwrite},
    {"a piece out or twice", take_out_or_repeat},
    {"a lie about the size", lie_about_size},
    {"a lie about the components", lie_about_components},
    {"any sampling", any_sampling},
    {"any precision", any_precision},
    {"any frame type", any_frame_type},
    {"other colours", other_colours},
    {"restarts", restarts},
    {"number of lines", number_of_lines},
    {"a table away", table_away},
    {"any table", any_table},
    {"garbage between markers", garbage_between},
    {"bytes behind the end", trailing},
    {"scan header", scan_header},
    {"frame header twice", frame_twice},
    {"segment length", segment_length},
    {"any progression", any_progression},
    {"data of chance", noise_in_order},
    {"noise", noise},
    {"right", right},
};
#define N_ROWS ((uint32_t)(sizeof rows / sizeof *rows))

/* ------------------------------------------------------------------------- the generator */

static const struct bad_jpeg_row *row_of(uint32_t number)
{
    uint32_t kind = number % bad_jpeg_kinds();

    return kind < N_ROWS ? &rows[kind] : &bad_jpeg_bombs[kind - N_ROWS];
}

uint32_t bad_jpeg_kinds(void)
{
    return N_ROWS + bad_jpeg_n_bombs;
}

const char *bad_jpeg_kind(uint32_t number)
{
    return row_of(number)->name;
}

struct bad_jpeg *bad_jpeg_new(int w, int h)
{
    struct bad_jpeg *b = calloc(1, sizeof *b);

    if (!b || !(b->data = malloc(BAD_JPEG_BYTES_MAX))) {
        free(b);
        return NULL;
    }
    b->w = w;
    b->h = h;
    for (int i = 0; i < BAD_JPEG_BASES; i++)
        make_base(&b->base[i], i, w, h);
    return b;
}

void bad_jpeg_free(struct bad_jpeg **b)
{
    if (!*b)
        return;
    for (int i = 0; i < BAD_JPEG_BASES; i++)
        free((*b)->base[i].data);
    free((*b)->data);
    free(*b);
    *b = NULL;
}

const uint8_t *bad_jpeg_make(struct bad_jpeg *b, uint32_t number, size_t *len)
{
    b->len = 0;
    b->random = (uint64_t)number << 32;
    row_of(number)->write(b);
    *len = b->len;
    return b->data;
}
