#include "daemon/session/jump.h"

#include <math.h>

static float angle(const struct rigid *a, const struct rigid *b)
{
    float trace = 0;

    for (int i = 0; i < 9; i++)
        trace += a->r[i] * b->r[i];
    return acosf(fmaxf(-1, fminf(1, 0.5f * (trace - 1))));
}

bool jump_note(struct jump *j, const struct rigid *T_wc, uint64_t t_ns)
{
    float dt = (float)(t_ns - j->t_ns) * 1e-9f, turned, reach, off2 = 0, step2 = 0;
    bool jumped = false;

    if (!j->any) {
        *j = (struct jump){.any = true, .last = *T_wc, .t_ns = t_ns};
        return false;
    }
    if (t_ns <= j->t_ns)
        return false;
    turned = angle(&j->last, T_wc);
    reach = JUMP_LEAST_M + 0.5f * JUMP_ACCELERATION * dt * dt;
    for (int i = 0; i < 3; i++) {
        float step = T_wc->t[i] - j->last.t[i], off = step - j->v[i] * dt;

        off2 += off * off;
        step2 += step * step;
        j->v[i] = step / dt;
    }
    if (j->moving)
        jumped = off2 > reach * reach ||
                 turned > j->turn * dt + JUMP_LEAST_RAD + 0.5f * JUMP_TURNING * dt * dt;
    j->turn = turned / dt;
    j->moving = true;
    j->last = *T_wc;
    j->t_ns = t_ns;
    j->way = jumped ? 0 : j->way + sqrtf(step2);
    if (jumped) /* how fast it goes there is not known */
        j->moving = false;
    return jumped;
}

bool jump_cut(struct jump *j, float submap_m)
{
    bool cut = j->way > submap_m;

    if (cut)
        j->way = 0;
    return cut;
}
