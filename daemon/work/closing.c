#include "daemon/work/closing.h"

#include "daemon/clock.h"
#include "daemon/session/pipeline.h"
#include "daemon/session/session_ends.h"
#include "daemon/session/session_sources.h"
#include "daemon/work/loop_closure.h"

#include <stdlib.h>
#include <string.h>

#define SIDE 16 /* pixels: the side of a round's all-black picture */

void closing_note(struct session *s)
{
    const struct session_setup *setup = session_setup(s);

    if (setup->kind->has_rounds && setup->kind->has_rounds(&setup->options) &&
        !session_work(s)->kept.is_whole)
        session_set_rounds(s, true);
    if (loop_closure_is_to_bundle(s))
        session_set_bundle(s, true);
}

void closing_restore(struct session *s, const struct session_work_kept *kept)
{
    session_work_restore(s, kept);
    if (kept->any)
        closing_note(s);
}

bool closing_done(struct session *s)
{
    if (session_waits_for_rounds(s))
        session_work_kick_device(s);
    else if (session_waits_for_bundle(s))
        loop_closure_bundle(s);
    else
        return true;
    return false;
}

/* The picture, and behind it a mask of the network's size, all masked. */
static uint8_t *make_blank(struct session *s)
{
    int w = 0, h = 0;
    size_t picture = SIDE * SIDE * 3, mask;
    uint8_t *blank;

    session_get_net(s, &w, &h);
    mask = (size_t)w * (size_t)h;
    blank = calloc(1, picture + mask);
    if (blank)
        memset(blank + picture, 1, mask);
    return blank;
}

struct queue_item *closing_take(struct session *s)
{
    struct session_work *k = session_work(s);
    struct closing *c = &k->closing;
    struct queue_item *item = &c->item;

    if (!c->blank)
        c->blank = make_blank(s);
    if (!c->blank)
        return NULL;
    memset(item, 0, sizeof(*item)); /* a free one */
    frame_state_move(&item->state, FRAME_EVENT_ROUND);
    item->received_us = clock_us();
    item->source = c->source;
    item->submap = k->kept.submap;
    item->breaks = GPU_BREAKS_OVER; /* no frame has this number */
    item->rgb = c->blank;
    item->width = item->height = SIDE;
    item->K = (struct intrinsics){SIDE, SIDE, (SIDE - 1) / 2.0f, (SIDE - 1) / 2.0f};
    item->mask = c->blank + SIDE * SIDE * 3;
    item->frame.T_wc = rigid_identity();
    return item;
}

static void end_closing(struct session *s)
{
    struct session_work *k = session_work(s);

    free(k->closing.blank);
    k->closing.blank = NULL;
    k->kept.is_whole = true;
    session_set_rounds(s, false);
}

void closing_keep(struct session *s, bool unfinished)
{
    struct closing *c = &session_work(s)->closing;

    store_round(s);
    if (!unfinished && ++c->source >= session_n_sources(s))
        end_closing(s);
}

void closing_give_up(struct session *s)
{
    session_set_rounds(s, false);
}

void closing_disown(struct session_work *k)
{
    free(k->closing.blank);
}
