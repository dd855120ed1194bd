/* Places: of sessions on the server, of viewers and cameras in a session. */
#include "tests/support/core_rig.h"
#include "tests/support/unit.h"

static void begin(struct rig *r, struct config *config)
{
    memset(r, 0, sizeof(*r));
    memset(&fake_gpu_plan, 0, sizeof(fake_gpu_plan));
    tiny_models(r->models);
    rig_config(config, r->models);
}

/* Viewers take the places of viewers alone; cameras that come again and again take those of
 * cameras. */
TEST(viewers_lock_no_camera_out)
{
    const struct control_start start = {.role = CONTROL_INGEST, .codecs = 7};
    static struct rig_client in, viewers[3], cameras[SESSION_FEEDERS_MAX], late;
    struct session_options o = rig_options();
    struct config config;
    struct err err = {0};
    char id[API_ID_CAP];
    struct rig r;

    begin(&r, &config);
    config.limits.viewers = 3;
    rig_open_with(&r, &config);
    rig_session(&r, &o, id);
    for (int i = 0; i < 3; i++)
        rig_connect(&r, &viewers[i], id, CONTROL_VIEW);
    assert_int_equal(core_ops.stream_open(r.core, id, CONTROL_VIEW, &late, &late.s, &err),
                     ERR_BUSY);
    assert_string_equal(err.text, "too many clients watch this session");
    for (int i = 0; i < SESSION_FEEDERS_MAX; i++) { /* each tells the one before it to go */
        assert_int_equal(
            core_ops.stream_open(r.core, id, CONTROL_INGEST, &cameras[i], &cameras[i].s, NULL), 0);
        assert_int_equal(core_ops.stream_start(cameras[i].s, &start, NULL), 0);
    }
    assert_int_equal(core_ops.stream_open(r.core, id, CONTROL_INGEST, &late, &late.s, &err),
                     ERR_BUSY);
    for (int i = 0; i < SESSION_FEEDERS_MAX; i++)
        core_ops.stream_close(cameras[i].s);
    rig_connect(&r, &in, id, CONTROL_INGEST);
    assert_int_equal(rig_send(&r, &in, 1), 0);
    rig_wait_acks(&in, 1);
    rig_disconnect(&viewers[1]);
    rig_connect(&r, &viewers[1], id, CONTROL_VIEW);
    for (int i = 0; i < 3; i++)
        rig_disconnect(&viewers[i]);
    rig_disconnect(&in);
    rig_close(&r);
}

/* The server is ready while it would let a session in. */
/* Is the line among the metrics? */
static bool tells(struct rig *r, const char *line)
{
    static char text[1 << 17];

    assert_true(core_ops.metrics(r->core, text, sizeof(text)) < sizeof(text));
    return strstr(text, line) != NULL;
}

TEST(readiness_is_the_truth)
{
    struct session_options o = rig_options();
    char id[API_ID_CAP], why[API_TEXT_CAP], later[256];
    struct config config;
    struct rig r;

    begin(&r, &config);
    config.limits.sessions = 1;
    rig_load_with(&r, &config);
    assert_int_equal(core_ops.health(r.core, why), API_STARTING);
    core_set_ready(r.core);
    core_ops.health(r.core, why);
    assert_string_equal(why, "");
    assert_int_equal(core_ops.health(r.core, why), API_READY);
    rig_session(&r, &o, id);
    assert_int_equal(core_ops.health(r.core, why), API_FULL);
    assert_string_equal(why, "1 sessions exist, which is the limit");
    assert_true(tells(&r, "\nrecond_full 1\n"));
    assert_int_equal(core_ops.session_delete(r.core, id, NULL), 0);
    assert_int_equal(core_ops.health(r.core, why), API_READY);
    assert_true(tells(&r, "\nrecond_full 0\n"));
    config.device.memory_bytes = 1 << 20;
    core_reload(r.core, &config, later, sizeof(later));
    assert_int_equal(core_ops.health(r.core, why), API_FULL);
    assert_non_null(strstr(why, "MiB are needed"));
    core_drain(r.core);
    assert_int_equal(core_ops.health(r.core, why), API_DRAINING);
    rig_close(&r);
}
