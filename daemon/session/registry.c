#include "daemon/session/registry.h"

#include "proto/lock.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS 4096

struct registry_node {
    struct session *session;
    uint64_t rank;
    struct registry_node *next_hashed, *next, *prev;
};

struct registry {
    struct lock lock;
    int n;
    struct registry_node *first, *last; /* by rank */
    struct registry_node *buckets[BUCKETS];
};

int registry_new(struct registry **registry, struct err *err)
{
    struct registry *r = calloc(1, sizeof(*r));

    *registry = r;
    if (!r)
        return err_set(err, ERR_MEMORY, "no memory for the registry of sessions");
    lock_init(&r->lock, LOCK_REGISTRY);
    return 0;
}

void registry_free(struct registry **r)
{
    if (!*r)
        return;
    lock_destroy(&(*r)->lock);
    free(*r);
    *r = NULL;
}

/* Ids are random, so their first characters are as good a hash as any. */
static struct registry_node **registry_bucket(struct registry *r, const char *id)
{
    unsigned hash = 5381;

    for (int i = 0; i < 8 && id[i]; i++)
        hash = hash * 33 + (unsigned char)id[i];
    return &r->buckets[hash % BUCKETS];
}

/* Sessions that are made at once may arrive out of order by a few places. */
static void registry_insert(struct registry *r, struct registry_node *node)
{
    struct registry_node **b = registry_bucket(r, session_id(node->session)), *before = r->last;

    while (before && before->rank > node->rank)
        before = before->prev;
    node->prev = before;
    node->next = before ? before->next : r->first;
    *(before ? &before->next : &r->first) = node;
    *(node->next ? &node->next->prev : &r->last) = node;
    node->next_hashed = *b;
    *b = node;
    r->n++;
}

int registry_add(struct registry *r, struct session *s, int max, struct err *err)
{
    struct registry_node *node = calloc(1, sizeof(*node));
    int rc = 0;

    if (!node)
        return err_set(err, ERR_MEMORY, "no memory for a session");
    node->session = s;
    node->rank = session_setup(s)->rank;
    lock_take(&r->lock);
    if (r->n >= max)
        rc = err_set(err, ERR_BUSY, "%d sessions exist, which is the limit", r->n);
    else
        registry_insert(r, node);
    lock_give(&r->lock);
    if (rc)
        free(node);
    return rc;
}

struct session *registry_find(struct registry *r, const char *id)
{
    struct registry_node *node;
    struct session *s = NULL;

    lock_take(&r->lock);
    for (node = *registry_bucket(r, id); node && strcmp(session_id(node->session), id) != 0;)
        node = node->next_hashed;
    if (node)
        s = session_ref(node->session);
    lock_give(&r->lock);
    return s;
}

struct session *registry_remove(struct registry *r, struct session *s)
{
    struct registry_node **at = registry_bucket(r, session_id(s)), *node;

    lock_take(&r->lock);
    while (*at && (*at)->session != s)
        at = &(*at)->next_hashed;
    node = *at;
    if (node) {
        *at = node->next_hashed;
        *(node->prev ? &node->prev->next : &r->first) = node->next;
        *(node->next ? &node->next->prev : &r->last) = node->prev;
        r->n--;
    }
    lock_give(&r->lock);
    if (!node)
        return NULL;
    free(node);
    return s;
}

int registry_page(struct registry *r, struct session **sessions, int cap, uint64_t *cursor)
{
    int n = 0;

    lock_take(&r->lock);
    for (struct registry_node *node = r->first; node && n < cap; node = node->next)
        if (node->rank > *cursor)
            sessions[n++] = session_ref(node->session);
    if (n)
        *cursor = session_setup(sessions[n - 1])->rank;
    lock_give(&r->lock);
    return n;
}

int registry_count(struct registry *r)
{
    int n;

    lock_take(&r->lock);
    n = r->n;
    lock_give(&r->lock);
    return n;
}

struct session *registry_next(struct registry_walk *w)
{
    if (w->at)
        session_unref(w->page[w->at - 1]);
    if (w->at == w->n) {
        w->n = registry_page(w->registry, w->page, REGISTRY_PAGE, &w->cursor);
        w->at = 0;
    }
    return w->at < w->n ? w->page[w->at++] : NULL;
}
