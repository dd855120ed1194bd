/* proto_control.c - control messages: every op there and back, what is refused and where */
#include "tests/support/control_case.h"
#include "tests/support/unit.h"

TEST(test_times)
{
    struct control_message m = {.op = CONTROL_PING};

    m.pong.t = 9007199254740991u;
    there_and_back(&m, "{\"op\":\"ping\",\"t\":9007199254740991}");
    m.op = CONTROL_PONG;
    m.pong.server_us = 12;
    there_and_back(&m, "{\"op\":\"pong\",\"t\":9007199254740991,\"server_us\":12}");
    expect_wrong("{\"op\":\"ping\"}", "/t");
    expect_wrong("{\"op\":\"ping\",\"t\":9007199254740992}", "/t");
    expect_wrong("{\"op\":\"ping\",\"t\":-1}", "/t");
    expect_wrong("{\"op\":\"ping\",\"t\":\"1\"}", "/t");
    expect_wrong("{\"op\":\"pong\",\"t\":1}", "/server_us");
}

/* The page's table of errors is the code's: | `type` | status | close code or – | retry_ms or –
 * | */
static void check_page_of_refusals(void)
{
    FILE *page = fopen("docs/PROTOCOL.md", "r");
    int kind = 0;
    char line[1024];

    while (page && fgets(line, sizeof line, page)) {
        struct control_error e;
        char type[32], closed[16], retry[16];
        int status;

        if (sscanf(line, "| `%31[a-z_]` | %d | %15s | %15s |", type, &status, closed, retry) != 4)
            continue;
        assert_true(kind < REFUSAL_KINDS);
        refusal_write(&e, (enum refusal_kind)kind, "", "");
        assert_string_equal(type, e.type);
        assert_int_equal(status, e.status);
        assert_int_equal(atoi(closed), refusal_close((enum refusal_kind)kind));
        assert_int_equal(atoi(retry), e.retry_ms);
        kind++;
    }
    if (page)
        fclose(page);
    assert_int_equal(kind, page ? REFUSAL_KINDS : 0);
}

/* Every type has a row, and says of itself whether the connection ends with it. */
TEST(test_refusals)
{
    struct control_message m = {.op = CONTROL_ERROR};

    for (int kind = 0; kind < REFUSAL_KINDS; kind++) {
        struct control_message back;
        char buf[CONTROL_TEXT_MAX];

        refusal_write(&m.error, (enum refusal_kind)kind, "d", "/p");
        assert_true(m.error.type[0] && m.error.title[0] && m.error.status >= 400);
        assert_int_equal(refusal_ends(&m.error), refusal_close((enum refusal_kind)kind) != 0);
        assert_true(m.error.retry_ms == 0 || refusal_close((enum refusal_kind)kind));
        assert_true(control_write(buf, sizeof buf, &m) > 0);
        assert_int_equal(parse(&back, buf, NULL), 0);
        assert_memory_equal(&back.error, &m.error, sizeof m.error);
    }
    check_page_of_refusals();
    strcpy(m.error.type, "later");
    assert_false(refusal_ends(&m.error));
    expect_wrong("{\"op\":\"error\",\"status\":400,\"title\":\"T\"}", "/type");
}

static void said_at_the_start(struct control_message *m)
{
    there_and_back(m, "{\"op\":\"ready\",\"session\":\"abc\",\"epoch\":3,\"revision\":77,"
                      "\"codec\":\"deflate-raw\",\"step_m\":0.001,\"limits\":{\"window\":8,"
                      "\"max_frame_bytes\":8388608},\"net\":[256,192]}");
    m->ready.message_s = 10;
    m->ready.quota_rate = 60;
    m->ready.resumed = m->ready.any_seq = true;
    m->ready.last_seq = 9007199254740991;
    there_and_back(m, "{\"op\":\"ready\",\"session\":\"abc\",\"epoch\":3,\"revision\":77,"
                      "\"codec\":\"deflate-raw\",\"step_m\":0.001,\"limits\":{\"window\":8,"
                      "\"max_frame_bytes\":8388608,\"message_s\":10,\"rate\":60},"
                      "\"net\":[256,192],\"resumed\":true,\"last_seq\":9007199254740991}");
}

TEST(test_answers_of_the_server)
{
    struct control_message m = {.op = CONTROL_READY};

    strcpy(m.ready.session, "abc");
    m.ready.epoch = 3;
    m.ready.revision = 77;
    m.ready.codec = CODEC_DEFLATE;
    m.ready.step_m = 0.001f;
    m.ready.window = 8;
    m.ready.max_frame_bytes = 8388608;
    m.ready.net_w = 256;
    m.ready.net_h = 192;
    said_at_the_start(&m);
    memset(&m, 0, sizeof m);
    m.op = CONTROL_SYNC;
    m.sync.revision = 5;
    m.sync.points = 1000;
    m.sync.hash = 0xfedcba9876543210u;
    there_and_back(&m, "{\"op\":\"sync\",\"revision\":5,\"points\":1000,"
                       "\"hash\":\"fedcba9876543210\"}");
    memset(&m, 0, sizeof m);
    m.op = CONTROL_ENDED;
    m.ended.revision = 6;
    there_and_back(&m, "{\"op\":\"ended\",\"revision\":6}");
    m.op = CONTROL_SESSION_CLOSED;
    there_and_back(&m, "{\"op\":\"closed\",\"revision\":6}");
    memset(&m, 0, sizeof m);
    m.op = CONTROL_ERROR;
    m.error.status = 422;
    strcpy(m.error.title, "T");
    strcpy(m.error.detail, "D \"quoted\"");
    strcpy(m.error.type, "invalid_fields");
    m.error.retry_ms = 7;
    there_and_back(&m,
                   "{\"op\":\"error\",\"type\":\"invalid_fields\",\"status\":422,\"title\":\"T\","
                   "\"detail\":\"D \\\"quoted\\\"\",\"retry_ms\":7}");
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
TEST(test_acks)
{
    for (int r = CONTROL_REASON_NONE; control_reason_name(r)[0] || r == 0; r++) {
        struct control_message m = {.op = CONTROL_ACK}, back;
        char buf[256];
        m.ack.seq = 12;
        m.ack.status = r ? CONTROL_REFUSED : CONTROL_USED;
        m.ack.reason = (enum control_reason)r;
        m.ack.keyframe = r == 0;
        m.ack.lost = r == 1;
        assert_true(control_write(buf, sizeof buf, &m) > 0);
        assert_int_equal(parse(&back, buf, NULL), 0);
        assert_int_equal(back.ack.seq, 12);
        assert_int_equal(back.ack.reason, r);
        assert_int_equal(back.ack.keyframe, r == 0);
        assert_int_equal(back.ack.lost, r == 1);
        for (int other = 0; other < r; other++)
            assert_string_not_equal(control_reason_name(other), control_reason_name(r));
    }
    assert_string_equal(control_reason_name(CONTROL_MEMORY), "memory");
    assert_string_equal(control_reason_name((enum control_reason)99), "");
    expect_wrong("{\"op\":\"ack\",\"status\":\"used\"}", "/seq");
    expect_wrong("{\"op\":\"ack\",\"seq\":1,\"status\":\"eaten\"}", "/status");
    expect_wrong("{\"op\":\"ack\",\"seq\":1,\"status\":\"used\",\"keyframe\":1}", "/keyframe");
}

/* At most 24 poses, as many as seqs; a message of the longest numbers fits. */
TEST(test_poses)
{
    struct control_message m = {.op = CONTROL_POSES,
                                .poses = {.revision = 9007199254740991, .n = CONTROL_POSES_MAX}};
    struct control_message back;
    char text[CONTROL_TEXT_MAX + 1];
    size_t len;

    for (int i = 0; i < CONTROL_POSES_MAX; i++) {
        m.poses.seq[i] = 9007199254740991u - (unsigned)i;
        for (int k = 0; k < 7; k++)
            m.poses.pose[i][k] = k < 4 ? -0.4999999f : -99999.9999f + (float)i;
    }
    len = control_write(text, sizeof text, &m);
    assert_true(len > 0);
    assert_int_equal(control_parse(&back, text, len, NULL), 0);
    assert_int_equal(back.poses.n, CONTROL_POSES_MAX);
    assert_true(back.poses.seq[23] == m.poses.seq[23] && back.poses.revision == 9007199254740991u);
    assert_float_equal(back.poses.pose[23][4], m.poses.pose[23][4], 0.01);
    expect_wrong("{\"op\":\"poses\",\"revision\":1,\"seqs\":[],\"poses\":[]}", "/seqs");
    expect_wrong("{\"op\":\"poses\",\"revision\":1,\"seqs\":[1,2],\"poses\":[[0,0,0,1,0,0,0]]}",
                 "/poses");
    expect_wrong("{\"op\":\"poses\",\"revision\":1,\"seqs\":[-1],\"poses\":[[0,0,0,1,0,0,0]]}",
                 "/seqs");
    expect_wrong("{\"op\":\"poses\",\"revision\":1,\"seqs\":[1],\"poses\":[[0,0,0,1,0,0]]}",
                 "/poses");
    expect_wrong("{\"op\":\"poses\",\"seqs\":[1],\"poses\":[[0,0,0,1,0,0,0]]}", "/revision");
}

/* A source has a short name of plain letters, or is "main". */
TEST(test_sources)
{
    static const char *const wrong[] = {"",    "Main",   "a b",
                                        "a_b", "\u00e4", "123456789012345678901234567890123"};
    struct control_message m;
    char text[160];

    assert_int_equal(parse(&m, "{\"op\":\"start\",\"role\":\"ingest\",\"codecs\":[\"raw\"]}", NULL),
                     0);
    assert_string_equal(m.start.source, "main");
    there_and_back(&m, "{\"op\":\"start\",\"role\":\"ingest\",\"codecs\":[\"raw\"],"
                       "\"pose\":\"opengl\"}");
    strcpy(m.start.source, "12345678901234567890123456789-ab");
    there_and_back(&m, "{\"op\":\"start\",\"role\":\"ingest\",\"codecs\":[\"raw\"],"
                       "\"source\":\"12345678901234567890123456789-ab\",\"pose\":\"opengl\"}");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(text, sizeof text,
                 "{\"op\":\"start\",\"role\":\"view\",\"codecs\":[\"raw\"],\"source\":\"%s\"}",
                 wrong[i]);
        expect_wrong(text, "/source");
    }
}

/* A scale comes with its error or not at all, in thousandths, and never as 0. */
TEST(test_scaled_acks)
{
#define PLACED                                                                   \
    "{\"op\":\"ack\",\"seq\":1,\"status\":\"used\",\"revision\":1,\"submap\":0," \
    "\"pose\":[0,0,0,1,0,0,0],\"quality\":1"
    static const struct {
        float scale, sigma;
        const char *said;
    } rows[] = {{1.04349f, 0.01249f, ",\"scale\":1.043,\"sigma\":0.012"},
                {1e-5f, 1e-5f, ",\"scale\":0.001,\"sigma\":0.001"},
                {2e6f, 99, ",\"scale\":1000,\"sigma\":10"},
                {1, 0, ""}};
    struct control_message m = {
        .op = CONTROL_ACK,
        .ack = {.seq = 1, .placed = true, .revision = 1, .quality = 1, .pose = {0, 0, 0, 1}}};
    char buf[512], back[512], want[512];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        m.ack.scale = rows[i].scale;
        m.ack.sigma = rows[i].sigma;
        (void)control_write(buf, sizeof buf, &m);
        snprintf(want, sizeof want, PLACED "%s}", rows[i].said);
        assert_string_equal(buf, want);
        assert_int_equal(parse(&m, buf, NULL), 0);
        assert_true((m.ack.sigma > 0) == (rows[i].sigma > 0));
        (void)control_write(back, sizeof back, &m);
        assert_string_equal(back, buf);
    }
    expect_wrong(PLACED ",\"scale\":1}", "/sigma");
    expect_wrong(PLACED ",\"scale\":0,\"sigma\":0.1}", "/scale");
    expect_wrong(PLACED ",\"scale\":1,\"sigma\":11}", "/sigma");
#undef PLACED
}

/* What places a frame comes whole or not at all, rounded to what it is worth. */
TEST(test_placed_acks)
{
    const float s = 0.70710678f;
    struct control_message m = {.op = CONTROL_ACK,
                                .ack = {.seq = 9007199254740991u,
                                        .keyframe = true,
                                        .placed = true,
                                        .submap = 255,
                                        .revision = 9007199254740991u,
                                        .quality = 0.876f,
                                        .server_us = 9007199254740991u}};
    float pose[7] = {-s, 0, s, 0, -12345.678f, 0.00004f, 2}, back[7];
    char buf[512];
    size_t len;

    memcpy(m.ack.pose, pose, sizeof pose);
    len = control_write(buf, sizeof buf, &m);
    assert_string_equal(buf, "{\"op\":\"ack\",\"seq\":9007199254740991,\"status\":\"used\","
                             "\"keyframe\":true,\"revision\":9007199254740991,\"submap\":255,"
                             "\"pose\":[-0.707107,0,0.707107,0,-12345.678,0,2],\"quality\":0.88,"
                             "\"server_us\":9007199254740991}");
    assert_true(len <= 250);
    assert_int_equal(parse(&m, buf, NULL), 0);
    assert_int_equal(m.ack.submap, 255);
    assert_true(m.ack.placed && m.ack.revision == 9007199254740991u);
    assert_float_equal(m.ack.pose[4], -12345.678f, 0);
    assert_float_equal(m.ack.quality, 0.88f, 0);
    assert_true(m.ack.scale == 0 && m.ack.sigma == 0);
    expect_wrong("{\"op\":\"ack\",\"seq\":1,\"status\":\"used\",\"pose\":[0,0,0,1,0,0,0]}",
                 "/revision");
    expect_wrong("{\"op\":\"ack\",\"seq\":1,\"status\":\"used\",\"revision\":1,\"submap\":0,"
                 "\"quality\":1,\"pose\":[0,0,0,1,0,0]}",
                 "/pose");
    expect_wrong("{\"op\":\"ack\",\"seq\":1,\"status\":\"used\",\"revision\":1,\"submap\":0,"
                 "\"quality\":1.5,\"pose\":[0,0,0,1,0,0,0]}",
                 "/quality");

    /* R diag(1, -1, -1), by hand: a quarter turn about y becomes half a one about (x - z) */
    memcpy(back, (const float[7]){0, s, 0, s, 1, 2, 3}, sizeof back);
    control_pose_swap_axes(back);
    assert_memory_equal(back, ((const float[7]){s, 0, -s, 0, 1, 2, 3}), sizeof back);
    control_pose_swap_axes(back); /* and back again, as the same rotation */
    for (int i = 0; i < 4; i++)
        assert_float_equal(fabsf(back[i]), (i % 2 ? s : 0), 0);
    assert_true(back[1] * back[3] > 0);
}

/* Bits that are refused are named; what cannot be one is passed over, as any word is. */
TEST(test_unknown_words)
{
    struct control_message m;

    assert_int_equal(parse(&m,
                           "{\"op\":\"ack\",\"seq\":1,\"status\":\"refused\",\"reason\":\"moon\","
                           "\"detail\":\"bit 17\"}",
                           NULL),
                     0);
    assert_int_equal(m.ack.reason, CONTROL_REASON_NONE);
    assert_int_equal(m.ack.bit, 17);
    assert_int_equal(parse(&m,
                           "{\"op\":\"start\",\"role\":\"view\",\"codecs\":[\"raw\"],"
                           "\"features\":[\"moon\",\"parts\"]}",
                           NULL),
                     0);
    assert_int_equal(m.start.features, 1u << CONTROL_PARTS);
    expect_wrong("{\"op\":\"start\",\"role\":\"view\",\"codecs\":[\"raw\"],\"features\":[1]}",
                 "/features");
}

#define CAMERA "{\"op\":\"camera\",\"id\":1,\"model\":\"pinhole\",\"width\":64,\"height\":48,"

#define MODEL(model, h) \
    "{\"op\":\"camera\",\"id\":1,\"model\":\"" model "\",\"width\":64,\"height\":" #h ","

/* Every model goes there and back; numbers that are too few, too many or no lens are said. */
TEST(test_models)
{
    static const float radial[5] = {-0.25f, 0.0625f, 0.001953125f, -0.001953125f, 0},
                       fisheye[4] = {0.03125f, -0.0078125f, 0, 0};
    struct control_message m = {.op = CONTROL_CAMERA};

    m.camera = (struct cameras_entry){1, 64, 48, {60, 61, 31.5f, 23.5f}, rigid_identity(), {0}};
    assert_int_equal(lens_make(&m.camera.lens, LENS_RADIAL, radial, m.camera.K, 64, 48, NULL), 0);
    there_and_back(&m, MODEL("radial-tangential", 48) "\"params\":[60,61,31.5,23.5,-0.25,0.0625,"
                                                      "0.001953125,-0.001953125,0],"
                                                      "\"rig\":[0,0,0,1,0,0,0]}");
    assert_int_equal(lens_make(&m.camera.lens, LENS_FISHEYE, fisheye, m.camera.K, 64, 48, NULL), 0);
    there_and_back(&m, MODEL("fisheye", 48) "\"params\":[60,61,31.5,23.5,0.03125,-0.0078125,0,0],"
                                            "\"rig\":[0,0,0,1,0,0,0]}");
    m.camera.height = 32;
    m.camera.K = lens_sphere_intrinsics(64, 32);
    m.camera.lens = (struct lens){.model = LENS_SPHERE};
    there_and_back(&m, MODEL("sphere", 32) "\"params\":[],\"rig\":[0,0,0,1,0,0,0]}");
    expect_wrong(MODEL("sphere", 48) "\"params\":[]}", "/params");
    expect_wrong(MODEL("sphere", 32) "\"params\":[10,5,31.5,15.5]}", "/params");
    expect_wrong(MODEL("sphere", 32) "\"rig\":[0,0,0,1,0,0,0]}", "/params");
    expect_wrong(MODEL("cylinder", 48) "\"params\":[]}", "/model");
    expect_wrong(MODEL("fisheye", 48) "\"params\":[60,61,31.5,23.5]}", "/params");
    expect_wrong(MODEL("fisheye", 48) "\"params\":[60,61,31.5,23.5,0,0,0,0,0]}", "/params");
    expect_wrong(MODEL("fisheye", 48) "\"params\":[60,61,31.5,23.5,0,0,0,2000]}", "/params");
    expect_wrong(MODEL("radial-tangential", 48) "\"params\":[60,61,31.5,23.5,0,0,0.5,0,0]}",
                 "/params");
    /* it folds within the picture */
    expect_wrong(MODEL("radial-tangential", 48) "\"params\":[30,30,31.5,23.5,-0.4,0,0,0,0]}",
                 "/params");
}

TEST(test_cameras)
{
    struct control_message m = {.op = CONTROL_CAMERA};

    m.camera = (struct cameras_entry){
        65535, 64, 48, {60, 61, 31.5f, 23.5f}, rigid_identity(), {.model = LENS_PINHOLE}};
    m.camera.T_rc.t[1] = -0.25f;
    there_and_back(&m, "{\"op\":\"camera\",\"id\":65535,\"model\":\"pinhole\",\"width\":64,"
                       "\"height\":48,\"params\":[60,61,31.5,23.5],\"rig\":[0,0,0,1,0,-0.25,0]}");
    assert_int_equal(parse(&m, CAMERA "\"params\":[60,60,1,1]}", NULL), 0);
    assert_true(m.camera.T_rc.r[0] == 1 && m.camera.T_rc.t[1] == 0);
    expect_wrong("{\"op\":\"camera\",\"id\":0,\"model\":\"pinhole\",\"width\":64,\"height\":48,"
                 "\"params\":[60,60,1,1]}",
                 "/id");
    expect_wrong("{\"op\":\"camera\",\"id\":1,\"model\":\"pinhole\",\"width\":15,\"height\":48,"
                 "\"params\":[60,60,1,1]}",
                 "/width");
    expect_wrong(CAMERA "\"rig\":[0,0,0,1,0,0,0]}", "/params");
    expect_wrong(CAMERA "\"params\":[60,60,1]}", "/params");
    expect_wrong(CAMERA "\"params\":[0.5,60,1,1]}", "/params");
    expect_wrong(CAMERA "\"params\":[60,60,1,1e9]}", "/params");
    expect_wrong(CAMERA "\"params\":[60,60,1,\"1\"]}", "/params");
    expect_wrong(CAMERA "\"params\":[60,60,1,1],\"rig\":[0,0,0,2,0,0,0]}", "/rig");
    expect_wrong(CAMERA "\"params\":[60,60,1,1],\"rig\":[0,0,0,1,11,0,0]}", "/rig");
    expect_wrong(CAMERA "\"params\":[60,60,1,1],\"rig\":7}", "/rig");
}

TEST(test_limits)
{
    char text[CONTROL_TEXT_MAX + 2];
    struct control_message m;
    struct err err = {0};

    memset(text, ' ', sizeof text);
    memcpy(text, "{\"op\":\"end\"}", 12);
    assert_int_equal(control_parse(&m, text, CONTROL_TEXT_MAX, &err), 0);
    assert_int_equal(control_parse(&m, text, CONTROL_TEXT_MAX + 1, &err), ERR_LIMIT);
    assert_int_equal(parse(&m, "{\"op\":\"end\",\"a\":[[[[[[[[]]]]]]]]}", &err), ERR_LIMIT);
    expect_wrong("{}", "/op");
    assert_int_equal(parse(&m, "{\"op\":\"dance\"}", &err), ERR_UNSUPPORTED);
    expect_wrong("{\"op\":7}", "/op");
    expect_wrong("{\"op\":[\"end\"]}", "/op");
    expect_wrong("{\"op\":\"en\xff\"}", "utf8");
}

/* Every message in the ```json blocks of the page is taken, and written the same way. */
TEST(test_documented_messages)
{
    FILE *page = fopen("docs/PROTOCOL.md", "r");
    char line[1024], again[1024];
    bool inside = false;
    int seen[CONTROL_OPS] = {0};

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
    for (int op = 0; op < CONTROL_OPS; op++)
        assert_true(seen[op] > 0);
}
