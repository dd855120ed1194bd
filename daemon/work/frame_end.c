#include "daemon/work/frame_end.h"

#include "daemon/disk/store_recover.h"
#include "daemon/session/session_ends.h"
#include "daemon/session/session_frames.h"
#include "daemon/session/session_info.h"
#include "daemon/session/session_restart.h"
#include "daemon/session/session_sources.h"
#include "daemon/work/closing.h"
#include "daemon/work/loop_closure.h"

void frame_end_settle(struct session *s)
{
    if (session_waits_for_rounds(s)) { /* its last round comes here again */
        session_work_kick_device(s);
        return;
    }
    if (session_waits_for_bundle(s)) { /* its bundle comes here again */
        loop_closure_bundle(s);
        return;
    }
    if (!session_settle(s))
        return;
    if (session_disk(s))
        session_work_save(s, true);
    else
        session_work_retire(s);
}

bool frame_end_recovered(struct session *s, bool had_frames)
{
    if (!closing_done(s))
        return false;
    session_recovered(s, had_frames);
    frame_end_settle(s);
    return true;
}

void frame_end_told(struct session *s, struct queue_item *item, const struct control_ack *end)
{
    uint64_t stream, received_us = item->received_us;
    bool replayed = item->replayed;
    struct control_ack ack = *end;

    ack.seq = item->frame.seq;
    session_keep_verdict(s, item->source, item->frame.t_capture_ns, &ack);
    stream = queue_release(session_queue(s), item);
    session_answer(s, stream, &ack, received_us);
    frame_end_settle(s);
    if (replayed)
        store_replayed(s);
}

static void end_refused(struct session *s, struct queue_item *item, enum control_reason reason)
{
    const struct control_ack ack = {.status = reason == CONTROL_SHUTDOWN ? CONTROL_DROPPED
                                                                         : CONTROL_REFUSED,
                                    .reason = reason,
                                    .part = item->bad_part};

    if (item->number)
        store_outcome(s, item, &ack);
    else
        frame_end_told(s, item, &ack);
}

void frame_end_front(struct session *s, uint64_t stream, const struct control_ack *ack)
{
    store_front_end(s, ack->status);
    session_answer(s, stream, ack, 0);
    frame_end_settle(s);
}

void frame_end_displaced(struct session *s, const struct queue_dropped *d)
{
    const struct control_ack ack = {
        .seq = d->seq, .status = CONTROL_DROPPED, .reason = CONTROL_OVERLOAD};

    if (!d->any)
        return;
    session_keep_verdict(s, d->source, 0, &ack);
    session_answer(s, d->stream, &ack, 0);
}

void frame_end_undecoded(struct session *s, struct queue_item *item, enum control_reason reason)
{
    store_decode_refused(s, item);
    end_refused(s, item, reason);
}

void frame_end_unused(struct session *s, struct queue_item *item, enum control_reason reason,
                      bool lost)
{
    store_device_refused(s, item);
    if (!session_disk(s) || !lost)
        end_refused(s, item, reason);
}

void frame_end_round(struct job *job)
{
    struct session *s = job->session;

    frame_state_move(&job->item->state, FRAME_EVENT_END);
    closing_keep(s, job->unfinished);
    frame_end_settle(s);
    session_work_turn_over(s);
}

void frame_end_rounds(struct session *s)
{
    struct queue_item *round = &session_work(s)->closing.item;

    if (round->state != FRAME_STATE_FREE) /* its device failed it */
        frame_state_move(&round->state, FRAME_EVENT_END);
    closing_give_up(s);
    frame_end_settle(s);
}

void frame_end_used(struct job *job, const struct control_ack *ack)
{
    struct session *s = job->session;
    struct session_work_kept *kept = &session_work(s)->kept;
    struct upright seen;

    (void)session_work_see(session_work(s), job->item, &seen);
    kept->upright = seen;
    kept->any = true;
    closing_note(s);
    kept->submap = job->item->submap;
    kept->breaks = job->item->breaks;
    kept->jumps[job->item->source] = job->item->jump;
    kept->turn = job->on_device.turn;
    kept->shape = session_work_picture_shape(job->item);
    session_set_position(s, &job->item->frame);
    store_used(s, job->item);
    frame_end_told(s, job->item, ack);
    session_work_turn_over(s);
}
