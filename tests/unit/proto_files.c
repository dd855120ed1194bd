/* PNG files: written and read back, and those of strangers refused. */
#include <png.h>

#include "proto/image/png.h"
#include "tests/support/file_case.h"
#include "tests/support/unit.h"

static char other[160];

/* A PNG as libpng writes it, from rows of bytes. */
static void make_png(int w, int h, int bits, int type, const uint8_t *data, size_t stride)
{
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    FILE *f = fopen(file_case_path, "wb");

    png_init_io(png, f);
    png_set_IHDR(png, info, (png_uint_32)w, (png_uint_32)h, bits, type, PNG_INTERLACE_ADAM7,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    for (int pass = png_set_interlace_handling(png); pass > 0; pass--)
        for (int y = 0; y < h; y++)
            png_write_row(png, data + (size_t)y * stride);
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    fclose(f);
}

FILE_TEST(png_round_trip)
{
    uint8_t rgb[7 * 5 * 3], *back;
    uint16_t *gray;
    int w, h;

    for (size_t i = 0; i < sizeof rgb; i++)
        rgb[i] = (uint8_t)(i * 37);
    assert_int_equal(png_write_file(file_case_path, rgb, 7, 5, NULL), 0);
    assert_int_equal(file_case_count(), 1);
    assert_int_equal(png_read_rgb(file_case_path, &back, &w, &h, 7, NULL), 0);
    assert_int_equal(w, 7);
    assert_int_equal(h, 5);
    assert_memory_equal(back, rgb, sizeof rgb);
    free(back);
    assert_int_equal(png_write_file(file_case_path, rgb, 0, 5, NULL), ERR_INPUT);
    snprintf(other, sizeof other, "%s/none/x.png", file_case_folder);
    assert_int_equal(png_write_file(other, rgb, 7, 5, NULL), ERR_IO);
    assert_int_equal(png_read_gray16(other, &gray, &w, &h, 7, NULL), ERR_NOT_FOUND);
    assert_int_equal(png_read_rgb(other, &back, &w, &h, 7, NULL), ERR_NOT_FOUND);
    assert_null(back);
    assert_null(gray);
}

FILE_TEST(png_depth_keeps_its_values)
{
    const uint8_t deep[2][4] = {{0x12, 0x34, 0xff, 0xff}, {0, 0, 0x01, 0x00}}; /* big-endian */
    const uint8_t flat[2][2] = {{7, 255}, {0, 128}};
    uint16_t *gray;
    uint8_t *rgb;
    int w, h;

    make_png(2, 2, 16, PNG_COLOR_TYPE_GRAY, deep[0], 4);
    assert_int_equal(png_read_gray16(file_case_path, &gray, &w, &h, 100, NULL), 0);
    assert_int_equal(gray[0], 0x1234);
    assert_int_equal(gray[1], 0xffff);
    assert_int_equal(gray[2], 0);
    assert_int_equal(gray[3], 0x100);
    free(gray);
    assert_int_equal(png_read_rgb(file_case_path, &rgb, &w, &h, 100, NULL), 0);
    assert_memory_equal(rgb, "\x12\x12\x12\xff\xff\xff", 6);
    free(rgb);
    make_png(2, 2, 8, PNG_COLOR_TYPE_GRAY, flat[0], 2);
    assert_int_equal(png_read_gray16(file_case_path, &gray, &w, &h, 100, NULL), 0);
    assert_int_equal(gray[0], 7);
    assert_int_equal(gray[1], 255);
    assert_int_equal(gray[3], 128);
    free(gray);
    make_png(1, 2, 8, PNG_COLOR_TYPE_RGB_ALPHA, flat[0], 0);
    assert_int_equal(png_read_gray16(file_case_path, &gray, &w, &h, 100, NULL), ERR_UNSUPPORTED);
    assert_null(gray);
}

static void write_gray(const uint16_t *gray, int w, int h)
{
    uint8_t *png;
    size_t len;

    assert_int_equal(png_encode_gray16(&png, &len, gray, w, h, NULL), 0);
    file_case_write(png, len);
    free(png);
}

FILE_TEST(png_size_is_bounded)
{
    uint16_t gray[40] = {0}, *back;
    uint8_t data[400], *rgb;
    struct err err = {0};
    int w, h;

    write_gray(gray, 40, 1);
    assert_int_equal(png_read_gray16(file_case_path, &back, &w, &h, 39, &err), ERR_LIMIT);
    assert_int_equal(png_read_gray16(file_case_path, &back, &w, &h, 40, &err), 0);
    free(back);
    assert_int_equal(png_read_rgb(file_case_path, &rgb, &w, &h, 39, &err), ERR_LIMIT);
    assert_null(rgb);
    assert_true(file_case_read(data, sizeof data) > 33);
    memcpy(data + 16, "\x7f\xff\xff\xff\x7f\xff\xff\xff", 8); /* 2^31 x 2^31, check sum wrong too */
    file_case_write(data, 100);
    assert_int_not_equal(png_read_gray16(file_case_path, &back, &w, &h, 4096, &err), 0);
    assert_null(back);
}

FILE_TEST(png_damage_is_survived)
{
    uint16_t gray[20 * 20], *back;
    uint8_t data[4096], *rgb;
    int w, h, refused = 0;
    size_t len;

    for (size_t i = 0; i < 20 * 20; i++)
        gray[i] = (uint16_t)(i * i);
    write_gray(gray, 20, 20);
    len = file_case_read(data, sizeof data);
    file_case_in_memory();
    for (size_t cut = 0; cut < len; cut++) {
        file_case_write(data, cut);
        assert_int_not_equal(png_read_gray16(file_case_path, &back, &w, &h, 64, NULL), 0);
        assert_null(back);
        assert_true(png_read_rgb(file_case_path, &rgb, &w, &h, 64, NULL) || cut > 33);
        free(rgb);
    }
    for (size_t bit = 0; bit < 8 * len; bit++) {
        data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        file_case_write(data, len);
        refused += png_read_gray16(file_case_path, &back, &w, &h, 64, NULL) != 0;
        free(back);
        if (png_read_rgb(file_case_path, &rgb, &w, &h, 64, NULL))
            assert_null(rgb);
        free(rgb);
        data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_true(refused > 7 * (int)len); /* check sums see nearly all */
}

/* Of a size and depth that is known; anything else is an error, and nothing is written beyond. */
TEST(png_in_memory)
{
    static uint16_t gray[40 * 30], back[40 * 30 + 1];
    uint8_t *png, *cut;
    size_t len;

    for (int i = 0; i < 40 * 30; i++)
        gray[i] = (uint16_t)(i * 54321);
    assert_int_equal(png_encode_gray16(&png, &len, gray, 40, 30, NULL), 0);
    back[40 * 30] = 4711;
    assert_int_equal(png_decode_gray(back, png, len, 16, 40, 30, NULL), 0);
    assert_memory_equal(back, gray, sizeof(gray));
    assert_int_equal(png_decode_gray(back, png, len, 8, 40, 30, NULL), ERR_INPUT);
    assert_int_equal(png_decode_gray(back, png, len, 16, 41, 30, NULL), ERR_INPUT);
    assert_int_equal(png_decode_gray(back, png, len, 16, 40, 29, NULL), ERR_INPUT);
    assert_int_equal(png_decode_gray(back, png, 0, 16, 40, 30, NULL), ERR_INPUT);
    for (size_t n = 1; n < len; n += len / 17) {
        cut = malloc(n); /* of this length, so that no byte behind it is read */
        assert_non_null(cut);
        memcpy(cut, png, n);
        assert_int_equal(png_decode_gray(back, cut, n, 16, 40, 30, NULL), ERR_INPUT);
        free(cut);
    }
    png[len / 2] ^= 0x10;
    assert_int_equal(png_decode_gray(back, png, len, 16, 40, 30, NULL), ERR_INPUT);
    assert_int_equal(back[40 * 30], 4711);
    free(png);
}
