#include "proto/lock.h"

#include <stdio.h>
#include <stdlib.h>

#define HELD_MAX 4

#define NAME(name, under) #name,
static const char *const names[] = {"NONE", LOCKS(NAME)};
#undef NAME
#define UNDER(name, under) LOCK_##under,
static const unsigned char may_be_held[] = {LOCK_NONE, LOCKS(UNDER)};
#undef UNDER

/* Locks of the calling thread in the order in which it took them. */
static _Thread_local enum lock_name held[HELD_MAX];
static _Thread_local int n_held;

static enum lock_name last_held(void)
{
    return n_held ? held[n_held - 1] : LOCK_NONE;
}

static void stop(const char *what, enum lock_name name)
{
    fprintf(stderr, "lock: %s %s while the thread holds %s\n", names[name], what,
            names[last_held()]);
    abort();
}

void lock_check_take(enum lock_name name)
{
    if (n_held && (last_held() != may_be_held[name] || n_held == HELD_MAX))
        stop("is taken", name);
    held[n_held++] = name;
}

void lock_check_give(enum lock_name name)
{
    int i = n_held;

    while (i && held[i - 1] != name)
        i--;
    if (!i)
        stop("is given back", name);
    for (n_held--; i <= n_held; i++)
        held[i - 1] = held[i];
}

void lock_check_wait(enum lock_name name)
{
    if (n_held != 1 || held[0] != name)
        stop("is waited with", name);
}
