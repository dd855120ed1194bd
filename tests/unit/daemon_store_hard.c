/* What may go wrong beside a crash: frames that kill, lost devices, damage, other machines. */
#include "tests/support/store_rig.h"
#include "tests/support/unit.h"

#include "daemon/disk/suspect.h"

#include "daemon/session/session_internal.h"

/* ------------------------------------------------------------------------- poison */

static char poisoned[API_ID_CAP], neighbour[API_ID_CAP];

/* Frame 11 of one session kills the process while the other one is at work, too. */
static void feed_poison(int out)
{
    static struct rig_client a, b;
    struct session_options o = options(SESSION_LOSSLESS);
    struct frame f;

    open_rig(0);
    if (suspect_arm(rig.core->store->suspect, NULL))
        _exit(97);
    rig_session(&o, poisoned);
    rig_session(&o, neighbour);
    tell_id(out, poisoned);
    tell_id(out, neighbour);
    rig_connect(&a, poisoned, CONTROL_INGEST);
    rig_connect(&b, neighbour, CONTROL_INGEST);
    feed(&a, 1, 10);
    feed(&b, 1, 10);
    fake_gpu_plan.deadly = SIGSEGV;
    fake_gpu_plan.wait_us = 20000; /* so that the two meet */
    send_one(&b, 11);
    f = rig_frame(11);
    f.T_wc.t[2] = 2 * FAKE_DEADLY_M;
    rig_send_frame(&a, &f, NULL);
    for (uint64_t seq = 12; seq <= 14; seq++) {
        send_one(&a, seq);
        send_one(&b, seq);
    }
    sleep(100); /* the frame ends this process */
}

/* It is replayed alone, and kills again. */
static void start_again(int out)
{
    struct config config;

    tell_id(out, poisoned);
    rig_prepare(&config);
    fake_gpu_plan.delay_us = 50000; /* ten frames come before the deadly one */
    snprintf(config.journal.path, sizeof(config.journal.path), "%s", folder);
    rig_open_with(&config);
    if (suspect_arm(rig.core->store->suspect, NULL))
        _exit(97);
    fake_gpu_plan.deadly = SIGSEGV;
    sleep(100); /* the frame ends this process */
}

static long quarantined_bytes(const char *id, uint64_t seq)
{
    char path[256];
    struct stat st;

    snprintf(path, sizeof(path), "%s/quarantine/%s-%llu.frame", folder, id,
             (unsigned long long)seq);
    return stat(path, &st) ? -1 : (long)st.st_size;
}

TEST_WITH(a_frame_that_kills_twice_is_put_away, make_folder, remove_folder)
{
    struct session_info then = undisturbed(14), info;
    char id[API_ID_CAP];
    int status;

    status = in_a_child_that_tells(feed_poison, poisoned, neighbour, sizeof(neighbour));
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    status = in_a_child(start_again, id);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    assert_int_equal(quarantined_bytes(poisoned, 11), -1);

    (void)come_back(0, poisoned);
    wait_until_back(neighbour);
    info = rig_info(poisoned);
    assert_int_equal(info.counts.refused, 1);
    assert_true(info.counts.used >= 10);
    assert_int_equal(info.counts.used + 1, info.counts.received);
    assert_int_equal(quarantined_bytes(poisoned, 11),
                     FRAME_HEAD_BYTES + (long)rig_frame(1).payload_len);
    info = rig_info(neighbour);
    assert_int_equal(info.counts.refused, 0);
    if (info.counts.used == 14) /* all had reached the disk */
        assert_true(info.hash == then.hash);
    assert_int_equal(suspect_list(rig.core->store->suspect, NULL, 0), 0);
    rig_close();

    (void)come_back(0, poisoned); /* and it is forgotten: no session is replayed alone any more */
    assert_int_equal(rig_info(poisoned).counts.refused, 1);
    rig_close();
}

/* ------------------------------------------------------------------------- a lost device */

static void lose_a_device(int out)
{
    static struct rig_client c;
    struct session_options o = options(SESSION_LOSSLESS);

    open_rig(0);
    rig_join(&c, &o);
    tell_id(out, c.id);
    feed(&c, 1, 10);
    fake_gpu_plan.fail_with = ERR_DEVICE;
    fake_gpu_plan.fail_at = fake_gpu_plan.frames + 2;
    for (uint64_t seq = 11; seq <= 15; seq++)
        send_one(&c, seq);
    for (int i = 0; i < 60000 && !core_lost(rig.core); i++)
        usleep(1000);
    usleep(50000);
    rig_read_all(&c);
    for (int i = 10; i < c.n_acks; i++) /* no client is told that a frame failed */
        if (c.acks[i].status != CONTROL_USED)
            _exit(96);
    core_stop(rig.core); /* as main does; what is left of the device is not asked */
    rig_read_all(&c);
    if (c.bye.action != CONTROL_RESUME ||
        !c.n_bye) /* its client goes on with it in the next process */
        _exit(97);
    rig_disconnect(&c);
    _exit(core_lost(rig.core) && fake_gpu_plan.frames < 15 ? 70 : 95);
}

TEST_WITH(a_lost_device_loses_no_frame, make_folder, remove_folder)
{
    struct session_info then = undisturbed(15), info;
    char id[API_ID_CAP];
    int status = in_a_child(lose_a_device, id);

    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 70);
    info = come_back(0, id);
    assert_int_equal(info.counts.used, 15);
    assert_int_equal(info.counts.received, 15);
    assert_true(info.hash == then.hash);
    rig_close();
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

TEST_WITH(a_damaged_journal_is_told_and_kept, make_folder, remove_folder)
{
    struct session_info then, info;
    static struct rig_client c;
    char id[API_ID_CAP], path[512];
    struct stat before, after;
    int fd;

    feed_and_kill(0, 30, id);
    in_file(id, ".seg", path);
    fd = open(path, O_RDWR);
    assert_int_equal(fstat(fd, &before), 0);
    assert_int_equal(pwrite(fd, "!", 1, before.st_size / 2), 1);
    close(fd);
    info = come_back(0, id);
    assert_true(info.damaged[0] != '\0');
    assert_true(info.fault[0] != '\0');
    assert_true(info.counts.used > 5 && info.counts.used < 30);
    balanced(&info);
    rig_connect(&c, id, CONTROL_INGEST); /* it can be watched, but not fed */
    send_one(&c, 31);
    rig_wait_acks(&c, 1);
    assert_int_equal(c.acks[0].status, CONTROL_REFUSED);
    assert_true(c.sync.hash == info.hash);
    rig_end(&c);
    then = undisturbed(info.counts.used);
    assert_true(info.hash == then.hash);
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(after.st_size, before.st_size);
}

static atomic_bool gate_reached, gate_open;

static void wait_at_gate(void *edge, void *cookie)
{
    (void)edge;
    (void)cookie;
    atomic_store(&gate_reached, true);
    while (!atomic_load(&gate_open))
        usleep(100);
}

static void ignore_gone(void *edge, const char *id)
{
    (void)edge;
    (void)id;
}

static void spoil_last_record(const char *id)
{
    char path[512];
    int fd;

    in_file(id, ".seg", path);
    fd = open(path, O_RDWR);
    assert_int_equal(pwrite(fd, "!!!!", 4, lseek(fd, 0, SEEK_END) - 4), 4);
    close(fd);
}

/* The replay finds a record spoilt when the end of a frame is counted, but not yet told to it: the
 * frames that are queued are still counted right. */
TEST_WITH(a_replay_that_gives_up_counts_right, make_folder, remove_folder)
{
    static const struct edge_ops gate = {wait_at_gate, ignore_gone};
    struct session_client watcher = {.role = CONTROL_VIEW}; /* of stream 0, as replayed frames */
    struct session_info info;
    struct config config;
    char id[API_ID_CAP];
    struct session *s;

    feed_and_kill(0, 3, id);
    store_config(&config, 0, 0);
    config.session.queue_frames = 2; /* record 3 is read when frame 1 has left the queue */
    rig_load_with(&config);
    core_set_edges(rig.core, &gate, NULL, NULL);
    s = registry_find(rig.core->registry, id);
    assert_int_equal(outbox_new(&watcher.outbox, session_mirror(s), session_epoch(s), 8, NULL), 0);
    s->clients[s->n_clients++] = &watcher;
    spoil_last_record(id);
    core_set_ready(rig.core);
    while (!rig_info(id).damaged[0])
        usleep(1000);
    assert_true(atomic_load(&gate_reached));
    atomic_store(&gate_open, true);
    wait_until_back(id);
    info = rig_info(id);
    assert_int_equal(info.counts.used, 2);
    assert_int_equal(info.counts.received, 2);
    assert_int_equal(info.counts.queued, 0);
    session_detach(s, &watcher);
    outbox_free(&watcher.outbox);
    session_unref(s);
    rig_close();
}

static void replace_in_meta(const char *id, const char *from, const char *to)
{
    char command[600];

    snprintf(command, sizeof(command),
             "sed -i 's#%s#%s#; s#,\"crc32c\":.*#}#' %s/sessions/%s/meta.json", from, to, folder,
             id);
    assert_int_equal(system(command), 0);
}

TEST_WITH(another_machine_or_network_is_another_epoch, make_folder, remove_folder)
{
    struct session_info was, info;
    char id[API_ID_CAP];

    feed_and_kill(10, 15, id);
    was = come_back(10, id);
    rig_close();
    replace_in_meta(id, "\"boot\":\"[^\"]*\"", "\"boot\":\"yesterday\"");
    info = come_back(10, id); /* all was synced: a machine that went down has lost nothing */
    assert_int_equal(info.epoch, was.epoch);
    rig_close();
    replace_in_meta(id, "\"journal\":\"sync\"", "\"journal\":\"async\"");
    replace_in_meta(id, "\"boot\":\"[^\"]*\"", "\"boot\":\"yesterday\"");
    info = come_back(10, id);
    assert_int_not_equal(info.epoch, was.epoch);
    assert_true(info.hash == was.hash);
    was = info;
    rig_close();
    replace_in_meta(id, "|fake|", "|other|");
    (void)come_back(10, id);
    assert_int_not_equal(rig_info(id).epoch, was.epoch);
    rig_close();
}

/* Where a submap lies is told when it is on the disk, and not where that failed. */
TEST_WITH(a_place_that_is_not_written_is_not_told, make_folder, remove_folder)
{
    static const float pose[7] = {0, 0, 0, 1, 1, 2, 3}, other[7] = {0, 0, 0, 1, 4, 5, 6};
    static struct rig_client c;
    struct session_options o = options(SESSION_LOSSLESS);
    struct api_submap list[API_SUBMAPS_MAX];
    char part[256];
    uint64_t places;
    struct frame f;
    int n;

    open_rig(10);
    rig_join(&c, &o);
    f = rig_frame(1);
    rig_ask(&c, &f, 1);
    f = rig_frame(2);
    f.world_epoch = 1;
    rig_ask(&c, &f, 2);
    places = rig_info(c.id).places;
    snprintf(part, sizeof(part), "%s/sessions/%s/meta.part", folder, c.id);
    assert_int_equal(mkdir(part, 0700), 0); /* the file cannot be written */
    assert_int_equal(core_ops.submap_place(rig.core, c.id, 1, pose, NULL), ERR_IO);
    assert_int_equal(core_ops.submaps(rig.core, c.id, list, &n, NULL), 0);
    assert_true(n == 2 && !list[1].placed && rig_info(c.id).places == places);
    assert_int_equal(rmdir(part), 0);
    assert_int_equal(core_ops.submap_place(rig.core, c.id, 1, pose, NULL), 0);
    assert_int_equal(mkdir(part, 0700), 0);
    assert_int_equal(core_ops.submap_place(rig.core, c.id, 1, other, NULL), ERR_IO);
    assert_int_equal(rmdir(part), 0);
    assert_int_equal(core_ops.submap_place(rig.core, c.id, 0, pose, NULL),
                     0); /* writes all places */
    rig_end(&c);
    (void)come_back(10, c.id);
    assert_int_equal(core_ops.submaps(rig.core, c.id, list, &n, NULL), 0);
    assert_true(n == 2 && list[1].placed);
    assert_memory_equal(list[1].pose, pose, sizeof(pose));
    rig_close();
}

TEST_WITH(what_is_no_session_is_left_alone, make_folder, remove_folder)
{
    struct session_options o = options(SESSION_LIVE);
    struct session_info info;
    char id[2][API_ID_CAP], command[400];

    open_rig(0);
    rig_session(&o, id[0]);
    rig_session(&o, id[1]);
    rig_close();
    snprintf(command, sizeof(command),
             "cd %s/sessions && echo '{' >%s/meta.json && mkdir no-session && touch no-session/x",
             folder, id[0]);
    assert_int_equal(system(command), 0);
    (void)come_back(0, id[1]);
    assert_int_equal(core_ops.session_get(rig.core, id[0], &info, NULL), ERR_NOT_FOUND);
    rig_close();
    snprintf(command, sizeof(command),
             "test -e %s/sessions/%s/meta.json -a -e %s/sessions/no-session/x", folder, id[0],
             folder);
    assert_int_equal(system(command), 0);
}
