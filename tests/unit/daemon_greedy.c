/* One session at ten times its rate, in the whole core: eight phones on a device that takes up to
 * four frames together, 5 ms each time; then one of them sends ten times as many. The others lose
 * nothing. The clock is the device's: each of its batches is 5 ms, and when all frames are answered
 * it steps to the next one that is due, so nothing depends on how fast this machine is. How long
 * the others wait is a matter of tests/unit/daemon_turn.c, where all is simulated, and of
 * tests/bench/greedy, on a machine that is calm. */
#include "tests/support/core_rig.h"
#include "tests/support/unit.h"

#define N 8
#define PERIOD_US (1000000 / 30.0)
#define RUN_US 2000000
#define BATCH_US 5000.0

struct phone {
    struct rig_client client;
    char id[API_ID_CAP];
    uint64_t seq;
    double next_us, period_us;
    unsigned seed;
    int seen;
};

static struct phone phones[N];

struct result {
    int used, missed, greedy_used, greedy_dropped;
};

static void open_with_batch(int batch)
{
    struct config config;

    rig_prepare(&config);
    config.device.batch = batch;
    config.session.queue_frames = 64; /* a burst of one is nothing yet */
    rig_open_with(&config);
}

static void note(struct result *out, struct phone *p, bool calm)
{
    for (; p->seen < p->client.n_acks; p->seen++) {
        const struct control_ack *ack = &p->client.acks[p->seen % RIG_ACKS];
        bool used = ack->status == CONTROL_USED;
        out->used += calm && used;
        out->missed += calm && !used;
        out->greedy_used += !calm && used;
        out->greedy_dropped += !calm && ack->reason == CONTROL_OVERLOAD;
    }
}

/* Frames of a phone come at its rate, each up to a period early or late: phases must not lock. One
 * that is too many for the connection is not sent. */
static void send_due(struct phone *p, double now_us)
{
    for (; p->next_us <= now_us;
         p->next_us += p->period_us * (0.5 + (double)rand_r(&p->seed) / RAND_MAX))
        if (p->seq - (uint64_t)p->client.n_acks < 200) {
            rig_send(&p->client, ++p->seq);
            rig_read_all(&p->client);
        }
}

static double next_due_us(void)
{
    double next_us = phones[0].next_us;

    for (int i = 1; i < N; i++)
        next_us = phones[i].next_us < next_us ? phones[i].next_us : next_us;
    return next_us;
}

static void run(struct result *out, double greed)
{
    double now_us = 0, skipped_us = 0;
    int batches;

    memset(out, 0, sizeof(*out));
    for (int i = 0; i < N; i++) {
        memset(&phones[i], 0, sizeof(phones[i]));
        rig_session(&(struct session_options){.has_camera = true,
                                              .K = {300, 300, 159.5f, 119.5f},
                                              .camera_w = 320,
                                              .camera_h = 240,
                                              .max_points = 2000},
                    phones[i].id);
        rig_connect(&phones[i].client, phones[i].id, CONTROL_INGEST);
        rig_send(&phones[i].client, ++phones[i].seq); /* the first frame opens its device state */
        rig_wait_acks(&phones[i].client, 1);
        phones[i].seen = 1;
        phones[i].seed = (unsigned)i; /* the same moments in both runs */
        phones[i].period_us = i ? PERIOD_US : PERIOD_US / greed;
    }
    batches = fake_gpu_plan.batches;
    for (int i = 0; i < N; i++)
        phones[i].next_us = PERIOD_US * i / N;
    while (now_us < RUN_US) {
        bool answered = true;
        for (int i = 0; i < N; i++) {
            send_due(&phones[i], now_us);
            rig_read_all(&phones[i].client);
            note(out, &phones[i], i > 0);
            answered = answered && (uint64_t)phones[i].client.n_acks == phones[i].seq;
        }
        if (answered)
            skipped_us += next_due_us() - now_us;
        else
            usleep(100);
        now_us = (fake_gpu_plan.batches - batches) * BATCH_US + skipped_us;
    }
    for (int i = 0; i < N; i++) {
        rig_wait_acks(&phones[i].client, (int)phones[i].seq);
        note(out, &phones[i], i > 0);
        rig_disconnect(&phones[i].client);
        assert_int_equal(core_ops.session_delete(rig.core, phones[i].id, NULL), 0);
    }
}

TEST(ten_times_the_rate_takes_nothing)
{
    static struct result calm, greedy;

    open_with_batch(4);
    fake_gpu_plan.delay_us = 500; /* frames come while it works */
    run(&calm, 1);
    run(&greedy, 10);
    print_message("# others %d and %d frames; the greedy one has %d, loses %d\n", calm.used,
                  greedy.used, greedy.greedy_used, greedy.greedy_dropped);
    assert_int_equal(calm.missed, 0);
    assert_int_equal(greedy.missed, 0); /* all that the others sent was used, */
    assert_true(greedy.greedy_used * (N - 1) > greedy.used); /* it has its share at least, */
    assert_true(greedy.greedy_dropped > 20);                 /* which is not all it wants */
    rig_close();
}
