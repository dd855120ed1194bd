/* Frames with more than a picture, from streams to their ends: what is known of their parts, what
 * is not, and the cameras that they name. The device is the fake one. */
#include "tests/support/core_rig.h"
#include "tests/support/unit.h"

static struct rig_client client;
static char id[API_ID_CAP];

static void open_session(const struct session_options *o)
{
    rig_open();
    rig_session(o, id);
    rig_connect(&client, id, CONTROL_INGEST);
}

static void close_session(void)
{
    rig_end(&client);
}

/* Sends the frame and gives its answer. */
static struct control_ack answer(const struct frame *f)
{
    int n = client.n_acks;

    rig_ask(&client, f, n + 1);
    return client.acks[n % RIG_ACKS];
}

static struct control_message declare(unsigned camera, int w, int h, float focal)
{
    struct control_message m = {.op = CONTROL_CAMERA};

    m.camera = (struct cameras_entry){
        camera, w, h, {focal, focal, 0.5f * (float)w, 0.5f * (float)h}, rigid_identity(), {0}};
    return m;
}

TEST(parts_do_no_harm)
{
    static const uint8_t bytes[64];
    const struct frame_part parts[] = {
        {FRAME_IMU, FRAME_RAW, 0, 0, 0, 0, 0, bytes, 64},
        {FRAME_GPS, FRAME_RAW, 0, 0, 0, 0, 0, bytes, 24},
        {(enum frame_part_type)77, (enum frame_codec)9, 0, 1, 1, 3, 4, bytes, 7},
        {(enum frame_part_type)77, (enum frame_codec)9, 0x8000, 1, 1, 3, 4, bytes, 7}};
    const struct session_options o = rig_options();
    struct control_ack ack;
    struct frame f;

    open_session(&o);
    f = rig_frame(1);
    f.n_parts = 3;
    memcpy(f.parts, parts, sizeof(parts));
    assert_int_equal(answer(&f).status, CONTROL_USED);
    assert_int_equal(client.ready.features & 1u << CONTROL_PARTS, 1u << CONTROL_PARTS);
    f.seq = 2;
    f.n_parts = 4;
    ack = answer(&f);
    assert_int_equal(ack.reason, CONTROL_UNSUPPORTED);
    assert_int_equal(ack.bit, FRAME_PART_VITAL_BIT);
    f.seq = 3;
    f.n_parts = 0;
    f.flags |= 1u << 29;
    ack = answer(&f);
    assert_int_equal(ack.reason, CONTROL_UNSUPPORTED);
    assert_int_equal(ack.bit, 29);
    f.seq = 4;
    f.flags ^= 1u << 29 | 1u << 9;
    assert_int_equal(answer(&f).status, CONTROL_USED);
    close_session();
}

/* The picture's intrinsics are those of the camera that it names, at its own size. */
TEST(frames_name_their_camera)
{
    struct session_options o = rig_options();
    struct control_message m;
    struct frame f;

    o.has_camera = false;
    open_session(&o);
    f = rig_frame(1);
    assert_int_equal(answer(&f).reason, CONTROL_NO_CAMERA);
    f.seq = 2;
    f.camera = 5;
    assert_int_equal(answer(&f).reason, CONTROL_NO_CAMERA);
    m = declare(5, 640, 480, 500);
    assert_int_equal(core_ops.stream_control(client.s, &m, NULL), 0);
    f.seq = 3;
    assert_int_equal(answer(&f).status, CONTROL_USED);
    m = declare(5, 640, 480, 1.2f); /* another one by its name: less than a pixel at 320 x 240 */
    assert_int_equal(core_ops.stream_control(client.s, &m, NULL), 0);
    f.seq = 4;
    assert_int_equal(answer(&f).reason, CONTROL_BAD_FRAME);
    close_session();
}

TEST(there_are_sixteen_cameras)
{
    const struct session_options o = rig_options();
    struct control_message m;
    static struct rig_client viewer;

    open_session(&o);
    for (unsigned i = 1; i <= 20; i++) {
        m = declare(i, 64, 48, 60);
        assert_int_equal(core_ops.stream_control(client.s, &m, NULL), i <= 16 ? 0 : ERR_LIMIT);
    }
    m = declare(7, 640, 480, 500);
    assert_int_equal(core_ops.stream_control(client.s, &m, NULL), 0);
    rig_connect(&viewer, id, CONTROL_VIEW);
    assert_int_equal(core_ops.stream_control(viewer.s, &m, NULL), ERR_STATE);
    rig_disconnect(&viewer);
    close_session();
}
