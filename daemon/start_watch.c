#include "daemon/start_watch.h"

#include "daemon/clock.h"
#include "daemon/notify.h"
#include "proto/lock.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#define PERIOD_US 5000000u
#define CHECK_US 100000u /* how soon a signal is noticed */
#define ASK_PERIODS 6    /* periods that are asked for at a time */

struct start_watch {
    struct start_watch_config config;
    uint64_t began_us, asked_us;
    uint64_t cpu_us;
    long blocks;
    pthread_t thread;
    struct lock lock;
    pthread_cond_t wake;
    bool stop;
};

/* Has the process done anything since the last check? Timers cost far less than a hundredth of a
 * processor; a computing thread costs one, and a reading one moves blocks. */
static bool start_watch_is_busy(struct start_watch *p, uint64_t since_us)
{
    struct rusage u;
    uint64_t cpu_us;
    bool yes;

    getrusage(RUSAGE_SELF, &u);
    cpu_us = (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000u +
             (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
    yes = cpu_us - p->cpu_us >= since_us / 100 || u.ru_inblock != p->blocks;
    p->cpu_us = cpu_us;
    p->blocks = u.ru_inblock;
    return yes;
}

static void start_watch_check(struct start_watch *p)
{
    uint64_t now_us = clock_us();
    sigset_t pending;

    if (p->config.on_signal && sigpending(&pending) == 0 &&
        (sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1))
        p->config.on_signal();
    if (now_us - p->asked_us < p->config.period_us)
        return;
    if (start_watch_is_busy(p, now_us - p->asked_us) && now_us - p->began_us < START_WATCH_LIMIT_US)
        notify_extend(ASK_PERIODS * p->config.period_us, (now_us - p->began_us) / 1000000);
    p->asked_us = now_us;
}

static void *watch_thread(void *arg)
{
    struct start_watch *p = arg;
    uint64_t step_us = p->config.period_us < CHECK_US ? p->config.period_us : CHECK_US;

    lock_take(&p->lock);
    while (!p->stop) {
        if (clock_wait(&p->wake, &p->lock, clock_us() + step_us))
            continue;
        lock_give(&p->lock);
        start_watch_check(p);
        lock_take(&p->lock);
    }
    lock_give(&p->lock);
    return NULL;
}

int start_watch_begin(struct start_watch **watch, const struct start_watch_config *config,
                      struct err *err)
{
    struct start_watch *p = calloc(1, sizeof(*p));

    *watch = NULL;
    if (!p)
        return err_set(err, ERR_MEMORY, "no memory to start");
    p->config = *config;
    if (!p->config.period_us)
        p->config.period_us = PERIOD_US;
    p->began_us = p->asked_us = clock_us();
    start_watch_is_busy(p, 0);
    lock_init(&p->lock, LOCK_START_WATCH);
    pthread_cond_init(&p->wake, NULL);
    if (pthread_create(&p->thread, NULL, watch_thread, p)) {
        pthread_cond_destroy(&p->wake);
        lock_destroy(&p->lock);
        free(p);
        return err_set(err, ERR_IO, "the system has no thread left");
    }
    *watch = p;
    return 0;
}

void start_watch_end(struct start_watch **watch)
{
    struct start_watch *p = *watch;

    if (!p)
        return;
    lock_take(&p->lock);
    p->stop = true;
    pthread_cond_signal(&p->wake);
    lock_give(&p->lock);
    pthread_join(p->thread, NULL);
    pthread_cond_destroy(&p->wake);
    lock_destroy(&p->lock);
    free(p);
    *watch = NULL;
}
