/*
 * daemon_checkpoint - two whole files are kept, a damaged one is told from a whole one whatever
 * byte of it is wrong, and what a crash has left goes
 */
#include "proto/crc32c.h"
#include "tests/support/checkpoint_rig.h"
#include "tests/support/count_malloc.h"
#include "tests/support/unit.h"

static const size_t small[CHECKPOINT_RIG_PARTS] = {40, 300, 0, 64};
static const size_t large[CHECKPOINT_RIG_PARTS] = {1000, 3000000, 700001, 65536};

static struct checkpoint_rig rig;

static int open_rig(void **state)
{
    (void)state;
    return checkpoint_rig_open(&rig) ? 0 : -1;
}

static int close_rig(void **state)
{
    (void)state;
    checkpoint_rig_close(&rig);
    return 0;
}

static int load(struct checkpoint_state *s, uint64_t max)
{
    return checkpoint_rig_load(&rig, s, max);
}

static void assert_loads(uint64_t max, uint64_t number, const size_t *bytes, int skipped)
{
    struct checkpoint_state s;

    assert_int_equal(load(&s, max), 0);
    assert_int_equal(s.number, number);
    assert_int_equal(s.skipped, skipped);
    assert_true(checkpoint_rig_right(&s, bytes));
    assert_int_equal((uintptr_t)s.row % 16, 0);
    checkpoint_state_free(&s);
    assert_null(s.row);
}

TEST_WITH(what_is_written_is_read, open_rig, close_rig)
{
    struct checkpoint_state s;

    assert_int_equal(load(&s, UINT64_MAX), ERR_NOT_FOUND);
    assert_int_equal(checkpoint_rig_write(&rig, 7, large), 0);
    assert_int_equal(rig.number, 7);
    assert_int_equal(rig.older, 0);
    assert_loads(UINT64_MAX, 7, large, 0);
    assert_loads(7, 7, large, 0);
    assert_int_equal(load(&s, 6), ERR_NOT_FOUND);
    assert_int_equal(s.skipped, 0);
}

TEST_WITH(two_are_kept, open_rig, close_rig)
{
    for (uint64_t n = 10; n <= 60; n += 10) {
        assert_int_equal(checkpoint_rig_write(&rig, n, n % 20 ? small : large), 0);
        assert_int_equal(rig.older, n == 10 ? 0 : n - 10);
    }
    assert_false(checkpoint_rig_has(&rig, 40, ""));
    assert_true(checkpoint_rig_has(&rig, 50, "") && checkpoint_rig_has(&rig, 60, ""));
    assert_loads(UINT64_MAX, 60, large, 0);
    assert_loads(59, 50, small, 0);
}

TEST_WITH(a_damaged_one_is_skipped_and_not_counted, open_rig, close_rig)
{
    struct checkpoint_state s;

    assert_int_equal(checkpoint_rig_write(&rig, 1, small), 0);
    assert_int_equal(checkpoint_rig_write(&rig, 2, small), 0);
    assert_true(checkpoint_rig_hurt(&rig, 2, 200));
    assert_loads(UINT64_MAX, 1, small, 1);
    /* the damaged one is no second one: the whole one before it stays */
    assert_int_equal(checkpoint_rig_write(&rig, 3, small), 0);
    assert_int_equal(rig.older, 1);
    assert_false(checkpoint_rig_has(&rig, 2, ""));
    assert_true(checkpoint_rig_hurt(&rig, 3, 20));
    assert_loads(UINT64_MAX, 1, small, 1);
    assert_true(checkpoint_rig_hurt(&rig, 1, 20));
    assert_int_equal(load(&s, UINT64_MAX), ERR_NOT_FOUND);
    assert_int_equal(s.skipped, 2);
}

TEST_WITH(what_a_crash_left_goes, open_rig, close_rig)
{
    char path[192];
    FILE *f;

    checkpoint_rig_name(&rig, path, 5, ".part");
    f = fopen(path, "w");
    assert_non_null(f);
    fputs("half", f);
    fclose(f);
    snprintf(path, sizeof(path), "%s/%020d.seg", rig.folder, 1);
    f = fopen(path, "w");
    assert_non_null(f);
    fclose(f);
    assert_int_equal(checkpoint_rig_write(&rig, 9, small), 0);
    assert_false(checkpoint_rig_has(&rig, 5, ".part"));
    assert_false(checkpoint_rig_has(&rig, 9, ".part"));
    assert_int_equal(access(path, F_OK), 0); /* the journal's own files are not touched */
}

TEST_WITH(a_lost_future_goes, open_rig, close_rig)
{
    struct checkpoint_state s;

    assert_int_equal(checkpoint_rig_write(&rig, 100, small), 0);
    assert_int_equal(checkpoint_rig_write(&rig, 200, small), 0);
    assert_int_equal(checkpoint_cut(rig.c, CHECKPOINT_RIG_ID, 150, NULL), 0);
    assert_loads(UINT64_MAX, 100, small, 0);
    assert_int_equal(checkpoint_cut(rig.c, CHECKPOINT_RIG_ID, 150, NULL), 0);
    /* also without being asked to: what is written is the newest there is */
    assert_int_equal(checkpoint_rig_write(&rig, 50, large), 0);
    assert_int_equal(rig.older, 0);
    assert_loads(UINT64_MAX, 50, large, 0);
    assert_int_equal(load(&s, 49), ERR_NOT_FOUND);
    assert_int_equal(checkpoint_cut(rig.c, "nobody", 1, NULL), 0);
}

TEST_WITH(names_never_become_paths, open_rig, close_rig)
{
    static const char *const bad[] = {
        "", "..", ".", "a/b", "a\n", "../other", "a%2f", "0123456789012345678901234567890123"};
    struct checkpoint_state s;
    struct checkpoint_draft *d;

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        assert_int_equal(checkpoint_load(&s, rig.c, bad[i], 9, NULL), ERR_INPUT);
        assert_int_equal(checkpoint_cut(rig.c, bad[i], 9, NULL), ERR_INPUT);
    }
    for (int i = 0; i < 2; i++) {
        d = checkpoint_rig_begin(&rig, small);
        assert_non_null(d);
        checkpoint_rig_fill(d, 1, small);
        checkpoint_commit(rig.c, i ? CHECKPOINT_RIG_ID : "../x", i ? 0 : 1, 0, checkpoint_rig_done,
                          &rig);
        checkpoint_rig_wait(&rig);
        assert_int_equal(rig.rc, ERR_INPUT);
    }
}

TEST_WITH(one_draft_at_a_time, open_rig, close_rig)
{
    struct checkpoint_draft *d = checkpoint_rig_begin(&rig, small);

    assert_non_null(d);
    assert_null(checkpoint_rig_begin(&rig, small));
    checkpoint_abandon(rig.c);
    d = checkpoint_rig_begin(&rig, small);
    assert_non_null(d);
    checkpoint_rig_fill(d, 3, small);
    checkpoint_stop(rig.c);
    checkpoint_commit(rig.c, CHECKPOINT_RIG_ID, 3, 7, checkpoint_rig_done, &rig);
    assert_int_equal(rig.n_done, 1);
    assert_int_equal(rig.rounds, 7);
    assert_int_equal(rig.rc, ERR_STATE);
    assert_null(checkpoint_rig_begin(&rig, small));
    assert_false(checkpoint_rig_has(&rig, 3, ""));
}

TEST_WITH(stop_ends_what_was_committed, open_rig, close_rig)
{
    struct checkpoint_draft *d = checkpoint_rig_begin(&rig, large);

    assert_non_null(d);
    checkpoint_rig_fill(d, 4, large);
    checkpoint_commit(rig.c, CHECKPOINT_RIG_ID, 4, 5, checkpoint_rig_done, &rig);
    checkpoint_stop(rig.c);
    assert_int_equal(rig.n_done, 1);
    assert_int_equal(rig.rounds, 5);
    assert_int_equal(rig.rc, 0);
    assert_loads(4, 4, large, 0);
}

TEST_WITH(no_more_memory_than_the_largest, open_rig, close_rig)
{
    size_t own;

    for (uint64_t n = 1; n <= 2; n++)
        assert_int_equal(checkpoint_rig_write(&rig, n, large), 0);
    own = count_malloc_own;
    for (uint64_t n = 3; n <= 20; n++)
        assert_int_equal(checkpoint_rig_write(&rig, n, n % 2 ? large : small), 0);
    assert_int_equal(count_malloc_own - own, 0);
    assert_true(checkpoint_alive_us(rig.c) > 0);
}

/* One file, in which each length and each byte is wrong in turn. */
TEST_WITH(every_truncation_and_every_flip_is_refused, open_rig, close_rig)
{
    static uint8_t file[4096];
    struct checkpoint_state s;
    char path[192];
    ssize_t len;
    int fd;

    assert_int_equal(checkpoint_rig_write(&rig, 6, small), 0);
    checkpoint_rig_name(&rig, path, 6, "");
    fd = open(path, O_RDWR);
    len = read(fd, file, sizeof(file));
    assert_in_range(len, 200, sizeof(file) - 1);
    for (ssize_t at = 0; at < len; at++)
        for (int bit = 0; bit < 8; bit++) {
            uint8_t wrong = file[at] ^ (uint8_t)(1 << bit);

            assert_int_equal(pwrite(fd, &wrong, 1, at), 1);
            assert_int_equal(load(&s, 9), ERR_NOT_FOUND);
            assert_int_equal(s.skipped, 1);
            assert_int_equal(pwrite(fd, &file[at], 1, at), 1);
        }
    assert_loads(9, 6, small, 0);
    assert_int_equal(pwrite(fd, "", 1, len), 1); /* a byte too many */
    assert_int_equal(load(&s, 9), ERR_NOT_FOUND);
    while (len-- > 0) {
        assert_int_equal(ftruncate(fd, len), 0);
        assert_int_equal(load(&s, 9), ERR_NOT_FOUND);
    }
    close(fd);
}

/* Whatever else bears a checkpoint's name is passed over: nothing outside the folder is read. */
TEST_WITH(only_files_are_checkpoints, open_rig, close_rig)
{
    char whole[192], name[192];

    assert_int_equal(checkpoint_rig_write(&rig, 6, small), 0);
    checkpoint_rig_name(&rig, whole, 6, "");
    checkpoint_rig_name(&rig, name, 7, "");
    assert_int_equal(symlink(whole, name), 0);
    assert_loads(UINT64_MAX, 6, small, 1);
    assert_int_equal(unlink(name), 0);
    assert_int_equal(mkdir(name, 0700), 0);
    assert_loads(UINT64_MAX, 6, small, 1);
    assert_int_equal(rmdir(name), 0);
    assert_int_equal(mkfifo(name, 0600), 0); /* and no thread waits for its other end */
    assert_loads(UINT64_MAX, 6, small, 1);
    assert_int_equal(unlink(name), 0);
}

/* ------------------------------------------------------------------------- other builds */

#define MORE SECTION_TAG('X', 'T', 'R', 'A')

/* A checkpoint of a build with one more section, or with a later version of one. */
static void write_as(uint64_t number, uint32_t tag, unsigned version, unsigned flags)
{
    struct checkpoint_draft *d = checkpoint_rig_begin(&rig, small);

    assert_non_null(d);
    checkpoint_rig_fill(d, number, small);
    checkpoint_rig_add(d, number, 9, tag, version, flags, 100);
    checkpoint_commit(rig.c, CHECKPOINT_RIG_ID, number, 0, checkpoint_rig_done, &rig);
    checkpoint_rig_wait(&rig);
    assert_int_equal(rig.rc, 0);
}

/* What the other build reads: all that this one does, and MORE. */
static unsigned reads_more(const void *ctx, uint32_t tag)
{
    return tag == MORE ? 1 : checkpoint_rig_reads(ctx, tag);
}

TEST_WITH(an_unknown_optional_section_is_passed_over, open_rig, close_rig)
{
    struct checkpoint_state s;
    struct checkpoint *other;
    struct section more;

    write_as(5, MORE, 1, SECTION_OPTIONAL);
    assert_loads(9, 5, small, 0); /* the others alone are in its row */
    assert_int_equal(checkpoint_rig_write(&rig, 6, small), 0);
    assert_int_equal(rig.older, 5);
    /* and the build that knows it has it */
    assert_int_equal(checkpoint_start(&other, rig.sessions, reads_more, NULL, NULL), 0);
    assert_int_equal(checkpoint_load(&s, other, CHECKPOINT_RIG_ID, 5, NULL), 0);
    assert_int_equal(section_find(&more, s.row, s.len, MORE), 1);
    assert_int_equal(more.len, 100);
    for (size_t k = 0; k < more.len; k++)
        assert_int_equal(more.body[k], checkpoint_rig_byte(5, 9, k));
    checkpoint_state_free(&s);
    /* one that lacks it is that build's, too */
    assert_int_equal(checkpoint_load(&s, other, CHECKPOINT_RIG_ID, 6, NULL), 0);
    assert_int_equal(section_find(&more, s.row, s.len, MORE), 0);
    checkpoint_state_free(&s);
    checkpoint_close(&other);
}

TEST_WITH(another_builds_is_not_damaged, open_rig, close_rig)
{
    static const struct {
        uint32_t tag;
        unsigned version, flags;
        const char *why;
    } other[] = {{MORE, 1, 0, "XTRA"},
                 {SECTION_TAG('T', '2', ' ', ' '), 2, 0, "version 2, this build reads 1"},
                 {SECTION_TAG('T', '2', ' ', ' '), 0, 0, "version 0"}};
    struct checkpoint_state s;

    for (int i = 0; i < 3; i++) {
        write_as(5, other[i].tag, other[i].version, other[i].flags);
        assert_int_equal(load(&s, 9), ERR_NOT_FOUND);
        assert_int_equal(s.skipped, 0);
        assert_int_equal(s.foreign, 5);
        assert_non_null(strstr(s.why, "recond " RECOND_VERSION " wrote it"));
        assert_non_null(strstr(s.why, other[i].why));
    }
}

/* The journal must not be pruned up to what this build cannot read: no such file counts as the
 * older one, and none is removed for being no second one. */
TEST_WITH(another_builds_is_neither_counted_nor_removed, open_rig, close_rig)
{
    struct checkpoint_state s;

    assert_int_equal(checkpoint_rig_write(&rig, 1, small), 0);
    write_as(2, MORE, 1, 0);
    assert_int_equal(load(&s, 9), 0);
    assert_int_equal(s.number, 1);
    assert_int_equal(s.foreign, 2);
    checkpoint_state_free(&s);
    assert_int_equal(checkpoint_rig_write(&rig, 3, small), 0);
    assert_int_equal(rig.older, 1);
    assert_int_equal(checkpoint_rig_write(&rig, 4, small), 0);
    assert_int_equal(rig.older, 3);
    assert_false(checkpoint_rig_has(&rig, 1, ""));
    assert_true(checkpoint_rig_has(&rig, 2, ""));
    assert_loads(9, 4, small, 0);
    assert_int_equal(load(&s, 2), ERR_NOT_FOUND);
    assert_int_equal(s.foreign, 2);
}

TEST_WITH(another_builds_is_set_aside_not_overwritten, open_rig, close_rig)
{
    struct checkpoint_state s;

    for (int i = 0; i < 3; i++) { /* up and down again and again */
        write_as(5, MORE, 1, 0);
        assert_int_equal(checkpoint_set_aside(rig.c, CHECKPOINT_RIG_ID, NULL), 0);
        assert_false(checkpoint_rig_has(&rig, 5, ""));
    }
    assert_true(checkpoint_rig_has(&rig, 5, ".aside"));
    assert_true(checkpoint_rig_has(&rig, 5, ".aside2"));
    assert_true(checkpoint_rig_has(&rig, 5, ".aside3"));
    assert_int_equal(checkpoint_rig_write(&rig, 5, small), 0);
    write_as(7, MORE, 1, 0); /* what an unsynced journal has lost goes, but for this one */
    assert_int_equal(checkpoint_cut(rig.c, CHECKPOINT_RIG_ID, 6, NULL), 0);
    assert_true(checkpoint_rig_has(&rig, 7, ".aside"));
    assert_int_equal(checkpoint_cut(rig.c, CHECKPOINT_RIG_ID, 4, NULL), 0);
    assert_int_equal(load(&s, 9), ERR_NOT_FOUND);
    assert_int_equal(s.foreign + (unsigned)s.skipped, 0);
    assert_true(checkpoint_rig_has(&rig, 7, ".aside") && checkpoint_rig_has(&rig, 5, ".aside2"));
}

/* A file of a later form, of which this build knows the first bytes alone. */
TEST_WITH(a_later_form_is_another_builds, open_rig, close_rig)
{
    struct checkpoint_state s;
    uint8_t prefix[88];
    char path[192];
    uint32_t crc;
    int fd;

    assert_int_equal(checkpoint_rig_write(&rig, 5, small), 0);
    checkpoint_rig_name(&rig, path, 5, "");
    fd = open(path, O_RDWR);
    assert_int_equal(pread(fd, prefix, sizeof(prefix), 0), sizeof(prefix));
    prefix[4] = 3;
    memcpy(prefix + 48, "9.9", 4);
    crc = crc32c(0, prefix, 84);
    memcpy(prefix + 84, &crc, 4);
    assert_int_equal(pwrite(fd, prefix, sizeof(prefix), 0), sizeof(prefix));
    close(fd);
    assert_int_equal(load(&s, 9), ERR_NOT_FOUND);
    assert_int_equal(s.foreign, 5);
    assert_string_equal(s.why, "recond 9.9 wrote it: its form has version 3, this build reads 2");
    assert_true(checkpoint_rig_hurt(&rig, 5, 20));
    assert_int_equal(load(&s, 9), ERR_NOT_FOUND); /* unless it is damaged */
    assert_int_equal(s.skipped, 1);
}
