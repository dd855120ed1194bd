/* Frames with more than a picture, from streams to their ends: what is known of their parts, what
 * is not, and the cameras that they name. The device is the fake one. */
#include "tests/support/core_rig.h"
#include "tests/support/unit.h"

static struct rig_client client;

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
    struct control_ack ack;
    struct frame f;

    rig_begin(&client, NULL);
    f = rig_frame(1);
    f.n_parts = 3;
    memcpy(f.parts, parts, sizeof(parts));
    assert_int_equal(rig_answer(&client, &f).status, CONTROL_USED);
    assert_int_equal(client.ready.features & 1u << CONTROL_PARTS, 1u << CONTROL_PARTS);
    f.seq = 2;
    f.n_parts = 4;
    ack = rig_answer(&client, &f);
    assert_int_equal(ack.reason, CONTROL_UNSUPPORTED);
    assert_int_equal(ack.bit, FRAME_PART_VITAL_BIT);
    f.seq = 3;
    f.n_parts = 0;
    f.flags |= 1u << 29;
    ack = rig_answer(&client, &f);
    assert_int_equal(ack.reason, CONTROL_UNSUPPORTED);
    assert_int_equal(ack.bit, 29);
    f.seq = 4;
    f.flags ^= 1u << 29 | 1u << 9;
    assert_int_equal(rig_answer(&client, &f).status, CONTROL_USED);
    rig_end(&client);
}

/* The picture's intrinsics are those of the camera that it names, at its own size. */
TEST(frames_name_their_camera)
{
    struct session_options o = rig_options();
    struct control_message m;
    struct frame f;

    o.has_camera = false;
    rig_begin(&client, &o);
    f = rig_frame(1);
    assert_int_equal(rig_answer(&client, &f).reason, CONTROL_NO_CAMERA);
    f.seq = 2;
    f.camera = 5;
    assert_int_equal(rig_answer(&client, &f).reason, CONTROL_NO_CAMERA);
    m = declare(5, 640, 480, 500);
    assert_int_equal(core_ops.stream_control(client.s, &m, NULL), 0);
    f.seq = 3;
    assert_int_equal(rig_answer(&client, &f).status, CONTROL_USED);
    m = declare(5, 640, 480, 1.2f); /* another one by its name: less than a pixel at 320 x 240 */
    assert_int_equal(core_ops.stream_control(client.s, &m, NULL), 0);
    f.seq = 4;
    assert_int_equal(rig_answer(&client, &f).reason, CONTROL_BAD_FRAME);
    rig_end(&client);
}

TEST(there_are_sixteen_cameras)
{
    struct control_message m;
    static struct rig_client viewer;

    rig_begin(&client, NULL);
    for (unsigned i = 1; i <= 20; i++) {
        m = declare(i, 64, 48, 60);
        assert_int_equal(core_ops.stream_control(client.s, &m, NULL), i <= 16 ? 0 : ERR_LIMIT);
    }
    m = declare(7, 640, 480, 500);
    assert_int_equal(core_ops.stream_control(client.s, &m, NULL), 0);
    rig_connect(&viewer, client.id, CONTROL_VIEW);
    assert_int_equal(core_ops.stream_control(viewer.s, &m, NULL), ERR_STATE);
    rig_disconnect(&viewer);
    rig_end(&client);
}
