/*
 * JPEG of strangers: each way to be wrong is refused with the right class, in bounded time and
 * memory. The pictures are written by libjpeg-turbo itself, so that progressive, arithmetic and
 * CMYK ones are real.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <jpeglib.h>

#include "proto/image/jpeg.h"
#include "tests/support/jpeg_write.h"
#include "tests/support/unit.h"

#define W 90
#define H 50

static const struct jpeg_limits limits = {4096, 4096, 16, 8u << 20, 1000};

struct kind {
    int components, progressive, arithmetic, restart;
};

/* A smooth picture with an edge, as libjpeg-turbo writes it; free() it. */
static uint8_t *make(struct kind kind, int w, int h, size_t *len)
{
    static const J_COLOR_SPACE spaces[5] = {0, JCS_GRAYSCALE, 0, JCS_RGB, JCS_CMYK};
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
    enc.input_components = kind.components;
    enc.in_color_space = spaces[kind.components];
    jpeg_set_defaults(&enc);
    jpeg_set_quality(&enc, 90, TRUE);
    enc.arith_code = kind.arithmetic;
    enc.restart_interval = (unsigned)kind.restart;
    if (kind.progressive)
        jpeg_simple_progression(&enc);
    jpeg_start_compress(&enc, TRUE);
    for (int y = 0; y < h; y++) {
        for (int x = 0; x < w; x++)
            for (int k = 0; k < kind.components; k++)
                row[x * kind.components + k] = (uint8_t)(k == 0      ? 255 * x / w
                                                         : k == 1    ? 255 * y / h
                                                         : x > w / 2 ? 200
                                                                     : 20);
        jpeg_write_scanlines(&enc, &row, 1);
    }
    jpeg_finish_compress(&enc);
    jpeg_destroy_compress(&enc);
    free(row);
    *len = n;
    return data;
}

static uint8_t *baseline(size_t *len)
{
    return make((struct kind){.components = 3}, W, H, len);
}

static struct jpeg_decoder *decoder(void)
{
    struct jpeg_decoder *d;

    assert_int_equal(jpeg_decoder_new(&d, NULL), 0);
    return d;
}

/* Decode to the picture's full size W x H; the file lies on the heap exactly as long as it is. */
static int decode(const uint8_t *data, size_t len, const struct jpeg_limits *l, struct err *err)
{
    struct jpeg_decoder *d = decoder();
    uint8_t *exact = malloc(len ? len : 1), *rgb = malloc((size_t)W * H * 3);
    int rc;

    memcpy(exact, data, len);
    rc = jpeg_decode(d, rgb, W, H, exact, len, l, err);
    free(exact);
    free(rgb);
    jpeg_decoder_free(&d);
    return rc;
}

static size_t find_marker(const uint8_t *data, size_t len, uint8_t marker)
{
    for (size_t i = 2; i + 1 < len; i++)
        if (data[i] == 0xff && data[i + 1] == marker)
            return i;
    fail_msg("no marker 0xff%02x in the sample", marker);
    return 0;
}

/* ------------------------------------------------------------------------- right ones */

TEST(colours_come_out)
{
    static const struct kind kinds[] = {{.components = 3},
                                        {.components = 3, .progressive = 1},
                                        {.components = 3, .restart = 2},
                                        {.components = 1},
                                        {.components = 1, .progressive = 1}};
    struct jpeg_decoder *d = decoder();

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        uint8_t rgb[W * H * 3];
        struct jpeg_info info;
        size_t len;
        uint8_t *data = make(kinds[i], W, H, &len);
        const uint8_t *p = rgb + 3 * (40 * W + 80);

        assert_int_equal(jpeg_probe(&info, data, len, &limits, NULL), 0);
        assert_int_equal(info.width, W);
        assert_int_equal(info.height, H);
        assert_int_equal(info.components, kinds[i].components);
        assert_int_equal(info.progressive, kinds[i].progressive);
        assert_true(kinds[i].progressive ? info.scans > 3 : info.scans == 1);
        assert_int_equal(info.plain, !kinds[i].progressive && kinds[i].components == 3);
        assert_int_equal(jpeg_decode(d, rgb, W, H, data, len, &limits, NULL), 0);
        assert_in_range(p[0], 226 - 8, 226 + 8); /* 255 * 80 / 90 */
        if (kinds[i].components == 1) {
            assert_int_equal(p[0], p[1]);
            assert_int_equal(p[0], p[2]);
        } else {
            assert_in_range(p[1], 204 - 8, 204 + 8);
            assert_in_range(p[2], 200 - 8, 200 + 8);
        }
        free(data);
    }
    jpeg_decoder_free(&d);
    assert_null(d);
}

/* One byte of the frame header or one segment, and not every decoder reads it alike any more. */
TEST(only_what_cameras_make_is_plain)
{
    /* bytes behind the frame's 0xff, what stands there, plain */
    static const uint8_t cases[][3] = {{1, 0xc0, 1},  {1, 0xc1, 0},  {10, 'R', 0},
                                       {11, 0x11, 1}, {11, 0x21, 1}, {11, 0x12, 0},
                                       {11, 0x41, 0}, {14, 0x21, 0}, {17, 0x12, 0}};
    struct jpeg_info info;
    size_t len;
    uint8_t *data = baseline(&len), *sof = data + find_marker(data, len, 0xc0);

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t was = sof[cases[i][0]];
        sof[cases[i][0]] = cases[i][1];
        assert_int_equal(jpeg_probe(&info, data, len, &limits, NULL), 0);
        assert_int_equal(info.plain, cases[i][2]);
        sof[cases[i][0]] = was;
    }
    data[find_marker(data, len, 0xe0) + 1] = 0xee; /* as if Adobe's */
    assert_int_equal(jpeg_probe(&info, data, len, &limits, NULL), 0);
    assert_false(info.plain);
    free(data);
}

TEST(scaled_sizes_cover)
{
    struct jpeg_info info = {.width = 1280, .height = 720, .components = 3};
    int w, h;

    jpeg_scaled_size(&info, 416, 128, &w, &h);
    assert_int_equal(w, 640); /* 1/2: 3/8 would do, but takes longer */
    assert_int_equal(h, 360);
    jpeg_scaled_size(&info, 160, 90, &w, &h);
    assert_int_equal(w, 160);
    jpeg_scaled_size(&info, 161, 1, &w, &h);
    assert_int_equal(w, 320);
    jpeg_scaled_size(&info, 5000, 5000, &w, &h);
    assert_int_equal(w, 1280);
    assert_int_equal(h, 720);
    info.width = 1242, info.height = 375;
    jpeg_scaled_size(&info, 416, 128, &w, &h);
    assert_int_equal(w, 621);
    assert_int_equal(h, 188); /* 187.5, rounded up */
}

/* Every size that jpeg_scaled_size() can answer decodes, and looks like the picture made
 * smaller. */
TEST(every_scale_decodes)
{
    static const int sides[][2] = {{W, H}, {1, 1}, {7, 200}, {17, 9}, {640, 480}};
    struct jpeg_decoder *d = decoder();

    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
        struct jpeg_info info;
        size_t len;
        uint8_t *data = make((struct kind){.components = 3}, sides[i][0], sides[i][1], &len);

        assert_int_equal(jpeg_probe(&info, data, len, &limits, NULL), 0);
        for (int k = 1; k <= 8; k++) {
            int w, h;
            uint8_t *rgb;

            jpeg_scaled_size(&info, (info.width * k + 7) / 8, (info.height * k + 7) / 8, &w, &h);
            rgb = malloc((size_t)w * (size_t)h * 3);
            assert_int_equal(jpeg_decode(d, rgb, w, h, data, len, &limits, NULL), 0);
            if (info.width == 640) {
                const uint8_t *p = rgb + 3 * ((size_t)(h / 4) * (size_t)w + (size_t)(w / 4));

                assert_in_range(p[0], 64 - 8, 64 + 8);
                assert_in_range(p[1], 64 - 8, 64 + 8);
                assert_in_range(p[2], 20 - 8, 20 + 12);
            }
            free(rgb);
        }
        assert_int_equal(
            jpeg_decode(d, NULL, info.width + 1, info.height, data, len, &limits, NULL), ERR_INPUT);
        free(data);
    }
    jpeg_decoder_free(&d);
}

TEST(noise_keeps_its_colours)
{
    struct jpeg_decoder *d = decoder();
    uint8_t *rgb = malloc(600 * 400 * 3), *back = malloc(600 * 400 * 3), *data;
    double error = 0;
    size_t len;

    for (int i = 0; i < 600 * 400; i++) {
        rgb[3 * i] = (uint8_t)(i % 600 / 3);
        rgb[3 * i + 1] = (uint8_t)(i / 600 / 2);
        rgb[3 * i + 2] = (uint8_t)((i * 2654435761u) >> 24);
    }
    assert_int_equal(jpeg_encode(&data, &len, rgb, 0, 4, 90, NULL), ERR_INPUT);
    assert_int_equal(jpeg_encode(&data, &len, rgb, 4, 65501, 90, NULL), ERR_INPUT);
    assert_int_equal(jpeg_encode(&data, &len, rgb, 4, 4, 101, NULL), ERR_INPUT);
    assert_null(data);
    assert_int_equal(jpeg_encode(&data, &len, rgb, 600, 400, 95, NULL), 0);
    for (int round = 0; round < 2; round++)
        assert_int_equal(jpeg_decode(d, back, 600, 400, data, len, &limits, NULL), 0);
    for (int i = 0; i < 600 * 400; i++)
        error += abs(rgb[3 * i + 1] - back[3 * i + 1]);
    assert_true(error / (600 * 400) < 12);
    free(data);
    free(rgb);
    free(back);
    jpeg_decoder_free(&d);
}

TEST(bytes_after_the_end_are_not_read)
{
    size_t len;
    uint8_t *data = baseline(&len), *longer = calloc(1, len + 100);

    memcpy(longer, data, len);
    longer[len] = 0xff; /* what some phones append: another picture's start */
    longer[len + 1] = 0xd8;
    assert_int_equal(decode(longer, len + 100, &limits, NULL), 0);
    free(data);
    free(longer);
}

/* ------------------------------------------------------------------------- wrong ones */

TEST(every_truncation_is_refused)
{
    struct kind kinds[2] = {{.components = 3}, {.components = 3, .progressive = 1}};

    for (int k = 0; k < 2; k++) {
        size_t len;
        uint8_t *data = make(kinds[k], W, H, &len);

        for (size_t cut = 0; cut < len; cut++)
            assert_int_equal(decode(data, cut, &limits, NULL), ERR_INPUT);
        assert_int_equal(decode(data, len, &limits, NULL), 0);
        free(data);
    }
}

/* Cut in the middle and closed with an end marker: whole to the walker, damaged to the decoder. */
TEST(lost_rows_are_refused)
{
    struct jpeg_info info;
    size_t len;
    uint8_t *data = baseline(&len);

    len = find_marker(data, len, 0xda) + 200;
    data[len - 2] = 0xff;
    data[len - 1] = 0xd9;
    assert_int_equal(jpeg_probe(&info, data, len, &limits, NULL), 0);
    assert_int_equal(decode(data, len, &limits, NULL), ERR_INPUT);
    free(data);
}

TEST(every_flipped_bit_is_survived)
{
    struct jpeg_decoder *d = decoder();
    uint8_t rgb[W * H * 3], first[W * H * 3];
    size_t len;
    uint8_t *data = baseline(&len);
    int refused = 0;

    assert_int_equal(jpeg_decode(d, first, W, H, data, len, &limits, NULL), 0);
    for (size_t bit = 0; bit < 8 * len; bit++) {
        data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        refused += jpeg_decode(d, rgb, W, H, data, len, &limits, NULL) != 0;
        data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_true(refused > 1000);
    assert_int_equal(jpeg_decode(d, rgb, W, H, data, len, &limits, NULL), 0);
    assert_memory_equal(rgb, first, sizeof rgb); /* no damage outlives its picture */
    free(data);
    jpeg_decoder_free(&d);
}

TEST(garbage_is_refused)
{
    uint8_t noise[5000];
    uint32_t seed = 7;

    for (int round = 0; round < 200; round++) {
        for (size_t i = 0; i < sizeof noise; i++) {
            seed = seed * 1664525u + 1013904223u;
            noise[i] = (uint8_t)(seed >> 24);
        }
        if (round % 2)
            memcpy(noise, "\xff\xd8\xff", 3);
        assert_int_equal(decode(noise, sizeof noise, &limits, NULL), ERR_INPUT);
    }
    assert_int_equal(decode((const uint8_t *)"\x89PNG\r\n\x1a\n", 8, &limits, NULL), ERR_INPUT);
}

TEST(lying_size_is_refused)
{
    struct err err = {0};
    size_t len, sof;
    uint8_t *data = baseline(&len);

    sof = find_marker(data, len, 0xc0);
    memset(data + sof + 5, 0xff, 4); /* 65535 x 65535: 12 GB of pixels */
    assert_int_equal(decode(data, len, &limits, &err), ERR_LIMIT);
    assert_non_null(strstr(err.text, "65535 x 65535"));
    memset(data + sof + 5, 0, 2); /* height 0: to be told later */
    assert_int_equal(decode(data, len, &limits, &err), ERR_INPUT);
    data[sof + 5] = 0, data[sof + 6] = 2 * H; /* twice as high as its data */
    data[sof + 7] = 0, data[sof + 8] = W;
    assert_int_equal(decode(data, len, &limits, &err), ERR_INPUT);
    free(data);
}

TEST(oversized_file_is_refused)
{
    struct jpeg_limits small = limits;
    size_t len;
    uint8_t *data = baseline(&len);

    small.max_bytes = (uint32_t)len;
    assert_int_equal(decode(data, len, &small, NULL), 0);
    small.max_bytes--;
    assert_int_equal(decode(data, len, &small, NULL), ERR_LIMIT);
    small.max_bytes++;
    small.max_width = W - 1;
    assert_int_equal(decode(data, len, &small, NULL), ERR_LIMIT);
    small.max_width = W;
    small.max_height = H - 1;
    assert_int_equal(decode(data, len, &small, NULL), ERR_LIMIT);
    free(data);
}

static void refuse_with(const uint8_t *data, size_t len, int code, const char *says)
{
    struct err err = {0};
    struct jpeg_info info;

    assert_int_equal(jpeg_probe(&info, data, len, &limits, &err), code);
    if (!strstr(err.text, says))
        fail_msg("\"%s\" does not say \"%s\"", err.text, says);
    assert_int_equal(decode(data, len, &limits, NULL), code);
}

TEST(twelve_bits_are_refused)
{
    size_t len;
    uint8_t *data = baseline(&len);

    data[find_marker(data, len, 0xc0) + 4] = 12;
    data[find_marker(data, len, 0xc0) + 1] = 0xc1; /* extended, as a 12-bit one is */
    refuse_with(data, len, ERR_INPUT, "12 bits");
    free(data);
}

TEST(cmyk_is_refused)
{
    size_t len;
    uint8_t *data = make((struct kind){.components = 4}, W, H, &len);

    refuse_with(data, len, ERR_INPUT, "4 colour components");
    free(data);
}

TEST(arithmetic_coding_is_refused)
{
    size_t len;
    uint8_t *data = make((struct kind){.components = 3, .arithmetic = 1}, W, H, &len);

    refuse_with(data, len, ERR_INPUT, "0xffc9");
    free(data);
    data = baseline(&len);
    data[find_marker(data, len, 0xc0) + 1] = 0xc9;
    refuse_with(data, len, ERR_INPUT, "0xffc9");
    data[find_marker(data, len, 0xc9) + 1] = 0xcc; /* arithmetic conditioning */
    refuse_with(data, len, ERR_INPUT, "0xffcc");
    data[find_marker(data, len, 0xcc) + 1] = 0xc3; /* lossless */
    refuse_with(data, len, ERR_INPUT, "0xffc3");
    free(data);
}

TEST(second_frame_header_is_refused)
{
    size_t len, sof;
    uint8_t *data = baseline(&len), *two = malloc(2 * len);

    sof = find_marker(data, len, 0xc0);
    memcpy(two, data, sof + 19);
    memcpy(two + sof + 19, data + sof, len - sof);
    refuse_with(two, len + 19, ERR_INPUT, "second frame header");
    free(data);
    free(two);
}

TEST(scan_before_frame_is_refused)
{
    const uint8_t data[] = {0xff, 0xd8, 0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0, 1, 2, 0xff, 0xd9};
    const uint8_t empty[] = {0xff, 0xd8, 0xff, 0xd9};

    refuse_with(data, sizeof data, ERR_INPUT, "before any frame header");
    refuse_with(empty, sizeof empty, ERR_INPUT, "without a picture");
}

/*
 * A progressive grey file of side x side pixels: a scan of one bit a block, then scans in which a
 * code of 15 bits stands for 16,384 empty blocks (EOBRUN): next to nothing to read, everything to
 * walk.
 */
static uint8_t *scan_bomb(int side, int scans, size_t *len)
{
    static const uint8_t tables[] = {
        0xff, 0xd8, 0xff, 0xc4, 0,    20, 0x10, /* AC: the one code 0, value 0xe0 = EOBRUN 14 */
        1,    0,    0,    0,    0,    0,  0,    0, 0, 0, 0, 0, 0, 0, 0, 0, 0xe0, /**/
        0xff, 0xc4, 0,    20,   0x00, /* DC: the one code 0, value 0 = no difference */
        1,    0,    0,    0,    0,    0,  0,    0, 0, 0, 0, 0, 0, 0, 0, 0, 0x00};
    static const uint8_t dc[] = {0xff, 0xda, 0, 8, 1, 1, 0, 0, 0, 0};
    static const uint8_t ac[] = {0xff, 0xda, 0, 8, 1, 1, 0, 1, 63, 0};
    const uint8_t sof[] = {
        0xff,          0xc2, 0, 11,   8, (uint8_t)(side >> 8), (uint8_t)side, (uint8_t)(side >> 8),
        (uint8_t)side, 1,    1, 0x11, 0};
    size_t blocks = (size_t)((side + 7) / 8) * (size_t)((side + 7) / 8);
    size_t dc_bytes = (blocks + 7) / 8, ac_bytes = ((blocks + 16383) / 16384 * 15 + 7) / 8;
    size_t at = sizeof tables;
    uint8_t *data = calloc(1, 256 + dc_bytes + (size_t)scans * (ac_bytes + sizeof ac));

    memcpy(data, tables, sizeof tables);
    memcpy(data + at, "\xff\xdb\0\x43\0", 5);
    memset(data + at + 5, 1, 64);
    at += 69;
    memcpy(data + at, sof, sizeof sof);
    at += sizeof sof;
    memcpy(data + at, dc, sizeof dc);
    at += sizeof dc + dc_bytes;
    for (int i = 1; i < scans; i++, at += sizeof ac + ac_bytes)
        memcpy(data + at, ac, sizeof ac);
    memcpy(data + at, "\xff\xd9", 2);
    *len = at + 2;
    return data;
}

TEST(too_many_scans_are_refused)
{
    size_t len;
    uint8_t *data = scan_bomb(W, limits.max_scans + 1, &len);

    refuse_with(data, len, ERR_LIMIT, "scans");
    free(data);
}

/* Within the limits of scans and sides, yet long to walk: the deadline ends it. */
TEST(eobrun_bomb_is_bounded)
{
    struct jpeg_limits tight = limits;
    struct jpeg_decoder *d = decoder();
    uint8_t *rgb = malloc(512 * 512 * 3);
    struct rusage usage;
    size_t len;
    uint8_t *data = scan_bomb(4096, limits.max_scans, &len);

    assert_true(len < 35000); /* 16 million pixels, sixteen times over */
    tight.deadline_ms = 1;
    assert_int_equal(jpeg_decode(d, rgb, 512, 512, data, len, &tight, NULL), ERR_LIMIT);
    tight.deadline_ms = 60000; /* nothing else is wrong with it */
    assert_int_equal(jpeg_decode(d, rgb, 512, 512, data, len, &tight, NULL), 0);
    assert_int_equal(rgb[0], 128);
    getrusage(RUSAGE_SELF, &usage);
    assert_true(usage.ru_maxrss < 600 * 1024); /* kB */
    free(data);
    free(rgb);
    jpeg_decoder_free(&d);
}

/* A right picture with no time at all, large enough that the clock is asked. */
TEST(deadline_holds)
{
    struct jpeg_limits none = limits;
    struct jpeg_decoder *d = decoder();
    uint8_t *rgb = malloc(2048 * 2048 * 3);
    struct err err = {0};
    size_t len;
    uint8_t *data = make((struct kind){.components = 3, .progressive = 1}, 2048, 2048, &len);

    none.deadline_ms = 0;
    assert_int_equal(jpeg_decode(d, rgb, 2048, 2048, data, len, &none, &err), ERR_LIMIT);
    assert_non_null(strstr(err.text, "longer than allowed"));
    none.deadline_ms = 60000;
    assert_int_equal(jpeg_decode(d, rgb, 2048, 2048, data, len, &none, NULL), 0);
    free(data);
    free(rgb);
    jpeg_decoder_free(&d);
}
