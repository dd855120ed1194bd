#include "daemon/turn.h"

#include "daemon/clock.h"

#include <sys/resource.h>

#define IDLE_US 500000

static void *serve_turns(void *arg)
{
    struct turn_pool_thread *t = arg;
    struct turn_pool *p = t->pool;
    struct turn_entry *e;
    int n;

    pthread_setname_np(pthread_self(), p->name);
    /* Linux sets the priority of this thread alone */
    if (p->nice)
        (void)setpriority(PRIO_PROCESS, 0, p->nice);
    while ((n = turn_take(p->turns, &e, 1, IDLE_US)) >= 0) {
        atomic_store(&t->alive_us, clock_us());
        p->serve(p->ctx, (int)(t - p->threads), n ? e : NULL);
    }
    return NULL;
}

int turn_pool_start(struct turn_pool *p, int n, const char *name, turn_serve_fn *serve, void *ctx,
                    struct err *err)
{
    int rc = turn_new(&p->turns, err);

    p->serve = serve;
    p->ctx = ctx;
    p->name = name;
    for (int i = 0; i < n && i < TURN_POOL_MAX && rc == 0; i++) {
        struct turn_pool_thread *t = &p->threads[i];
        t->pool = p;
        atomic_init(&t->alive_us, clock_us());
        if (pthread_create(&t->thread, NULL, serve_turns, t))
            rc = err_set(err, ERR_MEMORY, "cannot start a %s thread", name);
        else
            p->n++;
    }
    return rc;
}

void turn_pool_stop(struct turn_pool *p)
{
    if (!p->turns)
        return;
    turn_close(p->turns);
    for (int i = 0; i < p->n; i++)
        pthread_join(p->threads[i].thread, NULL);
    p->n = 0;
}

void turn_pool_free(struct turn_pool *p)
{
    turn_pool_stop(p);
    turn_free(&p->turns);
}

uint64_t turn_pool_alive_us(const struct turn_pool *p)
{
    uint64_t oldest_us = UINT64_MAX, alive_us;

    for (int i = 0; i < p->n; i++) {
        alive_us = atomic_load(&p->threads[i].alive_us);
        oldest_us = alive_us < oldest_us ? alive_us : oldest_us;
    }
    return oldest_us;
}
