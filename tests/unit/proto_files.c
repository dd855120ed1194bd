/* PLY and PNG files: written and read back, and those of strangers refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <png.h>

#include "proto/ply.h"
#include "proto/png.h"
#include "tests/support/cloud.h"

#define STEP 0.001f

static char folder[128], path[160], other[160];

static void write_bytes(const void *data, size_t n)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    fclose(f);
}

static size_t read_bytes(uint8_t *data, size_t cap)
{
    FILE *f = fopen(path, "rb");
    size_t n;

    assert_non_null(f);
    n = fread(data, 1, cap, f);
    fclose(f);
    return n;
}

/* Thousands of damaged files go to memory: `path` names it until the next test. */
static void write_to_memory(void)
{
    static int fd = -1;

    if (fd < 0)
        fd = memfd_create("damaged", MFD_CLOEXEC);
    assert_true(fd >= 0);
    unlink(path);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
}

static int files_in_folder(void)
{
    DIR *d = opendir(folder);
    int n = 0;

    for (struct dirent *e = readdir(d); e; e = readdir(d))
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

/* ------------------------------------------------------------------------- PLY */

static void ply_bytes_by_hand(void **state)
{
    const uint64_t keys[1] = {(uint64_t)cloud_morton(500, 0, 1023) << 32 | 0x14283c02};
    struct cloud_block b = {.name = {0, -1, 0, 2}, .keys = keys, .n = 1};
    uint8_t out[PLY_POINT_BYTES];
    float xyz[3];

    (void)state;
    ply_points(out, &b, 0, 1, STEP);
    memcpy(xyz, out, sizeof xyz);
    assert_true(fabsf(xyz[0] - -0.524f) < 1e-7f); /* -1024 + 500 */
    assert_true(xyz[1] == 0);
    assert_true(fabsf(xyz[2] - 3.071f) < 1e-6f); /* 2048 + 1023 */
    assert_memory_equal(out + 12, "\x14\x28\x3c\x02", 4);
}

static void ply_round_trip(void **state)
{
    struct cloud *c = cloud();
    struct ply_cloud p;
    size_t i = 0;

    (void)state;
    for (uint32_t s = 0; s < SLOTS; s++)
        put(c, s, (int32_t)(s * 37 % 5000) - 2500, (int32_t)s - 1500, (int32_t)(s % 7), (uint8_t)s);
    commit(c);
    assert_int_equal(ply_write_file(path, c, STEP, NULL), 0);
    assert_int_equal(files_in_folder(), 1); /* nothing beside it is left */
    assert_int_equal(ply_read_file(path, &p, NULL), 0);
    assert_int_equal(p.n, SLOTS);
    assert_true(p.has_hash);
    assert_int_equal(p.hash, cloud_hash(c));
    for (uint32_t k = 0; k < cloud_blocks(c); k++) {
        struct cloud_block b = cloud_block(c, k);

        for (uint32_t j = 0; j < b.n; j++, i++) {
            int32_t q[3];

            cloud_key_position(b.name, b.keys[j], q);
            for (int a = 0; a < 3; a++) {
                assert_int_equal(lroundf(p.xyz[3 * i + (size_t)a] / STEP), q[a]);
                assert_int_equal(p.rgb[3 * i + (size_t)a], b.keys[j] >> (24 - 8 * a) & 0xff);
            }
        }
    }
    assert_int_equal(i, SLOTS);
    ply_cloud_free(&p);
    cloud_free(&c);
}

static void ply_is_replaced_or_left(void **state)
{
    struct cloud *c = cloud();
    struct ply_cloud p;

    (void)state;
    assert_int_equal(ply_write_file(path, c, STEP, NULL), 0); /* an empty cloud is a file too */
    assert_int_equal(ply_read_file(path, &p, NULL), 0);
    assert_int_equal(p.n, 0);
    ply_cloud_free(&p);
    put(c, 0, 1, 2, 3, 4);
    commit(c);
    assert_int_equal(ply_write_file(path, c, STEP, NULL), 0);
    assert_int_equal(ply_read_file(path, &p, NULL), 0);
    assert_int_equal(p.n, 1);
    ply_cloud_free(&p);
    snprintf(other, sizeof other, "%s/none/x.ply", folder);
    assert_int_equal(ply_write_file(other, c, STEP, NULL), ERR_IO);
    assert_int_equal(ply_write_file(folder, c, STEP, NULL), ERR_IO); /* a folder stays one */
    assert_int_equal(files_in_folder(), 1);
    assert_int_equal(ply_read_file(other, &p, NULL), ERR_NOT_FOUND);
    cloud_free(&c);
}

#define VERTEX(n) "ply\nformat binary_little_endian 1.0\nelement vertex " n "\n"
#define XYZ "property float x\nproperty float y\nproperty float z\n"
#define RGB "property uchar red\nproperty uchar green\nproperty uchar blue\n"
#define END "end_header\n"

static int read_ply(const char *header, size_t body)
{
    size_t n = strlen(header);
    uint8_t *data = calloc(1, n + body + 1);
    struct ply_cloud p;
    int rc;

    memcpy(data, header, n);
    write_bytes(data, n + body);
    free(data);
    rc = ply_read_file(path, &p, NULL);
    assert_true(rc == 0 || (!p.xyz && !p.rgb && p.n == 0));
    ply_cloud_free(&p);
    return rc;
}

static void ply_of_others(void **state)
{
    const char *shuffled =
        "ply\r\nformat binary_little_endian 1.0\r\ncomment made elsewhere\r\n"
        "element vertex 1\r\nproperty uint8 blue\r\nproperty double quality\r\n"
        "property float32 z\r\nproperty float32 x\r\nproperty uint8 red\r\n"
        "property float32 y\r\nproperty uint8 green\r\n"
        "element face 3\r\nproperty list uchar int vertex_indices\r\nend_header\r\n";
    uint8_t data[600] = {0};
    size_t n = strlen(shuffled);
    const float x = 1, y = 2, z = 3;
    struct ply_cloud p;

    (void)state;
    memcpy(data, shuffled, n);
    data[n] = 30;
    memcpy(data + n + 9, &z, 4);
    memcpy(data + n + 13, &x, 4);
    data[n + 17] = 10;
    memcpy(data + n + 18, &y, 4);
    data[n + 22] = 20;
    write_bytes(data, n + 23);
    assert_int_equal(ply_read_file(path, &p, NULL), 0);
    assert_int_equal(p.n, 1);
    assert_true(p.xyz[0] == 1 && p.xyz[1] == 2 && p.xyz[2] == 3);
    assert_memory_equal(p.rgb, "\x0a\x14\x1e", 3);
    assert_false(p.has_hash);
    ply_cloud_free(&p);
}

/* The same two points in all three formats, with normals, lists and elements of no interest before,
 * between and behind: the body is built by hand, value by value. */
static size_t pack(uint8_t *out, double v, char type, int big)
{
    uint8_t bytes[8];
    size_t n;

    if (type == 'b') {
        bytes[0] = (uint8_t)v;
        n = 1;
    } else if (type == 'h') {
        uint16_t half = (uint16_t)v;

        memcpy(bytes, &half, n = sizeof half);
    } else if (type == 'i') {
        int32_t whole = (int32_t)v;

        memcpy(bytes, &whole, n = sizeof whole);
    } else if (type == 'f') {
        float f = (float)v;

        memcpy(bytes, &f, n = sizeof f);
    } else {
        memcpy(bytes, &v, n = sizeof v);
    }
    for (size_t i = 0; i < n; i++)
        out[i] = bytes[big ? n - 1 - i : i];
    return n;
}

static void ply_of_three_formats(void **state)
{
    static const char *const formats[] = {"ascii", "binary_little_endian", "binary_big_endian"};
    static const char header[] =
        "element face 2\nproperty list uchar int vertex_indices\n"
        "element camera 1\nproperty double f\nelement nothing 5\n"
        "element vertex 2\nproperty float nx\nproperty double z\nproperty list ushort float seen\n"
        "property ushort green\nproperty float red\nproperty int x\nproperty uchar blue\n"
        "property float y\nelement edge 7\nproperty int a\nend_header\n";
    static const char types[] = "b"
                                "iii"
                                "b"
                                "d"
                                "fd"
                                "hff"
                                "hfi"
                                "bf"
                                "fd"
                                "h"
                                "hfibf";
    static const double values[] = {3, 0,  1, 70000, 0,   520.5, 0.25, -1.5, 2,   9,  9,   65535,
                                    1, -3, 7, 0.5,   0.5, 2.5,   0,    257,  0.5, 40, 255, 1e-3};
    uint8_t data[2048];
    struct ply_cloud p;

    (void)state;
    for (int k = 0; k < 3; k++) {
        size_t n = (size_t)sprintf((char *)data, "ply\nformat %s 1.0\ncomment %0600d\n%s",
                                   formats[k], 1, header);

        for (size_t i = 0; i < sizeof values / sizeof *values; i++)
            n += k ? pack(data + n, values[i], types[i], k == 2)
                   : (size_t)sprintf((char *)data + n, i % 5 ? "%.9g " : "%.9g\r\n", values[i]);
        write_bytes(data, n - (k == 0)); /* a text may end without a line's end */
        assert_int_equal(ply_read_file(path, &p, NULL), 0);
        assert_true(p.n == 2 && p.has_colour);
        assert_true(p.xyz[0] == -3 && p.xyz[1] == 0.5f && p.xyz[2] == -1.5f);
        assert_true(p.xyz[3] == 40 && p.xyz[4] == 1e-3f && p.xyz[5] == 2.5f);
        assert_memory_equal(p.rgb, "\xff\xff\x07\x80\x01\xff", 6);
        ply_cloud_free(&p);
        write_bytes(data, n - 1 - (k == 0) * 5); /* the last value is missing */
        assert_int_equal(ply_read_file(path, &p, NULL), ERR_INPUT);
    }
}

static void ply_without_colours(void **state)
{
    struct ply_cloud p;

    (void)state;
    write_bytes("ply\nformat ascii 1.0\nelement vertex 1\nproperty uchar red\n" XYZ END "9 1 2 3",
                strlen("ply\nformat ascii 1.0\nelement vertex 1\nproperty uchar red\n" XYZ END) +
                    7);
    assert_int_equal(ply_read_file(path, &p, NULL), 0);
    assert_true(p.n == 1 && !p.has_colour && p.rgb[1] == 160 && p.xyz[2] == 3);
    ply_cloud_free(&p);
    assert_int_equal(read_ply(VERTEX("2") XYZ END, 24), 0);
    assert_int_equal(read_ply(VERTEX("2") XYZ END, 23), ERR_INPUT);
    assert_int_equal(read_ply(VERTEX("0") XYZ END, 0), 0);
}

static int read_ascii(const char *header, const char *body)
{
    char text[1000];

    snprintf(text, sizeof text, "ply\nformat ascii 1.0\n%s%s%s", header, END, body);
    return read_ply(text, 0);
}

static void ply_texts_are_numbers(void **state)
{
    struct ply_cloud p;

    (void)state;
    assert_int_equal(read_ascii("element vertex 1\n" XYZ RGB, "1 2 3 4 5 6"), 0);
    assert_int_equal(read_ascii("element vertex 1\n" XYZ RGB, "nan inf -1e999 4 5 6"), 0);
    assert_int_equal(read_ascii("element vertex 1\n" XYZ RGB, "1 2 3 4 5 256"), ERR_INPUT);
    assert_int_equal(read_ascii("element vertex 1\n" XYZ RGB, "1 2 3 4 5 -1"), ERR_INPUT);
    assert_int_equal(read_ascii("element vertex 1\n" XYZ RGB, "1 2 3 4 5 0.5"), ERR_INPUT);
    assert_int_equal(read_ascii("element vertex 1\n" XYZ RGB, "1 2 3 4 5 nan"), ERR_INPUT);
    assert_int_equal(read_ascii("element vertex 1\n" XYZ, "1 2 3x"), ERR_INPUT);
    assert_int_equal(read_ascii("element vertex 1\n" XYZ, "1 2 three"), ERR_INPUT);
    assert_int_equal(read_ascii("element vertex 1\n" XYZ, "1 2     "), ERR_INPUT);
    assert_int_equal(
        read_ascii("element vertex 1\n" XYZ,
                   "1 2 0000000000000000000000000000000000000000000000000000000000000000"
                   "00000000"),
        ERR_INPUT);
    write_bytes("ply\nformat ascii 1.0\nelement vertex 1\n" XYZ END "3.40282347e38 -1e39 1e-60",
                strlen("ply\nformat ascii 1.0\nelement vertex 1\n" XYZ END) + 25);
    assert_int_equal(ply_read_file(path, &p, NULL), 0);
    assert_true(p.xyz[0] == FLT_MAX && p.xyz[1] == -INFINITY && p.xyz[2] == 0);
    ply_cloud_free(&p);
    assert_int_equal(read_ascii("element vertex 9999999999999999999\n" XYZ, "1 2 3"), ERR_INPUT);
}

static void ply_lists_are_bounded(void **state)
{
#define LIST "property list int double seen\n"
    (void)state;
    /* the zeros of the body are lists of no length */
    assert_int_equal(read_ply(VERTEX("2") LIST XYZ END, 32), 0);
    assert_int_equal(read_ply(VERTEX("2") LIST XYZ END, 31), ERR_INPUT);
    assert_int_equal(read_ascii("element vertex 1\n" LIST XYZ, "2 0 0 1 2 3"), 0);
    assert_int_equal(read_ascii("element vertex 1\n" LIST XYZ, "3 0 0 1 2 3"), ERR_INPUT);
    assert_int_equal(read_ascii("element vertex 1\n" LIST XYZ, "-2 0 0 1 2 3"), ERR_INPUT);
    assert_int_equal(read_ascii("element vertex 1\n" LIST XYZ, "2147483647 0 0 1 2 3"), ERR_INPUT);
    assert_int_equal(read_ascii("element vertex 1\nproperty list float int a\n" XYZ, "0 1 2 3"),
                     ERR_INPUT);
    /* elements of no bytes, and of more than there are */
    assert_int_equal(read_ascii("element a 9999999999999999999\nelement vertex 1\n" XYZ, "1 2 3"),
                     0);
    assert_int_equal(read_ascii("element a 9999999999999999999\nproperty int b\n"
                                "element vertex 1\n" XYZ,
                                "1 2 3"),
                     ERR_INPUT);
    assert_int_equal(read_ply("ply\nformat binary_big_endian 1.0\nelement a 2305843009213693952\n"
                              "property double b\nelement vertex 1\n" XYZ END,
                              60),
                     ERR_INPUT); /* * 8 = 2^64 */
#undef LIST
}

static void ply_lies_are_refused(void **state)
{
    char many[20000] = VERTEX("1") XYZ RGB;

    (void)state;
    assert_int_equal(read_ply(VERTEX("2") XYZ RGB END, 30), 0);
    assert_int_equal(read_ply(VERTEX("2") XYZ RGB END, 29), ERR_INPUT);
    assert_int_equal(read_ply(VERTEX("18446744073709551615") XYZ RGB END, 30), ERR_INPUT);
    assert_int_equal(read_ply(VERTEX("1229782938247303442") XYZ RGB END, 30),
                     ERR_INPUT); /* * 15 = 2^64 + 14 */
    assert_int_equal(read_ply(VERTEX("-1") XYZ RGB END, 30), ERR_INPUT);
    assert_int_equal(read_ply(VERTEX("2 3") XYZ RGB END, 30), ERR_INPUT);
    assert_int_equal(read_ply(VERTEX("2x") XYZ RGB END, 30), ERR_INPUT);
    assert_int_equal(read_ply(VERTEX("2") XYZ XYZ RGB END, 60), ERR_UNSUPPORTED);
    assert_int_equal(read_ply(VERTEX("2") "property double x\n" RGB END, 60), ERR_INPUT);
    assert_int_equal(read_ply(VERTEX("2") XYZ "property int red\n" END, 60), ERR_UNSUPPORTED);
    assert_int_equal(read_ply(VERTEX("2") "property half x\n" END, 60), ERR_INPUT);
    assert_int_equal(read_ply(VERTEX("2") "property float x y\n" END, 60), ERR_INPUT);
    assert_int_equal(read_ply(VERTEX("2") "property list uchar int x\n" END, 60), ERR_UNSUPPORTED);
    assert_int_equal(read_ply(VERTEX("2") XYZ RGB "element vertex 2\n" END, 60), ERR_UNSUPPORTED);
    assert_int_equal(read_ply(VERTEX("2") XYZ "format ascii 1.0\n" END, 60), ERR_INPUT);
    assert_int_equal(read_ply("ply\nelement vertex 1\n" XYZ RGB END, 60), ERR_INPUT);
    assert_int_equal(read_ply("ply\nformat ascii 1.0\n" END, 60), ERR_INPUT);
    assert_int_equal(read_ply("ply\nformat binary_pdp_endian 1.0\n" END, 60), ERR_UNSUPPORTED);
    assert_int_equal(read_ply("ply\nformat binary_little_endian 1.0\n" XYZ RGB END, 60), ERR_INPUT);
    assert_int_equal(read_ply("PNG\n", 60), ERR_INPUT);
    assert_int_equal(read_ply("", 0), ERR_INPUT);
    assert_int_equal(read_ply(VERTEX("2") XYZ RGB, 0), ERR_INPUT); /* the header does not end */
    for (int i = 0; i < 130; i++)
        strcat(many, "property uchar more\n");
    assert_int_equal(read_ply(many, 200), ERR_LIMIT);
    strcpy(many, VERTEX("1"));
    for (int i = 0; i < 600; i++)
        strcat(many, "comment x\n");
    assert_int_equal(read_ply(many, 200), ERR_LIMIT);
    strcpy(many, VERTEX("1"));
    for (int i = 0; i < 20; i++)
        strcat(many, "element more 1\n");
    assert_int_equal(read_ply(many, 200), ERR_LIMIT);
    memset(many, 'a', sizeof many - 1); /* one endless line */
    memcpy(many, "ply\n", 4);
    assert_int_equal(read_ply(many, 0), ERR_INPUT);
}

/* Every truncation and flipped bit of a small file: an answer, no crash, no more points than
 * fit. */
static void ply_damage_is_survived(void **state)
{
    struct cloud *c = cloud();
    uint8_t data[1024];
    struct ply_cloud p;
    size_t len;

    (void)state;
    for (uint32_t i = 0; i < 5; i++)
        put(c, i, (int32_t)i, 0, 0, 9);
    commit(c);
    assert_int_equal(ply_write_file(path, c, STEP, NULL), 0);
    len = read_bytes(data, sizeof data);
    write_to_memory();
    for (size_t cut = 0; cut < len; cut++) {
        write_bytes(data, cut);
        assert_int_not_equal(ply_read_file(path, &p, NULL), 0);
    }
    for (size_t bit = 0; bit < 8 * len; bit++) {
        data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        write_bytes(data, len);
        if (ply_read_file(path, &p, NULL) == 0)
            assert_true(p.n <= len / 15);
        ply_cloud_free(&p);
        data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    cloud_free(&c);
}

/* ------------------------------------------------------------------------- PNG */

/* A PNG as libpng writes it, from rows of bytes. */
static void make_png(int w, int h, int bits, int type, const uint8_t *data, size_t stride)
{
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    FILE *f = fopen(path, "wb");

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

static void png_round_trip(void **state)
{
    uint8_t rgb[7 * 5 * 3], *back;
    int w, h;

    (void)state;
    for (size_t i = 0; i < sizeof rgb; i++)
        rgb[i] = (uint8_t)(i * 37);
    assert_int_equal(png_write_file(path, rgb, 7, 5, NULL), 0);
    assert_int_equal(files_in_folder(), 1);
    assert_int_equal(png_read_rgb(path, &back, &w, &h, 7, NULL), 0);
    assert_int_equal(w, 7);
    assert_int_equal(h, 5);
    assert_memory_equal(back, rgb, sizeof rgb);
    free(back);
    assert_int_equal(png_write_file(path, rgb, 0, 5, NULL), ERR_INPUT);
    snprintf(other, sizeof other, "%s/none/x.png", folder);
    assert_int_equal(png_write_file(other, rgb, 7, 5, NULL), ERR_IO);
    assert_int_equal(png_read_rgb(other, &back, &w, &h, 7, NULL), ERR_NOT_FOUND);
    assert_null(back);
}

static void png_depth_keeps_its_values(void **state)
{
    const uint8_t deep[2][4] = {{0x12, 0x34, 0xff, 0xff}, {0, 0, 0x01, 0x00}}; /* big-endian */
    const uint8_t flat[2][2] = {{7, 255}, {0, 128}};
    uint16_t *gray;
    uint8_t *rgb;
    int w, h;

    (void)state;
    make_png(2, 2, 16, PNG_COLOR_TYPE_GRAY, deep[0], 4);
    assert_int_equal(png_read_gray16(path, &gray, &w, &h, 100, NULL), 0);
    assert_int_equal(gray[0], 0x1234);
    assert_int_equal(gray[1], 0xffff);
    assert_int_equal(gray[2], 0);
    assert_int_equal(gray[3], 0x100);
    free(gray);
    assert_int_equal(png_read_rgb(path, &rgb, &w, &h, 100, NULL), 0);
    assert_memory_equal(rgb, "\x12\x12\x12\xff\xff\xff", 6);
    free(rgb);
    make_png(2, 2, 8, PNG_COLOR_TYPE_GRAY, flat[0], 2);
    assert_int_equal(png_read_gray16(path, &gray, &w, &h, 100, NULL), 0);
    assert_int_equal(gray[0], 7);
    assert_int_equal(gray[1], 255);
    assert_int_equal(gray[3], 128);
    free(gray);
    make_png(1, 2, 8, PNG_COLOR_TYPE_RGB_ALPHA, flat[0], 0);
    assert_int_equal(png_read_gray16(path, &gray, &w, &h, 100, NULL), ERR_UNSUPPORTED);
    assert_null(gray);
    assert_int_equal(png_read_rgb(path, &rgb, &w, &h, 100, NULL), 0);
    assert_memory_equal(rgb, "\x07\xff\x00\x07\xff\x00", 6);
    free(rgb);
}

static void png_size_is_bounded(void **state)
{
    uint8_t rgb[40 * 3] = {0}, data[400], *back;
    struct err err = {0};
    int w, h;

    (void)state;
    assert_int_equal(png_write_file(path, rgb, 40, 1, NULL), 0);
    assert_int_equal(png_read_rgb(path, &back, &w, &h, 39, &err), ERR_LIMIT);
    assert_int_equal(png_read_rgb(path, &back, &w, &h, 40, &err), 0);
    free(back);
    assert_true(read_bytes(data, sizeof data) > 33);
    memcpy(data + 16, "\x7f\xff\xff\xff\x7f\xff\xff\xff", 8); /* 2^31 x 2^31, check sum wrong too */
    write_bytes(data, 100);
    assert_int_not_equal(png_read_rgb(path, &back, &w, &h, 4096, &err), 0);
    assert_null(back);
}

static void png_damage_is_survived(void **state)
{
    uint8_t rgb[20 * 20 * 3], data[4096], *back;
    int w, h, refused = 0;
    size_t len;

    (void)state;
    for (size_t i = 0; i < sizeof rgb; i++)
        rgb[i] = (uint8_t)(i * i);
    assert_int_equal(png_write_file(path, rgb, 20, 20, NULL), 0);
    len = read_bytes(data, sizeof data);
    write_to_memory();
    for (size_t cut = 0; cut < len; cut++) {
        write_bytes(data, cut);
        assert_int_not_equal(png_read_rgb(path, &back, &w, &h, 64, NULL), 0);
        assert_null(back);
    }
    for (size_t bit = 0; bit < 8 * len; bit++) {
        data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        write_bytes(data, len);
        refused += png_read_rgb(path, &back, &w, &h, 64, NULL) != 0;
        free(back);
        data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_true(refused > 7 * (int)len); /* check sums see nearly all */
}

/* ------------------------------------------------------------------------- set-up */

static int open_folder(void **state)
{
    const char *tmp = getenv("TMPDIR");

    (void)state;
    snprintf(folder, sizeof folder, "%s/proto_files.XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/file", folder);
    return 0;
}

static int empty_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_folder, empty_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ply_bytes_by_hand),
        TEST(ply_round_trip),
        TEST(ply_is_replaced_or_left),
        TEST(ply_of_others),
        TEST(ply_of_three_formats),
        TEST(ply_without_colours),
        TEST(ply_texts_are_numbers),
        TEST(ply_lists_are_bounded),
        TEST(ply_lies_are_refused),
        TEST(ply_damage_is_survived),
        TEST(png_round_trip),
        TEST(png_depth_keeps_its_values),
        TEST(png_size_is_bounded),
        TEST(png_damage_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
