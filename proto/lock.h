/*
 * lock.h - a mutex with a name, and which lock may be taken under which
 *
 * LOCKS is the whole order: each lock beside the one lock that a thread may hold when it takes it.
 * NONE: the thread holds no lock. A pair that is not in the table is never nested, so no two
 * threads can wait for each other; docs/ARCHITECTURE.md says what each lock guards.
 *
 * In checked builds (checked.h) each thread remembers which locks it holds, and one that takes a
 * lock in another order is a mistake that is told with both names: the first time it does so,
 * whether or not another thread is there to make it a deadlock. Elsewhere a lock is a pthread mutex
 * and nothing else.
 */
#ifndef RECOND_PROTO_LOCK_H
#define RECOND_PROTO_LOCK_H

#include <pthread.h>
#include <time.h>

/* name, under */
#define LOCKS(X)              \
    X(STORING, NONE)          \
    X(JOURNAL_LOG, STORING)   \
    X(TURN, STORING)          \
    X(SESSION, NONE)          \
    X(OUTBOX, SESSION)        \
    X(MIRROR, NONE)           \
    X(MIRROR_SUMMARY, MIRROR) \
    X(SLAB_GROWING, NONE)     \
    X(SLAB, SLAB_GROWING)     \
    X(AUTH, NONE)             \
    X(CHECKPOINT, NONE)       \
    X(CLIENT_WS, NONE)        \
    X(CORE, NONE)             \
    X(JOURNAL, NONE)          \
    X(JPEG_CUDA, NONE)        \
    X(LATER, NONE)            \
    X(METER, NONE)            \
    X(OBJECTS, NONE)          \
    X(PICTURES, NONE)         \
    X(QUEUE, NONE)            \
    X(RECOVERY, NONE)         \
    X(REGISTRY, NONE)         \
    X(RESULTS, NONE)          \
    X(START_WATCH, NONE)      \
    X(SUSPECT, NONE)          \
    X(TENANT, NONE)           \
    X(TENANTS, NONE)          \
    X(TICKET, NONE)           \
    X(TIES, NONE)             \
    X(TLS, NONE)              \
    X(TLS_GNUTLS, NONE)       \
    X(TRAJECTORY, NONE)       \
    X(WORKER, NONE)           \
    X(WS_SLOTS, NONE)

#define LOCK_NAME(name, under) LOCK_##name,
enum lock_name { LOCK_NONE, LOCKS(LOCK_NAME) LOCK_NAMES };
#undef LOCK_NAME

/* Take the lock, release it, wait with it. */
void lock_check_take(enum lock_name name);
void lock_check_give(enum lock_name name);
void lock_check_wait(enum lock_name name);

#ifdef CHECKED
struct lock {
    pthread_mutex_t mutex;
    enum lock_name name;
};
#define LOCK_INITIALIZER(name)          \
    {                                   \
        PTHREAD_MUTEX_INITIALIZER, name \
    }
#define LOCK_CHECK(what, lock) lock_check_##what((lock)->name)
#define LOCK_SET_NAME(lock, to) ((lock)->name = (to))
#else
struct lock {
    pthread_mutex_t mutex;
};
#define LOCK_INITIALIZER(name)    \
    {                             \
        PTHREAD_MUTEX_INITIALIZER \
    }
#define LOCK_CHECK(what, lock) ((void)0)
#define LOCK_SET_NAME(lock, to) ((void)(to))
#endif

static inline void lock_init(struct lock *l, enum lock_name name)
{
    pthread_mutex_init(&l->mutex, NULL);
    LOCK_SET_NAME(l, name);
}

static inline void lock_destroy(struct lock *l)
{
    pthread_mutex_destroy(&l->mutex);
}

static inline void lock_take(struct lock *l)
{
    LOCK_CHECK(take, l);
    pthread_mutex_lock(&l->mutex);
}

/* Returns 1 if it is taken, 0 if another thread has it. */
static inline int lock_try(struct lock *l)
{
    if (pthread_mutex_trylock(&l->mutex) != 0)
        return 0;
    LOCK_CHECK(take, l);
    return 1;
}

static inline void lock_give(struct lock *l)
{
    LOCK_CHECK(give, l);
    pthread_mutex_unlock(&l->mutex);
}

/* Waits for a signal; the thread holds this lock and no other. */
static inline void lock_wait(struct lock *l, pthread_cond_t *signal)
{
    LOCK_CHECK(wait, l);
    pthread_cond_wait(signal, &l->mutex);
}

/* The same until a time of the clock. Returns 0; ETIMEDOUT. */
static inline int lock_wait_until(struct lock *l, pthread_cond_t *signal, clockid_t clock,
                                  const struct timespec *until)
{
    LOCK_CHECK(wait, l);
    return pthread_cond_clockwait(signal, &l->mutex, clock, until);
}

#endif
