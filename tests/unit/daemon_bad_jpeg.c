/*
 * daemon_bad_jpeg.c - a session that sends nothing but bad_jpeg.h's files, and the one beside it
 *
 * Every file is answered, each account is exact, and no frame of the neighbour is lost. Rounds of
 * hostile files and rounds of right ones take turns, so that whatever else the machine does falls
 * upon both: BOUNDS=1 compares the neighbour's times, since a frame that is used costs the device
 * the same in both. Two thousand files take most of a minute (FULL=1, BOUNDS=1); else it is a
 * sample.
 */
#include "tests/support/bound.h"
#include "tests/support/sample.h"
#include "tests/support/bad_jpeg.h"
#include "tests/support/core_rig.h"
#include "tests/support/unit.h"

#define W 320
#define H 240
#define ROUNDS 12        /* of each kind, at most */
#define SAMPLE 3         /* rounds of a sample */
#define FILES 180        /* a round: five of each kind of file */
#define TOGETHER 3       /* of one session */
#define HEALTHY_US 10000 /* between two frames of the neighbour */
#define HOSTILE_US 8000  /* between two files, at least: rounds of both kinds last alike */
#define BATCH_US 5000    /* of the device */
#define SAMPLES_MAX 4000 /* a round */
#define MEMORY_KB (64 * 1024)
#define SLOWER 1.2

struct healthy {
    struct rig_client client;
    uint64_t seq, sent_us, all_sent;
    bool waits;
    uint32_t us[SAMPLES_MAX], n;
};

struct hostile {
    struct rig_client client;
    struct bad_jpeg *files;
    char id[API_ID_CAP];
    uint64_t seq;
    uint32_t number; /* of the next file */
    uint32_t used, refused;
};

static struct healthy healthy;
static struct hostile hostile;

static long status_kb(const char *key)
{
    char line[128];
    long kb = 0;
    FILE *f = fopen("/proc/self/status", "r");

    assert_non_null(f);
    while (fgets(line, sizeof(line), f))
        if (strncmp(line, key, strlen(key)) == 0)
            kb = atol(line + strlen(key));
    fclose(f);
    return kb;
}

/* Then what is freed is kept for a while, and times are not those of the program. */
static bool sanitized(void)
{
    const char *mode = getenv("MODE"); /* from tests/run */

    return mode && strcmp(mode, "release") != 0;
}

static void forget_peak(void)
{
    FILE *f = fopen("/proc/self/clear_refs", "w");

    assert_non_null(f);
    fputs("5", f);
    assert_int_equal(fclose(f), 0);
}

/* Send when it is time, note when the answer came. */
static void healthy_step(void)
{
    uint64_t now = clock_us();
    int had = healthy.client.n_acks;

    rig_read_all(&healthy.client);
    if (healthy.client.n_acks > had) {
        assert_int_equal(healthy.client.acks[had % RIG_ACKS].status, CONTROL_USED);
        assert_true(healthy.n < SAMPLES_MAX);
        healthy.us[healthy.n++] = (uint32_t)(now - healthy.sent_us);
        healthy.waits = false;
    }
    if (!healthy.waits && now - healthy.sent_us >= HEALTHY_US) {
        healthy.sent_us = now;
        healthy.waits = true;
        healthy.all_sent++;
        assert_int_equal(rig_send(&healthy.client, ++healthy.seq), 0);
    }
}

static void hostile_open(void)
{
    struct session_options o = rig_options();

    rig_session(&o, hostile.id);
    rig_connect(&hostile.client, hostile.id, CONTROL_INGEST);
    hostile.used = hostile.refused = 0;
}

/* Every file was answered, and the session's own account says the same. */
static void hostile_close(int files)
{
    struct session_info info = rig_info(hostile.id);

    assert_int_equal(hostile.client.n_acks, files);
    assert_int_equal(info.counts.used, hostile.used);
    assert_int_equal(info.counts.refused, hostile.refused);
    assert_int_equal(info.counts.received, files);
    assert_int_equal(info.counts.dropped, 0);
    rig_disconnect(&hostile.client);
    assert_int_equal(core_ops.session_delete(rig.core, hostile.id, NULL), 0);
}

static bool a_side(int pixels)
{
    return pixels >= FRAME_SIDE_MIN && pixels <= FRAME_SIDE_MAX;
}

/* As a liar would: the frame's header agrees with the file's, where a header can say it. */
static struct frame hostile_frame(bool right)
{
    const struct jpeg_limits any = {65535, 65535, 1000, BAD_JPEG_BYTES_MAX, 0};
    struct frame f = rig_frame(++hostile.seq);
    struct jpeg_info info;
    size_t len;

    if (right)
        return f;
    f.flags |= FRAME_HAS_CAMERA; /* the session's own fits its shape alone */
    f.K = (struct intrinsics){300, 300, 159.5f, 119.5f};
    f.payload = bad_jpeg_make(hostile.files, hostile.number++, &len);
    f.payload_len = (uint32_t)len;
    if (jpeg_probe(&info, f.payload, len, &any, NULL) == 0 && a_side(info.width) &&
        a_side(info.height)) {
        f.width = info.width;
        f.height = info.height;
    }
    return f;
}

static void hostile_send(bool right)
{
    int had = hostile.client.n_acks;
    uint64_t start;
    uint64_t pause_us = bound_wanted() ? HOSTILE_US : 0;
    struct frame f;
    const struct control_ack *ack = &hostile.client.acks[had % RIG_ACKS];
    struct err err = {0};

    for (start = clock_us(); healthy.waits && clock_us() - start < 60000000; usleep(200))
        healthy_step(); /* what it takes to make a file is not the daemon's time */
    f = hostile_frame(right);
    start = clock_us();
    if (rig_send_frame(&hostile.client, &f, &err))
        fail_msg("%s: %s", err.where, err.text);
    while (clock_us() - start < (hostile.client.n_acks == had ? 60000000u : pause_us)) {
        healthy_step();
        rig_read_all(&hostile.client);
        usleep(200);
    }
    assert_int_equal(hostile.client.n_acks, had + 1);
    assert_true(ack->seq == f.seq);
    assert_true(ack->status == CONTROL_USED || ack->status == CONTROL_REFUSED);
    assert_true(!right || ack->status == CONTROL_USED);
    assert_int_equal(hostile.client.closed, 0);
    hostile.used += ack->status == CONTROL_USED;
    hostile.refused += ack->status == CONTROL_REFUSED;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The time in ms that one answer in a hundred took longer than. */
static double p99(void)
{
    static double ms[SAMPLES_MAX];

    assert_true(healthy.n > 50);
    for (uint32_t i = 0; i < healthy.n; i++)
        ms[i] = healthy.us[i] / 1e3;
    qsort(ms, healthy.n, sizeof(*ms), by_size);
    return ms[(healthy.n - 1) * 99 / 100];
}

/* A new session after every few files: the first that is taken decides the size of pictures, and
 * all others would then be easy to refuse. */
static double run_round(bool right)
{
    healthy.n = 0;
    for (int i = 0; i < FILES; i += TOGETHER) {
        hostile_open();
        for (int k = 0; k < TOGETHER; k++)
            hostile_send(right);
        hostile_close(TOGETHER);
    }
    return p99();
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof(*values), by_size);
    return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

TEST(the_neighbour_does_not_feel_it)
{
    struct session_options o = rig_options();
    double bad[ROUNDS], good[ROUNDS];
    char id[API_ID_CAP];
    struct session_info info;
    uint32_t seed = sample_seed();
    int rounds = sample_full() || bound_wanted() ? ROUNDS : SAMPLE;
    long before, peak;

    rig_open();
    fake_gpu_plan.wait_us = BATCH_US;
    hostile.files = bad_jpeg_new(W, H);
    assert_non_null(hostile.files);
    assert_int_equal(bad_jpeg_kinds(), 36);
    rig_session(&o, id);
    rig_connect(&healthy.client, id, CONTROL_INGEST);
    run_round(true);
    before = status_kb("VmRSS:");
    forget_peak();
    hostile.number = rounds < ROUNDS ? seed * SAMPLE * FILES : 0;
    for (int i = 0; i < rounds; i++) {
        good[i] = run_round(true);
        bad[i] = run_round(false);
    }
    peak = status_kb("VmHWM:");
    printf("# memory +%ld MB\n", (peak - before) / 1024);
    assert_true(sanitized() || peak - before <= MEMORY_KB);
    assert_true(bound_at_most("the neighbour's p99 beside bad files", median(bad, rounds),
                              SLOWER * median(good, rounds), "ms"));
    while (healthy.waits)
        healthy_step();
    info = rig_info(id);
    assert_int_equal(info.counts.used, healthy.all_sent);
    assert_int_equal(info.counts.refused + info.counts.dropped, 0);
    rig_disconnect(&healthy.client);
    bad_jpeg_free(&hostile.files);
    rig_close();
}
