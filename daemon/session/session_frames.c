/* A frame from its arrival to its answer, and the results that clients get. */
#include "daemon/session/session_frames.h"

#include "daemon/clock.h"
#include "daemon/session/session_internal.h"

bool session_again(struct session *s, struct session_client *c, const struct frame *f, size_t bytes)
{
    struct session_wakes w = {.n = 0};
    struct control_ack ack;
    bool again;

    lock_take(&s->lock);
    again = sources_verdict(s->sources, c->source, f->seq, f->t_capture_ns, &ack);
    if (again) {
        s->kept.counts.again++;
        s->kept.counts.bytes_in += bytes;
        ack.again = true;
        session_tell(s, c, &ack, clock_us());
        w.cookies[w.n++] = c->cookie;
    }
    lock_give(&s->lock);
    if (!again)
        return false;
    metrics_add(s->setup.metrics, METRICS_FRAMES_AGAIN, 1);
    metrics_add(s->setup.metrics, METRICS_FRAME_BYTES, bytes);
    session_wake(s, &w);
    return true;
}

enum control_reason session_admit(struct session *s, size_t bytes)
{
    enum control_reason reason = CONTROL_REASON_NONE;

    lock_take(&s->lock);
    s->kept.counts.received++;
    s->kept.counts.queued++;
    s->kept.counts.bytes_in += bytes;
    if (s->closing || s->state == SESSION_CLOSED || s->fault[0])
        reason = CONTROL_CLOSED;
    lock_give(&s->lock);
    metrics_add(s->setup.metrics, METRICS_FRAME_BYTES, bytes);
    return reason;
}

/* Under the lock, before it is counted: does the client get the next used frame's result? */
static bool is_told_result(const struct session *s, const struct session_client *c)
{
    return c->started && c->result_every && s->kept.counts.used % c->result_every == 0;
}

bool session_result_wanted(struct session *s)
{
    bool wanted = false;

    lock_take(&s->lock);
    for (int i = 0; i < s->n_clients && !wanted; i++)
        wanted = is_told_result(s, s->clients[i]);
    lock_give(&s->lock);
    return wanted;
}

static void count_answer(struct session *s, const struct control_ack *ack, uint64_t received_us,
                         uint64_t now_us)
{
    s->kept.counts.queued--;
    if (ack->status == CONTROL_USED)
        s->kept.counts.used++;
    else if (ack->status == CONTROL_DROPPED)
        s->kept.counts.dropped++;
    else
        s->kept.counts.refused++;
    if (ack->status != CONTROL_USED)
        return;
    s->kept.counts.keyframes += ack->keyframe;
    s->used_us[s->n_used_us++ % SESSION_FPS_FRAMES] = now_us;
    s->latency_ms = (float)(now_us - received_us) * 1e-3f;
    pace_used(&s->pace, now_us, s->kept.counts.queued);
}

void session_answer(struct session *s, uint64_t stream, const struct control_ack *ack,
                    uint64_t received_us)
{
    uint64_t now_us = clock_us();
    struct session_wakes w = {.n = 0};

    lock_take(&s->lock);
    for (int i = 0; i < s->n_clients; i++)
        if (s->clients[i]->serial == stream) {
            if (ack->status == CONTROL_USED && s->latest && s->latest->seq == ack->seq &&
                is_told_result(s, s->clients[i]))
                outbox_result(s->clients[i]->outbox, s->latest, true);
            session_tell(s, s->clients[i], ack, now_us);
            w.cookies[w.n++] = s->clients[i]->cookie;
        }
    count_answer(s, ack, received_us, now_us);
    lock_give(&s->lock);
    metrics_frame(s->setup.metrics, ack->status, ack->reason);
    if (ack->status == CONTROL_USED)
        metrics_observe(s->setup.metrics, METRICS_LATENCY, now_us - received_us);
    session_wake(s, &w);
}

/* Under the lock: marks what clients have to be sent. */
static void mark_clients(struct session *s, const struct mirror_commit *commit,
                         struct session_wakes *w)
{
    for (int i = 0; i < s->n_clients; i++)
        if (s->clients[i]->started && outbox_mark(s->clients[i]->outbox, commit->changed,
                                                  commit->n_changed, commit->revision))
            w->cookies[w->n++] = s->clients[i]->cookie;
}

void session_publish_moved(struct session *s, const struct mirror_commit *commit)
{
    struct session_wakes w = {.n = 0};

    lock_take(&s->lock);
    mark_clients(s, commit, &w);
    lock_give(&s->lock);
    session_wake(s, &w);
}

/* Under the lock: counts a frame, not a closing round. */
static void note_frame(struct session *s, int source, const struct gpu_result *result)
{
    views_told_note(&s->views[source], &result->views);
    scale_told_note(&s->scale, result);
    if (result->tracks.state == GPU_TRACKS_NONE)
        return;
    s->tracks = (enum api_tracks_state)result->tracks.state;
    s->lost_frames += s->tracks == API_TRACKS_LOST;
}

void session_publish(struct session *s, int source, bool is_round, const struct gpu_result *result,
                     const struct mirror_commit *commit)
{
    struct session_wakes w = {.n = 0};

    lock_take(&s->lock);
    s->kept.keyframes_kept = result->n_keyframes;
    s->kept.model_points = result->n_points;
    s->kept.model_stable = result->n_stable;
    if (!is_round)
        note_frame(s, source, result);
    s->views[source].last.n_keyframes = result->views.n_keyframes;
    s->views[source].last.n_refined = result->views.n_refined;
    mark_clients(s, commit, &w);
    lock_give(&s->lock);
    session_wake(s, &w);
}

void session_show(struct session *s, struct frame_result *result)
{
    struct session_wakes w = {.n = 0};

    lock_take(&s->lock);
    results_unref(s->latest);
    s->latest = result;
    for (int i = 0; i < s->n_clients; i++)
        if (s->clients[i]->role == CONTROL_VIEW && is_told_result(s, s->clients[i])) {
            outbox_result(s->clients[i]->outbox, result, false);
            w.cookies[w.n++] = s->clients[i]->cookie;
        }
    lock_give(&s->lock);
    session_wake(s, &w);
}
