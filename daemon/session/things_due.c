#include "daemon/session/things_due.h"

#include <stdlib.h>

bool things_due_note(struct things_due *d, const struct control_object *all, uint64_t mask)
{
    if (mask && !d->at)
        d->at = calloc(INSTANCES_MAX, sizeof(*d->at));
    if (mask && !d->at)
        return false;
    for (int i = 0; i < INSTANCES_MAX; i++)
        if (mask >> i & 1)
            d->at[i] = all[i];
    d->mask |= mask;
    return true;
}

bool things_due_next(struct things_due *d, struct control_objects *message)
{
    message->n = 0;
    for (int i = 0; i < INSTANCES_MAX && message->n < CONTROL_OBJECTS_MAX; i++)
        if (d->mask >> i & 1) {
            message->at[message->n++] = d->at[i];
            d->mask &= ~(1ull << i);
        }
    return message->n > 0;
}

void things_due_free(struct things_due *d)
{
    free(d->at);
    d->at = NULL;
}
