/*
 * Files that are in order, or nearly so, and cost as much as their bytes can: each asks for a
 * picture that is larger, walked more often or coded more densely than any camera's.
 */
#include "tests/support/bad_jpeg_internal.h"

#include <string.h>

#define SOF_BASELINE 0xc0
#define SOF_PROGRESSIVE 0xc2
#define EOI 0xd9
#define CODE_EOBRUN14 0xe0 /* then 14 bits: the run beyond 16,384 blocks */

/* The session's own size, or what the default limits just allow, or a long strip. */
static void choose_size(struct bad_jpeg *b, int *w, int *h)
{
    static const int sides[][2] = {{4096, 4096}, {4096, 4096}, {2048, 2048}, {4096, 8},
                                   {8, 4096},    {1, 4096},    {1920, 1080}, {4095, 3071}};
    uint32_t pick = bad_jpeg_below(b, 12);

    *w = pick < 8 ? sides[pick][0] : b->w;
    *h = pick < 8 ? sides[pick][1] : b->h;
}

static size_t blocks_of(int w, int h)
{
    return (size_t)((w + 7) / 8) * (size_t)((h + 7) / 8);
}

/* Enough zero bytes, and none to spare: a decoder complains of what is left over. */
static void zero_bits(struct bad_jpeg *b, size_t bits)
{
    bad_jpeg_fill(b, 0, (bits + 7) / 8);
}

/* As many end-of-band runs as the blocks need. */
static void runs(struct bad_jpeg *b, size_t blocks, size_t bits_a_block)
{
    zero_bits(b, (blocks + 16383) / 16384 * 15 + blocks * bits_a_block);
}

/* Up to what the daemon allows as it is shipped; sometimes more. */
static uint32_t choose_scans(struct bad_jpeg *b)
{
    return 1 + bad_jpeg_below(b, bad_jpeg_below(b, 8) ? 19 : 200);
}

static void start(struct bad_jpeg *b, unsigned marker, int w, int h, int components,
                  unsigned sampling)
{
    bad_jpeg_marker(b, 0xd8);
    for (int i = 0; i < 2; i++)
        bad_jpeg_dqt(b, i);
    bad_jpeg_sof(b, marker, w, h, components, sampling);
}

/* All four tables: a difference of nothing, an end of block. */
static void empty_tables(struct bad_jpeg *b)
{
    for (unsigned t = 0; t < 2; t++) {
        bad_jpeg_dht(b, t, 0);
        bad_jpeg_dht(b, 0x10 | t, 0);
    }
}

/* One or three components; zero bytes are then a picture of one colour. */
static void flat(struct bad_jpeg *b)
{
    int w, h, components = bad_jpeg_below(b, 2) ? 3 : 1;
    unsigned sampling = components == 3 && bad_jpeg_below(b, 2) ? 0x22 : 0x11;

    choose_size(b, &w, &h);
    start(b, SOF_BASELINE, w, h, components, sampling);
    empty_tables(b);
    bad_jpeg_sos(b, 0, components, 0, 63, 0, 0);
    zero_bits(b, sampling == 0x22 ? blocks_of((w + 1) / 2, (h + 1) / 2) * 12
                                  : blocks_of(w, h) * 2 * (size_t)components);
    bad_jpeg_marker(b, EOI);
}

/* Baseline, but each component in scans of its own, again and again: the whole picture's
 * coefficients are kept, and each scan walks them. */
static void scans_of_one(struct bad_jpeg *b)
{
    int w, h, n = (int)choose_scans(b);

    choose_size(b, &w, &h);
    start(b, SOF_BASELINE, w, h, 3, 0x11);
    empty_tables(b);
    for (int i = 0; i < n; i++) {
        bad_jpeg_sos(b, i % 3, 1, 0, 63, 0, 0);
        zero_bits(b, 2 * blocks_of(w, h));
    }
    bad_jpeg_marker(b, EOI);
}

/* Every coefficient of every block is coded, with two bits. */
static void dense(struct bad_jpeg *b)
{
    int w, h, components = bad_jpeg_below(b, 2) ? 3 : 1;

    choose_size(b, &w, &h);
    if (bad_jpeg_below(b, 2)) /* about the largest file */
        w = h = components == 3 ? 1664 : 2888;
    start(b, SOF_BASELINE, w, h, components, 0x11);
    for (unsigned t = 0; t < 2; t++) {
        bad_jpeg_dht(b, t, 1);
        bad_jpeg_dht(b, 0x10 | t, 1);
    }
    bad_jpeg_sos(b, 0, components, 0, 63, 0, 0);
    bad_jpeg_fill(b, 0x55, blocks_of(w, h) * (size_t)components * 16);
    bad_jpeg_marker(b, EOI);
}

/* 16,384 empty blocks a code: next to nothing to read, all of the picture to walk. */
static void eobrun(struct bad_jpeg *b)
{
    int w, h, n = (int)choose_scans(b), components = bad_jpeg_below(b, 2) ? 3 : 1;

    choose_size(b, &w, &h);
    start(b, SOF_PROGRESSIVE, w, h, components, 0x11);
    for (unsigned t = 0; t < 2; t++) {
        bad_jpeg_dht(b, t, 0);
        bad_jpeg_dht(b, 0x10 | t, CODE_EOBRUN14);
    }
    bad_jpeg_sos(b, 0, components, 0, 0, 0, 0);
    zero_bits(b, blocks_of(w, h) * (size_t)components);
    for (int i = 0; i < n; i++) {
        bad_jpeg_sos(b, i % components, 1, 1, 63, 0, 0);
        runs(b, blocks_of(w, h), 0);
    }
    bad_jpeg_marker(b, EOI);
}

/* The same, refining: now each of a block's 63 coefficients is looked at, thirteen times over. */
static void refine_nothing(struct bad_jpeg *b)
{
    int w, h, components = bad_jpeg_below(b, 2) ? 3 : 1;
    unsigned top = bad_jpeg_below(b, components == 3 ? 6 : 14);

    choose_size(b, &w, &h);
    start(b, SOF_PROGRESSIVE, w, h, components, 0x11);
    for (unsigned t = 0; t < 2; t++) {
        bad_jpeg_dht(b, t, 0);
        bad_jpeg_dht(b, 0x10 | t, CODE_EOBRUN14);
    }
    bad_jpeg_sos(b, 0, components, 0, 0, 0, 0);
    zero_bits(b, blocks_of(w, h) * (size_t)components);
    for (int c = 0; c < components; c++)
        for (unsigned low = top, high = 0; low <= top; high = low--) {
            bad_jpeg_sos(b, c, 1, 1, 63, high, low);
            runs(b, blocks_of(w, h), 0);
        }
    bad_jpeg_marker(b, EOI);
}

/* Every coefficient is there, and every scan sends a bit for each: no byte is worth more. */
static void refine_all(struct bad_jpeg *b)
{
    int w = b->w, h = b->h;
    size_t blocks;

    if (bad_jpeg_below(b, 2))
        w = 1400, h = 800; /* 17,500 blocks of 120 bytes: about the largest file */
    blocks = blocks_of(w, h);
    start(b, SOF_PROGRESSIVE, w, h, 1, 0x11);
    bad_jpeg_dht(b, 0, 0);
    bad_jpeg_dht(b, 0x10, 1);
    bad_jpeg_sos(b, 0, 1, 0, 0, 0, 0);
    zero_bits(b, blocks);
    bad_jpeg_sos(b, 0, 1, 1, 63, 0, 13);
    zero_bits(b, blocks * 126);
    bad_jpeg_dht(b, 0x10, CODE_EOBRUN14);
    for (unsigned low = 12; low < 13; low--) {
        bad_jpeg_sos(b, 0, 1, 1, 63, low + 1, low);
        runs(b, blocks, 63);
    }
    bad_jpeg_marker(b, EOI);
}

/* Scans of one coefficient each: a scan's own cost, as often as it can be had. */
static void scans_of_one_coefficient(struct bad_jpeg *b)
{
    int w, h, n = (int)choose_scans(b);

    choose_size(b, &w, &h);
    start(b, SOF_PROGRESSIVE, w, h, 1, 0x11);
    bad_jpeg_dht(b, 0, 0);
    bad_jpeg_dht(b, 0x10, CODE_EOBRUN14);
    bad_jpeg_sos(b, 0, 1, 0, 0, 0, 0);
    zero_bits(b, blocks_of(w, h));
    for (int i = 0; i < n; i++) {
        unsigned at = 1 + (unsigned)i % 63;

        bad_jpeg_sos(b, 0, 1, at, at, 0, 0);
        runs(b, blocks_of(w, h), 0);
    }
    bad_jpeg_marker(b, EOI);
}

/* Sides up to 65,535, or of nothing at all. */
static void giant(struct bad_jpeg *b)
{
    static const int sides[] = {0, 1, 4097, 16384, 32767, 65500, 65535};
    int w = sides[bad_jpeg_below(b, 7)], h = sides[bad_jpeg_below(b, 7)];
    unsigned marker = bad_jpeg_below(b, 2) ? SOF_BASELINE : SOF_PROGRESSIVE;

    start(b, marker, w, h, bad_jpeg_below(b, 2) ? 3 : 1, 0x44);
    empty_tables(b);
    bad_jpeg_sos(b, 0, 1, 0, marker == SOF_PROGRESSIVE ? 0 : 63, 0, 0);
    bad_jpeg_fill(b, 0, bad_jpeg_below(b, 4000));
    bad_jpeg_marker(b, EOI);
}

/* As many small segments as a file holds: comments, tables, restart intervals. */
static void segments(struct bad_jpeg *b)
{
    unsigned what = bad_jpeg_below(b, 4);
    size_t room = 1024 + bad_jpeg_below(b, BAD_JPEG_BYTES_MAX - 150000);

    bad_jpeg_marker(b, 0xd8);
    while (b->len < room) {
        if (what == 0)
            bad_jpeg_segment(b, 0xfe, "", 0);
        else if (what == 1)
            bad_jpeg_dht(b, 0x10 * bad_jpeg_below(b, 2) + bad_jpeg_below(b, 4), 0);
        else if (what == 2)
            bad_jpeg_dqt(b, (int)bad_jpeg_below(b, 4));
        else
            bad_jpeg_segment(b, 0xdd, "\0\1", 2);
    }
    bad_jpeg_bytes(b, b->base[BASE_420].data + 2, b->base[BASE_420].len - 2);
}

/* EXIF and ICC profiles of 64 kB each, in front of a right picture. */
static void profiles(struct bad_jpeg *b)
{
    static uint8_t body[65533];
    uint32_t n = 1 + bad_jpeg_below(b, 28);

    bad_jpeg_marker(b, 0xd8);
    for (uint32_t i = 0; i < n; i++) {
        memset(body, (int)bad_jpeg_below(b, 256), sizeof body);
        if (i % 2)
            memcpy(body, "ICC_PROFILE\0\1\377", 14);
        else
            memcpy(body, "Exif\0\0MM\0*\0\0\0\10\377\377", 16);
        bad_jpeg_segment(b, i % 2 ? 0xe2 : 0xe1, body, sizeof body);
    }
    bad_jpeg_bytes(b, b->base[BASE_420].data + 2, b->base[BASE_420].len - 2);
}

/* 0xff upon 0xff where a marker is due, or a restart behind every block. */
static void fillers(struct bad_jpeg *b)
{
    size_t n = bad_jpeg_below(b, BAD_JPEG_BYTES_MAX - 150000);
    int w, h;

    if (bad_jpeg_below(b, 2)) {
        bad_jpeg_marker(b, 0xd8);
        bad_jpeg_fill(b, 0xff, n);
        bad_jpeg_bytes(b, b->base[BASE_420].data + 2, b->base[BASE_420].len - 2);
        return;
    }
    choose_size(b, &w, &h);
    start(b, SOF_BASELINE, w, h, 1, 0x11);
    empty_tables(b);
    bad_jpeg_segment(b, 0xdd, "\0\1", 2);
    bad_jpeg_sos(b, 0, 1, 0, 63, 0, 0);
    bad_jpeg_u8(b, 0);
    for (size_t i = 0; i + 1 < blocks_of(w, h); i++) {
        bad_jpeg_marker(b, 0xd0 + (unsigned)i % 8);
        bad_jpeg_u8(b, 0);
    }
    bad_jpeg_marker(b, EOI);
}

const struct bad_jpeg_row bad_jpeg_bombs[] = {
    {"flat", flat},
    {"scans of one component", scans_of_one},
    {"dense", dense},
    {"end-of-band runs", eobrun},
    {"refinement of nothing", refine_nothing},
    {"refinement of everything", refine_all},
    {"scans of one coefficient", scans_of_one_coefficient},
    {"giant sides", giant},
    {"small segments without end", segments},
    {"profiles", profiles},
    {"fillers", fillers},
};
const uint32_t bad_jpeg_n_bombs = sizeof bad_jpeg_bombs / sizeof *bad_jpeg_bombs;
