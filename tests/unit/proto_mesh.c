/* Meshes and base64: by hand, both forms of file, and what must be refused. */
#include "proto/base64.h"
#include "proto/cloud/mesh.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>

static int read_text(struct mesh *m, const char *text, float scale, struct err *err)
{
    memset(err, 0, sizeof *err);
    return mesh_read(m, (const uint8_t *)text, strlen(text), scale, err);
}

/* A square as two triangles, with what else stands in such files; the last corner by a negative
 * index; a triangle without an area is left out. */
TEST(obj)
{
    static const uint32_t corners[] = {0, 1, 2, 0, 2, 3, 1, 2, 3};
    struct mesh m;
    struct err err;
    assert_int_equal(read_text(&m,
                               "# a square\r\nmtllib a.mtl\no thing\nv 0 0 0\nv 1 0 0 0.5 0.5 0.5\n"
                               "v\t1 1 0\nv 0 1 0\nvt 0 0\nvn 0 0 1\ns off\n"
                               "f 1/1/1 2//1 3/1 4\nf 1 2 2\nf 2 3 -1",
                               0.5f, &err),
                     0);
    assert_true(m.n_points == 4 && m.n_triangles == 3 && m.flat == 1);
    assert_memory_equal(m.corner, corners, sizeof corners);
    assert_true(m.xyz[3] == 0.5f && m.xyz[7] == 0.5f && m.xyz[8] == 0);
    mesh_free(&m);
    assert_null(m.xyz);
}

#define HEAD                                                                       \
    "ply\nformat ascii 1.0\ncomment by hand\nelement vertex 4\nproperty float x\n" \
    "property float y\nproperty float z\nproperty uchar red\n"
#define POINTS "0 0 0 9\n1 0 0 9\n1 1 0 9\n0 1 0 9\n"

TEST(ply)
{
    static const uint32_t corners[] = {0, 1, 2, 0, 2, 3};
    struct mesh m;
    struct err err;
    assert_int_equal(read_text(&m,
                               HEAD "element edge 1\nproperty int a\nelement face 3\n"
                                    "property uchar flags\nproperty list uchar int vertex_indices\n"
                                    "property list uchar float texcoord\nend_header\n" POINTS
                                    "5\n1 4 0 1 2 3 2 0.5 0.5\n1 2 0 1 0\n1 0 0\n",
                               1, &err),
                     0);
    assert_true(m.n_points == 4 && m.n_triangles == 2 && m.flat == 0);
    assert_memory_equal(m.corner, corners, sizeof corners);
    mesh_free(&m);
}

TEST(binary)
{
    static const char head[] = "ply\nformat binary_big_endian 1.0\nelement vertex 3\n"
                               "property float x\nproperty float y\nproperty float z\n"
                               "element face 1\nproperty list uchar ushort vertex_index\n"
                               "end_header\n";
    static const uint8_t body[] = {0,    0,    0, 0, 0, 0,    0, 0, 0, 0, 0, 0, /* 0 0 0 */
                                   0x3f, 0x80, 0, 0, 0, 0,    0, 0, 0, 0, 0, 0, /* 1 0 0 */
                                   0,    0,    0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, /* tiny */
                                   3,    0,    0, 0, 1, 0,    2};
    uint8_t bytes[sizeof head - 1 + sizeof body];
    struct mesh m;
    struct err err;
    memcpy(bytes, head, sizeof head - 1);
    memcpy(bytes + sizeof head - 1, body, sizeof body);
    bytes[sizeof head - 1 + 28] = 0x3f; /* y of the third point becomes 1 */
    bytes[sizeof head - 1 + 29] = 0x80;
    assert_int_equal(mesh_read(&m, bytes, sizeof bytes, 2, &err), 0);
    assert_true(m.n_triangles == 1 && m.xyz[3] == 2 && m.xyz[7] == 2 && m.corner[2] == 2);
    mesh_free(&m);
    for (size_t n = 0; n < sizeof bytes; n++) { /* every cut is refused */
        assert_int_not_equal(mesh_read(&m, bytes, n, 1, &err), 0);
        assert_null(m.xyz);
    }
}

TEST(refused)
{
    static const struct {
        int rc;
        const char *text, *says;
    } rows[] = {
        {ERR_INPUT, "", "neither"},
        {ERR_INPUT, "solid stl\n", "neither"},
        {ERR_INPUT, "v 0 0 0\nv 1 0 0\nv 0 1 0\n", "no faces"},
        {ERR_INPUT, "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 4\n", "line 4"},
        {ERR_INPUT, "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 -4\n", "line 4"},
        {ERR_INPUT, "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 0\n", "line 4"},
        {ERR_INPUT, "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 x\n", "no number"},
        {ERR_INPUT, "v 0 0\nf 1 1 1\n", "three coordinates"},
        {ERR_INPUT, "v 0 0 0\nv nan 0 0\nv 0 1 0\nf 1 2 3\n", "point 1 is not finite"},
        {ERR_INPUT, "v 0 0 0\nv 1e39 0 0\nv 0 1 0\nf 1 2 3\n", "point 1 is not finite"},
        {ERR_INPUT, "v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\nf 1 1 1\n", "2 triangles, none"},
        {ERR_INPUT, HEAD "end_header\n" POINTS, "no faces"},
        {ERR_INPUT,
         HEAD "element face 1\nproperty list uchar int vertex_indices\nend_header\n" POINTS
              "3 0 1 4\n",
         "the corner 4, there are 4 points"},
        {ERR_INPUT,
         HEAD "element face 1\nproperty list uchar int vertex_indices\nend_header\n" POINTS
              "3 0 1 -1\n",
         "the corner -1"},
        {ERR_INPUT,
         HEAD "element face 2\nproperty list uchar int vertex_indices\nend_header\n" POINTS
              "3 0 1 2\n",
         "shorter"},
        {ERR_INPUT,
         HEAD "element face 1\nproperty list uchar float vertex_indices\nend_header\n" POINTS
              "3 0 1 2\n",
         "no faces"},
        {ERR_INPUT,
         "ply\nformat ascii 1.0\nelement vertex 999999999999\nproperty float x\n"
         "property float y\nproperty float z\nend_header\n0 0 0\n",
         "announced"},
    };
    struct mesh m;
    struct err err;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(read_text(&m, rows[i].text, 1, &err), rows[i].rc);
        if (!strstr(err.text, rows[i].says))
            fail_msg("row %zu: %s", i, err.text);
        assert_null(m.corner);
    }
    assert_int_equal(mesh_read(&m, (const uint8_t *)"v 0 0 0\0\n", 9, 1, &err), ERR_INPUT);
}

/* A million triangles without an area are counted and refused; one more than there may be is. */
TEST(many)
{
    static const char head[] = "v 0 0 0\nv 1 0 0\nv 2 0 0\n", face[] = "f 1 2 3\n";
    size_t n = sizeof head - 1, step = sizeof face - 1;
    char *text = malloc(n + (MESH_TRIANGLES_MAX + 1) * step);
    struct mesh m;
    struct err err;
    assert_non_null(text);
    memcpy(text, head, n);
    for (int i = 0; i <= MESH_TRIANGLES_MAX; i++)
        memcpy(text + n + (size_t)i * step, face, step);
    assert_int_equal(mesh_read(&m, (uint8_t *)text, n + MESH_TRIANGLES_MAX * step, 1, &err),
                     ERR_INPUT);
    assert_non_null(strstr(err.text, "1048576 triangles, none"));
    assert_int_equal(mesh_read(&m, (uint8_t *)text, n + (MESH_TRIANGLES_MAX + 1) * step, 1, &err),
                     ERR_LIMIT);
    memset(text, '#', MESH_LINE_BYTES);
    assert_int_equal(mesh_read(&m, (uint8_t *)text, n + 10 * step + MESH_LINE_BYTES, 1, &err),
                     ERR_LIMIT);
    free(text);
}

/* RFC 4648, section 10, and all lengths there and back. */
TEST(base64)
{
    static const char *const rows[][2] = {{"", ""},
                                          {"f", "Zg=="},
                                          {"fo", "Zm8="},
                                          {"foo", "Zm9v"},
                                          {"foob", "Zm9vYg=="},
                                          {"fooba", "Zm9vYmE="},
                                          {"foobar", "Zm9vYmFy"}};
    static const char *const bad[] = {"Z",        "Zg=",    "Zg",   "Zh==", "Zm9=", "====", "Z===",
                                      "Zg==Zg==", "Zm9v\n", "Zm 9", "Zm-_", "Z=g=", "=Zg="};
    uint8_t data[100], back[100];
    char text[BASE64_CHARS(100) + 1];
    size_t n;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        base64_encode(text, (const uint8_t *)rows[i][0], strlen(rows[i][0]));
        assert_string_equal(text, rows[i][1]);
    }
    for (size_t len = 0; len < sizeof data; len++) {
        for (size_t i = 0; i < len; i++)
            data[i] = (uint8_t)(i * 37 + len * 101);
        base64_encode(text, data, len);
        assert_int_equal(strlen(text), BASE64_CHARS(len));
        assert_int_equal(base64_decode(back, &n, text, strlen(text)), 0);
        assert_int_equal(n, len);
        assert_memory_equal(back, data, len);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (base64_decode(back, &n, bad[i], strlen(bad[i])) == 0)
            fail_msg("'%s' is taken", bad[i]);
}
