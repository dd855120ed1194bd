/*
 * clock.h - the two clocks: microseconds that never step, and Unix time for people; waiting by the
 * first
 */
#pragma once

#include "proto/lock.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

static inline uint64_t clock_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

static inline double clock_unix_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Waits, with the lock held, for a signal or until_us. Returns false on a time-out. */
static inline bool clock_wait(pthread_cond_t *signal, struct lock *lock, uint64_t until_us)
{
    struct timespec t = {.tv_sec = (time_t)(until_us / 1000000u),
                         .tv_nsec = (long)(until_us % 1000000u) * 1000};

    return lock_wait_until(lock, signal, CLOCK_MONOTONIC, &t) == 0;
}
