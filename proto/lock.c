#include "proto/lock.h"

#include "proto/checked.h"

#include <stdio.h>

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

static void fail(const char *what, enum lock_name name)
{
    char text[128];

    snprintf(text, sizeof(text), "lock %s %s while the thread holds %s", names[name], what,
             names[last_held()]);
    checked_fail(text);
}

void lock_check_take(enum lock_name name)
{
    if (n_held && (last_held() != may_be_held[name] || n_held == HELD_MAX))
        fail("is taken", name);
    if (n_held < HELD_MAX)
        held[n_held++] = name;
}

void lock_check_give(enum lock_name name)
{
    int i = n_held;

    while (i && held[i - 1] != name)
        i--;
    if (!i) {
        fail("is given back", name);
        return;
    }
    for (n_held--; i <= n_held; i++)
        held[i - 1] = held[i];
}

void lock_check_wait(enum lock_name name)
{
    if (n_held != 1 || held[0] != name)
        fail("is waited with", name);
}
