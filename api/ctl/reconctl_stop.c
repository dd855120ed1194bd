#include "api/ctl/reconctl_stop.h"

#include <signal.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t stops;
static void (*end_now)(void);
static int end_code;

static void on_signal(int number)
{
    (void)number;
    if (++stops > 1) {
        end_now();
        _exit(end_code);
    }
}

void reconctl_stop_begin(void (*abandon)(void), int exit_code)
{
    struct sigaction sa = {.sa_handler = on_signal};

    end_now = abandon;
    end_code = exit_code;
    sigaction(SIGINT, &sa, NULL);
    sigaction(SIGTERM, &sa, NULL);
}

int reconctl_stopped(void)
{
    return stops;
}

double reconctl_now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void reconctl_sleep_ms(int ms)
{
    struct timespec t = {.tv_nsec = 10000000};

    for (; ms > 0 && !stops; ms -= 10)
        nanosleep(&t, NULL);
}
