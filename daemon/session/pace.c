#include "daemon/session/pace.h"

#define JITTER_NS 10e6 /* the most that a frame may be early, or a quarter of a period if less */
#define AVERAGED 8     /* answers */
#define STALL 4        /* average intervals: a longer one was a stall, and counts as this much */
#define CREEP 1.05     /* growth of the rate with each frame while none queues */
#define DRAIN 0.85     /* share of the device's rate, so that a queue gets shorter */
/* A session that keeps up has one frame on the device and a second one that is decoded or arriving.
 * So one frame may wait at an answer without lowering the rate. */
#define ON_ITS_WAY 1
#define LATE_US 300e3 /* microseconds behind the fastest frames: the line is full */
#define PROMPT_US 100e3
#define WORSE_US 1000000 /* between two steps down; three times that between two up */
#define BETTER_US 3000000
#define FORGET 1024 /* frames after which a wrong base is forgotten: clocks drift */

bool pace_takes(struct pace_clock *c, double fps, uint64_t t_capture_ns)
{
    double t = (double)t_capture_ns, period = 1e9 * (1 - PACE_SLACK) / fps;
    double jitter = period / 4 < JITTER_NS ? period / 4 : JITTER_NS;
    bool tells = c->any && t_capture_ns > c->last_ns;
    double late;

    c->any = true;
    c->last_ns = t_capture_ns;
    if (tells && t + jitter < c->due_ns)
        return false;
    late = tells ? t - c->due_ns : 2 * period;
    c->due_ns += period;
    if (late >= period)
        c->due_ns = late < 2 * period ? t : t + period;
    return true;
}

struct pace pace_new(double fps)
{
    return (struct pace){.fps = fps, .rate = fps, .interval_us = 1e6 / fps};
}

void pace_used(struct pace *p, uint64_t now_us, uint64_t waiting)
{
    double interval_us = (double)(now_us - p->answered_us), most_us = STALL * p->interval_us;

    if (p->answered_us)
        p->interval_us +=
            ((interval_us < most_us ? interval_us : most_us) - p->interval_us) / AVERAGED;
    if (waiting > ON_ITS_WAY) {
        p->rate = DRAIN * 1e6 / p->interval_us;
    } else {
        p->rate *= CREEP;
        p->interval_us = 1e6 / p->rate;
    }
    if (p->rate > p->fps)
        p->rate = p->fps;
    p->answered_us = waiting ? now_us : 0;
}

struct pace_link pace_link_new(void)
{
    return (struct pace_link){.jpeg = PACE_JPEG_MAX};
}

void pace_arrived(struct pace_link *l, uint64_t t_capture_ns, uint64_t now_us, uint64_t waiting)
{
    double delay_us = (double)now_us - (double)t_capture_ns * 1e-3, late_us;
    uint64_t since_us = now_us - l->changed_us;

    if (!l->any || delay_us < l->base_us)
        l->base_us = delay_us;
    if (!l->any)
        l->changed_us = now_us;
    l->any = true;
    late_us = delay_us - l->base_us;
    l->base_us += late_us / FORGET;
    if (late_us > LATE_US && waiting <= 1 && since_us >= WORSE_US && l->jpeg > PACE_JPEG_MIN)
        l->jpeg -= l->jpeg - 10 > PACE_JPEG_MIN ? 10 : l->jpeg - PACE_JPEG_MIN;
    else if (late_us < PROMPT_US && since_us >= BETTER_US && l->jpeg < PACE_JPEG_MAX)
        l->jpeg += 5;
    else
        return;
    l->changed_us = now_us;
}

bool pace_differs(double rate, double told, double most)
{
    return rate > 1.1 * told || rate < 0.9 * told || (rate >= most && told < most);
}
