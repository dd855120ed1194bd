/*
 * Devices add up: what stands around them lets two do twice and four do nearly four times as many
 * frames as one, and hands each of them full batches. The devices are fakes that need the same time
 * for every batch, whatever is in it, so a batch that is not full is lost.
 */
#include "tests/support/core_rig.h"

#include "daemon/config_table.h"

#define SESSIONS 32
#define BATCH 4
#define BATCH_US 40000 /* long, so that a small host keeps up with four */
#define WARM_US 300000
#define RUN_US 1500000
#define UNANSWERED 3

static struct rig_client clients[SESSIONS];

static void set(struct config *config, const char *key, const char *value)
{
    const struct config_key *k = config_table_find("device", key, &(const char *){NULL});

    assert_int_equal(config_table_set(config, k, value, NULL), 0);
}

static void keep_busy(struct rig *r, uint64_t *sent, uint64_t for_us)
{
    uint64_t end_us = clock_us() + for_us;

    while (clock_us() < end_us) {
        for (int i = 0; i < SESSIONS; i++) {
            rig_read_all(&clients[i]);
            while (sent[i] < (uint64_t)clients[i].n_acks + UNANSWERED)
                assert_int_equal(rig_send(r, &clients[i], ++sent[i]), 0);
        }
        usleep(1000);
    }
}

/* Frames a second; *full: frames a batch over those that a batch holds. */
static double rate_of(const char *use, double *full)
{
    struct session_options o = rig_options();
    uint64_t sent[SESSIONS] = {0}, start_us;
    char id[SESSIONS][API_ID_CAP];
    struct config config;
    int frames, batches;
    double rate;
    struct rig r;

    memset(&r, 0, sizeof(r));
    memset(&fake_gpu_plan, 0, sizeof(fake_gpu_plan));
    fake_gpu_plan.cuda_count = 4;
    fake_gpu_plan.wait_us = BATCH_US;
    tiny_models(r.models);
    rig_config(&config, r.models);
    set(&config, "use", use);
    set(&config, "batch", "4");
    rig_open_with(&r, &config);
    for (int i = 0; i < SESSIONS; i++) {
        rig_session(&r, &o, id[i]);
        rig_connect(&r, &clients[i], id[i], CONTROL_INGEST);
    }
    keep_busy(&r, sent, WARM_US);
    frames = fake_gpu_plan.frames;
    batches = fake_gpu_plan.batches;
    start_us = clock_us();
    keep_busy(&r, sent, RUN_US);
    frames = fake_gpu_plan.frames - frames;
    batches = fake_gpu_plan.batches - batches;
    rate = frames * 1e6 / (double)(clock_us() - start_us);
    *full = (double)frames / batches / BATCH;
    fake_gpu_plan.wait_us = 0;
    for (int i = 0; i < SESSIONS; i++)
        rig_disconnect(&clients[i]);
    rig_close(&r);
    return rate;
}

/* A machine with other work may spoil an attempt, not all. */
static void four_devices_do_four_times_as_much(void **state)
{
    double one, two = 0, four = 0, full[3];

    (void)state;
    one = rate_of("cuda:0", &full[0]);
    for (int i = 0; i < 5 && (two < 1.9 * one || four < 3.7 * one); i++) {
        two = rate_of("cuda:0,1", &full[1]);
        four = rate_of("cuda:0,1,2,3", &full[2]);
        print_message(
            "# %.0f, %.0f, %.0f frames/s: %.2f and %.2f; batches full to %.2f, %.2f, %.2f\n", one,
            two, four, two / one, four / one, full[0], full[1], full[2]);
    }
    assert_true(one > 0.9 * BATCH * 1e6 / BATCH_US); /* it was the device that was short */
    assert_true(two >= 1.9 * one);
    assert_true(four >= 3.7 * one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(four_devices_do_four_times_as_much)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
