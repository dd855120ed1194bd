/* How fast a session's frames may come, and the rate that its clients are told. */
#include "daemon/session/session_pace.h"

#include "daemon/clock.h"
#include "daemon/session/session_internal.h"

#define LATER_MS_MIN 20
#define LATER_MS_MAX 5000

void session_tell_pace(struct session *s, struct session_client *c, float *rate, uint8_t *jpeg)
{
    lock_take(&s->lock);
    c->link = pace_link_new();
    *rate = c->told_rate = session_share(s, s->pace.rate);
    c->told_jpeg = c->link.jpeg;
    *jpeg = (uint8_t)c->link.jpeg;
    lock_give(&s->lock);
}

bool session_in_time(struct session *s, struct session_client *c, uint64_t t_capture_ns)
{
    const struct session_options *o = &s->setup.options;
    bool taken;

    lock_take(&s->lock);
    pace_arrived(&c->link, t_capture_ns, clock_us(), s->kept.counts.queued - 1);
    taken = o->mode == SESSION_LOSSLESS ||
            pace_takes(&s->clocks[c->source], (double)o->fps, t_capture_ns);
    lock_give(&s->lock);
    return taken;
}

/* Under the lock: blocks until half of the window is free again. */
static uint32_t later_ms(const struct session *s)
{
    double ms = 500.0 * s->setup.queue_frames / s->pace.rate;

    return ms < LATER_MS_MIN ? LATER_MS_MIN : ms < LATER_MS_MAX ? (uint32_t)ms : LATER_MS_MAX;
}

void session_later(struct session *s, struct session_client *c, uint64_t seq, bool counted)
{
    struct session_wakes w = {.cookies = {c->cookie}, .n = 1};
    struct control_ack ack = {.seq = seq, .status = CONTROL_LATER};

    lock_take(&s->lock);
    if (counted) {
        s->kept.counts.received--;
        s->kept.counts.queued--;
    }
    ack.retry_ms = later_ms(s);
    session_tell(s, c, &ack, clock_us());
    lock_give(&s->lock);
    metrics_add(s->setup.metrics, METRICS_FRAMES_LATER, 1);
    session_wake(s, &w);
}
