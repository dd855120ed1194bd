/* proto_json.c - bounded reading with pointers to what is wrong, and writing without allocation */
#include "proto/json.h"
#include "tests/support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int parse(const char *text, size_t len, int depth, struct err *err)
{
    struct json *doc;
    int rc = json_parse(&doc, text, len, depth, err);

    if (rc)
        assert_null(doc);
    else
        json_free(&doc);
    assert_null(doc);
    return rc;
}

TEST(test_what_is_no_object)
{
    static const struct {
        const char *text;
        size_t len;
    } bad[] = {{"", 0},
               {"7", 1},
               {"7\0", 2}, /* jansson alone would take this */
               {"\"a\"", 3},
               {"null", 4},
               {"[]", 2},
               {"{", 1},
               {"{}x", 3},
               {"{}\0", 3},
               {"{\"a\":1,}", 8},
               {"{'a':1}", 7},
               {"{\"a\":1,\"a\":1}", 13},
               {"{\"a\":\"\\u0000\"}", 14},
               {"{\"a\":\"\0\"}", 9},
               {"{\"a\":\"\\ud800\"}", 14},
               {"{\"a\":1e999}", 11},
               {"{\"a\":99999999999999999999}", 26},
               {"{\"a\":NaN}", 9},
               {"{\"a\":01}", 8}};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err err = {0};
        if (parse(bad[i].text, bad[i].len, 8, &err) != ERR_INPUT)
            fail_msg("%s was taken", bad[i].text);
        assert_true(err.text[0] != '\0');
    }
    assert_int_equal(parse(" {\"a\" : [1, -2.5e3, true, null, \"\\u00e9\"]}\n", 43, 8, NULL), 0);
}

TEST(test_depth)
{
    struct err err = {0};
    char deep[4096];

    assert_int_equal(parse("{\"a\":[{}]}", 10, 3, &err), 0);
    assert_int_equal(parse("{\"a\":[{}]}", 10, 2, &err), ERR_LIMIT);
    assert_int_equal(parse("{\"a\":\"[[[[[[\\\"[[\"}", 18, 1, &err), 0); /* brackets in a text */
    memset(deep, '[', sizeof deep);
    memcpy(deep, "{\"a\":", 5);
    assert_int_equal(parse(deep, sizeof deep, 8, &err), ERR_LIMIT);
}

/* Edges of the table of RFC 3629, section 4. */
TEST(test_utf8)
{
    static const char *const good[] = {"",
                                       "abc",
                                       "\xc2\x80",
                                       "\xdf\xbf",
                                       "\xe0\xa0\x80",
                                       "\xed\x9f\xbf",
                                       "\xee\x80\x80",
                                       "\xef\xbf\xbf",
                                       "\xf0\x90\x80\x80",
                                       "\xf4\x8f\xbf\xbf"};
    static const char *const bad[] = {
        "\x80",         "\xc0\x80",         "\xc1\xbf",         "\xe0\x9f\xbf",
        "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
        "\xc2",         "\xe2\x82",         "\xf0\x90\x80",     "a\xff",
        "\xe2\x28\xa1", "\xf0\x90\x28\xbc"};

    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(json_utf8(good[i], strlen(good[i])));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err err = {0};
        assert_false(json_utf8(bad[i], strlen(bad[i])));
        assert_int_equal(parse(bad[i], strlen(bad[i]), 8, &err), ERR_INPUT);
        assert_string_equal(err.where, "utf8");
    }
    assert_false(json_utf8("\xe2\x82\xac", 2)); /* cut */
}

TEST(test_typed_members)
{
    static const char text[] =
        "{\"t\":\"hey\",\"b\":true,\"i\":-7,\"u\":9007199254740993,\"f\":0.25,\"n\":3,"
        "\"c\":\"blue\",\"m\":{\"x\":1},\"z\":null}";
    static const char *const colours[] = {"red", "blue", NULL};
    struct json_issues issues = {0};
    struct json *doc;
    struct json_at at, m;
    char t[4] = "";
    bool b = false;
    int i = 0, c = 0, x = 0, untouched = 42;
    uint64_t u = 0;
    float f = 0, n = 0;

    assert_int_equal(json_parse(&doc, text, sizeof text - 1, 8, NULL), 0);
    at = json_at(doc, &issues);
    assert_true(json_get_text(&at, "t", t, sizeof t));
    assert_string_equal(t, "hey");
    assert_true(json_get_bool(&at, "b", &b) && b);
    assert_true(json_get_int(&at, "i", &i, -10, 10) && i == -7);
    assert_true(json_get_u64(&at, "u", &u, 0, UINT64_MAX) && u == 9007199254740993u);
    assert_true(json_get_f32(&at, "f", &f, 0, 1) && f == 0.25f);
    assert_true(json_get_f32(&at, "n", &n, 0, 9) && n == 3.0f);
    assert_true(json_get_choice(&at, "c", &c, colours) && c == 1);
    assert_true(json_get_map(&at, "m", &m) && json_get_int(&m, "x", &x, 0, 9) && x == 1);
    assert_int_equal(issues.n, 0);
    /* absent: no error, and nothing written */
    assert_false(json_get_int(&at, "absent", &untouched, 0, 9));
    assert_int_equal(issues.n, 0);
    /* null is a value of the wrong type */
    assert_false(json_get_int(&at, "z", &untouched, 0, 9));
    assert_int_equal(issues.n, 1);
    assert_int_equal(untouched, 42);
    assert_string_equal(issues.at[0].pointer, "/z");
    json_free(&doc);
}

TEST(test_issues)
{
    static const char text[] = "{\"t\":\"long\",\"b\":1,\"i\":11,\"u\":-1,\"f\":2,\"c\":\"green\","
                               "\"m\":{\"a/b~c\":\"x\"},\"l\":[]}";
    static const char *const colours[] = {"red", "blue", NULL}, *const none[] = {NULL};
    struct json_issues issues = {0};
    struct json *doc;
    struct json_at at, m;
    struct err err = {0};
    char t[4] = "old";
    bool b;
    int i, c;
    uint64_t u;
    float f;

    assert_int_equal(json_parse(&doc, text, sizeof text - 1, 8, NULL), 0);
    at = json_at(doc, &issues);
    assert_false(json_get_text(&at, "t", t, sizeof t));
    assert_string_equal(t, "old");
    assert_false(json_get_bool(&at, "b", &b));
    assert_false(json_get_int(&at, "i", &i, -10, 10));
    assert_false(json_get_u64(&at, "u", &u, 0, 9));
    assert_false(json_get_f32(&at, "f", &f, 0, 1));
    assert_false(json_get_choice(&at, "c", &c, colours));
    assert_string_equal(issues.at[5].detail, "must be one of \"red\", \"blue\"");
    assert_true(json_get_map(&at, "m", &m));
    json_only(&m, none);
    assert_string_equal(issues.at[6].pointer, "/m/a~1b~0c"); /* RFC 6901 */
    json_require(&m, "q");
    assert_string_equal(issues.at[7].pointer, "/m/q");
    assert_false(json_get_map(&at, "l", &m)); /* more than are kept are still counted */
    assert_int_equal(issues.n, 9);
    assert_int_equal(json_issues_err(&issues, &err), ERR_INPUT);
    assert_string_equal(err.where, "/t");
    assert_string_equal(err.text, "must have at most 3 bytes");
    json_free(&doc);
}

TEST(test_long_pointer_is_cut_at_a_character)
{
    char text[400] = "{\"";
    static const char *const none[] = {NULL};
    struct json_issues issues = {0};
    struct json *doc;
    struct json_at at;

    for (int i = 0; i < 60; i++)
        strcat(text, "\xe2\x82\xac");
    strcat(text, "\":1}");
    assert_int_equal(json_parse(&doc, text, strlen(text), 8, NULL), 0);
    at = json_at(doc, &issues);
    json_only(&at, none);
    assert_int_equal(issues.n, 1);
    assert_true(strlen(issues.at[0].pointer) > 60);
    assert_true(json_utf8(issues.at[0].pointer, strlen(issues.at[0].pointer)));
    json_free(&doc);
}

TEST(test_lists_and_keys)
{
    static const char text[] = "{\"one\":[1,2.5,\"x\",{}],\"two\":2}";
    const struct json *list, *value = NULL;
    struct json *doc;

    assert_int_equal(json_parse(&doc, text, sizeof text - 1, 8, NULL), 0);
    list = json_member(doc, "one");
    assert_int_equal(json_count(list), 4);
    assert_int_equal(json_i64(json_item(list, 0)), 1);
    assert_true(json_f64(json_item(list, 1)) == 2.5);
    assert_string_equal(json_text(json_item(list, 2)), "x");
    assert_int_equal(json_kind(json_item(list, 3)), JSON_KIND_MAP);
    assert_null(json_item(list, 4));
    assert_int_equal(json_kind(json_item(list, 4)), JSON_KIND_NONE);
    assert_string_equal(json_text(json_item(list, 0)), "");
    assert_int_equal(json_count(doc), 2);
    assert_string_equal(json_key(doc, 1, &value), "two");
    assert_int_equal(json_i64(value), 2);
    assert_null(json_key(doc, 2, NULL));
    assert_int_equal(json_count(NULL), 0);
    assert_null(json_member(NULL, "a"));
    json_free(&doc);
}

/* ------------------------------------------------------------------------------- writing */

static void write_all(struct json_writer *w)
{
    json_open_map(w, NULL);
    json_put_text(w, "t", "a\"\\\n\x01\xe2\x82\xac");
    json_open_list(w, "l");
    json_put_u64(w, NULL, UINT64_MAX);
    json_put_i64(w, NULL, INT64_MIN);
    json_put_f32(w, NULL, 0.001f);
    json_put_f32(w, NULL, NAN);
    json_open_map(w, NULL);
    json_close(w);
    json_close(w);
    json_put_bool(w, "b", false);
    json_put_hex64(w, "h", 0xabc);
    json_put_time(w, "d", 951827696.5); /* 29 February */
    json_close(w);
}

static const char written[] =
    "{\"t\":\"a\\\"\\\\\\u000a\\u0001\xe2\x82\xac\",\"l\":[18446744073709551615,"
    "-9223372036854775808,0.001,null,{}],\"b\":false,\"h\":\"0000000000000abc\","
    "\"d\":\"2000-02-29T12:34:56.500Z\"}";

TEST(test_writer)
{
    char buf[512];
    struct json_writer w = json_writer(buf, sizeof buf);

    write_all(&w);
    assert_int_equal(json_finish(&w), sizeof written - 1);
    assert_string_equal(buf, written);
}

/* Every room that is too small gives 0 and nothing beyond it is touched. */
TEST(test_writer_bounds)
{
    char buf[sizeof written + 8];

    for (size_t cap = 0; cap <= sizeof written; cap++) {
        struct json_writer w;
        memset(buf, 'x', sizeof buf);
        w = json_writer(buf, cap);
        write_all(&w);
        assert_int_equal(json_finish(&w), cap == sizeof written ? sizeof written - 1 : 0);
        for (size_t i = cap; i < sizeof buf; i++)
            assert_int_equal(buf[i], 'x');
    }
}

TEST(test_writer_misuse)
{
    char buf[256];
    struct json_writer w = json_writer(buf, sizeof buf);

    json_open_map(&w, NULL);
    assert_int_equal(json_finish(&w), 0); /* a level is open */
    json_put_u64(&w, NULL, 1);            /* a member without a key */
    json_close(&w);
    assert_int_equal(json_finish(&w), 0);
    w = json_writer(buf, sizeof buf);
    json_open_list(&w, NULL);
    json_put_u64(&w, "key", 1);
    json_close(&w);
    assert_int_equal(json_finish(&w), 0);
    w = json_writer(buf, sizeof buf);
    json_close(&w);
    assert_int_equal(json_finish(&w), 0);
    w = json_writer(buf, sizeof buf);
    for (int i = 0; i < JSON_WRITE_DEPTH_MAX + 1; i++)
        json_open_list(&w, NULL);
    for (int i = 0; i < JSON_WRITE_DEPTH_MAX + 1; i++)
        json_close(&w);
    assert_int_equal(json_finish(&w), 0);
}

TEST(test_writer_mends_bad_utf8)
{
    char buf[64];
    struct json_writer w = json_writer(buf, sizeof buf);

    json_open_list(&w, NULL);
    json_put_text(&w, NULL, "a\xff\xe2\x82");
    json_close(&w);
    assert_true(json_finish(&w) > 0);
    assert_string_equal(buf, "[\"a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"]");
}

/* What is printed reads back as the same float. */
TEST(test_floats_round_trip)
{
    uint32_t bits = 1;
    char buf[64];

    for (int i = 0; i < 20000; i++) {
        struct json_writer w = json_writer(buf, sizeof buf);
        float v;
        bits = bits * 1664525u + 1013904223u;
        memcpy(&v, &bits, 4);
        if (!isfinite(v))
            continue;
        json_open_list(&w, NULL);
        json_put_f32(&w, NULL, v);
        json_close(&w);
        assert_true(json_finish(&w) > 0);
        assert_true(strtof(buf + 1, NULL) == v);
    }
}
