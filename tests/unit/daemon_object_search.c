/*
 * A session refuses objects that are not there, tells its clients of those that it recognises, and
 * knows the same things again when its process was killed. The device is the processor, the depth
 * is a sensor's, of a drawn table from which a tortoise goes away.
 */
#include "tests/support/store_rig.h"

#include "daemon/work/object_search.h"
#include "daemon/session/session_objects.h"
#include "daemon/session/tracked_objects.h"
#include "proto/geom/pose.h"
#include "tests/support/shape_case.h"
#include "tests/support/unit.h"

#define W 256
#define H 192
#define PICTURES 7 /* 0.2 s apart; the tortoise is there in the first GONE of them */
#define GONE 4

static uint8_t planes[2 * W * H];
static struct rig_client client, viewer;

static struct rigid camera_of(int i)
{
    return shape_around(vec3_make(0, 0, 0.05f), 8 + 2 * (float)i, 35, 0.8f);
}

static struct shape_place tortoise(void)
{
    return (struct shape_place){SHAPE_TORTOISE, shape_put(40, 0.05f, -0.1f, 0.053f)};
}

/* What a depth camera sees in picture i, as a frame carries it. */
static void draw(int i, bool there)
{
    struct shape_place place[2] = {{SHAPE_TABLE, rigid_identity()}, tortoise()};
    float *depth = malloc(W * H * sizeof(*depth));
    uint16_t *mm = malloc(W * H * sizeof(*mm));
    struct rigid T = camera_of(i);

    assert_true(depth && mm);
    shape_draw(depth, NULL, W, H, shape_camera_of(W, H), &T, place, there ? 2 : 1);
    shape_noise(depth, W * H, (uint32_t)i);
    for (int k = 0; k < W * H; k++)
        mm[k] = (uint16_t)lroundf(1000 * fminf(depth[k], 60));
    depth_split_planes(planes, mm, W, W * H);
    free(depth);
    free(mm);
}

static void send_picture(int i, bool there)
{
    const struct frame_part part = {FRAME_DEPTH, FRAME_RAW, 0, W, H, 0, 0, planes, sizeof(planes)};
    struct frame f = rig_frame((uint64_t)i + 1);
    struct err err = {0};

    draw(i, there);
    f.t_capture_ns = (uint64_t)i * 200000000;
    f.T_wc = camera_of(i);
    f.width = W;
    f.height = H;
    f.n_parts = 1;
    f.parts[0] = part;
    if (rig_send_frame(&client, &f, &err))
        fail_msg("%s: %s", err.where, err.text);
}

static void open_real(int checkpoint_frames)
{
    static const struct core_backend processor = {gpu_open, gpu_cuda_count};
    struct config config;
    struct err err = {0};

    store_config(&config, checkpoint_frames, 0);
    snprintf(config.device.use, sizeof(config.device.use), "cpu");
    log_open(CONFIG_LOG_TEXT, LOG_EMERG);
    rig_picture(W, H, 40);
    if (core_open(&rig.core, &config, &processor, &err))
        fail_msg("%s: %s", err.where, err.text);
    core_set_ready(rig.core);
}

static struct session_options asked(const char *objects, float hz)
{
    struct session_options o = options(SESSION_LOSSLESS);

    o.K = shape_camera_of(W, H);
    o.camera_w = o.net_w = W;
    o.camera_h = o.net_h = H;
    o.depth_source = SESSION_DEPTH_SOURCE_SENSOR;
    o.recognise_hz = hz;
    snprintf(o.objects, sizeof(o.objects), "%s", objects);
    return o;
}

/* The bytes of a tortoise, made once. */
static uint8_t *packed;
static size_t n_packed;

static int make_tortoise(void **state)
{
    struct object o;
    struct err err;

    (void)state;
    assert_int_equal(shape_enrol(&o, SHAPE_TORTOISE, 320, 240, 150, &err), 0);
    n_packed = object_bytes(&o);
    packed = malloc(n_packed);
    assert_non_null(packed);
    object_pack(packed, &o);
    object_free(&o);
    return 0;
}

static int free_tortoise(void **state)
{
    (void)state;
    free(packed);
    return 0;
}

/* A tortoise, as the owner of all sessions has it. */
static void enrol(void)
{
    struct object o;
    struct err err;

    assert_int_equal(object_unpack(&o, packed, n_packed, &err), 0);
    if (objects_add(rig.core->objects, "", "animal", &o, NULL, &err))
        fail_msg("%s", err.text);
    object_free(&o);
}

static struct err err;

static int create(const struct session_options *o, const char *owner, struct session_info *info)
{
    int retry;

    return core_ops.session_create(rig.core, o, owner, info, &retry, &err);
}

static void begin(int checkpoint_frames)
{
    open_real(checkpoint_frames);
    enrol();
}

static struct api_objects known(const char *id)
{
    static struct api_objects o;

    memset(&o, 0, sizeof(o));
    for (int i = 0; i < 6000 && core_ops.recognised(rig.core, id, &o, NULL); i++)
        usleep(10000); /* its journal is being replayed */
    return o;
}

/* Until so many pictures were looked at; fails after a minute. */
static struct api_objects after(const char *id, uint64_t looks)
{
    for (int i = 0; i < 6000 && known(id).looks < looks; i++)
        usleep(10000);
    assert_int_equal(known(id).looks, looks);
    return known(id);
}

static void is_the_tortoise(const struct control_object *o)
{
    struct rigid T, truth = tortoise().T_wo;
    float degrees, metres;

    assert_int_equal(pose_from_numbers(&T, o->pose, 10, NULL), 0);
    shape_off(&degrees, &metres, &T, &truth);
    print_message("# off by %.2f degrees, %.1f mm, score %.2f\n", (double)degrees,
                  (double)metres * 1e3, (double)o->score);
    assert_true(degrees <= 3 && metres <= 0.01f);
    assert_string_equal(o->object, "tortoise");
    assert_string_equal(o->class_name, "animal");
    assert_true(o->id == 1 && o->box[0] < -0.05f && o->box[3] > 0.05f);
}

TEST_WITH(names_that_are_unknown_are_refused, make_folder, remove_folder)
{
    struct session_options o = asked("tortoise,unicorn", 2);
    struct session_info with, without;

    begin(1000);
    assert_int_equal(create(&o, "", &with), ERR_NOT_FOUND);
    assert_string_equal(err.where, "/objects");
    assert_non_null(strstr(err.text, "'unicorn'"));
    o = asked("tortoise", 2);
    assert_int_equal(create(&o, "other", &with), ERR_NOT_FOUND); /* it is another owner's */
    assert_int_equal(create(&o, "", &with), 0);
    o.objects[0] = '\0';
    assert_int_equal(create(&o, "", &without), 0);
    assert_true(with.memory_bytes > without.memory_bytes + 1000000);
    assert_int_equal(known(without.id).looks, 0);
    rig_close();
}

/* What its objects add to a session's memory. */
static uint64_t charged(struct session_options o)
{
    struct session_info with, without;

    if (create(&o, "", &with))
        fail_msg("%s: %s", err.where, err.text);
    o.objects[0] = '\0';
    assert_int_equal(create(&o, "", &without), 0);
    return with.memory_bytes - without.memory_bytes;
}

/* A network whose shape the first picture decides is counted as one of its usual size. */
TEST_WITH(an_unknown_size_is_not_charged_twice, make_folder, remove_folder)
{
    struct session_options o = asked("tortoise", 2);
    uint64_t known_bytes;

    begin(1000);
    o.depth_source = SESSION_DEPTH_SOURCE_NETWORK;
    o.has_camera = false;
    o.net_w = 416;
    o.net_h = 128;
    known_bytes = charged(o);
    o.net_w = o.net_h = 0;
    assert_int_equal(charged(o), known_bytes);
    rig_close();
}

/* What a session has no memory for is told apart from what no session can have. */
TEST_WITH(too_many_tensors_are_said_to_be_so, make_folder, remove_folder)
{
    struct session_options o = asked("tortoise", 2);
    const struct enrolled *e;
    struct session_info info;
    uint32_t n;

    begin(1000);
    e = objects_get(rig.core->objects, "", "tortoise");
    n = e->object.tensor[0].n;
    e->object.tensor[0].n = UINT32_MAX;
    assert_int_equal(create(&o, "", &info), ERR_LIMIT);
    assert_non_null(strstr(err.text, "too many tensors"));
    e->object.tensor[0].n = n;
    objects_put(e);
    assert_int_equal(create(&o, "", &info), 0);
    rig_close();
}

/* A checkpoint has room for all that a session may know, and gives it back. */
TEST_WITH(a_full_list_is_kept, make_folder, remove_folder)
{
    static const struct control_object one = {
        .id = 1, .object = "tortoise", .class_name = "animal", .pose = {[3] = 1}};
    static struct tracked_objects all, again;
    struct session_options o = asked("tortoise", 2);
    struct section in = {.version = 1};
    char id[API_ID_CAP];
    struct session *s;
    uint8_t *buf;
    size_t cap;

    begin(1000);
    rig_session(&o, id);
    s = registry_find(rig.core->registry, id);
    all.n = TRACKED_OBJECTS_MAX;
    all.n_history = 1000;
    all.last_id = 1;
    for (int i = 0; i < TRACKED_OBJECTS_MAX; i++)
        all.at[i] = one;
    for (int i = 0; i < TRACKED_OBJECTS_HISTORY; i++)
        all.history[i] = one;
    session_set_objects(s, &all);
    cap = object_search_state.bytes(s);
    buf = malloc(cap);
    in.body = buf;
    if (object_search_state.save(s, buf, cap, &in.len, &err) ||
        object_search_state.load(s, &in, &err))
        fail_msg("%s", err.text);
    assert_true(session_get_objects(s, &again));
    assert_memory_equal(&again, &all, sizeof(all));
    session_unref(s);
    free(buf);
    rig_close();
}

/* Feeds pictures [first, end). */
static void feed_pictures(int first, int end)
{
    for (int i = first; i < end; i++) {
        int had = client.n_acks;

        send_picture(i, i < GONE);
        rig_wait_acks(&client, had + 1);
        assert_int_equal(client.acks[had % RIG_ACKS].status, CONTROL_USED);
    }
}

/* Every second picture is due at 2.5 Hz; the tortoise is new, seen, then lost. A client that comes
 * late is told of all at once; `ended` comes behind all that is told. */
TEST_WITH(a_thing_is_found_and_lost, make_folder, remove_folder)
{
    struct session_options o = asked("tortoise", 2.5f);
    struct api_objects all;
    char id[API_ID_CAP];

    begin(1000);
    rig_session(&o, id);
    assert_int_equal(objects_remove(rig.core->objects, "", "tortoise", NULL), 0); /* it is held */
    rig_connect(&client, id, CONTROL_INGEST);
    feed_pictures(0, 3);
    all = after(id, 2);
    assert_int_equal(all.n, 1);
    assert_int_equal(all.list[0].state, CONTROL_OBJECT_SEEN);
    assert_int_equal(all.list[0].seq, 3);
    is_the_tortoise(&all.list[0]);
    rig_connect(&viewer, id, CONTROL_VIEW);
    rig_read_all(&viewer);
    assert_int_equal(viewer.n_objects, 1);
    assert_int_equal(viewer.things[0].seq, 3);
    is_the_tortoise(&viewer.things[0]);
    feed_pictures(3, PICTURES);
    assert_int_equal(
        core_ops.stream_control(client.s, &(struct control_message){.op = CONTROL_END}, NULL), 0);
    for (int i = 0; i < 60000 && !client.ended; i++) {
        rig_read_all(&client);
        usleep(1000);
    }
    assert_true(client.ended);
    assert_int_equal(client.things[0].state, CONTROL_OBJECT_LOST); /* before `ended` */
    all = known(id);
    assert_int_equal(all.looks, (PICTURES + 1) / 2);
    assert_int_equal(all.skipped, 0);
    assert_int_equal(all.n_history, 2);
    assert_int_equal(all.history[0].state, CONTROL_OBJECT_NEW);
    assert_int_equal(all.history[0].seq, 1);
    assert_int_equal(all.history[1].state, CONTROL_OBJECT_LOST);
    assert_int_equal(all.history[1].seq, PICTURES); /* the second one without it */
    rig_disconnect(&viewer);
    rig_end(&client);
}

/* In mode live no frame waits for a look: each picture that is due is looked at or counted. */
TEST_WITH(a_live_session_waits_for_none, make_folder, remove_folder)
{
    struct session_options o = asked("tortoise", 30);
    struct api_objects all;

    begin(1000);
    o.mode = SESSION_LIVE;
    rig_join(&client, &o);
    feed_pictures(0, PICTURES);
    for (int i = 0; i < 6000; i++) {
        all = known(client.id);
        if (all.looks + all.skipped == PICTURES)
            break;
        usleep(10000);
    }
    print_message("# %d looks, %d skipped\n", (int)all.looks, (int)all.skipped);
    assert_int_equal(all.looks + all.skipped, PICTURES);
    assert_true(all.looks >= OBJECT_SEARCH_WAITING);
    rig_end(&client);
}

/* In a child: feeds all pictures, leaves what is known then, and dies. */
static void feed_and_die(int out)
{
    struct session_options o = asked("tortoise", 2.5f);
    struct api_objects all;

    begin(checkpoint_every);
    rig_join(&client, &o);
    feed_pictures(0, PICTURES);
    all = after(client.id, (PICTURES + 1) / 2);
    if (write(out, client.id, sizeof(client.id)) != sizeof(client.id) ||
        write(out, &all, sizeof(all)) != sizeof(all))
        _exit(1);
    raise(SIGKILL);
}

static void same_after_kill(int checkpoint_frames)
{
    struct api_objects before, now;
    char id[API_ID_CAP];
    int status;

    checkpoint_every = checkpoint_frames;
    status = in_a_child_that_tells(feed_and_die, id, &before, sizeof(before));
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(before.n_history, 2);
    open_real(checkpoint_frames);
    now = after(id, before.looks);
    assert_memory_equal(&now, &before, sizeof(now));
    assert_int_equal(core_ops.session_delete(rig.core, id, NULL), 0);
    rig_close();
}

TEST_WITH(a_killed_session_knows_the_same, make_folder, remove_folder)
{
    same_after_kill(1000); /* all of its journal is replayed */
}

TEST_WITH(one_with_checkpoints_as_well, make_folder, remove_folder)
{
    same_after_kill(4);
}

TEST_GROUP(make_tortoise, free_tortoise)
