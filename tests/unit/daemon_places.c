/* Places: of sessions on the server, of viewers and cameras in a session. */
#include "tests/support/core_rig.h"
#include "tests/support/unit.h"

static void begin(struct config *config)
{
    rig_prepare(config);
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

    begin(&config);
    config.limits.viewers = 3;
    rig_open_with(&config);
    rig_session(&o, id);
    for (int i = 0; i < 3; i++)
        rig_connect(&viewers[i], id, CONTROL_VIEW);
    assert_int_equal(core_ops.stream_open(rig.core, id, CONTROL_VIEW, &late, &late.s, &err),
                     ERR_BUSY);
    assert_string_equal(err.text, "too many clients watch this session");
    for (int i = 0; i < SESSION_FEEDERS_MAX; i++) { /* each tells the one before it to go */
        assert_int_equal(
            core_ops.stream_open(rig.core, id, CONTROL_INGEST, &cameras[i], &cameras[i].s, NULL),
            0);
        assert_int_equal(core_ops.stream_start(cameras[i].s, &start, NULL), 0);
    }
    assert_int_equal(core_ops.stream_open(rig.core, id, CONTROL_INGEST, &late, &late.s, &err),
                     ERR_BUSY);
    for (int i = 0; i < SESSION_FEEDERS_MAX; i++)
        core_ops.stream_close(cameras[i].s);
    rig_connect(&in, id, CONTROL_INGEST);
    assert_int_equal(rig_step(&in, 1, 1), 0);
    rig_disconnect(&viewers[1]);
    rig_connect(&viewers[1], id, CONTROL_VIEW);
    for (int i = 0; i < 3; i++)
        rig_disconnect(&viewers[i]);
    rig_end(&in);
}

/* The server is ready while it would let a session in. */
/* Is the line among the metrics? */
static bool tells(const char *line)
{
    static char text[1 << 17];

    assert_true(core_ops.metrics(rig.core, text, sizeof(text)) < sizeof(text));
    return strstr(text, line) != NULL;
}

TEST(readiness_is_the_truth)
{
    struct session_options o = rig_options();
    char id[API_ID_CAP], why[API_TEXT_CAP], later[256];
    struct config config;

    begin(&config);
    config.limits.sessions = 1;
    rig_load_with(&config);
    assert_int_equal(core_ops.health(rig.core, why), API_STARTING);
    core_set_ready(rig.core);
    core_ops.health(rig.core, why);
    assert_string_equal(why, "");
    assert_int_equal(core_ops.health(rig.core, why), API_READY);
    rig_session(&o, id);
    assert_int_equal(core_ops.health(rig.core, why), API_FULL);
    assert_string_equal(why, "1 sessions exist, which is the limit");
    assert_true(tells("\nrecond_full 1\n"));
    assert_int_equal(core_ops.session_delete(rig.core, id, NULL), 0);
    assert_int_equal(core_ops.health(rig.core, why), API_READY);
    assert_true(tells("\nrecond_full 0\n"));
    config.device.memory_bytes = 1 << 20;
    core_reload(rig.core, &config, later, sizeof(later));
    assert_int_equal(core_ops.health(rig.core, why), API_FULL);
    assert_non_null(strstr(why, "MiB are needed"));
    core_drain(rig.core);
    assert_int_equal(core_ops.health(rig.core, why), API_DRAINING);
    rig_close();
}
