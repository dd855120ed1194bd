/*
 * budget.h - bytes that the sessions of a device may hold, counted before they are allocated
 *
 * Threads: any; one atomic inside.
 */
#ifndef RECOND_DAEMON_BUDGET_H
#define RECOND_DAEMON_BUDGET_H

#include "proto/err.h"

#include <stdatomic.h>
#include <stdint.h>

struct budget {
    atomic_ullong used, limit; /* bytes */
};

/* Returns 0 with the bytes taken; ERR_BUSY, nothing taken. */
MUST_CHECK int budget_take(struct budget *b, uint64_t bytes, struct err *err);
void budget_give(struct budget *b, uint64_t bytes);

#endif
