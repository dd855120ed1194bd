/*
 * shared.h - what lives on a device beside sessions and is used by several of them, found by a key:
 * networks, recorded lines (internal to gpu/)
 *
 * An entry is made at the first call for its key and stays after its last user, so that the next
 * one has it at once. Beyond SHARED_IDLE entries without users the one used longest ago is freed,
 * so that odd keys cannot pile up.
 * Owner:   the thread that makes sessions (gpu.h)
 */
#pragma once

#include "proto/err.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SHARED_IDLE 2

/* What an entry begins with. */
struct shared {
    struct shared *next;
    int users;
    uint64_t used; /* when it was given back last, by the list's clock */
};

struct shared_list {
    struct shared *first;
    uint64_t clock;
    int (*same)(const struct shared *s, const void *key);
    int (*make)(struct shared **s, const void *key, struct err *err);
    void (*free)(struct shared *s);
};

/* Pair get with put. Returns 0, or what make() says. */
MUST_CHECK int shared_get(struct shared **s, struct shared_list *list, const void *key,
                          struct err *err);
void shared_put(struct shared_list *list, struct shared *s);
/* Frees entries that no session uses: those for which of(s, what) holds; of NULL: all. */
void shared_free(struct shared_list *list, int (*of)(const struct shared *s, const void *what),
                 const void *what);

#ifdef __cplusplus
}
#endif
