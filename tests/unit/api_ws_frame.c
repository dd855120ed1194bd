/* api_ws_frame.c - frames without a socket: however the bytes come, the same is told of them */
#include "api/server/ws_frame.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static struct {
    struct ws_frame_reader reader;
    char told[4096]; /* what the reader said, as text */
    size_t n;
} t;

static void note(const struct ws_frame *f)
{
    size_t room = sizeof t.told - t.n;

    if (f->event == WS_FRAME_CONTROL)
        t.n += (size_t)snprintf(t.told + t.n, room, "<%d %.*s>", (int)f->op, (int)f->len,
                                (const char *)f->data);
    else if (f->event == WS_FRAME_BROKEN)
        t.n += (size_t)snprintf(t.told + t.n, room, "! %s", f->why);
    else if (f->event == WS_FRAME_PART)
        t.n += (size_t)snprintf(t.told + t.n, room, "%s%.*s%s",
                                !f->first   ? ""
                                : f->binary ? "b("
                                            : "t(",
                                (int)f->len, (const char *)f->data, f->final ? ")" : "");
}

/* In pieces of so many bytes. */
static const char *tell(const void *bytes, size_t len, size_t piece)
{
    uint8_t copy[512];
    struct ws_frame f = {0};

    assert_true(len <= sizeof copy);
    memcpy(copy, bytes, len);
    memset(&t, 0, sizeof t);
    for (size_t at = 0; at < len && f.event != WS_FRAME_BROKEN; at += piece)
        for (size_t n = len - at < piece ? len - at : piece, used = 0;
             used < n && f.event != WS_FRAME_BROKEN;) {
            size_t more = ws_frame_read(&t.reader, &f, copy + at + used, n - used);

            assert_true(more > 0 && more <= n - used);
            used += more;
            note(&f);
        }
    return t.told;
}

static void expect(const void *bytes, size_t len, const char *told)
{
    for (size_t piece = 1; piece <= len; piece++)
        assert_string_equal(tell(bytes, len, piece), told);
}

#define EXPECT(bytes, told) expect(bytes, sizeof bytes - 1, told)
#define KEY "\x01\x02\x03\x04" /* 'a' ^ 1 is '`', 'b' ^ 2 is '`', 'c' ^ 3 is '`', 'd' ^ 4 is '`' */

TEST(test_messages)
{
    EXPECT("\x82\x84" KEY "````", "b(abcd)");
    EXPECT("\x81\x85" KEY "`````", "t(abcda)");
    EXPECT("\x81\x80" KEY, "t()");
    EXPECT("\x01\x82" KEY "``\x00\x80" KEY "\x80\x82" KEY "``", "t(abab)");
    EXPECT("\x02\x82" KEY "``\x89\x82" KEY "``\x80\x81" KEY "`\x8a\x80" KEY, "b(ab<9 ab>a)<10 >");
    EXPECT("\x81\x81" KEY "`\x88\x82" KEY "``", "t(a)<8 ab>");
    EXPECT("\x00\x80" KEY, "! a fragment of no message");
}

TEST(test_what_no_client_may_send)
{
    EXPECT("\x81\x04", "! a frame that is not masked");
    EXPECT("\x89\x00", "! a frame that is not masked");
    EXPECT("\xc1\x84", "! a reserved bit is set");
    EXPECT("\xa1\x84", "! a reserved bit is set");
    EXPECT("\x91\x84", "! a reserved bit is set");
    EXPECT("\x83\x84", "! an opcode that there is not");
    EXPECT("\x87\x84", "! an opcode that there is not");
    EXPECT("\x8b\x84", "! an opcode that there is not");
    EXPECT("\x8f\x84", "! an opcode that there is not");
    EXPECT("\x09\x80", "! a control frame in fragments");
    EXPECT("\x08\x80", "! a control frame in fragments");
    EXPECT("\x89\xfe", "! a control frame of more than 125 bytes");
    EXPECT("\x88\xff", "! a control frame of more than 125 bytes");
    EXPECT("\x80\x84", "! a fragment of no message");
    EXPECT("\x81\x81" KEY "`\x80\x80", "t(a)! a fragment of no message");
    EXPECT("\x01\x81" KEY "`\x81\x80", "t(a! a message in the middle of another");
    EXPECT("\x02\x81" KEY "`\x01\x80", "b(a! a message in the middle of another");
    EXPECT("\x82\xfe\x00\x7d" KEY, "! a length that is not written as it must be");
    EXPECT("\x82\xff\x00\x00\x00\x00\x00\x00\xff\xff" KEY,
           "! a length that is not written as it must be");
    EXPECT("\x82\xff\x80\x00\x00\x00\x00\x00\x00\x00" KEY,
           "! a length that is not written as it must be");
}

/* A length is told with the first byte of its payload, so that too much is refused at once. */
TEST(test_lengths)
{
    static const struct {
        const char *head;
        size_t len;
        uint64_t payload;
    } cases[] = {{"\x82\xfd" KEY "a", 7, 125},
                 {"\x82\xfe\x00\x7e" KEY "a", 9, 126},
                 {"\x82\xfe\xff\xff" KEY "a", 9, 65535},
                 {"\x82\xff\x00\x00\x00\x00\x00\x01\x00\x00" KEY "a", 15, 65536},
                 {"\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff" KEY "a", 15, INT64_MAX}};
    uint8_t head[WS_FRAME_HEAD_MAX];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ws_frame_reader r = {0};
        struct ws_frame f;
        uint8_t copy[15];

        memcpy(copy, cases[i].head, cases[i].len);
        assert_int_equal(ws_frame_read(&r, &f, copy, cases[i].len), cases[i].len);
        assert_int_equal(f.event, WS_FRAME_PART);
        assert_int_equal(f.remaining, cases[i].payload - 1);
        assert_false(f.final);
    }
    for (size_t i = 0; i < 4; i++) { /* ours are written in the same way, but not masked */
        size_t key_at = i == 0 ? 2 : i < 3 ? 4 : 10;

        assert_int_equal(ws_frame_head(head, WS_FRAME_BINARY, (size_t)cases[i].payload), key_at);
        head[1] |= 0x80;
        assert_memory_equal(head, cases[i].head, key_at);
    }
}

/* Long payloads are unmasked eight bytes at a time, from any byte of the key on. */
TEST(test_any_length_and_place_of_the_key)
{
    for (size_t len = 0; len <= 125; len++)
        for (size_t piece = 1; piece < 40; piece++) {
            uint8_t bytes[6 + 125] = {0x82, (uint8_t)(0x80 | len), 1, 2, 3, 4};
            char want[160];

            for (size_t i = 0; i < len; i++)
                bytes[6 + i] = (uint8_t)(('a' + i % 26) ^ bytes[2 + i % 4]);
            snprintf(
                want, sizeof want, "b(%.*s)", (int)len,
                "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz"
                "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz");
            assert_string_equal(tell(bytes, 6 + len, piece), want);
        }
}
