#include "daemon/session/registry.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS 4096

struct registry {
    pthread_mutex_t lock;
    int n;
    struct session *first, **end; /* in order of rank */
    struct session *buckets[BUCKETS];
};

int registry_new(struct registry **registry, struct err *err)
{
    struct registry *r = calloc(1, sizeof(*r));

    *registry = r;
    if (!r)
        return err_set(err, ERR_MEMORY, "no memory for the registry of sessions");
    r->end = &r->first;
    pthread_mutex_init(&r->lock, NULL);
    return 0;
}

void registry_free(struct registry **r)
{
    if (!*r)
        return;
    pthread_mutex_destroy(&(*r)->lock);
    free(*r);
    *r = NULL;
}

/* Ids are random, so their first characters are as good a hash as any. */
static struct session **bucket(struct registry *r, const char *id)
{
    unsigned hash = 5381;

    for (int i = 0; i < 8 && id[i]; i++)
        hash = hash * 33 + (unsigned char)id[i];
    return &r->buckets[hash % BUCKETS];
}

int registry_add(struct registry *r, struct session *s, int max, struct err *err)
{
    struct session **b = bucket(r, s->id);
    int rc = 0;

    pthread_mutex_lock(&r->lock);
    if (r->n >= max) {
        rc = err_set(err, ERR_BUSY, "%d sessions exist, which is the limit", r->n);
    } else {
        struct session **at = r->end; /* creations may overtake each other by a few places */
        while (at != &r->first) {
            struct session *before =
                (struct session *)(void *)((char *)at - offsetof(struct session, next));
            if (before->setup.rank < s->setup.rank)
                break;
            at = before->prev;
        }
        s->next_hashed = *b;
        *b = s;
        s->next = *at;
        s->prev = at;
        if (s->next)
            s->next->prev = &s->next;
        else
            r->end = &s->next;
        *at = s;
        r->n++;
    }
    pthread_mutex_unlock(&r->lock);
    return rc;
}

struct session *registry_find(struct registry *r, const char *id)
{
    struct session *s;

    pthread_mutex_lock(&r->lock);
    for (s = *bucket(r, id); s && strcmp(s->id, id) != 0; s = s->next_hashed)
        ;
    if (s)
        session_ref(s);
    pthread_mutex_unlock(&r->lock);
    return s;
}

struct session *registry_remove(struct registry *r, struct session *s)
{
    struct session **at = bucket(r, s->id), *found;

    pthread_mutex_lock(&r->lock);
    while (*at && *at != s)
        at = &(*at)->next_hashed;
    found = *at;
    if (found) {
        *at = s->next_hashed;
        *s->prev = s->next;
        if (s->next)
            s->next->prev = s->prev;
        else
            r->end = s->prev;
        r->n--;
    }
    pthread_mutex_unlock(&r->lock);
    return found;
}

int registry_page(struct registry *r, struct session **sessions, int cap, uint64_t *cursor)
{
    int n = 0;

    pthread_mutex_lock(&r->lock);
    for (struct session *s = r->first; s && n < cap; s = s->next)
        if (s->setup.rank > *cursor)
            sessions[n++] = session_ref(s);
    if (n)
        *cursor = sessions[n - 1]->setup.rank;
    pthread_mutex_unlock(&r->lock);
    return n;
}

int registry_count(struct registry *r)
{
    int n;

    pthread_mutex_lock(&r->lock);
    n = r->n;
    pthread_mutex_unlock(&r->lock);
    return n;
}
