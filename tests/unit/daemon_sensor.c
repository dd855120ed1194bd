/* Depth, confidence and masks of frames, from streams to what the device is given; pictures of
 * other sizes. The device is the fake one. */
#include "tests/support/core_rig.h"
#include "tests/support/unit.h"

#include "proto/image/png.h"
#include "proto/wire/codec.h"

#define W 40
#define H 30
#define N (W * H)

static struct rig_client client;
static uint16_t depth[N];
static uint8_t sure[N], planes[2 * N], packed[4 * N], mask[(W + 7) / 8 * H];
static uint64_t seq;

static void open_session(enum session_depth_source source)
{
    struct session_options o = rig_options();

    seq = 0;
    o.depth_source = source;
    rig_begin(&client, &o);
    for (int i = 0; i < N; i++) {
        depth[i] = (uint16_t)(1000 + 7 * i % 900);
        sure[i] = (uint8_t)(i % 256);
    }
    depth_split_planes(planes, depth, W, N);
    memset(mask, 0, sizeof(mask));
}

static struct control_ack answer(struct frame *f)
{
    struct control_ack ack;

    f->seq = ++seq;
    ack = rig_answer(&client, f);
    assert_int_equal(ack.seq, seq);
    return ack;
}

static struct frame_part part(enum frame_part_type type, enum frame_codec codec, const void *data,
                              size_t len)
{
    struct frame_part p = {type, codec, 0, W, H, 0, 0, data, (uint32_t)len};

    return p;
}

static struct frame frame_with(int n, struct frame_part a, struct frame_part b)
{
    struct frame f = rig_frame(1);

    f.n_parts = n;
    f.parts[0] = a;
    f.parts[1] = b;
    return f;
}

static size_t deflate_into(const uint8_t *plain, size_t n)
{
    struct codec *c;
    size_t len;

    assert_int_equal(codec_new(&c, NULL), 0);
    assert_int_equal(codec_pack(c, CODEC_DEFLATE, packed, sizeof(packed), &len, plain, &n, 1, NULL),
                     0);
    codec_free(&c);
    return len;
}

static uint64_t sum_of_depth(void)
{
    uint64_t sum = 0;

    for (int i = 0; i < N; i++)
        sum += (uint64_t)depth[i] * (uint64_t)(i % 251 + 1);
    return sum;
}

TEST(one_depth_in_three_codecs)
{
    const struct frame_part s = {FRAME_CONFIDENCE, FRAME_RAW, 0, W, H, 0, 0, sure, N};
    const struct fake_seen *seen = &fake_gpu_plan.seen;
    uint8_t *png;
    size_t len, sum = 0;

    open_session(SESSION_DEPTH_SOURCE_SENSOR);
    assert_int_equal(png_encode_gray16(&png, &len, depth, W, H, NULL), 0);
    for (int i = 0; i < N; i++)
        sum += sure[i];
    for (int k = 0; k < 3; k++) {
        struct frame_part d = part(FRAME_DEPTH, FRAME_RAW, planes, sizeof(planes));
        struct frame f;

        if (k == 1)
            d = part(FRAME_DEPTH, FRAME_DEFLATE, packed, deflate_into(planes, sizeof(planes)));
        if (k == 2)
            d = part(FRAME_DEPTH, FRAME_PNG, png, len);
        d.unit = k == 1;
        f = frame_with(k == 0 ? 1 : 2, d, s);
        assert_int_equal(answer(&f).status, CONTROL_USED);
        assert_int_equal(seen->sensor.width, W);
        assert_int_equal(seen->sensor.height, H);
        assert_int_equal(seen->sensor.inverse, k == 1);
        assert_true(seen->values == sum_of_depth());
        assert_true(seen->sure == (k == 0 ? 255u * N : sum));
        assert_true((seen->sensor.sure != NULL) == (k > 0));
        /* the session's camera, 300 pixels of 320, at this size */
        assert_true(fabsf(seen->sensor.K.fx - 37.5f) < 1e-4f);
        assert_true(fabsf(seen->sensor.K.cx - (160.0f / 8 - 0.5f)) < 1e-4f);
    }
    assert_true(client.ready.features & 1u << CONTROL_DEPTH_IN);
    free(png);
    rig_end(&client);
}

TEST(depth_is_needed_taken_or_passed_over)
{
    struct frame_part d = part(FRAME_DEPTH, FRAME_RAW, planes, sizeof(planes));

    for (int source = SESSION_DEPTH_SOURCE_NETWORK; source <= SESSION_DEPTH_SOURCE_BOTH; source++) {
        struct control_ack ack;
        struct frame f;

        open_session((enum session_depth_source)source);
        f = frame_with(0, d, d);
        ack = answer(&f);
        assert_int_equal(ack.status,
                         source == SESSION_DEPTH_SOURCE_SENSOR ? CONTROL_REFUSED : CONTROL_USED);
        if (ack.status == CONTROL_REFUSED) {
            assert_int_equal(ack.reason, CONTROL_BAD_FRAME);
            assert_int_equal(ack.part, FRAME_DEPTH);
        }
        f = frame_with(1, d, d);
        f.parts[0].camera = source == SESSION_DEPTH_SOURCE_NETWORK ? 77 : 0; /* not looked at */
        assert_int_equal(answer(&f).status, CONTROL_USED);
        assert_true((fake_gpu_plan.seen.sensor.values != NULL) ==
                    (source != SESSION_DEPTH_SOURCE_NETWORK));
        rig_end(&client);
    }
}

TEST(damaged_parts_are_named)
{
    static const uint8_t rubbish[64] = {0x89, 'P', 'N', 'G', 1, 2, 3};
    uint8_t *png;
    size_t len, n;
    struct frame f;

    open_session(SESSION_DEPTH_SOURCE_BOTH);
    assert_int_equal(png_encode_gray16(&png, &len, depth, W, H, NULL), 0);
    n = deflate_into(planes, sizeof(planes));
    for (int k = 0; k < 9; k++) {
        struct frame_part d = part(FRAME_DEPTH, FRAME_RAW, planes, sizeof(planes)), x = d;
        enum frame_part_type wrong = k < 5 ? FRAME_DEPTH : k < 7 ? FRAME_CONFIDENCE : FRAME_MASK;
        struct control_ack ack;

        if (k == 0)
            d = part(FRAME_DEPTH, FRAME_PNG, rubbish, sizeof(rubbish));
        else if (k == 1)
            d = part(FRAME_DEPTH, FRAME_PNG, png, len / 2);
        else if (k == 2)
            d = part(FRAME_DEPTH, FRAME_DEFLATE, packed, n - 1);
        else if (k == 3)
            d = part(FRAME_DEPTH, FRAME_DEFLATE, rubbish, sizeof(rubbish));
        else if (k == 4) {
            d = part(FRAME_DEPTH, FRAME_PNG, png, len);
            d.width = W + 1;
        } else if (k == 5)
            x = part(FRAME_CONFIDENCE, FRAME_PNG, png, len); /* of 16 bits */
        else if (k == 6) {
            x = part(FRAME_CONFIDENCE, FRAME_RAW, sure, N / 2);
            x.height = H / 2;
        } else if (k == 7)
            x = part(FRAME_MASK, FRAME_DEFLATE, rubbish, sizeof(rubbish));
        else
            x = part(FRAME_MASK, FRAME_DEFLATE, packed, n);
        f = frame_with(2, d, x);
        ack = answer(&f);
        assert_int_equal(ack.status, CONTROL_REFUSED);
        assert_int_equal(ack.reason, CONTROL_BAD_FRAME);
        assert_int_equal(ack.part, wrong);
    }
    f = frame_with(1, part(FRAME_DEPTH, FRAME_RAW, planes, sizeof(planes)),
                   part(FRAME_MASK, FRAME_RAW, mask, sizeof(mask)));
    assert_int_equal(answer(&f).status, CONTROL_USED);
    assert_int_equal(rig_info(client.id).counts.refused, 9);
    free(png);
    rig_end(&client);
}

static struct control_message declare(unsigned camera, float focal, float x)
{
    struct control_message m = {.op = CONTROL_CAMERA};

    m.camera = (struct cameras_entry){
        camera, 2 * W, 2 * H, {focal, focal, W - 0.5f, H - 0.5f}, rigid_identity(), {0}};
    m.camera.T_rc.t[0] = x;
    return m;
}

/* Intrinsics at the depth's own size; where it is relative to the picture's camera. */
TEST(depth_has_a_camera_of_its_own)
{
    const struct fake_seen *seen = &fake_gpu_plan.seen;
    struct frame_part d = part(FRAME_DEPTH, FRAME_RAW, planes, sizeof(planes));
    struct control_message m;
    struct frame f;

    open_session(SESSION_DEPTH_SOURCE_SENSOR);
    d.camera = 3;
    f = frame_with(1, d, d);
    assert_int_equal(answer(&f).reason, CONTROL_NO_CAMERA);
    m = declare(3, 60, 0.05f);
    assert_int_equal(core_ops.stream_control(client.s, &m, NULL), 0);
    assert_int_equal(answer(&f).status, CONTROL_USED);
    assert_true(seen->sensor.K.fx == 30 && seen->sensor.K.cx == 0.5f * W - 0.5f);
    assert_true(fabsf(seen->sensor.T_cs.t[0] - 0.05f) < 1e-6f);
    m = declare(4, 600, 0.02f);
    assert_int_equal(core_ops.stream_control(client.s, &m, NULL), 0);
    f.camera = 4;
    assert_int_equal(answer(&f).status, CONTROL_USED);
    assert_true(fabsf(seen->sensor.T_cs.t[0] - 0.03f) < 1e-6f);
    m = declare(3, 1.5f, 0);
    assert_int_equal(core_ops.stream_control(client.s, &m, NULL), 0);
    assert_int_equal(answer(&f).reason, CONTROL_BAD_FRAME); /* less than a pixel at this size */
    rig_end(&client);
}

TEST(large_depth_is_thinned)
{
    const struct fake_seen *seen = &fake_gpu_plan.seen;
    const int w = 1280, h = 721;
    uint8_t *large = calloc((size_t)w * (size_t)h, 2);
    struct frame_part d = {FRAME_DEPTH, FRAME_RAW, 0, w, h, 0, 0, large, 2 * (uint32_t)(w * h)};
    struct frame f;

    assert_non_null(large);
    open_session(SESSION_DEPTH_SOURCE_SENSOR);
    large[0] = 200; /* a plane: all pixels are like the first */
    f = frame_with(1, d, d);
    assert_int_equal(answer(&f).status, CONTROL_USED);
    assert_int_equal(seen->sensor.width, 640);
    assert_int_equal(seen->sensor.height, 361);
    assert_true(seen->values > 200u * 640 * 361);
    /* its pixel 0 is the whole picture's pixel 1 */
    assert_true(fabsf(seen->sensor.K.cx - ((159.5f + 0.5f) * 4 - 0.5f - 1) / 2) < 1e-3f);
    assert_true(fabsf(seen->sensor.K.fx - 600) < 1e-3f);
    free(large);
    rig_end(&client);
}

/* A pixel of the network's picture is masked where any of the mask's is that lies in it. */
TEST(masks_have_any_size)
{
    const struct fake_seen *seen = &fake_gpu_plan.seen;
    static uint8_t fine[640 / 8 * 480];
    struct frame_part m = part(FRAME_MASK, FRAME_RAW, mask, sizeof(mask));
    int net_w, net_h;
    struct frame f;

    open_session(SESSION_DEPTH_SOURCE_NETWORK);
    memset(mask, 0xff, (size_t)(W + 7) / 8 * (H / 2)); /* the upper half */
    f = frame_with(1, m, m);
    assert_int_equal(answer(&f).status, CONTROL_USED);
    net_w = rig_info(client.id).options.net_w;
    net_h = rig_info(client.id).options.net_h;
    assert_in_range(seen->masked, net_w * net_h / 2, net_w * (net_h / 2 + 1));
    fine[480 * 640 / 8 - 1] = 1; /* its last pixel */
    m = (struct frame_part){FRAME_MASK, FRAME_RAW, 0, 640, 480, 0, 0, fine, sizeof(fine)};
    f = frame_with(1, m, m);
    assert_int_equal(answer(&f).status, CONTROL_USED);
    assert_int_equal(seen->masked, 1);
    f = frame_with(0, m, m);
    assert_int_equal(answer(&f).status, CONTROL_USED);
    assert_int_equal(seen->masked, 0);
    rig_end(&client);
}

/* A phone that is turned, or changes its resolution: the network's picture stays. */
TEST(pictures_change_their_size)
{
    static const int sizes[][2] = {{320, 240}, {240, 320}, {1280, 960}, {160, 120}, {320, 240}};
    const struct fake_seen *seen = &fake_gpu_plan.seen;
    int net_w = 0, net_h = 0;

    open_session(SESSION_DEPTH_SOURCE_NETWORK);
    for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
        int w = sizes[k][0], h = sizes[k][1];
        struct session_info info;
        struct frame f;

        rig_picture(w, h, 40);
        f = rig_frame(1);
        f.flags |= FRAME_HAS_CAMERA;
        f.K = (struct intrinsics){(float)w, (float)w, 0.5f * (float)w, 0.5f * (float)h};
        f.width = w;
        f.height = h;
        assert_int_equal(answer(&f).status, CONTROL_USED);
        assert_true(seen->width * seen->height <= 320 * 240);
        assert_true(fabsf(seen->K.fx - (float)seen->width) < 1e-3f);
        info = rig_info(client.id);
        assert_true(k == 0 || (info.options.net_w == net_w && info.options.net_h == net_h));
        net_w = info.options.net_w;
        net_h = info.options.net_h;
    }
    rig_end(&client);
}
