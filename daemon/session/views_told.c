#include "daemon/session/views_told.h"

#include <math.h>

void views_told_note(struct views_told *t, const struct gpu_views *now)
{
    t->last = *now;
    if (now->log_scale == 0) /* this frame measured nothing */
        return;
    if (!t->has_scale)
        t->log_scale = now->log_scale;
    t->has_scale = true;
    t->log_scale += (now->log_scale - t->log_scale) / VIEWS_TOLD_FRAMES;
}

static enum api_views_state views_judge(const struct views_told *t)
{
    const struct gpu_views *v = &t->last;

    if (v->n_frozen >= VIEWS_TOLD_FROZEN)
        return API_VIEWS_POSES_DISAGREE;
    if (v->n_judged < VIEWS_TOLD_JUDGED)
        return API_VIEWS_WAITING;
    if (v->n_sound * VIEWS_TOLD_SOUND_OF < v->n_judged || fabsf(t->log_scale) > VIEWS_TOLD_SCALE)
        return API_VIEWS_POSES_DISAGREE;
    return API_VIEWS_OK;
}

struct api_views views_told_say(const struct views_told *t, bool on)
{
    const struct gpu_views *v = &t->last;
    struct api_views said = {.state = API_VIEWS_OFF, .scale = 1};

    if (!on)
        return said;
    said.state = views_judge(t);
    said.keyframes = v->n_keyframes;
    said.refined = v->n_refined;
    said.scale = exp2f(t->log_scale);
    said.agreement = v->n_measured ? (float)v->n_confirmed / (float)v->n_measured : 0;
    return said;
}

struct api_views views_told_all(const struct api_views *said, int n)
{
    struct api_views all = said[0];

    for (int i = 1; i < n; i++) {
        uint32_t keyframes = all.keyframes + said[i].keyframes;
        uint32_t refined = all.refined + said[i].refined;

        if (said[i].state > all.state)
            all = said[i];
        all.keyframes = keyframes;
        all.refined = refined;
    }
    return all;
}
