/*
 * Which frames were at work when the process died: children that really die, by their own doing or
 * by another's, and what the next process finds of them.
 */
#include "daemon/disk/suspect.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ID "abcdefghijklmnopqrstuvwxyz"
#define OTHER "zyxwvutsrqponmlkjihgfedcba"

static char path[256];

static int setup(void **state)
{
    const char *tmp = getenv("TMPDIR");
    int fd;

    (void)state;
    snprintf(path, sizeof(path), "%s/suspects-XXXXXX", tmp ? tmp : "/tmp");
    fd = mkstemp(path);
    if (fd < 0)
        return -1;
    close(fd); /* empty: counts as damaged, and so as no suspects */
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return unlink(path);
}

static struct suspect *open_it(void)
{
    struct suspect *s;
    struct err err = {0};

    if (suspect_open(&s, path, &err))
        fail_msg("%s: %s", err.where, err.text);
    return s;
}

static int list(struct suspect_frame *out, int cap)
{
    struct suspect *s = open_it();
    int n = suspect_list(s, out, cap);

    suspect_close(&s);
    return n;
}

enum death { BY_SEGV, BY_FPE, BY_ABORT, BY_ABORT_FROM_OUTSIDE, BY_KILL, BY_EXIT, BY_BLAME };

static volatile int *nowhere; /* a page without access; a sanitizer stops null first */
static volatile int zero;

static void die(struct suspect *s, enum death how)
{
    switch (how) {
    case BY_SEGV:
        *nowhere = 1;
        break;
    case BY_FPE:
        raise(SIGFPE);
        break;
    case BY_ABORT:
        abort();
    case BY_ABORT_FROM_OUTSIDE:
        kill(getpid(), SIGABRT);
        break;
    case BY_KILL:
        kill(getpid(), SIGKILL);
        break;
    case BY_BLAME: /* a device fault: the process says so itself and leaves */
        suspect_blame(s);
        _exit(70);
    case BY_EXIT:
        suspect_close(&s);
        _exit(0);
    }
    for (;;)
        pause();
}

/* What a child does that has armed; it ends there. Returns the signal that it died of. */
static int in_a_child(void (*act)(struct suspect *s))
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        const struct rlimit no_core = {0, 0};
        struct suspect *s;
        setrlimit(RLIMIT_CORE, &no_core);
        if (suspect_open(&s, path, NULL) || suspect_arm(s, NULL))
            _exit(99);
        act(s);
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status))
        assert_int_not_equal(WEXITSTATUS(status), 99);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static struct {
    const char *id;
    uint64_t from, to, left;
    enum death how;
} life;

static void live(struct suspect *s)
{
    for (uint64_t n = life.from; n <= life.to; n++) {
        int slot = suspect_enter(s, life.id, n);
        if (n == life.left)
            suspect_leave(s, slot);
    }
    die(s, life.how);
}

/* A child is at work on records [from, to] of a session and has left record `left`. Returns the
 * signal that it died of. */
static int live_and_die(const char *id, uint64_t from, uint64_t to, uint64_t left, enum death how)
{
    life.id = id;
    life.from = from;
    life.to = to;
    life.left = left;
    life.how = how;
    return in_a_child(live);
}

TEST_WITH(only_deaths_of_our_own_doing_leave_suspects, setup, teardown)
{
    static const struct {
        enum death how;
        int signal, suspects;
    } deaths[] = {{BY_SEGV, SIGSEGV, 2},  {BY_FPE, SIGFPE, 2},
                  {BY_ABORT, SIGABRT, 2}, {BY_ABORT_FROM_OUTSIDE, SIGABRT, 2},
                  {BY_KILL, SIGKILL, 0},  {BY_EXIT, 0, 0},
                  {BY_BLAME, 0, 2}};
    struct suspect_frame found[8];

    for (size_t i = 0; i < sizeof(deaths) / sizeof(deaths[0]); i++) {
        struct suspect *s;
        assert_int_equal(live_and_die(ID, 5, 7, 6, deaths[i].how), deaths[i].signal);
        assert_int_equal(list(found, 8), deaths[i].suspects);
        for (int k = 0; k < deaths[i].suspects; k++) {
            assert_string_equal(found[k].id, ID);
            assert_int_equal(found[k].kills, 1);
            assert_true(found[k].number == 5 || found[k].number == 7);
        }
        s = open_it();
        suspect_clear(s, ID, 5);
        suspect_clear(s, ID, 7);
        assert_int_equal(suspect_list(s, found, 8), 0);
        suspect_close(&s);
    }
}

TEST_WITH(kills_are_counted, setup, teardown)
{
    struct suspect_frame found[8];
    struct suspect *s;

    live_and_die(ID, 5, 6, 0, BY_SEGV);
    assert_int_equal(list(found, 8), 2);
    live_and_die(ID, 6, 6, 0, BY_KILL); /* proves nothing against record 6 */
    assert_int_equal(list(found, 8), 2);
    assert_int_equal(found[0].kills + found[1].kills, 2);
    live_and_die(ID, 6, 6, 0, BY_ABORT); /* alone this time */
    live_and_die(OTHER, 6, 6, 0, BY_ABORT);
    s = open_it();
    assert_int_equal(suspect_list(s, found, 8), 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(found[i].kills,
                         strcmp(found[i].id, ID) == 0 && found[i].number == 6 ? 2 : 1);
    suspect_clear(s, ID, 6);
    suspect_clear(s, ID, 6);
    suspect_clear(s, ID, 99);
    assert_int_equal(suspect_list(s, found, 1), 2); /* counts beyond the room that it was given */
    suspect_close(&s);
    assert_int_equal(list(found, 8), 2);
}

static void *die_in_a_thread(void *arg)
{
    *nowhere = 1;
    return arg;
}

static void live_in_a_thread(struct suspect *s)
{
    pthread_t thread;

    suspect_enter(s, ID, 1);
    pthread_create(&thread, NULL, die_in_a_thread, NULL);
    pthread_join(thread, NULL);
    _exit(98);
}

/* The process dies in another thread than the one that armed. */
TEST_WITH(any_thread_may_die, setup, teardown)
{
    struct suspect_frame found[8];

    assert_int_equal(in_a_child(live_in_a_thread), SIGSEGV);
    assert_int_equal(list(found, 8), 1);
}

/* The armed thread runs out of stack: the handler has one of its own. */
static int recurse(int depth)
{
    volatile char room[4096];

    room[depth % 4096] = (char)depth;
    return depth < 0 ? 0 : recurse(depth + 1) + room[zero];
}

static void live_deeply(struct suspect *s)
{
    const struct rlimit small = {1 << 20, 1 << 20};

    setrlimit(RLIMIT_STACK, &small);
    suspect_enter(s, ID, 1);
    _exit(recurse(1));
}

TEST_WITH(an_overflown_stack_is_blamed, setup, teardown)
{
    struct suspect_frame found[8];

    assert_int_equal(in_a_child(live_deeply), SIGSEGV);
    assert_int_equal(list(found, 8), 1);
}

TEST_WITH(a_full_table_says_so, setup, teardown)
{
    struct suspect *s = open_it();
    int slot = 0;

    for (uint64_t n = 1; n <= SUSPECT_SLOTS; n++) {
        slot = suspect_enter(s, ID, n);
        assert_true(slot >= 0);
    }
    assert_int_equal(suspect_enter(s, ID, 1000), -1);
    suspect_leave(s, -1);
    suspect_leave(s, slot);
    assert_int_equal(suspect_enter(s, ID, 1000), slot);
    suspect_close(&s);
}

static void *enter_and_leave(void *arg)
{
    struct suspect *s = arg;

    for (uint64_t n = 1; n <= 20000; n++) {
        int slot = suspect_enter(s, ID, n);
        if (slot < 0)
            return s;
        suspect_leave(s, slot);
    }
    return NULL;
}

TEST_WITH(many_threads_share_the_table, setup, teardown)
{
    struct suspect *s = open_it();
    pthread_t threads[4];
    struct suspect_frame found[8];
    void *failed;

    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, enter_and_leave, s);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    suspect_blame(s);
    suspect_close(&s);
    assert_int_equal(list(found, 8), 0);
}

static size_t file_size(void)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return (size_t)st.st_size;
}

/* One byte after the other is changed, and each length is cut to: what is found then was there. */
TEST_WITH(a_damaged_file_invents_nothing, setup, teardown)
{
    struct suspect_frame found[8];
    uint8_t *image, *bad;
    size_t size;
    int fd, n, fewer = 0, unharmed = 0;

    live_and_die(ID, 5, 6, 0, BY_SEGV);
    size = file_size();
    image = malloc(size);
    bad = malloc(size);
    fd = open(path, O_RDONLY);
    assert_int_equal(read(fd, image, size), (ssize_t)size);
    close(fd);
    for (size_t at = 0; at <= size; at += at < 1200 ? 1 : at < size ? 7 : 1) {
        memcpy(bad, image, size);
        if (at < size)
            bad[at] ^= 0x21;
        fd = open(path, O_WRONLY | O_TRUNC);
        assert_int_equal(write(fd, bad, at == size ? size / 2 : size),
                         (ssize_t)(at == size ? size / 2 : size));
        close(fd);
        n = list(found, 8);
        assert_true(n >= 0 && n <= 2);
        for (int i = 0; i < n; i++) {
            assert_string_equal(found[i].id, ID);
            assert_true(found[i].number == 5 || found[i].number == 6);
            assert_int_equal(found[i].kills, 1);
        }
        fewer += n < 2;
        unharmed += n == 2;
        assert_int_equal(file_size(), size);
    }
    assert_true(unharmed > 1000); /* what a byte of an empty place says does not */
    assert_true(fewer > 40);      /* magic, version, boot and the two slots do matter */
    free(image);
    free(bad);
}

TEST_WITH(a_path_that_cannot_be_is_an_error, setup, teardown)
{
    struct suspect *s;
    struct err err = {0};

    assert_int_equal(suspect_open(&s, "/proc/none/suspects", &err), ERR_IO);
    assert_null(s);
    assert_true(err.text[0] != 0);
    suspect_close(&s);
}

static int map_nowhere(void **state)
{
    (void)state;
    nowhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return nowhere == MAP_FAILED;
}

TEST_GROUP(map_nowhere, NULL)
