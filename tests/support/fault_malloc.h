/*
 * fault_malloc.h - count allocations of this program's own code, and let the n-th fail
 *
 * malloc, calloc and realloc are defined in the program, before the C library's and before a
 * sanitizer's, which are called through. "Own" is a call whose return address lies in the program,
 * so a library's are left alone. Include it in one file of a test.
 *     fault_malloc_fail = n     the n-th own allocation from now on fails, once (0: none does)
 *     fault_malloc_for_ever     ... and all after it
 *     fault_malloc_exempt       this thread's allocations neither count nor fail
 */
#ifndef RECOND_TESTS_FAULT_MALLOC_H
#define RECOND_TESTS_FAULT_MALLOC_H

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

extern char __executable_start, etext;

static atomic_long fault_malloc_count, fault_malloc_fail, fault_malloc_failed;
static atomic_bool fault_malloc_for_ever;
static _Thread_local int fault_malloc_exempt;

static inline void fault_malloc_arm(long n, bool for_ever)
{
    atomic_store(&fault_malloc_failed, 0);
    atomic_store(&fault_malloc_for_ever, for_ever);
    atomic_store(&fault_malloc_fail, n);
}

/* Returns how many allocations failed. */
static inline long fault_malloc_disarm(void)
{
    atomic_store(&fault_malloc_for_ever, false);
    atomic_store(&fault_malloc_fail, 0);
    return atomic_load(&fault_malloc_failed);
}

/* Allocations come before a sanitizer has set itself up. */
#define FAULT_MALLOC_PLAIN \
    __attribute__((no_sanitize("address"), no_sanitize("undefined"), no_sanitize("thread")))

/* Shall this call fail? */
FAULT_MALLOC_PLAIN static bool fault_malloc_hit(const char *from)
{
    long left;

    if (fault_malloc_exempt || from < &__executable_start || from >= &etext)
        return false;
    atomic_fetch_add(&fault_malloc_count, 1);
    left = atomic_load(&fault_malloc_fail);
    while (left > 0 && !atomic_compare_exchange_weak(&fault_malloc_fail, &left, left - 1))
        ;
    if (left != 1 &&
        !(left == 0 && atomic_load(&fault_malloc_failed) && atomic_load(&fault_malloc_for_ever)))
        return false;
    atomic_fetch_add(&fault_malloc_failed, 1);
    errno = ENOMEM;
    return true;
}

FAULT_MALLOC_PLAIN static void *fault_malloc_next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

void *malloc(size_t size);
FAULT_MALLOC_PLAIN void *malloc(size_t size)
{
    static void *(*next)(size_t);

    if (!next)
        *(void **)&next = fault_malloc_next("malloc");
    return fault_malloc_hit(__builtin_return_address(0)) ? NULL : next(size);
}

void *realloc(void *p, size_t size);
FAULT_MALLOC_PLAIN void *realloc(void *p, size_t size)
{
    static void *(*next)(void *, size_t);

    if (!next)
        *(void **)&next = fault_malloc_next("realloc");
    return fault_malloc_hit(__builtin_return_address(0)) ? NULL : next(p, size);
}

void *calloc(size_t n, size_t size);
FAULT_MALLOC_PLAIN void *calloc(size_t n, size_t size)
{
    static void *(*next)(size_t, size_t);
    static atomic_int asking;
    void *p;

    if (!next && atomic_fetch_add(&asking, 1) == 0)
        *(void **)&next = fault_malloc_next("calloc");
    if (fault_malloc_hit(__builtin_return_address(0)))
        return NULL;
    if (next)
        return next(n, size);
    p = malloc(n * size); /* dlsym() itself asks for memory */
    return p ? memset(p, 0, n * size) : NULL;
}

#endif
