/* A session's submaps: their sources and their places. */
#include "daemon/session/session_submaps.h"

#include "daemon/session/session_internal.h"

#include <string.h>

int session_submaps(struct session *s, struct api_submap *list)
{
    int n;

    lock_take(&s->lock);
    n = sources_submaps(s->sources, list);
    for (int i = 0; i < n; i++) {
        list[i].placed = places_find(&s->places, list[i].submap, NULL, list[i].pose);
        list[i].tied = s->places.tied[list[i].submap];
    }
    lock_give(&s->lock);
    return n;
}

int session_place_begin(struct session *s, uint32_t submap, const float pose[7], struct err *err)
{
    int rc;

    lock_take(&s->lock);
    if (submap == 0 || sources_has_submap(s->sources, submap))
        rc = places_tell(&s->next_places, submap, pose, err);
    else
        rc = err_set(err, ERR_NOT_FOUND, "the session has no submap %u", (unsigned)submap);
    lock_give(&s->lock);
    return rc;
}

void session_place_end(struct session *s, uint32_t submap, const float pose[7], bool kept)
{
    struct session_wakes w = {.n = 0};
    struct places *next = &s->next_places, *now = &s->places;

    lock_take(&s->lock);
    if (kept) {
        places_copy(now, next, submap);
        session_tell_place(s, submap, &w);
    } else if (memcmp(next->pose[submap], pose, sizeof(next->pose[submap])) == 0) {
        places_copy(next, now, submap); /* unless another caller's place is being written */
    }
    lock_give(&s->lock);
    session_wake(s, &w);
}

void session_get_next_places(struct session *s, struct places *p)
{
    lock_take(&s->lock);
    *p = s->next_places;
    lock_give(&s->lock);
}

void session_tie_places(struct session *s, const struct places *by_ties)
{
    lock_take(&s->lock);
    places_tie(&s->next_places, by_ties);
    lock_give(&s->lock);
}

void session_tell_places(struct session *s, const struct places *by_ties)
{
    struct session_wakes w = {.n = 0};

    lock_take(&s->lock);
    places_tie(&s->places, by_ties);
    for (int k = 0; k < s->n_clients; k++) {
        for (uint32_t i = 0; i < API_SUBMAPS_MAX; i++)
            if (by_ties->told[i])
                outbox_place(s->clients[k]->outbox, &s->places, i);
        w.cookies[w.n++] = s->clients[k]->cookie;
    }
    lock_give(&s->lock);
    session_wake(s, &w);
}

void session_get_places(struct session *s, struct places *p)
{
    lock_take(&s->lock);
    *p = s->places;
    lock_give(&s->lock);
}

void session_set_places(struct session *s, const struct places *p)
{
    lock_take(&s->lock);
    s->places = s->next_places = *p;
    lock_give(&s->lock);
}
