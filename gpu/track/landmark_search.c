#include "gpu/track/landmark_search_point.h"

#include <stdbool.h>

struct landmark_search_params landmark_search_params_paper(void)
{
    return (struct landmark_search_params){LANDMARK_SEARCH_HYPOTHESES, 1, 2.0f, 0.5f, 1.0f};
}

struct landmark_search_params landmark_search_params_default(void)
{
    return (struct landmark_search_params){128, 14, 2.0f, 0.45f, 100.0f};
}

int landmark_search_check_params(const struct landmark_search_params *p, struct err *err)
{
    if (p->n_hypotheses < LANDMARK_SEARCH_HYPOTHESES_STEP ||
        p->n_hypotheses > LANDMARK_SEARCH_HYPOTHESES ||
        p->n_hypotheses % LANDMARK_SEARCH_HYPOTHESES_STEP)
        return err_at(err, ERR_INPUT, "n_hypotheses", "%u is not a multiple of %d up to %d",
                      p->n_hypotheses, LANDMARK_SEARCH_HYPOTHESES_STEP, LANDMARK_SEARCH_HYPOTHESES);
    if (p->n_rounds < 1 || p->n_rounds > LANDMARK_SEARCH_ROUNDS)
        return err_at(err, ERR_INPUT, "n_rounds", "%d is not within 1 ... %d", p->n_rounds,
                      LANDMARK_SEARCH_ROUNDS);
    if (!(p->reach > 0.0f && p->reach <= 1000.0f))
        return err_at(err, ERR_INPUT, "reach", "%g is not within 0 ... 1000", (double)p->reach);
    if (!(p->shrink > 0.0f && p->shrink < 1.0f))
        return err_at(err, ERR_INPUT, "shrink", "%g is not between 0 and 1", (double)p->shrink);
    if (!(p->stretch >= 1.0f && p->stretch <= 1000.0f))
        return err_at(err, ERR_INPUT, "stretch", "%g is not within 1 ... 1000", (double)p->stretch);
    return 0;
}

static bool is_camera(const struct landmark_search_camera *c)
{
    float sum = c->K.fx + c->K.fy + c->K.cx + c->K.cy;
    for (int i = 0; i < 9; i++)
        sum += c->T_cw.r[i];
    for (int i = 0; i < 3; i++)
        sum += c->T_cw.t[i];
    return isfinite(sum) && c->K.fx > 0.0f && c->K.fy > 0.0f;
}

int landmark_search_check(const struct landmark_search_batch *b, struct err *err)
{
    for (int i = 0; i < b->n_cameras; i++)
        if (!is_camera(&b->camera[i]))
            return err_set(err, ERR_INPUT, "camera %d is not finite, or has no focal length", i);
    for (int i = 0; i < b->n_observations; i++) {
        const struct landmark_search_observation *o = &b->observation[i];
        if (o->camera >= (uint32_t)b->n_cameras || !isfinite(o->x + o->y))
            return err_set(err, ERR_INPUT, "observation %d names no camera, or no place in it", i);
    }
    for (int i = 0; i < b->n_landmarks; i++) {
        const struct landmark_search_landmark *m = &b->landmark[i];
        if (m->n > LANDMARK_SEARCH_OBSERVATIONS || m->first > (uint32_t)b->n_observations ||
            m->n > (uint32_t)b->n_observations - m->first)
            return err_set(err, ERR_INPUT, "landmark %d names observations that are not there", i);
        if (!isfinite(m->p.x + m->p.y + m->p.z))
            return err_set(err, ERR_INPUT, "landmark %d is not finite", i);
    }
    return 0;
}

void landmark_search_noise(float *noise)
{
    for (uint32_t axis = 0; axis < 3; axis++)
        for (uint32_t j = 0; j < LANDMARK_SEARCH_HYPOTHESES; j++)
            noise[axis * LANDMARK_SEARCH_HYPOTHESES + j] = landmark_search_unit(j, axis);
}
