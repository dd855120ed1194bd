/*
 * replay.c - main of a fuzz target without libFuzzer: run every file of a corpus through it once
 *
 *     fuzz_proto_frame DIR|FILE...
 *
 * Prints TAP with one test per argument. When the target dies of a signal, a sanitizer's report or
 * a time-out, standard error names the input. A folder without any input is a failure: a corpus
 * that vanished must not pass.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INPUT_MAX (32u << 20)
#define PATH_CAP 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char current[PATH_CAP];

/* Of the sanitizers' run-time library, where the program has one. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void say_current(void)
{
    static const char text[] = "replay: died of input ";
    ssize_t done = write(STDERR_FILENO, text, sizeof text - 1);
    done += write(STDERR_FILENO, current, strlen(current));
    done += write(STDERR_FILENO, "\n", 1);
    (void)done;
}

static void on_signal(int number)
{
    say_current();
    raise(number); /* SA_RESETHAND: the second one has its usual effect */
}

/* A sanitizer takes the deadly signals itself, and calls back; abort() it leaves alone. */
static void watch_death(void)
{
    struct sigaction act = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND | SA_NODEFER};
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGABRT, &act, NULL);
    if (__sanitizer_set_death_callback) {
        __sanitizer_set_death_callback(say_current);
        return;
    }
    sigaction(SIGSEGV, &act, NULL);
    sigaction(SIGBUS, &act, NULL);
    sigaction(SIGFPE, &act, NULL);
}

/* Returns 0, or -1 with the reason printed as a TAP comment. */
static int run_file(const char *path)
{
    int rc = -1;
    uint8_t *data = NULL;
    struct stat st;
    FILE *f = fopen(path, "rb");
    if (!f || fstat(fileno(f), &st)) {
        printf("# %s: %s\n", path, strerror(errno));
        goto out;
    }
    if (st.st_size > INPUT_MAX) {
        printf("# %s: larger than %u bytes\n", path, INPUT_MAX);
        goto out;
    }
    /* exactly as long as the input, so that reading past its end is seen by the address
     * sanitizer */
    data = malloc(st.st_size > 0 ? (size_t)st.st_size : 1);
    if (!data || fread(data, 1, (size_t)st.st_size, f) != (size_t)st.st_size) {
        printf("# %s: cannot read it\n", path);
        goto out;
    }
    snprintf(current, sizeof current, "%s", path);
    LLVMFuzzerTestOneInput(data, (size_t)st.st_size);
    rc = 0;
out:
    free(data);
    if (f)
        fclose(f);
    return rc;
}

static int visible(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

/* Returns the number of inputs run, or -1. */
static int run_folder(const char *path)
{
    struct dirent **list = NULL;
    int n = scandir(path, &list, visible, alphasort), run = 0;
    if (n < 0)
        printf("# %s: %s\n", path, strerror(errno));
    for (int i = 0; i < n; i++) {
        char file[PATH_CAP];
        int len = snprintf(file, sizeof file, "%s/%s", path, list[i]->d_name);
        if (run >= 0 && len < (int)sizeof file && run_file(file) == 0)
            run++;
        else
            run = -1;
        free(list[i]);
    }
    free(list);
    return n < 0 ? -1 : run;
}

int main(int argc, char **argv)
{
    int failed = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    watch_death();
    printf("1..%d\n", argc - 1);
    for (int i = 1; i < argc; i++) {
        struct stat st;
        int folder = stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode);
        int run = folder ? run_folder(argv[i]) : (run_file(argv[i]) == 0 ? 1 : -1);
        printf("%s %d - %d inputs of %s\n", run > 0 ? "ok" : "not ok", i, run < 0 ? 0 : run,
               argv[i]);
        failed += run <= 0;
    }
    return failed || argc < 2;
}
