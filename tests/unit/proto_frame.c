/* Byte readers and writers, transforms on the wire, and the frame message: every field, every
 * refusal. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "proto/bytes.h"
#include "proto/wire/frame.h"
#include "proto/geom/pose.h"
#include "tests/support/unit.h"

#define PAYLOAD 5
#define LEN (FRAME_HEAD_BYTES + PAYLOAD)

/* ------------------------------------------------------------------------- bytes */

TEST(numbers_are_little_endian)
{
    const uint8_t want[] = {0xab, 0x34, 0x12, 0x78, 0x56, 0x34, 0x12, 0x88, 0x77, 0x66, 0x55, 0x44,
                            0x33, 0x22, 0x11, 0xfe, 0xff, 0xff, 0xff, 0x00, 0x00, 0x80, 0x3f};
    uint8_t buf[sizeof want];
    struct bytes_writer w = bytes_writer(buf, sizeof buf);
    struct bytes_reader r = bytes_reader(want, sizeof want);

    bytes_put_u8(&w, 0xab);
    bytes_put_u16(&w, 0x1234);
    bytes_put_u32(&w, 0x12345678);
    bytes_put_u64(&w, 0x1122334455667788ull);
    bytes_put_i32(&w, -2);
    bytes_put_f32(&w, 1.0f);
    assert_false(w.bad);
    assert_int_equal(w.at, sizeof want);
    assert_memory_equal(buf, want, sizeof want);
    assert_int_equal(bytes_get_u8(&r), 0xab);
    assert_int_equal(bytes_get_u16(&r), 0x1234);
    assert_int_equal(bytes_get_u32(&r), 0x12345678);
    assert_int_equal(bytes_get_u64(&r), 0x1122334455667788ull);
    assert_int_equal(bytes_get_i32(&r), -2);
    assert_true(bytes_get_f32(&r) == 1.0f);
    assert_int_equal(bytes_left(&r), 0);
    assert_false(r.bad);
}

TEST(the_end_is_final)
{
    uint8_t buf[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct bytes_reader r = bytes_reader(buf, 3);
    struct bytes_writer w = bytes_writer(buf, 3);

    assert_int_equal(bytes_get_u16(&r), 0x0201);
    assert_int_equal(bytes_get_u16(&r), 0); /* one byte is left: nothing is read */
    assert_true(r.bad);
    assert_int_equal(bytes_get_u8(&r), 0); /* sticky, though a byte is there */
    assert_int_equal(bytes_left(&r), 0);
    assert_null(bytes_get_span(&r, 0));
    bytes_put_u32(&w, 0xffffffff);
    assert_true(w.bad);
    bytes_put_u8(&w, 0xff);
    assert_int_equal(buf[0], 1);
    assert_int_equal(w.at, 0);
    r = bytes_reader(buf, 8);
    assert_ptr_equal(bytes_get_span(&r, 8), buf);
    assert_null(bytes_get_span(&r, SIZE_MAX)); /* no overflow of the position */
}

/* ------------------------------------------------------------------------- transforms */

static void put_pose(uint8_t *buf, const float v[7])
{
    struct bytes_writer w = bytes_writer(buf, POSE_BYTES);

    for (int i = 0; i < 7; i++)
        bytes_put_f32(&w, v[i]);
}

static int get_pose(struct rigid *T, const float v[7], float max_m)
{
    uint8_t buf[POSE_BYTES] = {0};
    struct bytes_reader r = bytes_reader(buf, sizeof buf);

    put_pose(buf, v);
    return pose_get(&r, T, max_m, NULL);
}

TEST(quarter_turns_by_hand)
{
    const float h = 0.70710678f;
    const float about_z[7] = {0, 0, h, h, 1, 2, 3}, about_x[7] = {h, 0, 0, h, 0, 0, 0};
    const float longer[7] = {0, 0, h * 1.009f, h * 1.009f, 0, 0, 0};
    struct rigid T;
    struct vec3 p;

    assert_int_equal(get_pose(&T, about_z, 10), 0);
    p = rigid_apply(&T, vec3_make(1, 0, 0)); /* x goes to y */
    assert_true(fabsf(p.x - 1) < 1e-6f && fabsf(p.y - 3) < 1e-6f && fabsf(p.z - 3) < 1e-6f);
    assert_int_equal(get_pose(&T, about_x, 10), 0);
    p = rigid_apply(&T, vec3_make(0, 1, 0)); /* y goes to z */
    assert_true(fabsf(p.x) < 1e-6f && fabsf(p.y) < 1e-6f && fabsf(p.z - 1) < 1e-6f);
    assert_int_equal(get_pose(&T, longer, 10), 0); /* normalised */
    assert_true(fabsf(T.r[3] - 1) < 1e-6f);
}

TEST(bad_poses_are_refused)
{
    const float good[7] = {0, 0, 0, 1, 3, 4, 0};
    struct rigid T = rigid_identity(), before = T;

    for (int i = 0; i < 7; i++) {
        static const float evil[3] = {NAN, INFINITY, -INFINITY};

        for (int k = 0; k < 3; k++) {
            float v[7];

            memcpy(v, good, sizeof v);
            v[i] = evil[k];
            assert_int_equal(get_pose(&T, v, 10), ERR_INPUT);
        }
    }
    assert_int_equal(get_pose(&T, (const float[7]){0, 0, 0, 1.011f, 0, 0, 0}, 10), ERR_INPUT);
    assert_int_equal(get_pose(&T, (const float[7]){0, 0, 0, 0, 0, 0, 0}, 10), ERR_INPUT);
    assert_int_equal(get_pose(&T, (const float[7]){3e38f, 3e38f, 0, 0, 0, 0, 0}, 10), ERR_INPUT);
    assert_int_equal(get_pose(&T, (const float[7]){0, 0, 0, 1, 3e38f, 3e38f, 0}, 10), ERR_INPUT);
    assert_int_equal(get_pose(&T, good, 4.999f), ERR_INPUT); /* 3-4-5 */
    assert_memory_equal(&T, &before, sizeof T);
    assert_int_equal(get_pose(&T, good, 5), 0);
}

TEST(every_rotation_survives)
{
    uint32_t seed = 12345;
    uint8_t buf[POSE_BYTES];

    for (int n = 0; n < 20000; n++) {
        struct bytes_writer w = bytes_writer(buf, sizeof buf);
        struct bytes_reader r = bytes_reader(buf, sizeof buf);
        struct rigid T, U;
        float v[7] = {0}, norm = 0;

        for (int i = 0; i < 4; i++) {
            seed = seed * 1664525u + 1013904223u;
            v[i] = n % 5 == i ? 0 : (float)((int)(seed >> 8) % 2001 - 1000); /* half turns too */
            norm += v[i] * v[i];
        }
        if (norm < 1)
            continue;
        for (int i = 0; i < 4; i++)
            v[i] /= sqrtf(norm);
        assert_int_equal(get_pose(&T, v, 1), 0);
        pose_put(&w, &T);
        assert_int_equal(pose_get(&r, &U, 1, NULL), 0);
        for (int i = 0; i < 9; i++)
            assert_true(fabsf(T.r[i] - U.r[i]) < 2e-6f);
    }
}

/* ------------------------------------------------------------------------- frames */

static struct frame sample(void)
{
    struct frame f = {.seq = 0x1122334455667788ull,
                      .t_capture_ns = 99,
                      .flags = FRAME_HAS_POSE | FRAME_HAS_CAMERA | FRAME_TRACKING_LIMITED << 2,
                      .world_epoch = 3,
                      .width = 1280,
                      .height = 720,
                      .K = {900, 901, 640, 360},
                      .T_wc = rigid_identity(),
                      .payload_len = PAYLOAD};

    f.T_wc.t[1] = 1.5f;
    return f;
}

static void message(uint8_t msg[LEN], const struct frame *f)
{
    assert_int_equal(frame_encode_head(msg, f, FRAME_POSE_CV), FRAME_HEAD_BYTES);
    memcpy(msg + FRAME_HEAD_BYTES, "hello", PAYLOAD);
}

TEST(fields_stand_where_the_table_says)
{
    struct frame f = sample(), g;
    uint8_t m[LEN];

    message(m, &f);
    assert_int_equal(m[0], 1);
    assert_int_equal(m[1], 1);
    assert_int_equal(m[2], 80);
    assert_int_equal(m[4], 0x0b);
    assert_int_equal(m[8], 0x88);
    assert_int_equal(m[15], 0x11);
    assert_int_equal(m[16], 99);
    assert_int_equal(m[24], 3);
    assert_int_equal(m[28], 1);
    assert_int_equal(m[30], 16);
    assert_memory_equal(m + 32, "\x00\x00\x61\x44", 4); /* 900.0f */
    assert_memory_equal(m + 60, "\x00\x00\x80\x3f", 4); /* q w = 1 */
    assert_memory_equal(m + 68, "\x00\x00\xc0\x3f", 4); /* t y = 1.5 */
    assert_int_equal(m[80], FRAME_COLOUR);
    assert_int_equal(m[81], FRAME_JPEG);
    assert_int_equal(m[84] | m[85] << 8, 1280);
    assert_int_equal(m[86] | m[87] << 8, 720);
    assert_int_equal(m[92], PAYLOAD);
    assert_int_equal(frame_parse(&g, m, LEN, FRAME_POSE_CV, NULL), 0);
    assert_ptr_equal(g.payload, m + 96);
    assert_int_equal(g.payload_len, PAYLOAD);
    assert_memory_equal(&g, &f, offsetof(struct frame, payload)); /* seq ... T_wc */
    assert_int_equal(frame_tracking(&g), FRAME_TRACKING_LIMITED);
}

/* The number alone is read of any header that is whole and of this version. */
TEST(the_number_is_read_alone)
{
    struct frame f = sample();
    uint64_t seq = 0;
    uint8_t m[LEN];

    message(m, &f);
    m[92] ^= 1; /* a payload of another length is not looked at */
    assert_true(frame_get_seq(&seq, m, FRAME_HEADER_BYTES) && seq == f.seq);
    assert_false(frame_get_seq(&seq, m, FRAME_HEADER_BYTES - 1));
    for (int i = 0; i < 2; i++) { /* op, version */
        m[i] ^= 1;
        assert_false(frame_get_seq(&seq, m, LEN));
        m[i] ^= 1;
    }
    m[2]--; /* no header is shorter; a longer one is read as far as it is known */
    assert_false(frame_get_seq(&seq, m, LEN));
    m[2] += 2;
    assert_true(frame_get_seq(&seq, m, LEN));
}

/* An OpenGL camera looks along -z with y up: its forward is the server's +z, its up the server's
 * -y. */
TEST(opengl_axes_are_converted)
{
    struct frame f = sample(), g;
    uint8_t m[LEN];
    struct vec3 p;

    message(m, &f); /* identity rotation on the wire */
    assert_int_equal(frame_parse(&g, m, LEN, FRAME_POSE_OPENGL, NULL), 0);
    p = rigid_apply(&g.T_wc, vec3_make(0, 0, 2));
    assert_true(p.x == 0 && p.y == 1.5f && p.z == -2);
    p = rigid_apply(&g.T_wc, vec3_make(1, 1, 0));
    assert_true(p.x == 1 && p.y == 0.5f && p.z == 0);
    frame_encode_head(m, &g, FRAME_POSE_OPENGL);
    assert_int_equal(frame_parse(&f, m, LEN, FRAME_POSE_CV, NULL), 0);
    assert_true(f.T_wc.r[0] == 1 && f.T_wc.r[4] == 1 && f.T_wc.r[8] == 1);
}

static void refused(const uint8_t *m, size_t len, const char *where, uint64_t seq)
{
    struct err err = {0};
    struct frame f;

    assert_int_equal(frame_parse(&f, m, len, FRAME_POSE_CV, &err), ERR_INPUT);
    assert_string_equal(err.where, where);
    assert_int_equal(f.seq, seq);
}

TEST(each_lie_is_named)
{
    static const struct {
        int at;
        uint8_t bytes[4];
        int n;
        const char *where;
    } lies[] = {{0, {2}, 1, "op"},
                {1, {2}, 1, "version"},
                {2, {79}, 1, "header_len"},
                {28, {0}, 1, "n_parts"},
                {28, {17}, 1, "n_parts"},
                {28, {2}, 1, "n_parts"}, /* its entry is no more there */
                {30, {15}, 1, "part_len"},
                {31, {1}, 1, "n_parts"},
                {32, {0, 0, 0, 0}, 4, "camera"},             /* fx = 0 */
                {32, {0xff, 0xff, 0x7f, 0x3f}, 4, "camera"}, /* just below 1 */
                {36, {0, 0, 0x80, 0xbf}, 4, "camera"},       /* fy = -1 */
                {32, {0, 0, 0xc0, 0x7f}, 4, "camera"},       /* NaN */
                {40, {0, 0, 0x80, 0x7f}, 4, "camera"},       /* inf */
                {44, {0, 0, 0x80, 0x7e}, 4, "camera"},       /* 8.5e37 */
                {48, {0, 0, 0xc0, 0x7f}, 4, "pose"},         /* NaN */
                {60, {0, 0, 0, 0}, 4, "pose"},               /* q = 0 */
                {64, {0, 0x50, 0xc3, 0x4f}, 4, "pose"},      /* 6.5e9 m */
                {80, {9}, 1, "parts"},                       /* no picture */
                {81, {4}, 1, "parts"},
                {84, {0, 0}, 2, "width"},
                {84, {15, 0}, 2, "width"},
                {84, {1, 0x20}, 2, "width"}, /* 8193 */
                {86, {15, 0}, 2, "height"},
                {86, {1, 0x20}, 2, "height"},
                {92, {PAYLOAD + 1}, 1, "parts"},
                {92, {PAYLOAD - 1}, 1, "parts"},
                {95, {0xff}, 1, "parts"}};
    struct frame f = sample();
    uint8_t m[LEN];

    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        message(m, &f);
        memcpy(m + lies[i].at, lies[i].bytes, (size_t)lies[i].n);
        /* the seq is answered, so that an ack can name it, from the moment the header is one */
        refused(m, LEN, lies[i].where, lies[i].at < 4 ? 0 : f.seq);
    }
    message(m, &f);
    m[92] = 0;
    refused(m, FRAME_HEAD_BYTES, "part", f.seq); /* no picture at all */
}

TEST(undeclared_fields_are_not_looked_at)
{
    struct frame f = sample(), g;
    uint8_t m[LEN];

    message(m, &f);
    m[4] = 0;
    memset(m + 32, 0xff, 48); /* NaN everywhere, and what is reserved */
    assert_int_equal(frame_parse(&g, m, LEN, FRAME_POSE_OPENGL, NULL), 0);
    assert_true(g.K.fx == 0 && g.K.cy == 0);
    assert_true(g.T_wc.r[0] == 1 && g.T_wc.r[4] == 1 && g.T_wc.t[1] == 0);
}

/* ------------------------------------------------------------------------- parts */

static const struct frame_part others[] = {
    {FRAME_DEPTH, FRAME_RAW, 0, 4, 2, 3, 1, (const uint8_t *)"0123456789abcdef", 16},
    {FRAME_CONFIDENCE, FRAME_RAW, 0x7fff, 4, 2, 3, 0, (const uint8_t *)"01234567", 8},
    {FRAME_MASK, FRAME_RAW, 0, 9, 2, 0, 0, (const uint8_t *)"abcd", 4},
    {FRAME_IMU, FRAME_RAW, 0, 0, 0, 0, 0, (const uint8_t *)"0123456789abcdef0123456789abcdef", 32},
    {FRAME_GPS, FRAME_RAW, 0, 0, 0, 0, 0, (const uint8_t *)"0123456789abcdef01234567", 24},
    {FRAME_COLOUR, FRAME_JPEG, 0, 64, 48, 2, 0, (const uint8_t *)"x", 1}};
#define OTHERS (int)(sizeof others / sizeof *others)
#define MOST 2048

static size_t with_parts(uint8_t m[MOST], const struct frame_part *parts, int n)
{
    struct frame f = sample();

    f.payload = (const uint8_t *)"hello";
    f.n_parts = n;
    for (int i = 0; i < n; i++)
        f.parts[i] = parts[i];
    assert_true(frame_bytes(&f) <= MOST);
    frame_encode(m, &f, FRAME_POSE_CV);
    return frame_bytes(&f);
}

TEST(parts_come_as_they_were_sent)
{
    uint8_t m[MOST], body[MOST];
    size_t len = with_parts(m, others, OTHERS);
    struct frame f;

    assert_int_equal(frame_parse(&f, m, len, FRAME_POSE_CV, NULL), 0);
    memcpy(body, f.body, f.body_len);
    memset(m, 0, sizeof m);
    frame_move(&f, body);
    assert_memory_equal(f.payload, "hello", 5);
    assert_int_equal(f.n_parts, OTHERS);
    for (int i = 0; i < OTHERS; i++) {
        const struct frame_part *p = &f.parts[i], *q = &others[i];

        assert_true(p->type == q->type && p->codec == q->codec && p->flags == q->flags);
        assert_true(p->width == q->width && p->height == q->height && p->camera == q->camera);
        assert_true(p->unit == q->unit && p->len == q->len);
        assert_memory_equal(p->data, q->data, q->len);
    }
    assert_ptr_equal(frame_find(&f, FRAME_MASK), &f.parts[2]);
}

/* A type, codec or unit of a later version is passed over, unless it says that it must not be. */
TEST(what_is_not_known_is_passed_over)
{
    static const int at[] = {96, 97, 106}; /* type, codec, unit of the second part */
    uint8_t m[MOST];
    struct frame f;

    for (size_t i = 0; i < 3; i++) {
        size_t len = with_parts(m, others, 1);

        m[at[i]] = 7;
        assert_int_equal(frame_parse(&f, m, len, FRAME_POSE_CV, NULL), 0);
        assert_int_equal(f.n_parts, 0);
        m[99] |= 0x80;
        assert_int_equal(frame_parse(&f, m, len, FRAME_POSE_CV, NULL), ERR_UNSUPPORTED);
        assert_int_equal(f.unknown_bit, FRAME_PART_VITAL_BIT);
        assert_int_equal(f.seq, sample().seq);
    }
    for (int bit = 4; bit < 32; bit++) {
        size_t len = with_parts(m, NULL, 0);

        m[4 + bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_equal(frame_parse(&f, m, len, FRAME_POSE_CV, NULL),
                         bit < 16 ? 0 : ERR_UNSUPPORTED);
        assert_int_equal(f.unknown_bit, bit < 16 ? 0 : bit);
    }
}

/* A header of 88 bytes and entries of 20: what is longer than known is skipped. */
TEST(longer_headers_are_read)
{
    uint8_t m[MOST], longer[MOST] = {0};
    size_t len = with_parts(m, others, 1), at = 0;
    struct frame f;

    memcpy(longer, m, 80);
    longer[2] = 88;
    longer[30] = 20;
    memcpy(longer + 88, m + 80, 16);
    memcpy(longer + 108, m + 96, 16);
    at = 128;
    memcpy(longer + at, m + 112, len - 112);
    assert_int_equal(frame_parse(&f, longer, len + 16, FRAME_POSE_CV, NULL), 0);
    assert_memory_equal(f.payload, "hello", 5);
    assert_memory_equal(f.parts[0].data, "0123456789abcdef", 16);
}

TEST(each_part_has_its_bytes)
{
    static const struct {
        struct frame_part part;
        const char *where;
    } wrong[] = {
        {{FRAME_DEPTH, FRAME_RAW, 0, 4, 2, 0, 0, (const uint8_t *)"0123456789abcdef", 15}, "part"},
        {{FRAME_DEPTH, FRAME_PNG, 0, 4, 2, 0, 0, NULL, 0}, "part"},
        {{FRAME_DEPTH, FRAME_PNG, 0, 0, 2, 0, 0, (const uint8_t *)"x", 1}, "width"},
        {{FRAME_DEPTH, FRAME_PNG, 0, 2, 8193, 0, 0, (const uint8_t *)"x", 1}, "height"},
        {{FRAME_DEPTH, FRAME_PNG, 0, 2048, 1025, 0, 0, (const uint8_t *)"x", 1}, "width"},
        {{FRAME_CONFIDENCE, FRAME_RAW, 0, 4, 2, 0, 0, (const uint8_t *)"0123456789", 9}, "part"},
        {{FRAME_MASK, FRAME_RAW, 0, 9, 2, 0, 0, (const uint8_t *)"0123", 3}, "part"},
        {{FRAME_IMU, FRAME_RAW, 0, 0, 0, 0, 0, (const uint8_t *)"0", 1}, "part"},
        {{FRAME_GPS, FRAME_RAW, 0, 0, 0, 0, 0, (const uint8_t *)"0123456789", 10}, "part"}};
    struct frame_part many[FRAME_PARTS_MAX - 1];
    uint8_t m[MOST];
    struct frame f;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refused(m, with_parts(m, &wrong[i].part, 1), wrong[i].where, sample().seq);
    for (int i = 0; i < FRAME_PARTS_MAX - 1; i++)
        many[i] = others[4];
    assert_int_equal(
        frame_parse(&f, m, with_parts(m, many, FRAME_PARTS_MAX - 1), FRAME_POSE_CV, NULL), 0);
    assert_int_equal(f.n_parts, FRAME_PARTS_MAX - 1);
}

/* As if the client had sent the intrinsics of a declared camera with the frame. */
TEST(a_camera_is_written_into_the_header)
{
    const struct intrinsics K = {300, 301, 32, 24};
    struct frame f = sample(), g;
    uint8_t m[LEN];

    f.flags = 0;
    message(m, &f);
    frame_put_camera(m, &K);
    assert_int_equal(frame_parse(&g, m, LEN, FRAME_POSE_CV, NULL), 0);
    assert_int_equal(g.flags, FRAME_HAS_CAMERA);
    assert_memory_equal(&g.K, &K, sizeof K);
}

/* Exactly as long as it is, on the heap: a sanitizer sees a byte read too many. */
TEST(every_length_and_every_bit)
{
    struct frame f = sample(), g;
    uint8_t m[LEN];
    int accepted = 0;

    message(m, &f);
    for (size_t len = 0; len < LEN; len++) {
        uint8_t *cut = malloc(len ? len : 1);

        memcpy(cut, m, len);
        assert_int_equal(frame_parse(&g, cut, len, FRAME_POSE_OPENGL, NULL), ERR_INPUT);
        free(cut);
    }
    for (int bit = 0; bit < 8 * LEN; bit++) {
        m[bit / 8] ^= (uint8_t)(1 << bit % 8);
        if (frame_parse(&g, m, LEN, FRAME_POSE_OPENGL, NULL) == 0) {
            accepted++;
            for (int i = 0; i < 9; i++)
                assert_true(fabsf(g.T_wc.r[i]) <= 1.0001f);
        }
        m[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_true(accepted > 8 * PAYLOAD + 128 + 12); /* payload, seq, time; flags that say nothing */
    assert_true(accepted < 8 * LEN - 64);
}

/* A camera that looks along world -z, y up: its picture stands as it is; leaning, it is turned
 * once it leans by more than 50 degrees from what was, and not at all when it looks down. */
TEST(pictures_are_put_upright)
{
    const struct vec3 y_up = {0, 1, 0}, x_up = {1, 0, 0}, z_up = {0, 0, 1};

    for (int degrees = -180; degrees < 540; degrees++) {
        /* The camera is turned clockwise by so many degrees, as it is seen from behind: at 90 its x
         * axis points down, what is up lies at the picture's left, and the picture has to be turned
         * clockwise, too. */
        float c = cosf((float)degrees * 0.017453293f), s = sinf((float)degrees * 0.017453293f);
        const struct rigid T = {{c, -s, 0, -s, -c, 0, 0, 0, -1}, {1, 2, 3}};
        int nearest = (degrees + 360 + 45) / 90 % 4, off = (degrees + 360) % 90;

        if (off == 45)
            continue; /* two are as near */
        assert_int_equal(pose_turn(&T, y_up, -1), nearest);
        for (int last = 0; last < 4; last++) {
            int lean = abs((degrees + 720 + 180 - 90 * last) % 360 - 180);

            if (lean != 50)
                assert_int_equal(pose_turn(&T, y_up, last), lean < 50 ? last : nearest);
        }
    }
    {
        const struct rigid down = {{1, 0, 0, 0, 0, -1, 0, 1, 0}, {0, 0, 0}}; /* along -y */

        for (int last = 0; last < 4; last++)
            assert_int_equal(pose_turn(&down, y_up, last), last);
        assert_int_equal(pose_turn(&down, y_up, -1), 0);
        assert_int_equal(pose_turn(&down, x_up, -1), 3); /* up is to the right */
        assert_int_equal(pose_turn(&down, z_up, -1), 2); /* and down in the picture */
    }
}
