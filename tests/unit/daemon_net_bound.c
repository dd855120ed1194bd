/* Networks that are too large for the devices are refused when a session is created. */
#include "daemon/work/worker_state.h"
#include "tests/support/store_rig.h"
#include "tests/support/unit.h"

static int create(int w, int h, struct session_info *info, struct err *err)
{
    struct session_options o = options(SESSION_LOSSLESS);
    int retry;

    o.net_w = w;
    o.net_h = h;
    return core_ops.session_create(rig.core, &o, "", info, &retry, err);
}

static void open_with(int net_pixels)
{
    struct config config;

    store_config(&config, 0, 0);
    config.limits.net_pixels = net_pixels;
    rig_open_with(&config);
}

TEST_WITH(the_configuration_bounds_networks, make_folder, remove_folder)
{
    struct session_info info;
    char id[API_ID_CAP];
    struct err err;

    open_with(0);
    assert_int_equal(create(256, 192, &info, &err), 0);
    assert_int_equal(create(352, 288, &info, &err), 0);
    assert_int_equal(create(2048, 2016, &info, &err), ERR_INPUT);
    assert_string_equal(err.where, "/net");
    assert_int_equal(create(416, 288, &info, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "106496"));
    rig_close();
    open_with(512 * 416);
    assert_int_equal(create(512, 416, &info, &err), 0);
    memcpy(id, info.id, sizeof(id));
    assert_int_equal(create(512, 448, &info, &err), ERR_INPUT);
    rig_close();
    open_with(0); /* what was there comes back under a smaller bound */
    wait_until_back(id);
    assert_int_equal(rig_info(id).options.net_w, 512);
    rig_close();
}

TEST_WITH(what_frames_have_taken_bounds_networks, make_folder, remove_folder)
{
    static struct rig_client c;
    struct session_info info;
    struct err err;

    open_with(0);
    assert_int_equal(create(256, 192, &info, &err), 0);
    rig_connect(&c, info.id, CONTROL_INGEST);
    feed(&c, 1, 3);
    rig_disconnect(&c);
    assert_true(atomic_load(&rig.core->workers[0]->ps_per_pixel) > 0);
    atomic_store(&rig.core->workers[0]->ps_per_pixel, 10000000); /* 100,000 pixels in a second */
    assert_int_equal(create(352, 256, &info, &err), 0);
    assert_int_equal(create(352, 288, &info, &err), ERR_INPUT);
    atomic_store(&rig.core->workers[0]->ps_per_pixel, 1000000000);
    assert_int_equal(create(416, 128, &info, &err), 0); /* what the server itself chooses */
    rig_close();
}

/* The first frame of a session found out that its networks do not fit the device. */
TEST_WITH(a_size_that_failed_is_not_tried_again, make_folder, remove_folder)
{
    static struct rig_client c;
    struct session_info info;
    struct err err;

    open_with(0);
    fake_gpu_plan.session_fails = ERR_LIMIT;
    assert_int_equal(create(352, 288, &info, &err), 0);
    rig_connect(&c, info.id, CONTROL_INGEST);
    feed(&c, 1, 1);
    assert_int_equal(c.acks[0].reason, CONTROL_FAULT);
    rig_disconnect(&c);
    fake_gpu_plan.session_fails = 0;
    assert_int_equal(create(352, 288, &info, &err), ERR_INPUT);
    assert_int_equal(create(352, 256, &info, &err), 0);
    rig_close();
}
