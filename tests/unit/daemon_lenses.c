/* Declared cameras that are not pinhole, and pictures of several shapes: what reaches the device,
 * masks and depth sensors included, what clients are told, and what a journal keeps of it. The
 * device is the fake one. */
#include "tests/support/store_rig.h"
#include "tests/support/unit.h"

#define W 320
#define H 240

static const float radial[5] = {-0.2f, 0.05f, 0.001f, -0.001f, 0};
static const struct intrinsics K = {250, 251, 158, 121};

static struct rig_client client;
static char id[API_ID_CAP];

static void open_session(const struct session_options *o)
{
    rig_open();
    rig_session(o, id);
    rig_connect_depth(&client, id, CONTROL_INGEST, 1);
}

static void declare(struct rig_client *c, unsigned camera, enum lens_model model, int w, int h)
{
    struct control_message m = {.op = CONTROL_CAMERA};

    m.camera = (struct cameras_entry){camera, w, h, K, rigid_identity(), {0}};
    if (model == LENS_SPHERE)
        m.camera.K = lens_sphere_intrinsics(w, h);
    assert_int_equal(lens_make(&m.camera.lens, model, radial, m.camera.K, w, h, NULL), 0);
    assert_int_equal(core_ops.stream_control(c->s, &m, NULL), 0);
}

static struct frame picture(int w, int h, unsigned camera)
{
    struct frame f;

    rig_picture(w, h, 40);
    f = rig_frame((uint64_t)client.n_acks + 1);
    f.width = w;
    f.height = h;
    f.camera = camera;
    return f;
}

/* The model comes with the camera, at whatever size the picture has; depth is told with the camera
 * that the device computed with. */
TEST(models_reach_the_device)
{
    const struct fake_seen *seen = &fake_gpu_plan.seen;
    const struct session_options o = rig_options();
    struct intrinsics scaled;
    struct frame f;

    open_session(&o);
    f = picture(W, H, 0);
    assert_int_equal(rig_answer(&client, &f).status, CONTROL_USED);
    assert_int_equal(seen->lens.model, LENS_PINHOLE);
    assert_int_equal(client.ready.features & 1u << CONTROL_LENSES, 1u << CONTROL_LENSES);
    assert_int_equal(client.ready.cameras, CAMERAS_MAX);
    declare(&client, 1, LENS_RADIAL, W, H);
    for (int size = 1; size <= 2; size++) {
        f = picture(size * W, size * H, 1);
        assert_int_equal(rig_answer(&client, &f).status, CONTROL_USED);
        assert_int_equal(seen->lens.model, LENS_RADIAL);
        assert_memory_equal(seen->lens.k, radial, sizeof(radial));
        scaled = intrinsics_scale(K, W, H, seen->width, seen->height);
        assert_true(fabsf(seen->K.fx - scaled.fx) < 1e-3f && fabsf(seen->K.cy - scaled.cy) < 1e-3f);
        assert_true(fabsf(client.map.K.fx - K.fx * (float)client.map.w / W) < 1e-2f);
        assert_true(fabsf(client.map.K.fy - K.fy * (float)client.map.h / H) < 1e-2f);
    }
    rig_end(&client);
}

/* A sphere's picture is decoded as large as the view out of it needs, and that is not as wide. */
TEST(spheres_come_first)
{
    const struct fake_seen *seen = &fake_gpu_plan.seen;
    struct session_options o = rig_options();
    struct frame f;

    o.has_camera = false;
    o.net_w = o.net_h = 0;
    open_session(&o);
    declare(&client, 9, LENS_SPHERE, 1024, 512);
    f = picture(1024, 512, 9);
    assert_int_equal(rig_answer(&client, &f).status, CONTROL_USED);
    assert_int_equal(seen->lens.model, LENS_SPHERE);
    assert_int_equal(4 * client.map.h, 3 * client.map.w);
    assert_true(client.map.K.fx == 0.5f * (float)client.map.w);
    assert_true((float)seen->width >= fminf(1024, LENS_PI * (float)client.map.w));
    assert_true(fabsf(seen->K.fx - (float)seen->width / (2 * LENS_PI)) < 1e-2f);
    rig_end(&client);
}

/* Lying, upright, wide, lying again: the network's size stays, depth is told with what it means. */
TEST(shapes_change)
{
    static const int sizes[][2] = {{320, 240}, {240, 320}, {640, 240}, {480, 640}, {320, 240}};
    struct session_options o = rig_options();

    o.has_camera = false;
    open_session(&o);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        float w = (float)sizes[i][0], h = (float)sizes[i][1];
        struct frame f = picture(sizes[i][0], sizes[i][1], 0);

        f.flags |= FRAME_HAS_CAMERA;
        f.K = (struct intrinsics){0.8f * w, 0.8f * w, 0.5f * w, 0.5f * h};
        assert_int_equal(rig_answer(&client, &f).status, CONTROL_USED);
        assert_int_equal(client.map.w * 3, client.map.h * 4);
        assert_true(fabsf(client.map.K.fx - 0.8f * (float)client.map.w) < 1e-2f);
        assert_true(fabsf(client.map.K.fy - 0.8f * w / h * (float)client.map.h) < 1e-2f);
    }
    assert_int_equal(fake_gpu_plan.restarts, 0);
    rig_end(&client);
}

/* Where poses are learned, nothing is learned from two pictures of unlike cameras. */
TEST(learned_poses_begin_anew)
{
    static const int sizes[][2] = {{320, 240}, {640, 480}, {240, 320}, {240, 320}, {320, 240}};
    static const int restarts[] = {0, 0, 1, 1, 2};
    struct session_options o = rig_options();

    o.has_camera = false;
    o.pose_source = SESSION_POSE_LEARNED;
    open_session(&o);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        struct frame f = picture(sizes[i][0], sizes[i][1], 0);

        f.flags |= FRAME_HAS_CAMERA;
        f.K = (struct intrinsics){300, 300, 150, 150};
        assert_int_equal(rig_answer(&client, &f).status, CONTROL_USED);
        assert_int_equal(fake_gpu_plan.restarts, restarts[i]);
    }
    rig_end(&client);
}

/* What is masked in the picture is masked where the network sees it. */
TEST(masks_follow_the_model)
{
    static uint8_t bits[W / 8 * H];
    const struct fake_seen *seen = &fake_gpu_plan.seen;
    const struct session_options o = rig_options();
    struct frame_part mask = {FRAME_MASK, FRAME_RAW, 0, W, H, 0, 0, bits, sizeof(bits)};
    struct lens_map m;
    struct lens l;
    struct frame f;
    int expected = 0;

    open_session(&o);
    declare(&client, 1, LENS_RADIAL, W, H);
    for (int y = 0; y < H; y++) /* the left third */
        memset(bits + (size_t)y * (W / 8), 0xff, W / 24);
    f = picture(W, H, 1);
    f.n_parts = 1;
    f.parts[0] = mask;
    assert_int_equal(rig_answer(&client, &f).status, CONTROL_USED);
    assert_int_equal(lens_make(&l, LENS_RADIAL, radial, K, W, H, NULL), 0);
    m = lens_map_make(&l, K, W, H, client.map.w, client.map.h);
    for (int y = 0; y < client.map.h; y++)
        for (int x = 0; x < client.map.w; x++) {
            float u, v;
            lens_map_at(&m, (float)x - 0.5f, (float)y, &u, &v);
            expected += u < (float)(W / 24 * 8) - 0.5f;
        }
    assert_in_range(seen->masked, expected - client.map.h, expected + client.map.h);
    assert_true(abs(expected - client.map.w * client.map.h / 3) > 2 * client.map.h);
    rig_end(&client);
}

/* Depth that shows what the picture shows bends as it does; with a camera of its own as
 * that one. */
TEST(depth_bends_as_its_camera)
{
    static uint8_t planes[2 * 40 * 30];
    const struct fake_seen *seen = &fake_gpu_plan.seen;
    struct frame_part depth = {FRAME_DEPTH, FRAME_RAW, 0, 40, 30, 0, 0, planes, sizeof(planes)};
    struct session_options o = rig_options();
    struct frame f;

    memset(planes, 3, sizeof(planes));
    o.depth_source = SESSION_DEPTH_SOURCE_SENSOR;
    open_session(&o);
    declare(&client, 1, LENS_RADIAL, W, H);
    declare(&client, 2, LENS_PINHOLE, W, H);
    f = picture(W, H, 1);
    f.n_parts = 1;
    f.parts[0] = depth;
    assert_int_equal(rig_answer(&client, &f).status, CONTROL_USED);
    assert_int_equal(seen->sensor.lens.model, LENS_RADIAL);
    f.parts[0].camera = 2;
    f.seq++;
    assert_int_equal(rig_answer(&client, &f).status, CONTROL_USED);
    assert_int_equal(seen->lens.model, LENS_RADIAL);
    assert_int_equal(seen->sensor.lens.model, LENS_PINHOLE);
    f.camera = 2;
    f.parts[0].camera = 1;
    f.seq++;
    assert_int_equal(rig_answer(&client, &f).status, CONTROL_USED);
    assert_int_equal(seen->lens.model, LENS_PINHOLE);
    assert_int_equal(seen->sensor.lens.model, LENS_RADIAL);
    rig_end(&client);
}

/* ------------------------------------------------------------------------- journal */

static void feed_bent_pictures(int out)
{
    struct session_options o = options(SESSION_LOSSLESS);

    open_rig(0);
    rig_session(&o, id);
    rig_connect(&client, id, CONTROL_INGEST);
    declare(&client, 1, LENS_RADIAL, W, H);
    for (uint64_t seq = 1; seq <= 4; seq++) {
        struct frame f = rig_frame(seq);

        f.camera = seq > 2;
        rig_ask(&client, &f, (int)seq);
    }
    usleep(50000);
    tell_id(out, id);
    raise(SIGKILL);
}

TEST_WITH(models_outlive_the_process, make_folder, remove_folder)
{
    in_a_child(feed_bent_pictures, id);
    (void)come_back(0, id);
    assert_int_equal(rig_info(id).counts.used, 4);
    assert_int_equal(fake_gpu_plan.frames, 4);
    assert_int_equal(fake_gpu_plan.seen.lens.model, LENS_RADIAL);
    assert_memory_equal(fake_gpu_plan.seen.lens.k, radial, sizeof(radial));
    assert_true(fake_gpu_plan.seen.lens.limit > 0.5f);
    rig_close();
}
