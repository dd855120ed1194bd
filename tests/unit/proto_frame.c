/* Byte readers and writers, transforms on the wire, and the frame message: every field, every
 * refusal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "proto/bytes.h"
#include "proto/wire/frame.h"
#include "proto/geom/pose.h"

#define PAYLOAD 5
#define LEN (FRAME_HEADER_BYTES + PAYLOAD)

/* ------------------------------------------------------------------------- bytes */

static void numbers_are_little_endian(void **state)
{
    const uint8_t want[] = {0xab, 0x34, 0x12, 0x78, 0x56, 0x34, 0x12, 0x88, 0x77, 0x66, 0x55, 0x44,
                            0x33, 0x22, 0x11, 0xfe, 0xff, 0xff, 0xff, 0x00, 0x00, 0x80, 0x3f};
    uint8_t buf[sizeof want];
    struct bytes_writer w = bytes_writer(buf, sizeof buf);
    struct bytes_reader r = bytes_reader(want, sizeof want);

    (void)state;
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

static void the_end_is_final(void **state)
{
    uint8_t buf[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct bytes_reader r = bytes_reader(buf, 3);
    struct bytes_writer w = bytes_writer(buf, 3);

    (void)state;
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

static void quarter_turns_by_hand(void **state)
{
    const float h = 0.70710678f;
    const float about_z[7] = {0, 0, h, h, 1, 2, 3}, about_x[7] = {h, 0, 0, h, 0, 0, 0};
    const float longer[7] = {0, 0, h * 1.009f, h * 1.009f, 0, 0, 0};
    struct rigid T;
    struct vec3 p;

    (void)state;
    assert_int_equal(get_pose(&T, about_z, 10), 0);
    p = rigid_apply(&T, vec3_make(1, 0, 0)); /* x goes to y */
    assert_true(fabsf(p.x - 1) < 1e-6f && fabsf(p.y - 3) < 1e-6f && fabsf(p.z - 3) < 1e-6f);
    assert_int_equal(get_pose(&T, about_x, 10), 0);
    p = rigid_apply(&T, vec3_make(0, 1, 0)); /* y goes to z */
    assert_true(fabsf(p.x) < 1e-6f && fabsf(p.y) < 1e-6f && fabsf(p.z - 1) < 1e-6f);
    assert_int_equal(get_pose(&T, longer, 10), 0); /* normalised */
    assert_true(fabsf(T.r[3] - 1) < 1e-6f);
}

static void bad_poses_are_refused(void **state)
{
    const float good[7] = {0, 0, 0, 1, 3, 4, 0};
    struct rigid T = rigid_identity(), before = T;

    (void)state;
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

static void every_rotation_survives(void **state)
{
    uint32_t seed = 12345;
    uint8_t buf[POSE_BYTES];

    (void)state;
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
    frame_encode_header(msg, f, FRAME_POSE_CV);
    memcpy(msg + FRAME_HEADER_BYTES, "hello", PAYLOAD);
}

static void fields_stand_where_the_table_says(void **state)
{
    struct frame f = sample(), g;
    uint8_t m[LEN];

    (void)state;
    message(m, &f);
    assert_int_equal(m[0], 1);
    assert_int_equal(m[1], 1);
    assert_int_equal(m[2], 80);
    assert_int_equal(m[4], 0x0b);
    assert_int_equal(m[8], 0x88);
    assert_int_equal(m[15], 0x11);
    assert_int_equal(m[16], 99);
    assert_int_equal(m[24] | m[25] << 8, 1280);
    assert_int_equal(m[26] | m[27] << 8, 720);
    assert_memory_equal(m + 28, "\x00\x00\x61\x44", 4); /* 900.0f */
    assert_memory_equal(m + 56, "\x00\x00\x80\x3f", 4); /* q w = 1 */
    assert_memory_equal(m + 64, "\x00\x00\xc0\x3f", 4); /* t y = 1.5 */
    assert_int_equal(m[72], 3);
    assert_int_equal(m[76], PAYLOAD);
    assert_int_equal(frame_parse(&g, m, LEN, FRAME_POSE_CV, NULL), 0);
    assert_ptr_equal(g.payload, m + 80);
    assert_int_equal(g.payload_len, PAYLOAD);
    assert_memory_equal(&g, &f, offsetof(struct frame, payload)); /* seq ... T_wc */
    assert_int_equal(frame_tracking(&g), FRAME_TRACKING_LIMITED);
}

/* The number alone is read of any header that is whole and of this version. */
static void the_number_is_read_alone(void **state)
{
    struct frame f = sample();
    uint64_t seq = 0;
    uint8_t m[LEN];

    (void)state;
    message(m, &f);
    m[76] ^= 1; /* a payload of another length is not looked at */
    assert_true(frame_get_seq(&seq, m, FRAME_HEADER_BYTES) && seq == f.seq);
    assert_false(frame_get_seq(&seq, m, FRAME_HEADER_BYTES - 1));
    for (int i = 0; i < 4; i++) { /* op, version, header_len */
        m[i] ^= 1;
        assert_false(frame_get_seq(&seq, m, LEN));
        m[i] ^= 1;
    }
}

/* An OpenGL camera looks along -z with y up: its forward is the server's +z, its up the server's
 * -y. */
static void opengl_axes_are_converted(void **state)
{
    struct frame f = sample(), g;
    uint8_t m[LEN];
    struct vec3 p;

    (void)state;
    message(m, &f); /* identity rotation on the wire */
    assert_int_equal(frame_parse(&g, m, LEN, FRAME_POSE_OPENGL, NULL), 0);
    p = rigid_apply(&g.T_wc, vec3_make(0, 0, 2));
    assert_true(p.x == 0 && p.y == 1.5f && p.z == -2);
    p = rigid_apply(&g.T_wc, vec3_make(1, 1, 0));
    assert_true(p.x == 1 && p.y == 0.5f && p.z == 0);
    frame_encode_header(m, &g, FRAME_POSE_OPENGL);
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

static void each_lie_is_named(void **state)
{
    static const struct {
        int at;
        uint8_t bytes[4];
        int n;
        const char *where;
    } lies[] = {{0, {2}, 1, "op"},
                {1, {2}, 1, "version"},
                {2, {81}, 1, "header_len"},
                {4, {0x1b}, 1, "flags"},
                {7, {0x80}, 1, "flags"},
                {24, {0, 0}, 2, "width"},
                {24, {1, 0x20}, 2, "width"}, /* 8193 */
                {26, {0, 0}, 2, "height"},
                {26, {1, 0x20}, 2, "height"},
                {28, {0, 0, 0, 0}, 4, "camera"},             /* fx = 0 */
                {28, {0xff, 0xff, 0x7f, 0x3f}, 4, "camera"}, /* just below 1 */
                {32, {0, 0, 0x80, 0xbf}, 4, "camera"},       /* fy = -1 */
                {28, {0, 0, 0xc0, 0x7f}, 4, "camera"},       /* NaN */
                {36, {0, 0, 0x80, 0x7f}, 4, "camera"},       /* inf */
                {40, {0, 0, 0x80, 0x7e}, 4, "camera"},       /* 8.5e37 */
                {44, {0, 0, 0xc0, 0x7f}, 4, "pose"},         /* NaN */
                {56, {0, 0, 0, 0}, 4, "pose"},               /* q = 0 */
                {60, {0, 0x50, 0xc3, 0x4f}, 4, "pose"},      /* 6.5e9 m */
                {76, {PAYLOAD + 1}, 1, "payload_len"},
                {76, {PAYLOAD - 1}, 1, "payload_len"},
                {79, {0xff}, 1, "payload_len"}};
    struct frame f = sample();
    uint8_t m[LEN];

    (void)state;
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        message(m, &f);
        memcpy(m + lies[i].at, lies[i].bytes, (size_t)lies[i].n);
        /* the seq is answered, so that an ack can name it, from the moment the header is one */
        refused(m, LEN, lies[i].where, lies[i].at < 4 ? 0 : f.seq);
    }
    message(m, &f);
    m[76] = 0;
    refused(m, FRAME_HEADER_BYTES, "payload_len", f.seq); /* no picture at all */
}

static void undeclared_fields_are_not_looked_at(void **state)
{
    struct frame f = sample(), g;
    uint8_t m[LEN];

    (void)state;
    message(m, &f);
    m[4] = 0;
    memset(m + 28, 0xff, 44); /* NaN everywhere */
    assert_int_equal(frame_parse(&g, m, LEN, FRAME_POSE_OPENGL, NULL), 0);
    assert_true(g.K.fx == 0 && g.K.cy == 0);
    assert_true(g.T_wc.r[0] == 1 && g.T_wc.r[4] == 1 && g.T_wc.t[1] == 0);
}

/* Exactly as long as it is, on the heap: a sanitizer sees a byte read too many. */
static void every_length_and_every_bit(void **state)
{
    struct frame f = sample(), g;
    uint8_t m[LEN];
    int accepted = 0;

    (void)state;
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
    assert_true(accepted > 8 * PAYLOAD + 128); /* payload, seq and time may be anything */
    assert_true(accepted < 8 * LEN - 64);
}

/* A camera that looks along world -z, y up: its picture stands as it is; leaning, it is turned
 * once it leans by more than 60 degrees from what was, and not at all when it looks down. */
static void pictures_are_put_upright(void **state)
{
    const struct vec3 y_up = {0, 1, 0}, x_up = {1, 0, 0}, z_up = {0, 0, 1};

    (void)state;
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

            if (lean != 60)
                assert_int_equal(pose_turn(&T, y_up, last), lean < 60 ? last : nearest);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_little_endian),
        cmocka_unit_test(the_end_is_final),
        cmocka_unit_test(quarter_turns_by_hand),
        cmocka_unit_test(bad_poses_are_refused),
        cmocka_unit_test(every_rotation_survives),
        cmocka_unit_test(fields_stand_where_the_table_says),
        cmocka_unit_test(the_number_is_read_alone),
        cmocka_unit_test(opengl_axes_are_converted),
        cmocka_unit_test(each_lie_is_named),
        cmocka_unit_test(pictures_are_put_upright),
        cmocka_unit_test(undeclared_fields_are_not_looked_at),
        cmocka_unit_test(every_length_and_every_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
