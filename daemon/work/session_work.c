#include "daemon/work/session_work.h"

#include "proto/types.h"

static void kick(struct session *s, struct turn *turns, struct turn_entry *e)
{
    session_ref(s);
    if (!turn_kick(turns, e))
        session_unref(s);
}

void session_work_kick_decoder(struct session *s)
{
    struct session_work *k = session_work(s);

    if (queue_can_decode(session_queue(s))) /* else the thread at it now looks again when done */
        kick(s, k->decode_turns, &k->decode_turn);
}

void session_work_kick_device(struct session *s)
{
    struct session_work *k = session_work(s);

    kick(s, k->device_turns, &k->device_turn);
}

void session_work_due(struct session *s, bool due)
{
    struct session_work *k = session_work(s);

    turn_due(k->device_turns, &k->device_turn, due);
}

void session_work_turn_over(struct session *s)
{
    session_work(s)->ops->turn_over(s);
}

void session_work_retire(struct session *s)
{
    session_work(s)->ops->retire(s);
}

void session_work_restore(struct session *s, const struct store_work *kept)
{
    session_work(s)->kept = *kept;
}

struct session *session_work_of_decoder(struct turn_entry *e)
{
    return CONTAINER_OF(e, struct session_work, decode_turn)->session;
}

struct session *session_work_of_device(struct turn_entry *e)
{
    return CONTAINER_OF(e, struct session_work, device_turn)->session;
}
