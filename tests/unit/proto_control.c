/* proto_control.c - control messages: every op there and back, what is refused and where */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "proto/wire/control.h"

#include <stdio.h>
#include <string.h>

static int parse(struct control_message *m, const char *text, struct err *err)
{
    return control_parse(m, text, strlen(text), err);
}

static void expect_wrong(const char *text, const char *pointer)
{
    struct control_message m = {.op = CONTROL_BYE};
    struct err err = {0};

    if (parse(&m, text, &err) != ERR_INPUT || strcmp(err.where, pointer) != 0)
        fail_msg("%s: \"%s\" %s", text, err.where, err.text);
    assert_int_equal(m.op, CONTROL_BYE); /* untouched */
}

static void there_and_back(const struct control_message *m, const char *text)
{
    char buf[CONTROL_TEXT_MAX], again[CONTROL_TEXT_MAX];
    struct control_message back;
    struct err err = {0};
    size_t len = control_write(buf, sizeof buf, m);

    assert_string_equal(buf, text);
    assert_int_equal(len, strlen(text));
    if (parse(&back, text, &err))
        fail_msg("%s: %s", text, err.text);
    assert_int_equal(back.op, m->op);
    assert_int_equal(control_write(again, sizeof again, &back), len);
    assert_string_equal(again, text);
    for (size_t cap = 0; cap <= len; cap++)
        assert_int_equal(control_write(buf, cap, m), 0);
}

static void test_start(void **state)
{
    struct control_message m = {.op = CONTROL_START};

    (void)state;
    m.start.role = CONTROL_VIEW;
    m.start.codecs = 1u << CODEC_RAW | 1u << CODEC_ZSTD;
    m.start.pose = FRAME_POSE_CV;
    there_and_back(&m, "{\"op\":\"start\",\"role\":\"view\",\"codecs\":[\"zstd\",\"raw\"],"
                       "\"pose\":\"cv\"}");
    m.start.resume = true;
    m.start.epoch = 4294967295u;
    m.start.revision = 9223372036854775807u;
    there_and_back(&m, "{\"op\":\"start\",\"role\":\"view\",\"codecs\":[\"zstd\",\"raw\"],"
                       "\"pose\":\"cv\",\"resume\":{\"epoch\":4294967295,"
                       "\"revision\":9223372036854775807}}");
    assert_int_equal(parse(&m,
                           "{\"op\":\"start\",\"role\":\"ingest\",\"codecs\":[\"later\",\"raw\"],"
                           "\"new\":[1]}",
                           NULL),
                     0); /* a later client's members and codecs are passed over */
    assert_int_equal(m.start.codecs, 1u << CODEC_RAW);
    assert_int_equal(m.start.role, CONTROL_INGEST);
    assert_int_equal(m.start.pose, FRAME_POSE_OPENGL);
    assert_false(m.start.resume);
}

static void test_start_refused(void **state)
{
    (void)state;
    expect_wrong("{\"op\":\"start\",\"codecs\":[\"raw\"]}", "/role");
    expect_wrong("{\"op\":\"start\",\"role\":\"view\"}", "/codecs");
    expect_wrong("{\"op\":\"start\",\"role\":\"boss\",\"codecs\":[\"raw\"]}", "/role");
    expect_wrong("{\"op\":\"start\",\"role\":\"view\",\"codecs\":\"raw\"}", "/codecs");
    expect_wrong("{\"op\":\"start\",\"role\":\"view\",\"codecs\":[]}", "/codecs");
    expect_wrong("{\"op\":\"start\",\"role\":\"view\",\"codecs\":[\"later\"]}", "/codecs");
    expect_wrong("{\"op\":\"start\",\"role\":\"view\",\"codecs\":[1]}", "/codecs");
    expect_wrong("{\"op\":\"start\",\"role\":\"view\",\"codecs\":[\"raw\"],\"pose\":\"gl\"}",
                 "/pose");
    expect_wrong("{\"op\":\"start\",\"role\":\"view\",\"codecs\":[\"raw\"],\"resume\":1}",
                 "/resume");
    expect_wrong(
        "{\"op\":\"start\",\"role\":\"view\",\"codecs\":[\"raw\"],\"resume\":{\"epoch\":1}}",
        "/resume/revision");
    expect_wrong("{\"op\":\"start\",\"role\":\"view\",\"codecs\":[\"raw\"],"
                 "\"resume\":{\"epoch\":4294967296,\"revision\":0}}",
                 "/resume/epoch");
}

static void test_need(void **state)
{
    struct control_message m = {.op = CONTROL_NEED};

    (void)state;
    m.need = (struct cloud_name){.submap = 4294967295u, .x = INT32_MIN, .y = 0, .z = INT32_MAX};
    there_and_back(&m, "{\"op\":\"need\",\"submap\":4294967295,\"x\":-2147483648,\"y\":0,"
                       "\"z\":2147483647}");
    expect_wrong("{\"op\":\"need\",\"submap\":0,\"x\":0,\"y\":0}", "/z");
    expect_wrong("{\"op\":\"need\",\"submap\":-1,\"x\":0,\"y\":0,\"z\":0}", "/submap");
    expect_wrong("{\"op\":\"need\",\"submap\":0,\"x\":2147483648,\"y\":0,\"z\":0}", "/x");
    expect_wrong("{\"op\":\"need\",\"submap\":0,\"x\":0,\"y\":0.5,\"z\":0}", "/y");
}

static void test_answers_of_the_server(void **state)
{
    struct control_message m = {.op = CONTROL_READY};

    (void)state;
    strcpy(m.ready.session, "abc");
    m.ready.epoch = 3;
    m.ready.revision = 77;
    m.ready.codec = CODEC_DEFLATE;
    m.ready.step_m = 0.001f;
    m.ready.window = 8;
    m.ready.max_frame_bytes = 8388608;
    m.ready.net_w = 256;
    m.ready.net_h = 192;
    there_and_back(&m, "{\"op\":\"ready\",\"session\":\"abc\",\"epoch\":3,\"revision\":77,"
                       "\"codec\":\"deflate-raw\",\"step_m\":0.001,\"window\":8,"
                       "\"max_frame_bytes\":8388608,\"net\":[256,192]}");
    memset(&m, 0, sizeof m);
    m.op = CONTROL_SYNC;
    m.sync.revision = 5;
    m.sync.points = 1000;
    m.sync.hash = 0xfedcba9876543210u;
    there_and_back(&m, "{\"op\":\"sync\",\"revision\":5,\"points\":1000,"
                       "\"hash\":\"fedcba9876543210\"}");
    m.sync.ended = true;
    there_and_back(&m, "{\"op\":\"sync\",\"revision\":5,\"points\":1000,"
                       "\"hash\":\"fedcba9876543210\",\"ended\":true}");
    memset(&m, 0, sizeof m);
    m.op = CONTROL_ERROR;
    m.error.status = 422;
    strcpy(m.error.title, "T");
    strcpy(m.error.detail, "D \"quoted\"");
    there_and_back(&m, "{\"op\":\"error\",\"status\":422,\"title\":\"T\","
                       "\"detail\":\"D \\\"quoted\\\"\"}");
    memset(&m, 0, sizeof m);
    m.op = CONTROL_BYE;
    m.bye.action = CONTROL_RECONNECT;
    m.bye.retry_ms = 1500;
    strcpy(m.bye.reason, "drain");
    there_and_back(&m, "{\"op\":\"bye\",\"action\":\"reconnect\",\"retry_ms\":1500,"
                       "\"reason\":\"drain\"}");
    m.op = CONTROL_END;
    there_and_back(&m, "{\"op\":\"end\"}");
    expect_wrong("{\"op\":\"sync\",\"revision\":5,\"points\":1,\"hash\":\"FEDCBA9876543210\"}",
                 "/hash");
    expect_wrong("{\"op\":\"sync\",\"revision\":5,\"points\":1,\"hash\":\"0x1\"}", "/hash");
    expect_wrong("{\"op\":\"bye\"}", "/action");
}

/* Every reason has its own name, and each comes back as itself. */
static void test_acks(void **state)
{
    (void)state;
    for (int r = CONTROL_REASON_NONE; control_reason_name(r)[0] || r == 0; r++) {
        struct control_message m = {.op = CONTROL_ACK}, back;
        char buf[256];
        m.ack.seq = 12;
        m.ack.status = r ? CONTROL_REFUSED : CONTROL_USED;
        m.ack.reason = (enum control_reason)r;
        m.ack.keyframe = r == 0;
        assert_true(control_write(buf, sizeof buf, &m) > 0);
        assert_int_equal(parse(&back, buf, NULL), 0);
        assert_int_equal(back.ack.seq, 12);
        assert_int_equal(back.ack.reason, r);
        assert_int_equal(back.ack.keyframe, r == 0);
        for (int other = 0; other < r; other++)
            assert_string_not_equal(control_reason_name(other), control_reason_name(r));
    }
    assert_string_equal(control_reason_name(CONTROL_MEMORY), "memory");
    assert_string_equal(control_reason_name((enum control_reason)99), "");
    expect_wrong("{\"op\":\"ack\",\"status\":\"used\"}", "/seq");
    expect_wrong("{\"op\":\"ack\",\"seq\":1,\"status\":\"eaten\"}", "/status");
    expect_wrong("{\"op\":\"ack\",\"seq\":1,\"status\":\"used\",\"keyframe\":1}", "/keyframe");
}

static void test_limits(void **state)
{
    char text[CONTROL_TEXT_MAX + 2];
    struct control_message m;
    struct err err = {0};

    (void)state;
    memset(text, ' ', sizeof text);
    memcpy(text, "{\"op\":\"end\"}", 12);
    assert_int_equal(control_parse(&m, text, CONTROL_TEXT_MAX, &err), 0);
    assert_int_equal(control_parse(&m, text, CONTROL_TEXT_MAX + 1, &err), ERR_LIMIT);
    assert_int_equal(parse(&m, "{\"op\":\"end\",\"a\":[[[[[[[[]]]]]]]]}", &err), ERR_LIMIT);
    expect_wrong("{}", "/op");
    expect_wrong("{\"op\":\"dance\"}", "/op");
    expect_wrong("{\"op\":[\"end\"]}", "/op");
    expect_wrong("{\"op\":\"en\xff\"}", "utf8");
}

/* Every message in the ```json blocks of the page is taken, and written the same way. */
static void test_documented_messages(void **state)
{
    FILE *page = fopen("docs/PROTOCOL.md", "r");
    char line[1024], again[1024];
    bool inside = false;
    int seen[CONTROL_BYE + 1] = {0};

    (void)state;
    if (!page) {
        print_message("not started in the top folder\n");
        skip();
    }
    while (fgets(line, sizeof line, page)) {
        struct control_message m;
        struct err err = {0};
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "```", 3) == 0)
            inside = strcmp(line, "```json") == 0;
        else if (inside) {
            if (parse(&m, line, &err))
                fail_msg("%s: %s %s", line, err.where, err.text);
            seen[m.op]++;
            assert_true(control_write(again, sizeof again, &m) > 0);
            assert_string_equal(again, line);
        }
    }
    fclose(page);
    for (int op = 0; op <= CONTROL_BYE; op++)
        assert_true(seen[op] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_start),
        cmocka_unit_test(test_start_refused),
        cmocka_unit_test(test_need),
        cmocka_unit_test(test_answers_of_the_server),
        cmocka_unit_test(test_acks),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_documented_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
