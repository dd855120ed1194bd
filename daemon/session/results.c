#include "daemon/session/results.h"

#include "proto/lock.h"

#include <stdlib.h>

struct results {
    struct lock lock;
    struct frame_result *unused;
};

int results_new(struct results **r, struct err *err)
{
    *r = calloc(1, sizeof(**r));
    if (!*r)
        return err_set(err, ERR_MEMORY, "no memory for results");
    lock_init(&(*r)->lock, LOCK_RESULTS);
    return 0;
}

void results_free(struct results **r)
{
    struct frame_result *next;

    if (!*r)
        return;
    for (struct frame_result *at = (*r)->unused; at; at = next) {
        next = at->next;
        free(at);
    }
    lock_destroy(&(*r)->lock);
    free(*r);
    *r = NULL;
}

struct frame_result *results_take(struct results *r, size_t cap)
{
    struct frame_result *at;

    lock_take(&r->lock);
    at = r->unused;
    if (at)
        r->unused = at->next;
    lock_give(&r->lock);
    if (!at || at->cap < cap) {
        free(at);
        at = malloc(sizeof(*at) + cap);
        if (at)
            at->cap = cap;
    }
    if (at)
        *at = (struct frame_result){.of = r, .refs = 1, .cap = at->cap};
    return at;
}

struct frame_result *results_ref(struct frame_result *r)
{
    lock_take(&r->of->lock);
    r->refs++;
    lock_give(&r->of->lock);
    return r;
}

void results_unref(struct frame_result *r)
{
    if (!r)
        return;
    lock_take(&r->of->lock);
    if (--r->refs == 0) {
        r->next = r->of->unused;
        r->of->unused = r;
    }
    lock_give(&r->of->lock);
}
