/* Several devices: which are opened, what is said when one is missing, where sessions go. */
#include "tests/support/core_rig.h"
#include "tests/support/unit.h"

static void rig_open_devices(const char *use, int cuda, unsigned broken)
{
    struct config config;

    rig_prepare(&config);
    fake_gpu_plan.cuda_count = cuda;
    fake_gpu_plan.cuda_broken = broken;
    snprintf(config.device.use, sizeof(config.device.use), "%s", use);
    rig_open_with(&config);
}

/* Names of the devices as they are listed, separated by blanks. */
static const char *device_names(void)
{
    static char names[8192];
    struct api_device d[CORE_DEVICES_MAX];
    int n;

    names[0] = '\0';
    assert_int_equal(core_ops.devices(rig.core, d, CORE_DEVICES_MAX, &n, NULL), 0);
    for (int i = 0; i < n; i++)
        snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s", i ? " " : "",
                 d[i].name);
    return names;
}

TEST(words_name_devices)
{
    static const struct {
        const char *use;
        int n_cuda;
        const char *names; /* "!" = needed; NULL = refused */
    } cases[] = {
        {"auto", 0, "auto!"},
        {"cpu", 4, "cpu!"},
        {"cuda", 3, "cuda:0 cuda:1 cuda:2"},
        {"cuda", 0, "cuda!"},
        {"cuda:0 cuda:2", 0, "cuda:0! cuda:2!"},
        {"cuda:0,2", 4, "cuda:0! cuda:2!"},
        {"cuda:0, 2 ,3 cpu", 4, "cuda:0! cuda:2! cuda:3! cpu!"},
        {"cuda:1,cuda:1,1,01", 4, "cuda:1!"},
        {"cuda cuda:1", 2, "cuda:0 cuda:1!"},
        {"cuda", 100,
         "cuda:0 cuda:1 cuda:2 cuda:3 cuda:4 cuda:5 cuda:6 cuda:7 cuda:8 cuda:9 cuda:10 cuda:11 "
         "cuda:12 cuda:13 cuda:14 cuda:15"},
        {"0,2", 4, NULL},
        {"cpu 2", 4, NULL},
        {"cuda:", 4, NULL},
        {"cuda:x", 4, NULL},
        {"cuda:1000", 4, NULL},
        {"gpu", 4, NULL},
        {"auto cpu", 4, NULL},
        {" , ", 4, NULL},
        {"cuda:0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16", 99, NULL},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct err err = {0};
        struct devices d;
        char names[512] = "";
        int rc = devices_resolve(&d, cases[i].use, cases[i].n_cuda, &err);
        if (!cases[i].names) {
            assert_true(rc == ERR_INPUT || rc == ERR_LIMIT);
            assert_string_equal(err.where, "device.use");
            continue;
        }
        if (rc)
            fail_msg("'%s': %s", cases[i].use, err.text);
        for (int k = 0; k < d.n; k++)
            snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s%s", k ? " " : "",
                     d.of[k].name, d.of[k].needed ? "!" : "");
        assert_string_equal(names, cases[i].names);
    }
}

TEST(what_opens_computes_and_what_is_missing_is_told)
{
    static const struct {
        const char *use;
        int cuda;
        unsigned broken;
        const char *names, *missing; /* NULL = ready */
    } cases[] = {
        {"auto", 0, 0, "fake", NULL},
        {"auto", 3, 0, "cuda:0 cuda:1 cuda:2", NULL},
        {"auto", 3, 2, "cuda:0 cuda:2", NULL},
        {"auto", 2, 3, "fake", NULL},
        {"cuda", 3, 1, "cuda:1 cuda:2", NULL},
        {"cuda", 0, 0, "", "cuda is needed by device.use: no CUDA in this test"},
        {"cuda", 2, 3, "", "none of 2 CUDA devices opens"},
        {"cuda:0,2", 4, 0, "cuda:0 cuda:2", NULL},
        {"cuda:0,2", 2, 0, "cuda:0", "cuda:2 is needed by device.use: cuda:2 does not answer"},
        {"cuda:1 cpu", 1, 0, "cpu", "cuda:1 is needed"},
    };
    char why[API_TEXT_CAP];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rig_open_devices(cases[i].use, cases[i].cuda, cases[i].broken);
        assert_string_equal(device_names(), cases[i].names);
        assert_int_equal(core_ops.health(rig.core, why), cases[i].missing ? API_FAULT : API_READY);
        if (cases[i].missing && !strstr(why, cases[i].missing))
            fail_msg("'%s': '%s'", cases[i].use, why);
        rig_close();
    }
}

/* Nothing to compute on: it answers, is watched, and takes no session. */
TEST(no_device_no_session)
{
    struct session_options o = rig_options();
    struct session_info info;
    struct err err = {0};
    const char *who;
    int retry = 0;

    rig_open_devices("cuda", 0, 0);
    assert_int_equal(core_ops.session_create(rig.core, &o, "", &info, &retry, &err), ERR_BUSY);
    assert_non_null(strstr(err.text, "no CUDA in this test"));
    assert_true(retry > 0);
    assert_true(core_alive_us(rig.core, &who) > 0);
    rig_close();
}

/* Device that a new session goes to. */
static void create(char id[API_ID_CAP], const char *expected)
{
    struct session_options o = rig_options();

    rig_session(&o, id);
    if (expected)
        assert_string_equal(rig_info(id).device, expected);
}

TEST(new_sessions_spread)
{
    struct api_device d[4];
    char id[API_ID_CAP], first[API_ID_CAP];
    int n;

    rig_open_devices("cuda", 4, 0);
    create(first, "cuda:0");
    for (int i = 1; i < 16; i++)
        create(id, NULL);
    assert_int_equal(core_ops.devices(rig.core, d, 4, &n, NULL), 0);
    assert_int_equal(n, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(d[i].sessions, 4);
        assert_float_equal(d[i].load_fps, 120, 1);
        assert_float_equal(d[i].temperature_c, 40, 0.1);
        assert_int_equal(d[i].errors, 0);
    }
    assert_int_equal(core_ops.session_delete(rig.core, first, NULL), 0);
    create(id, "cuda:0");
    rig_close();
}

/* What sessions do counts more than how many they are or what they hold. */
TEST(a_busy_device_gets_no_more)
{
    static struct rig_client busy, calm[2];
    struct session_options o = rig_options();
    char id[API_ID_CAP];

    rig_open_devices("cuda:0,1", 2, 0);
    create(id, "cuda:0");
    rig_connect(&busy, id, CONTROL_INGEST);
    o.max_points = 1000000; /* holds far more, and sends little */
    for (int i = 0; i < 2; i++) {
        atomic_store(&worker_budget(rig.core->workers[0])->limit, 0); /* no room on the first */
        rig_session(&o, id);
        assert_string_equal(rig_info(id).device, "cuda:1");
        rig_connect(&calm[i], id, CONTROL_INGEST);
        rig_step(&calm[i], 1, 1);
    }
    atomic_store(&worker_budget(rig.core->workers[0])->limit, 64ull << 30);
    rig_feed(&busy, 1, 60);
    create(id, "cuda:1");
    rig_disconnect(&busy);
    rig_disconnect(&calm[0]);
    rig_disconnect(&calm[1]);
    rig_close();
}

/* The best device has no memory left: the next best takes it; none: busy. */
TEST(memory_decides_last)
{
    struct session_options o = rig_options();
    struct session_info info;
    struct err err = {0};
    char id[API_ID_CAP];
    int retry;

    rig_open_devices("cuda", 2, 0);
    atomic_store(&worker_budget(rig.core->workers[0])->limit, 1);
    create(id, "cuda:1");
    create(id, "cuda:1");
    atomic_store(&worker_budget(rig.core->workers[1])->limit, 1);
    assert_int_equal(core_ops.session_create(rig.core, &o, "", &info, &retry, &err), ERR_BUSY);
    assert_non_null(strstr(err.text, "MiB"));
    rig_close();
}

/* Frames of sessions on four devices at once; one lost device ends the process, the others answer
 * until then. */
TEST(devices_work_side_by_side)
{
    static struct rig_client c[8];
    struct api_device d[4];
    char id[8][API_ID_CAP];
    int n;

    rig_open_devices("cuda", 4, 0);
    fake_gpu_plan.wait_us = 1000;
    for (int i = 0; i < 8; i++) {
        create(id[i], NULL);
        rig_connect(&c[i], id[i], CONTROL_INGEST);
    }
    for (uint64_t seq = 1; seq <= 5; seq++) {
        fake_gpu_plan.hold = seq == 3; /* no device is done, yet each has a batch */
        for (int i = 0; i < 8; i++)
            rig_send(&c[i], seq);
        for (int i = 0; seq == 3 && i < 120000 && fake_gpu_plan.busy < 4; i++)
            usleep(500);
        assert_true(seq != 3 || fake_gpu_plan.busy == 4);
        fake_gpu_plan.hold = false;
        for (int i = 0; i < 8; i++)
            rig_wait_acks(&c[i], (int)seq);
    }
    assert_int_equal(core_ops.devices(rig.core, d, 4, &n, NULL), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(d[i].frames, 10);
    for (int i = 1; i < 8; i++)
        assert_true(rig_info(id[i]).hash == rig_info(id[0]).hash);
    for (int i = 0; i < 8; i++)
        rig_disconnect(&c[i]);
    rig_close();
}
