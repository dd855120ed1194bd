#include "gpu/base/shared.h"

#include <stddef.h>

static void free_entry(struct shared_list *list, struct shared **link)
{
    struct shared *s = *link;

    *link = s->next;
    list->free(s);
}

int shared_get(struct shared **out, struct shared_list *list, const void *key, struct err *err)
{
    struct shared *s = list->first;

    while (s && !list->same(s, key))
        s = s->next;
    if (!s) {
        int rc = list->make(&s, key, err);
        if (rc)
            return rc;
        s->next = list->first;
        list->first = s;
    }
    s->users++;
    *out = s;
    return 0;
}

void shared_put(struct shared_list *list, struct shared *s)
{
    struct shared **oldest = NULL;
    int idle = 0;

    s->users--;
    s->used = ++list->clock;
    for (struct shared **link = &list->first; *link; link = &(*link)->next) {
        if ((*link)->users)
            continue;
        idle++;
        if (!oldest || (*link)->used < (*oldest)->used)
            oldest = link;
    }
    if (idle > SHARED_IDLE)
        free_entry(list, oldest);
}

void shared_free(struct shared_list *list, int (*of)(const struct shared *s, const void *what),
                 const void *what)
{
    struct shared **link = &list->first;

    while (*link)
        if (!of || of(*link, what))
            free_entry(list, link);
        else
            link = &(*link)->next;
}
