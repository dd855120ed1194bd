/*
 * Folders that another build wrote, or of which files are missing: a session comes back as far as
 * its files reach, or it is said why not and nothing on the disk changes.
 */
#include "tests/support/store_rig.h"
#include "tests/support/unit.h"

#include "proto/crc32c.h"

#include <dirent.h>

#define CORE "DCOR"
#define ENTRY 28 /* bytes of a section in the table of a checkpoint */
#define TABLE 88 /* where that begins */

static char sessions[128], aside[160], id[API_ID_CAP];
static uint64_t segment_bytes;
static bool record;

static void open_here(void)
{
    struct config config;

    rig_prepare(&config);
    set_age(rig.models, "flat.onnx");
    set_age(rig.models, "still.onnx");
    snprintf(config.journal.path, sizeof(config.journal.path), "%s", folder);
    config.journal.checkpoint_frames = 10;
    config.journal.segment_bytes = segment_bytes;
    rig_open_with(&config);
}

/* 36 frames; checkpoints stand at 20 and 30 or thereabouts. */
static void feed_36_and_be_killed(int out)
{
    static struct rig_client c;
    struct session_options o = options(SESSION_LOSSLESS);
    char made[API_ID_CAP];

    o.record = record;
    open_here();
    rig_session(&o, made);
    tell_id(out, made);
    rig_connect(&c, made, CONTROL_INGEST);
    for (uint64_t n = 0; n < 4; n++) {
        feed(&c, 9 * n + 1, 9 * n + 9);
        usleep(50000); /* so that a checkpoint that is due is not put off */
    }
    raise(SIGKILL);
}

static void shell(const char *format, const char *a, const char *b)
{
    char command[512];

    snprintf(command, sizeof(command), format, a, b);
    assert_int_equal(system(command), 0);
}

/* The folder, and a copy of it. */
static void make(uint64_t bytes, bool keep)
{
    segment_bytes = bytes;
    record = keep;
    in_a_child(feed_36_and_be_killed, id);
    snprintf(sessions, sizeof(sessions), "%s/sessions/%s", folder, id);
    snprintf(aside, sizeof(aside), "%s/copy", folder);
    shell("cp -a %s %s", sessions, aside);
}

static void put_back(void)
{
    shell("rm -rf %s && mkdir %s", sessions, sessions);
    shell("cp -a %s/. %s", aside, sessions);
}

/* Numbers of the files with this suffix, ascending. */
static int list(const char *suffix, uint64_t *numbers, int cap)
{
    struct dirent **found;
    int n = scandir(sessions, &found, NULL, alphasort), kept = 0;

    assert_true(n >= 0);
    for (int i = 0; i < n; i++) {
        if (strlen(found[i]->d_name) == 20 + strlen(suffix) &&
            strcmp(found[i]->d_name + 20, suffix) == 0 && kept < cap)
            numbers[kept++] = strtoull(found[i]->d_name, NULL, 10);
        free(found[i]);
    }
    free(found);
    return kept;
}

static bool has(uint64_t number, const char *suffix)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/%020llu%s", sessions, (unsigned long long)number, suffix);
    return access(path, F_OK) == 0;
}

static void drop(uint64_t number, const char *suffix)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/%020llu%s", sessions, (unsigned long long)number, suffix);
    assert_int_equal(unlink(path), 0);
}

/* Checkpoint `number` as a build would have written it whose section has this version. */
static void set_version(uint64_t number, const char *tag, uint8_t version)
{
    char path[256];
    uint8_t head[4096];
    ssize_t len;
    uint32_t n, crc;
    int fd;

    snprintf(path, sizeof(path), "%s/%020llu.ckpt", sessions, (unsigned long long)number);
    fd = open(path, O_RDWR);
    len = read(fd, head, sizeof(head));
    assert_true(len > TABLE);
    memcpy(&n, head + TABLE - 8, sizeof(n));
    for (uint32_t i = 0; i < n; i++)
        if (memcmp(head + TABLE + i * ENTRY, tag, 4) == 0)
            head[TABLE + i * ENTRY + 4] = version;
    crc = crc32c(0, head + TABLE, (size_t)n * ENTRY);
    memcpy(head + TABLE + n * ENTRY, &crc, sizeof(crc));
    assert_int_equal(pwrite(fd, head, TABLE + n * ENTRY + 4, 0), TABLE + n * ENTRY + 4);
    close(fd);
}

/* All names and bytes of the folder as one number. */
static uint64_t sum_of_folder(void)
{
    char command[256];
    unsigned long sum = 0;
    FILE *p;

    snprintf(command, sizeof(command), "cd %s && (ls; cat -- *) | cksum", sessions);
    p = popen(command, "r");
    assert_int_equal(fscanf(p, "%lu", &sum), 1);
    pclose(p);
    return sum;
}

TEST_WITH(a_downgrade_replays_what_the_journal_has, make_folder, remove_folder)
{
    struct session_info then = undisturbed(36), info;
    uint64_t at[4], first;
    uint32_t epoch;
    static struct rig_client c;

    make(0, true);
    open_here();
    wait_until_back(id);
    epoch = rig_info(id).epoch;
    rig_close();
    put_back();
    assert_int_equal(list(".ckpt", at, 4), 2);
    set_version(at[0], CORE, 9);
    set_version(at[1], CORE, 9);
    open_here();
    wait_until_back(id);
    info = rig_info(id);
    assert_string_equal(info.damaged, "");
    assert_int_equal(info.epoch, epoch + 2);
    assert_int_equal(info.counts.used, 36);
    assert_true(info.hash == then.hash);
    assert_true(has(at[0], ".ckpt.aside") && has(at[1], ".ckpt.aside"));
    /* it goes on with checkpoints of its own */
    rig_connect(&c, id, CONTROL_INGEST);
    feed(&c, 37, 60);
    rig_end(&c);
    assert_true(has(at[0], ".ckpt.aside") && has(at[1], ".ckpt.aside"));
    assert_int_equal(list(".ckpt", &first, 1), 1);
    assert_true(first > at[1]);
    open_here(); /* and the set-aside ones are no matter any more */
    wait_until_back(id);
    info = rig_info(id);
    assert_int_equal(info.epoch, epoch + 2);
    assert_int_equal(info.counts.used, 60);
    rig_close();
}

TEST_WITH(one_that_is_read_is_enough, make_folder, remove_folder)
{
    struct session_info then = undisturbed(36), info;
    uint64_t at[4];

    make(4096, false);
    assert_int_equal(list(".ckpt", at, 4), 2);
    set_version(at[1], CORE, 9);
    open_here();
    wait_until_back(id);
    info = rig_info(id);
    assert_int_equal(info.counts.used, 36); /* the journal reaches back to the older one */
    assert_true(info.hash == then.hash);
    assert_string_equal(info.damaged, "");
    assert_true(has(at[1], ".ckpt.aside"));
    rig_close();
}

/* The journal is pruned: only the build that wrote the checkpoints can read them. */
TEST_WITH(a_downgrade_that_cannot_replay_changes_nothing, make_folder, remove_folder)
{
    struct session_info then = undisturbed(36), info;
    static struct rig_client c;
    uint64_t at[4], sum;
    uint32_t epoch;

    make(4096, false);
    assert_int_equal(list(".seg", at, 1), 1);
    assert_true(at[0] > 1);
    assert_int_equal(list(".ckpt", at, 4), 2);
    set_version(at[0], "GSES", 9);
    set_version(at[1], "GSES", 9);
    shell("sed -i 's#\"retention_s\":-1#\"retention_s\":1#; s#,\"crc32c\":.*#}#' %s/%s", sessions,
          "meta.json"); /* as the first versions wrote it, without a checksum */
    sum = sum_of_folder();
    for (int i = 0; i < 2; i++) {
        open_here();
        wait_until_back(id);
        info = rig_info(id);
        assert_non_null(strstr(info.damaged, "recond " RECOND_VERSION " wrote it"));
        assert_non_null(strstr(info.damaged, "its section GSES has version 9, this build reads 1"));
        assert_non_null(strstr(info.damaged, "its journal does not reach back"));
        balanced(&info);
        rig_connect(&c, id, CONTROL_INGEST);
        send_one(&c, 37);
        rig_wait_acks(&c, 1);
        assert_int_equal(c.acks[0].status, CONTROL_REFUSED);
        rig_disconnect(&c);
        if (i) { /* nor does time */
            usleep(1300000);
            core_sweep(rig.core);
            core_sweep(rig.core);
        }
        rig_close();
        assert_true(sum_of_folder() == sum);
    }
    set_version(at[0], "GSES", 1); /* up again: that build has all that it left */
    set_version(at[1], "GSES", 1);
    open_here();
    wait_until_back(id);
    epoch = info.epoch;
    info = rig_info(id);
    assert_int_equal(info.epoch, epoch - 2);
    assert_int_equal(info.counts.used, 36);
    assert_true(info.hash == then.hash);
    assert_string_equal(info.damaged, "");
    rig_close();
}

/* ------------------------------------------------------------------------- missing files */

enum cut {
    OLDER = 1,
    NEWER = 2,
    FIRST = 4,
    LAST = 8,
    META = 16,
    TORN = 32,
    CUTS = 64,
    MIDDLE = 64
};

#define FILES_MAX 64

static void apply(unsigned cut)
{
    uint64_t at[FILES_MAX], segment[FILES_MAX];
    int n = list(".ckpt", at, FILES_MAX), m = list(".seg", segment, FILES_MAX);
    char path[256];
    struct stat st;

    assert_int_equal(n, 2);
    assert_in_range(m, 4, FILES_MAX - 1);
    snprintf(path, sizeof(path), "%s/%020llu.seg", sessions, (unsigned long long)segment[m - 1]);
    if (cut & TORN) {
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(truncate(path, st.st_size - 7), 0);
    }
    if (cut & OLDER)
        drop(at[0], ".ckpt");
    if (cut & NEWER)
        drop(at[1], ".ckpt");
    if (cut & FIRST)
        drop(segment[0], ".seg");
    if (cut & MIDDLE)
        drop(segment[m - 2], ".seg");
    if (cut & LAST)
        drop(segment[m - 1], ".seg");
    if (cut & META)
        shell("rm %s/%s", sessions, "meta.json");
}

static void assert_points_of(uint64_t frames, uint64_t hash)
{
    static uint64_t hashes[37]; /* undisturbed() takes a while */

    assert_in_range(frames, 0, 36);
    if (frames && !hashes[frames])
        hashes[frames] = undisturbed(frames).hash;
    assert_true(frames == 0 || hash == hashes[frames]);
}

static void look_at(unsigned cut)
{
    const bool checkpoint = (cut & (OLDER | NEWER)) != (OLDER | NEWER);
    struct session_info info;
    uint64_t before;
    int rc;

    put_back();
    apply(cut);
    before = sum_of_folder();
    open_here();
    rc = core_ops.session_get(rig.core, id, &info, NULL);
    assert_int_equal(rc, cut & META ? ERR_NOT_FOUND : 0);
    if (rc == 0) {
        wait_until_back(id);
        info = rig_info(id);
    }
    rig_close();
    if (rc || info.damaged[0]) /* it is said, and what is there stays there */
        assert_true(cut & TORN || sum_of_folder() == before);
    if (rc)
        return;
    balanced(&info);
    assert_points_of(info.counts.used, info.hash);
    if (info.damaged[0]) { /* something was taken away that it needs */
        assert_true(cut & (FIRST | MIDDLE | LAST | TORN) || !checkpoint);
    } else {
        assert_false(cut & MIDDLE && !(cut & LAST));
        if (!(cut & LAST)) /* all that was acknowledged, but for what is no record any more */
            assert_int_equal(info.counts.used, cut & TORN ? 35 : 36);
    }
    if (!(cut & (FIRST | MIDDLE | LAST | TORN)) && (record || checkpoint))
        assert_string_equal(info.damaged, "");
}

static void look_at_all(bool keep)
{
    make(4096, keep);
    for (unsigned cut = 0; cut < CUTS; cut++)
        look_at(cut);
    for (unsigned cut = 0; cut < META; cut++)
        look_at(cut | MIDDLE);
}

TEST_WITH(a_session_comes_back_as_far_as_its_files_reach, make_folder, remove_folder)
{
    look_at_all(true);
}

TEST_WITH(so_does_one_whose_journal_was_pruned, make_folder, remove_folder)
{
    look_at_all(false);
}

TEST_WITH(a_deleted_session_stays_away, make_folder, remove_folder)
{
    struct session_info info;

    make(0, false);
    shell("cd %s && mv meta.json %s", sessions, "meta.gone"); /* and then the process died */
    open_here();
    assert_int_equal(core_ops.session_get(rig.core, id, &info, NULL), ERR_NOT_FOUND);
    rig_close();
    assert_int_not_equal(access(sessions, F_OK), 0);
}
