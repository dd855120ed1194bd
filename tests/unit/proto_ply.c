/* PLY files: written and read back, those of others in every format, and damage refused. */
#include <float.h>
#include <math.h>

#include "proto/cloud/ply.h"
#include "tests/support/file_case.h"
#include "tests/support/cloud.h"
#include "tests/support/unit.h"

#define STEP 0.001f

static char other[160];

FILE_TEST(ply_bytes_by_hand)
{
    const uint64_t keys[1] = {(uint64_t)key_morton(500, 0, 1023) << KEY_MORTON_AT |
                              (uint64_t)(32 << 6 | 4) << KEY_NORMAL_AT | 5 << 16 | 10 << 10 |
                              15 << 4 | 2};
    struct cloud_block b = {.name = {0, -1, 0, 2}, .keys = keys, .n = 1};
    uint8_t out[PLY_POINT_BYTES];
    float xyz[3], normal[3];

    ply_points(out, &b, 0, 1, STEP, NULL);
    memcpy(xyz, out, sizeof xyz);
    assert_true(fabsf(xyz[0] - -0.524f) < 1e-7f);        /* -1024 + 500 */
    assert_true(xyz[0] == (float)(-524 * (double)STEP)); /* one rounding, as API.md says */
    assert_true(xyz[1] == 0);
    assert_true(fabsf(xyz[2] - 3.071f) < 1e-6f); /* 2048 + 1023 */
    memcpy(normal, out + 12, sizeof normal);     /* u = 0, v = -1: down the y axis */
    assert_true(normal[0] == 0 && normal[1] == -1 && normal[2] == 0);
    assert_memory_equal(out + 24, "\x14\x28\x3c\x02", 4);
}

/* A quarter turn about z, and two metres along x: positions move, normals turn. */
FILE_TEST(a_placed_submap_is_moved)
{
    const struct rigid T = {{0, -1, 0, 1, 0, 0, 0, 0, 1}, {2, 0, 0}};
    const uint64_t keys[1] = {(uint64_t)key_morton(500, 0, 1023) << KEY_MORTON_AT |
                              (uint64_t)(32 << 6 | 4) << KEY_NORMAL_AT};
    struct cloud_block b = {.name = {1, -1, 0, 2}, .keys = keys, .n = 1};
    uint8_t out[PLY_POINT_BYTES];
    float v[6];

    ply_points(out, &b, 0, 1, STEP, &T);
    memcpy(v, out, sizeof v);
    assert_true(fabsf(v[0] - 2.0f) < 1e-6f && fabsf(v[1] - -0.524f) < 1e-6f);
    assert_true(fabsf(v[2] - 3.071f) < 1e-6f);
    assert_true(v[3] == 1 && v[4] == 0 && v[5] == 0);
}

static const struct ply_frame frame = {STEP, "-z", false};

/* Byte by byte as API.md ("The cloud's file") has it. */
TEST(ply_header_by_the_page)
{
    struct ply_frame f = {STEP, "+y", false};
    char header[PLY_HEADER_MAX];
    int n = ply_header(header, 8, &f, 0x1ccac946e7cf05de);

    assert_int_equal(n, strlen(header));
    assert_non_null(strstr(header, "\ncomment recond step 0.00100000005 m\n"));
    assert_non_null(strstr(header, "\ncomment recond hash 1ccac946e7cf05de\n"));
    assert_non_null(strstr(header, "\ncomment recond frame: the world of the frames' poses, "
                                   "right-handed, metres\ncomment recond up +y\n"
                                   "element vertex 8\nproperty float x\n"));
    assert_string_equal(header + n - 11, "end_header\n");
    f = (struct ply_frame){STEP, "", true};
    n = ply_header(header, UINT64_MAX, &f, 0);
    assert_in_range(n, 100, PLY_HEADER_MAX - 80); /* room for what is longest */
    assert_null(strstr(header, "recond up"));
    assert_non_null(strstr(header, "\ncomment recond frame: the first frame's camera "
                                   "(x right, y down, z forward), metres by guess\nelement"));
}

FILE_TEST(ply_round_trip)
{
    struct cloud *c = cloud();
    struct ply_cloud p;
    size_t i = 0;

    for (uint32_t s = 0; s < SLOTS; s++)
        put(c, s, (int32_t)(s * 37 % 5000) - 2500, (int32_t)s - 1500, (int32_t)(s % 7), (uint8_t)s);
    commit(c);
    assert_int_equal(ply_write_file(file_case_path, c, &frame, false, NULL), 0);
    assert_int_equal(file_case_count(), 1); /* nothing beside it is left */
    assert_int_equal(ply_read_file(file_case_path, &p, NULL), 0);
    assert_int_equal(p.n, SLOTS);
    assert_true(p.has_hash);
    assert_int_equal(p.hash, cloud_hash(c));
    assert_string_equal(p.up, "-z");
    for (uint32_t k = 0; k < cloud_blocks(c); k++) {
        struct cloud_block b = cloud_block(c, k);

        for (uint32_t j = 0; j < b.n; j++, i++) {
            int32_t q[3];

            key_position(b.name, b.keys[j], q);
            for (int a = 0; a < 3; a++) {
                assert_int_equal(lroundf(p.xyz[3 * i + (size_t)a] / STEP), q[a]);
                assert_int_equal(p.rgb[3 * i + (size_t)a], (b.keys[j] >> (16 - 6 * a) & 63) * 4);
            }
        }
    }
    assert_int_equal(i, SLOTS);
    ply_cloud_free(&p);
    cloud_free(&c);
}

FILE_TEST(ply_is_replaced_or_left)
{
    struct cloud *c = cloud();
    struct ply_cloud p;

    assert_int_equal(ply_write_file(file_case_path, c, &frame, false, NULL),
                     0); /* an empty cloud is a file too */
    assert_int_equal(ply_read_file(file_case_path, &p, NULL), 0);
    assert_int_equal(p.n, 0);
    ply_cloud_free(&p);
    put(c, 0, 1, 2, 3, 4);
    commit(c);
    assert_int_equal(ply_write_file(file_case_path, c, &frame, false, NULL), 0);
    assert_int_equal(ply_read_file(file_case_path, &p, NULL), 0);
    assert_int_equal(p.n, 1);
    ply_cloud_free(&p);
    snprintf(other, sizeof other, "%s/none/x.ply", file_case_folder);
    assert_int_equal(ply_write_file(other, c, &frame, false, NULL), ERR_IO);
    assert_int_equal(ply_write_file(file_case_folder, c, &frame, false, NULL),
                     ERR_IO); /* a file_case_folder stays one */
    assert_int_equal(file_case_count(), 1);
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
    file_case_write(data, n + body);
    free(data);
    rc = ply_read_file(file_case_path, &p, NULL);
    assert_true(rc == 0 || (!p.xyz && !p.rgb && p.n == 0));
    ply_cloud_free(&p);
    return rc;
}

FILE_TEST(ply_of_others)
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

    memcpy(data, shuffled, n);
    data[n] = 30;
    memcpy(data + n + 9, &z, 4);
    memcpy(data + n + 13, &x, 4);
    data[n + 17] = 10;
    memcpy(data + n + 18, &y, 4);
    data[n + 22] = 20;
    file_case_write(data, n + 23);
    assert_int_equal(ply_read_file(file_case_path, &p, NULL), 0);
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

FILE_TEST(ply_of_three_formats)
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

    for (int k = 0; k < 3; k++) {
        size_t n = (size_t)sprintf((char *)data, "ply\nformat %s 1.0\ncomment %0600d\n%s",
                                   formats[k], 1, header);

        for (size_t i = 0; i < sizeof values / sizeof *values; i++)
            n += k ? pack(data + n, values[i], types[i], k == 2)
                   : (size_t)sprintf((char *)data + n, i % 5 ? "%.9g " : "%.9g\r\n", values[i]);
        file_case_write(data, n - (k == 0)); /* a text may end without a line's end */
        assert_int_equal(ply_read_file(file_case_path, &p, NULL), 0);
        assert_true(p.n == 2 && p.has_colour);
        assert_true(p.xyz[0] == -3 && p.xyz[1] == 0.5f && p.xyz[2] == -1.5f);
        assert_true(p.xyz[3] == 40 && p.xyz[4] == 1e-3f && p.xyz[5] == 2.5f);
        assert_memory_equal(p.rgb, "\xff\xff\x07\x80\x01\xff", 6);
        ply_cloud_free(&p);
        file_case_write(data, n - 1 - (k == 0) * 5); /* the last value is missing */
        assert_int_equal(ply_read_file(file_case_path, &p, NULL), ERR_INPUT);
    }
}

/* What stands before the points is larger than what is read at once; coordinates as whole
 * numbers. */
FILE_TEST(ply_behind_much_else)
{
    static const char header[] = "ply\nformat binary_big_endian 1.0\nelement pad 100000\n"
                                 "property short a\nelement vertex 2\nproperty char x\n"
                                 "property short y\nproperty int z\nend_header\n";
    static const uint8_t points[] = {0xff, 0xff, 0xfe, 0xff, 0xff, 0xff, 0xfd, 5, 1, 0, 0, 1, 0, 0};
    const size_t n = sizeof header - 1 + 200000 + sizeof points;
    uint8_t *data = calloc(1, n);
    struct ply_cloud p;

    assert_non_null(data);
    memcpy(data, header, sizeof header - 1);
    memcpy(data + n - sizeof points, points, sizeof points);
    file_case_write(data, n);
    assert_int_equal(ply_read_file(file_case_path, &p, NULL), 0);
    assert_true(p.n == 2 && p.xyz[0] == -1 && p.xyz[1] == -2 && p.xyz[2] == -3);
    assert_true(p.xyz[3] == 5 && p.xyz[4] == 256 && p.xyz[5] == 65536);
    ply_cloud_free(&p);
    file_case_write(data, n - 1);
    assert_int_equal(ply_read_file(file_case_path, &p, NULL), ERR_INPUT);
    file_case_write(data, 70000); /* ends before the points begin */
    assert_int_equal(ply_read_file(file_case_path, &p, NULL), ERR_INPUT);
    free(data);
}

FILE_TEST(ply_without_colours)
{
    struct ply_cloud p;

    file_case_write(
        "ply\nformat ascii 1.0\nelement vertex 1\nproperty uchar red\n" XYZ END "9 1 2 3",
        strlen("ply\nformat ascii 1.0\nelement vertex 1\nproperty uchar red\n" XYZ END) + 7);
    assert_int_equal(ply_read_file(file_case_path, &p, NULL), 0);
    assert_true(p.n == 1 && !p.has_colour && p.rgb[1] == 160 && p.xyz[2] == 3);
    ply_cloud_free(&p);
    assert_int_equal(read_ply(VERTEX("2") XYZ END, 24), 0);
    assert_int_equal(read_ply(VERTEX("2") XYZ END, 23), ERR_INPUT);
    assert_int_equal(read_ply(VERTEX("0") XYZ END, 0), 0);
}

/* Confidence counts as one byte alone: other programs have floats of that name. */
FILE_TEST(ply_with_confidence)
{
    static const char body[] = "1 2 3 15\n4 5 6 255";
    static const char *const types[] = {"uchar", "float", "short"};
    char text[200];
    struct ply_cloud p;

    for (int i = 0; i < 3; i++) {
        int n = snprintf(text, sizeof text,
                         "ply\nformat ascii 1.0\nelement vertex 2\n" XYZ
                         "property %s confidence\n" END "%s",
                         types[i], body);
        file_case_write(text, (size_t)n);
        assert_int_equal(ply_read_file(file_case_path, &p, NULL), 0);
        assert_true(p.n == 2 && p.xyz[5] == 6 && (p.confidence != NULL) == (i == 0));
        if (i == 0)
            assert_memory_equal(p.confidence, "\x0f\xff", 2);
        ply_cloud_free(&p);
    }
}

static int read_ascii(const char *header, const char *body)
{
    char text[1000];

    snprintf(text, sizeof text, "ply\nformat ascii 1.0\n%s%s%s", header, END, body);
    return read_ply(text, 0);
}

FILE_TEST(ply_texts_are_numbers)
{
    struct ply_cloud p;

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
    file_case_write("ply\nformat ascii 1.0\nelement vertex 1\n" XYZ END "3.40282347e38 -1e39 1e-60",
                    strlen("ply\nformat ascii 1.0\nelement vertex 1\n" XYZ END) + 25);
    assert_int_equal(ply_read_file(file_case_path, &p, NULL), 0);
    assert_true(p.xyz[0] == FLT_MAX && p.xyz[1] == -INFINITY && p.xyz[2] == 0);
    ply_cloud_free(&p);
    assert_int_equal(read_ascii("element vertex 9999999999999999999\n" XYZ, "1 2 3"), ERR_INPUT);
}

FILE_TEST(ply_lists_are_bounded)
{
#define LIST "property list int double seen\n"
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

FILE_TEST(ply_lies_are_refused)
{
    char many[20000] = VERTEX("1") XYZ RGB;

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
FILE_TEST(ply_damage_is_survived)
{
    struct cloud *c = cloud();
    uint8_t data[1024];
    struct ply_cloud p;
    size_t len;

    for (uint32_t i = 0; i < 5; i++)
        put(c, i, (int32_t)i, 0, 0, 9);
    commit(c);
    assert_int_equal(ply_write_file(file_case_path, c, &frame, false, NULL), 0);
    len = file_case_read(data, sizeof data);
    file_case_in_memory();
    for (size_t cut = 0; cut < len; cut++) {
        file_case_write(data, cut);
        assert_int_not_equal(ply_read_file(file_case_path, &p, NULL), 0);
    }
    for (size_t bit = 0; bit < 8 * len; bit++) {
        data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        file_case_write(data, len);
        if (ply_read_file(file_case_path, &p, NULL) == 0)
            assert_true(p.n <= len / 15);
        ply_cloud_free(&p);
        data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    cloud_free(&c);
}
