/*
 * shared.h - things on a device that several sessions use, found by a key: networks, recorded lines
 * (internal to gpu/)
 *
 * The first call for a key makes its entry, which stays after its last user for the next one.
 * Beyond SHARED_IDLE entries without users the least recently used is freed, so that rare keys
 * cannot pile up.
 * Owner:   the thread that makes sessions (gpu.h)
 */
#pragma once

#include "proto/err.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SHARED_IDLE 2

/* The beginning of every entry. */
struct shared {
    struct shared *next;
    int users;
    uint64_t used; /* when it was last put, by the list's clock */
};

struct shared_list {
    struct shared *first;
    uint64_t clock;
    int (*same)(const struct shared *s, const void *key);
    int (*make)(struct shared **s, const void *key, struct err *err);
    void (*free)(struct shared *s);
};

/* Pair get with put. Returns 0, or the error of make(). */
MUST_CHECK int shared_get(struct shared **s, struct shared_list *list, const void *key,
                          struct err *err);
void shared_put(struct shared_list *list, struct shared *s);
/* Frees the unused entries for which of(s, what) holds; of NULL: all unused ones. */
void shared_free(struct shared_list *list, int (*of)(const struct shared *s, const void *what),
                 const void *what);

#ifdef __cplusplus
}
#endif
