/*
 * Sessions that outlive the process: each test's first process is a child that feeds a core and
 * dies, by SIGKILL or by its own doing; then the test opens the same folder and looks.
 */
#include "tests/support/core_rig.h"

#include "daemon/store.h"

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define FRAMES 40

static char folder[64];

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    (void)st;
    (void)kind;
    (void)where;
    return remove(path);
}

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/recond-store-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* The networks are made anew for each start, but are the same ones. */
static void set_age(const char *models, const char *name)
{
    const struct timespec times[2] = {{1700000000, 0}, {1700000000, 0}};
    char path[128];

    snprintf(path, sizeof(path), "%s/%s", models, name);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void open_rig(struct rig *r, int checkpoint_frames)
{
    struct config config;

    memset(r, 0, sizeof(*r));
    memset(&fake_gpu_plan, 0, sizeof(fake_gpu_plan));
    tiny_models(r->models);
    set_age(r->models, "flat.onnx");
    set_age(r->models, "still.onnx");
    rig_config(&config, r->models);
    snprintf(config.journal.path, sizeof(config.journal.path), "%s", folder);
    config.journal.checkpoint_frames = checkpoint_frames;
    rig_open_with(r, &config);
}

static struct session_options options(enum session_mode mode)
{
    struct session_options o = rig_options();

    o.journal = SESSION_JOURNAL_SYNC;
    o.mode = mode;
    o.retention_s = -1;
    return o;
}

/* Another picture for each frame, so that a frame that is used twice or not at all shows. */
static int send_one(struct rig *r, struct rig_client *c, uint64_t seq)
{
    struct frame f = rig_frame(r, seq);

    f.T_wc.t[1] = 0.02f * (float)(seq % 7);
    return rig_send_frame(c, &f, NULL);
}

/* Frames [first, last], each acknowledged before the next. */
static void feed(struct rig *r, struct rig_client *c, uint64_t first, uint64_t last)
{
    int had = c->n_acks;

    for (uint64_t seq = first; seq <= last; seq++) {
        send_one(r, c, seq);
        rig_wait_acks(c, ++had);
    }
}

static void wait_until_back(struct rig *r, const char *id)
{
    for (int i = 0; i < 5000 && rig_info(r, id).state == SESSION_RECOVERING; i++)
        usleep(1000);
    assert_int_not_equal(rig_info(r, id).state, SESSION_RECOVERING);
}

static void balanced(const struct session_info *i)
{
    const struct session_counts *c = &i->counts;

    assert_int_equal(c->received, c->used + c->dropped + c->refused + c->queued);
}

/* The cloud of frames 1...n in a process that nothing happened to. */
static struct session_info undisturbed(uint64_t n)
{
    static struct rig_client c;
    struct session_options o = options(SESSION_LOSSLESS);
    struct session_info info;
    char id[API_ID_CAP];
    struct rig r;

    o.journal = SESSION_JOURNAL_OFF;
    rig_open(&r);
    rig_session(&r, &o, id);
    rig_connect(&r, &c, id, CONTROL_INGEST);
    feed(&r, &c, 1, n);
    info = rig_info(&r, id);
    rig_disconnect(&c);
    rig_close(&r);
    return info;
}

/* In a child: what `act` does, then the end that it chose. Returns the wait status. */
static int in_a_child(void (*act)(int out), char id[API_ID_CAP])
{
    int pipes[2], status;
    ssize_t n;
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
    n = read(pipes[0], id, API_ID_CAP);
    close(pipes[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(n, API_ID_CAP);
    return status;
}

static void tell_id(int out, const char *id)
{
    if (write(out, id, API_ID_CAP) != API_ID_CAP)
        _exit(98);
}

/* ------------------------------------------------------------------------- killed */

static int checkpoint_every;
static uint64_t frames_before;

static void feed_and_be_killed(int out)
{
    static struct rig_client c;
    struct session_options o = options(SESSION_LOSSLESS);
    char id[API_ID_CAP];
    struct rig r;

    open_rig(&r, checkpoint_every);
    rig_session(&r, &o, id);
    tell_id(out, id);
    rig_connect(&r, &c, id, CONTROL_INGEST);
    feed(&r, &c, 1, frames_before);
    usleep(checkpoint_every ? 50000 : 0);
    raise(SIGKILL);
}

static void kill_and_go_on(int every, uint64_t before)
{
    static struct rig_client c;
    struct session_info was = undisturbed(before), then = undisturbed(before + 10), info;
    char id[API_ID_CAP];
    struct rig r;

    checkpoint_every = every;
    frames_before = before;
    assert_true(WIFSIGNALED(in_a_child(feed_and_be_killed, id)));
    open_rig(&r, every);
    wait_until_back(&r, id);
    info = rig_info(&r, id);
    assert_true(info.hash == was.hash);
    assert_int_equal(info.revision, was.revision);
    assert_int_equal(info.points, was.points);
    assert_int_equal(info.counts.used, before);
    assert_int_equal(info.counts.received, before);
    assert_int_equal(info.counts.keyframes, was.counts.keyframes);
    assert_int_equal(info.state, before ? SESSION_IDLE : SESSION_CREATED);
    balanced(&info);
    if (every && before > 2 * (uint64_t)every) /* only the tail went through the device again */
        assert_true(fake_gpu_plan.frames < (int)(2 * (uint64_t)every));
    rig_connect(&r, &c, id, CONTROL_INGEST);
    if (before) { /* what was acknowledged is known, whoever sends it again */
        send_one(&r, &c, before);
        rig_wait_acks(&c, 1);
        assert_int_equal(c.acks[0].reason, CONTROL_DUPLICATE);
        c.n_acks = 0;
    }
    feed(&r, &c, before + 1, before + 10);
    info = rig_info(&r, id);
    assert_true(info.hash == then.hash && c.sync.hash == then.hash);
    assert_int_equal(info.counts.used, before + 10);
    assert_int_equal(info.counts.refused, before ? 1 : 0);
    balanced(&info);
    rig_disconnect(&c);
    rig_close(&r);
}

static void a_killed_process_loses_nothing(void **state)
{
    (void)state;
    kill_and_go_on(0, FRAMES);
}

static void a_checkpoint_shortens_the_replay(void **state)
{
    (void)state;
    kill_and_go_on(10, FRAMES + 3);
}

static void a_session_without_frames_is_back(void **state)
{
    (void)state;
    kill_and_go_on(10, 0);
}

/* ------------------------------------------------------------------------- dropped, refused */

static void drop_and_refuse_and_be_killed(int out)
{
    static struct rig_client c;
    struct session_options o = options(SESSION_LIVE);
    struct session_info info;
    char id[API_ID_CAP];
    struct rig r;

    open_rig(&r, checkpoint_every);
    rig_session(&r, &o, id);
    rig_connect(&r, &c, id, CONTROL_INGEST);
    feed(&r, &c, 1, 12);
    fake_gpu_plan.delay_us = 20000;
    for (uint64_t seq = 13; seq <= 43; seq++) { /* more than the queue holds */
        send_one(&r, &c, seq);
        if (seq % 5 == 0)
            usleep(30000);
    }
    rig_wait_acks(&c, 43);
    fake_gpu_plan.delay_us = 0;
    for (uint64_t seq = 44; seq <= 60; seq++) {
        struct frame f = rig_frame(&r, seq);
        uint8_t broken[64];
        if (seq % 3 == 0) { /* no JPEG: the decoder finds out */
            memset(broken, 7, sizeof(broken));
            f.payload = broken;
            f.payload_len = sizeof(broken);
        }
        if (seq % 3 == 1) /* refused before the journal */
            f.flags = 0;
        rig_send_frame(&c, &f, NULL);
        rig_wait_acks(&c, (int)seq);
    }
    rig_send(&r, &c, 60);
    rig_wait_acks(&c, 61);
    feed(&r, &c, 61, 62);
    usleep(50000);
    info = rig_info(&r, id);
    tell_id(out, id);
    if (write(out, &info, sizeof(info)) != sizeof(info))
        _exit(98);
    raise(SIGKILL);
}

static void the_accounting_survives(int every)
{
    struct session_info was, info;
    char id[API_ID_CAP];
    int pipes[2], status;
    struct rig r;
    pid_t child;

    checkpoint_every = every;
    assert_int_equal(pipe(pipes), 0);
    child = fork();
    if (child == 0)
        drop_and_refuse_and_be_killed(pipes[1]);
    close(pipes[1]);
    assert_int_equal(read(pipes[0], id, sizeof(id)), sizeof(id));
    assert_int_equal(read(pipes[0], &was, sizeof(was)), sizeof(was));
    close(pipes[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(was.counts.dropped > 5 && was.counts.refused > 5);
    for (int again = 0; again < 3; again++) { /* also after a start that nothing was sent to */
        open_rig(&r, every);
        wait_until_back(&r, id);
        info = rig_info(&r, id);
        assert_int_equal(info.counts.received, was.counts.received);
        assert_int_equal(info.counts.used, was.counts.used);
        assert_int_equal(info.counts.dropped, was.counts.dropped);
        assert_int_equal(info.counts.refused, was.counts.refused);
        assert_int_equal(info.counts.queued, 0);
        assert_true(info.hash == was.hash);
        assert_int_equal(info.revision, was.revision);
        rig_close(&r);
    }
}

static void every_end_is_remembered(void **state)
{
    (void)state;
    the_accounting_survives(0);
}

static void every_end_is_remembered_behind_a_checkpoint(void **state)
{
    (void)state;
    the_accounting_survives(7);
}

/* ------------------------------------------------------------------------- poison */

static char poisoned[API_ID_CAP], neighbour[API_ID_CAP];

/* Frame 11 of one session kills the process while the other one is at work, too. */
static void feed_poison(int out)
{
    static struct rig_client a, b;
    struct session_options o = options(SESSION_LOSSLESS);
    struct frame f;
    struct rig r;

    open_rig(&r, 0);
    if (suspect_arm(r.core->store->suspect, NULL))
        _exit(97);
    rig_session(&r, &o, poisoned);
    rig_session(&r, &o, neighbour);
    tell_id(out, poisoned);
    tell_id(out, neighbour);
    rig_connect(&r, &a, poisoned, CONTROL_INGEST);
    rig_connect(&r, &b, neighbour, CONTROL_INGEST);
    feed(&r, &a, 1, 10);
    feed(&r, &b, 1, 10);
    fake_gpu_plan.deadly = SIGSEGV;
    fake_gpu_plan.wait_us = 20000; /* so that the two meet */
    send_one(&r, &b, 11);
    f = rig_frame(&r, 11);
    f.T_wc.t[2] = 2 * FAKE_DEADLY_M;
    rig_send_frame(&a, &f, NULL);
    for (uint64_t seq = 12; seq <= 14; seq++) {
        send_one(&r, &a, seq);
        send_one(&r, &b, seq);
    }
    sleep(10);
}

/* It is replayed alone, and kills again. */
static void start_again(int out)
{
    struct config config;
    struct rig r;

    tell_id(out, poisoned);
    memset(&r, 0, sizeof(r));
    fake_gpu_plan.delay_us = 50000; /* ten frames come before the deadly one */
    tiny_models(r.models);
    rig_config(&config, r.models);
    snprintf(config.journal.path, sizeof(config.journal.path), "%s", folder);
    rig_open_with(&r, &config);
    if (suspect_arm(r.core->store->suspect, NULL))
        _exit(97);
    fake_gpu_plan.deadly = SIGSEGV;
    sleep(10);
}

static long quarantined_bytes(const char *id, uint64_t seq)
{
    char path[256];
    struct stat st;

    snprintf(path, sizeof(path), "%s/quarantine/%s-%llu.frame", folder, id,
             (unsigned long long)seq);
    return stat(path, &st) ? -1 : (long)st.st_size;
}

static void a_frame_that_kills_twice_is_put_away(void **state)
{
    struct session_info then = undisturbed(14), info;
    char id[API_ID_CAP];
    struct rig r;
    int status, pipes[2];
    pid_t child;

    (void)state;
    assert_int_equal(pipe(pipes), 0);
    child = fork();
    if (child == 0)
        feed_poison(pipes[1]);
    close(pipes[1]);
    assert_int_equal(read(pipes[0], poisoned, sizeof(poisoned)), sizeof(poisoned));
    assert_int_equal(read(pipes[0], neighbour, sizeof(neighbour)), sizeof(neighbour));
    close(pipes[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    status = in_a_child(start_again, id);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    assert_int_equal(quarantined_bytes(poisoned, 11), -1);

    open_rig(&r, 0);
    wait_until_back(&r, poisoned);
    wait_until_back(&r, neighbour);
    info = rig_info(&r, poisoned);
    assert_int_equal(info.counts.refused, 1);
    assert_true(info.counts.used >= 10);
    assert_int_equal(info.counts.used + 1, info.counts.received);
    assert_int_equal(quarantined_bytes(poisoned, 11),
                     FRAME_HEADER_BYTES + (long)rig_frame(&r, 1).payload_len);
    info = rig_info(&r, neighbour);
    assert_int_equal(info.counts.refused, 0);
    if (info.counts.used == 14) /* all had reached the disk */
        assert_true(info.hash == then.hash);
    assert_int_equal(suspect_list(r.core->store->suspect, NULL, 0), 0);
    rig_close(&r);

    open_rig(&r, 0); /* and it is forgotten: nobody is replayed alone any more */
    wait_until_back(&r, poisoned);
    assert_int_equal(rig_info(&r, poisoned).counts.refused, 1);
    rig_close(&r);
}

/* ------------------------------------------------------------------------- a lost device */

static void lose_a_device(int out)
{
    static struct rig_client c;
    struct session_options o = options(SESSION_LOSSLESS);
    char id[API_ID_CAP];
    struct rig r;

    open_rig(&r, 0);
    rig_session(&r, &o, id);
    tell_id(out, id);
    rig_connect(&r, &c, id, CONTROL_INGEST);
    feed(&r, &c, 1, 10);
    fake_gpu_plan.fail_with = ERR_DEVICE;
    fake_gpu_plan.fail_at = fake_gpu_plan.frames + 2;
    for (uint64_t seq = 11; seq <= 15; seq++)
        send_one(&r, &c, seq);
    for (int i = 0; i < 3000 && !core_lost(r.core); i++)
        usleep(1000);
    usleep(50000);
    rig_read_all(&c);
    for (int i = 10; i < c.n_acks; i++) /* nobody is told that a frame failed */
        if (c.acks[i].status != CONTROL_USED)
            _exit(96);
    rig_disconnect(&c);
    core_stop(r.core); /* as main does; what is left of the device is not asked */
    _exit(core_lost(r.core) && fake_gpu_plan.frames < 15 ? 70 : 95);
}

static void a_lost_device_loses_no_frame(void **state)
{
    struct session_info then = undisturbed(15), info;
    char id[API_ID_CAP];
    struct rig r;
    int status = in_a_child(lose_a_device, id);

    (void)state;
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 70);
    open_rig(&r, 0);
    wait_until_back(&r, id);
    info = rig_info(&r, id);
    assert_int_equal(info.counts.used, 15);
    assert_int_equal(info.counts.received, 15);
    assert_true(info.hash == then.hash);
    rig_close(&r);
}

/* ------------------------------------------------------------------------- damage, another life */

static void in_file(const char *id, const char *suffix, char path[512])
{
    char command[400];
    FILE *p;

    snprintf(command, sizeof(command), "ls %s/sessions/%s/*%s | head -n 1", folder, id, suffix);
    p = popen(command, "r");
    assert_non_null(fgets(path, 512, p));
    pclose(p);
    path[strcspn(path, "\n")] = '\0';
}

static void a_damaged_journal_is_told_and_kept(void **state)
{
    struct session_info then, info;
    static struct rig_client c;
    char id[API_ID_CAP], path[512];
    struct stat before, after;
    struct rig r;
    int fd;

    (void)state;
    checkpoint_every = 0;
    frames_before = 30;
    in_a_child(feed_and_be_killed, id);
    in_file(id, ".seg", path);
    fd = open(path, O_RDWR);
    assert_int_equal(fstat(fd, &before), 0);
    assert_int_equal(pwrite(fd, "!", 1, before.st_size / 2), 1);
    close(fd);
    open_rig(&r, 0);
    wait_until_back(&r, id);
    info = rig_info(&r, id);
    assert_true(info.damaged[0] != '\0');
    assert_true(info.fault[0] != '\0');
    assert_true(info.counts.used > 5 && info.counts.used < 30);
    balanced(&info);
    rig_connect(&r, &c, id, CONTROL_INGEST); /* it can be watched, but not fed */
    send_one(&r, &c, 31);
    rig_wait_acks(&c, 1);
    assert_int_equal(c.acks[0].status, CONTROL_REFUSED);
    assert_true(c.sync.hash == info.hash);
    rig_disconnect(&c);
    rig_close(&r);
    then = undisturbed(info.counts.used);
    assert_true(info.hash == then.hash);
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(after.st_size, before.st_size);
}

static void replace_in_meta(const char *id, const char *from, const char *to)
{
    char command[600];

    snprintf(command, sizeof(command), "sed -i 's#%s#%s#' %s/sessions/%s/meta.json", from, to,
             folder, id);
    assert_int_equal(system(command), 0);
}

static void another_machine_or_network_is_another_epoch(void **state)
{
    struct session_info was, info;
    char id[API_ID_CAP];
    struct rig r;

    (void)state;
    checkpoint_every = 10;
    frames_before = 15;
    in_a_child(feed_and_be_killed, id);
    open_rig(&r, 10);
    wait_until_back(&r, id);
    was = rig_info(&r, id);
    rig_close(&r);
    replace_in_meta(id, "\"boot\":\"[^\"]*\"", "\"boot\":\"yesterday\"");
    open_rig(&r, 10); /* all was synced: a machine that went down has lost nothing */
    wait_until_back(&r, id);
    info = rig_info(&r, id);
    assert_int_equal(info.epoch, was.epoch);
    rig_close(&r);
    replace_in_meta(id, "\"journal\":\"sync\"", "\"journal\":\"async\"");
    replace_in_meta(id, "\"boot\":\"[^\"]*\"", "\"boot\":\"yesterday\"");
    open_rig(&r, 10);
    wait_until_back(&r, id);
    info = rig_info(&r, id);
    assert_int_not_equal(info.epoch, was.epoch);
    assert_true(info.hash == was.hash);
    was = info;
    rig_close(&r);
    replace_in_meta(id, "|fake|", "|other|");
    open_rig(&r, 10);
    wait_until_back(&r, id);
    assert_int_not_equal(rig_info(&r, id).epoch, was.epoch);
    rig_close(&r);
}

static void what_is_no_session_is_left_alone(void **state)
{
    struct session_options o = options(SESSION_LIVE);
    struct session_info info;
    char id[2][API_ID_CAP], command[400];
    struct rig r;

    (void)state;
    open_rig(&r, 0);
    rig_session(&r, &o, id[0]);
    rig_session(&r, &o, id[1]);
    rig_close(&r);
    snprintf(command, sizeof(command),
             "cd %s/sessions && echo '{' >%s/meta.json && mkdir no-session && touch no-session/x",
             folder, id[0]);
    assert_int_equal(system(command), 0);
    open_rig(&r, 0);
    wait_until_back(&r, id[1]);
    assert_int_equal(door_ops.session_get(r.core, id[0], &info, NULL), ERR_NOT_FOUND);
    rig_close(&r);
    snprintf(command, sizeof(command),
             "test -e %s/sessions/%s/meta.json -a -e %s/sessions/no-session/x", folder, id[0],
             folder);
    assert_int_equal(system(command), 0);
}

/* ------------------------------------------------------------------------- rest, end, deletion */

static void stopped_sessions_start_from_a_checkpoint(void **state)
{
    static struct rig_client c;
    struct session_options o = options(SESSION_LIVE);
    struct session_info then = undisturbed(30), was, info;
    char id[API_ID_CAP], closed[API_ID_CAP], deleted[API_ID_CAP];
    struct rig r;

    (void)state;
    open_rig(&r, 0);
    rig_session(&r, &o, id);
    rig_session(&r, &o, closed);
    rig_session(&r, &o, deleted);
    rig_connect(&r, &c, id, CONTROL_INGEST);
    feed(&r, &c, 1, 15);
    rig_disconnect(&c);
    rig_connect(&r, &c, closed, CONTROL_INGEST);
    feed(&r, &c, 1, 9);
    rig_disconnect(&c);
    assert_int_equal(door_ops.session_finalize(r.core, closed, NULL), 0);
    assert_int_equal(door_ops.session_delete(r.core, deleted, NULL), 0);
    was = rig_info(&r, id);
    core_drain(r.core);
    for (int i = 0; i < 3000 && core_unsettled(r.core); i++)
        usleep(1000);
    assert_int_equal(core_unsettled(r.core), 0);
    rig_close(&r);

    open_rig(&r, 0);
    wait_until_back(&r, id);
    wait_until_back(&r, closed);
    info = rig_info(&r, id);
    assert_true(info.hash == was.hash && info.epoch == was.epoch);
    assert_int_equal(info.state, SESSION_SUSPENDED);
    assert_int_equal(rig_info(&r, closed).state, SESSION_CLOSED);
    assert_int_equal(rig_info(&r, closed).counts.used, 9);
    assert_int_equal(door_ops.session_get(r.core, deleted, &info, NULL), ERR_NOT_FOUND);
    assert_int_equal(fake_gpu_plan.frames, 0); /* nothing had to be replayed */
    assert_int_equal(fake_gpu_plan.sessions, 0);
    rig_connect(&r, &c, id, CONTROL_INGEST);
    feed(&r, &c, 16, 30);
    assert_true(rig_info(&r, id).hash == then.hash);
    rig_disconnect(&c);
    rig_close(&r);
}

static void an_idle_session_leaves_its_device(void **state)
{
    static struct rig_client c;
    struct session_options o = options(SESSION_LIVE);
    struct session_info was;
    struct config fresh;
    char id[API_ID_CAP], later[256];
    struct rig r;

    (void)state;
    was = undisturbed(25);
    open_rig(&r, 0);
    fresh = core_config(r.core);
    fresh.session.suspend_s = 0;
    core_reload(r.core, &fresh, later, sizeof(later));
    rig_session(&r, &o, id);
    rig_connect(&r, &c, id, CONTROL_INGEST);
    feed(&r, &c, 1, 12);
    assert_int_equal(fake_gpu_plan.sessions, 1);
    rig_disconnect(&c);
    for (int i = 0; i < 3000 && fake_gpu_plan.sessions; i++) {
        core_sweep(r.core);
        usleep(1000);
    }
    assert_int_equal(fake_gpu_plan.sessions, 0);
    assert_int_equal(rig_info(&r, id).state, SESSION_SUSPENDED);
    rig_connect(&r, &c, id, CONTROL_INGEST);
    feed(&r, &c, 13, 25);
    assert_int_equal(fake_gpu_plan.sessions, 1);
    assert_true(rig_info(&r, id).hash == was.hash);
    rig_disconnect(&c);
    rig_close(&r);
}

static void tokens_and_ranks_are_kept(void **state)
{
    struct session_options o = options(SESSION_LIVE);
    struct api_token token = {.scope = 1};
    struct session_info infos[8];
    uint64_t cursor = 0;
    char id[4][API_ID_CAP];
    struct session *s;
    struct rig r;
    int n;

    (void)state;
    open_rig(&r, 0);
    strcpy(o.name, "the \"west\" wing\n");
    for (int i = 0; i < 4; i++)
        rig_session(&r, &o, id[i]);
    memset(token.sha256, 0xa5, sizeof(token.sha256));
    strcpy(token.session, id[2]);
    assert_int_equal(door_ops.tokens_keep(r.core, id[2], &token, 1, NULL), 0);
    rig_close(&r);
    open_rig(&r, 0);
    assert_int_equal(door_ops.session_list(r.core, infos, 8, &n, &cursor, NULL), 0);
    assert_int_equal(n, 4);
    for (int i = 0; i < 4; i++)
        assert_string_equal(infos[i].id, id[i]);
    assert_string_equal(infos[0].options.name, o.name);
    s = registry_find(r.core->registry, id[2]);
    assert_int_equal(s->n_tokens, 1);
    assert_memory_equal(s->tokens[0].sha256, token.sha256, 32);
    assert_string_equal(s->tokens[0].session, id[2]);
    session_unref(s);
    rig_close(&r);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        CASE(a_killed_process_loses_nothing),
        CASE(a_checkpoint_shortens_the_replay),
        CASE(a_session_without_frames_is_back),
        CASE(every_end_is_remembered),
        CASE(every_end_is_remembered_behind_a_checkpoint),
        CASE(a_frame_that_kills_twice_is_put_away),
        CASE(a_lost_device_loses_no_frame),
        CASE(a_damaged_journal_is_told_and_kept),
        CASE(another_machine_or_network_is_another_epoch),
        CASE(what_is_no_session_is_left_alone),
        CASE(stopped_sessions_start_from_a_checkpoint),
        CASE(an_idle_session_leaves_its_device),
        CASE(tokens_and_ranks_are_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
