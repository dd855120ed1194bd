/* Which way a session's pictures are turned for the networks: by option, gravity, accelerometer or
 * Exif, with patience near 45 degrees, and the same way after a restart; its last position. */
#include "tests/support/store_rig.h"
#include "tests/support/unit.h"

#include "proto/bytes.h"

/* A frame whose camera, its y down the world's -y, is turned clockwise by so many degrees. */
static int turn_of_frame(struct rig_client *c, uint64_t seq, float degrees)
{
    float cosine = cosf(degrees * 0.017453293f), sine = sinf(degrees * 0.017453293f);
    struct frame f = rig_frame(seq);
    int had = c->n_acks;

    f.T_wc = (struct rigid){{cosine, -sine, 0, -sine, -cosine, 0, 0, 0, -1}, {0, 0, 0}};
    atomic_store(&fake_gpu_plan.turn, -1);
    assert_int_equal(rig_ask(c, &f, had + 1), 0);
    assert_int_equal(c->acks[had].status, CONTROL_USED);
    return fake_gpu_plan.turn;
}

static void begin(struct rig_client *c, char id[API_ID_CAP], enum session_upright upright,
                  enum session_up up, enum session_journal journal)
{
    struct session_options o = options(SESSION_LOSSLESS);

    o.upright = upright;
    o.up = up;
    o.journal = journal;
    rig_session(&o, id);
    rig_connect(c, id, CONTROL_INGEST);
}

/* The daemon stops and starts: the session comes back. */
static void start_again(struct rig_client *c, const char *id)
{
    rig_disconnect(c);
    core_drain(rig.core);
    settle();
    rig_close();
    (void)come_back(0, id);
}

TEST_WITH(options_say_it, make_folder, remove_folder)
{
    static const struct {
        enum session_upright upright;
        enum session_up up;
        float degrees;
        int turn, exif; /* of a picture without Exif, of one whose Exif says 1 */
    } cases[] = {
        {SESSION_UPRIGHT_0, SESSION_UP_Y, 90, 0, 0},
        {SESSION_UPRIGHT_90, SESSION_UP_Y, 0, 1, 1},
        {SESSION_UPRIGHT_180, SESSION_UP_DEFAULT, 0, 2, 2},
        {SESSION_UPRIGHT_270, SESSION_UP_DEFAULT, 0, 3, 3},
        {SESSION_UPRIGHT_GRAVITY, SESSION_UP_DEFAULT, 90, 1, 1},
        {SESSION_UPRIGHT_EXIF, SESSION_UP_Y, 90, 0, 1},
        {SESSION_UPRIGHT_AUTO, SESSION_UP_Y, 90, 0, 1},    /* of cv poses the world is not known */
        {SESSION_UPRIGHT_DEFAULT, SESSION_UP_Y, 90, 1, 1}, /* unless its up axis is said */
        {SESSION_UPRIGHT_DEFAULT, SESSION_UP_DEFAULT, 90, 0, 1},
        {SESSION_UPRIGHT_DEFAULT, SESSION_UP_MINUS_Y, 0, 2, 2},
        {SESSION_UPRIGHT_DEFAULT, SESSION_UP_X, 0, 3, 3},
        {SESSION_UPRIGHT_DEFAULT, SESSION_UP_MINUS_X, 0, 1, 1},
    };
    static const uint8_t held[] = "\xff\xe1\0\x21"
                                  "Exif\0\0MM\0*\0\0\0\x08\0\x01"
                                  "\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0";
    static struct rig_client c;
    char id[API_ID_CAP];

    for (int exif = 0; exif < 2; exif++) {
        open_rig(0);
        if (exif) { /* a camera that was held upright says 6 */
            uint8_t *jpeg = malloc(rig.jpeg_len + sizeof held - 1);

            memcpy(jpeg, rig.jpeg, 2);
            memcpy(jpeg + 2, held, sizeof held - 1);
            memcpy(jpeg + 1 + sizeof held, rig.jpeg + 2, rig.jpeg_len - 2);
            free(rig.jpeg);
            rig.jpeg = jpeg;
            rig.jpeg_len += sizeof held - 1;
        }
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            int want = exif ? cases[i].exif : cases[i].turn;

            begin(&c, id, cases[i].upright, cases[i].up, SESSION_JOURNAL_OFF);
            assert_int_equal(turn_of_frame(&c, 1, cases[i].degrees), want);
            rig_disconnect(&c);
        }
        rig_close();
    }
}

/* Held at 40 to 48 degrees the picture stays as it was, also behind a checkpoint and a restart. */
TEST_WITH(it_does_not_flip, make_folder, remove_folder)
{
    static struct rig_client c;
    char id[API_ID_CAP];

    open_rig(0);
    begin(&c, id, SESSION_UPRIGHT_GRAVITY, SESSION_UP_Y, SESSION_JOURNAL_SYNC);
    assert_int_equal(turn_of_frame(&c, 1, 0), 0);
    assert_int_equal(turn_of_frame(&c, 2, 40), 0);
    assert_int_equal(turn_of_frame(&c, 3, 48), 0);
    assert_int_equal(turn_of_frame(&c, 4, 52), 1);
    assert_int_equal(turn_of_frame(&c, 5, 50), 1);
    assert_int_equal(turn_of_frame(&c, 6, 42), 1);
    assert_int_equal(turn_of_frame(&c, 7, 260), 3);
    assert_int_equal(turn_of_frame(&c, 8, 222), 3);
    start_again(&c, id);
    assert_int_equal(rig_info(id).counts.used, 8);
    assert_int_equal(fake_gpu_plan.frames, 0); /* a checkpoint, and no replay */
    rig_connect(&c, id, CONTROL_INGEST);
    assert_int_equal(turn_of_frame(&c, 9, 222), 3); /* 180 is nearer, but it was 270 */
    assert_int_equal(turn_of_frame(&c, 10, 205), 2);
    rig_end(&c);
}

/* What is up in a world without a known axis is seen from pictures that stand, Exif or none, also
 * behind a checkpoint; another world is looked at anew. */
TEST_WITH(what_is_up_is_seen, make_folder, remove_folder)
{
    static struct rig_client c;
    char id[API_ID_CAP];

    open_rig(0);
    begin(&c, id, SESSION_UPRIGHT_AUTO, SESSION_UP_DEFAULT, SESSION_JOURNAL_SYNC);
    for (uint64_t seq = 1; seq <= 6; seq++)
        assert_int_equal(turn_of_frame(&c, seq, seq & 1 ? 10.0f : -10.0f), 0);
    assert_int_equal(turn_of_frame(&c, 7, 48), 0);
    assert_int_equal(turn_of_frame(&c, 8, 90), 1);
    assert_int_equal(turn_of_frame(&c, 9, -90), 3);
    start_again(&c, id);
    assert_int_equal(fake_gpu_plan.frames, 0); /* a checkpoint, and no replay */
    rig_connect(&c, id, CONTROL_INGEST);
    assert_int_equal(turn_of_frame(&c, 10, 180), 2);
    assert_int_equal(turn_of_frame(&c, 11, 0), 0);
    rig_disconnect(&c);
    begin(&c, id, SESSION_UPRIGHT_AUTO, SESSION_UP_DEFAULT, SESSION_JOURNAL_OFF);
    assert_int_equal(turn_of_frame(&c, 1, 90), 0);
    assert_int_equal(turn_of_frame(&c, 2, 0), 3); /* as many lie as stand */
    assert_int_equal(turn_of_frame(&c, 3, 0), 0); /* more would lie than stand */
    assert_int_equal(turn_of_frame(&c, 4, 90), 1);
    rig_end(&c);
}

/* A frame whose accelerometer was held upwards along (x, y, z) of an OpenCV camera. */
static int turn_of_force(struct rig_client *c, uint64_t seq, float x, float y, float z)
{
    uint8_t samples[2 * FRAME_IMU_BYTES] = {0};
    struct frame f = rig_frame(seq);
    int had = c->n_acks;

    for (int i = 0; i < 2; i++) { /* shaken, but not in the mean */
        struct bytes_writer w = bytes_writer(samples + i * FRAME_IMU_BYTES + 20, 12);
        float shake = i ? -3.0f : 3.0f;

        bytes_put_f32(&w, x + shake);
        bytes_put_f32(&w, y - shake);
        bytes_put_f32(&w, z);
    }
    f.n_parts = 1;
    f.parts[0] = (struct frame_part){
        .type = FRAME_IMU, .codec = FRAME_RAW, .data = samples, .len = sizeof samples};
    atomic_store(&fake_gpu_plan.turn, -1);
    assert_int_equal(rig_ask(c, &f, had + 1), 0);
    return fake_gpu_plan.turn;
}

/* Poses of a world whose axes are not known say nothing; the accelerometer does, if that is on. */
TEST_WITH(the_accelerometer_says_it, make_folder, remove_folder)
{
    static struct rig_client c;
    char id[API_ID_CAP];

    open_rig(0);
    begin(&c, id, SESSION_UPRIGHT_AUTO, SESSION_UP_DEFAULT, SESSION_JOURNAL_OFF);
    assert_int_equal(turn_of_force(&c, 1, 0, -9.8f, 1), 0);
    assert_int_equal(turn_of_force(&c, 2, -9.8f, 0, 1), 1);
    assert_int_equal(turn_of_force(&c, 3, 0, 9.8f, 1), 2);
    assert_int_equal(turn_of_force(&c, 4, 9.8f, 0, 0), 3);
    assert_int_equal(turn_of_force(&c, 5, 0.5f, 0, 9.8f), 3); /* looks down: as before */
    assert_int_equal(turn_of_force(&c, 6, 0, -1, 0), 0);      /* in g: it says nothing */
    assert_int_equal(turn_of_force(&c, 7, NAN, -9.8f, 0), 0);
    rig_disconnect(&c);
    begin(&c, id, SESSION_UPRIGHT_EXIF, SESSION_UP_DEFAULT, SESSION_JOURNAL_OFF);
    assert_int_equal(turn_of_force(&c, 1, -9.8f, 0, 1), 0);
    rig_disconnect(&c);
    begin(&c, id, SESSION_UPRIGHT_GRAVITY, SESSION_UP_Y, SESSION_JOURNAL_OFF);
    assert_int_equal(turn_of_force(&c, 1, -9.8f, 0, 1), 2); /* the pose: y down is +y */
    rig_end(&c);
}

/* Samples of 30 ms each that stand for the time since the frame before; gravity along +x. */
static void send_turned(struct rig_client *c, struct frame f, uint64_t from_ns, float rate)
{
    uint8_t samples[4 * FRAME_IMU_BYTES] = {0};
    int had = c->n_acks;

    for (int i = 0; i < 4; i++) {
        struct bytes_writer w =
            bytes_writer(samples + i * FRAME_IMU_BYTES, sizeof samples - i * FRAME_IMU_BYTES);
        bytes_put_u64(&w, from_ns + (uint64_t)i * 30000000);
        bytes_put_f32(&w, 0);
        bytes_put_f32(&w, rate);
        bytes_put_f32(&w, 0);
        bytes_put_f32(&w, 9.8f);
    }
    f.flags = 0;
    f.n_parts = 1;
    f.parts[0] = (struct frame_part){
        .type = FRAME_IMU, .codec = FRAME_RAW, .data = samples, .len = sizeof samples};
    assert_int_equal(rig_ask(c, &f, had + 1), 0);
}

/* Where poses are learned the first frame stands upright in the world (-y is up there), and each
 * one tells how it turned since the last used one, also behind a checkpoint. */
TEST_WITH(learned_poses_have_samples, make_folder, remove_folder)
{
    static struct rig_client c;
    const struct fake_seen *seen = &fake_gpu_plan.seen;
    struct session_options o = options(SESSION_LOSSLESS);
    struct frame f;

    o.pose_source = SESSION_POSE_LEARNED;
    o.journal = SESSION_JOURNAL_SYNC;
    open_rig(0);
    rig_join(&c, &o);
    f = rig_frame(1);
    send_turned(&c, f, f.t_capture_ns - 90000000, 0.5f);
    assert_true(seen->has_start && seen->turn_s == 0);
    assert_true(fabsf(seen->T_wc.r[3] + 1) < 1e-6f); /* x of the camera is -y of the world */
    f = rig_frame(4);                                /* 100 ms later */
    send_turned(&c, f, f.t_capture_ns - 95000000, 0.5f);
    assert_true(!seen->has_start && fabsf(seen->turn_s - 0.1f) < 1e-6f);
    assert_true(fabsf(seen->turn[1] - 0.05f) < 1e-4f && seen->turn[0] == 0);
    f = rig_frame(5); /* samples of another clock */
    send_turned(&c, f, 77, 0.5f);
    assert_true(seen->turn_s == 0 && seen->turn[1] == 0);
    start_again(&c, c.id);
    rig_connect(&c, c.id, CONTROL_INGEST);
    f = rig_frame(7);
    send_turned(&c, f, f.t_capture_ns - 70000000, -0.5f);
    assert_true(!seen->has_start && fabsf(seen->turn_s - 0.0666667f) < 1e-6f);
    assert_true(fabsf(seen->turn[1] + 0.0333333f) < 1e-4f);
    rig_end(&c);
}

static void send_position(struct rig_client *c, uint64_t seq, double latitude)
{
    const struct frame_position p = {latitude, -122.25, 31.5f, 4};
    uint8_t bytes[FRAME_POSITION_BYTES];
    struct frame f = rig_frame(seq);
    int had = c->n_acks;

    frame_position_put(bytes, &p);
    f.n_parts = 1;
    f.parts[0] = (struct frame_part){
        .type = FRAME_GPS, .codec = FRAME_RAW, .data = bytes, .len = sizeof bytes};
    assert_int_equal(rig_ask(c, &f, had + 1), 0);
    assert_int_equal(c->acks[had].status, CONTROL_USED);
}

/* The last place that is one stays, behind frames without and behind a checkpoint. */
TEST_WITH(the_last_position_is_kept, make_folder, remove_folder)
{
    static struct rig_client c;
    struct session_info info;
    char id[API_ID_CAP];

    open_rig(0);
    begin(&c, id, SESSION_UPRIGHT_AUTO, SESSION_UP_DEFAULT, SESSION_JOURNAL_SYNC);
    assert_false(rig_info(id).has_position);
    send_position(&c, 1, 91);
    assert_false(rig_info(id).has_position);
    send_position(&c, 2, 10);
    send_position(&c, 3, 48.137154321);
    send_position(&c, 4, NAN);
    (void)turn_of_frame(&c, 5, 0);
    start_again(&c, id);
    assert_int_equal(fake_gpu_plan.frames, 0); /* a checkpoint, and no replay */
    info = rig_info(id);
    assert_true(info.has_position && info.position.latitude == 48.137154321);
    assert_true(info.position.longitude == -122.25 && info.position.altitude_m == 31.5f &&
                info.position.accuracy_m == 4);
    rig_close();
}
