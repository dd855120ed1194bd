/* The functions of sources.h that need the session's lock. */
#include "daemon/session/session_sources.h"

#include "daemon/session/session_internal.h"

#include <stdio.h>

/* Under the lock: does the frame continue its source's last one? A source that changes to another
 * submap begins anew. Submaps begin at jumps where ties can join them again. */
static enum sources_step step_of(struct session *s, int source, const struct frame *f)
{
    const struct session_options *o = &s->setup.options;
    struct session_jump *j = &s->jumps[source];
    bool ties = o->ties == SESSION_TIES_ON;

    j->before = j->now;
    j->seq = f->seq;
    if (!(f->flags & FRAME_HAS_POSE) || o->pose_source != SESSION_POSE_DEVICE)
        return SOURCES_ON;
    if (f->world_epoch != j->now.epoch)
        j->now = (struct jump){.epoch = f->world_epoch};
    if (jump_note(&j->now, &f->T_wc, f->t_capture_ns))
        return ties ? SOURCES_JUMPED : SOURCES_BROKE;
    return ties && jump_cut(&j->now, o->submap_m) ? SOURCES_CUT : SOURCES_ON;
}

/* Under the lock: the frame was not taken. Forgets its pose, unless a later frame was taken. */
static void forget_jump(struct session_jump *j, uint64_t seq)
{
    if (j->seq == seq)
        j->now = j->before;
}

enum control_reason session_take(struct session *s, int source, const struct frame *f,
                                 struct sources_submap *out)
{
    struct session_wakes w = {.n = 0};
    enum control_reason reason;
    int n_submaps;

    lock_take(&s->lock);
    n_submaps = sources_n_submaps(s->sources);
    reason = sources_take(s->sources, source, f->seq, f->world_epoch, step_of(s, source, f), out);
    out->connected = session_connected(s);
    out->jump = s->jumps[source].now;
    if (reason != CONTROL_REASON_NONE)
        forget_jump(&s->jumps[source], f->seq);
    if (sources_n_submaps(s->sources) != n_submaps)
        session_tell_place(s, out->submap, &w);
    lock_give(&s->lock);
    session_wake(s, &w);
    return reason;
}

void session_add_break(struct session *s, int source)
{
    lock_take(&s->lock);
    sources_add_break(s->sources, source);
    lock_give(&s->lock);
}

void session_untake(struct session *s, int source, uint64_t seq)
{
    lock_take(&s->lock);
    sources_untake(s->sources, source, seq);
    forget_jump(&s->jumps[source], seq);
    lock_give(&s->lock);
}

void session_retake(struct session *s, int source, uint64_t seq)
{
    lock_take(&s->lock);
    sources_retake(s->sources, source, seq);
    lock_give(&s->lock);
}

struct jump session_retrace(struct session *s, int source, const struct frame *f)
{
    struct jump now;

    lock_take(&s->lock);
    (void)step_of(s, source, f);
    now = s->jumps[source].now;
    lock_give(&s->lock);
    return now;
}

void session_set_jump(struct session *s, int source, const struct jump *jump)
{
    s->jumps[source].now = *jump;
}

void session_keep_verdict(struct session *s, int source, uint64_t t_capture_ns,
                          const struct control_ack *ack)
{
    lock_take(&s->lock);
    sources_end(s->sources, source, t_capture_ns, ack);
    lock_give(&s->lock);
}

void session_source_name(struct session *s, int source, char name[CONTROL_SOURCE_CAP])
{
    lock_take(&s->lock);
    snprintf(name, CONTROL_SOURCE_CAP, "%s", sources_name(s->sources, source));
    lock_give(&s->lock);
}

int session_learn_source(struct session *s, const struct sources_record *r, struct err *err)
{
    int rc;

    lock_take(&s->lock);
    rc = sources_learn(s->sources, r, err);
    lock_give(&s->lock);
    return rc;
}

void session_correct_poses(struct session *s, uint32_t first, const struct rigid *T_wc, uint32_t n,
                           uint64_t revision)
{
    struct session_wakes w = {.n = 0};

    n = trajectory_correct(s->trajectory, first, T_wc, n);
    lock_take(&s->lock);
    for (int i = 0; i < s->n_clients && n; i++)
        if (s->clients[i]->started && s->clients[i]->source >= 0) {
            outbox_poses(s->clients[i]->outbox, first, first + n, revision);
            w.cookies[w.n++] = s->clients[i]->cookie;
        }
    lock_give(&s->lock);
    session_wake(s, &w);
}

int session_n_sources(struct session *s)
{
    struct api_source all[API_SOURCES_MAX];
    int n;

    lock_take(&s->lock);
    n = sources_info(s->sources, all);
    lock_give(&s->lock);
    return n;
}

int session_submap_before(struct session *s, uint32_t submap)
{
    int before;

    lock_take(&s->lock);
    before = sources_submap_before(s->sources, submap);
    lock_give(&s->lock);
    return before;
}
