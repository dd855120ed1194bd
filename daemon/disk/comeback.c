#include "daemon/disk/comeback.h"

#include <math.h>

void comeback_ended(struct comeback *c, uint64_t now_us)
{
    c->ends_us[c->ended++ % COMEBACK_ENDS] = now_us;
}

/* Returns the seconds between the ends of two frames; 0 while there were not two. */
static double frame_s(const struct comeback *c)
{
    uint64_t n = c->ended < COMEBACK_ENDS ? c->ended : COMEBACK_ENDS;
    uint64_t last = c->ended - 1, first = c->ended - n;

    if (n < 2)
        return 0;
    return 1e-6 * (double)(c->ends_us[last % COMEBACK_ENDS] - c->ends_us[first % COMEBACK_ENDS]) /
           (double)(n - 1);
}

/* Sessions that are asked for are served in turn, so each of the others has as many frames replayed
 * as this one, until all of its own are. */
static uint64_t turns_of_asked(const struct comeback *c, uint64_t frames)
{
    uint64_t turns = c->asked > 1 ? c->asked * frames : frames;

    if (turns > c->asked_frames)
        turns = c->asked_frames;
    return turns < frames ? frames : turns;
}

int comeback_s(const struct comeback *c, uint64_t frames)
{
    double left_s = frame_s(c) * (double)(turns_of_asked(c, frames) + c->other_frames);

    return left_s < 1 ? 1 : left_s < COMEBACK_LIMIT_S ? (int)ceil(left_s) : COMEBACK_LIMIT_S;
}
