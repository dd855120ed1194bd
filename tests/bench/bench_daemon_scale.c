/*
 * Devices add up: what stands around them lets two do twice and four do nearly four times as many
 * frames as one, and hands each of them good batches.
 *
 * Two kinds of fakes. One needs the same time for every batch, whatever is in it, so a batch that
 * is not full is lost. The other is a GPU of which everything is SLOWER times as slow: it computes
 * batches of 1, 2, 4 ... 32 frames, and one between costs what the next of these costs. Around it
 * each commit sleeps for the time that it takes, and a client answers after the time that edge,
 * sockets and the client itself take; so a host of two cores shows what many cores and devices do.
 * It ends with a failure when a bound does not hold. That devices work side by side at all is
 * asserted by tests/unit/daemon_devices, without a clock.
 */
#include "tests/support/core_rig.h"

#include "daemon/work/commit.h"
#include "daemon/config_table.h"

#define DEVICES 4
#define SESSIONS_MAX (96 * DEVICES)
#define UNANSWERED_MAX 3
#define SLOWER 12
#define CORES_A_DEVICE 16

struct trial {
    const char *use, *batch, *wait_us;
    int sessions, unanswered, cores;
    uint64_t commit_us, trip_us, warm_us, run_us;
    int wait_for_us;
    int size_us[FAKE_SIZES];
};

struct outcome {
    double frames_per_s, frames_a_batch;
};

/* What one client is about to send, in the order in which its answers came. */
struct device_pace {
    uint64_t sent, seen, due_us[UNANSWERED_MAX + 1];
};

static struct rig_client clients[SESSIONS_MAX];
static struct device_pace paces[SESSIONS_MAX];
static uint64_t commit_us; /* of a frame */
static int cores;          /* of the host that the committers think they are in; 0: this one */

/* The linker sends calls here first (Makefile). */
void __wrap_mirror_commit(struct mirror *m, uint32_t submap, const struct gpu_change *changes,
                          uint32_t n, struct mirror_commit *out);
void __real_mirror_commit(struct mirror *m, uint32_t submap, const struct gpu_change *changes,
                          uint32_t n, struct mirror_commit *out);
int __wrap_commit_start(struct commit **c, int threads, struct err *err);
int __real_commit_start(struct commit **c, int threads, struct err *err);

void __wrap_mirror_commit(struct mirror *m, uint32_t submap, const struct gpu_change *changes,
                          uint32_t n, struct mirror_commit *out)
{
    if (commit_us)
        usleep((useconds_t)commit_us);
    __real_mirror_commit(m, submap, changes, n, out);
}

int __wrap_commit_start(struct commit **c, int threads, struct err *err)
{
    return __real_commit_start(c, cores ? commit_threads(cores) : threads, err);
}

static void set(struct config *config, const char *section, const char *key, const char *value)
{
    struct config_key k;

    assert_true(config_table_find(&k, section, key, &(const char *){NULL}));
    assert_int_equal(config_table_set(config, &k, value, NULL), 0);
}

static void keep_busy(struct rig *r, const struct trial *t, uint64_t for_us)
{
    uint64_t now_us, end_us = clock_us() + for_us;

    while ((now_us = clock_us()) < end_us) {
        for (int i = 0; i < t->sessions; i++) {
            struct device_pace *p = &paces[i];
            rig_read_all(&clients[i]);
            for (; p->seen < (uint64_t)clients[i].n_acks + (uint64_t)t->unanswered; p->seen++)
                p->due_us[p->seen % (UNANSWERED_MAX + 1)] = now_us + t->trip_us;
            for (; p->sent < p->seen && p->due_us[p->sent % (UNANSWERED_MAX + 1)] <= now_us;)
                assert_int_equal(rig_send(r, &clients[i], ++p->sent), 0);
        }
        usleep(1000);
    }
}

static void trial_open(const struct trial *t, struct rig *r)
{
    struct session_options o = rig_options();
    char id[API_ID_CAP];
    struct config config;

    memset(r, 0, sizeof(*r));
    memset(paces, 0, sizeof(paces));
    memset(&fake_gpu_plan, 0, sizeof(fake_gpu_plan));
    fake_gpu_plan.cuda_count = DEVICES;
    fake_gpu_plan.wait_us = t->wait_for_us;
    for (int k = 0; k < FAKE_SIZES; k++)
        fake_gpu_plan.size_us[k] = t->size_us[k];
    cores = t->cores;
    commit_us = t->commit_us;
    tiny_models(r->models);
    rig_config(&config, r->models);
    set(&config, "device", "use", t->use);
    set(&config, "device", "batch", t->batch);
    set(&config, "device", "batch_wait_us", t->wait_us);
    set(&config, "limits", "sessions", "400");
    set(&config, "limits", "connections", "1024");
    rig_open_with(r, &config);
    for (int i = 0; i < t->sessions; i++) {
        rig_session(r, &o, id);
        rig_connect(r, &clients[i], id, CONTROL_INGEST);
    }
}

static void trial_close(const struct trial *t, struct rig *r)
{
    fake_gpu_plan.wait_us = 0;
    for (int k = 0; k < FAKE_SIZES; k++)
        fake_gpu_plan.size_us[k] = 0;
    for (int i = 0; i < t->sessions; i++)
        rig_disconnect(&clients[i]);
    rig_close(r);
    cores = 0;
    commit_us = 0;
}

static struct outcome run(const struct trial *t)
{
    struct outcome o;
    int frames, batches;
    uint64_t start_us;
    struct rig r;

    trial_open(t, &r);
    keep_busy(&r, t, t->warm_us);
    frames = fake_gpu_plan.frames;
    batches = fake_gpu_plan.batches;
    start_us = clock_us();
    keep_busy(&r, t, t->run_us);
    frames = fake_gpu_plan.frames - frames;
    batches = fake_gpu_plan.batches - batches;
    o.frames_per_s = frames * 1e6 / (double)(clock_us() - start_us);
    o.frames_a_batch = (double)frames / batches;
    trial_close(t, &r);
    return o;
}

/* One, two and four devices. Says so when the bounds hold. */
static bool adds_up(struct trial t, int cores_a_device, struct outcome o[3])
{
    static const char *const uses[] = {"cuda:0", "cuda:0,1", "cuda:0,1,2,3"};

    for (int k = 0; k < 3; k++) {
        t.use = uses[k];
        t.cores = cores_a_device << k;
        o[k] = run(&t);
        print_message("# %s: %.0f frames/s, %.2f of the first; %.1f a batch\n", t.use,
                      o[k].frames_per_s, o[k].frames_per_s / o[0].frames_per_s,
                      o[k].frames_a_batch);
    }
    return o[1].frames_per_s >= 1.9 * o[0].frames_per_s &&
           o[2].frames_per_s >= 3.7 * o[0].frames_per_s;
}

#define FULL_US 40000 /* of a batch: long, so that a small host keeps up with four */

/* A machine with other work may spoil an attempt, not all. */
static void four_devices_do_four_times_as_much(void **state)
{
    const struct trial t = {.batch = "4",
                            .wait_us = "300",
                            .sessions = 32,
                            .unanswered = 3,
                            .wait_for_us = FULL_US,
                            .warm_us = 300000,
                            .run_us = 1500000};
    struct outcome o[3];
    bool ok = false;

    (void)state;
    for (int i = 0; i < 5 && !ok; i++)
        ok = adds_up(t, CORES_A_DEVICE, o);
    assert_true(o[0].frames_per_s > 0.9 * 4 * 1e6 / FULL_US); /* it was the device that was short */
    assert_true(ok);
}

/* What a batch of up to 1, 2, 4 ... 32 frames takes, network and fusion at 512x384. */
#define GPU_US                                                                                   \
    {                                                                                            \
        900 * SLOWER, 1100 * SLOWER, 1500 * SLOWER, 2200 * SLOWER, 3550 * SLOWER, 6050 * SLOWER, \
            12000 * SLOWER                                                                       \
    }
#define GPU_FRAMES_PER_S (32e6 / (6050.0 * SLOWER))

static struct trial gpu_trial(int sessions)
{
    return (struct trial){.use = "cuda:0",
                          .batch = "32",
                          .cores = CORES_A_DEVICE,
                          .wait_us = "3600",
                          .sessions = sessions,
                          .unanswered = 2,
                          .commit_us = 1200 * SLOWER,
                          .trip_us = 4000 * SLOWER,
                          .warm_us = 800000,
                          .run_us = 2500000,
                          .size_us = GPU_US};
}

/* Sessions for two batches a device and for what is being committed; each device is in a host that
 * has 16 cores for it. */
static void gpus_add_up(void **state)
{
    struct outcome o[3];
    bool ok = false;

    (void)state;
    for (int i = 0; i < 3 && !ok; i++)
        ok = adds_up(gpu_trial(80 * DEVICES), CORES_A_DEVICE, o);
    assert_true(o[0].frames_per_s > 0.95 * GPU_FRAMES_PER_S);
    assert_true(ok);
}

static struct outcome one_gpu(int sessions, int unanswered, uint64_t trip_us)
{
    struct trial t = gpu_trial(sessions);
    struct outcome o;

    t.unanswered = unanswered;
    t.trip_us = trip_us * SLOWER;
    o = run(&t);
    print_message("# %d sessions, %d unanswered: %.2f of a device's best; %.1f a batch\n", sessions,
                  unanswered, o.frames_per_s / GPU_FRAMES_PER_S, o.frames_a_batch);
    return o;
}

/* 48 sessions are not two batches of 24, which would cost what two of 32 do. */
static void batches_are_of_sizes_that_pay(void **state)
{
    struct outcome o = {0};

    (void)state;
    for (int i = 0; i < 5 && o.frames_per_s < 0.82 * GPU_FRAMES_PER_S; i++)
        o = one_gpu(48, 2, 4000);
    assert_true(o.frames_per_s >= 0.82 * GPU_FRAMES_PER_S);
}

/* Clients that send when they have their answer are not announced: while the device has a
 * batch, the next one waits for them. */
static void a_busy_device_is_time_to_board(void **state)
{
    struct outcome o = {0};

    (void)state;
    for (int i = 0; i < 5 && o.frames_a_batch < 27; i++)
        o = one_gpu(80, 1, 1000);
    assert_true(o.frames_a_batch >= 27);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_devices_do_four_times_as_much),
        cmocka_unit_test(gpus_add_up),
        cmocka_unit_test(batches_are_of_sizes_that_pay),
        cmocka_unit_test(a_busy_device_is_time_to_board),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
