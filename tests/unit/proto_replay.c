/* The replay of corpora (tests/fuzz/replay.c) around a target with planted bugs: each must be found
 * and named. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int replay_main(int argc, char **argv);
int unit_main(void);
#define main replay_main
#include "tests/fuzz/replay.c"
#undef main
#define main unit_main
#include "tests/support/unit.h"
#undef main

static char folder[128];

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size >= 4 && memcmp(data, "deep", 4) == 0)
        abort();
    if (size >= 4 && memcmp(data, "wild", 4) == 0)
        raise(SIGSEGV);
    return 0;
}

static void plant(const char *name, const char *content)
{
    char path[256];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    f = fopen(path, "wb");
    assert_non_null(f);
    fputs(content, f);
    fclose(f);
}

/* Run replay over the folder in a child; both its outputs go to text. Answers whether it
 * succeeded. */
static int replay(char *text, size_t cap, const char *what)
{
    char *argv[] = {(char *)"replay", (char *)what, NULL};
    int ends[2], status;
    size_t n = 0;
    ssize_t got;
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        execv("/proc/self/exe", argv); /* afresh: cmocka has signal handlers of its own */
        _exit(127);
    }
    close(ends[1]);
    while (n < cap - 1 && (got = read(ends[0], text + n, cap - 1 - n)) > 0)
        n += (size_t)got;
    text[n] = 0;
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void contains(const char *text, const char *want)
{
    if (!strstr(text, want))
        fail_msg("\"%s\" is not in: %s", want, text);
}

FIXTURE(open_folder)
{
    const char *tmp = getenv("TMPDIR");

    snprintf(folder, sizeof folder, "%s/proto_replay.XXXXXX", tmp ? tmp : "/tmp");
    return mkdtemp(folder) ? 0 : -1;
}

FIXTURE(remove_folder)
{
    static const char *const names[] = {"a", "b", "culprit", "wilder"};
    char path[256];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    return rmdir(folder);
}

TEST_WITH(harmless_inputs_pass, open_folder, remove_folder)
{
    char text[4000];

    plant("a", "shallow");
    plant("b", "");
    assert_true(replay(text, sizeof text, folder));
    contains(text, "1..1\n");
    contains(text, "ok 1 - 2 inputs");
}

TEST_WITH(planted_abort_is_named, open_folder, remove_folder)
{
    char text[20000];

    plant("a", "shallow");
    plant("culprit", "deep inside");
    assert_false(replay(text, sizeof text, folder));
    contains(text, "died of input");
    contains(text, "/culprit\n");
}

TEST_WITH(planted_fault_is_named, open_folder, remove_folder)
{
    char text[20000];

    plant("a", "shallow");
    plant("wilder", "wild");
    assert_false(replay(text, sizeof text, folder));
    contains(text, "died of input");
    contains(text, "/wilder\n");
}

TEST_WITH(vanished_corpus_fails, open_folder, remove_folder)
{
    char text[4000];

    assert_false(replay(text, sizeof text, folder));
    contains(text, "not ok 1");
    assert_false(replay(text, sizeof text, "/nowhere/at/all"));
    contains(text, "not ok 1");
}

int main(int argc, char **argv)
{
    return argc > 1 ? replay_main(argc, argv) : unit_main();
}
