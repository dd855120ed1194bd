/* A thread that takes locks in another order than the table of proto/lock.h is told of with both
 * names, and in a checked build the process ends there. The checks are called as such a build calls
 * them. */
#include "proto/checked.h"
#include "proto/lock.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

static void take_two(enum lock_name first, enum lock_name second)
{
    lock_check_take(first);
    lock_check_take(second);
    lock_check_give(second);
    lock_check_give(first);
}

/* What a process says that takes the two and then, with `waits`, waits with the first; "" if it
 * ends well. */
static void outcome(enum lock_name first, enum lock_name second, bool waits, char said[128])
{
    int ends[2], status;
    ssize_t n;
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        if (waits) {
            lock_check_take(first);
            lock_check_wait(second);
        } else {
            take_two(first, second);
        }
        _exit(0);
    }
    close(ends[1]);
    n = read(ends[0], said, 127);
    said[n > 0 ? n : 0] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT,
                     CHECKED_BUILD && said[0] != '\0');
}

TEST(pairs_of_the_table_may_be_nested)
{
    take_two(LOCK_SESSION, LOCK_OUTBOX);
    take_two(LOCK_STORING, LOCK_JOURNAL_LOG);
    take_two(LOCK_STORING, LOCK_TURN);
    take_two(LOCK_MIRROR, LOCK_MIRROR_SUMMARY);
    take_two(LOCK_SLAB_GROWING, LOCK_SLAB);
    for (int i = LOCK_NONE + 1; i < LOCK_NAMES; i++) { /* each alone, and given back for the next */
        lock_check_take((enum lock_name)i);
        lock_check_wait((enum lock_name)i);
        lock_check_give((enum lock_name)i);
    }
}

TEST(no_others_may)
{
    static const enum lock_name upper[] = {
        [LOCK_OUTBOX] = LOCK_SESSION,    [LOCK_JOURNAL_LOG] = LOCK_STORING,
        [LOCK_TURN] = LOCK_STORING,      [LOCK_MIRROR_SUMMARY] = LOCK_MIRROR,
        [LOCK_SLAB] = LOCK_SLAB_GROWING, [LOCK_NAMES] = LOCK_NONE};
    char said[128];

    for (int i = LOCK_NONE + 1; i < LOCK_NAMES; i++) {
        outcome(LOCK_SESSION, (enum lock_name)i, false, said);
        assert_int_equal(said[0] == '\0', upper[i] == LOCK_SESSION);
        outcome((enum lock_name)i, LOCK_MIRROR, false, said);
        assert_string_not_equal(said, "");
    }
    outcome(LOCK_OUTBOX, LOCK_SESSION, false, said);
    assert_string_equal(
        said, "mistake of the program: lock SESSION is taken while the thread holds OUTBOX\n");
}

TEST(a_thread_waits_with_one_lock_alone)
{
    char said[128];

    outcome(LOCK_TURN, LOCK_TURN, true, said);
    assert_string_equal(said, "");
    outcome(LOCK_SESSION, LOCK_TURN, true, said);
    assert_string_equal(
        said, "mistake of the program: lock TURN is waited with while the thread holds SESSION\n");
}

TEST(a_lock_works)
{
    struct lock l, fixed = LOCK_INITIALIZER(LOCK_TURN);

    lock_init(&l, LOCK_SESSION);
    lock_take(&l);
    assert_int_equal(lock_try(&l), 0);
    lock_give(&l);
    assert_int_equal(lock_try(&l), 1);
    lock_give(&l);
    lock_destroy(&l);
    lock_take(&fixed);
    lock_give(&fixed);
}
