/*
 * The worked example of docs/PROTOCOL.md, taken from the page itself: the code writes those bytes,
 * reads them, and computes the hashes of the page's table. tests/golden/wire holds the same bytes,
 * and compressed ones.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/cloud/cloud.h"
#include "proto/wire/delta.h"
#include "proto/wire/depth.h"
#include "proto/wire/frame.h"
#include "tests/support/unit.h"

#define PAGE "docs/PROTOCOL.md"
#define WIRE "tests/golden/wire/"
#define BYTES_CAP 1024

static char *page;

static char *read_text(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text = calloc(1, 1u << 18);

    if (!f || !text)
        fail_msg("%s cannot be read: run from the top folder", path);
    assert_true(fread(text, 1, (1u << 18) - 1, f) > 0);
    fclose(f);
    return text;
}

/* Hexadecimal bytes up to the end of the text or a character that is none. */
static size_t parse_hex(uint8_t *out, const char *text)
{
    size_t n = 0;
    unsigned v;
    int used;

    while (n < BYTES_CAP && sscanf(text, " %2x%n", &v, &used) == 1) {
        out[n++] = (uint8_t)v;
        text += used;
    }
    return n;
}

static size_t from_page(uint8_t *out, const char *name)
{
    char mark[64];
    const char *at;

    snprintf(mark, sizeof mark, "```hex %s\n", name);
    at = strstr(page, mark);
    if (!at)
        fail_msg("%s has no example \"%s\"", PAGE, name);
    return parse_hex(out, at + strlen(mark));
}

static size_t from_file(uint8_t *out, const char *name)
{
    char path[128], *text;
    size_t n;

    snprintf(path, sizeof path, WIRE "%s.hex", name);
    text = read_text(path);
    n = parse_hex(out, text);
    free(text);
    return n;
}

/* The hash that the page's table gives after an operation. */
static uint64_t hash_of_page(const char *after, uint64_t *points)
{
    unsigned long long n = 0, hash = 0;
    char mark[64];
    const char *at;

    snprintf(mark, sizeof mark, "\n| %s | ", after);
    at = strstr(page, mark);
    if (!at || sscanf(at + strlen(mark), "%llu | `%16llx`", &n, &hash) != 2)
        fail_msg("%s gives no hash after \"%s\"", PAGE, after);
    *points = n;
    return hash;
}

#define UP 0x820      /* u = v = 32: along z */
#define FORWARD 0x804 /* u = 32, v = 4: against y */

static uint64_t key(uint32_t x, uint32_t y, uint32_t z, uint32_t normal, uint32_t rgb,
                    uint32_t confidence)
{
    uint32_t r = rgb >> 18 & 63, g = rgb >> 10 & 63, b = rgb >> 2 & 63;

    return (uint64_t)key_morton(x, y, z) << 34 | (uint64_t)normal << 22 | r << 16 | g << 10 |
           b << 4 | confidence;
}

static struct cloud *mirror(void)
{
    struct cloud_limits limits = {.max_blocks = 8, .max_points = 100};
    struct cloud *c;

    assert_int_equal(cloud_new(&c, &limits, NULL), 0);
    return c;
}

/* ------------------------------------------------------------------------- tests */

TEST(page_and_files_agree)
{
    static const char *const names[] = {
        "frame", "parts", "put", "patch", "delete", "clear", "submap", "submap_unplaced", "depth"};
    uint8_t a[BYTES_CAP], b[BYTES_CAP];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = from_page(a, names[i]);

        assert_true(n >= 16);
        assert_int_equal(n, from_file(b, names[i]));
        assert_memory_equal(a, b, n);
    }
}

TEST(frame_of_the_page)
{
    uint8_t msg[BYTES_CAP], again[BYTES_CAP];
    size_t len = from_page(msg, "frame");
    struct frame f;

    assert_int_equal(frame_parse(&f, msg, len, FRAME_POSE_OPENGL, NULL), 0);
    assert_int_equal(f.seq, 7);
    assert_int_equal(f.t_capture_ns, 1000000000);
    assert_int_equal(f.flags, 15);
    assert_int_equal(frame_tracking(&f), FRAME_TRACKING_NORMAL);
    assert_int_equal(f.width, 640);
    assert_int_equal(f.height, 480);
    assert_true(f.K.fx == 500 && f.K.fy == 500 && f.K.cx == 319.5f && f.K.cy == 239.5f);
    assert_true(f.T_wc.t[0] == 1 && f.T_wc.t[1] == 1.5f && f.T_wc.t[2] == -2);
    assert_true(f.T_wc.r[0] == 1 && f.T_wc.r[4] == -1 && f.T_wc.r[8] == -1);
    assert_int_equal(f.world_epoch, 2);
    assert_int_equal(f.payload_len, 4);
    assert_memory_equal(f.payload, "\xff\xd8\xff\xd9", 4);
    assert_int_equal(f.n_parts, 0);
    assert_int_equal(frame_bytes(&f), len);
    frame_encode(again, &f, FRAME_POSE_OPENGL);
    assert_memory_equal(again, msg, len);
}

TEST(parts_of_the_page)
{
    uint8_t msg[BYTES_CAP], again[BYTES_CAP];
    size_t len = from_page(msg, "parts");
    struct frame f;

    assert_int_equal(frame_parse(&f, msg, len, FRAME_POSE_OPENGL, NULL), 0);
    assert_int_equal(f.n_parts, 2);
    assert_memory_equal(f.payload, "\xff\xd8\xff\xd9", 4);
    assert_true(f.parts[0].type == FRAME_DEPTH && f.parts[0].codec == FRAME_RAW);
    assert_true(f.parts[0].width == 4 && f.parts[0].height == 2 && f.parts[0].camera == 1);
    assert_true(f.parts[0].len == 16 && f.parts[0].data[0] == 0xe8);
    assert_true(f.parts[1].type == FRAME_CONFIDENCE && f.parts[1].data[2] == 128);
    assert_int_equal(frame_bytes(&f), len);
    frame_encode(again, &f, FRAME_POSE_OPENGL);
    assert_memory_equal(again, msg, len);
}

static void check_encode(const struct delta *d, const char *name)
{
    uint8_t want[BYTES_CAP];
    size_t want_len = from_page(want, name), len;
    struct delta_scratch *s;
    const uint8_t *msg;

    assert_int_equal(delta_scratch_new(&s, NULL), 0);
    assert_int_equal(delta_encode(s, d, &msg, &len, NULL), 0);
    assert_int_equal(len, want_len);
    assert_memory_equal(msg, want, len);
    delta_scratch_free(&s);
}

TEST(messages_of_the_page_are_written)
{
    const uint64_t put_keys[3] = {key(1, 2, 3, UP, 0x6494c8, 1), key(5, 2, 3, FORWARD, 0x6898c8, 2),
                                  key(1023, 0, 512, 0, 0xfc0004, 3)};
    const uint64_t patch_keys[2] = {key(1, 2, 3, UP, 0x6494c8, 1),
                                    key(6, 2, 3, FORWARD, 0x6898c4, 2)};
    const uint32_t removed[1] = {1};
    struct delta d = {.op = DELTA_PUT,
                      .epoch = 1,
                      .revision = 5,
                      .name = {0, 0, -1, 2},
                      .n_points = 3,
                      .n_added = 3,
                      .added = put_keys};

    assert_int_equal(put_keys[2], 0xa4924924003f0013ull);
    check_encode(&d, "put");
    d = (struct delta){.op = DELTA_PATCH,
                       .epoch = 1,
                       .revision = 6,
                       .base_revision = 5,
                       .name = {0, 0, -1, 2},
                       .n_points = 4,
                       .n_removed = 1,
                       .removed = removed,
                       .n_added = 2,
                       .added = patch_keys};
    check_encode(&d, "patch");
    d = (struct delta){.op = DELTA_DELETE, .epoch = 1, .revision = 8, .name = {0, 0, -1, 2}};
    check_encode(&d, "delete");
    d = (struct delta){.op = DELTA_CLEAR, .epoch = 2};
    check_encode(&d, "clear");
}

TEST(hashes_of_the_page_come_out)
{
    static const char *const steps[] = {"put", "patch", "delete"};
    uint8_t msg[BYTES_CAP];
    struct cloud *c = mirror();

    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        size_t len = from_page(msg, steps[i]);
        uint64_t points, hash = hash_of_page(steps[i], &points);

        assert_int_equal(cloud_apply(c, msg, len, NULL), 0);
        assert_int_equal(cloud_points(c), points);
        assert_int_equal(cloud_hash(c), hash);
    }
    assert_int_equal(cloud_revision(c), 8);
    assert_int_equal(cloud_apply(c, msg, from_page(msg, "clear"), NULL), 0);
    assert_int_equal(cloud_epoch(c), 2);
    assert_int_equal(cloud_blocks(c), 0);
    cloud_free(&c);
}

/* Bytes written once by this code's libraries; another version may write others, and must read
 * these. */
TEST(compressed_vectors_are_read)
{
    static const char *const names[] = {"put_deflate"};
    uint8_t msg[BYTES_CAP];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct cloud *c = mirror();
        struct cloud_block b;
        size_t len = from_file(msg, names[i]);

        assert_int_equal(msg[2], i + 1);
        assert_int_equal(cloud_apply(c, msg, len, NULL), 0);
        b = cloud_block(c, 0);
        assert_int_equal(b.n, 40); /* 8 x 5 points of the plane z = 77, 8 steps apart */
        assert_int_equal(b.keys[0], key(0, 0, 77, UP, 0x787870, 1));
        assert_int_equal(b.keys[39], key(56, 32, 77, UP, 0x847870, 2));
        assert_int_equal(cloud_hash(c), 0x082cc2823099d324ull);
        cloud_free(&c);
    }
}

TEST(transforms_of_the_page)
{
    uint8_t msg[BYTES_CAP];
    const uint8_t *again;
    struct delta_scratch *s;
    struct delta d;
    size_t len, again_len;

    assert_int_equal(delta_scratch_new(&s, NULL), 0);
    for (uint32_t id = 3; id <= 4; id++) {
        len = from_page(msg, id == 3 ? "submap" : "submap_unplaced");
        assert_int_equal(delta_decode(s, &d, msg, len, NULL), 0);
        assert_int_equal(d.op, DELTA_SUBMAP);
        assert_int_equal(d.id, id);
        assert_int_equal(d.revision, 0);
        assert_int_equal(d.unplaced, id == 4);
        assert_int_equal(delta_encode(s, &d, &again, &again_len, NULL), 0);
        assert_int_equal(again_len, len);
        assert_memory_equal(again, msg, len);
        assert_true(d.T.r[0] == 1 && d.T.t[0] == (id == 3 ? 0.5f : 0) && d.T.t[1] == 0 &&
                    d.T.t[2] == (id == 3 ? -1 : 0));
    }
    delta_scratch_free(&s);
}

FIXTURE(open_page)
{
    page = read_text(PAGE);
    return 0;
}

FIXTURE(close_page)
{
    free(page);
    return 0;
}

TEST(depth_map_of_the_page)
{
    static const uint16_t values[8] = {1000, 1500, 1499, 0, 2000, 2256, 2255, 0};
    static const float z[8] = {1, 1.5f, 1.499f, 0, 2, 2.256f, 2.255f, 70};
    uint8_t msg[BYTES_CAP], again[BYTES_CAP];
    size_t len = from_page(msg, "depth");
    struct depth_decoder *d;
    struct depth_map map;

    assert_int_equal(depth_decoder_new(&d, NULL), 0);
    assert_int_equal(depth_decode(d, &map, msg, len, NULL), 0);
    assert_true(map.seq == 7 && map.unit == DEPTH_MILLIMETRES && map.w == 4 && map.h == 2);
    assert_true(map.K.fx == 2 && map.K.fy == 2 && map.K.cx == 1.5f && map.K.cy == 0.5f);
    assert_true(map.has_pose && map.T_wc.t[1] == 1.5f && map.T_wc.r[0] == 1);
    assert_memory_equal(map.values, values, sizeof values);
    assert_int_equal(len, depth_message_bytes(4, 2));
    depth_encode(again, &map, z, 0.1f, 100);
    assert_memory_equal(again, msg, len);
    depth_decoder_free(&d);
}

TEST_GROUP(open_page, close_page)
