#include "daemon/session/tracked_objects_due.h"

#include <stdlib.h>

bool tracked_objects_due_note(struct tracked_objects_due *d, const struct control_object *all,
                              uint64_t mask)
{
    if (mask && !d->at)
        d->at = calloc(TRACKED_OBJECTS_MAX, sizeof(*d->at));
    if (mask && !d->at)
        return false;
    for (int i = 0; i < TRACKED_OBJECTS_MAX; i++)
        if (mask >> i & 1)
            d->at[i] = all[i];
    d->mask |= mask;
    return true;
}

bool tracked_objects_due_next(struct tracked_objects_due *d, struct control_objects *message)
{
    message->n = 0;
    for (int i = 0; i < TRACKED_OBJECTS_MAX && message->n < CONTROL_OBJECTS_MAX; i++)
        if (d->mask >> i & 1) {
            message->at[message->n++] = d->at[i];
            d->mask &= ~(1ull << i);
        }
    return message->n > 0;
}

void tracked_objects_due_free(struct tracked_objects_due *d)
{
    free(d->at);
    d->at = NULL;
}
