/*
 * count_malloc.h - count what is asked of malloc, in all and by this program's own code
 *
 * Defining malloc in the program puts it before the C library's (and before a sanitizer's, which is
 * then called through). "Own" is a call whose return address lies in the program, so oneDNN's are
 * told apart. Include it in one file of a test.
 */
#pragma once

#include <dlfcn.h>
#include <stddef.h>

extern char __executable_start, etext;

static volatile size_t count_malloc_all, count_malloc_own, count_malloc_bytes;

void *malloc(size_t size) __attribute__((no_sanitize_thread)); /* called before it starts */
void *malloc(size_t size)
{
    static void *(*next)(size_t);
    const char *from = __builtin_return_address(0);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "malloc");
    __atomic_add_fetch(&count_malloc_all, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&count_malloc_bytes, size, __ATOMIC_RELAXED);
    if (from >= &__executable_start && from < &etext)
        __atomic_add_fetch(&count_malloc_own, 1, __ATOMIC_RELAXED);
    return next(size);
}
