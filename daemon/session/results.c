#include "daemon/session/results.h"

#include <pthread.h>
#include <stdlib.h>

struct results {
    pthread_mutex_t lock;
    struct frame_result *unused;
};

int results_new(struct results **r, struct err *err)
{
    *r = calloc(1, sizeof(**r));
    if (!*r)
        return err_set(err, ERR_MEMORY, "no memory for results");
    pthread_mutex_init(&(*r)->lock, NULL);
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
    pthread_mutex_destroy(&(*r)->lock);
    free(*r);
    *r = NULL;
}

struct frame_result *results_take(struct results *r, size_t cap)
{
    struct frame_result *at;

    pthread_mutex_lock(&r->lock);
    at = r->unused;
    if (at)
        r->unused = at->next;
    pthread_mutex_unlock(&r->lock);
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
    pthread_mutex_lock(&r->of->lock);
    r->refs++;
    pthread_mutex_unlock(&r->of->lock);
    return r;
}

void results_unref(struct frame_result *r)
{
    if (!r)
        return;
    pthread_mutex_lock(&r->of->lock);
    if (--r->refs == 0) {
        r->next = r->of->unused;
        r->of->unused = r;
    }
    pthread_mutex_unlock(&r->of->lock);
}
