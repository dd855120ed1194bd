/* proto_control_start.c - a client's first message: there and back, what is refused and where */
#include "tests/support/control_case.h"
#include "tests/support/unit.h"

TEST(test_start)
{
    struct control_message m = {.op = CONTROL_START};

    m.start.role = CONTROL_VIEW;
    m.start.codecs = 1u << CODEC_RAW | 1u << CODEC_DEFLATE;
    m.start.pose = FRAME_POSE_CV;
    there_and_back(&m, "{\"op\":\"start\",\"role\":\"view\",\"codecs\":[\"deflate-raw\",\"raw\"],"
                       "\"pose\":\"cv\"}");
    m.start.resume = true;
    m.start.epoch = 4294967295u;
    m.start.reach.revision = 9223372036854775807u;
    there_and_back(&m, "{\"op\":\"start\",\"role\":\"view\",\"codecs\":[\"deflate-raw\",\"raw\"],"
                       "\"pose\":\"cv\",\"resume\":{\"epoch\":4294967295,"
                       "\"revision\":9223372036854775807}}");
    m.start.reach.part = true;
    m.start.reach.block = (struct cloud_name){4294967295u, KEY_BLOCK_MIN, 0, KEY_BLOCK_MAX};
    there_and_back(&m, "{\"op\":\"start\",\"role\":\"view\",\"codecs\":[\"deflate-raw\",\"raw\"],"
                       "\"pose\":\"cv\",\"resume\":{\"epoch\":4294967295,"
                       "\"revision\":9223372036854775807,"
                       "\"block\":[4294967295,-2097152,0,2097151]}}");
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

TEST(test_start_depth)
{
    struct control_message m = {.op = CONTROL_START};

    m.start.role = CONTROL_VIEW;
    m.start.codecs = 1u << CODEC_RAW;
    m.start.depth_every = 1;
    there_and_back(&m,
                   "{\"op\":\"start\",\"role\":\"view\",\"codecs\":[\"raw\"],\"pose\":\"opengl\","
                   "\"depth\":true}");
    m.start.depth_every = 4294967295u;
    there_and_back(&m,
                   "{\"op\":\"start\",\"role\":\"view\",\"codecs\":[\"raw\"],\"pose\":\"opengl\","
                   "\"depth\":{\"every\":4294967295}}");
    assert_int_equal(
        parse(&m, "{\"op\":\"start\",\"role\":\"view\",\"codecs\":[\"raw\"],\"depth\":false}",
              NULL),
        0);
    assert_int_equal(m.start.depth_every, 0);
    assert_int_equal(
        parse(&m,
              "{\"op\":\"start\",\"role\":\"view\",\"codecs\":[\"raw\"],\"depth\":{\"new\":[]}}",
              NULL),
        0);
    assert_int_equal(m.start.depth_every, 1);
    expect_wrong("{\"op\":\"start\",\"role\":\"view\",\"codecs\":[\"raw\"],\"depth\":1}", "/depth");
    expect_wrong("{\"op\":\"start\",\"role\":\"view\",\"codecs\":[\"raw\"],\"depth\":null}",
                 "/depth");
    expect_wrong(
        "{\"op\":\"start\",\"role\":\"view\",\"codecs\":[\"raw\"],\"depth\":{\"every\":0}}",
        "/depth/every");
    expect_wrong("{\"op\":\"start\",\"role\":\"view\",\"codecs\":[\"raw\"],\"depth\":{\"every\":"
                 "4294967296}}",
                 "/depth/every");
}

TEST(test_start_refused)
{
    static const char *const blocks[] = {
        "7",           "[0,0,0]",       "[0,0,0,0,0]",     "[-1,0,0,0]",      "[4294967296,0,0,0]",
        "[0,0,0,0.5]", "[0,0,\"0\",0]", "[0,2097152,0,0]", "[0,0,0,-2097153]"};
    char text[160];

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
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        snprintf(text, sizeof text,
                 "{\"op\":\"start\",\"role\":\"view\",\"codecs\":[\"raw\"],"
                 "\"resume\":{\"epoch\":1,\"revision\":2,\"block\":%s}}",
                 blocks[i]);
        expect_wrong(text, "/resume/block");
    }
}
