/*
 * The k-th allocation or the k-th call that changes a file fails, for every k, once and for ever,
 * while a core starts, makes a durable session, takes frames, writes checkpoints, exports and
 * stops; then while another one brings the session back. Nothing crashes or leaks (the sanitizer
 * build looks at memory, this test at descriptors), errors are those of memory and disk, and a core
 * without faults has every frame afterwards that was acknowledged as used, once, in order.
 */
#include "tests/support/fault_io.h"
#include "tests/support/fault_malloc.h"

#include "tests/support/core_rig.h"
#include "tests/support/unit.h"

#include "daemon/disk/store.h"

#define FRAMES 5
#define KINDS (2 + 2 * FAULT_HOWS)

static char folder[64], models[64];
static struct config config;
static bool created, used[FRAMES + 1];
static char id[API_ID_CAP];

static void make_folder(void)
{
    strcpy(folder,
           access("/dev/shm", W_OK) ? "/tmp/recond-fault-XXXXXX" : "/dev/shm/recond-fault-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(config.journal.path, sizeof(config.journal.path), "%s/journal", folder);
}

/* Kinds 0 and 1 are allocations, the others the four ways in which a call can fail. */
static void arm(int kind, long k)
{
    if (kind < 2)
        fault_malloc_arm(k, kind % 2);
    else
        fault_io_arm(k, (enum fault_io_how)((kind - 2) / 2), kind % 2);
}

static void check_code(int rc, const char *what, const struct err *err)
{
    if (rc != 0 && rc != ERR_MEMORY && rc != ERR_IO && rc != ERR_BUSY)
        fail_msg("%s answered %d: %s: %s", what, rc, err->where, err->text);
}

/* ------------------------------------------------------------------------- a life with faults */

/* What the server says is read with memory of the test's own. */
static void read_answers(struct rig_client *c, int n)
{
    fault_malloc_exempt = 1;
    for (int i = 0; i < 240000 && c->n_acks < n && !c->closed; i++) {
        rig_read_all(c);
        if (c->n_acks < n)
            usleep(250);
    }
    if (!c->closed) /* a client that there is no memory for is sent away, and comes again */
        assert_int_equal(c->n_acks, n);
    fault_malloc_exempt = 0;
}

static void send_frames(struct rig_client *c)
{
    static uint8_t msg[1 << 16];
    struct frame f = rig_frame(0);
    struct err err = {0};
    int rc;

    for (uint64_t seq = 1; seq <= FRAMES && !c->closed; seq++) {
        f.seq = seq;
        f.T_wc.t[0] = 0.01f * (float)seq;
        frame_encode_head(msg, &f, FRAME_POSE_CV);
        memcpy(msg + FRAME_HEAD_BYTES, f.payload, f.payload_len);
        rc = core_ops.stream_frame(c->s, msg, FRAME_HEAD_BYTES + f.payload_len, &err);
        if (rc != ERR_STATE) /* which is an answer: the session takes no more */
            check_code(rc, "stream_frame", &err);
        read_answers(c, (int)seq);
    }
    for (int i = 0; i < c->n_acks; i++) {
        assert_true(c->acks[i].seq >= 1 && c->acks[i].seq <= FRAMES);
        if (c->acks[i].status == CONTROL_USED)
            used[c->acks[i].seq] = true;
        else if (c->acks[i].reason != CONTROL_MEMORY && c->acks[i].reason != CONTROL_STORAGE &&
                 c->acks[i].reason != CONTROL_FAULT && c->acks[i].reason != CONTROL_CLOSED)
            fail_msg("a frame was %s", control_reason_name(c->acks[i].reason));
    }
}

static void feed(void)
{
    const struct control_start start = {.role = CONTROL_INGEST, .codecs = 1, .pose = FRAME_POSE_CV};
    const struct cloud_limits limits = {100000, 100000};
    static struct rig_client c;
    struct err err = {0};
    int rc;

    memset(&c, 0, sizeof(c));
    fault_malloc_exempt = 1;
    assert_int_equal(cloud_new(&c.cloud, &limits, NULL), 0);
    fault_malloc_exempt = 0;
    rc = core_ops.stream_open(rig.core, id, CONTROL_INGEST, &c, &c.s, &err);
    check_code(rc, "stream_open", &err);
    if (rc == 0) {
        rc = core_ops.stream_start(c.s, &start, &err);
        check_code(rc, "stream_start", &err);
        if (rc == 0)
            send_frames(&c);
        core_ops.stream_close(c.s);
    }
    cloud_free(&c.cloud);
}

static void export_it(void)
{
    struct core_export *e;
    struct err err = {0};
    uint64_t total, hash;
    static uint8_t buf[4096];
    int rc = core_ops.export_open(rig.core, id, "", false, &e, &total, &hash, &err);

    if (rc != ERR_NOT_FOUND) /* for want of memory it stayed away */
        check_code(rc, "export_open", &err);
    if (rc)
        return;
    for (uint64_t at = 0; at < total; at += core_ops.export_read(e, at, buf, sizeof(buf)))
        ;
    core_ops.export_close(e);
}

static bool open_core(void)
{
    struct err err = {0};
    int rc = core_open(&rig.core, &config, &fake_backend, &err);

    check_code(rc, "core_open", &err);
    if (rc) {
        assert_null(rig.core);
        return false;
    }
    core_set_ready(rig.core);
    return true;
}

/* What can be saved is. */
static void stop_core(void)
{
    core_drain(rig.core);
    for (int i = 0; i < 40 && core_unsettled(rig.core); i++)
        usleep(500);
    core_stop(rig.core);
    core_close(&rig.core);
    assert_int_equal(fake_gpu_plan.sessions, 0);
    assert_int_equal(fake_gpu_plan.host_bytes, 0);
}

static void first_life(void)
{
    struct session_options o = rig_options();
    struct session_info info;
    struct err err = {0};
    int retry, rc;

    o.journal = SESSION_JOURNAL_SYNC;
    o.retention_s = -1;
    if (!open_core())
        return;
    rc = core_ops.session_create(rig.core, &o, "", &info, &retry, &err);
    check_code(rc, "session_create", &err);
    if (rc == 0) {
        created = true;
        memcpy(id, info.id, sizeof(id));
        feed();
        export_it();
    }
    stop_core();
}

static void wait_until_back(void)
{
    struct session_info info;

    for (int i = 0; i < 240000; i++) {
        if (core_ops.session_get(rig.core, id, &info, NULL) || info.state != SESSION_RECOVERING)
            return;
        usleep(250);
    }
    fail_msg("the session does not come back");
}

static void second_life(void)
{
    if (!open_core())
        return;
    if (created) {
        wait_until_back();
        export_it();
    }
    stop_core();
}

/* Without faults: what was acknowledged is there, each frame once and in order. */
static void look(int kind)
{
    struct session_pose poses[2 * FRAMES];
    struct session_info info;
    uint64_t last = 0;
    int n = 0, acked = 0;

    assert_true(open_core());
    if (created) {
        wait_until_back();
        assert_int_equal(core_ops.session_get(rig.core, id, &info, NULL), 0);
        if (info.damaged[0])
            fail_msg("damaged: %s", info.damaged);
        assert_int_equal(info.counts.queued, 0);
        assert_int_equal(info.counts.received,
                         info.counts.used + info.counts.dropped + info.counts.refused);
        assert_int_equal(core_ops.trajectory(rig.core, id, 0, poses, 2 * FRAMES, &n, NULL), 0);
        /* a pose that there was no memory for is left out of the path, not of the cloud */
        assert_true(kind < 2 ? n <= (int)info.counts.used : n == (int)info.counts.used);
        for (int seq = 1; seq <= FRAMES; seq++)
            acked += used[seq];
        assert_true((int)info.counts.used >= acked);
        for (int i = 0; i < n; i++) {
            assert_true(poses[i].seq > last && poses[i].seq <= FRAMES);
            last = poses[i].seq;
            used[last] = false;
        }
        for (int seq = 1; seq <= FRAMES && n == (int)info.counts.used; seq++)
            if (used[seq])
                fail_msg("frame %d was acknowledged and is lost", seq);
    }
    stop_core();
}

/* Returns how many calls failed. */
static long live(int kind, long k, bool second)
{
    long failed;

    if (getenv("TRACE"))
        print_message("# kind %d, call %ld\n", kind, k);
    created = false;
    memset(used, 0, sizeof(used));
    make_folder();
    if (!second)
        arm(kind, k);
    first_life();
    if (second)
        arm(kind, k);
    if (second)
        second_life();
    failed = fault_malloc_disarm() + fault_io_disarm();
    look(kind);
    assert_int_equal(scratch_remove(folder), 0);
    return failed;
}

static void every_call(bool second)
{
    static const char *const names[] = {"memory", "EIO", "ENOSPC", "short", "short, then full"};
    int before;

    live(0, 0, second);
    before = fault_io_descriptors();
    for (int kind = 0; kind < KINDS; kind++) {
        long k = 1;
        while (live(kind, k, second))
            k++;
        print_message("# %s%s: %ld calls\n", names[kind / 2], kind % 2 ? ", for ever" : "", k - 1);
        assert_true(k > (kind < 2 ? 30 : second ? 1 : 8));
        assert_int_equal(fault_io_descriptors(), before);
    }
}

TEST(a_life_with_faults_loses_nothing)
{
    every_call(false);
}

TEST(faults_on_the_way_back_lose_nothing)
{
    every_call(true);
}

static int open_all(void **state)
{
    (void)state;
    fault_malloc_exempt = 1;
    memset(&rig, 0, sizeof(rig));
    log_open(CONFIG_LOG_TEXT, getenv("TRACE") ? LOG_DEBUG : LOG_EMERG);
    tiny_models(models);
    rig_config(&config, models);
    config.journal.checkpoint_frames = 2;
    config.journal.threads = 1;
    config.decode.threads = 1;
    rig_picture(320, 240, 40);
    fault_malloc_exempt = 0;
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    free(rig.jpeg);
    tiny_models_remove(models);
    return 0;
}

TEST_GROUP(open_all, close_all)
