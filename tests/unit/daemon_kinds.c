/* Two kinds of sessions on one device: batches are of one line, the more urgent line goes first,
 * and * what a kind without a map has not is refused. */
#include "tests/support/core_rig.h"
#include "tests/support/unit.h"

#include "daemon/core_internal.h"
#include "daemon/session/options.h"
#include "daemon/session/pipeline.h"

#define EACH 3 /* sessions of a kind */
#define FRAMES 12

static struct gpu_line other_line;
static struct pipeline other;
static atomic_int finished;

static void other_config(struct gpu_session_config *c, const struct session_options *o,
                         struct gpu_model *depth, struct gpu_model *motion)
{
    pipeline_mono.device_config(c, o, depth, motion);
    c->line = &other_line;
}

static void other_finish(struct job *job, struct control_ack *ack)
{
    (void)job;
    (void)ack;
    finished++;
}

/* A session of the other kind; `change`, if any, is made before it is admitted. */
static void open_changed(char id[API_ID_CAP], void (*change)(struct session_setup *))
{
    struct session_options o = rig_options();
    struct session_setup setup;
    struct session *s;
    struct err err = {0};

    if (core_admit_setup(rig.core, &o, "", &setup, &err))
        fail_msg("%s: %s", err.where, err.text);
    setup.kind = &other;
    if (change)
        change(&setup);
    if (core_admit(rig.core, &setup, &s, &err))
        fail_msg("%s: %s", err.where, err.text);
    memcpy(id, session_id(s), API_ID_CAP);
    session_unref(s);
}

static void open_other(char id[API_ID_CAP])
{
    open_changed(id, NULL);
}

static void take_networks_away(struct session_setup *setup)
{
    setup->depth = NULL;
    setup->options.net_w = setup->options.net_h = 0;
    setup->options.depth_model[0] = 0;
}

static void open_without(char id[API_ID_CAP])
{
    open_changed(id, take_networks_away);
}

static void open_kinds(void)
{
    rig_open();
    other_line = gpu_line_mono;
    other_line.name = "other";
    other_line.has_map = 0;
    other = pipeline_mono;
    other.name = "other";
    other.line = &other_line;
    other.device_config = other_config;
    other.finish = other_finish;
    finished = 0;
}

TEST(a_batch_is_of_one_line)
{
    static struct rig_client c[2 * EACH];
    char id[API_ID_CAP];

    open_kinds();
    atomic_store(&fake_gpu_plan.wait_us, 2000); /* so that frames of both kinds wait together */
    for (int i = 0; i < 2 * EACH; i++) {
        const struct session_options o = rig_options();
        if (i % 2)
            open_other(id);
        else
            rig_session(&o, id);
        rig_connect(&c[i], id, CONTROL_INGEST);
    }
    for (uint64_t seq = 1; seq <= FRAMES; seq++) {
        for (int i = 0; i < 2 * EACH; i++)
            rig_send(&c[i], seq);
        for (int i = 0; i < 2 * EACH; i++)
            rig_wait_acks(&c[i], (int)seq);
    }
    for (int i = 0; i < 2 * EACH; i++) {
        for (int k = 0; k < FRAMES; k++)
            assert_int_equal(c[i].acks[k].status, CONTROL_USED);
        assert_true(i % 2 ? cloud_points(c[i].cloud) == 0 : cloud_points(c[i].cloud) > 0);
        rig_disconnect(&c[i]);
    }
    assert_int_equal(finished, EACH * FRAMES);
    assert_true(fake_gpu_plan.largest_batch > 1); /* they did not all go alone */
    rig_close();                                  /* and no batch was of two lines */
}

/* The session's picture is decoded and stands in line for the device. */
static void wait_for_picture(const char *id)
{
    struct session *s = registry_find(rig.core->registry, id);

    while (!queue_has_ready(session_queue(s)))
        usleep(500);
    session_unref(s);
}

/* Frames of both kinds wait while the worker waits for its device: those of the line
 * with the lower number go first although they came last, and then the others. */
TEST(the_more_urgent_line_goes_first)
{
    static struct rig_client c[2 * EACH];
    static char id[2 * EACH][API_ID_CAP];
    const struct session_options o = rig_options();
    int first;

    open_kinds();
    other_line.priority = gpu_line_mono.priority - 1;
    for (int i = 0; i < 2 * EACH; i++) {
        if (i % 2)
            open_other(id[i]);
        else
            rig_session(&o, id[i]);
        rig_connect(&c[i], id[i], CONTROL_INGEST);
        rig_step(&c[i], 1, 1);
    }
    atomic_store(&fake_gpu_plan.hold, true);
    first = fake_gpu_plan.batches;
    rig_send(&c[0], 2);
    while (fake_gpu_plan.batches == first)
        usleep(500);
    usleep(20000);              /* the worker waits for it, for it is due */
    for (int k = 0; k < 2; k++) /* mono's, then the others */
        for (int i = 1; i < 2 * EACH; i++)
            if (i % 2 == k) {
                rig_send(&c[i], 2);
                wait_for_picture(id[i]);
            }
    usleep(20000); /* the last one is announced after it is ready */
    atomic_store(&fake_gpu_plan.hold, false);
    for (int i = 0; i < 2 * EACH; i++) {
        rig_wait_acks(&c[i], 2);
        assert_int_equal(c[i].acks[1].status, CONTROL_USED);
        rig_disconnect(&c[i]);
    }
    first++;
    assert_true(fake_gpu_plan.lines[first % FAKE_LINES] == &other_line);
    assert_true(fake_gpu_plan.lines[(first + 1) % FAKE_LINES] == &gpu_line_mono);
    rig_close();
}

TEST(a_kind_without_a_map_says_so)
{
    static struct rig_client c;
    struct core_export *export;
    struct session_pose poses[4];
    struct session_info info;
    char id[API_ID_CAP];
    uint64_t bytes, hash;
    struct err err = {0};
    int n;

    open_kinds();
    open_other(id);
    rig_connect(&c, id, CONTROL_INGEST);
    rig_step(&c, 1, 1);
    assert_int_equal(core_ops.export_open(rig.core, id, "", false, &export, &bytes, &hash, &err),
                     ERR_STATE);
    assert_non_null(strstr(err.text, "kind other has no map"));
    assert_int_equal(core_ops.trajectory(rig.core, id, 0, poses, 4, &n, &err), ERR_STATE);
    info = rig_info(id);
    assert_int_equal(info.points, 0);
    assert_int_equal(info.counts.used, 1);
    rig_end(&c);
}

/* Its pictures are used as they come, and no network is opened for it. */
TEST(a_kind_without_a_network_has_none)
{
    const struct session_options asked = {.kind = SESSION_MONO};
    const struct gpu_model_info *depth, *motion;
    static struct rig_client c;
    struct session_options o;
    struct config config;
    struct session_info info;
    char id[API_ID_CAP];
    struct err err = {0};
    int multiple;

    open_kinds();
    other_line.needs = other_line.takes = 0;
    config = core_config(rig.core);
    o = asked;
    assert_int_equal(options_resolve(&o, &other_line, &depth, &motion, &multiple, &config,
                                     rig.core->models, false, &err),
                     0);
    assert_null(depth);
    assert_null(motion);
    assert_true(o.depth_model[0] == 0 && o.net_w == 0 && multiple == 1);
    o = asked;
    o.depth_model[0] = 'x';
    o.pose_source = SESSION_POSE_LEARNED;
    assert_int_equal(options_resolve(&o, &other_line, &depth, &motion, &multiple, &config,
                                     rig.core->models, false, &err),
                     ERR_UNSUPPORTED); /* poses cannot be learned without one */
    assert_string_equal(err.where, "/pose_source");
    open_without(id);
    rig_connect(&c, id, CONTROL_INGEST);
    rig_step(&c, 1, 1);
    assert_int_equal(c.acks[0].status, CONTROL_USED);
    assert_int_equal(fake_gpu_plan.models, 0);
    info = rig_info(id);
    assert_true(info.options.net_w == 320 && info.options.net_h == 240);
    assert_string_equal(info.options.depth_model, "");
    rig_end(&c);
}
