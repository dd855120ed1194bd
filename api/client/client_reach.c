#include "api/client/client_reach.h"

static bool beyond(const struct control_reach *a, const struct control_reach *b)
{
    return a->part ? !control_reaches(b, a->revision, &a->block)
                   : a->revision > b->revision || (a->revision == b->revision && b->part);
}

static bool reach(struct client_reach *r, const struct control_reach *to)
{
    bool further = beyond(to, &r->best);

    r->any = true;
    r->at = *to;
    if (further)
        r->best = *to;
    return further;
}

bool client_reach_sync(struct client_reach *r, uint64_t revision)
{
    return reach(r, &(struct control_reach){.revision = revision});
}

/* This block did not change since `ready`: the server has sent all blocks that come before it. */
bool client_reach_block(struct client_reach *r, const struct control_ready *ready,
                        const uint8_t *msg)
{
    struct bytes_reader revision = bytes_reader(msg + 8, 8), name = bytes_reader(msg + 16, 16);
    struct control_reach to = {.revision = bytes_get_u64(&revision), .part = true};

    return ready->features >> CONTROL_ORDER & 1 && to.revision <= ready->revision &&
           key_get_name(&name, &to.block) && reach(r, &to);
}

bool client_reach_revision(struct client_reach *r, uint64_t revision)
{
    bool further = revision > r->best_revision;

    if (further)
        r->best_revision = revision;
    return further;
}

void client_reach_clear(struct client_reach *r, bool other_epoch)
{
    r->any = false;
    if (other_epoch)
        *r = (struct client_reach){0};
}
