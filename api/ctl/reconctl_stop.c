#include "api/ctl/reconctl_stop.h"

#include <signal.h>
#include <stddef.h>
#include <time.h>

static volatile sig_atomic_t stops;
static void (*at_second)(void);

static void on_signal(int number)
{
    (void)number;
    if (++stops > 1)
        at_second();
}

void reconctl_stop_begin(void (*end_now)(void))
{
    struct sigaction sa = {.sa_handler = on_signal};

    at_second = end_now;
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
