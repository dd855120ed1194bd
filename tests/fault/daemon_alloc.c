/*
 * The n-th allocation fails, for every n, once and for ever, while a core starts, makes a session,
 * takes frames, feeds clients, exports and stops. Nothing crashes or leaks (the sanitizer build
 * looks), an error is one of memory, and what a session has taken by then is intact: export and a
 * late client agree.
 */
#include "tests/support/fault_malloc.h"

#include "tests/support/core_rig.h"
#include "tests/support/unit.h"

#define FRAMES 4

static char models_dir[64];
static struct config config;

static void check_code(int rc, const char *what, const struct err *err)
{
    if (rc != 0 && rc != ERR_MEMORY && rc != ERR_IO)
        fail_msg("%s answered %d: %s: %s", what, rc, err->where, err->text);
}

/* Take what there is to say, as an edge would, without looking at it. */
static void pull(struct stream *s)
{
    enum stream_kind kind;
    const uint8_t *msg;
    size_t len;

    do
        kind = core_ops.stream_next(s, &msg, &len);
    while (kind == STREAM_TEXT || kind == STREAM_BINARY);
}

/* Every frame is answered: used, or refused for want of memory. */
static void wait_answers(const char *id, struct stream *s, uint64_t n)
{
    struct session_counts c;

    for (int i = 0; i < 120000; i++) {
        pull(s);
        c = rig_info(id).counts;
        if (c.received == n && c.queued == 0)
            break;
        usleep(500);
    }
    assert_int_equal(c.queued, 0);
    assert_int_equal(c.received, c.used + c.dropped + c.refused);
}

/* The sending client's life. Returns the number of frames that were let in. */
static uint64_t stream_frames(const char *id)
{
    const struct control_start start = {.role = CONTROL_INGEST, .codecs = 7, .pose = FRAME_POSE_CV};
    static uint8_t msg[1 << 16];
    struct err err = {0};
    struct stream *s;
    struct frame f = rig_frame(0);
    uint64_t n = 0;
    int rc = core_ops.stream_open(rig.core, id, CONTROL_INGEST, &rig, &s, &err);

    check_code(rc, "stream_open", &err);
    if (rc)
        return 0;
    rc = core_ops.stream_start(s, &start, &err);
    check_code(rc, "stream_start", &err);
    for (uint64_t seq = 1; rc == 0 && seq <= FRAMES; seq++) {
        f.seq = seq;
        frame_encode_head(msg, &f, FRAME_POSE_CV);
        memcpy(msg + FRAME_HEAD_BYTES, f.payload, f.payload_len);
        check_code(core_ops.stream_frame(s, msg, FRAME_HEAD_BYTES + f.payload_len, &err),
                   "stream_frame", &err);
        n++;
        wait_answers(id, s, n);
    }
    core_ops.stream_close(s);
    return n;
}

static void read_export(const char *id)
{
    struct core_export *e;
    struct err err = {0};
    uint64_t total, hash;
    static uint8_t buf[4096];
    int rc = core_ops.export_open(rig.core, id, "", false, &e, &total, &hash, &err);

    check_code(rc, "export_open", &err);
    if (rc)
        return;
    for (uint64_t at = 0; at < total; at += core_ops.export_read(e, at, buf, sizeof(buf)))
        ;
    core_ops.export_close(e);
}

/* With memory again: a late client gets what an export would hold. */
static void session_is_whole(const char *id)
{
    static struct rig_client late;
    struct session_info info;

    fault_malloc_exempt = 1;
    rig_connect(&late, id, CONTROL_VIEW);
    rig_read_all(&late);
    info = rig_info(id);
    assert_int_equal(late.n_sync, 1);
    assert_true(late.sync.hash == info.hash && late.sync.points == info.points);
    rig_disconnect(&late);
    fault_malloc_exempt = 0;
}

/* Everything, with the n-th allocation failing. Returns how many failed. */
static long live_through(long n, bool for_ever)
{
    struct session_options o = rig_options();
    struct session_info info;
    struct err err = {0};
    int retry, rc;
    long failed;

    fault_malloc_arm(n, for_ever);
    rc = core_open(&rig.core, &config, &fake_backend, &err);
    check_code(rc, "core_open", &err);
    if (rc) {
        assert_null(rig.core);
        return fault_malloc_disarm();
    }
    core_set_ready(rig.core);
    rc = core_ops.session_create(rig.core, &o, "", &info, &retry, &err);
    check_code(rc, "session_create", &err);
    if (rc == 0) {
        stream_frames(info.id);
        read_export(info.id);
        failed = fault_malloc_disarm();
        session_is_whole(info.id);
        fault_malloc_arm(failed ? 0 : atomic_load(&fault_malloc_fail), for_ever);
        rc = core_ops.session_delete(rig.core, info.id, NULL);
        assert_int_equal(rc, 0); /* to give back needs nothing */
    }
    failed = fault_malloc_disarm();
    core_stop(rig.core);
    core_close(&rig.core);
    assert_int_equal(fake_gpu_plan.sessions, 0);
    assert_int_equal(fake_gpu_plan.models, 0);
    return failed;
}

static void sweep(bool for_ever)
{
    long n = 0, failed;

    memset(&fake_gpu_plan, 0, sizeof(fake_gpu_plan));
    fault_malloc_exempt = 1;
    rig_picture(320, 240, 40);
    fault_malloc_exempt = 0;
    do
        failed = live_through(++n, for_ever);
    while (failed && n < 5000);
    assert_true(n > 30); /* that many did fail before one run needed fewer */
    assert_true(n < 5000);
    print_message("# %ld allocations, each failed %s\n", n - 1,
                  for_ever ? "with all after it" : "alone");
    free(rig.jpeg);
    rig.jpeg = NULL;
}

TEST(one_allocation_fails)
{
    sweep(false);
}

TEST(all_fail_from_one_on)
{
    sweep(true);
}

static int make_models(void **state)
{
    (void)state;
    log_open(CONFIG_LOG_TEXT, LOG_EMERG);
    tiny_models(models_dir);
    rig_config(&config, models_dir);
    config.decode.threads = 1;
    return 0;
}

static int remove_models(void **state)
{
    (void)state;
    tiny_models_remove(models_dir);
    return 0;
}

TEST_GROUP(make_models, remove_models)
