/*
 * store_rig.h - sessions that outlive the process: a child feeds a core and dies, by SIGKILL or by
 * its own doing; then the test opens the same folder and looks
 */
#ifndef RECOND_TESTS_STORE_RIG_H
#define RECOND_TESTS_STORE_RIG_H

#include "tests/support/core_rig.h"

#include "daemon/disk/store.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define FRAMES 40

static char folder[SCRATCH_CAP];

static inline int make_folder(void **state)
{
    (void)state;
    scratch_path(folder, "store");
    return mkdtemp(folder) ? 0 : -1;
}

static inline int remove_folder(void **state)
{
    (void)state;
    return scratch_remove(folder);
}

/* The networks are made anew for each start, but are the same ones. */
static inline void set_age(const char *models, const char *name)
{
    const struct timespec times[2] = {{1700000000, 0}, {1700000000, 0}};
    char path[128];

    snprintf(path, sizeof(path), "%s/%s", models, name);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static inline void store_config(struct config *config, int checkpoint_frames, int delay_us)
{
    rig_prepare(config);
    atomic_store(&fake_gpu_plan.delay_us, delay_us);
    set_age(rig.models, "flat.onnx");
    set_age(rig.models, "still.onnx");
    snprintf(config->journal.path, sizeof(config->journal.path), "%s", folder);
    config->journal.checkpoint_frames = checkpoint_frames;
}

/* delay_us: of each batch, also of those that are replayed. */
static inline void open_slow_rig(int checkpoint_frames, int delay_us)
{
    struct config config;

    store_config(&config, checkpoint_frames, delay_us);
    rig_open_with(&config);
}

static inline void open_rig(int checkpoint_frames)
{
    open_slow_rig(checkpoint_frames, 0);
}

static inline struct session_options options(enum session_mode mode)
{
    struct session_options o = rig_options();

    o.journal = SESSION_JOURNAL_SYNC;
    o.mode = mode;
    o.retention_s = -1;
    return o;
}

/* Another picture for each frame, so that a frame that is used twice or not at all shows. */
static inline int send_one(struct rig_client *c, uint64_t seq)
{
    struct frame f = rig_frame(seq);

    f.T_wc.t[1] = 0.02f * (float)(seq % 7);
    return rig_send_frame(c, &f, NULL);
}

/* Frames [first, last], each acknowledged before the next. */
static inline void feed(struct rig_client *c, uint64_t first, uint64_t last)
{
    int had = c->n_acks;

    for (uint64_t seq = first; seq <= last; seq++) {
        send_one(c, seq);
        rig_wait_acks(c, ++had);
    }
}

static inline void wait_until_back(const char *id)
{
    for (int i = 0; i < 60000 && rig_info(id).state == SESSION_RECOVERING; i++)
        usleep(1000);
    assert_int_not_equal(rig_info(id).state, SESSION_RECOVERING);
}

/* The folder's core again, and what its session is when it has come back. */
static inline struct session_info come_back(int checkpoint_frames, const char *id)
{
    open_rig(checkpoint_frames);
    wait_until_back(id);
    return rig_info(id);
}

static inline void settle(void)
{
    for (int i = 0; i < 60000 && core_unsettled(rig.core); i++)
        usleep(1000);
    assert_int_equal(core_unsettled(rig.core), 0);
}

static inline void close_it(const char *id)
{
    assert_int_equal(core_ops.session_close(rig.core, id, NULL), 0);
}

static inline struct session_info wait_closed(const char *id)
{
    for (int i = 0; i < 60000 && rig_info(id).state != SESSION_CLOSED; i++)
        usleep(1000);
    assert_int_equal(rig_info(id).state, SESSION_CLOSED);
    return rig_info(id);
}

static inline void balanced(const struct session_info *i)
{
    const struct session_counts *c = &i->counts;

    assert_int_equal(c->received, c->used + c->dropped + c->refused + c->queued);
}

/* The cloud of frames 1...n in a process that nothing happened to. */
static inline struct session_info undisturbed(uint64_t n)
{
    static struct rig_client c;
    struct session_options o = options(SESSION_LOSSLESS);
    struct session_info info;

    o.journal = SESSION_JOURNAL_OFF;
    rig_begin(&c, &o);
    feed(&c, 1, n);
    info = rig_info(c.id);
    rig_end(&c);
    return info;
}

/* In a child: what `act` does, then the end that it chose. It writes its session's id and n bytes
 * more. Returns the wait status. */
static inline int in_a_child_that_tells(void (*act)(int out), char id[API_ID_CAP], void *more,
                                        size_t n)
{
    int pipes[2], status;
    FILE *in;
    pid_t child;

    assert_int_equal(pipe(pipes), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(pipes[0]);
        act(pipes[1]);
        _exit(99);
    }
    close(pipes[1]);
    in = fdopen(pipes[0], "rb");
    assert_int_equal(fread(id, 1, API_ID_CAP, in), API_ID_CAP);
    assert_int_equal(fread(more, 1, n, in), n);
    fclose(in);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static inline int in_a_child(void (*act)(int out), char id[API_ID_CAP])
{
    return in_a_child_that_tells(act, id, id, 0);
}

static inline void tell_id(int out, const char *id)
{
    if (write(out, id, API_ID_CAP) != API_ID_CAP)
        _exit(98);
}

static int checkpoint_every;
static uint64_t frames_before;

static inline void feed_and_be_killed(int out)
{
    static struct rig_client c;
    struct session_options o = options(SESSION_LOSSLESS);

    open_rig(checkpoint_every);
    rig_join(&c, &o);
    tell_id(out, c.id);
    feed(&c, 1, frames_before);
    usleep(checkpoint_every ? 50000 : 0);
    raise(SIGKILL);
}

/* The session of a process that was killed behind so many frames. Returns its wait status. */
static inline int feed_and_kill(int checkpoint_frames, uint64_t frames, char id[API_ID_CAP])
{
    checkpoint_every = checkpoint_frames;
    frames_before = frames;
    return in_a_child(feed_and_be_killed, id);
}

#endif
